/* Every op a second time, one element of the result after the other by loops over indices: the
 * plain reading of what an op means, which shares nothing with kernels/. test_naive.c holds the
 * kernels against it.
 *
 * Each row of runtime/ops.def has a function naive_op_NAME; an op without one does not link. */
#ifndef KINA_TESTS_NAIVE_H
#define KINA_TESTS_NAIVE_H

#include "bench/exact.h"
#include "runtime/context.h"
#include "runtime/value.h"

/* One application of an op: operands in any layout, and the type of its result. */
typedef struct application {
    op_id op;
    op_attrs attrs;
    int n;
    value in[4];
    op_type out;
    numerics how;
} application;

/* One element that the kernel should give: a float, or an integer or Bool. */
typedef struct cell {
    quad f;
    quad slack;  /* how far off it may be; 0: the same bits after one rounding */
    double ulps; /* the same in units of the last place, where it is not 0 */
    int64_t i;
    bool any;      /* nothing is promised */
    bool any_sign; /* of a zero */
} cell;

typedef cell naive_fn(const application *a, const int64_t *at);
extern naive_fn *const naive_table[OP_COUNT];
#define OP(id, surface, class, arity, needs, rule, signature, doc) naive_fn naive_op_##id;
#include "runtime/ops.def"
#undef OP

/* ---- operands ---- */

dtype naive_dtype(const application *a, int k);
int naive_rank(const application *a, int k);
int64_t naive_dim(const application *a, int k, int axis);
/* The element of operand k at an index, or where an index of the result, aligned at its end, meets
 * it. */
double naive_float(const application *a, int k, const int64_t *at);
int64_t naive_int(const application *a, int k, const int64_t *at);
cell naive_cell(const application *a, int k, const int64_t *at);
void naive_meet(const application *a, int k, const int64_t *at, int64_t *own);

/* ---- cells ---- */

cell cell_float(double x);
cell cell_int(int64_t i);
cell cell_near(quad f, quad slack);
/* Rounded or wrapped to the type of the result. */
double naive_round(const application *a, double x);
int64_t naive_wrap(const application *a, int64_t i);

/* Half the distance between 1 and the next number of the result's type, its largest number and its
 * least. */
quad naive_unit(const application *a);
quad naive_most(const application *a);
quad naive_least(const application *a);

/* A sum of terms, in quadruple precision, and what is needed to bound the error of adding it up in
 * any order. */
typedef struct total {
    quad sum, size; /* of the terms, of the magnitudes of the finite ones */
    int64_t count, whole;
} total;
void total_add(total *t, cell x);
/* Under strong_zero a factor 0 leaves nothing of the other, be it infinite. */
void total_add_product(const application *a, total *t, cell x, cell y);
cell cell_product(const application *a, cell x, cell y);
/* The sum; off by rounding after every addition and product at most. */
cell total_cell(const application *a, const total *t);

/* The next index below dims in row-major order; false after the last. */
bool naive_next(int rank, const int64_t *dims, int64_t *at);

#endif
