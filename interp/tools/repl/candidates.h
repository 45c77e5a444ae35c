/* A sorted list of words, each once: what TAB offers. */
#ifndef KINA_CANDIDATES_H
#define KINA_CANDIDATES_H

#include "runtime/common.h"

typedef struct candidates {
    context *c;
    char **words;
    size_t count, room;
} candidates;

void candidates_init(candidates *t, context *c);
void candidates_close(candidates *t);
/* Adds a copy of word[0..length), if it begins with typed[0..typed_length). False with c's error set. */
bool candidates_offer(candidates *t, const char *typed, size_t typed_length, const char *word,
                      size_t length) MUST_CHECK;
/* Sorts them and keeps each once; after the last offer. */
void candidates_sort(candidates *t);
/* Bytes that all begin with; 0 when there are none. They are sorted. */
size_t candidates_shared(const candidates *t);

#endif
