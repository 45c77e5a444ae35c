/* The list (candidates.h). */
#include "interp/tools/repl/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

void candidates_init(candidates *t, context *c) {
    *t = (candidates){.c = c};
}

static void give_word(candidates *t, char *word) {
    give_back(t->c, word, strlen(word) + 1);
}

void candidates_close(candidates *t) {
    for (size_t i = 0; i < t->count; i++) give_word(t, t->words[i]);
    give_back(t->c, t->words, t->room * sizeof *t->words);
    candidates_init(t, t->c);
}

bool candidates_offer(candidates *t, const char *typed, size_t typed_length, const char *word, size_t length) {
    if (length < typed_length || memcmp(word, typed, typed_length) != 0) return true;
    if (t->count == t->room) {
        size_t room = t->room == 0 ? 64 : 2 * t->room;
        char **grown = resize(t->c, t->words, t->room * sizeof *grown, room * sizeof *grown);
        if (grown == NULL) return false;
        t->words = grown;
        t->room = room;
    }
    char *copy = take(t->c, length + 1);
    if (copy == NULL) return false;
    memcpy(copy, word, length);
    copy[length] = '\0';
    t->words[t->count++] = copy;
    return true;
}

static int by_spelling(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void candidates_sort(candidates *t) {
    if (t->count == 0) return;
    qsort(t->words, t->count, sizeof *t->words, by_spelling);
    size_t kept = 1;
    for (size_t i = 1; i < t->count; i++) {
        if (strcmp(t->words[i], t->words[kept - 1]) == 0) {
            give_word(t, t->words[i]);
        } else {
            t->words[kept++] = t->words[i];
        }
    }
    t->count = kept;
}

size_t candidates_shared(const candidates *t) {
    if (t->count == 0) return 0;
    /* What the first and the last share, those between them do too. */
    const char *first = t->words[0], *last = t->words[t->count - 1];
    size_t n = 0;
    while (first[n] != '\0' && first[n] == last[n]) n++;
    return n;
}
