/* The transcendental functions in quadruple precision: what the accuracy of kernels is held
 * against, by `kina-bench accuracy` and by the unit tests. Independent of the kernels: libm's
 * functions of 113 bits, and digamma and its derivatives made from them here. */
#ifndef KINA_BENCH_EXACT_H
#define KINA_BENCH_EXACT_H

#include "kernels/quad.h"
#include "runtime/dtype.h"
#include "runtime/op.h"

/* Whether the op is one of them. */
bool exact_knows(op_id op);
/* Its value at x[0] (and x[1]); order is polygamma's. */
quad exact_value(op_id op, const double *x, int order);
/* Digamma for order 0, else its derivative of that order. */
quad exact_polygamma(int order, quad x);
/* How far got is from want, in units of want's last place in t. Infinite where one is NaN and the
 * other is not, and where both are 0 with different signs. */
double exact_ulps(dtype t, double got, quad want);
/* What the kernels promise in these units. */
double exact_allowed(op_id op, dtype t, bool reference);

#endif
