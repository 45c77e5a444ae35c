/* A bump arena over a context's memory, for trees that die together: syntax, types, code.
 * Under a sanitizer each object is a block of its own, so that an overrun is seen. */
#ifndef KINA_ARENA_H
#define KINA_ARENA_H

#include "runtime/common.h"

typedef struct arena {
    context *c;
    struct arena_chunk *chunks;
    size_t used, size;          /* of the newest chunk */
} arena;

void arena_init(arena *a, context *c);
void arena_close(arena *a);
/* Zeroed, aligned to 16; NULL with the context's error set. */
void *arena_take(arena *a, size_t bytes) MUST_CHECK;
/* A copy of text[0..length) with a NUL behind it. */
char *arena_text(arena *a, const char *text, size_t length) MUST_CHECK;
char *arena_format(arena *a, const char *format, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

#define ARENA_NEW(arena, type)          ((type *)arena_take((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_take((arena), sizeof(type) * (size_t)(count)))

#endif
