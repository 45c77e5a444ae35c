/* Blocks, conditionals and loops. */
#include <string.h>

#include "ad/schedule.h"
#include "interp/stage_internal.h"

/* ---- blocks ---- */

static void bind(stager *s, staged *frame, const binding *to, const staged *x) {
    if (to->count > 0) {
        for (int i = 0; x->kind == STAGED_TUPLE && i < to->count; i++) bind(s, frame, &to->items[i], &x->items[i]);
        return;
    }
    stage_name(s, x, to->name);
    if (to->slot >= 0) frame[to->slot] = *x;
}

staged stage_block(stager *s, staged *frame, const code *n) {
    for (int i = 0; i < n->u.block.count && !graph_bad(s->g); i++) {
        const step *at = &n->u.block.steps[i];
        if (at->value == NULL) continue;
        staged x = stage(s, frame, at->value);
        if (at->to != NULL) bind(s, frame, at->to, &x);
    }
    return n->u.block.tail != NULL ? stage(s, frame, n->u.block.tail) : staged_unit();
}

/* ---- results of regions ---- */

static bool agree(const graph *g, int64_t a, int64_t b) {
    return a == b || g->algebra->compare(g->algebra->self, a, b) == DIM_SAME;
}

/* The type of what is one or the other: where their sizes differ, or come from inside, it has a size of its
 * own. */
static op_type join_types(stager *s, var a, var b) {
    op_type out = *graph_type(s->g, a), other = *graph_type(s->g, b);
    for (int i = 0; i < out.rank; i++) {
        bool same = agree(s->g, out.dims[i], other.dims[i]) && stage_dim_in_scope(s, out.dims[i]);
        if (!same) out.dims[i] = s->g->algebra->unknown(s->g->algebra->self);
    }
    return out;
}

static void joined_out(stager *s, node *made, int i, var a, var b) {
    graph *g = s->g;
    if (made == NULL || a == VAR_NONE || b == VAR_NONE || g->failed) return;
    op_type t = join_types(s, a, b);
    graph_var of = *graph_at(g, a);
    var out = of.tape != NULL ? graph_tape_var(g, of.tape, NULL) : graph_var_new(g, &t, NULL);
    node_out(g, s->r, made, i, out);
    graph_note_dims(g, out);
}

/* ---- conditionals ---- */

/* One branch; the leaves of its value are the region's results. */
static staged branch(stager *s, staged *frame, const code *n, region *r, var_list *leaves) {
    region *outer = s->r;
    s->r = r;
    staged x = stage(s, frame, n);
    stage_leaves(s, &x, n->where, leaves);
    s->r = outer;
    return x;
}

static node *if_node(stager *s, var condition, span where) {
    node *made = graph_bad(s->g) || condition == VAR_NONE ? NULL : node_new(s->g, s->r, NODE_IF, 1, &condition, 0);
    if (made == NULL) return NULL;
    made->where = where;
    for (int i = 0; i < 2; i++) {
        made->inside[i] = region_new(s->g, s->r, made);
        if (made->inside[i] == NULL) return NULL;
    }
    return made;
}

/* Where one of two tapes goes on, they are one to whoever asks what they hold. */
static void hold_tapes(stager *s, var a, var b) {
    if (!graph_bad(s->g)) graph_unify_tapes(graph_at(s->g, a)->tape, graph_at(s->g, b)->tape);
}

/* The branches' leaves as the results of the whole. */
static void close_branches(stager *s, node *made, const var_list leaves[2]) {
    if (graph_bad(s->g)) return;
    int count = leaves[0].count;
    for (int i = 0; i < 2; i++) region_results(s->g, made->inside[i], count, leaves[i].item);
    made->out = STAGE_ARRAY(s, var, count);
    if (made->out == NULL) return;
    made->m = count;
    for (int i = 0; i < count; i++) {
        hold_tapes(s, leaves[0].item[i], leaves[1].item[i]);
        joined_out(s, made, i, leaves[0].item[i], leaves[1].item[i]);
    }
}

staged stage_if(stager *s, staged *frame, const code *n) {
    var condition = stage_var(s, frame, n->u.branch.condition);
    node *made = if_node(s, condition, n->where);
    if (made == NULL) return staged_none();
    var_list reads = stage_reads(s, frame, &n->u.branch.reads), leaves[2] = {{0}, {0}};
    made->read_count = reads.count;
    made->reads = reads.item;
    staged then = branch(s, frame, n->u.branch.then, made->inside[0], &leaves[0]);
    staged otherwise = branch(s, frame, n->u.branch.otherwise, made->inside[1], &leaves[1]);
    if (staged_holds_function(&then) || staged_holds_function(&otherwise)) {
        graph_refuse(s->g, ERROR_K0703, n->where, "call the function inside of both branches",
                     "an `if` that chooses between functions cannot be written out");
    }
    close_branches(s, made, leaves);
    int at = 0;
    return graph_bad(s->g) ? staged_none() : stage_like(s, &then, made->out, &at);
}

/* a && b: b only where a holds; a || b: only where it does not. */
staged stage_logic(stager *s, staged *frame, const code *n) {
    bool both = n->kind == CODE_AND;
    node *made = if_node(s, stage_var(s, frame, n->u.two.a), n->where);
    if (made == NULL) return staged_none();
    var_list leaves[2] = {{0}, {0}};
    region *asked = made->inside[both ? 0 : 1], *settled = made->inside[both ? 1 : 0];
    (void)branch(s, frame, n->u.two.b, asked, &leaves[both ? 0 : 1]);
    var_list_add(s, &leaves[both ? 1 : 0], graph_number(s->g, settled, value_bool(!both)));
    close_branches(s, made, leaves);
    return graph_bad(s->g) ? staged_none() : staged_var(made->out[0]);
}

/* ---- loops ---- */

/* The carries as parameters of a region, in the loop's slots. */
static void carry_in(stager *s, staged *frame, const code *n, const staged *inits, const var_list *leaves, region *r) {
    var *params = STAGE_ARRAY(s, var, leaves->count);
    if (params == NULL) return;
    for (int i = 0; i < leaves->count; i++) {
        params[i] = region_param(s->g, r, stage_fresh_like(s, leaves->item[i]));
    }
    for (int i = 0, at = 0; i < n->u.loop.count && !graph_bad(s->g); i++) {
        staged carried = stage_like(s, &inits[i], params, &at);
        stage_name(s, &carried, n->u.loop.names[i]);
        frame[n->u.loop.carry[i]] = carried;
    }
}

static void loop_condition(stager *s, staged *frame, const code *n, const staged *inits, const var_list *leaves,
                           region *r) {
    region *outer = s->r;
    s->r = r;
    carry_in(s, frame, n, inits, leaves, r);
    var again = stage_var(s, frame, n->u.loop.condition);
    if (!graph_bad(s->g)) region_results(s->g, r, 1, &again);
    s->r = outer;
}

static void hold_functions(stager *s, const code *n, int i, const staged *carried, const staged *next) {
    if (staged_same_functions(carried, next)) return;
    graph_refuse(s->g, ERROR_K0703, n->where, "carry the numbers that the function depends on",
                 "a loop that carries another function in each iteration, `%s`, cannot be written out",
                 n->u.loop.names[i]);
}

static void loop_body(stager *s, staged *frame, const code *n, const staged *inits, const var_list *leaves,
                      region *r) {
    region *outer = s->r;
    var_list results = {0};
    staged *next = STAGE_ARRAY(s, staged, n->u.loop.count);
    if (next == NULL) return;
    s->r = r;
    carry_in(s, frame, n, inits, leaves, r);
    bool ok = stage_many(s, frame, n->u.loop.body, n->u.loop.count, next);
    for (int i = 0; ok && i < n->u.loop.count; i++) {
        hold_functions(s, n, i, &inits[i], &next[i]);
        stage_leaves(s, &next[i], n->u.loop.body->where, &results);
    }
    for (int i = 0; !graph_bad(s->g) && i < results.count; i++) {
        hold_tapes(s, leaves->item[i], results.item[i]);
    }
    if (!graph_bad(s->g)) region_results(s->g, r, results.count, results.item);
    s->r = outer;
}

/* The decorator as the source writes it. */
static const char *policy_words(stager *s, const loop_policy *p) {
    span at = p->decorator;
    char *words = arena_text(s->g->a, s->p->src->text + at.begin, at.end - at.begin);
    if (words == NULL) s->g->failed = true;
    return words;
}

static graph_policy policy_of(stager *s, const code *n) {
    graph_policy out = {0};
    const loop_policy *p = n->u.loop.policy;
    if (p == NULL) return out;
    bool every = p->kind == POLICY_EVERY && p->disk == NULL && p->amount != NULL;
    if (every && p->amount->kind == CODE_CONSTANT) out.k = value_as_int(&p->amount->u.constant);
    if (out.k <= 0) out.words = policy_words(s, p);
    return out;
}

static node *loop_node(stager *s, const code *n, const var_list *leaves) {
    node *made = node_new(s->g, s->r, NODE_WHILE, leaves->count, leaves->item, leaves->count);
    if (made == NULL) return NULL;
    made->where = n->where;
    made->policy = policy_of(s, n);
    for (int i = 0; i < 2; i++) {
        made->inside[i] = region_new(s->g, s->r, made);
        if (made->inside[i] == NULL) return NULL;
    }
    return made;
}

/* A carried value keeps its type. */
static staged loop_results(stager *s, const code *n, const staged *inits, const var_list *leaves, node *made) {
    if (graph_bad(s->g)) return staged_none();
    for (int i = 0; i < leaves->count; i++) {
        var out = stage_fresh_like(s, leaves->item[i]);
        node_out(s->g, s->r, made, i, out);
    }
    staged *results = STAGE_ARRAY(s, staged, n->u.loop.count);
    if (results == NULL) return staged_none();
    for (int i = 0, at = 0; i < n->u.loop.count; i++) results[i] = stage_like(s, &inits[i], made->out, &at);
    return stage_tuple(s, n->u.loop.take, results);
}

staged stage_while(stager *s, staged *frame, const code *n) {
    var_list reads = stage_reads(s, frame, &n->u.loop.reads), leaves = {0};
    staged *inits = STAGE_ARRAY(s, staged, n->u.loop.count);
    if (inits == NULL) return staged_none();
    for (int i = 0; i < n->u.loop.count; i++) {
        inits[i] = stage(s, frame, n->u.loop.init[i]);
        stage_leaves(s, &inits[i], n->u.loop.init[i]->where, &leaves);
    }
    if (graph_bad(s->g)) return staged_none();
    node *made = loop_node(s, n, &leaves);
    if (made == NULL) return staged_none();
    made->read_count = reads.count;
    made->reads = reads.item;
    loop_condition(s, frame, n, inits, &leaves, made->inside[0]);
    loop_body(s, frame, n, inits, &leaves, made->inside[1]);
    return loop_results(s, n, inits, &leaves, made);
}
