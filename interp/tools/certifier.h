/* Printed gradients against the engine's: `kina-interp certify`. */
#ifndef KINA_CERTIFIER_H
#define KINA_CERTIFIER_H

#include "interp/certify.h"
#include "interp/tools/options.h"
#include "interp/tools/output.h"

/* Certifies the function that --fn names, or every top-level function that has a gradient, and writes what was
 * compared, or the first difference (*differs). False with the error set when --fn names none that can be certified,
 * or when one is refused. */
bool certifier_run(const options *o, engine *e, output *out, bool *differs) MUST_CHECK;

#endif
