/* What was entered, in this session and in those before it: in memory, and in a file of one line for each
 * entry.
 *
 * In the file a line end within an entry is written \n and a backslash \\. Every entry is appended at once,
 * under a lock, so that sessions side by side lose nothing; a file that has grown long is replaced by its
 * end. A file that is not text is never written to. */
#ifndef KINA_HISTORY_H
#define KINA_HISTORY_H

#include "runtime/common.h"

enum {
    HISTORY_BYTES = 1 << 18,    /* of a file, that are read and that a longer one keeps */
    HISTORY_ENTRY = 1 << 16,    /* a longer entry is not kept */
};

typedef struct input_history {
    context *c;
    char **entries;             /* oldest first; each with its NUL */
    size_t count, room;
    const char *path;           /* NULL: no file, or one that cannot be used; borrowed */
} input_history;

/* Takes up what the file at `path` holds; NULL or no such file: nothing. False with c's error set (K0601,
 * K0603) when it cannot be used; the history then works without a file. */
bool history_open(input_history *h, context *c, const char *path) MUST_CHECK;
void history_close(input_history *h);

/* Adds an entry, unless it is empty or the last one once more. False with c's error set: K0602, from now on
 * without a file; or out of memory. */
bool history_add(input_history *h, const char *entry, size_t length) MUST_CHECK;

/* The newest entry before number `from` that contains `words`; -1: none. */
ptrdiff_t history_search(const input_history *h, const char *words, ptrdiff_t from);

#endif
