/* Builtins made of several ops: the evaluation of operands and sizes, and those on numbers. */
#include "interp/composite.h"

#include "runtime/door.h"

/* ---- ops ---- */

/* Passive ops concern no handler and go straight to the bottom, as through the door. */
static term perform_where_active(builder *b, op_id op, const op_attrs *attrs, int n,
                                 const term *in) {
    performer *p = (performer *)b;
    uint32_t active = 0;
    if (b->failed) return TERM_NONE;
    for (int k = 0; k < n; k++)
        if (in[k] >= 0) active |= performer_value(p, in[k])->index;
    p->at = b->c->top;
    while (active == 0 && p->at->outer != NULL) p->at = p->at->outer;
    return ((composite *)b)->perform(b, op, attrs, n, in);
}

void composite_open(composite *m, evaluator *ev, const code *n) {
    performer_init(&m->p, ev->c);
    m->perform = m->p.b.op;
    m->p.b.op = perform_where_active;
    m->p.where = n->where;
    m->ev = ev;
    m->n = n;
    m->attrs = &n->u.composite.use->attrs;
    m->count = 0;
    m->size = NULL;
    m->sizes = 0;
}

term composite_stopped(composite *m, term t) {
    builder *b = composite_builder(m);
    if (!b_alive(b, 1, &t)) return TERM_NONE;
    value v = *performer_value(&m->p, t);
    v.index = 0;
    return performer_add(&m->p, &v, b->ones(b, t));
}

/* ---- var, std, norm ---- */

static term mean(composite *m, term x) {
    op_attrs attrs = {.axes = m->attrs->axes, .keepdims = true};
    return b_perform(composite_builder(m), OP_mean, &attrs, 1, &x);
}

/* The distances to the mean. The mean is corrected by that of the distances to it, so that equal
 * values have a distance of exactly 0. */
static term centered(composite *m) {
    builder *b = composite_builder(m);
    term x = m->in[0], first = mean(m, composite_stopped(m, x));
    return b_sub(b, x, b_add(b, first, mean(m, b_sub(b, x, first))));
}

static term variance(composite *m) {
    builder *b = composite_builder(m);
    op_attrs attrs = {.axes = m->attrs->axes, .keepdims = m->attrs->keepdims};
    term squares = b_unary(b, OP_square, centered(m));
    int64_t ddof = m->attrs->lo[0], n = 1;
    if (ddof == 0) return b_perform(b, OP_mean, &attrs, 1, &squares);
    if (!b_alive(b, 1, &squares)) return TERM_NONE;
    const op_type *t = b->type(b, squares);
    for (int i = 0; i < t->rank; i++) n *= ((attrs.axes >> i) & 1) != 0 ? t->dims[i] : 1;
    double over = n > ddof ? (double)(n - ddof) : 0.0;
    return b_div(b, b_sum(b, squares, attrs.axes, attrs.keepdims), b_number(b, squares, over));
}

/* A square root whose derivatives of every order are 0 at 0: the argument is guarded there. */
static term root(builder *b, term x) {
    term zero = b_binary(b, OP_eq, x, b_number(b, x, 0.0));
    term safe = b_where(b, zero, b_number(b, x, 1.0), x);
    return b_where(b, zero, b_number(b, x, 0.0), b_unary(b, OP_sqrt, safe));
}

static term norm(composite *m) {
    builder *b = composite_builder(m);
    term squares = b_unary(b, OP_square, m->in[0]);
    return root(b, b_sum(b, squares, m->attrs->axes, m->attrs->keepdims));
}

/* ---- sort, cummax, top_k ---- */

/* The entries at the places that an order gives. */
static term at_places(composite *m, op_id order) {
    builder *b = composite_builder(m);
    op_attrs along = {.axis = m->attrs->axis};
    term at = b_perform(b, order, &along, 1, m->in);
    return b_perform(b, OP_take_along_axis, &along, 2, (term[]){m->in[0], at});
}

/* The values and the places of the k largest. */
static bool top_k(composite *m, value *out) {
    builder *b = composite_builder(m);
    op_attrs attrs = {.axis = m->attrs->axis, .dims = {m->size[0]}};
    if (!b_alive(b, 1, m->in)) return false;
    int64_t n = b->type(b, m->in[0])->dims[attrs.axis];
    if (m->size[0] > n)
        return error_set(&b->c->err, ERROR_K0511, m->p.where,
                         "top_k: k is %lld, and the last axis has size %lld", (long long)m->size[0],
                         (long long)n);
    term at = b_perform(b, OP_arg_top_k, &attrs, 1, m->in);
    op_attrs along = {.axis = attrs.axis};
    term values = b_perform(b, OP_take_along_axis, &along, 2, (term[]){m->in[0], at});
    if (!b_alive(b, 1, &values)) return false;
    value both[2] = {value_retain(*performer_value(&m->p, values)),
                     value_retain(*performer_value(&m->p, at))};
    return eval_pack(m->ev, both, 2, out);
}

/* ---- evaluation ---- */

static term one_result(composite *m) {
    switch (m->n->u.composite.use->builtin) {
    case BUILTIN_var: return variance(m);
    case BUILTIN_std: return root(composite_builder(m), variance(m));
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

/* The composite's result, the operands being evaluated (borrowed). */
static bool perform_with(evaluator *ev, const code *n, const value *in, const int64_t *size,
                         value *out) {
    composite m;
    if (n->u.composite.use->builtin == BUILTIN_split)
        return composite_split(ev, n, &in[0], size, out);
    if (n->u.composite.use->builtin == BUILTIN_einsum) return composite_einsum(ev, n, in, out);
    composite_open(&m, ev, n);
    m.count = n->u.composite.count;
    m.size = size;
    m.sizes = n->u.composite.use->sizes;
    for (int k = 0; k < m.count && k < (int)COUNT_OF(m.in); k++)
        m.in[k] = performer_add(&m.p, &in[k], n->u.composite.ones[k]);
    bool ok;
    if (n->u.composite.use->builtin == BUILTIN_top_k) {
        ok = top_k(&m, out);
    } else {
        term made = one_result(&m);
        ok = b_alive(composite_builder(&m), 1, &made);
        if (ok) *out = value_retain(*performer_value(&m.p, made));
    }
    performer_clear(&m.p);
    return ok;
}

static bool eval_sizes(evaluator *ev, value *frame, const code *n, int64_t *out) {
    for (int i = 0; i < n->u.composite.use->sizes; i++) {
        value v;
        const code *size = n->u.composite.size[i];
        if (!eval(ev, frame, size, &v)) return false;
        out[i] = value_as_int(&v);
        if (out[i] < 0)
            return error_set(&ev->c->err, ERROR_K0511, size->where,
                             "a size cannot be negative: %lld", (long long)out[i]);
    }
    return true;
}

bool eval_composite(evaluator *ev, value *frame, const code *n, value *out) {
    int count = n->u.composite.count, sizes = n->u.composite.use->sizes;
    size_t bytes = sizeof(value) * (size_t)count, size_bytes = sizeof(int64_t) * (size_t)sizes;
    value *in = take(ev->c, bytes + size_bytes);
    if (in == NULL) return false;
    int64_t *size = (int64_t *)(in + count);
    bool ok = eval_args(ev, frame, n->u.composite.args, count, in);
    if (ok) {
        ok = eval_sizes(ev, frame, n, size) && perform_with(ev, n, in, size, out);
        values_release(ev->c, in, count);
    }
    give_back(ev->c, in, bytes + size_bytes);
    return ok;
}
