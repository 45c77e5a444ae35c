/* What a backward part needs of its forward part, carried there on tapes.
 *
 * The backward part is written as if it saw the variables of the branch or loop body that it takes back.
 * Here each of those is pushed at the end of the one and popped at the start of the other, inner regions
 * first: the tape of an inner loop is itself a variable of the outer one's body. */
#include "ad/gradient.h"

typedef struct carrying {
    graph *g;
    region *forward, *back;
    node *forward_node, *back_node;
    int side;                   /* of an if: which branch */
    int count, room;            /* what is carried */
    var *saved, *popped;
    tape_element *element;
    int symbols, symbol_room;
    int64_t *from, *to;         /* sizes that are carried: their symbols there and here */
} carrying;

/* ---- what is needed ---- */

/* A literal is written again where it is needed. */
static bool literal(const carrying *t, var v) {
    const node *maker = graph_at(t->g, v)->maker;
    return maker != NULL && (maker->kind == NODE_NUMBER || maker->kind == NODE_LITERAL);
}

static void need(carrying *t, var v) {
    if (literal(t, v)) return;
    for (int i = 0; i < t->count; i++) {
        if (t->saved[i] == v) return;
    }
    if (t->count == t->room) {
        int wider = t->room > 0 ? 2 * t->room : 8;
        var *grown = graph_take(t->g, 2 * (size_t)wider * sizeof *grown);
        if (grown == NULL) return;
        for (int i = 0; i < t->count; i++) grown[i] = t->saved[i];
        t->saved = grown;
        t->popped = grown + wider;
        t->room = wider;
    }
    t->saved[t->count++] = v;
}

static bool hidden(const carrying *t, var v) { return v >= 0 && graph_at(t->g, v)->home == t->forward; }

static void need_size(void *self, const witness *w) {
    carrying *t = self;
    if (!hidden(t, w->v)) return;
    for (int i = 0; i < t->symbols; i++) {
        if (t->from[i] == w->symbol) return;
    }
    if (t->symbols == t->symbol_room) {
        int wider = t->symbol_room > 0 ? 2 * t->symbol_room : 4;
        int64_t *grown = graph_take(t->g, 2 * (size_t)wider * sizeof *grown);
        if (grown == NULL) return;
        for (int i = 0; i < t->symbols; i++) grown[i] = t->from[i];
        t->from = grown;
        t->to = grown + wider;
        t->symbol_room = wider;
    }
    t->from[t->symbols++] = w->symbol;
}

enum { SYMBOLS_MOST = 64 };

/* The sizes of a variable's type, in which its own derivative may be written. What is not used is pruned. */
static void need_type(carrying *t, var v) {
    const op_type *type = graph_type(t->g, v);
    const dim_algebra *a = t->g->algebra;
    int64_t symbols[SYMBOLS_MOST];
    for (int i = 0; i < type->rank; i++) {
        int count = type->dims[i] < 0 ? a->symbols(a->self, type->dims[i], symbols, SYMBOLS_MOST) : 0;
        for (int k = 0; k < count; k++) {
            const witness *w = graph_witness_of(t->g, symbols[k]);
            if (w != NULL && w->name == NULL) need_size(t, w);
        }
    }
}

static void find_needs(carrying *t, const region *r) {
    for (int i = 0; i < r->param_count; i++) need_type(t, r->params[i]);
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        for (int k = 0; k < n->m; k++) need_type(t, n->out[k]);
        for (int k = 0; k < n->n; k++) {
            if (hidden(t, n->in[k])) need(t, n->in[k]);
        }
        node_each_witness(t->g, n, need_size, t);
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL) find_needs(t, n->inside[k]);
        }
    }
    for (int i = 0; i < r->result_count; i++) {
        if (hidden(t, r->results[i])) need(t, r->results[i]);
    }
}

/* Sizes are carried as integers. */
static void measure_sizes(carrying *t) {
    for (int i = 0; i < t->symbols && !t->g->failed; i++) {
        const witness *w = graph_witness_of(t->g, t->from[i]);
        var size = w->axis < 0 ? w->v : graph_size(t->g, t->forward, t->from[i], DT_I64);
        t->to[i] = t->g->algebra->unknown(t->g->algebra->self);
        need(t, size);
    }
}

/* ---- forward: the push ---- */

static bool make_element(carrying *t) {
    t->element = graph_take(t->g, sizeof *t->element);
    tape_leaf *leaf = graph_take(t->g, (size_t)t->count * sizeof *leaf);
    if (t->element == NULL || leaf == NULL) return false;
    for (int i = 0; i < t->count; i++) {
        const graph_var *v = graph_at(t->g, t->saved[i]);
        leaf[i] = (tape_leaf){.type = v->type, .tape = v->tape};
    }
    *t->element = (tape_element){.count = t->count, .leaf = leaf};
    return true;
}

static var tape_var(carrying *t) { return graph_tape_var(t->g, t->element, "saved"); }

/* The tape, empty, right before the forward branch or loop. */
static var make_tape(carrying *t) {
    region *r = t->forward->outer;
    node *made = node_new(t->g, r, NODE_TAPE, 0, NULL, 1);
    if (made == NULL) return VAR_NONE;
    node_out(t->g, r, made, 0, tape_var(t));
    region_move_last(r, region_place(r, t->forward_node));
    return made->out[0];
}

static var push_saved(carrying *t, var tape) {
    node *made = node_new(t->g, t->forward, NODE_PUSH, 0, NULL, 1);
    if (made == NULL) return VAR_NONE;
    node_add_in(t->g, made, tape);
    for (int i = 0; i < t->count; i++) node_add_in(t->g, made, t->saved[i]);
    node_out(t->g, t->forward, made, 0, tape_var(t));
    return made->out[0];
}

static var record_forward(carrying *t, var empty) {
    graph *g = t->g;
    node *n = t->forward_node;
    if (n->kind == NODE_WHILE) {
        var tape = region_param(g, t->forward, tape_var(t)), full = push_saved(t, tape), out = tape_var(t);
        graph_add_carry(g, n, empty, tape_var(t), tape, full, out);
        return out;
    }
    region_add_result(g, t->forward, push_saved(t, empty));
    region_add_result(g, n->inside[1 - t->side], empty);
    node_add_read(g, n, empty);
    node_add_out(g, t->forward->outer, n, tape_var(t));
    return g->failed ? VAR_NONE : n->out[n->m - 1];
}

/* ---- backward: the pop ---- */

/* A variable for what comes off the tape, named as what went on it. */
static var popped_var(carrying *t, int i) {
    graph_var like = *graph_at(t->g, t->saved[i]);
    var v = like.tape != NULL ? graph_tape_var(t->g, like.tape, like.name)
                              : graph_var_new(t->g, &like.type, like.name);
    if (v != VAR_NONE) {
        graph_at(t->g, v)->derivative_of = like.derivative_of;
        graph_at(t->g, v)->prefix = like.prefix;
        if (like.name == NULL && like.derivative_of == VAR_NONE) graph_at(t->g, v)->derivative_of = t->saved[i];
        if (graph_at(t->g, v)->prefix == NULL) graph_at(t->g, v)->prefix = "";
    }
    return v;
}

static var pop_saved(carrying *t, var tape) {
    node *made = node_new(t->g, t->back, NODE_POP, 1, &tape, 1 + t->count);
    if (made == NULL) return VAR_NONE;
    node_out(t->g, t->back, made, 0, tape_var(t));
    for (int i = 0; i < t->count && !t->g->failed; i++) {
        t->popped[i] = popped_var(t, i);
        node_out(t->g, t->back, made, 1 + i, t->popped[i]);
    }
    region_move_last(t->back, 0);
    return t->g->failed ? VAR_NONE : made->out[0];
}

static var literal_again(carrying *t, var v) {
    node *again = node_new(t->g, t->back, (node_kind)graph_at(t->g, v)->maker->kind, 0, NULL, 1);
    op_type type = *graph_type(t->g, v);
    if (again == NULL) return VAR_NONE;
    again->constant = graph_at(t->g, v)->maker->constant;
    node_out(t->g, t->back, again, 0, graph_var_new(t->g, &type, NULL));
    region_move_last(t->back, 0);
    return again->out[0];
}

static var shown(carrying *t, var v) {
    for (int i = 0; i < t->count; i++) {
        if (t->saved[i] == v) return t->popped[i];
    }
    return hidden(t, v) && literal(t, v) ? literal_again(t, v) : v;
}

static void replace_sizes(carrying *t, var v) {
    op_type *type = &graph_at(t->g, v)->type;
    const dim_algebra *a = t->g->algebra;
    for (int i = 0; i < type->rank; i++) {
        type->dims[i] = a->substitute(a->self, type->dims[i], t->symbols, t->from, t->to);
    }
}

static void replace(carrying *t, region *r) {
    for (int i = 0; i < r->param_count; i++) replace_sizes(t, r->params[i]);
    for (int i = r->count - 1; i >= 0 && !t->g->failed; i--) {
        node *n = r->nodes[i];
        for (int k = 0; k < n->m; k++) replace_sizes(t, n->out[k]);
        int before = r->count;
        for (int k = 0; k < n->n; k++) n->in[k] = shown(t, n->in[k]);
        node_substitute(t->g, n, t->symbols, t->from, t->to);
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL) replace(t, n->inside[k]);
        }
        i += r->count - before; /* literals went before it */
    }
    for (int i = 0; i < r->result_count; i++) r->results[i] = shown(t, r->results[i]);
}

static void name_sizes(carrying *t) {
    for (int i = 0; i < t->symbols; i++) {
        const witness *w = graph_witness_of(t->g, t->from[i]);
        for (int k = 0; k < t->count; k++) {
            const node *maker = graph_at(t->g, t->saved[k])->maker;
            bool same = w->axis < 0 ? t->saved[k] == w->v
                                    : maker != NULL && maker->kind == NODE_SIZE && maker->attrs->dims[0] == t->from[i];
            if (same) graph_witness(t->g, t->to[i], NULL, t->popped[k], -1);
        }
    }
}

static void drop_tape(graph *g, region *r, var tape, int at) {
    if (node_new(g, r, NODE_DROP, 1, &tape, 0) != NULL) region_move_last(r, at);
}

/* The loop that counted its trips down goes on while its tape holds something. */
static void ask_tape(carrying *t, var tape) {
    graph *g = t->g;
    region *condition = t->back_node->inside[0];
    condition->count = 0;
    node *made = node_new(g, condition, NODE_EMPTY, 1, &tape, 1);
    op_type flag = {.dtype = DT_Bool};
    if (made == NULL) return;
    node_out(g, condition, made, 0, graph_var_new(g, &flag, NULL));
    var more = graph_op(g, condition, OP_not, NULL, 1, made->out, (span){0, 0});
    region_results(g, condition, 1, &more);
}

static void read_backward(carrying *t, var full) {
    graph *g = t->g;
    node *n = t->back_node;
    region *r = t->back->outer;
    if (n->kind == NODE_WHILE) {
        var tape = region_param(g, t->back, tape_var(t)), rest = pop_saved(t, tape), asked = tape_var(t), out = tape_var(t);
        graph_add_carry(g, n, full, asked, tape, rest, out);
        if (g->failed) return;
        ask_tape(t, asked);
        drop_tape(g, r, out, region_place(r, n) + 1);
        return;
    }
    var rest = pop_saved(t, full);
    region *other = n->inside[1 - t->side];
    if (g->failed) return;
    drop_tape(g, t->back, rest, 1);
    drop_tape(g, other, full, other->count);
}

/* ---- all pairs ---- */

static void carry_over(graph *g, region *back, int side) {
    carrying t = {.g = g, .forward = back->forward, .back = back, .side = side,
                  .forward_node = back->forward->holder, .back_node = back->holder};
    back->forward = NULL;
    find_needs(&t, back);
    for (int i = 0; i < t.count; i++) need_type(&t, t.saved[i]);
    measure_sizes(&t);
    if (graph_bad(g)) return;
    if (t.count == 0) {
        replace(&t, back); /* literals alone */
        return;
    }
    if (!make_element(&t)) return;
    var empty = make_tape(&t), full = record_forward(&t, empty);
    if (g->failed) return;
    read_backward(&t, full);
    if (g->failed) return;
    name_sizes(&t);
    replace(&t, back);
}

void graph_put_on_tapes(graph *g, region *r) {
    for (int i = 0; i < r->count && !graph_bad(g); i++) {
        node *n = r->nodes[i];
        for (int k = 0; k < 2; k++) {
            region *inside = n->inside[k];
            if (inside == NULL) continue;
            graph_put_on_tapes(g, inside);
            if (inside->forward != NULL) carry_over(g, inside, k);
        }
        i = region_place(r, n); /* tapes may have been put before it */
    }
}
