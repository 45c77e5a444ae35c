/* See write_called.h: what a function names is known to the search for captured values. */
#include "interp/write_called.h"

#include <string.h>

#include "interp/lower.h"

bool called_has(const called_functions *l, const fn_decl *f) {
    for (int i = 0; i < l->count; i++)
        if (l->list[i] == f) return true;
    return false;
}

static bool append(called_functions *l, const fn_decl *f) {
    if (l->count == l->room) {
        int wider = l->room > 0 ? 2 * l->room : 8;
        const fn_decl **list = ARENA_ARRAY(l->a, const fn_decl *, wider);
        if (list == NULL) return false;
        if (l->count > 0) memcpy(list, l->list, (size_t)l->count * sizeof *list);
        l->list = list;
        l->room = wider;
    }
    l->list[l->count++] = f;
    return true;
}

static bool add_function(called_functions *l, const void *decl) {
    return decl == NULL || called_has(l, decl) || append(l, decl);
}

static bool add_calls(called_functions *l, const region *r) {
    for (int i = 0; i < r->count; i++) {
        const graph_call *call = r->nodes[i]->call;
        if (call != NULL && (!add_function(l, call->decl) || !add_function(l, call->vjp_decl) ||
                             !add_function(l, call->jvp_decl)))
            return false;
        for (int k = 0; k < 2; k++)
            if (r->nodes[i]->inside[k] != NULL && !add_calls(l, r->nodes[i]->inside[k])) return false;
    }
    return true;
}

bool write_called(const graph *g, const program *from, called_functions *out) {
    if (!add_calls(out, g->top)) return false;
    if (out->count == 0) return true;
    const capture_set *captures = captures_find(from);
    if (captures == NULL) return false;
    for (int i = 0; i < out->count; i++) {
        const capture_set *of = captures_of(captures, out->list[i]);
        for (int k = 0; of != NULL && k < of->callee_count; k++)
            if (!add_function(out, of->callees[k])) return false;
    }
    return true;
}
