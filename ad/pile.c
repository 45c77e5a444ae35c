/* The chunked stack under the tape. */
#include "ad/pile.h"

static size_t chunk_bytes(const pile *p) { return PILE_CHUNK * p->element; }

static bool add_entry(context *c, pile *p, char *chunk) {
    if (p->chunks == p->capacity) {
        uint32_t capacity = p->capacity ? 2 * p->capacity : 16;
        size_t high = c->mem.high;
        char **grown = resize(c, p->chunk, p->capacity * sizeof *grown, capacity * sizeof *grown);
        if (grown == NULL) return false;
        /* Two tables at once are a matter of how long the pile is, not of what an iteration needs in passing. */
        c->mem.high = high > c->mem.live ? high : c->mem.live;
        p->chunk = grown;
        p->capacity = capacity;
    }
    p->chunk[p->chunks++] = chunk;
    p->hollow += chunk == NULL;
    return true;
}

static bool add_chunk(context *c, pile *p) {
    char *chunk = take(c, chunk_bytes(p));
    if (chunk == NULL) return false;
    if (add_entry(c, p, chunk)) return true;
    give_back(c, chunk, chunk_bytes(p));
    return false;
}

static void remove_chunk(context *c, pile *p) {
    char *chunk = p->chunk[--p->chunks];
    p->hollow -= chunk == NULL;
    give_back(c, chunk, chunk_bytes(p));
}

void *pile_push(context *c, pile *p) {
    if (p->count == UINT32_MAX) {
        error_set(&c->err, ERROR_K0511, (span){0, 0}, "the tape is full: 2^32 records");
        return NULL;
    }
    if (p->count == p->chunks * PILE_CHUNK && !add_chunk(c, p)) return NULL;
    return pile_at(p, p->count++);
}

bool pile_push_hollow(context *c, pile *p) {
    while (p->chunks > p->count / PILE_CHUNK) remove_chunk(c, p);
    if (p->count > UINT32_MAX - PILE_CHUNK) {
        return error_set(&c->err, ERROR_K0511, (span){0, 0}, "the tape is full: 2^32 records");
    }
    if (!add_entry(c, p, NULL)) return false;
    p->count += PILE_CHUNK;
    return true;
}

void pile_hollow(context *c, pile *p, uint32_t floor, uint32_t from, uint32_t to) {
    uint32_t first = from / PILE_CHUNK, own = (floor + PILE_CHUNK - 1) / PILE_CHUNK;
    for (uint32_t i = first > own ? first : own; i < to / PILE_CHUNK; i++) {
        if (p->chunk[i] == NULL) continue;
        give_back(c, p->chunk[i], chunk_bytes(p));
        p->chunk[i] = NULL;
        p->hollow++;
    }
}

void pile_truncate(context *c, pile *p, uint32_t count) {
    p->count = count;
    uint32_t used = (count + PILE_CHUNK - 1) / PILE_CHUNK, keep = count / PILE_CHUNK + 2;
    while (p->chunks > keep) remove_chunk(c, p);
    /* What is pushed next must find no hollow chunk. */
    for (uint32_t i = used; i < p->chunks; i++) {
        if (p->chunk[i] != NULL) continue;
        while (p->chunks > i) remove_chunk(c, p);
    }
}

void pile_close(context *c, pile *p) {
    while (p->chunks > 0) remove_chunk(c, p);
    give_back(c, p->chunk, p->capacity * sizeof *p->chunk);
    p->chunk = NULL;
    p->capacity = p->count = 0;
}
