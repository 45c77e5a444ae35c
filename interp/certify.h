/* The engine's gradient against the printed one, bit for bit, on many inputs: two independent computations, since
 * the engine never runs printed text. */
#ifndef KINA_CERTIFY_H
#define KINA_CERTIFY_H

#include "interp/engine.h"

/* What a program that was certified holds. */
typedef enum construct {
    CONSTRUCT_LOOP,
    CONSTRUCT_NESTED_LOOP,
    CONSTRUCT_BRANCH,
    CONSTRUCT_BRANCH_IN_LOOP,
    CONSTRUCT_CALL,
    CONSTRUCT_CAPTURE,
    CONSTRUCT_ZERO_TRIP,        /* a run entered no loop body though there is a loop */
    CONSTRUCT_MASK,             /* an elementwise if */
    CONSTRUCT_CHECKPOINT,
    CONSTRUCT_ORDER_2,          /* the gradient of a printed gradient */
    CONSTRUCT_COUNT,
} construct;
extern const char *const construct_names[CONSTRUCT_COUNT];

typedef struct certify_wish {
    uint64_t seed;
    int inputs;                 /* drawn for each function and mode */
    int order;                  /* 2: the printed gradient's own gradient too */
} certify_wish;

/* Drawn numbers may never end a loop, and a program may be long: what a run may take, and a mode of a function, which
 * has tried one input at least. */
enum { CERTIFY_RUN_MILLISECONDS = 500, CERTIFY_MODE_MILLISECONDS = 2000 };

typedef struct certify_counts {
    int64_t functions;          /* printed and compared */
    int64_t runs;               /* of the engine, under all schedules and thread counts */
    int64_t values;             /* elements that were compared */
    int64_t stopped;            /* inputs on which both stopped with a run-time error */
    int64_t left_out;           /* runs that only the engine stopped: at a value that no result needs, which is not
                                 * printed; the function written with all of its lines stops too */
    int64_t late;               /* runs that were broken off: each would take longer than CERTIFY_RUN_MILLISECONDS */
    int64_t untried;            /* inputs left when a mode of a function had taken CERTIFY_MODE_MILLISECONDS */
    int64_t holds[CONSTRUCT_COUNT]; /* functions that hold it */
} certify_counts;

/* Certifies one function and adds to the counts. *differs is set, and the difference (input, result, element, both
 * values) appended to *report, when bits differ. False with the context's error set when the function cannot be
 * certified: refused as derive_program refuses it. */
bool certify_function(engine *e, const fn_decl *fn, const certify_wish *w, certify_counts *counts, bool *differs,
                      text *report) MUST_CHECK;

/* Sets what the text of the function shows of it; captured values, loops without a trip and orders only a run does. */
void certify_survey(const fn_decl *fn, bool holds[CONSTRUCT_COUNT]);

/* True when the function has a gradient that can be asked for from outside: floating parameters, none that is not a
 * tensor, and one floating result. */
bool certify_may(const fn_decl *fn);

#endif
