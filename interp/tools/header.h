/* The C header of a built library. */
#ifndef KINA_HEADER_H
#define KINA_HEADER_H

#include "interp/mlir.h"

/* Appends the structs and prototypes of what the library exports; false with the context's error set when out
 * of memory. */
bool header_write(engine *e, const mlir_exports *exports, text *out) MUST_CHECK;

#endif
