/* A stack of fixed-size elements in chunks: elements never move, so that pointers to them stay good, and
 * memory falls as the stack is popped. */
#ifndef KINA_PILE_H
#define KINA_PILE_H

#include "runtime/context.h"

enum { PILE_CHUNK = 1024 };     /* elements */

typedef struct pile {
    size_t element;             /* bytes */
    uint32_t count;
    uint32_t chunks, capacity;  /* chunks held, room in the table of chunks */
    char **chunk;
} pile;

/* Room for one more element, uninitialised, or NULL with the error set. */
void *pile_push(context *c, pile *p) MUST_CHECK;
/* Forgets elements from count on; gives their chunks back but for one, kept for the next push. */
void pile_truncate(context *c, pile *p, uint32_t count);
void pile_close(context *c, pile *p);

static inline void *pile_at(const pile *p, uint32_t i) {
    return p->chunk[i / PILE_CHUNK] + (size_t)(i % PILE_CHUNK) * p->element;
}
static inline size_t pile_bytes(const pile *p) {
    return (size_t)p->chunks * PILE_CHUNK * p->element;
}

#endif
