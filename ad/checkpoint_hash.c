/* Replays are held to the first run by value: hashes of the carried values, every few iterations. A difference
 * is our fault (an op that is not a function of its operands) and never the user's. */
#include <string.h>

#include "ad/checkpoint_state.h"

enum {
    HASH_EVERY = 8,     /* iterations at first; a hash of 64 KiB costs about a twentieth of a 64x256 dense step */
    HASH_MOST = 256,    /* iterations with hashes; beyond, every other one is forgotten */
};

static uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9FB21C651E98DF25);
    return h ^ (h >> 32);
}

static uint64_t hash_bytes(const void *p, size_t bytes) {
    const unsigned char *at = p;
    uint64_t h = UINT64_C(0x2545F4914F6CDD1D) ^ bytes, word;
    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, at, bytes);
    return mix(h, word);
}

/* 0 for what is not compared: a view that is not contiguous. */
static uint64_t hash_value(const value *v) {
    uint64_t h;
    if (v->kind == VALUE_NUMBER) {
        h = hash_bytes(&v->as, dtype_size((dtype)v->dtype));
    } else if (v->kind == VALUE_TENSOR && v->as.t->contiguous) {
        h = hash_bytes(v->as.t->data, (size_t)v->as.t->size * dtype_size((dtype)v->as.t->dtype));
    } else {
        return 0;
    }
    return h == 0 ? 1 : h;
}

static void forget_every_other(context *c, checkpointed *l) {
    uint32_t carries = (uint32_t)l->body.carries;
    for (uint32_t to = 0; to < HASH_MOST / 2 * carries; to++) {
        uint32_t from = to / carries * 2 * carries + to % carries;
        *(uint64_t *)pile_at(&l->hashes, to) = *(uint64_t *)pile_at(&l->hashes, from);
    }
    pile_truncate(c, &l->hashes, HASH_MOST / 2 * carries);
    l->hash_every *= 2;
}

size_t checkpoint_hash_bytes(const checkpointed *l) {
    size_t chunks = HASH_MOST * (size_t)l->body.carries / PILE_CHUNK + 2;
    return chunks * (PILE_CHUNK * sizeof(uint64_t) + 3 * sizeof(char *)) + 16 * sizeof(char *);
}

bool checkpoint_hash_keep(context *c, checkpointed *l, uint64_t i) {
    if (l->hash_every == 0) l->hash_every = HASH_EVERY;
    if (l->hashes.count == HASH_MOST * (uint32_t)l->body.carries) forget_every_other(c, l);
    if (i % l->hash_every != 0) return true;
    for (int k = 0; k < l->body.carries; k++) {
        uint64_t *place = pile_push(c, &l->hashes);
        if (place == NULL) return false;
        *place = hash_value(l->body.carry[k]);
    }
    return true;
}

/* For tests: what a replay that goes wrong would look like. */
static void perturb(checkpointed *l) {
    for (int k = 0; k < l->body.carries; k++) {
        value *v = l->body.carry[k];
        if (v->kind != VALUE_NUMBER || !dtype_floating((dtype)v->dtype)) continue;
        v->as.bits ^= 1;
        return;
    }
}

bool checkpoint_hash_hold(context *c, checkpointed *l, uint64_t i) {
    if (c->perturb_replay != 0 && c->perturb_replay == i) perturb(l);
    if (i % l->hash_every != 0) return true;
    uint32_t first = (uint32_t)(i / l->hash_every) * (uint32_t)l->body.carries;
    for (int k = 0; k < l->body.carries && first + (uint32_t)k < l->hashes.count; k++) {
        uint64_t before = *(uint64_t *)pile_at(&l->hashes, first + (uint32_t)k);
        uint64_t now = hash_value(l->body.carry[k]);
        if (before == now || before == 0 || now == 0) continue;
        return error_set(&c->err, ERROR_K0901, l->where,
                         "a second run of this loop gives another value of `%s` at iteration %llu",
                         l->body.names[k], (unsigned long long)i);
    }
    return true;
}
