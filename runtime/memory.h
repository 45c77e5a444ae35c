/* The accounting allocator: every byte of a context comes from here.
 *
 * It counts live and peak requested bytes, holds a limit, and keeps freed blocks in size classes so that
 * a loop of fixed shapes calls the system for nothing after its first iteration. Callers state the size
 * when they free, so a block needs no header. Blocks are aligned to TENSOR_ALIGN when of that size or more,
 * else to 16. Not thread-safe: one context, one thread. Under a sanitizer every block is malloc's own. */
#ifndef KINA_MEMORY_H
#define KINA_MEMORY_H

#include "runtime/common.h"

enum { MEMORY_CLASSES = 256 };

typedef struct memory {
    size_t live, peak;          /* requested bytes */
    size_t high;                /* the peak since whoever asks last set it to `live` */
    size_t limit;               /* 0: none */
    size_t reserved;            /* bytes held from the system, live or kept for reuse */
    uint64_t requests;          /* allocations asked for so far, failed ones included */
    uint64_t fail_at;           /* testing: the request of this number fails (1 is the first); 0: none */
    bool limited;               /* the last failure was the limit's (or fail_at's), not the system's */
    struct memory_block *free_list[MEMORY_CLASSES];
    struct memory_chunk *chunks;
    char *bump, *bump_end;      /* the rest of the newest chunk */
} memory;

void memory_init(memory *m);
/* Returns everything to the system. Live blocks become invalid. */
void memory_close(memory *m);

/* Uninitialised bytes, or NULL (the limit, the system, or fail_at). bytes = 0 gives a unique non-NULL
 * pointer that memory_free accepts. */
void *memory_take(memory *m, size_t bytes) MUST_CHECK;
/* p may be NULL. bytes as requested. */
void memory_free(memory *m, void *p, size_t bytes);
/* As realloc; on NULL the old block is untouched. p may be NULL with old = 0. */
void *memory_resize(memory *m, void *p, size_t old, size_t bytes) MUST_CHECK;

/* context forms: they set the error K0506 or K0507. */
void *take(context *c, size_t bytes) MUST_CHECK;
void *take_zeroed(context *c, size_t bytes) MUST_CHECK;
void *resize(context *c, void *p, size_t old, size_t bytes) MUST_CHECK;
void give_back(context *c, void *p, size_t bytes);

#endif
