/* Random applications of ops, for test_naive.c. */
#ifndef KINA_TESTS_NAIVE_DRAW_H
#define KINA_TESTS_NAIVE_DRAW_H

#include "tests/unit/kernel_check.h"
#include "tests/unit/naive.h"

/* What floats are drawn from: numbers in [-4, 4), small whole ones, special ones among others, all
 * sizes. */
typedef enum palette {
    PALETTE_PLAIN,
    PALETTE_TIES,
    PALETTE_SPECIAL,
    PALETTE_WIDE,
    PALETTES
} palette;

typedef struct drawing {
    kernel_fixture *f;
    palette palette;
    bool distinct; /* no operand steps by 0 */
    application a;
} drawing;

/* Fills d->a but for the type of the result; the operands are the caller's. False for an op that
 * kernels do not perform. */
bool draw_application(drawing *d, op_id op);

/* ---- what it is made of ---- */

typedef struct dims_of {
    int rank;
    int64_t dims[MAX_RANK];
} dims_of;

/* In [0, n); in [low, high]; true once in n times; in [0, 1). */
int64_t draw_below(drawing *d, int64_t n);
int64_t draw_between(drawing *d, int64_t low, int64_t high);
bool draw_one_in(drawing *d, int64_t n);
double draw_unit(drawing *d);

dtype draw_any_float(drawing *d);
dtype draw_any_integer(drawing *d);
dtype draw_any_numeric(drawing *d);
dtype draw_any_dtype(drawing *d);

/* The next operand; integers lie within [low, high] where high is not below low. */
void draw_operand(drawing *d, dtype t, int rank, const int64_t *dims);
void draw_indices(drawing *d, dtype t, int rank, const int64_t *dims, int64_t low, int64_t high);

/* Of least to most axes, no size below `smallest`, of a limited number of elements. */
dims_of draw_dims(drawing *d, int least, int most, int64_t smallest);
/* An operand that a shape can be broadcast from, but for `skip` axes at its end; its literal ones
 * are operand k's. A full one stretches nowhere. */
dims_of draw_part(drawing *d, const dims_of *whole, int skip, int k, bool full);
/* The shape that the attributes name. */
void draw_set_dims(drawing *d, const dims_of *s);

#endif
