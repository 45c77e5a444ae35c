/* Derivatives held against differences: which functions, on which arguments, and what is said of it. */
#ifndef KINA_GRADCHECKER_H
#define KINA_GRADCHECKER_H

#include "interp/engine.h"
#include "interp/tools/options.h"
#include "interp/tools/output.h"

typedef struct gradchecker_wish {
    const char *name;           /* the function; NULL: every one that can be checked */
    const value *args;          /* borrowed, what fits its parameters; NULL: what `given` says */
    char *const *given;         /* NAME=VALUE, as arguments.h has it; parameters that are not there are drawn */
    int given_count;
    uint64_t seed;
    bool full;                  /* each element */
    bool json;
} gradchecker_wish;

/* Appends a table, or an object. *differs is set when a derivative is wrong. False with the context's error set when
 * nothing can be checked. */
bool gradchecker_check(engine *e, const gradchecker_wish *w, text *out, bool *differs) MUST_CHECK;

/* The verb: as the options wish, on standard output. */
bool gradchecker_run(const options *o, engine *e, output *out, bool *differs) MUST_CHECK;

#endif
