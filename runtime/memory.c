/* The accounting allocator: size classes over chunks, large blocks mapped one by one.
 *
 * Sizes up to 64 bytes are rounded to 16, above that to one of four steps an octave, all multiples
 * of 64. A class below BIG bytes is bumped out of chunks; a block of BIG bytes or more is a mapping
 * of its own, with its bookkeeping on a page in front, so that the block itself can start on a huge
 * page. Freed blocks wait on their class's free list, linked through their first bytes. */
#include "runtime/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/context.h"

#if defined(__SANITIZE_ADDRESS__) && !defined(KINA_PLAIN_MEMORY)
#define KINA_PLAIN_MEMORY 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(KINA_PLAIN_MEMORY)
#define KINA_PLAIN_MEMORY 1
#endif
#endif

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

void memory_init(memory *m) {
    memset(m, 0, sizeof *m);
}

/* Counts a request; false when it has to fail before the system is asked. */
static bool may_take(memory *m, size_t bytes) {
    m->requests++;
    m->limited = true;
    if (m->fail_at != 0 && m->requests == m->fail_at) return false;
    if (m->limit != 0 && (bytes > m->limit || m->live > m->limit - bytes)) return false;
    m->limited = false;
    return bytes <= PTRDIFF_MAX / 2;
}

static void count_live(memory *m, size_t bytes) {
    m->live += bytes;
    if (m->live > m->peak) m->peak = m->live;
    if (m->live > m->high) m->high = m->live;
}

#ifdef KINA_PLAIN_MEMORY

/* Sanitizers end the process when malloc cannot serve a request, so absurd ones are refused here.
 */
#define PLAIN_MOST ((size_t)16 * 1024 * MIB)

void memory_close(memory *m) {
    memory_init(m);
}

void *memory_take(memory *m, size_t bytes) {
    if (!may_take(m, bytes) || bytes > PLAIN_MOST) return NULL;
    void *p = NULL;
    size_t align = bytes >= TENSOR_ALIGN ? TENSOR_ALIGN : 16;
    if (posix_memalign(&p, align, bytes != 0 ? bytes : 1) != 0) return NULL;
    m->reserved += bytes;
    count_live(m, bytes);
    return p;
}

void memory_free(memory *m, void *p, size_t bytes) {
    if (p == NULL) return;
    m->live -= bytes;
    m->reserved -= bytes;
    free(p);
}

/* Never in place, so that a stale pointer to the old block is seen. */
static bool resize_in_place(memory *m, size_t old, size_t bytes) {
    (void)m, (void)old, (void)bytes;
    return false;
}

#else

#define PAGE        (4 * KIB)
#define HUGE_PAGE   (2 * MIB)
#define BIG         MIB
#define CHUNK_FIRST (64 * KIB)
#define CHUNK_MOST  (4 * MIB)
/* Freed big blocks are kept without question up to this many bytes beyond twice the peak. */
#define CACHE_SLACK (256 * MIB)

struct memory_block {
    struct memory_block *next;
};

/* The head of a chunk, and of a big block's page in front. */
struct memory_chunk {
    struct memory_chunk *next, **link; /* link: where the pointer to this one stands */
    size_t mapped;                     /* bytes of the whole mapping */
};

static unsigned class_of(size_t bytes) {
    if (bytes <= 64) return bytes == 0 ? 0 : (unsigned)((bytes - 1) / 16);
    size_t units = (bytes + 63) / 64;
    if (units <= 4) return (unsigned)units + 2;
    unsigned octave = 63 - (unsigned)__builtin_clzll(units - 1);
    unsigned step = (unsigned)((units - 1 - ((size_t)1 << octave)) >> (octave - 2));
    return 7 + 4 * (octave - 2) + step;
}

static size_t class_bytes(unsigned class) {
    if (class < 4) return 16 * ((size_t) class + 1);
    if (class < 7) return 64 * ((size_t) class - 2);
    unsigned octave = (class - 7) / 4 + 2, step = (class - 7) % 4;
    return (((size_t)1 << octave) + ((size_t)(step + 1) << (octave - 2))) * 64;
}

/* Maps `bytes` (whole pages) so that address + ahead stands on a huge page when they are that many.
 */
static char *map_pages(size_t bytes, size_t ahead) {
    size_t slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (bytes < BIG ? MAP_POPULATE : 0);
    char *p = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (slack == 0) return p;
    size_t skip = (HUGE_PAGE - ((uintptr_t)p + ahead) % HUGE_PAGE) % HUGE_PAGE;
    if (skip > 0) munmap(p, skip);
    if (skip < slack) munmap(p + skip + bytes, slack - skip);
    p += skip;
    /* Advice: without it the block is merely slower. */
    (void)madvise(p + ahead, bytes - ahead, MADV_HUGEPAGE);
    return p;
}

static void link_mapping(memory *m, struct memory_chunk *chunk, size_t mapped) {
    chunk->mapped = mapped;
    chunk->next = m->chunks;
    chunk->link = &m->chunks;
    if (m->chunks != NULL) m->chunks->link = &chunk->next;
    m->chunks = chunk;
    m->reserved += mapped;
}

static void unlink_mapping(memory *m, struct memory_chunk *chunk) {
    *chunk->link = chunk->next;
    if (chunk->next != NULL) chunk->next->link = chunk->link;
    m->reserved -= chunk->mapped;
    munmap((char *)chunk, chunk->mapped);
}

void memory_close(memory *m) {
    struct memory_chunk *next;
    for (struct memory_chunk *chunk = m->chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        munmap((char *)chunk, chunk->mapped);
    }
    memory_init(m);
}

/* Gives every cached big block back to the system; true when there was any. */
static bool return_cached(memory *m) {
    bool any = false;
    for (unsigned class = class_of(BIG); class < MEMORY_CLASSES; class ++) {
        while (m->free_list[class] != NULL) {
            struct memory_block *block = m->free_list[class];
            m->free_list[class] = block->next;
            unlink_mapping(m, (struct memory_chunk *)((char *)block - PAGE));
            any = true;
        }
    }
    return any;
}

/* New pages for m, after returning cached blocks where holding both would be too much. */
static struct memory_chunk *new_mapping(memory *m, size_t bytes, size_t ahead) {
    size_t held = m->reserved + bytes;
    if ((m->limit != 0 && held > m->limit) || held > 2 * m->peak + CACHE_SLACK) return_cached(m);
    char *p = map_pages(bytes, ahead);
    if (p == NULL && return_cached(m)) p = map_pages(bytes, ahead);
    if (p == NULL) return NULL;
    struct memory_chunk *chunk = (struct memory_chunk *)p;
    link_mapping(m, chunk, bytes);
    return chunk;
}

static void push_free(memory *m, void *p, unsigned class) {
    struct memory_block *block = p;
    block->next = m->free_list[class];
    m->free_list[class] = block;
}

/* Cuts what is left of the newest chunk into free blocks before the next chunk takes its place. */
static void keep_rest(memory *m) {
    for (;;) {
        size_t left = (size_t)(m->bump_end - m->bump);
        if (left < 16) break;
        size_t cut = 16;
        unsigned class = 0;
        if ((uintptr_t)m->bump % TENSOR_ALIGN == 0) {
            class = class_of(left);
            if (class_bytes(class) > left) class --;
            cut = class_bytes(class);
        }
        push_free(m, m->bump, class);
        m->bump += cut;
    }
}

static bool new_chunk(memory *m, size_t need) {
    /* Chunks grow with what they hold already, so that few are made and little is left over. */
    size_t size = CHUNK_FIRST;
    for (size_t held = m->reserved / 2; size < held && size < CHUNK_MOST;) size *= 2;
    size_t head = TENSOR_ALIGN;
    if (size < need + head) size = (need + head + PAGE - 1) / PAGE * PAGE;
    struct memory_chunk *chunk = new_mapping(m, size, 0);
    if (chunk == NULL) return false;
    keep_rest(m);
    m->bump = (char *)chunk + head;
    m->bump_end = (char *)chunk + size;
    return true;
}

static void *bump_take(memory *m, unsigned class) {
    size_t size = class_bytes(class);
    size_t align = size >= TENSOR_ALIGN ? TENSOR_ALIGN : 16;
    size_t skip = (align - (uintptr_t)m->bump % align) % align;
    if ((size_t)(m->bump_end - m->bump) < skip + size) {
        if (!new_chunk(m, size)) return NULL;
        skip = 0;
    }
    for (; skip > 0; skip -= 16) { /* the gap up to the alignment serves small requests later */
        push_free(m, m->bump, 0);
        m->bump += 16;
    }
    void *p = m->bump;
    m->bump += size;
    return p;
}

void *memory_take(memory *m, size_t bytes) {
    if (!may_take(m, bytes)) return NULL;
    unsigned class = class_of(bytes);
    void *p = m->free_list[class];
    if (p != NULL) {
        m->free_list[class] = m->free_list[class]->next;
    } else if (class_bytes(class) >= BIG) {
        struct memory_chunk *chunk = new_mapping(m, class_bytes(class) + PAGE, PAGE);
        if (chunk != NULL) p = (char *)chunk + PAGE;
    } else {
        p = bump_take(m, class);
    }
    if (p != NULL) count_live(m, bytes);
    return p;
}

void memory_free(memory *m, void *p, size_t bytes) {
    if (p == NULL) return;
    m->live -= bytes;
    push_free(m, p, class_of(bytes));
}

static bool resize_in_place(memory *m, size_t old, size_t bytes) {
    (void)m;
    return class_of(old) == class_of(bytes);
}

#endif

void *memory_resize(memory *m, void *p, size_t old, size_t bytes) {
    if (p == NULL) return memory_take(m, bytes);
    if (resize_in_place(m, old, bytes)) {
        /* The old bytes do not count beside the new ones here: nothing is copied. */
        m->live -= old;
        bool granted = may_take(m, bytes);
        count_live(m, granted ? bytes : old);
        return granted ? p : NULL;
    }
    void *moved = memory_take(m, bytes);
    if (moved == NULL) return NULL;
    memcpy(moved, p, old < bytes ? old : bytes);
    memory_free(m, p, old);
    return moved;
}

enum { BYTES_ROOM = 32 };

/* Bytes as people read them: "100 bytes", "64 KiB", "1.5 GiB". */
static const char *bytes_print(char out[BYTES_ROOM], size_t bytes) {
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned step = 0;
    size_t whole = bytes, tenths = 0;
    while (whole >= 1024 && step + 1 < COUNT_OF(unit)) {
        tenths = whole % 1024 * 10 / 1024;
        whole /= 1024;
        step++;
    }
    if (tenths > 0) {
        snprintf(out, BYTES_ROOM, "%zu.%zu %s", whole, tenths, unit[step]);
    } else {
        snprintf(out, BYTES_ROOM, "%zu %s", whole, whole == 1 && step == 0 ? "byte" : unit[step]);
    }
    return out;
}

static void set_memory_error(context *c, size_t bytes) {
    if (c->err.code != ERROR_NONE) return;
    char asked[BYTES_ROOM], used[BYTES_ROOM], limit[BYTES_ROOM];
    bytes_print(asked, bytes);
    bytes_print(used, c->mem.live);
    span nowhere = {0, 0};
    if (!c->mem.limited) {
        error_set(&c->err, ERROR_K0506, nowhere,
                  "the system gave no memory: %s asked for, %s in use", asked, used);
        error_help(&c->err,
                   "use smaller tensors, a `checkpoint` loop, or --max-memory to stop earlier");
    } else {
        if (c->mem.limit == 0) {
            snprintf(limit, sizeof limit, "set for this run");
        } else {
            char size[BYTES_ROOM];
            snprintf(limit, sizeof limit, "of %.28s", bytes_print(size, c->mem.limit));
        }
        error_set(&c->err, ERROR_K0507, nowhere,
                  "the memory limit %s is reached: %s asked for, %s in use", limit, asked, used);
        error_help(&c->err, "raise the limit with --max-memory, or use a `checkpoint` loop");
    }
}

void *take(context *c, size_t bytes) {
    void *p = memory_take(&c->mem, bytes);
    if (p == NULL) set_memory_error(c, bytes);
    return p;
}

void *take_zeroed(context *c, size_t bytes) {
    void *p = take(c, bytes);
    if (p != NULL) memset(p, 0, bytes);
    return p;
}

void *resize(context *c, void *p, size_t old, size_t bytes) {
    void *moved = memory_resize(&c->mem, p, old, bytes);
    if (moved == NULL) set_memory_error(c, bytes);
    return moved;
}

void give_back(context *c, void *p, size_t bytes) {
    memory_free(&c->mem, p, bytes);
}
