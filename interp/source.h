/* The text of a program: its bytes, its lines, where they come from, and the names found in it.
 *
 * A program is one piece of text, a file, or several: what was typed at a prompt at different times, say. Offsets are
 * those of all pieces together; messages show each place as its own piece counts it. */
#ifndef KINA_SOURCE_H
#define KINA_SOURCE_H

#include "runtime/arena.h"

/* A piece of text that is to be part of a program. */
typedef struct source_text {
    const char *path;           /* as messages show it: "prog.kina", "<stdin>", "<-e>" */
    const char *folder;         /* where relative paths of its `load`s start; NULL: where the engine says */
    const char *text;
    size_t length;
    uint32_t first_line;        /* the number of its first line, 1 for a whole file */
} source_text;

/* The same in place. */
typedef struct source_piece {
    const char *path, *folder;
    uint32_t begin;             /* offset of its first byte; it starts a line */
    uint32_t line;              /* which line of all that is, from 0 */
    uint32_t first_line;
} source_piece;

typedef struct source {
    const char *text;           /* length bytes and a NUL behind them */
    uint32_t length;
    uint32_t line_count;
    uint32_t *line_start;       /* byte offset of each line's first byte */
    int piece_count;            /* 1 or more */
    source_piece *pieces;
} source;

/* Copies text into the arena and finds the lines ("\n", "\r\n" and "\r" end one). False with the context's
 * error set when out of memory or when the text is 2^31 bytes or more (K0511). */
bool source_init(source *s, arena *a, const char *path, const char *text, size_t length) MUST_CHECK;
/* The same for one text made of `count` pieces, a line end between each two. */
bool source_init_pieces(source *s, arena *a, const source_text *pieces, int count) MUST_CHECK;

/* The piece that a byte offset is in; a line end between two belongs to the first. */
const source_piece *source_piece_at(const source *s, uint32_t offset);
/* The line that an offset is in, from 0, of all pieces together. */
uint32_t source_line(const source *s, uint32_t offset);
/* What messages call that line: its number in its piece. */
uint32_t source_line_number(const source *s, uint32_t line);

/* Line and column of a byte offset as messages show them: from 1, the line as its piece counts it; columns count
 * characters, not bytes. */
void source_position(const source *s, uint32_t offset, uint32_t *line, uint32_t *column);

/* The path of an offset's piece, where a line alone would be misread: it is not that of the last piece, which is what
 * is being run. Else NULL. */
const char *source_elsewhere(const source *s, uint32_t offset);

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
