/* Random applications of ops (naive.h, naive_draw.h): dtype, shapes, attributes, layouts and
 * elements. */
#include "tests/unit/naive_draw.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    USUAL = 120,  /* elements of a result, */
    LARGE = 3000, /* of a few, so that blocks and vectors are full */
};

/* ---- numbers ---- */

int64_t draw_below(drawing *d, int64_t n) {
    return (int64_t)(kernel_random(d->f) % (uint64_t)n);
}

int64_t draw_between(drawing *d, int64_t low, int64_t high) {
    return low + draw_below(d, high - low + 1);
}

bool draw_one_in(drawing *d, int64_t n) {
    return draw_below(d, n) == 0;
}

/* ---- elements ---- */

double draw_unit(drawing *d) {
    return (double)(kernel_random(d->f) >> 11) * 0x1p-53;
}

static double special(drawing *d, dtype t) {
    const double numbers[] = {0.0,
                              -0.0,
                              1.0,
                              -1.0,
                              0.5,
                              -0.5,
                              1.5,
                              2.5,
                              -2.5,
                              2.0,
                              3.0,
                              1e10,
                              -1e10,
                              88.8,
                              -104.0,
                              709.9,
                              (double)NAN,
                              (double)INFINITY,
                              -(double)INFINITY,
                              t == DT_F32 ? (double)FLT_MAX : DBL_MAX,
                              t == DT_F32 ? (double)FLT_MIN : DBL_MIN,
                              t == DT_F32 ? (double)-FLT_TRUE_MIN : -DBL_TRUE_MIN,
                              t == DT_F32 ? 1e-40 : 1e-310};
    return numbers[draw_below(d, COUNT_OF(numbers))];
}

static double draw_float(drawing *d, dtype t) {
    switch (d->palette) {
    case PALETTE_TIES: return (double)draw_between(d, -2, 2);
    case PALETTE_SPECIAL: return draw_one_in(d, 2) ? special(d, t) : draw_unit(d) * 8 - 4;
    case PALETTE_WIDE: return ldexp(draw_unit(d) - 0.5, (int)draw_between(d, -40, 40));
    default: return draw_unit(d) * 8 - 4;
    }
}

static int64_t draw_int(drawing *d, dtype t) {
    static const int64_t far[] = {INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, -1,
                                  0,         1,         46341,     3037000500};
    if (d->palette == PALETTE_SPECIAL && draw_one_in(d, 2)) {
        int64_t x = far[draw_below(d, COUNT_OF(far))];
        return t == DT_I32 ? (int32_t)(uint32_t)(uint64_t)x : x;
    }
    return d->palette == PALETTE_TIES ? draw_between(d, -2, 2) : draw_between(d, -90, 90);
}

/* Integers lie within [low, high] where high is not below low: indices. */
static void draw_element(drawing *d, dtype t, int64_t low, int64_t high, void *to) {
    int64_t i = high >= low        ? draw_between(d, low, high)
                : dtype_integer(t) ? draw_int(d, t)
                                   : draw_below(d, 2);
    switch (t) {
    case DT_F32: *(float *)to = (float)draw_float(d, t); break;
    case DT_F64: *(double *)to = draw_float(d, t); break;
    case DT_I32: *(int32_t *)to = (int32_t)i; break;
    case DT_I64: *(int64_t *)to = i; break;
    case DT_Bool: *(bool *)to = (i & 1) != 0; break;
    case DTYPE_COUNT: break;
    }
}

/* ---- operands ---- */

/* Axes in any order in memory, each stepping by 1, 2, -1, -2 or, all its entries being one, by 0.
 */
static tensor *draw_tensor(drawing *d, dtype t, int rank, const int64_t *dims, int64_t low,
                           int64_t high) {
    int64_t steps[MAX_RANK], room[MAX_RANK], strides[MAX_RANK], offset = 0;
    int place[MAX_RANK];
    bool dense = draw_one_in(d, 2);
    for (int i = 0; i < rank; i++) {
        static const int64_t all[] = {1, 1, 1, 2, -1, -2, 0};
        steps[i] = dense ? 1 : all[draw_below(d, (int64_t)COUNT_OF(all) - d->distinct)];
        place[i] = i;
        int swapped = dense ? i : (int)draw_below(d, i + 1);
        place[i] = place[swapped];
        place[swapped] = i;
    }
    for (int i = 0; i < rank; i++) {
        int64_t step = steps[i] < 0 ? -steps[i] : steps[i];
        room[place[i]] = dims[i] == 0 ? 0 : step * (dims[i] - 1) + 1;
    }
    tensor *base = tensor_new(&d->f->c, t, rank, room);
    ck_assert_ptr_nonnull(base);
    for (int64_t i = 0; i < base->size; i++)
        draw_element(d, t, low, high, (char *)base->data + (size_t)i * dtype_size(t));
    if (dense) return base;
    for (int i = 0; i < rank; i++) {
        strides[i] = steps[i] * base->strides[place[i]];
        if (steps[i] < 0 && base->size > 0) offset -= strides[i] * (dims[i] - 1);
    }
    tensor *view = tensor_view(&d->f->c, base, offset, rank, dims, strides);
    ck_assert_ptr_nonnull(view);
    tensor_release(&d->f->c, base);
    return view;
}

void draw_indices(drawing *d, dtype t, int rank, const int64_t *dims, int64_t low, int64_t high) {
    value v = {.kind = VALUE_NUMBER, .dtype = (uint8_t)t};
    if (rank == 0)
        draw_element(d, t, low, high, &v.as);
    else
        v = value_tensor(draw_tensor(d, t, rank, dims, low, high));
    d->a.in[d->a.n++] = v;
}

void draw_operand(drawing *d, dtype t, int rank, const int64_t *dims) {
    draw_indices(d, t, rank, dims, 0, -1);
}

/* ---- dtypes and shapes ---- */

dtype draw_any_float(drawing *d) {
    return draw_one_in(d, 2) ? DT_F32 : DT_F64;
}

dtype draw_any_integer(drawing *d) {
    return draw_one_in(d, 2) ? DT_I32 : DT_I64;
}

dtype draw_any_numeric(drawing *d) {
    return draw_one_in(d, 3) ? draw_any_integer(d) : draw_any_float(d);
}

dtype draw_any_dtype(drawing *d) {
    return draw_one_in(d, 6) ? DT_Bool : draw_any_numeric(d);
}

dims_of draw_dims(drawing *d, int least, int most, int64_t smallest) {
    dims_of s = {.rank = (int)draw_between(d, least, most)};
    int64_t limit = draw_one_in(d, 40) ? LARGE : USUAL, size = 1;
    if (most > 4 && draw_one_in(d, 2) && least <= 4) s.rank = (int)draw_between(d, least, 4);
    for (int i = 0; i < s.rank; i++) {
        int64_t dim = draw_one_in(d, 25)  ? 0
                      : draw_one_in(d, 5) ? 1
                                          : draw_between(d, 2, limit == LARGE ? 300 : 6);
        if (dim < smallest) dim = smallest;
        if (size * dim > limit) dim = 1 > smallest ? 1 : smallest;
        s.dims[i] = dim;
        size *= dim > 0 ? dim : 1;
    }
    return s;
}

dims_of draw_part(drawing *d, const dims_of *whole, int skip, int k, bool full) {
    int lead = full ? 0 : (int)draw_below(d, whole->rank - skip + 1);
    if (!full && draw_one_in(d, 2)) lead = 0;
    dims_of s = {.rank = whole->rank - lead};
    for (int i = 0; i < s.rank; i++) {
        s.dims[i] = whole->dims[lead + i];
        bool stretched = !full && i < s.rank - skip && draw_one_in(d, 4);
        if (stretched) s.dims[i] = 1;
        if (stretched || (s.dims[i] == 1 && draw_one_in(d, 2)))
            d->a.attrs.ones[k] = (uint8_t)(d->a.attrs.ones[k] | 1u << i);
    }
    return s;
}

void draw_set_dims(drawing *d, const dims_of *s) {
    d->a.attrs.rank = (uint8_t)s->rank;
    memcpy(d->a.attrs.dims, s->dims, sizeof s->dims);
}
