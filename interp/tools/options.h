/* The command line: from argv to checked options. */
#ifndef KINA_OPTIONS_H
#define KINA_OPTIONS_H

#include <stdio.h>

#include "runtime/context.h"

typedef enum verb {
#define VERB(id, word, summary) VERB_##id,
#include "interp/tools/options.def"
    VERB_COUNT
} verb;

typedef enum option_id {
#define OPTION(id, flag, short_form, kind, value, verbs, help) OPTION_##id,
#include "interp/tools/options.def"
    OPTION_COUNT
} option_id;

typedef struct option_value {
    const char *text; /* as given; "" for a flag; NULL: not given */
    int64_t number;   /* a count, bytes, or nanoseconds */
    double real;
} option_value;

typedef struct options {
    verb verb;
    const char *program; /* a path, or "-"; NULL: none was named */
    option_value value[OPTION_COUNT];
    char *const *args; /* every --arg in its order: NAME=VALUE */
    int arg_count;
    char *const *files; /* of fmt, in their order */
    int file_count;
} options;

/* Reads the command line; of an option given twice the last counts. False with *e set (K0801); the
 * options up to there are in *o, so that the error can be shown as they ask. argv is reordered. */
bool options_parse(options *o, int argc, char **argv, error *e) MUST_CHECK;

/* Gives an option the value that a text states, which has to stay; of a flag "". False with *e set (K0801). */
bool options_set(options *o, option_id id, const char *given, error *e) MUST_CHECK;
/* "--numerics"; the value as help shows it: "fast|reference|compiled", "" of a flag; and what help says, some lines. */
const char *options_flag(option_id id);
const char *options_value(option_id id);
const char *options_about(option_id id);

bool options_given(const options *o, option_id id);
/* True when the option was given and its value is this word. */
bool options_is(const options *o, option_id id, const char *word);

/* The numerics that the options choose. */
numerics options_numerics(const options *o, numerics otherwise);

/* Help for the verb, examples first. */
void options_help(verb v, FILE *to);
/* The manual page, or a shell's completion: a word that --generate takes. */
void options_generate(const char *form, FILE *to);

#endif
