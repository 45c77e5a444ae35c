/* The bump arena: chunks of a context's memory that are freed together. */
#include "runtime/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"

enum { ARENA_FIRST = 4096, ARENA_MOST = 65536 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t bytes; /* of the whole block, as taken */
};

#define HEAD ((sizeof(struct arena_chunk) + 15) / 16 * 16)

#if defined(__SANITIZE_ADDRESS__)
enum { ONE_BLOCK_EACH = true };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { ONE_BLOCK_EACH = true };
#else
enum { ONE_BLOCK_EACH = false };
#endif
#else
enum { ONE_BLOCK_EACH = false };
#endif

void arena_init(arena *a, context *c) {
    *a = (arena){.c = c};
}

void arena_close(arena *a) {
    struct arena_chunk *next;
    for (struct arena_chunk *chunk = a->chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        give_back(a->c, chunk, chunk->bytes);
    }
    arena_init(a, a->c);
}

static struct arena_chunk *new_chunk(arena *a, size_t bytes) {
    struct arena_chunk *chunk = take(a->c, bytes);
    if (chunk == NULL) return NULL;
    chunk->next = a->chunks;
    chunk->bytes = bytes;
    a->chunks = chunk;
    return chunk;
}

void *arena_take(arena *a, size_t bytes) {
    size_t rounded = bytes == 0 ? 16 : bytes;
    if (!ONE_BLOCK_EACH && rounded <= SIZE_MAX - 15) rounded = (rounded + 15) / 16 * 16;
    if (rounded > SIZE_MAX - HEAD) rounded = SIZE_MAX - HEAD;
    if (a->size - a->used < rounded || ONE_BLOCK_EACH) {
        size_t size = a->size < ARENA_FIRST ? ARENA_FIRST : a->size * 2;
        if (size > ARENA_MOST) size = ARENA_MOST;
        if (ONE_BLOCK_EACH || rounded + HEAD > size) size = rounded + HEAD;
        struct arena_chunk *chunk = new_chunk(a, size);
        if (chunk == NULL) return NULL;
        a->size = size;
        a->used = HEAD;
    }
    void *p = (char *)a->chunks + a->used;
    a->used += rounded;
    memset(p, 0, bytes);
    return p;
}

char *arena_text(arena *a, const char *text, size_t length) {
    char *copy = arena_take(a, length + 1);
    if (copy != NULL && length > 0) memcpy(copy, text, length);
    return copy;
}

char *arena_format(arena *a, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t room = wanted < 0 ? 1 : (size_t)wanted + 1;
    char *out = arena_take(a, room);
    if (out == NULL) return NULL;
    va_start(arguments, format);
    vsnprintf(out, room, format, arguments);
    va_end(arguments);
    return out;
}
