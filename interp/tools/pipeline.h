/* MLIR's tools, run one after the other on a module. */
#ifndef KINA_PIPELINE_H
#define KINA_PIPELINE_H

#include "runtime/context.h"

/* Compiles a module to the shared library `path`. Temporary files are removed whatever happens. Errors: K0601 for
 * a tool that is not installed, K0602, K0901 for one that does not take what it is given. */
bool pipeline_run(context *c, const char *module, size_t length, const char *path) MUST_CHECK;

#endif
