/* A graph (ad/graph.h) as C: one file without dependencies beside the C library, with one function to call.
 *
 * What it computes is `--numerics compiled` (docs/numerics.md), bit for bit. Results are allocated by the function
 * and freed by another one; whatever a run reports as an error comes back as a code and a message. */
#ifndef KINA_C_FILE_H
#define KINA_C_FILE_H

#include "ad/graph.h"
#include "interp/ast.h"
#include "runtime/text.h"

/* How the function is called, and what its file says of it. */
typedef struct c_signature {
    const char *name;           /* "f_grad" */
    const char *summary;        /* "the gradients of `f`": what it gives */
    const program *from;        /* the program it was derived from, for messages and the functions that it calls */
    const struct code_program *code;    /* the same as code */
} c_signature;

/* Appends the file to out, and what declares the function to header unless that is NULL. False with the context's
 * error set: out of memory, or K0701 with the place of what cannot be written. */
bool c_file_write(graph *g, const c_signature *signature, text *out, text *header) MUST_CHECK;

#endif
