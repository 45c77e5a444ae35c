/* What stands around each evaluation of the prompt: a line that says how far a long one is, the look for NaN, and the
 * counts that :stats shows. */
#ifndef KINA_REPL_EVALUATION_H
#define KINA_REPL_EVALUATION_H

#include "interp/tools/repl/repl.h"
#include "runtime/watch.h"

typedef struct evaluation {
    progress_line line;
    watch looking;
    bool reporting, checking;
    int64_t start;
} evaluation;

/* x stays where it is until the end. */
void evaluation_begin(repl *r, evaluation *x);
/* Before e is closed. */
void evaluation_end(repl *r, evaluation *x, const engine *e);

#endif
