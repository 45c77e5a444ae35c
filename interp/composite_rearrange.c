/* Builtins made of several ops that move entries without computing on them. */
#include "interp/composite.h"

/* ---- pieces ---- */

/* All of x, as the attributes of a slice. */
static op_attrs whole(const op_type *x) {
    op_attrs attrs = {.rank = x->rank};
    for (int i = 0; i < x->rank; i++) {
        attrs.dims[i] = x->dims[i];
        attrs.step[i] = 1;
    }
    return attrs;
}

static term slice(builder *b, const op_attrs *attrs, term x) {
    return b_perform(b, OP_slice, attrs, 1, &x);
}

/* Entries [lo, lo + count) along axis. */
static term stretch(builder *b, term x, int axis, int64_t lo, int64_t count) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    op_attrs attrs = whole(b->type(b, x));
    attrs.lo[axis] = count == 0 ? 0 : lo;
    attrs.dims[axis] = count;
    return slice(b, &attrs, x);
}

static term reshape(builder *b, term x, int rank, const int64_t *shape, uint8_t ones) {
    op_attrs attrs = {.rank = (uint8_t)rank, .ones = {0, ones, 0}};
    for (int i = 0; i < rank; i++) attrs.dims[i] = shape[i];
    return b_perform(b, OP_reshape, &attrs, 1, &x);
}

/* A size that the text gives as a number, to leave out what does nothing. */
static bool written(const composite *m, int i, int64_t size) {
    return m->n->u.composite.size[i]->kind == CODE_CONSTANT && m->size[i] == size;
}

/* ---- flip, roll ---- */

term composite_flip(composite *m) {
    builder *b = m->b;
    if (!b_alive(b, 1, m->in)) return TERM_NONE;
    op_attrs attrs = whole(b->type(b, m->in[0]));
    for (int i = 0; i < attrs.rank; i++) {
        if (((m->attrs->axes >> i) & 1) == 0 || attrs.dims[i] == 0) continue;
        attrs.lo[i] = b->size(b, OP_sub, attrs.dims[i], 1);
        attrs.step[i] = -1;
    }
    return slice(b, &attrs, m->in[0]);
}

/* How far the entries move to the back, less than n of them. */
static int64_t forward_shift(builder *b, term shift, int64_t n) {
    int64_t by;
    if (b->known(b, shift, &by) && n >= 0) {
        by = n == 0 ? 0 : by % n;
        return by < 0 ? by + n : by;
    }
    const op_type line = {.rank = 1, .dims = {n}};
    term size = b_binary(b, OP_maximum, b->count(b, &line, 1, DT_I64), b->number(b, DT_I64, 1.0));
    if (b_alive(b, 1, &shift) && b->type(b, shift)->dtype != DT_I64) shift = b_cast(b, DT_I64, shift);
    return b->size_of(b, b_binary(b, OP_mod, shift, size));
}

term composite_roll(composite *m) {
    builder *b = m->b;
    if (!b_alive(b, 2, m->in)) return TERM_NONE;
    int axis = m->attrs->axis;
    int64_t n = b->type(b, m->in[0])->dims[axis];
    int64_t by = forward_shift(b, m->in[1], n), rest = b->size(b, OP_sub, n, by);
    term parts[2] = {stretch(b, m->in[0], axis, rest, by), stretch(b, m->in[0], axis, 0, rest)};
    return b_perform(b, OP_concat, &(op_attrs){.axis = (uint8_t)axis}, 2, parts);
}

/* ---- tile ---- */

/* x as [outer, entries of the axis and behind], each of the outer ones repeated. */
static term repeat(composite *m, term x, int axis, int64_t rep, int64_t *shape, int rank) {
    builder *b = m->b;
    int64_t outer = composite_product(b, shape, 0, axis), rest = composite_product(b, shape, axis, rank);
    x = reshape(b, x, 2, (int64_t[]){outer, rest}, 0);
    x = b_expand(b, x, 1);
    op_type to = {.rank = 3, .dims = {outer, rep, rest}};
    x = b_broadcast(b, x, &to, 0);
    shape[axis] = b->size(b, OP_mul, shape[axis], rep);
    return reshape(b, x, rank, shape, m->n->u.composite.result_ones);
}

/* Where the sizes are known. */
static bool tiles_fit(composite *m, const int64_t *shape, int rank, const int64_t *rep) {
    int64_t size = 1;
    bool fits = true;
    for (int i = 0; i < rank; i++)
        if (shape[i] <= 0 || rep[i] <= 0) return true;
    for (int i = 0; i < rank; i++) {
        fits = fits && !__builtin_mul_overflow(size, shape[i], &size);
        fits = fits && !__builtin_mul_overflow(size, rep[i], &size);
    }
    if (!fits)
        error_set(&m->b->c->err, ERROR_K0511, m->n->where, "the result of tile would be too large");
    return fits;
}

term composite_tile(composite *m) {
    builder *b = m->b;
    if (!b_alive(b, 1, m->in)) return TERM_NONE;
    op_type x = *b->type(b, m->in[0]);
    int rank = x.rank > m->sizes ? x.rank : m->sizes;
    int64_t shape[MAX_RANK] = {0}, rep[MAX_RANK] = {0};
    bool once[MAX_RANK] = {0};
    for (int i = 0; i < rank && i < MAX_RANK; i++) {
        int axis = i - (rank - x.rank), at = i - (rank - m->sizes);
        shape[i] = axis < 0 ? 1 : x.dims[axis];
        rep[i] = at < 0 ? 1 : m->size[at];
        once[i] = at < 0 || written(m, at, 1);
    }
    if (!tiles_fit(m, shape, rank, rep)) return TERM_NONE;
    term t = m->in[0];
    if (rank > x.rank) t = reshape(b, t, rank, shape, m->n->u.composite.result_ones);
    for (int i = MAX_RANK - 1; i >= 0; i--)
        if (i < rank && !once[i]) t = repeat(m, t, i, rep[i], shape, rank);
    return t;
}

/* ---- pad ---- */

/* `count` entries of the value along axis, else of x's shape. */
static term margin(builder *b, const op_type *x, int axis, int64_t count, term filler) {
    op_attrs attrs = {.rank = x->rank};
    for (int i = 0; i < x->rank; i++) attrs.dims[i] = i == axis ? count : x->dims[i];
    return b_perform(b, OP_full, &attrs, 1, &filler);
}

term composite_pad(composite *m) {
    builder *b = m->b;
    term t = m->in[0];
    term filler = m->count == 2 ? m->in[1] : b_number(b, t, 0.0);
    for (int i = 0; i < m->sizes / 2; i++) {
        bool before = !written(m, 2 * i, 0), after = !written(m, 2 * i + 1, 0);
        if (!before && !after) continue;
        if (!b_alive(b, 1, &t) || !b_alive(b, 1, &filler)) return TERM_NONE;
        op_type x = *b->type(b, t);
        term parts[3];
        int n = 0;
        if (before) parts[n++] = margin(b, &x, i, m->size[2 * i], filler);
        parts[n++] = t;
        if (after) parts[n++] = margin(b, &x, i, m->size[2 * i + 1], filler);
        t = b_perform(b, OP_concat, &(op_attrs){.axis = (uint8_t)i}, n, parts);
    }
    return t;
}

/* ---- diagonals ---- */

static int64_t least(builder *b, int64_t x, int64_t y) {
    if (x == y || (x >= 0 && y >= 0)) return x < y ? x : y;
    const op_type both = {.rank = 2, .dims = {x, y}};
    return b->size_of(b, b_binary(b, OP_minimum, b->count(b, &both, 1, DT_I64), b->count(b, &both, 2, DT_I64)));
}

/* Of the last two axes: every (columns + 1)-th entry of the rows laid end to end. */
term composite_diagonal(builder *b, term x) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    op_type t = *b->type(b, x);
    int last = t.rank - 2;
    int64_t rows = t.dims[last], columns = t.dims[last + 1];
    const op_type line = {.rank = 1, .dims = {b->size(b, OP_add, columns, 1)}};
    op_attrs entries = {.dims = {least(b, rows, columns)}, .dtype = DT_I64}, along = {.axis = (uint8_t)last};
    term places = b_mul(b, b_perform(b, OP_arange, &entries, 0, NULL), b->count(b, &line, 1, DT_I64));
    t.dims[last] = b->size(b, OP_mul, rows, columns);
    uint8_t ones = b->ones(b, x) & (uint8_t)((1u << last) - 1);
    term flat = reshape(b, x, t.rank - 1, t.dims, ones);
    return b_perform(b, OP_take, &along, 2, (term[]){flat, places});
}

term composite_diag(composite *m) {
    builder *b = m->b;
    term x = m->in[0];
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    if (b->type(b, x)->rank == 2) return composite_diagonal(b, x);
    op_attrs attrs = {.dims = {b->type(b, x)->dims[0]}, .dtype = DT_Bool};
    term mask = b_perform(b, OP_eye, &attrs, 0, NULL);
    return b_where(b, mask, b_expand(b, x, 0), b_number(b, x, 0.0));
}

term composite_trace(composite *m) {
    builder *b = m->b;
    return b_sum(b, composite_diagonal(b, m->in[0]), 1, false);
}

/* ---- split ---- */

/* Where the sizes are known. */
static bool parts_fit(context *c, const code *n, int64_t size, const int64_t *part, int count) {
    const builtin_use *use = n->u.composite.use;
    int64_t sum = 0;
    bool known = size >= 0;
    for (int k = 0; k < use->sizes; k++) known = known && part[k] >= 0;
    if (!known) return true;
    if (use->sizes == 0) {
        if (size % count == 0) return true;
        return error_set(&c->err, ERROR_K0502, n->where,
                         "split: axis %d has size %lld, which does not divide into %d equal parts",
                         use->attrs.axis, (long long)size, count);
    }
    for (int k = 0; k < count; k++)
        if (__builtin_add_overflow(sum, part[k], &sum)) sum = INT64_MAX;
    if (sum == size) return true;
    return error_set(&c->err, ERROR_K0502, n->where,
                     "split: the parts add up to %lld, and axis %d has size %lld", (long long)sum,
                     use->attrs.axis, (long long)size);
}

/* The size of an equal part. */
static int64_t equal_part(builder *b, int64_t size, int count) {
    if (size >= 0) return size / count;
    const op_type line = {.rank = 1, .dims = {size}};
    return b->size_of(b, b_div(b, b->count(b, &line, 1, DT_I64), b->number(b, DT_I64, count)));
}

/* x, whose axis has to be as long as the parts together: where only a run can tell, it is stretched to that. */
static term held_to(builder *b, term x, int axis, int64_t sum) {
    if (!b_alive(b, 1, &x) || b->type(b, x)->dims[axis] == sum) return x;
    const op_type *t = b->type(b, x);
    op_attrs attrs = {.rank = t->rank};
    for (int i = 0; i < t->rank; i++) attrs.dims[i] = i == axis ? sum : t->dims[i];
    attrs.ones[1] = (uint8_t)(b->ones(b, x) & ~(1u << axis));
    return b_perform(b, OP_broadcast, &attrs, 1, &x);
}

bool composite_split(composite *m, term *out) {
    builder *b = m->b;
    int axis = m->attrs->axis, count = composite_results(m->n);
    if (!b_alive(b, 1, m->in)) return false;
    int64_t size = b->type(b, m->in[0])->dims[axis], lo = 0;
    if (!parts_fit(b->c, m->n, size, m->size, count)) return false;
    int64_t equal = m->sizes > 0 ? 0 : equal_part(b, size, count), sum = 0;
    for (int k = 0; k < count; k++) sum = b->size(b, OP_add, sum, m->sizes > 0 ? m->size[k] : equal);
    term x = held_to(b, m->in[0], axis, sum);
    for (int k = 0; k < count; k++) {
        int64_t part = m->sizes > 0 ? m->size[k] : equal;
        out[k] = stretch(b, x, axis, lo, part);
        lo = b->size(b, OP_add, lo, part);
    }
    return b_alive(b, count, out);
}
