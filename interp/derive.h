/* A function's derivative as an ordinary program, or as C: code is staged into a graph, the graph is
 * differentiated and simplified, and written out. */
#ifndef KINA_DERIVE_H
#define KINA_DERIVE_H

#include "interp/engine.h"
#include "runtime/text.h"

typedef enum derivative_mode {
    DERIVATIVE_VALUE_AND_GRAD,  /* (primal, gradients), the cotangent being ones */
    DERIVATIVE_GRAD,            /* gradients alone */
    DERIVATIVE_VJP,             /* a cotangent more as parameter for each floating result; (results, gradients) */
    DERIVATIVE_JVP,             /* a tangent more for each differentiated parameter; (results, tangents) */
    DERIVATIVE_NONE,            /* the function itself, with the lines that nothing reads */
} derivative_mode;

typedef enum derivative_form {
    DERIVATIVE_KINA,            /* a program */
    DERIVATIVE_C,               /* a file of C (c_file.h) */
} derivative_form;

typedef struct derivative_wish {
    const fn_decl *fn;          /* of the top level */
    derivative_mode mode;
    const bool *wrt;            /* by parameter; NULL: all floating ones */
    derivative_form form;
    text *header;               /* C: the declarations are appended to it; NULL: to nothing */
} derivative_wish;

/* What the written function is, besides its text. */
typedef struct derivative {
    const char *name;           /* in the engine's arena */
    int captured;               /* how many values of the top level follow fn's own parameters */
    const symbol **captures;    /* which ones */
} derivative;

/* Appends the program, or the file of C, to *out. False with the context's error set: K0209 for a function without
 * a derivative, K0703 for a construct that cannot be written, with its place and what to write instead, K0701 for
 * what C alone cannot have. */
bool derive_program(engine *e, const derivative_wish *wish, text *out, derivative *made) MUST_CHECK;

#endif
