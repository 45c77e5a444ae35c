/* The innermost loops: line functions over one strided axis, reducers over one block, and the
 * choice of the instruction set they were compiled for.
 *
 * lines_body.inc holds the text; lines_base.c, lines_avx2.c and lines_avx512.c compile it. All give
 * the same bits: arithmetic is IEEE operation by operation, and the transcendental functions are
 * SLEEF's deterministic family, whose variants agree (tests/unit/test_kernels.c holds them to it).
 */
#ifndef KINA_KERNELS_LINES_H
#define KINA_KERNELS_LINES_H

#include "runtime/context.h"
#include "runtime/op.h"
#include "runtime/value.h"

/* p[0] is the result, written without gaps (s[0] = 1); p[1..] are operands with strides s[1..] in
 * elements. The result may be exactly one of the operands. attrs may be NULL where the op has none.
 */
typedef void line_fn(void *const *p, const ptrdiff_t *s, size_t n, const op_attrs *attrs);

/* One op on numbers. */
typedef value number_fn(const value *in, const op_attrs *attrs);

typedef enum reduction {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_ANY,
    REDUCE_ALL,
    REDUCTIONS
} reduction;

enum {
    REDUCE_LANES = 16,  /* interleaved accumulators of a block */
    REDUCE_BLOCK = 256, /* entries of a block */
};

typedef struct reducer {
    /* out[0] = the n <= REDUCE_BLOCK contiguous entries of x, by the tree that reduce.c describes.
     */
    void (*block)(void *out, const void *x, size_t n);
    /* out[0] = any number of contiguous entries, by all of that tree. */
    void (*tree)(void *out, const void *x, size_t n);
    /* acc[j] = acc[j] joined with x[j]. */
    void (*join)(void *acc, const void *x, size_t n);
} reducer;

/* c[i, j] = (fresh ? 0 : c[i, j]) + a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + …, from left to right,
 * each product rounded before it is added. Strides in elements; c is row-major with row stride ldc;
 * k > 0. */
typedef struct small_product {
    size_t m, n, k;
    const void *a, *b;
    ptrdiff_t a_row, a_column, b_row, b_column;
    void *c;
    ptrdiff_t ldc;
    bool fresh;
} small_product;

typedef struct line_table {
    const char *name;
    line_fn
        *line[OP_COUNT][DTYPE_COUNT]; /* by the dtype of the last operand; NULL: not elementwise */
    reducer reduce[REDUCTIONS][DTYPE_COUNT];
    void (*product[DTYPE_COUNT])(const small_product *p);
} line_table;

extern const line_table lines_base, lines_avx2, lines_avx512;

/* The widest table that this processor can run. */
const line_table *lines_now(void);

/* Line and number functions of an elementwise op under the context's numerics; NULL where there is
 * none. */
line_fn *lines_find(const context *c, op_id op, dtype t);
number_fn *numbers_find(const context *c, op_id op, dtype t);

/* Tables behind the two. The reference and compiled ones hold the transcendental functions only,
 * through libm in the next wider type and in the operands' own; the reference ones also serve
 * processors without AVX2 and FMA. */
extern number_fn *const number_table[OP_COUNT][DTYPE_COUNT];
extern number_fn *const number_reference[OP_COUNT][DTYPE_COUNT];
extern number_fn *const number_compiled[OP_COUNT][DTYPE_COUNT];
extern line_fn *const line_reference[OP_COUNT][DTYPE_COUNT];
extern line_fn *const line_compiled[OP_COUNT][DTYPE_COUNT];
/* Whether the transcendental functions are SLEEF's: the processor and the build both have it. */
bool lines_sleef(void);

#endif
