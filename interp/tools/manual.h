/* What a command line is described by, for manual pages and for the shells that complete it. Both programs fill it in
 * from their option tables. */
#ifndef KINA_MANUAL_H
#define KINA_MANUAL_H

#include <stdbool.h>
#include <stdio.h>

typedef struct manual_verb {
    const char *word;           /* "" for what the program does without one */
    const char *summary, *operands, *examples;
} manual_verb;

typedef struct manual_option {
    const char *flag, *short_form, *value, *help;
    unsigned verbs;             /* bit v: verb v takes it */
    bool choice;                /* value lists the words: "text|json" */
} manual_option;

typedef struct manual {
    const char *program, *about;
    const char *exit_codes;     /* "0 done; 1 ...; 2 ..." */
    const manual_verb *verb;
    int verb_count;
    const manual_option *option;
    int option_count;
} manual;

/* form: "man", or "bash", "zsh" or "fish" for a completion. False for any other. */
bool manual_write(const manual *m, const char *form, FILE *to);

/* One option as --help shows it: what it does begins in this column, filled into lines of 80. */
void manual_print_option(const manual_option *o, int column, FILE *to);

#endif
