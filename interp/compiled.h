/* What compiled code computes under --numerics compiled (docs/numerics.md), as far as every language that it is written
 * in says the same. For the emitters of MLIR and of C. */
#ifndef KINA_COMPILED_H
#define KINA_COMPILED_H

#include "runtime/op.h"

/* The function of libm that an op is on F64, of the same name with an `f` behind it on F32; NULL: it is none. */
const char *compiled_libm(op_id op);

/* The op that joins an entry to what a reduction has so far. */
op_id compiled_join(op_id reduction);

/* The C type of an element: "float". */
const char *compiled_c_type(dtype t);

#endif
