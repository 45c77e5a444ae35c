/* What the graph suites share: whether a graph is well formed, and what it computes. */
#ifndef KINA_TESTS_GRAPH_CHECK_H
#define KINA_TESTS_GRAPH_CHECK_H

#include "ad/graph.h"
#include "runtime/context.h"

/* Fails the test, which is about `what`, unless every variable is defined once and before its uses, every size
 * has a witness, in scope where an attribute needs it, and the types of operands, results and regions fit.
 * reads: so are those variables that branches and loops are said to read; a simplified graph says it no more. */
void graph_check_valid(graph *g, bool reads, const char *what);

typedef enum graph_outcome { GRAPH_DONE, GRAPH_FAILED, GRAPH_FOREIGN } graph_outcome;
/* Performs the graph on values (borrowed), results being the caller's. FAILED: the context's error is set.
 * FOREIGN: it calls itself or a file, which is not performed here. */
graph_outcome graph_check_run(graph *g, const value *args, value *results);

#endif
