/* Builtins made of several ops: which there are, and those on numbers. */
#include "interp/composite.h"

composite composite_of(builder *b, const code *n, term (*stopped)(composite *m, term t)) {
    return (composite){.b = b, .n = n, .attrs = &n->u.composite.use->attrs, .stopped = stopped};
}

int64_t composite_product(builder *b, const int64_t *shape, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n = b->size(b, OP_mul, n, shape[i]);
    return n;
}

/* ---- var, std, norm ---- */

static term mean(composite *m, term x) {
    op_attrs attrs = {.axes = m->attrs->axes, .keepdims = true};
    return b_perform(m->b, OP_mean, &attrs, 1, &x);
}

/* The distances to the mean. The mean is corrected by that of the distances to it, so that equal
 * values have a distance of exactly 0. */
static term centered(composite *m) {
    builder *b = m->b;
    term x = m->in[0], first = mean(m, m->stopped(m, x));
    return b_sub(b, x, b_add(b, first, mean(m, b_sub(b, x, first))));
}

/* n - ddof, or 0 where that is less. */
static term degrees(composite *m, const op_type *t, term like) {
    builder *b = m->b;
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        if (((m->attrs->axes >> i) & 1) != 0) n = b->size(b, OP_mul, n, t->dims[i]);
    if (n >= 0) return b_number(b, like, n > m->attrs->lo[0] ? (double)(n - m->attrs->lo[0]) : 0.0);
    const op_type line = {.rank = 1, .dims = {b->size(b, OP_sub, n, m->attrs->lo[0])}};
    term count = b->count(b, &line, 1, (dtype)t->dtype);
    return b_binary(b, OP_maximum, count, b_number(b, like, 0.0));
}

static term variance(composite *m) {
    builder *b = m->b;
    op_attrs attrs = {.axes = m->attrs->axes, .keepdims = m->attrs->keepdims};
    term squares = b_unary(b, OP_square, centered(m));
    if (m->attrs->lo[0] == 0) return b_perform(b, OP_mean, &attrs, 1, &squares);
    if (!b_alive(b, 1, &squares)) return TERM_NONE;
    const op_type t = *b->type(b, squares);
    return b_div(b, b_sum(b, squares, attrs.axes, attrs.keepdims), degrees(m, &t, squares));
}

/* A square root whose derivatives of every order are 0 at 0: the argument is guarded there. */
static term root(builder *b, term x) {
    term zero = b_binary(b, OP_eq, x, b_number(b, x, 0.0));
    term safe = b_where(b, zero, b_number(b, x, 1.0), x);
    return b_where(b, zero, b_number(b, x, 0.0), b_unary(b, OP_sqrt, safe));
}

static term norm(composite *m) {
    builder *b = m->b;
    term squares = b_unary(b, OP_square, m->in[0]);
    return root(b, b_sum(b, squares, m->attrs->axes, m->attrs->keepdims));
}

/* ---- sort, cummax, top_k ---- */

/* The entries at the places that an order gives. */
static term at_places(composite *m, op_id order) {
    builder *b = m->b;
    op_attrs along = {.axis = m->attrs->axis};
    term at = b_perform(b, order, &along, 1, m->in);
    return b_perform(b, OP_take_along_axis, &along, 2, (term[]){m->in[0], at});
}

/* The values and the places of the k largest. */
static bool top_k(composite *m, term *out) {
    builder *b = m->b;
    op_attrs attrs = {.axis = m->attrs->axis, .dims = {m->size[0]}};
    if (!b_alive(b, 1, m->in)) return false;
    int64_t n = b->type(b, m->in[0])->dims[attrs.axis];
    if (n >= 0 && m->size[0] > n)
        return error_set(&b->c->err, ERROR_K0511, m->n->where,
                         "top_k: k is %lld, and the last axis has size %lld", (long long)m->size[0],
                         (long long)n);
    op_attrs along = {.axis = attrs.axis};
    out[1] = b_perform(b, OP_arg_top_k, &attrs, 1, m->in);
    out[0] = b_perform(b, OP_take_along_axis, &along, 2, (term[]){m->in[0], out[1]});
    return b_alive(b, 2, out);
}

/* ---- the whole ---- */

static term one_result(composite *m) {
    switch (m->n->u.composite.use->builtin) {
    case BUILTIN_var: return variance(m);
    case BUILTIN_std: return root(m->b, variance(m));
    case BUILTIN_norm: return norm(m);
    case BUILTIN_sort: return at_places(m, OP_argsort);
    case BUILTIN_cummax: return at_places(m, OP_arg_cummax);
    case BUILTIN_flip: return composite_flip(m);
    case BUILTIN_roll: return composite_roll(m);
    case BUILTIN_tile: return composite_tile(m);
    case BUILTIN_pad: return composite_pad(m);
    case BUILTIN_diag: return composite_diag(m);
    case BUILTIN_trace: return composite_trace(m);
    default: return TERM_NONE;
    }
}

int composite_results(const code *n) {
    const builtin_use *use = n->u.composite.use;
    if (use->builtin == BUILTIN_top_k) return 2;
    if (use->builtin != BUILTIN_split) return 1;
    return use->sizes > 0 ? use->sizes : (int)use->attrs.lo[0];
}

bool composite_make(composite *m, term *out) {
    if (m->n->u.composite.use->builtin == BUILTIN_top_k) return top_k(m, out);
    if (m->n->u.composite.use->builtin == BUILTIN_split) return composite_split(m, out);
    out[0] = one_result(m);
    return b_alive(m->b, 1, out);
}
