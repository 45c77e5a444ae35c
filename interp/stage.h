/* Staging: code as a graph (ad/graph.h). What the evaluator would do to values is done to variables, node
 * kind by node kind: ops are written down instead of performed, branches and loops become regions, calls of
 * known functions are staged in place with a fresh variable for each floating parameter, and sizes are
 * symbolic dims. Function values and tuples exist while staging alone. */
#ifndef KINA_STAGE_H
#define KINA_STAGE_H

#include "ad/graph.h"
#include "interp/code.h"

/* What the params of a staged function are: `own` leaves of its parameters, then the leaves of what these symbols of
 * the top level are bound to (dims as I64 numbers). */
typedef struct stage_params {
    int own;
    int captured;
    const symbol **captures;
} stage_params;

/* The top-level function fn, or the program's main, as g->top, g being fresh from graph_init with the program's
 * dims. Of a tuple, the leaves are named p_0, p_1, ... Literal tensors are borrowed from the code. A call that stays one (graph_call) has the leaves
 * of its arguments as operands. False when g->refused says why this function cannot be written, or with the
 * context's error set. */
bool stage_function(graph *g, const program *p, const code_program *compiled, const fn_decl *fn,
                    stage_params *params) MUST_CHECK;

#endif
