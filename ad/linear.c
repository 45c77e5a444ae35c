/* Tapes are used up once on every path, in a graph as in a program: where nothing takes one, it is dropped. */
#include "ad/simplify.h"

static bool direct_use(const node *n, var v) {
    if (n->kind == NODE_EMPTY) return false;
    for (int i = 0; i < n->n; i++) {
        if (n->in[i] == v) return true;
    }
    return false;
}

static bool takes(const region *r, var v);

static bool branch_takes(const node *n, var v) {
    return n->kind == NODE_IF && (takes(n->inside[0], v) || takes(n->inside[1], v));
}

/* True when the region uses v up, on one path at least. */
static bool takes(const region *r, var v) {
    for (int i = 0; i < r->count; i++) {
        if (direct_use(r->nodes[i], v) || branch_takes(r->nodes[i], v)) return true;
    }
    for (int i = 0; i < r->result_count; i++) {
        if (r->results[i] == v) return true;
    }
    return false;
}

/* Lets every path through the region use v up. */
static void take_on_every_path(graph *g, region *r, var v) {
    if (!takes(r, v)) {
        (void)node_new(g, r, NODE_DROP, 1, &v, 0);
        return;
    }
    for (int i = 0; i < r->count && !g->failed; i++) {
        node *n = r->nodes[i];
        if (direct_use(n, v) || !branch_takes(n, v)) continue;
        take_on_every_path(g, n->inside[0], v);
        take_on_every_path(g, n->inside[1], v);
    }
}

static void settle_var(graph *g, region *r, var v) {
    if (v >= 0 && graph_at(g, v)->tape != NULL) take_on_every_path(g, r, v);
}

static void settle_region(graph *g, region *r) {
    for (int i = 0; i < r->count && !g->failed; i++) {
        const node *n = r->nodes[i];
        for (int k = 0; k < 2; k++) {
            /* The condition of a loop only asks. */
            if (n->inside[k] != NULL && !(n->kind == NODE_WHILE && k == 0)) settle_region(g, n->inside[k]);
        }
        for (int k = 0; k < n->m; k++) settle_var(g, r, n->out[k]);
    }
    for (int i = 0; i < r->param_count && !g->failed; i++) settle_var(g, r, r->params[i]);
}

void graph_use_up_tapes(graph *g) { settle_region(g, g->top); }
