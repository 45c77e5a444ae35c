/* How many entries a tape has, as far as the text says: a loop that pops until nothing is there leaves none, and a
 * branch that is taken by the same condition as an earlier one finds what that one pushed, also where condition and
 * tape come off a tape that held both. */
#include "ad/reversal.h"

enum { UNKNOWN = -1, DEEPEST = 64 };

/* Where a height is asked for: in a region; or where the one push stands whose entry the pop of an outer place gives. */
typedef struct place {
    const struct place *outer;
    const node *pop, *push;
    const region *at;
    int depth;
} place;

static int height(graph *g, const place *p, var tape);

/* Which branch of an `if` under this condition is taken here; -1: the text does not say. */
static int side_of(const place *p, var condition) {
    for (const region *r = p->at; r != NULL && r->holder != NULL; r = r->outer) {
        const node *n = r->holder;
        if (n->kind == NODE_IF && n->in[0] == condition) return n->inside[1] == r;
    }
    for (int i = 1; p->outer != NULL && i < p->push->n; i++) {
        if (p->push->in[i] == condition) return side_of(p->outer, p->pop->out[i]);
    }
    return -1;
}

static int of_branch(graph *g, const place *p, const node *n, int i) {
    int side = side_of(p, n->in[0]);
    if (side >= 0) return height(g, p, n->inside[side]->results[i]);
    int then = height(g, p, n->inside[0]->results[i]);
    return then == height(g, p, n->inside[1]->results[i]) ? then : UNKNOWN;
}

/* Whether the condition is !is_empty(t) of the i-th carried value. */
static bool asks_for_entries(const graph *g, const region *condition, int i) {
    const node *negates = graph_at(g, condition->results[0])->maker;
    if (negates == NULL || negates->kind != NODE_OP || negates->op != OP_not) return false;
    const node *asks = graph_at(g, negates->in[0])->maker;
    return asks != NULL && asks->kind == NODE_EMPTY && asks->in[0] == condition->params[i];
}

/* The only push on tapes like this one; NULL when there are several. */
static const node *only_push(graph *g, const tape_element *element) {
    int count;
    node **all = graph_nodes_of(g, NODE_PUSH, &count), *found = NULL;
    for (int i = 0; all != NULL && i < count; i++) {
        if (graph_at(g, all[i]->in[0])->tape != element) continue;
        if (found != NULL) return NULL;
        found = all[i];
    }
    return found;
}

/* A tape out of a tape. */
static int of_entry(graph *g, const place *p, const node *pop, int i) {
    const node *push = only_push(g, graph_at(g, pop->in[0])->tape);
    if (push == NULL || graph_at(g, push->out[0])->home == NULL) return UNKNOWN;
    place there = {.outer = p, .pop = pop, .push = push, .at = graph_at(g, push->out[0])->home, .depth = p->depth};
    return height(g, &there, push->in[i]);
}

static int changed(graph *g, const place *p, var tape, int by) {
    int before = height(g, p, tape);
    return before == UNKNOWN ? UNKNOWN : before + by;
}

static int made_by(graph *g, const place *p, const node *n, int i) {
    switch ((node_kind)n->kind) {
    case NODE_TAPE: return 0;
    case NODE_PUSH: return changed(g, p, n->in[0], 1);
    case NODE_POP: return i == 0 ? changed(g, p, n->in[0], -1) : of_entry(g, p, n, i);
    case NODE_IF: return of_branch(g, p, n, i);
    case NODE_WHILE: return asks_for_entries(g, n->inside[0], i) ? 0 : UNKNOWN;
    default: return UNKNOWN;
    }
}

static int height(graph *g, const place *p, var tape) {
    const node *n = graph_at(g, tape)->maker;
    if (n == NULL || p->depth == 0) return UNKNOWN;
    place here = *p;
    here.depth--;
    for (int i = 0; i < n->m; i++) {
        if (n->out[i] == tape) return made_by(g, &here, n, i);
    }
    return UNKNOWN;
}

bool region_leaves_empty(graph *g, const region *at, var tape) {
    return height(g, &(place){.at = at, .depth = DEEPEST}, tape) == 0;
}
