/* The table of element types. */
#include "runtime/dtype.h"

#include <string.h>

typedef struct dtype_info {
    const char *name;
    size_t size;
    bool floating;
} dtype_info;

static const dtype_info dtype_table[DTYPE_COUNT] = {
#define DTYPE(name, ctype, field, bytes, floating) [DT_##name] = {#name, bytes, floating},
#include "runtime/dtype.def"
#undef DTYPE
};

#define DTYPE(name, ctype, field, bytes, floating)                                                 \
    _Static_assert(sizeof(ctype) == (bytes), "the size of " #name " in dtype.def");
#include "runtime/dtype.def"
#undef DTYPE

const char *dtype_name(dtype t) {
    return (unsigned)t < DTYPE_COUNT ? dtype_table[t].name : "?";
}

size_t dtype_size(dtype t) {
    return dtype_table[t].size;
}

bool dtype_floating(dtype t) {
    return dtype_table[t].floating;
}

bool dtype_integer(dtype t) {
    return t == DT_I32 || t == DT_I64;
}

bool dtype_find(const char *name, size_t length, dtype *out) {
    for (unsigned i = 0; i < DTYPE_COUNT; i++) {
        if (strlen(dtype_table[i].name) == length &&
            memcmp(dtype_table[i].name, name, length) == 0) {
            *out = (dtype)i;
            return true;
        }
    }
    return false;
}
