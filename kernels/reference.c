/* The reference numerics of the transcendental functions: libm in the next wider type, rounded
 * once. Slow, nearly correctly rounded, and independent of SLEEF. Processors without AVX2 and FMA,
 * which SLEEF's deterministic family needs, compute with these too. */
#define NUMBERS number_reference
#define LINES   line_reference
#define W32     double
#define S32
#define W64 long double
#define S64 l
#define GELU64 special_gelu
#include "kernels/libm.inc"
