/* Walking strided operands together: the shared inner machinery of elementwise ops and copies.
 *
 * A loop has up to LOOP_OPERANDS operands over one index space; operand 0 is the result. Strides
 * are in elements and may be 0 (a broadcast axis). The innermost axis is handed to a line function
 * whole. */
#ifndef KINA_KERNELS_LOOP_H
#define KINA_KERNELS_LOOP_H

#include "kernels/lines.h"
#include "runtime/context.h"

enum {
    LOOP_OPERANDS = 4,
    LOOP_PARALLEL = 1 << 16, /* fewer elements are not worth a second thread */
};

typedef struct loop {
    int rank, operands;
    int64_t dims[MAX_RANK];
    int64_t strides[LOOP_OPERANDS][MAX_RANK];
    void *data[LOOP_OPERANDS];
    size_t element[LOOP_OPERANDS]; /* bytes */
} loop;

/* Drops axes of size 1 and joins neighbours that every operand walks as one. */
void loop_collapse(loop *l);

/* Runs the line function over the whole index space, on several threads when it is large. The cut
 * into tasks moves no result, because lines compute each element from the operands' elements alone.
 */
void loop_run(context *c, const loop *l, line_fn *line, const op_attrs *attrs);

/* out[0..n) = n elements from in, step elements apart (0: one element again and again). */
void loop_copy_line(size_t element, void *out, const void *in, ptrdiff_t step, size_t n);

/* Writes the elements of a strided array in row-major order to out. */
void loop_copy(context *c, dtype t, void *out, const void *in, int rank, const int64_t *dims,
               const int64_t *strides);

/* The same into a strided place. */
void loop_copy_into(context *c, dtype t, void *out, const int64_t *out_strides, const void *in,
                    int rank, const int64_t *dims, const int64_t *strides);

#endif
