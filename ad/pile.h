/* A stack of fixed-size elements in chunks: elements never move, so that pointers to them stay good, and
 * memory falls as the stack is popped. Chunks in the middle can be given back too: they are hollow. */
#ifndef KINA_PILE_H
#define KINA_PILE_H

#include "runtime/context.h"

enum { PILE_CHUNK = 64 };       /* elements: few, since unused ones count against a loop's budget */

typedef struct pile {
    size_t element;             /* bytes */
    uint32_t count;
    uint32_t chunks, capacity;  /* chunks, and room in the table of chunks */
    uint32_t hollow;            /* chunks that are not held: NULL in the table */
    char **chunk;
} pile;

/* Room for one more element, uninitialised, or NULL with the error set. */
void *pile_push(context *c, pile *p) MUST_CHECK;
/* Forgets elements from count on; gives their chunks back but for one, kept for the next push. */
void pile_truncate(context *c, pile *p, uint32_t count);
void pile_close(context *c, pile *p);
/* Nobody reaches for elements [from, to) any more, nor for those before them down to `floor`, of which this was said
 * before: gives back the chunks that have no other. */
void pile_hollow(context *c, pile *p, uint32_t floor, uint32_t from, uint32_t to);
/* PILE_CHUNK more elements in a hollow chunk; count is a multiple of that. */
bool pile_push_hollow(context *c, pile *p) MUST_CHECK;

static inline void *pile_at(const pile *p, uint32_t i) {
    return p->chunk[i / PILE_CHUNK] + (size_t)(i % PILE_CHUNK) * p->element;
}
static inline size_t pile_bytes(const pile *p) {
    return (size_t)(p->chunks - p->hollow) * PILE_CHUNK * p->element;
}
/* With the table of chunks. */
static inline size_t pile_held(const pile *p) { return pile_bytes(p) + p->capacity * sizeof *p->chunk; }
static inline bool pile_is_hollow(const pile *p, uint32_t i) { return p->chunk[i / PILE_CHUNK] == NULL; }
/* The place of the first element in the chunk of element i. */
static inline uint32_t pile_chunk_start(uint32_t i) { return i - i % PILE_CHUNK; }

#endif
