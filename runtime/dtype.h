/* Element types, generated from dtype.def. */
#ifndef KINA_DTYPE_H
#define KINA_DTYPE_H

#include "runtime/common.h"

typedef enum dtype {
#define DTYPE(name, ctype, field, bytes, floating) DT_##name,
#include "runtime/dtype.def"
#undef DTYPE
    DTYPE_COUNT
} dtype;

const char *dtype_name(dtype t);
size_t dtype_size(dtype t);
bool dtype_floating(dtype t);
bool dtype_integer(dtype t);    /* I32 or I64 */
/* false when no dtype has this name. */
bool dtype_find(const char *name, size_t length, dtype *out);

#endif
