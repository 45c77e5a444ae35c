/* What a run gives: printed text, results, files and counts. */
#ifndef KINA_OUTPUT_H
#define KINA_OUTPUT_H

#include <signal.h>
#include <stdio.h>

#include "interp/engine.h"
#include "interp/tools/counts.h"
#include "interp/tools/progress.h"
#include "runtime/context.h"

typedef struct output {
    context *c;
    bool json; /* results as JSON; `print` then writes to standard error */
    bool full;
    int failure; /* errno of the first write to standard output that failed; 0: none */
    progress_line *progress; /* on the terminal, and hidden before anything is printed; NULL: none */
    volatile sig_atomic_t *stop; /* set then: nobody reads what the program goes on to print */
} output;

/* An engine_print whose self is an output. */
void output_print(void *self, const char *s, size_t length);

/* Writes text to standard output and hands it to the system. */
void output_text(output *o, const text *t);

/* Writes all results to standard output. counts NULL: none were asked for; as text they go to
 * standard error. False with the context's error set when out of memory. */
bool output_results(output *o, const results *r, const run_counts *counts) MUST_CHECK;

/* Writes each result to FOLDER/NAME.npy and makes the folder when it is missing. Either all of the
 * files are new and whole or none is touched. Errors K0602. */
bool output_save(context *c, const char *folder, const results *r) MUST_CHECK;

/* Hands everything to the system. False with the error K0602 set when standard output could not be
 * written; a reader who has left (EPIPE) is no error. */
bool output_finish(output *o) MUST_CHECK;

#endif
