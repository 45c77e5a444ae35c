/* The chunked stack under the tape. */
#include "ad/pile.h"

static bool add_chunk(context *c, pile *p) {
    if (p->chunks == p->capacity) {
        uint32_t capacity = p->capacity ? 2 * p->capacity : 16;
        char **grown = resize(c, p->chunk, p->capacity * sizeof *grown, capacity * sizeof *grown);
        if (grown == NULL) return false;
        p->chunk = grown;
        p->capacity = capacity;
    }
    char *chunk = take(c, PILE_CHUNK * p->element);
    if (chunk == NULL) return false;
    p->chunk[p->chunks++] = chunk;
    return true;
}

void *pile_push(context *c, pile *p) {
    if (p->count == UINT32_MAX) {
        error_set(&c->err, ERROR_K0511, (span){0, 0}, "the tape is full: 2^32 records");
        return NULL;
    }
    if (p->count == p->chunks * PILE_CHUNK && !add_chunk(c, p)) return NULL;
    return pile_at(p, p->count++);
}

void pile_truncate(context *c, pile *p, uint32_t count) {
    p->count = count;
    uint32_t keep = count / PILE_CHUNK + 2;
    while (p->chunks > keep) give_back(c, p->chunk[--p->chunks], PILE_CHUNK * p->element);
}

void pile_close(context *c, pile *p) {
    while (p->chunks > 0) give_back(c, p->chunk[--p->chunks], PILE_CHUNK * p->element);
    give_back(c, p->chunk, p->capacity * sizeof *p->chunk);
    p->chunk = NULL;
    p->capacity = p->count = 0;
}
