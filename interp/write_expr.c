/* Nodes as expressions, and which of them wait to be folded into the expression that reads them: what is read
 * once, in its own region, and named neither by the user nor after what the user named. */
#include "interp/writing.h"

/* ---- how the graph reads its variables ---- */

typedef struct counting {
    writing *w;
    const region *r;
    const node *n;
    int place;
} counting;

var write_same(const writing *w, var v) {
    while (w->vars[v].same != VAR_NONE) v = w->vars[v].same;
    return v;
}

/* Numbers and sizes are written wherever they are read. */
static bool is_repeated(const writing *w, const node *n) {
    return (n->kind == NODE_NUMBER || n->kind == NODE_SIZE) && w->vars[n->out[0]].wish == NULL;
}

static void note_dim(counting *c, int64_t dim);

static void note_read(counting *c, var v) {
    written *of = write_of(c->w, v);
    const node *maker = graph_at(c->w->g, write_same(c->w, v))->maker;
    of->reads++;
    of->read_in = c->r;
    of->read_by = c->n;
    of->last_read = c->place;
    if (maker != NULL && maker->kind == NODE_SIZE && is_repeated(c->w, maker))
        note_dim(c, maker->attrs->dims[0]);
}

/* The witnesses of a dim are read where it is written. */
static void note_dim(counting *c, int64_t dim) {
    enum { SYMBOLS_MOST = 32 };
    int64_t symbols[SYMBOLS_MOST];
    int count = dims_symbols(c->w->dims, dim, symbols, SYMBOLS_MOST);
    for (int i = 0; i < count; i++) {
        const witness *s = graph_witness_of(c->w->g, symbols[i]);
        if (s == NULL || s->name != NULL) continue;
        note_read(c, s->v);
        if (s->axis >= 0) write_of(c->w, s->v)->pinned = true;
    }
}

static void note_dims(counting *c, const node *n) {
    op_type types[3];
    int64_t list[WRITE_DIMS];
    if (n->kind == NODE_SIZE && !is_repeated(c->w, n)) note_dim(c, n->attrs->dims[0]);
    if (n->kind != NODE_OP) return;
    for (int k = 0; k < n->n && k < 3; k++) types[k] = *graph_type(c->w->g, n->in[k]);
    op_use u = {.op = (op_id)n->op, .attrs = n->attrs, .hi = n->hi, .n = n->n, .in = types};
    int count = write_op_dims(c->w, &u, list);
    for (int i = 0; i < count; i++) note_dim(c, list[i]);
}

static bool renames(const node *n) {
    return n->kind == NODE_OP && (n->op == OP_identity || n->op == OP_carry);
}

/* The same value under another name, which it takes if it has none. */
static void note_same(writing *w, const node *n) {
    written *of = write_of(w, n->in[0]), *other = &w->vars[n->out[0]];
    other->same = n->in[0];
    if (of->wish == NULL) of->wish = other->wish;
}

static void count_region(counting *c, const region *r) {
    writing *w = c->w;
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        c->r = r;
        c->n = n;
        c->place++;
        if (renames(n)) {
            note_same(w, n);
            continue;
        }
        for (int k = 0; k < n->n; k++) note_read(c, n->in[k]);
        note_dims(c, n);
        w->loops = w->loops || n->kind == NODE_WHILE;
        for (int k = 0; k < 2; k++)
            if (n->inside[k] != NULL) count_region(c, n->inside[k]);
    }
    c->r = r;
    c->n = NULL;
    c->place++;
    for (int i = 0; i < r->result_count; i++) note_read(c, r->results[i]);
}

void write_count_reads(writing *w) {
    counting c = {.w = w};
    count_region(&c, w->g->top);
}

/* ---- waiting ---- */

static bool moves_tapes(const region *r) {
    for (int i = 0; i < r->count; i++)
        if (r->nodes[i]->kind == NODE_PUSH || r->nodes[i]->kind == NODE_POP) return true;
    return false;
}

/* Tapes have the name of what they were before, which nothing reads any more: an empty one waits where its type
 * follows, from a loop's carry or from what is pushed, and a last push where its region ends. */
static bool tape_waits(const node *n, const written *of) {
    if (n->kind == NODE_PUSH) return of->read_by == NULL;
    return of->read_by != NULL && (of->read_by->kind == NODE_WHILE || of->read_by->kind == NODE_PUSH);
}

/* Whether the node that reads n is the next one. */
static bool is_read_next(const node *n, const region *in, const written *of) {
    int next = region_place(in, n) + 1;
    return next < in->count && in->nodes[next] == of->read_by;
}

static bool may_wait(const node *n, const region *in, const written *of) {
    switch ((node_kind)n->kind) {
    case NODE_OP:
    case NODE_NUMBER:
    case NODE_LITERAL:
    case NODE_SIZE:
    case NODE_STOP: return true;
    case NODE_EMPTY: return !moves_tapes(in) || is_read_next(n, in, of);
    default: return false;
    }
}

bool write_waits(const writing *w, const node *n, const region *in) {
    if (renames(n)) return true;
    const written *of = n->m > 0 ? &w->vars[n->out[0]] : NULL;
    if (n->kind == NODE_TAPE || n->kind == NODE_PUSH)
        return of->reads == 1 && of->read_in == in && tape_waits(n, of);
    if (!may_wait(n, in, of)) return false;
    if (is_repeated(w, n)) return true;
    if (w->g->keeps_unread && of->reads == 0) return false;
    bool named = of->wish != NULL || (of->of != NULL && of->of->wish != NULL);
    return of->reads == 0 || (of->reads == 1 && of->read_in == in && !of->pinned && !named);
}

/* v is read where the text reads what waits with it, which may be behind its node's place. */
static void read_until(writing *w, var v, int place) {
    written *of = write_of(w, v);
    if (of->last_read < place) of->last_read = place;
    for (int k = 0; of->made_by != NULL && k < of->made_by->n; k++) read_until(w, of->made_by->in[k], place);
}

void write_wait(writing *w, const node *n) {
    if (renames(n) || is_repeated(w, n)) return;
    written *of = &w->vars[n->out[0]];
    for (int k = 0; k < n->n; k++) read_until(w, n->in[k], of->last_read);
    of->value = write_value(w, n);
    of->made_by = n;
}

expr *write_read(writing *w, var v) {
    written *of = write_of(w, v);
    const node *maker = graph_at(w->g, write_same(w, v))->maker;
    if (maker != NULL && is_repeated(w, maker)) return write_value(w, maker);
    expr *e = of->value;
    of->value = NULL;
    return e != NULL ? e : write_var(w, v);
}

expr *write_read_alone(writing *w, var v) {
    expr *e = write_read(w, v);
    return graph_at(w->g, v)->tape != NULL ? e : write_alone(w, (dtype)graph_type(w->g, v)->dtype, e);
}

/* ---- values ---- */

static expr *write_operation(writing *w, const node *n) {
    op_type *types = WRITE_ARRAY(w, op_type, n->n);
    expr **args = WRITE_ARRAY(w, expr *, n->n);
    if (w->failed) return write_expr_new(w, EXPR_TUPLE);
    for (int k = 0; k < n->n; k++) {
        types[k] = *graph_type(w->g, n->in[k]);
        args[k] = write_read(w, n->in[k]);
    }
    op_use u = {.op = (op_id)n->op, .attrs = n->attrs, .hi = n->hi, .n = n->n, .in = types, .args = args};
    return write_op(w, &u);
}

/* Some of a node's operands as one value: alone, or as a tuple. */
static expr *write_operands(writing *w, const node *n, int from) {
    int count = n->n - from;
    expr **items = WRITE_ARRAY(w, expr *, count);
    if (w->failed) return write_expr_new(w, EXPR_TUPLE);
    for (int i = 0; i < count; i++) items[i] = write_read_alone(w, n->in[from + i]);
    return count == 1 ? items[0] : write_list(w, EXPR_TUPLE, count, items);
}

static expr *write_user_call(writing *w, const node *n) {
    expr **args = WRITE_ARRAY(w, expr *, n->n);
    if (w->failed) return write_expr_new(w, EXPR_TUPLE);
    for (int i = 0; i < n->n; i++) args[i] = write_read_alone(w, n->in[i]);
    return write_call_of(w, n->call->name, n->n, args);
}

/* A builtin with the node's operands as its arguments. */
static expr *write_plain(writing *w, const node *n, const char *callee) {
    expr *e = write_call(w, callee);
    for (int i = 0; i < n->n; i++) write_argument(w, e, NULL, write_read_alone(w, n->in[i]));
    return e;
}

expr *write_value(writing *w, const node *n) {
    switch ((node_kind)n->kind) {
    case NODE_OP: return write_operation(w, n);
    case NODE_NUMBER:
    case NODE_LITERAL: return write_literal(w, &n->constant);
    case NODE_SIZE: return write_size(w, n->attrs->dims[0], (dtype)n->attrs->dtype);
    case NODE_STOP: return write_plain(w, n, "stop_gradient");
    case NODE_CALL: return write_user_call(w, n);
    case NODE_TAPE: return write_call(w, "tape");
    case NODE_PUSH: {
        expr *args[2] = {write_read(w, n->in[0]), write_operands(w, n, 1)};
        return write_call_of(w, "push", 2, args);
    }
    case NODE_POP: return write_plain(w, n, "pop");
    case NODE_EMPTY: return write_plain(w, n, "is_empty");
    case NODE_LOAD: {
        expr *path = write_string(w, n->strings[0]);
        return write_call_of(w, "load", 1, &path);
    }
    default: return write_expr_new(w, EXPR_TUPLE);
    }
}
