/* Numbers of 113 bits, for the few results of F64 that would cancel in long double. libm computes
 * on them under names that end in f128, which not every compiler's view of <math.h> declares: the
 * user does, for what it calls. */
#ifndef KINA_KERNELS_QUAD_H
#define KINA_KERNELS_QUAD_H

#include <float.h>

#if LDBL_MANT_DIG == 113
typedef long double quad;
#elif defined(__clang__)
typedef __float128 quad;
#else
__extension__ typedef _Float128 quad;
#endif

#endif
