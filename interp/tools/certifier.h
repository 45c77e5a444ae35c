/* Printed gradients held against the engine's: which functions, and what is said of it. */
#ifndef KINA_CERTIFIER_H
#define KINA_CERTIFIER_H

#include "interp/certify.h"
#include "interp/tools/options.h"
#include "interp/tools/output.h"

enum { CERTIFIER_INPUTS = 16 };    /* of each function and mode, where nobody says */

/* Certifies the function of this name, or with NULL every top-level function that has a gradient, and appends what was
 * compared, or the first difference (*differs). False with the error set when there is none that can be certified, or
 * when one is refused. */
bool certifier_check(engine *e, const char *name, const certify_wish *w, text *out, bool *differs) MUST_CHECK;

/* The verb: as the options wish, on standard output. */
bool certifier_run(const options *o, engine *e, output *out, bool *differs) MUST_CHECK;

#endif
