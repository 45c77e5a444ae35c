/* The function that --fn calls and the values that --arg passes to it. */
#ifndef KINA_ARGUMENTS_H
#define KINA_ARGUMENTS_H

#include "interp/ast.h"
#include "runtime/value.h"

/* The top-level function of this name; NULL with c's error K0802 set. */
fn_decl *arguments_function(context *c, const program *p, const char *name) MUST_CHECK;

typedef struct arguments {
    int count;
    value *values; /* in the order of the parameters; owned */
} arguments;

/* Reads given[0..count), each NAME=VALUE or NAME=@FILE, as the arguments of fn, with the dtypes
 * that its parameters declare. Each parameter is given exactly once; ranks, literal dims, and dims
 * of one name have to agree, else K0802. A file that cannot be read: K0601, K0603. On false *out is
 * empty. */
bool arguments_read(context *c, const program *p, const fn_decl *fn, char *const *given, int count,
                    arguments *out) MUST_CHECK;
void arguments_release(context *c, arguments *a);

/* Appends "f(x: F32, w: tensor<F32, [N]>) -> F32"; tall: with a line for each parameter. */
void arguments_signature(const program *p, const fn_decl *fn, bool tall, text *t);

/* The two halves of it, for who fills in arguments that are not given. Reads what is given, the
 * other values being none. */
bool arguments_gather(context *c, const program *p, const fn_decl *fn, char *const *given,
                      int count, arguments *out) MUST_CHECK;
/* That each is there and that ranks and dims agree. */
bool arguments_check(context *c, const program *p, const fn_decl *fn,
                     const arguments *a) MUST_CHECK;
/* sizes[g] = the size of the function's g-th dim name where it stands by itself in an argument that
 * is there; -1 for nowhere. */
void arguments_sizes(const fn_decl *fn, const arguments *a, int64_t *sizes);

#endif
