/* The command line of kina-bench. */
#ifndef KINA_BENCH_OPTIONS_H
#define KINA_BENCH_OPTIONS_H

#include <stdio.h>

#include "runtime/error.h"

typedef enum bench_verb {
#define VERB(id, word, summary) BENCH_##id,
#include "bench/options.def"
    BENCH_VERB_COUNT
} bench_verb;

typedef enum bench_option {
#define OPTION(id, flag, kind, value, verbs, help) GIVEN_##id,
#include "bench/options.def"
    GIVEN_COUNT
} bench_option;

enum { BENCH_LIST = 64 };

typedef struct bench_options {
    bench_verb verb;
    bool no_verb;                  /* help for all of them */
    const char *program;           /* NULL: the default loop */
    const char *text[GIVEN_COUNT]; /* as given; "" for a flag; NULL: not given */
    int number[GIVEN_COUNT];
    long long list[BENCH_LIST]; /* of --n */
    int list_count;
    char *const *args;
    int arg_count;
} bench_options;

/* False with *e set (K0801). argv is reordered. */
bool bench_options_parse(bench_options *o, int argc, char **argv, error *e) MUST_CHECK;
void bench_options_help(const bench_options *o, FILE *to);
/* The manual page, or a shell's completion. False where `form` is none of the words for them. */
bool bench_options_generate(const char *form, FILE *to) MUST_CHECK;

/* Reads "1,2,4": numbers from 1 to 10^12. False where it is no such list or too long. */
bool bench_read_list(const char *words, long long out[BENCH_LIST], int *count) MUST_CHECK;

#endif
