/* The derivative of a function as a program: `kina-interp grad`. */
#ifndef KINA_GRAD_H
#define KINA_GRAD_H

#include "interp/derive.h"
#include "interp/tools/options.h"
#include "interp/tools/output.h"

/* What the options ask for, of a program that is loaded; wrt lives in the engine's arena. False with the error
 * set (K0802) when there is no such function or parameter. */
bool grad_wish(const options *o, engine *e, derivative_wish *out) MUST_CHECK;

/* Writes the program to standard output, or nothing and the error is set. */
bool grad_print(const options *o, engine *e, output *out) MUST_CHECK;

#endif
