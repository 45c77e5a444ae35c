/* Ops that move, choose, order or make elements, naively (naive.h). */
#include <math.h>
#include <string.h>

#include "tests/unit/naive.h"

/* ---- shape ---- */

cell naive_op_reshape(const application *a, const int64_t *at) {
    int64_t place = 0, own[MAX_RANK] = {0};
    for (int i = 0; i < a->out.rank; i++) place = place * a->out.dims[i] + at[i];
    for (int i = naive_rank(a, 0) - 1; i >= 0; i--) {
        own[i] = place % naive_dim(a, 0, i);
        place /= naive_dim(a, 0, i);
    }
    return naive_cell(a, 0, own);
}

cell naive_op_permute(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK] = {0};
    for (int i = 0; i < a->out.rank; i++) own[a->attrs.perm[i]] = at[i];
    return naive_cell(a, 0, own);
}

cell naive_op_broadcast(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK] = {0};
    naive_meet(a, 0, at, own);
    return naive_cell(a, 0, own);
}

/* The index without its entry for one axis, or with a 0 for one more. */
cell naive_op_expand_dims(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK] = {0};
    for (int i = 0, k = 0; i < a->out.rank; i++)
        if (i != a->attrs.axis) own[k++] = at[i];
    return naive_cell(a, 0, own);
}

cell naive_op_squeeze(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK] = {0};
    for (int i = 0, k = 0; i < naive_rank(a, 0); i++)
        if (i != a->attrs.axis) own[i] = at[k++];
    return naive_cell(a, 0, own);
}

cell naive_op_concat(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK];
    int k = 0, axis = a->attrs.axis;
    memcpy(own, at, sizeof own);
    for (; own[axis] >= naive_dim(a, k, axis); k++) own[axis] -= naive_dim(a, k, axis);
    return naive_cell(a, k, own);
}

cell naive_op_slice(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK] = {0};
    for (int i = 0, k = 0; i < naive_rank(a, 0); i++) {
        bool dropped = ((a->attrs.drop >> i) & 1) != 0;
        own[i] = a->attrs.lo[i] + (dropped ? 0 : at[k++] * a->attrs.step[i]);
    }
    return naive_cell(a, 0, own);
}

/* One sum of two elements of the result's type. */
static cell added(const application *a, cell x, cell y) {
    if (!dtype_floating((dtype)a->out.dtype))
        return cell_int(naive_wrap(a, (int64_t)((uint64_t)x.i + (uint64_t)y.i)));
    return cell_float(naive_round(a, (double)x.f + (double)y.f));
}

cell naive_op_slice_add(const application *a, const int64_t *at) {
    int64_t part[MAX_RANK] = {0};
    for (int i = 0, k = 0; i < a->out.rank; i++) {
        int64_t step = a->attrs.step[i] != 0 ? a->attrs.step[i] : 1;
        int64_t off = at[i] - a->attrs.lo[i], entry = off / step;
        if (entry < 0 || entry >= a->attrs.dims[i] || entry * step != off)
            return naive_cell(a, 0, at);
        if (((a->attrs.drop >> i) & 1) == 0) part[k++] = entry;
    }
    return added(a, naive_cell(a, 0, at), naive_cell(a, 1, part));
}

cell naive_op_shift(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK];
    memcpy(own, at, sizeof own);
    int64_t from = own[a->attrs.axis] - a->attrs.lo[0];
    if (from < 0 || from >= a->out.dims[a->attrs.axis]) return (cell){0};
    own[a->attrs.axis] = from;
    return naive_cell(a, 0, own);
}

cell naive_op_triangle(const application *a, const int64_t *at) {
    int64_t diagonal = at[a->out.rank - 1] - at[a->out.rank - 2], last = a->attrs.lo[0];
    bool kept = a->attrs.reversed ? diagonal >= last : diagonal <= last;
    return kept ? naive_cell(a, 0, at) : (cell){0};
}

/* ---- gather and scatter ---- */

cell naive_op_take(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK] = {0}, index[MAX_RANK] = {0};
    int axis = a->attrs.axis, more = naive_rank(a, 1);
    for (int i = 0; i < more; i++) index[i] = at[axis + i];
    for (int i = 0; i < naive_rank(a, 0); i++)
        own[i] = i < axis ? at[i] : i == axis ? naive_int(a, 1, index) : at[i + more - 1];
    return naive_cell(a, 0, own);
}

cell naive_op_take_along_axis(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK];
    memcpy(own, at, sizeof own);
    own[a->attrs.axis] = naive_int(a, 1, at);
    return naive_cell(a, 0, own);
}

/* x with every entry of src that lands here, in the order in which src is read. */
static cell scattered(const application *a, const int64_t *at, bool along) {
    cell sum = naive_cell(a, 0, at);
    int64_t source[MAX_RANK] = {0}, index[MAX_RANK] = {0};
    int axis = a->attrs.axis, more = along ? 1 : naive_rank(a, 1), rank = naive_rank(a, 2);
    const int64_t *dims = value_dims(&a->in[2]);
    if (value_size(&a->in[2]) == 0) return sum;
    do {
        bool here = true;
        for (int i = 0; i < more; i++) index[i] = source[axis + i];
        for (int i = 0; i < a->out.rank; i++) {
            int64_t lands = i < axis   ? source[i]
                            : i > axis ? source[i + more - 1]
                                       : naive_int(a, 1, along ? source : index);
            here = here && lands == at[i];
        }
        if (here) sum = added(a, sum, naive_cell(a, 2, source));
    } while (naive_next(rank, dims, source));
    return sum;
}

cell naive_op_scatter_add(const application *a, const int64_t *at) {
    return scattered(a, at, false);
}

cell naive_op_scatter_along_axis(const application *a, const int64_t *at) {
    return scattered(a, at, true);
}

cell naive_op_one_hot(const application *a, const int64_t *at) {
    return (cell){.f = naive_int(a, 0, at) == at[a->out.rank - 1]};
}

/* ---- order ---- */

/* -1, 0 or 1; NaN is larger than everything and equal to itself. */
static int compare(cell x, cell y) {
    if (x.f != x.f || y.f != y.f) return (x.f != x.f) - (y.f != y.f);
    return x.f != y.f ? (x.f > y.f ? 1 : -1) : (x.i > y.i) - (x.i < y.i);
}

static cell along(const application *a, const int64_t *at, int64_t j) {
    int64_t own[MAX_RANK];
    memcpy(own, at, sizeof own);
    own[a->attrs.axis] = j;
    return naive_cell(a, 0, own);
}

/* The entry that as many precede as its place says: smaller (or larger) ones, and equal ones before
 * it. */
static cell placed(const application *a, const int64_t *at, int direction) {
    int64_t n = naive_dim(a, 0, a->attrs.axis);
    for (int64_t j = 0; j < n; j++) {
        int64_t before = 0;
        for (int64_t i = 0; i < n; i++) {
            int order = direction * compare(along(a, at, i), along(a, at, j));
            before += order < 0 || (order == 0 && i < j);
        }
        if (before == at[a->attrs.axis]) return cell_int(j);
    }
    return cell_int(-1);
}

cell naive_op_argsort(const application *a, const int64_t *at) {
    return placed(a, at, 1);
}

cell naive_op_arg_top_k(const application *a, const int64_t *at) {
    return placed(a, at, -1);
}

cell naive_op_arg_cummax(const application *a, const int64_t *at) {
    int64_t best = 0;
    for (int64_t j = 0; j <= at[a->attrs.axis]; j++)
        if (compare(along(a, at, j), along(a, at, best)) >= 0) best = j;
    return cell_int(best);
}

/* ---- making ---- */

cell naive_op_full(const application *a, const int64_t *at) {
    (void)at;
    return naive_cell(a, 0, NULL);
}

cell naive_op_full_like(const application *a, const int64_t *at) {
    (void)at;
    return naive_cell(a, 1, NULL);
}

cell naive_op_arange(const application *a, const int64_t *at) {
    (void)a;
    return cell_int(at[0]);
}

cell naive_op_eye(const application *a, const int64_t *at) {
    (void)a;
    return (cell){.f = at[0] == at[1], .i = at[0] == at[1]};
}

/* Threefry-2x32 as its authors' paper has it, on JAX's two halves of counters. */
static uint32_t word(const application *a, uint64_t count, uint64_t i) {
    static const unsigned turns[] = {13, 15, 26, 6, 17, 29, 16, 24};
    uint64_t key = (uint64_t)naive_int(a, 0, NULL), half = (count + 1) / 2, low = i % half;
    uint32_t k[3] = {(uint32_t)(key >> 32), (uint32_t)key, 0};
    k[2] = k[0] ^ k[1] ^ 0x1BD11BDA;
    uint32_t x = (uint32_t)low + k[0], y = (low + half < count ? (uint32_t)(low + half) : 0) + k[1];
    for (unsigned round = 0; round < 20; round++) {
        unsigned turn = turns[round % 8];
        x += y;
        y = (y << turn | y >> (32 - turn)) ^ x;
        if (round % 4 != 3) continue;
        x += k[(round / 4 + 1) % 3];
        y += k[(round / 4 + 2) % 3] + round / 4 + 1;
    }
    return i < half ? x : y;
}

/* How many elements there are, and which of them this is. */
static uint64_t place_of(const application *a, const int64_t *at, uint64_t *size) {
    uint64_t place = 0;
    *size = 1;
    for (int i = 0; i < a->out.rank; i++) {
        place = place * (uint64_t)a->out.dims[i] + (uint64_t)at[i];
        *size *= (uint64_t)a->out.dims[i];
    }
    return place;
}

cell naive_op_random_bits(const application *a, const int64_t *at) {
    uint64_t size, i = place_of(a, at, &size);
    return cell_int((int32_t)word(a, size, i));
}

/* The leading bits of a word, or of a word and its partner, as a fraction. */
cell naive_op_random_uniform(const application *a, const int64_t *at) {
    uint64_t size, i = place_of(a, at, &size);
    if (a->out.dtype == DT_F32) return cell_float(ldexp((double)(word(a, size, i) >> 9), -23));
    uint64_t both = (uint64_t)word(a, 2 * size, i) << 32 | word(a, 2 * size, i + size);
    return cell_float(ldexp((double)(both >> 12), -52));
}

/* sqrt 2 times the inverse of erf at a uniform number in (-1, 1), by bisection. In F32 the kernel
 * follows JAX: a polynomial (M. Giles, 4e-7 relative) in the logarithm of 1 - x^2, where rounding
 * x^2 by half of 2^-24 is as good as moving x by as much, and the result by that times its slope,
 * sqrt(pi / 2) exp(z^2 / 2). */
cell naive_op_random_normal(const application *a, const int64_t *at) {
    double u = (double)naive_op_random_uniform(a, at).f;
    bool single = a->out.dtype == DT_F32;
    double low = single ? -0x1.fffffep-1 : -0x1.fffffffffffffp-1;
    double x = single ? (double)(float)((float)u * (1.0f - (float)low) + (float)low)
                      : u * (1.0 - low) + low;
    if (x < low) x = low;
    double from = 0.0, to = 10.0;
    for (int i = 0; i < 100; i++) {
        double middle = (from + to) / 2;
        bool below = fabs(x) < 0.5 ? erfl((long double)middle) < fabsl((long double)x)
                                   : erfcl((long double)middle) > 1.0L - fabsl((long double)x);
        *(below ? &from : &to) = middle;
    }
    double want = copysign(from * sqrt(2.0), x);
    double slack = fabs(want) * (single ? 0x1p-20 : 0x1p-48) + 1e-30;
    if (single) slack += 1.2534 * exp(want * want / 2) * 0x1p-25;
    return cell_near((quad)want, (quad)slack);
}

/* A call under a rule of one's own never comes to the kernels. */
cell naive_op_custom(const application *a, const int64_t *at) {
    (void)a, (void)at;
    return (cell){.any = true};
}
