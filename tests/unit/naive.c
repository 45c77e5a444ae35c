/* What the naive ops share (naive.h). */
#include "tests/unit/naive.h"

#include <float.h>
#include <math.h>

#include "tests/unit/kernel_check.h"

/* clang-format off */
naive_fn *const naive_table[OP_COUNT] = {
#define OP(id, surface, class, arity, needs, rule, signature, doc) [OP_##id] = naive_op_##id,
#include "runtime/ops.def"
#undef OP
};
/* clang-format on */

/* ---- operands ---- */

dtype naive_dtype(const application *a, int k) {
    return (dtype)a->in[k].dtype;
}

int naive_rank(const application *a, int k) {
    return value_rank(&a->in[k]);
}

int64_t naive_dim(const application *a, int k, int axis) {
    return value_dims(&a->in[k])[axis];
}

double naive_float(const application *a, int k, const int64_t *at) {
    const void *p = kernel_at_index(&a->in[k], at);
    return a->in[k].dtype == DT_F32 ? (double)*(const float *)p : *(const double *)p;
}

int64_t naive_int(const application *a, int k, const int64_t *at) {
    const void *p = kernel_at_index(&a->in[k], at);
    if (a->in[k].dtype == DT_Bool) return *(const bool *)p;
    return a->in[k].dtype == DT_I32 ? *(const int32_t *)p : *(const int64_t *)p;
}

cell naive_cell(const application *a, int k, const int64_t *at) {
    return dtype_floating(naive_dtype(a, k)) ? cell_float(naive_float(a, k, at))
                                             : cell_int(naive_int(a, k, at));
}

void naive_meet(const application *a, int k, const int64_t *at, int64_t *own) {
    int lead = a->out.rank - naive_rank(a, k);
    for (int i = 0; i < naive_rank(a, k); i++) own[i] = naive_dim(a, k, i) == 1 ? 0 : at[lead + i];
}

/* ---- cells ---- */

cell cell_float(double x) {
    return (cell){.f = (quad)x};
}

cell cell_int(int64_t i) {
    return (cell){.i = i};
}

cell cell_near(quad f, quad slack) {
    return (cell){.f = f, .slack = slack};
}

double naive_round(const application *a, double x) {
    return a->out.dtype == DT_F32 ? (double)(float)x : x;
}

int64_t naive_wrap(const application *a, int64_t i) {
    return a->out.dtype == DT_I32 ? (int32_t)(uint32_t)(uint64_t)i : i;
}

quad naive_unit(const application *a) {
    return (quad)(a->out.dtype == DT_F32 ? (double)FLT_EPSILON : DBL_EPSILON) / (quad)2;
}

quad naive_most(const application *a) {
    return a->out.dtype == DT_F32 ? (quad)FLT_MAX : (quad)DBL_MAX;
}

quad naive_least(const application *a) {
    return a->out.dtype == DT_F32 ? (quad)FLT_TRUE_MIN : (quad)DBL_TRUE_MIN;
}

void total_add(total *t, cell x) {
    t->sum += x.f;
    quad size = x.f < (quad)0 ? -x.f : x.f;
    if (size < (quad)INFINITY) t->size += size;
    t->whole = (int64_t)((uint64_t)t->whole + (uint64_t)x.i);
    t->count++;
}

cell cell_product(const application *a, cell x, cell y) {
    bool nothing =
        a->attrs.strong_zero && (x.f == (quad)0 || y.f == (quad)0) && x.f * y.f != (quad)0;
    return (cell){.f = nothing ? (quad)0 : x.f * y.f,
                  .i = (int64_t)((uint64_t)x.i * (uint64_t)y.i)};
}

void total_add_product(const application *a, total *t, cell x, cell y) {
    total_add(t, cell_product(a, x, y));
}

/* |error| <= gamma * size with gamma = n u / (1 - n u), n one more than the terms for the products
 * (N. Higham, Accuracy and Stability of Numerical Algorithms, 3.1); each product may underflow by
 * half of the least number. Where the magnitudes add up beyond the type, an order of adding may
 * overflow. */
cell total_cell(const application *a, const total *t) {
    quad n = (quad)(t->count + 2), u = naive_unit(a);
    cell c = cell_near(t->sum, n * u / ((quad)1 - n * u) * t->size + n * naive_least(a));
    c.i = naive_wrap(a, t->whole);
    c.any = t->size > naive_most(a);
    c.any_sign = true;
    return c;
}

bool naive_next(int rank, const int64_t *dims, int64_t *at) {
    return kernel_next(rank, dims, at);
}
