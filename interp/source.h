/* The text of a program: its bytes, its lines, and the names found in it. */
#ifndef KINA_SOURCE_H
#define KINA_SOURCE_H

#include "runtime/arena.h"

typedef struct source {
    const char *path;           /* as messages show it: "prog.kina", "<stdin>", "<-e>" */
    const char *text;           /* length bytes and a NUL behind them */
    uint32_t length;
    uint32_t line_count;
    uint32_t *line_start;       /* byte offset of each line's first byte */
} source;

/* Copies text into the arena and finds the lines ("\n", "\r\n" and "\r" end one). False with the context's
 * error set when out of memory or when the text is 2^31 bytes or more (K0511). */
bool source_init(source *s, arena *a, const char *path, const char *text, size_t length) MUST_CHECK;

/* 1-based line and column of a byte offset; columns count characters, not bytes. */
void source_position(const source *s, uint32_t offset, uint32_t *line, uint32_t *column);

/* Interned names: equal spelling, equal pointer. */
typedef struct names {
    arena *a;
    const char **slot;
    uint32_t count, capacity;
} names;

void names_init(names *n, arena *a);
const char *names_intern(names *n, const char *text, size_t length) MUST_CHECK;

/* Edit distance that counts a swap of neighbours as one, and gives up past `limit`; for did-you-mean. */
unsigned names_distance(const char *a, const char *b, unsigned limit);

#endif
