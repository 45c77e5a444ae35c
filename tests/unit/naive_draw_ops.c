/* Random applications of every class of ops (naive_draw.h). */
#include <check.h>
#include <string.h>

#include "tests/unit/naive_draw.h"

/* ---- elementwise ---- */

/* Operand `full` has the result's shape. */
static void draw_elementwise(drawing *d, const dtype *t, int n) {
    dims_of whole = draw_dims(d, 0, MAX_RANK, 0);
    int full = (int)draw_below(d, n);
    for (int k = 0; k < n; k++) {
        dims_of s = draw_part(d, &whole, 0, k, k == full);
        bool divisor = k == 1 && dtype_integer(t[k]) &&
                       (d->a.op == OP_div || d->a.op == OP_rem || d->a.op == OP_mod);
        draw_indices(d, t[k], s.rank, s.dims, divisor ? 1 : 0, divisor ? 5 : -1);
    }
}

static bool draw_map(drawing *d, op_class class) {
    dtype t = draw_any_numeric(d), all[3] = {t, t, t};
    switch (class) {
    case CLASS_UNARY:
    case CLASS_BINARY: all[0] = all[1] = draw_any_float(d); break;
    case CLASS_UNARY_BOOL:
    case CLASS_BINARY_BOOL: all[0] = all[1] = DT_Bool; break;
    case CLASS_BINARY_INTEGER: all[0] = all[1] = draw_any_integer(d); break;
    case CLASS_CAST:
        all[0] = draw_any_dtype(d), d->a.attrs.dtype = (uint8_t)draw_any_dtype(d);
        break;
    case CLASS_IDENTITY:
    case CLASS_COMPARE: all[0] = all[1] = draw_any_dtype(d); break;
    case CLASS_WHERE: all[0] = DT_Bool, all[1] = all[2] = draw_any_dtype(d); break;
    case CLASS_UNARY_NUMERIC:
    case CLASS_BINARY_NUMERIC:
    case CLASS_COMPARE_ORDER:
    case CLASS_TERNARY_NUMERIC: break;
    default: return false;
    }
    if (d->a.op == OP_polygamma) d->a.attrs.lo[0] = draw_between(d, 1, 3);
    draw_elementwise(d, all, op_table[d->a.op].arity);
    return true;
}

/* ---- reductions and running ops ---- */

static void draw_reduced(drawing *d, dtype t, bool nonempty) {
    dims_of s = draw_dims(d, 0, MAX_RANK, nonempty ? 1 : 0);
    d->a.attrs.axes = (uint8_t)draw_below(d, 1 << s.rank);
    d->a.attrs.keepdims = draw_one_in(d, 2);
    draw_operand(d, t, s.rank, s.dims);
}

static void draw_along(drawing *d, dtype t, int n) {
    dims_of s = draw_dims(d, 1, MAX_RANK, 0);
    d->a.attrs.axis = (uint8_t)draw_below(d, s.rank);
    for (int k = 0; k < n; k++) draw_operand(d, t, s.rank, s.dims);
}

static bool draw_fold(drawing *d, op_class class) {
    switch (class) {
    case CLASS_REDUCE:
    case CLASS_REDUCE_ONE: draw_reduced(d, draw_any_numeric(d), false); return true;
    case CLASS_REDUCE_FLOAT: draw_reduced(d, draw_any_float(d), false); return true;
    case CLASS_REDUCE_BOOL: draw_reduced(d, DT_Bool, false); return true;
    case CLASS_REDUCE_NONEMPTY:
    case CLASS_ARG_REDUCE: draw_reduced(d, draw_any_numeric(d), true); return true;
    case CLASS_SUM_TO:
        draw_reduced(d, draw_any_numeric(d), false);
        d->a.attrs.drop = d->a.attrs.axes & (uint8_t)kernel_random(d->f);
        return true;
    case CLASS_ALONG:
    case CLASS_CUMULATE_FLOAT: draw_along(d, draw_any_float(d), 1); return true;
    case CLASS_CUMULATE:
        draw_along(d, draw_any_numeric(d), 1);
        d->a.attrs.reversed = d->a.op == OP_cumsum && draw_one_in(d, 2);
        return true;
    case CLASS_SCAN:
        draw_along(d, draw_any_float(d), 2);
        d->a.attrs.reversed = draw_one_in(d, 2);
        d->a.attrs.strong_zero = draw_one_in(d, 3);
        return true;
    case CLASS_SHIFT:
        draw_along(d, draw_any_numeric(d), 1);
        d->a.attrs.lo[0] = draw_between(d, -4, 4);
        return true;
    case CLASS_ORDER:
    case CLASS_TOP_K:
        draw_along(d, draw_any_numeric(d), 1);
        d->a.attrs.dims[0] = draw_between(d, 0, naive_dim(&d->a, 0, d->a.attrs.axis));
        return true;
    default: return false;
    }
}

/* ---- shape ---- */

/* The sizes cut into primes and put together at random. */
static void draw_reshape(drawing *d, const dims_of *s) {
    dims_of to = {.rank = (int)draw_between(d, 1, MAX_RANK)};
    for (int i = 0; i < to.rank; i++) to.dims[i] = 1;
    for (int i = 0; i < s->rank; i++) {
        int64_t rest = s->dims[i];
        if (rest == 0) to.dims[draw_below(d, to.rank)] = 0;
        for (int64_t p = 2; rest > 1; p++)
            for (; rest % p == 0; rest /= p) to.dims[draw_below(d, to.rank)] *= p;
    }
    int64_t size = 1;
    for (int i = 0; i < s->rank; i++) size *= s->dims[i];
    if (size == 1 && draw_one_in(d, 4)) to.rank = 0;
    draw_set_dims(d, &to);
}

static void draw_slice(drawing *d, const dims_of *s) {
    op_attrs *attrs = &d->a.attrs;
    for (int i = 0; i < s->rank; i++) {
        int64_t n = s->dims[i];
        attrs->step[i] = draw_between(d, 1, 3) * (draw_one_in(d, 3) ? -1 : 1);
        attrs->lo[i] = n > 0 ? draw_below(d, n) : 0;
        int64_t most = n == 0 ? 0 : (attrs->step[i] > 0 ? n - 1 - attrs->lo[i] : attrs->lo[i]);
        int64_t step = attrs->step[i] < 0 ? -attrs->step[i] : attrs->step[i];
        attrs->dims[i] = n == 0 ? 0 : draw_between(d, draw_one_in(d, 10) ? 0 : 1, most / step + 1);
        if (n == 0 || !draw_one_in(d, 4)) continue;
        attrs->dims[i] = 1;
        attrs->drop = (uint8_t)(attrs->drop | 1u << i);
    }
}

static void draw_permutation(drawing *d, int rank) {
    for (int i = 0; i < rank; i++) {
        int j = (int)draw_below(d, i + 1);
        d->a.attrs.perm[i] = d->a.attrs.perm[j];
        d->a.attrs.perm[j] = (uint8_t)i;
    }
}

static void draw_concat(drawing *d) {
    dims_of s = draw_dims(d, 1, MAX_RANK, 0);
    dtype t = draw_any_dtype(d);
    int n = (int)draw_between(d, 1, 4);
    d->a.attrs.axis = (uint8_t)draw_below(d, s.rank);
    for (int k = 0; k < n; k++) {
        s.dims[d->a.attrs.axis] = draw_between(d, 0, 4);
        draw_operand(d, t, s.rank, s.dims);
    }
}

static void draw_slice_add(drawing *d) {
    dims_of s = draw_dims(d, 0, MAX_RANK, 0), part = {0};
    dtype t = draw_any_numeric(d);
    draw_operand(d, t, s.rank, s.dims);
    draw_slice(d, &s);
    for (int i = 0; i < s.rank; i++)
        if (((d->a.attrs.drop >> i) & 1) == 0) part.dims[part.rank++] = d->a.attrs.dims[i];
    draw_operand(d, t, part.rank, part.dims);
}

static bool draw_moved(drawing *d, op_class class) {
    dims_of s = draw_dims(d,
                          class == CLASS_SQUEEZE    ? 1
                          : class == CLASS_TRIANGLE ? 2
                                                    : 0,
                          class == CLASS_EXPAND ? MAX_RANK - 1 : MAX_RANK, 0);
    dtype t = class == CLASS_TRIANGLE ? draw_any_numeric(d) : draw_any_dtype(d);
    switch (class) {
    case CLASS_CONCAT: draw_concat(d); return true;
    case CLASS_SLICE_ADD: draw_slice_add(d); return true;
    case CLASS_RESHAPE: draw_reshape(d, &s); break;
    case CLASS_PERMUTE: draw_permutation(d, s.rank); break;
    case CLASS_SLICE: draw_slice(d, &s); break;
    case CLASS_EXPAND: d->a.attrs.axis = (uint8_t)draw_below(d, s.rank + 1); break;
    case CLASS_SQUEEZE:
        d->a.attrs.axis = (uint8_t)draw_below(d, s.rank);
        s.dims[d->a.attrs.axis] = 1;
        break;
    case CLASS_BROADCAST: {
        dims_of whole = s;
        draw_set_dims(d, &whole);
        s = draw_part(d, &whole, 0, 0, false);
        break;
    }
    case CLASS_TRIANGLE:
        d->a.attrs.lo[0] = draw_between(d, -4, 4);
        d->a.attrs.reversed = draw_one_in(d, 2);
        break;
    default: return false;
    }
    draw_operand(d, t, s.rank, s.dims);
    return true;
}

/* ---- gather, scatter and making ---- */

/* x, indices, and the shape that entries of x have there. */
static dims_of draw_gathered(drawing *d, bool along, dtype t) {
    dims_of s = draw_dims(d, 1, along ? MAX_RANK : 5, 1), from = s, at = draw_dims(d, 0, 3, 0);
    int axis = (int)draw_below(d, s.rank), more = at.rank;
    d->a.attrs.axis = (uint8_t)axis;
    if (along) {
        at = s;
        at.dims[axis] = draw_between(d, 0, 5);
        from = at;
    } else {
        for (int i = s.rank - 1; i > axis; i--) from.dims[i + more - 1] = s.dims[i];
        for (int i = 0; i < more; i++) from.dims[axis + i] = at.dims[i];
        from.rank = s.rank + more - 1;
    }
    draw_operand(d, t, s.rank, s.dims);
    draw_indices(d, draw_any_integer(d), at.rank, at.dims, 0, s.dims[axis] - 1);
    return from;
}

static bool draw_chosen(drawing *d, op_class class) {
    dims_of s;
    dtype t = draw_any_dtype(d);
    switch (class) {
    case CLASS_TAKE: draw_gathered(d, false, t); return true;
    case CLASS_TAKE_ALONG: draw_gathered(d, true, t); return true;
    case CLASS_SCATTER:
    case CLASS_SCATTER_ALONG:
        t = draw_any_numeric(d);
        s = draw_gathered(d, class == CLASS_SCATTER_ALONG, t);
        draw_operand(d, t, s.rank, s.dims);
        return true;
    case CLASS_ONE_HOT:
        s = draw_dims(d, 0, MAX_RANK - 1, 0);
        d->a.attrs.dims[0] = draw_between(d, 1, 5);
        draw_indices(d, draw_any_integer(d), s.rank, s.dims, 0, d->a.attrs.dims[0] - 1);
        return true;
    default: return false;
    }
}

static bool draw_made(drawing *d, op_class class) {
    dims_of s = draw_dims(d, 0, MAX_RANK, 0);
    d->a.attrs.dtype = (uint8_t)draw_any_float(d);
    switch (class) {
    case CLASS_FULL_LIKE: draw_operand(d, draw_any_dtype(d), s.rank, s.dims); /* fall through */
    case CLASS_FULL: draw_operand(d, draw_any_dtype(d), 0, NULL); break;
    case CLASS_ARANGE: d->a.attrs.dtype = (uint8_t)draw_any_integer(d); /* fall through */
    case CLASS_EYE: d->a.attrs.dims[0] = draw_between(d, 0, 12); return true;
    case CLASS_RANDOM: draw_indices(d, DT_I64, 0, NULL, INT64_MIN / 4, INT64_MAX / 4); break;
    default: return false;
    }
    draw_set_dims(d, &s);
    return true;
}

/* ---- products ---- */

/* Two operands of matrix axes rows, inner, columns over broadcast batch axes; their ones are k's
 * and k + 1's. */
static dims_of draw_factors(drawing *d, int k, int64_t rows, int64_t inner, int64_t columns,
                            dims_of both[2]) {
    dims_of whole = draw_dims(d, 0, MAX_RANK - 2, 0);
    bool full = draw_one_in(d, 2);
    for (int i = 0; i < 2; i++) {
        both[i] = draw_part(d, &whole, 0, k + i, full == (i == 0));
        both[i].dims[both[i].rank++] = i == 0 ? rows : inner;
        both[i].dims[both[i].rank++] = i == 0 ? inner : columns;
    }
    whole.dims[whole.rank++] = rows;
    whole.dims[whole.rank++] = columns;
    return whole;
}

static void draw_product(drawing *d, bool add) {
    d->a.attrs.strong_zero = draw_one_in(d, 3);
    int64_t rows = draw_between(d, 0, 6), inner = draw_between(d, 0, 9),
            columns = draw_between(d, 0, 6);
    dims_of both[2];
    dtype t = draw_any_numeric(d);
    if (draw_one_in(d, 20)) rows = 33, inner = 70, columns = 17;
    dims_of whole = draw_factors(d, add ? 1 : 0, rows, inner, columns, both);
    if (add) draw_operand(d, t, whole.rank, whole.dims);
    for (int i = 0; i < 2; i++) {
        if (!add && draw_one_in(d, 4)) both[i] = (dims_of){1, {inner}};
        if (both[i].rank == 1) d->a.attrs.ones[i] = 0;
        draw_operand(d, t, both[i].rank, both[i].dims);
    }
}

/* The diagonal made large enough for the matrix to be far from singular, and, its upper triangle
 * not being read, positive definite. */
static void strengthen(drawing *d, const value *v) {
    const tensor *t = v->as.t;
    int64_t at[MAX_RANK] = {0}, n = t->dims[t->rank - 1];
    if (t->size == 0) return;
    do {
        if (at[t->rank - 1] != at[t->rank - 2]) continue;
        void *p = (void *)(uintptr_t)kernel_at_index(v, at);
        double by = 4.0 * (double)n + draw_unit(d);
        if (v->dtype == DT_F32)
            *(float *)p = (float)by;
        else
            *(double *)p = by;
    } while (kernel_next(t->rank, t->dims, at));
}

static bool draw_linear(drawing *d, op_class class) {
    if (class < CLASS_MATRIX || class > CLASS_SOLVE) return false;
    int64_t n = draw_between(d, 0, 4), k = draw_between(d, 0, 3);
    dims_of both[2];
    dtype t = draw_any_float(d);
    bool singular = class == CLASS_MATRIX_PAIR || d->a.op == OP_det || d->a.op == OP_cofactor;
    d->distinct = true;
    d->palette = singular && draw_one_in(d, 3) ? PALETTE_TIES : PALETTE_PLAIN;
    draw_factors(d, 0, n, n, class == CLASS_SOLVE ? k : n, both);
    switch (class) {
    case CLASS_MATRIX_PAIR: both[1] = both[0]; break;
    case CLASS_SOLVE:
        if (draw_one_in(d, 4)) both[1] = (dims_of){1, {n}}, d->a.attrs.ones[1] = 0;
        d->a.attrs.reversed = draw_one_in(d, 2);
        break;
    default: both[1].rank = -1; break;
    }
    for (int i = 0; i < 2 && both[i].rank >= 0; i++) draw_operand(d, t, both[i].rank, both[i].dims);
    if (!singular || draw_one_in(d, 2)) strengthen(d, &d->a.in[0]);
    return true;
}

/* ---- windows ---- */

static bool draw_windows(drawing *d, op_class class) {
    bool pool = class >= CLASS_POOL;
    int spatial =
        pool || d->a.op == OP_conv2d || (d->a.op != OP_conv1d && draw_one_in(d, 2)) ? 2 : 1;
    int64_t groups = draw_between(d, 1, 2);
    dims_of x = {2 + spatial, {draw_between(d, 0, 2), groups * draw_between(d, 1, 2)}},
            w = {2 + spatial, {0}}, y;
    op_attrs *attrs = &d->a.attrs;
    dtype t = draw_any_float(d);
    /* Of the padding only the loops in order know that it is left out and no 0. */
    attrs->strong_zero = !pool && draw_one_in(d, 3);
    if (d->palette == PALETTE_SPECIAL && !attrs->strong_zero && !(pool && draw_one_in(d, 2)))
        d->palette = PALETTE_PLAIN;
    w.dims[0] = groups * draw_between(d, 0, 2), w.dims[1] = x.dims[1] / groups;
    y = x;
    if (!pool) y.dims[1] = w.dims[0], attrs->lo[2] = groups;
    for (int i = 0; i < spatial; i++) {
        int64_t window = draw_between(d, 1, 3), dilation = pool ? 1 : draw_between(d, 1, 2),
                stride = draw_between(d, 1, 3);
        int64_t padding = pool ? draw_below(d, window) : draw_between(d, 0, 2),
                reach = (window - 1) * dilation + 1;
        int64_t size = draw_between(d, reach, reach + 4) - 2 * padding;
        if (size < 1) size = reach > 2 * padding ? reach - 2 * padding : 1;
        x.dims[2 + i] = size, w.dims[2 + i] = window;
        attrs->step[i] = stride, attrs->step[2 + i] = pool ? window : dilation,
        attrs->lo[i] = padding;
        y.dims[2 + i] = (size + 2 * padding - reach) / stride + 1;
    }
    switch (class) {
    case CLASS_CONV:
        draw_operand(d, t, x.rank, x.dims), draw_operand(d, t, w.rank, w.dims);
        return true;
    case CLASS_CONV_INPUT_GRAD:
        draw_set_dims(d, &x);
        draw_operand(d, t, y.rank, y.dims), draw_operand(d, t, w.rank, w.dims);
        return true;
    case CLASS_CONV_WEIGHT_GRAD:
        draw_set_dims(d, &w);
        draw_operand(d, t, x.rank, x.dims), draw_operand(d, t, y.rank, y.dims);
        return true;
    case CLASS_POOL:
    case CLASS_POOL_PLACE: draw_operand(d, t, x.rank, x.dims); return true;
    case CLASS_POOL_GRAD:
        draw_set_dims(d, &x);
        draw_operand(d, t, y.rank, y.dims);
        return true;
    default: return false;
    }
}

/* ---- any op ---- */

bool draw_application(drawing *d, op_id op) {
    op_class class = (op_class)op_table[op].class;
    d->a = (application){.op = op,
                         .how = draw_one_in(d, 3) ? (numerics)draw_below(d, 3) : NUMERICS_FAST};
    d->palette = (palette)draw_below(d, PALETTES);
    d->distinct = false;
    if (class == CLASS_CUSTOM) return false;
    if (class == CLASS_MATMUL || class == CLASS_MATMUL_ADD) {
        draw_product(d, class == CLASS_MATMUL_ADD);
        return true;
    }
    bool drawn = draw_map(d, class) || draw_fold(d, class) || draw_chosen(d, class) ||
                 draw_made(d, class) || draw_linear(d, class);
    if (!drawn)
        drawn = class >= CLASS_CONV && class <= CLASS_POOL_GRAD ? draw_windows(d, class)
                                                                : draw_moved(d, class);
    ck_assert_msg(drawn, "no operands are drawn for %s", op_table[op].name);
    return true;
}
