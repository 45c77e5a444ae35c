/* A compiled function against the interpreter: `kina-interp oracle`. */
#ifndef KINA_ORACLE_H
#define KINA_ORACLE_H

#include "interp/engine.h"
#include "interp/tools/arguments.h"
#include "interp/compare.h"
#include "interp/tools/native.h"
#include "interp/tools/options.h"
#include "interp/tools/output.h"
#include "runtime/context.h"

/* What is to be compared, and when it agrees. */
typedef struct oracle_case {
    const char *name; /* in the report; NULL: the function's */
    const char *library, *fn;
    const char *called; /* the library's name for the function; NULL: _mlir_ciface_ and fn */
    char *const *args;  /* NAME=VALUE */
    int arg_count;
    int64_t trials; /* with random arguments where none are given; 0: all are given */
    uint64_t seed;
    bounds bounds;
    numerics numerics;
    native_scalars scalars;
    bool allow_overwrite;
    int64_t time_limit; /* nanoseconds, for the program and for the library; 0: none */
} oracle_case;

/* One result, over all trials. */
typedef struct oracle_result {
    const char *name;
    const char *type; /* in words, of the last trial */
    op_type shape;
    bool compared; /* the library gave it, with these sizes */
    tally t;
} oracle_result;

typedef struct oracle_line {
    struct oracle_line *next;
    bool fault; /* else a note */
    const char *text;
} oracle_line;

typedef char oracle_dims[MAX_RANK * 24]; /* room for dims in brackets */

typedef struct oracle_report {
    arena a; /* of all texts here */
    const char *name;
    bool passed;
    int64_t trials; /* made; the last one failed when not passed */
    uint64_t seed;  /* of the last */
    int count;
    oracle_result *results;
    oracle_line *lines, **end;
} oracle_report;

/* The case that options state, which have --so and --fn. Its texts are theirs. False with K0801
 * set. */
bool oracle_case_of(const options *o, context *c, oracle_case *out) MUST_CHECK;

/* Compares. True when the comparison was made, whatever it found; the receiver closes the report.
 * False with the context's error set; *out needs no closing then. */
bool oracle_compare(context *c, engine *e, const oracle_case *k, oracle_report *out) MUST_CHECK;
void oracle_close(oracle_report *r);

/* Fills in the arguments that are missing, as the seed has it. Integers lie in a range that is the
 * smaller the higher the `attempt` (0 to ORACLE_ATTEMPTS - 1). oracle_random.c. */
enum { ORACLE_ATTEMPTS = 4 };
bool oracle_fill(context *c, const program *p, const fn_decl *fn, uint64_t seed, int attempt,
                 arguments *a) MUST_CHECK;

/* The report as lines for people, or as an object's members for programs. oracle_report.c. */
/* The index of a row-major position; its rank is that of the dims. */
void oracle_index(int rank, const int64_t *sizes, int64_t position, int64_t *index);
void oracle_print(text *t, const oracle_report *r);
void oracle_print_verdict(text *t, const oracle_report *r);
void oracle_print_json(text *t, const oracle_report *r);

/* All of a manifest's comparisons, each reported as it ends; *differ: one failed. False with the
 * context's error set when the manifest itself cannot be used or the run was interrupted.
 * oracle_manifest.c. */
bool oracle_manifest(const options *o, output *out, bool *differ) MUST_CHECK;

#endif
