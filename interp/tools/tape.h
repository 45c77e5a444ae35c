/* The run-time tape of a program or function: `kina-interp tape`. */
#ifndef KINA_TOOLS_TAPE_H
#define KINA_TOOLS_TAPE_H

#include "interp/tools/options.h"
#include "interp/tools/output.h"

/* Runs the program, or the function of --fn under reverseMode, and writes the first tape that is swept and the order in
 * which that is done. False with the error set, and nothing written. */
bool tape_show(const options *o, engine *e, output *out) MUST_CHECK;

#endif
