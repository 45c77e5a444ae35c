/* Which functions of the source a graph's calls need. */
#ifndef KINA_WRITE_CALLED_H
#define KINA_WRITE_CALLED_H

#include "ad/graph.h"
#include "interp/ast.h"

typedef struct called_functions {
    arena *a;
    int count, room;
    const fn_decl **list;
} called_functions;

/* The functions that calls of the graph, staged from this program, go to, and all that those name. False with the
 * context's error set. */
bool write_called(const graph *g, const program *from, called_functions *out) MUST_CHECK;
bool called_has(const called_functions *l, const fn_decl *f);

#endif
