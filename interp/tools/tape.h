/* The run-time tape of a program or function: `kina-interp tape`. */
#ifndef KINA_TOOLS_TAPE_H
#define KINA_TOOLS_TAPE_H

#include "interp/tools/options.h"
#include "interp/tools/output.h"

typedef struct tape_wish {
    const fn_decl *fn;          /* certify_may; runs under reverseMode; NULL: the program itself runs */
    const value *args;          /* borrowed; what fits its parameters */
    bool json, full;            /* full: nothing is left out in the middle */
} tape_wish;

/* Appends the first tape of a run that is swept, and the order in which that is done. False with the error set: K0512
 * where nothing is swept. */
bool tape_show(engine *e, const tape_wish *w, text *out) MUST_CHECK;

/* The verb: the program, or the function of --fn with the arguments of --arg, on standard output. */
bool tape_run(const options *o, engine *e, output *out) MUST_CHECK;

#endif
