/* The bytes of one array file: a plain file, or one member of a .npz archive (stored or deflated),
 * read from front to back without ever holding the whole of it. */
#ifndef KINA_NPZ_H
#define KINA_NPZ_H

#include "runtime/context.h"

typedef struct npz_source {
    context *c;
    const char *path; /* as the user wrote it, for messages */
    span where;
    int file;             /* -1: none */
    uint64_t size;        /* of the file */
    uint64_t at, stretch; /* the next raw byte, and how many raw bytes of this array are unread */
    uint64_t left; /* bytes that can still be read, after inflating; as claimed by an archive */
    bool member;   /* of an archive: its checksum is compared */
    struct inflater *inflater; /* of a deflated member; else NULL */
    uint32_t sum, sum_claimed;
} npz_source;

/* path is "file", "file.npz" or "file.npz:member" and must live as long as the source. On false
 * nothing is held. Errors K0601 K0603 K0506 K0507. */
bool npz_open(npz_source *s, context *c, const char *path, span where) MUST_CHECK;
/* Exactly `bytes` bytes; fewer is an error K0603. */
bool npz_read(npz_source *s, void *out, uint64_t bytes) MUST_CHECK;
/* Reads what is left of an archive member and compares its checksum. A plain file's rest is
 * ignored. */
bool npz_finish(npz_source *s) MUST_CHECK;
void npz_close(npz_source *s);

/* s->path in quotes with "K0603" and the given words: "'x.npy' is malformed: …". Returns false. */
bool npz_malformed(npz_source *s, const char *format, ...) PRINTF_LIKE(2, 3);
/* As for error_set. */
#ifdef __clang_analyzer__
#define npz_malformed(...) ((void)npz_malformed(__VA_ARGS__), false)
#endif

#endif
