/* Who needs what: finds carried tensors that leak and bindings of loop bodies that nothing uses.
 *
 * A read on behalf of a `let` counts only if the let's name is needed itself, which may be known
 * much later, or never. So reads are edges of a graph, and a need travels along them when it
 * arises. Levels only fall, and at most once for each loop around, so the work is linear in the
 * text for any fixed depth of loops. */
#include "interp/own_state.h"

use_node *own_use_new(own *o, const char *name) {
    use_node *n = ARENA_NEW(&o->a, use_node);
    if (n == NULL) {
        o->failed = true;
        return NULL;
    }
    n->level = LEVEL_UNUSED;
    n->name = name;
    return n;
}

/* n is needed at this level; so is all that was read for it. */
static void need(use_node *n, int level) {
    n->level = level;
    n->next = NULL;
    n->queued = true;
    use_node *work = n;
    while (work != NULL) {
        n = work;
        work = n->next;
        n->queued = false;
        for (use_edge *edge = n->reads; edge != NULL; edge = edge->next) {
            use_node *to = edge->to;
            if (to->level <= n->level) continue;
            to->level = n->level;
            if (to->queued) continue;
            to->queued = true;
            to->next = work;
            work = to;
        }
    }
}

void own_use_read(own *o, use_node *n, span at) {
    use_node *reader = o->reader;
    if (n == NULL || n->level == 0 || n == reader) return;
    if (reader->level < n->level) need(n, reader->level);
    if (reader->level == 0) return;
    if (n->read_by == NULL) {
        n->read_by = reader;
        n->read_at = at;
    }
    use_edge *edge = ARENA_NEW(&o->a, use_edge);
    if (edge == NULL) {
        o->failed = true;
        return;
    }
    *edge = (use_edge){.to = n, .next = reader->reads};
    reader->reads = edge;
}

void own_use_check(own *o, const loop_body *loop) {
    for (const candidate *each = loop->first; each != NULL && !o->failed; each = each->next) {
        if (each->use->level <= loop->depth || each->use->quiet) continue;
        if (each->of->kind == SYMBOL_CARRY) {
            own_report_leak(o, each->of, each->use);
        } else {
            own_report_unused(o, each->of, each->use);
        }
    }
}
