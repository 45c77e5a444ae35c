/* The parts of graph_simplify (gradient.h): equal values are one, and what nothing reads goes. */
#ifndef KINA_SIMPLIFY_H
#define KINA_SIMPLIFY_H

#include "ad/gradient.h"

/* Removes what nothing reads: nodes, results of branches, carries of loops, leaves of tapes. True when
 * anything went. */
bool graph_prune(graph *g) MUST_CHECK;

/* Drops tapes where nothing takes them any more. */
void graph_use_up_tapes(graph *g);

#endif
