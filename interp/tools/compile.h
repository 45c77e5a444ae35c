/* A program as MLIR text, and as a shared library made of it. */
#ifndef KINA_COMPILE_H
#define KINA_COMPILE_H

#include "interp/engine.h"
#include "interp/tools/options.h"
#include "interp/tools/output.h"

/* Writes the module to the file of -o, else to standard output. */
bool compile_to_mlir(engine *e, const options *o, output *to) MUST_CHECK;

/* Runs the pipeline of docs/mlir.md on the module, and writes the library, and the header if one is asked
 * for. Of a failure no file is left. */
bool compile_to_library(engine *e, const options *o) MUST_CHECK;

/* Writes a file whole. False with the error K0602. */
bool compile_write(context *c, const char *path, const char *data, size_t length) MUST_CHECK;

#endif

