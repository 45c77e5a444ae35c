/* What a program gives: the tensors and numbers of its value, left to right, depth first, each with a name. */
#ifndef KINA_RESULTS_H
#define KINA_RESULTS_H

#include "interp/ast.h"
#include "runtime/value.h"

/* One flattened result. */
typedef struct result {
    const char *name;           /* "primal", "grad x", "tangent"; "0", "1", ... where nothing better is known */
    value v;                    /* a number or tensor, passive; owned by the results */
} result;

typedef struct results {
    int count;
    result *items;
} results;

/* Flattens v, the value of `from`, which names them where it is a handle or a derivative's call. The names are the
 * arena's. */
bool results_flatten(arena *a, const value *v, const expr *from, results *out) MUST_CHECK;
void results_release(context *c, results *r);

/* How many results v has; puts them at `at`, which has room, without names, and returns how many those were. */
int results_leaves(const value *v);
int results_place(const value *v, result *at);

#endif
