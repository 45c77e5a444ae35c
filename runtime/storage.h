/* The element types of files: every dtype, and two 16-bit floating types that are stored and never computed in. */
#ifndef KINA_STORAGE_H
#define KINA_STORAGE_H

#include "runtime/dtype.h"

/* A dtype is the storage type of the same number. */
typedef enum storage {
    STORAGE_F16 = DTYPE_COUNT, /* IEEE half precision */
    STORAGE_BF16,              /* the upper half of an F32 */
    STORAGE_COUNT
} storage;

const char *storage_name(storage t);
size_t storage_size(storage t);
/* false when no storage type has this name. */
bool storage_find(const char *name, size_t length, storage *out);
/* Whether numbers of dtype `from` may be stored as `to`: the type itself, or a floating one of fewer digits. */
bool storage_fits(dtype from, storage to);

/* The bits of a number of floating type `from` as one of floating type `to`: rounded to nearest, ties to even;
 * infinite when too large. A NaN keeps its sign and as much of its payload as there is room for. */
uint64_t storage_convert(uint64_t bits, storage from, storage to);
/* Puts the low 2, 4 or 8 bytes of `bits` as a number of the host. */
void storage_put(void *out, size_t bytes, uint64_t bits);

#endif
