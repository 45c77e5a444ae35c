/* Products in which 0 times infinity or NaN is 0 (the attribute strong_zero), for kernels that add many of them up. */
#ifndef KINA_KERNELS_STRONG_H
#define KINA_KERNELS_STRONG_H

#include "runtime/door.h"

/* Whether the call asks for strong zeros and its operands first and first + 1 hold an infinity or a NaN:
 * with all of them finite the plain product is the strong one, bit for bit. */
bool strong_matters(const op_call *call, int first);

#endif
