/* A region once more, with variables of its own: what runs a second time is written a second time. */
#include <string.h>

#include "ad/graph.h"

typedef struct cloner {
    graph *g;
    var *to;                    /* by variable of the original; VAR_NONE: not cloned, it is itself */
    int count;
    bool effects;               /* prints, asserts and saves are cloned too */
    int symbols, room;
    int64_t *old, *fresh;       /* symbols whose witnesses are cloned */
} cloner;

static var cloned(const cloner *c, var v) {
    return v >= 0 && v < c->count && c->to[v] != VAR_NONE ? c->to[v] : v;
}

static void clone_var(cloner *c, var v) {
    graph_var like = *graph_at(c->g, v);
    for (int i = 0; i < like.type.rank; i++) {
        like.type.dims[i] = c->g->algebra->substitute(c->g->algebra->self, like.type.dims[i], c->symbols, c->old, c->fresh);
    }
    var made = like.tape != NULL ? graph_tape_var(c->g, like.tape, like.name)
                                 : graph_var_new(c->g, &like.type, like.name);
    if (made == VAR_NONE) return;
    graph_at(c->g, made)->derivative_of = like.derivative_of;
    graph_at(c->g, made)->prefix = like.prefix;
    c->to[v] = made;
}

/* ---- sizes ---- */

static bool inside(const graph *g, var v, const region *r) {
    for (const region *at = v < 0 ? NULL : graph_at(g, v)->home; at != NULL; at = at->outer) {
        if (at == r) return true;
    }
    return false;
}

/* A size that is known by what is cloned is another size in the clone. */
static void find_symbols(cloner *c, const region *r) {
    int all = c->g->witness_count;
    c->old = graph_take(c->g, 2 * (size_t)all * sizeof *c->old);
    if (c->old == NULL) return;
    c->fresh = c->old + all;
    for (int i = 0; i < all; i++) {
        const witness *w = &c->g->witnesses[i];
        if (w->name != NULL || !inside(c->g, w->v, r)) continue;
        c->old[c->symbols] = w->symbol;
        c->fresh[c->symbols++] = c->g->algebra->unknown(c->g->algebra->self);
    }
}

static void witness_clones(cloner *c) {
    for (int i = 0; i < c->symbols; i++) {
        const witness *w = graph_witness_of(c->g, c->old[i]);
        graph_witness(c->g, c->fresh[i], NULL, cloned(c, w->v), w->axis);
    }
}

/* ---- nodes ---- */

static region *clone_into(cloner *c, const region *r, region *outer, node *holder);

static bool skipped(const cloner *c, const node *n) {
    return !c->effects && (n->kind == NODE_PRINT || n->kind == NODE_ASSERT || n->kind == NODE_SAVE);
}

static void clone_node(cloner *c, const node *n, region *r) {
    if (skipped(c, n)) return;
    for (int i = 0; i < n->m; i++) clone_var(c, n->out[i]);
    node *made = node_new(c->g, r, (node_kind)n->kind, n->n, n->in, n->m);
    if (made == NULL) return;
    var *in = made->in, *out = made->out;
    *made = *n;
    made->in = in;
    made->out = out;
    for (int i = 0; i < n->n; i++) in[i] = cloned(c, n->in[i]);
    for (int i = 0; i < n->m; i++) node_out(c->g, r, made, i, cloned(c, n->out[i]));
    made->reads = graph_take(c->g, (size_t)n->read_count * sizeof *made->reads);
    if (made->reads == NULL) return;
    for (int i = 0; i < n->read_count; i++) made->reads[i] = cloned(c, n->reads[i]);
    if (n->attrs != NULL) {
        made->attrs = graph_take(c->g, sizeof *made->attrs);
        if (made->attrs == NULL) return;
        *made->attrs = *n->attrs;
        node_substitute(c->g, made, c->symbols, c->old, c->fresh);
    }
    for (int k = 0; k < 2; k++) {
        if (n->inside[k] != NULL) made->inside[k] = clone_into(c, n->inside[k], r, made);
    }
}

static region *clone_into(cloner *c, const region *r, region *outer, node *holder) {
    region *made = region_new(c->g, outer, holder);
    if (made == NULL) return NULL;
    for (int i = 0; i < r->param_count && !c->g->failed; i++) {
        clone_var(c, r->params[i]);
        (void)region_param(c->g, made, cloned(c, r->params[i]));
    }
    for (int i = 0; i < r->count && !c->g->failed; i++) clone_node(c, r->nodes[i], made);
    var *results = graph_take(c->g, (size_t)r->result_count * sizeof *results);
    if (results == NULL) return NULL;
    for (int i = 0; i < r->result_count; i++) results[i] = cloned(c, r->results[i]);
    region_results(c->g, made, r->result_count, results);
    return made;
}

region *graph_clone(graph *g, const region *r, region *outer, node *holder, bool effects, var *to, int count) {
    cloner c = {.g = g, .to = to, .count = count, .effects = effects};
    find_symbols(&c, r);
    region *made = g->failed ? NULL : clone_into(&c, r, outer, holder);
    if (!g->failed) witness_clones(&c);
    return made;
}
