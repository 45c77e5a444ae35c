/* Builtins made of several ops. */
#include "interp/stage_internal.h"

staged stage_composite(stager *s, staged *frame, const code *n) {
    (void)frame;
    graph_refuse(s->g, ERROR_K0703, n->where, NULL, "this builtin cannot be written out");
    return staged_none();
}
