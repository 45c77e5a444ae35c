/* Staging: code as a graph (ad/graph.h). What the evaluator would do to values is done to variables, node
 * kind by node kind: ops are written down instead of performed, branches and loops become regions, calls of
 * known functions are staged in place with a fresh variable for each floating parameter, and sizes are
 * symbolic dims. Function values and tuples exist while staging alone. */
#ifndef KINA_STAGE_H
#define KINA_STAGE_H

#include "ad/graph.h"
#include "interp/code.h"

/* The top-level function fn, or the program's main, as g->top, g being fresh from graph_init with the program's dims. Its params are
 * the leaves of fn's parameters, *own of them, a tuple's named p_0, p_1, ..., and behind them the values that
 * it captures. Literal tensors are borrowed from the code. A call that stays one (graph_call) has the leaves
 * of its arguments as operands. False when g->refused says why this function cannot be written, or with the
 * context's error set. */
bool stage_function(graph *g, const program *p, const code_program *compiled, const fn_decl *fn, int *own) MUST_CHECK;

#endif
