/* The compiled numerics of the transcendental functions: libm's function of the operand's own type,
 * which is what a call in compiled code computes (docs/numerics.md). */
#define NUMBERS number_compiled
#define LINES   line_compiled
#define W32     float
#define S32     f
#define W64     double
#define S64
#include "kernels/libm.inc"
