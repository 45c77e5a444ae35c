/* Builtins made of several ops that move entries without computing on them. */
#include "interp/composite.h"

#include "runtime/door.h"

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

static int64_t product(const int64_t *shape, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= shape[i];
    return n;
}

/* ---- flip, roll ---- */

term composite_flip(composite *m) {
    builder *b = composite_builder(m);
    if (!b_alive(b, 1, m->in)) return TERM_NONE;
    op_attrs attrs = whole(b->type(b, m->in[0]));
    for (int i = 0; i < attrs.rank; i++) {
        if (((m->attrs->axes >> i) & 1) == 0 || attrs.dims[i] == 0) continue;
        attrs.lo[i] = attrs.dims[i] - 1;
        attrs.step[i] = -1;
    }
    return slice(b, &attrs, m->in[0]);
}

term composite_roll(composite *m) {
    builder *b = composite_builder(m);
    if (!b_alive(b, 2, m->in)) return TERM_NONE;
    int axis = m->attrs->axis;
    int64_t n = b->type(b, m->in[0])->dims[axis];
    if (n == 0) return m->in[0];
    int64_t by = value_as_int(performer_value(&m->p, m->in[1])) % n;
    if (by < 0) by += n;
    if (by == 0) return m->in[0];
    term parts[2] = {stretch(b, m->in[0], axis, n - by, by), stretch(b, m->in[0], axis, 0, n - by)};
    return b_perform(b, OP_concat, &(op_attrs){.axis = (uint8_t)axis}, 2, parts);
}

/* ---- tile ---- */

/* x as [outer, entries of the axis and behind], each of the outer ones repeated. */
static term repeat(composite *m, term x, int axis, int64_t rep, int64_t *shape, int rank) {
    builder *b = composite_builder(m);
    int64_t outer = product(shape, 0, axis), rest = product(shape, axis, rank);
    x = reshape(b, x, 2, (int64_t[]){outer, rest}, 0);
    x = b_expand(b, x, 1);
    op_type to = {.rank = 3, .dims = {outer, rep, rest}};
    x = b_broadcast(b, x, &to, 0);
    shape[axis] *= rep;
    return reshape(b, x, rank, shape, m->n->u.composite.result_ones);
}

static bool tiles_fit(composite *m, const int64_t *shape, int rank, const int64_t *rep) {
    int64_t size = 1;
    bool fits = true;
    for (int i = 0; i < rank; i++)
        if (shape[i] == 0 || rep[i] == 0) return true;
    for (int i = 0; i < rank; i++) {
        fits = fits && !__builtin_mul_overflow(size, shape[i], &size);
        fits = fits && !__builtin_mul_overflow(size, rep[i], &size);
    }
    if (!fits)
        error_set(&m->p.b.c->err, ERROR_K0511, m->p.where, "the result of tile would be too large");
    return fits;
}

term composite_tile(composite *m) {
    builder *b = composite_builder(m);
    if (!b_alive(b, 1, m->in)) return TERM_NONE;
    op_type x = *b->type(b, m->in[0]);
    int rank = x.rank > m->sizes ? x.rank : m->sizes;
    int64_t shape[MAX_RANK] = {0}, rep[MAX_RANK] = {0};
    for (int i = 0; i < rank && i < MAX_RANK; i++) {
        int axis = i - (rank - x.rank), at = i - (rank - m->sizes);
        shape[i] = axis < 0 ? 1 : x.dims[axis];
        rep[i] = at < 0 ? 1 : m->size[at];
    }
    if (!tiles_fit(m, shape, rank, rep)) return TERM_NONE;
    term t = m->in[0];
    if (rank > x.rank) t = reshape(b, t, rank, shape, m->n->u.composite.result_ones);
    for (int i = MAX_RANK - 1; i >= 0; i--)
        if (i < rank && rep[i] != 1) t = repeat(m, t, i, rep[i], shape, rank);
    return t;
}

/* ---- pad ---- */

/* `count` entries of the value along axis, else of x's shape; none where count is 0. */
static term margin(builder *b, const op_type *x, int axis, int64_t count, term filler) {
    op_attrs attrs = {.rank = x->rank};
    for (int i = 0; i < x->rank; i++) attrs.dims[i] = i == axis ? count : x->dims[i];
    return b_perform(b, OP_full, &attrs, 1, &filler);
}

term composite_pad(composite *m) {
    builder *b = composite_builder(m);
    term t = m->in[0];
    term filler = m->count == 2 ? m->in[1] : b_number(b, t, 0.0);
    for (int i = 0; i < m->sizes / 2; i++) {
        int64_t before = m->size[2 * i], after = m->size[2 * i + 1], size;
        if (!b_alive(b, 1, &t) || !b_alive(b, 1, &filler)) return TERM_NONE;
        op_type x = *b->type(b, t);
        term parts[3];
        int n = 0;
        if (before == 0 && after == 0) continue;
        if (__builtin_add_overflow(before, after, &size) ||
            __builtin_add_overflow(size, x.dims[i], &size)) {
            error_set(&b->c->err, ERROR_K0511, m->p.where, "the result of pad would be too large");
            return TERM_NONE;
        }
        if (before > 0) parts[n++] = margin(b, &x, i, before, filler);
        parts[n++] = t;
        if (after > 0) parts[n++] = margin(b, &x, i, after, filler);
        t = b_perform(b, OP_concat, &(op_attrs){.axis = (uint8_t)i}, n, parts);
    }
    return t;
}

/* ---- diagonals ---- */

/* Of the last two axes: every (columns + 1)-th entry of the rows laid end to end. */
term composite_diagonal(builder *b, term x) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    op_type t = *b->type(b, x);
    int last = t.rank - 2;
    int64_t rows = t.dims[last], columns = t.dims[last + 1];
    t.dims[last] = rows * columns;
    uint8_t ones = b->ones(b, x) & (uint8_t)((1u << last) - 1);
    t.rank--;
    op_attrs attrs = whole(&t);
    attrs.dims[last] = rows < columns ? rows : columns;
    attrs.step[last] = columns + 1;
    return slice(b, &attrs, reshape(b, x, t.rank, t.dims, ones));
}

term composite_diag(composite *m) {
    builder *b = composite_builder(m);
    term x = m->in[0];
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    if (b->type(b, x)->rank == 2) return composite_diagonal(b, x);
    op_attrs attrs = {.dims = {b->type(b, x)->dims[0]}, .dtype = DT_Bool};
    term mask = b_perform(b, OP_eye, &attrs, 0, NULL);
    return b_where(b, mask, b_expand(b, x, 0), b_number(b, x, 0.0));
}

term composite_trace(composite *m) {
    builder *b = composite_builder(m);
    return b_sum(b, composite_diagonal(b, m->in[0]), 1, false);
}

/* ---- split ---- */

static bool parts_fit(context *c, const code *n, int64_t size, const int64_t *part, int count) {
    const builtin_use *use = n->u.composite.use;
    int64_t sum = 0;
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

bool composite_split(evaluator *ev, const code *n, const value *x, const int64_t *size,
                     value *out) {
    const op_attrs *fixed = &n->u.composite.use->attrs;
    op_type t = value_type(x);
    int count = n->u.composite.use->sizes > 0 ? n->u.composite.use->sizes : (int)fixed->lo[0];
    op_attrs attrs = whole(&t);
    attrs.ones[0] = n->u.composite.ones[0];
    if (!parts_fit(ev->c, n, t.dims[fixed->axis], size, count)) return false;
    value *parts = take(ev->c, sizeof *parts * (size_t)count);
    if (parts == NULL) return false;
    int64_t lo = 0;
    int made = 0;
    for (; made < count; made++) {
        int64_t part = n->u.composite.use->sizes > 0 ? size[made] : t.dims[fixed->axis] / count;
        attrs.lo[fixed->axis] = part == 0 ? 0 : lo;
        attrs.dims[fixed->axis] = part;
        op_call call = {.op = OP_slice, .n = 1, .attrs = &attrs, .in = x, .where = n->where};
        if (!door_perform(ev->c, &call, &parts[made])) break;
        lo += part;
    }
    bool ok = made == count;
    if (ok)
        ok = eval_pack(ev, parts, count, out);
    else
        values_release(ev->c, parts, made);
    give_back(ev->c, parts, sizeof *parts * (size_t)count);
    return ok;
}
