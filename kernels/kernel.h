/* What an op does to numbers: the bottom handler of the door.
 *
 * kernel_install makes `kernel_handler` the bottom of a context. Performing a call checks shapes by
 * the op's type rule, takes the result's buffer (or reuses a spent operand's), runs the family's
 * kernel and returns a passive value. Kernels know nothing of tapes, programs or gradients.
 *
 * Contract of every kernel: operands are strided views of any layout; the result is fresh,
 * contiguous, or a view for shape ops; an elementwise result depends on the operands' elements
 * alone, never on position, size, alignment or threads; sums run in one fixed tree that depends on
 * the shape alone. */
#ifndef KINA_KERNEL_H
#define KINA_KERNEL_H

#include "runtime/door.h"

void kernel_install(context *c);

/* The bottom handler's perform. */
bool kernel_perform(context *c, handler *h, const op_call *call, value *out) MUST_CHECK;

/* A contiguous owned tensor with t's elements: t itself retained when it is one already. */
tensor *kernel_contiguous(context *c, tensor *t) MUST_CHECK;

/* Names of what computes, for --version: "OpenBLAS 0.3.21 Haswell" (loads it), "SLEEF avx2". */
const char *kernel_blas_name(context *c);
const char *kernel_vector_name(void);

#endif
