/* Calls of functions that have a rule for forward mode alone: reverse mode goes through their bodies. */
#include <string.h>

#include "ad/reversal.h"

/* `to`, a variable of the body so far, is `from` in r. */
static void rename_to(graph *g, region *r, var from, var to, span where) {
    var made = graph_op(g, r, OP_identity, NULL, 1, &from, where);
    if (made != VAR_NONE) node_out(g, r, graph_at(g, made)->maker, 0, to);
}

static void move_home(graph *g, region *r, node *n) {
    for (int i = 0; i < n->m; i++) graph_at(g, n->out[i])->home = r;
    for (int k = 0; k < 2; k++) {
        if (n->inside[k] != NULL) n->inside[k]->outer = r;
    }
    region_append(g, r, n);
}

/* The body of the call in its place, as the node at `at` of r. */
static void put_in_place(graph *g, region *r, int at) {
    const node *n = r->nodes[at];
    const region *body = n->call->body;
    int rest = r->count - at - 1;
    node **behind = GRAPH_ARRAY(g, node *, rest);
    if (behind == NULL) return;
    if (rest > 0) memcpy(behind, r->nodes + at + 1, (size_t)rest * sizeof(node *));
    r->count = at;
    for (int i = 0; i < body->param_count; i++) rename_to(g, r, n->in[i], body->params[i], n->where);
    for (int i = 0; i < body->count && !graph_bad(g); i++) move_home(g, r, body->nodes[i]);
    for (int i = 0; i < n->m; i++) rename_to(g, r, body->results[i], n->out[i], n->where);
    for (int i = 0; i < rest && !g->failed; i++) region_append(g, r, behind[i]);
}

/* Where the call is passive it stays: a forward handler outside finds its rule. */
static bool goes_through_body(const reversal *v, const node *n) {
    const graph_call *call = n->call;
    bool active = false;
    for (int i = 0; i < n->n; i++) active = active || reversal_wants(v, n->in[i]);
    return active && call->vjp == NULL && call->jvp != NULL && call->body != NULL;
}

bool reversal_inline(reversal *v, region *r, int from) {
    bool any = false;
    for (int i = from; i < r->count && !graph_bad(v->g); i++) {
        const node *n = r->nodes[i];
        if (n->kind == NODE_CALL && goes_through_body(v, n)) {
            put_in_place(v->g, r, i);
            any = true;
        }
        for (int k = 0; k < 2 && n->kind != NODE_CALL; k++) {
            if (n->inside[k] != NULL && reversal_inline(v, n->inside[k], 0)) any = true;
        }
    }
    return any && !graph_bad(v->g);
}
