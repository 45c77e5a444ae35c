/* What a run cost: ops, tape, memory, time, and what became of its checkpointed loops. */
#ifndef KINA_COUNTS_H
#define KINA_COUNTS_H

#include "interp/source.h"
#include "runtime/context.h"
#include "runtime/text.h"

/* Taken when the run ended. */
typedef struct run_counts {
    context_stats ops;
    size_t peak;
    double seconds;
    const source *source; /* where its loops stand */
} run_counts;

/* A table. */
void counts_print(text *t, const run_counts *n);
/* ,"stats":{...}: a member of an object that has others before it. */
void counts_json(text *t, const run_counts *n);

#endif
