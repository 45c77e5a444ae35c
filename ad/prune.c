/* Nothing dead: what no result and no effect needs is removed.
 *
 * A carry of a loop is needed when anything reads it, inside or behind, or when a loop that stays has no other; a leaf
 * of a tape when some pop's leaf is needed; a tape when one of its leaves is, or when is_empty is asked of it. */
#include <string.h>

#include "ad/simplify.h"

typedef struct pruner {
    graph *g;
    bool *needed;               /* by variable */
    var *work;                  /* needed, and not yet looked at */
    int work_count;
    node **pushes;              /* all of them, all pops, and all loops */
    node **pops;
    node **loops;
    int push_count, pop_count, loop_count;
    bool changed;
} pruner;

/* ---- marking ---- */

static void mark(pruner *p, var v) {
    if (v < 0 || p->needed[v]) return;
    p->needed[v] = true;
    p->work[p->work_count++] = v;
}

static void mark_use(void *self, var v) { mark(self, v); }

/* What decides whether the region runs. */
static void mark_control(pruner *p, const region *r) {
    for (; r != NULL && r->holder != NULL; r = r->outer) {
        const node *n = r->holder;
        if (n->kind == NODE_IF) mark(p, n->in[0]);
        if (n->kind == NODE_WHILE) mark(p, n->inside[0]->results[0]);
    }
}

static void mark_carry(pruner *p, const node *n, int i) {
    mark(p, n->in[i]);
    mark(p, n->out[i]);
    mark(p, n->inside[0]->params[i]);
    mark(p, n->inside[1]->params[i]);
    mark(p, n->inside[1]->results[i]);
}

/* A leaf that some pop needs is needed of every push on such a tape. */
static void mark_leaf(pruner *p, const tape_element *e, int leaf) {
    for (int i = 0; i < p->push_count; i++) {
        const node *n = p->pushes[i];
        if (graph_at(p->g, n->in[0])->tape == e && p->needed[n->out[0]]) mark(p, n->in[1 + leaf]);
    }
    for (int i = 0; i < p->pop_count; i++) {
        const node *n = p->pops[i];
        if (graph_at(p->g, n->in[0])->tape == e) mark(p, n->out[1 + leaf]);
    }
}

static bool leaf_needed(const pruner *p, const tape_element *e, int leaf) {
    for (int i = 0; i < p->pop_count; i++) {
        const node *n = p->pops[i];
        if (graph_at(p->g, n->in[0])->tape == e && p->needed[n->out[1 + leaf]]) return true;
    }
    return false;
}

static void mark_push(pruner *p, const node *n) {
    const tape_element *e = graph_at(p->g, n->in[0])->tape;
    mark(p, n->in[0]);
    for (int i = 0; i < e->count; i++) {
        if (leaf_needed(p, e, i)) mark(p, n->in[1 + i]);
    }
}

static bool any_leaf_needed(const pruner *p, const tape_element *e) {
    for (int i = 0; i < e->count; i++) {
        if (leaf_needed(p, e, i)) return true;
    }
    return false;
}

/* An entry of a tape holds something, be it only for is_empty. */
static void mark_entries(pruner *p) {
    for (int i = 0; i < p->push_count; i++) {
        const node *n = p->pushes[i];
        const tape_element *e = graph_at(p->g, n->in[0])->tape;
        if (!p->needed[n->out[0]] || any_leaf_needed(p, e)) continue;
        mark_leaf(p, e, 0);
        mark(p, n->in[1]);
    }
}

static bool any_inside(const pruner *p, const node *n);

/* A loop that stays carries something, be it for its effects alone. */
static void mark_loops(pruner *p) {
    for (int i = 0; i < p->loop_count; i++) {
        const node *n = p->loops[i];
        bool carries = false;
        for (int k = 0; k < n->m; k++) carries |= p->needed[n->out[k]];
        if (!carries && n->m > 0 && any_inside(p, n)) mark_carry(p, n, 0);
    }
}

static void mark_pop(pruner *p, const node *n, var v) {
    mark(p, n->in[0]);
    mark(p, n->out[0]);
    for (int i = 1; i < n->m; i++) {
        if (n->out[i] == v) mark_leaf(p, graph_at(p->g, n->in[0])->tape, i - 1);
    }
}

static int index_of(var v, int count, const var *list) {
    int i = 0;
    while (i < count && list[i] != v) i++;
    return i;
}

static void mark_param(pruner *p, const region *r, var v) {
    const node *n = r->holder;
    if (n != NULL && n->kind == NODE_WHILE) mark_carry(p, n, index_of(v, r->param_count, r->params));
}

static void mark_needs(pruner *p, var v) {
    const graph_var *g = graph_at(p->g, v);
    const node *n = g->maker;
    mark_control(p, g->home);
    if (n == NULL) {
        if (g->home != NULL) mark_param(p, g->home, v);
        return;
    }
    int i = index_of(v, n->m, n->out);
    switch ((node_kind)n->kind) {
    case NODE_IF:
        mark(p, n->in[0]);
        mark(p, n->inside[0]->results[i]);
        mark(p, n->inside[1]->results[i]);
        break;
    case NODE_WHILE:
        mark_carry(p, n, i);
        mark(p, n->inside[0]->results[0]);
        break;
    case NODE_PUSH: mark_push(p, n); break;
    case NODE_POP: mark_pop(p, n, v); break;
    default: node_each_use(p->g, n, mark_use, p); break;
    }
}

static bool effect(const node *n) {
    return n->kind == NODE_PRINT || n->kind == NODE_ASSERT || n->kind == NODE_SAVE;
}

static void mark_effects(pruner *p, const region *r) {
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        if (effect(n)) {
            node_each_use(p->g, n, mark_use, p);
            mark_control(p, r);
        }
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL) mark_effects(p, n->inside[k]);
        }
    }
}

/* ---- removing ---- */

static int keep(const bool *kept, int count, var *list) {
    int to = 0;
    for (int i = 0; i < count; i++) {
        if (kept[i]) list[to++] = list[i];
    }
    return to;
}

static bool stays(const pruner *p, const node *n) {
    if (effect(n)) return true;
    if (n->kind == NODE_DROP) return p->needed[n->in[0]];
    for (int i = 0; i < n->m; i++) {
        if (n->out[i] >= 0 && p->needed[n->out[i]]) return true;
    }
    return any_inside(p, n);
}

/* An effect inside keeps a branch or loop. */
static bool any_inside(const pruner *p, const node *n) {
    for (int k = 0; k < 2; k++) {
        const region *r = n->kind == NODE_IF || n->kind == NODE_WHILE ? n->inside[k] : NULL;
        for (int i = 0; r != NULL && i < r->count; i++) {
            if (stays(p, r->nodes[i])) return true;
        }
    }
    return false;
}

static bool *kept_outs(pruner *p, const node *n) {
    bool *kept = GRAPH_ARRAY(p->g, bool, n->m);
    if (kept == NULL) return NULL;
    for (int i = 0; i < n->m; i++) {
        kept[i] = p->needed[n->out[i]];
        p->changed |= !kept[i];
    }
    return kept;
}

static void trim_if(pruner *p, node *n) {
    bool *kept = kept_outs(p, n);
    if (kept == NULL) return;
    for (int k = 0; k < 2; k++) {
        n->inside[k]->result_count = keep(kept, n->m, n->inside[k]->results);
    }
    n->m = keep(kept, n->m, n->out);
}

static void trim_while(pruner *p, node *n) {
    bool *kept = kept_outs(p, n);
    if (kept == NULL) return;
    int count = n->m;
    n->inside[0]->param_count = keep(kept, count, n->inside[0]->params);
    n->inside[1]->param_count = keep(kept, count, n->inside[1]->params);
    n->inside[1]->result_count = keep(kept, count, n->inside[1]->results);
    n->n = keep(kept, count, n->in);
    n->m = keep(kept, count, n->out);
}

static void prune_region(pruner *p, region *r) {
    int to = 0;
    for (int i = 0; i < r->count && !p->g->failed; i++) {
        node *n = r->nodes[i];
        if (!stays(p, n)) {
            p->changed = true;
            continue;
        }
        r->nodes[to++] = n;
        if (n->kind == NODE_IF) trim_if(p, n);
        if (n->kind == NODE_WHILE) trim_while(p, n);
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL) prune_region(p, n->inside[k]);
        }
    }
    if (!p->g->failed) r->count = to;
}

/* ---- leaves of tapes ---- */

static bool *kept_leaves(pruner *p, const tape_element *e) {
    bool *kept = GRAPH_ARRAY(p->g, bool, e->count), any = false;
    if (kept == NULL) return NULL;
    for (int i = 0; i < e->count; i++) any |= kept[i] = leaf_needed(p, e, i);
    if (!any) kept[0] = true; /* an entry holds something */
    return kept;
}

static void cut_tape(pruner *p, tape_element *e) {
    bool *kept = kept_leaves(p, e);
    if (kept == NULL) return;
    for (int i = 0; i < p->push_count; i++) {
        node *n = p->pushes[i];
        if (graph_at(p->g, n->in[0])->tape == e) n->n = 1 + keep(kept, e->count, n->in + 1);
    }
    for (int i = 0; i < p->pop_count; i++) {
        node *n = p->pops[i];
        if (graph_at(p->g, n->in[0])->tape == e) n->m = 1 + keep(kept, e->count, n->out + 1);
    }
    int to = 0;
    for (int i = 0; i < e->count; i++) {
        if (kept[i]) e->leaf[to++] = e->leaf[i];
        p->changed |= !kept[i];
    }
    e->count = to;
}

/* Every tape that is popped, once. */
static void cut_tapes(pruner *p) {
    for (int i = 0; i < p->pop_count && !p->g->failed; i++) {
        tape_element *e = graph_at(p->g, p->pops[i]->in[0])->tape;
        bool before = false;
        for (int k = 0; k < i; k++) before |= graph_at(p->g, p->pops[k]->in[0])->tape == e;
        if (!before) cut_tape(p, e);
    }
}

/* ---- the whole ---- */

bool graph_prune(graph *g) {
    pruner p = {.g = g};
    p.needed = GRAPH_ARRAY(g, bool, g->count);
    p.work = GRAPH_ARRAY(g, var, g->count);
    p.pushes = graph_nodes_of(g, NODE_PUSH, &p.push_count);
    p.pops = graph_nodes_of(g, NODE_POP, &p.pop_count);
    p.loops = graph_nodes_of(g, NODE_WHILE, &p.loop_count);
    if (g->failed) return false;
    for (int i = 0; i < g->top->param_count; i++) mark(&p, g->top->params[i]);
    for (int i = 0; i < g->top->result_count; i++) mark(&p, g->top->results[i]);
    mark_effects(&p, g->top);
    while (p.work_count > 0) {
        while (p.work_count > 0) mark_needs(&p, p.work[--p.work_count]);
        mark_entries(&p);
        mark_loops(&p);
    }
    prune_region(&p, g->top);
    cut_tapes(&p);
    return p.changed;
}
