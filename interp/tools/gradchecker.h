/* The verb `gradcheck`: which functions are checked, on which arguments, and what is said of it. */
#ifndef KINA_GRADCHECKER_H
#define KINA_GRADCHECKER_H

#include "interp/engine.h"
#include "interp/tools/options.h"
#include "interp/tools/output.h"

/* Checks the function of --fn, or every function that can be, on the arguments of --arg and random ones for the rest,
 * and prints a table. *differs is set when a derivative is wrong. False with the context's error set when nothing can
 * be checked. */
bool gradchecker_run(const options *o, engine *e, output *out, bool *differs) MUST_CHECK;

#endif
