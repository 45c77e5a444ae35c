/* Graphs under test: their form, and running them op by op. */
#include "tests/unit/graph_check.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/door.h"
#include "runtime/stack.h"

/* ---- form ---- */

typedef struct checking {
    graph *g;
    const char *what;
    bool *defined;              /* by variable: in scope now */
    bool *ever;                 /* by variable: defined somewhere */
    const node *at;
    bool reads;
} checking;

static void use(void *self, var v) {
    const checking *k = self;
    ck_assert_msg(v >= 0 && v < k->g->count, "%s: no such variable: %d", k->what, v);
    ck_assert_msg(k->defined[v], "%s: variable %d is used out of scope by a node of kind %d at byte %u", k->what, v,
                  k->at != NULL ? k->at->kind : -1, k->at != NULL ? k->at->where.begin : 0);
}

static void define(checking *k, const region *r, const node *maker, var v) {
    ck_assert_msg(v >= 0 && v < k->g->count, "%s: no such variable: %d", k->what, v);
    ck_assert_msg(!k->ever[v], "%s: variable %d is defined twice", k->what, v);
    ck_assert_msg(graph_at(k->g, v)->home == r && graph_at(k->g, v)->maker == maker,
                  "%s: variable %d is at home elsewhere", k->what, v);
    k->ever[v] = k->defined[v] = true;
    const op_type *t = graph_type(k->g, v);
    for (int i = 0; i < t->rank; i++) {
        int64_t symbols[32];
        const dim_algebra *a = k->g->algebra;
        int count = t->dims[i] < 0 ? a->symbols(a->self, t->dims[i], symbols, 32) : 0;
        for (int j = 0; j < count; j++) {
            const witness *w = graph_witness_of(k->g, symbols[j]);
            ck_assert_msg(w != NULL, "%s: axis %d of variable %d has no witness", k->what, i, v);
        }
    }
}

static void same_kind(const checking *k, var a, var b) {
    const graph_var *x = graph_at(k->g, a), *y = graph_at(k->g, b);
    ck_assert_msg(x->tape == y->tape, "%s: variables %d and %d are different tapes", k->what, a, b);
    ck_assert_msg(x->type.dtype == y->type.dtype &&
                      x->type.rank == y->type.rank,
                  "%s: variables %d and %d differ in type", k->what, a, b);
    for (int i = 0; i < x->type.rank; i++) {
        dim_verdict v = k->g->algebra->compare(k->g->algebra->self, x->type.dims[i], y->type.dims[i]);
        ck_assert_msg(v != DIM_DIFFERENT, "%s: variables %d and %d differ on axis %d", k->what, a, b, i);
    }
}

static void check_region(checking *k, const region *r);

static void leave(checking *k, const region *r) {
    for (int i = 0; i < r->param_count; i++) k->defined[r->params[i]] = false;
    for (int i = 0; i < r->count; i++) {
        for (int j = 0; j < r->nodes[i]->m; j++) k->defined[r->nodes[i]->out[j]] = false;
    }
}

static void check_inside(checking *k, const node *n, const region *r, const region *home) {
    ck_assert_msg(r != NULL && r->outer == home && r->holder == n, "%s: a region is out of its place", k->what);
    check_region(k, r);
    leave(k, r);
}

static void check_if(checking *k, const node *n, const region *r) {
    ck_assert_int_eq(n->n, 1);
    for (int i = 0; i < 2; i++) {
        check_inside(k, n, n->inside[i], r);
        ck_assert_int_eq(n->inside[i]->param_count, 0);
        ck_assert_int_eq(n->inside[i]->result_count, n->m);
        for (int j = 0; j < n->m; j++) same_kind(k, n->inside[i]->results[j], n->out[j]);
    }
}

static void check_while(checking *k, const node *n, const region *r) {
    ck_assert_int_eq(n->n, n->m);
    for (int i = 0; i < 2; i++) {
        check_inside(k, n, n->inside[i], r);
        ck_assert_int_eq(n->inside[i]->param_count, n->n);
        for (int j = 0; j < n->n; j++) same_kind(k, n->inside[i]->params[j], n->in[j]);
    }
    ck_assert_int_eq(n->inside[0]->result_count, 1);
    ck_assert_int_eq(graph_type(k->g, n->inside[0]->results[0])->dtype, DT_Bool);
    ck_assert_int_eq(n->inside[1]->result_count, n->n);
    for (int j = 0; j < n->n; j++) {
        same_kind(k, n->inside[1]->results[j], n->in[j]);
        same_kind(k, n->out[j], n->in[j]);
    }
}

static void check_call(checking *k, const node *n, const region *r) {
    const region *inside[3] = {n->call->body, n->call->vjp, n->call->jvp};
    for (int i = 0; i < 3; i++) {
        bool own = inside[i] != NULL && inside[i]->holder == n; /* a call of a rule shares the rule's region */
        if (own) check_inside(k, n, inside[i], r);
    }
    if (n->call->body != NULL) ck_assert_int_eq(n->call->body->result_count, n->m);
}

static void check_op(const checking *k, const node *n) {
    op_type in[ARITY_MANY], out;
    op_fault fault;
    for (int i = 0; i < n->n; i++) in[i] = *graph_type(k->g, n->in[i]);
    ck_assert_msg(op_result_type((op_id)n->op, n->attrs, in, n->n, k->g->algebra, &out, &fault), "%s: %s: %s", k->what,
                  op_table[n->op].name, fault.expects);
    const op_type *t = graph_type(k->g, n->out[0]);
    ck_assert_msg(t->dtype == out.dtype && t->rank == out.rank, "%s: %s has another type", k->what,
                  op_table[n->op].name);
    for (int i = 0; i < n->n && i < (int)COUNT_OF(n->attrs->ones); i++) {
        uint8_t class = op_table[n->op].class;
        if (i == 1 && (class == CLASS_RESHAPE || class == CLASS_BROADCAST)) continue;
        ck_assert_int_eq(n->attrs->ones[i], graph_ones(&in[i]));
    }
}

static void check_node(checking *k, node *n, const region *r) {
    k->at = n;
    node_each_use(k->g, n, use, k);
    for (int i = 0; k->reads && i < n->read_count; i++) {
        use(k, n->reads[i]);
        ck_assert(graph_floating(k->g, n->reads[i]) || graph_at(k->g, n->reads[i])->tape != NULL);
    }
    if (n->kind == NODE_IF) check_if(k, n, r);
    if (n->kind == NODE_WHILE) check_while(k, n, r);
    if (n->kind == NODE_CALL) check_call(k, n, r);
    if (n->kind == NODE_OP) check_op(k, n);
    k->at = n;
    for (int i = 0; i < n->m; i++) define(k, r, n, n->out[i]);
}

/* Variables of one node or of the parameters may be each other's witnesses. */
static void check_region(checking *k, const region *r) {
    for (int i = 0; i < r->param_count; i++) k->defined[r->params[i]] = true;
    for (int i = 0; i < r->param_count; i++) define(k, r, NULL, r->params[i]);
    for (int i = 0; i < r->count; i++) check_node(k, r->nodes[i], r);
    k->at = NULL;
    for (int i = 0; i < r->result_count; i++) use(k, r->results[i]);
}

void graph_check_valid(graph *g, bool reads, const char *what) {
    checking k = {.g = g, .what = what, .reads = reads};
    k.defined = calloc((size_t)g->count + 1, sizeof(bool));
    k.ever = calloc((size_t)g->count + 1, sizeof(bool));
    ck_assert(k.defined != NULL && k.ever != NULL);
    check_region(&k, g->top);
    free(k.defined);
    free(k.ever);
}

/* ---- running ---- */

typedef struct running {
    graph *g;
    value *now;                 /* by variable */
    bool foreign;
} running;

static void put(running *x, var v, value given) {
    value_release(x->g->c, x->now[v]);
    x->now[v] = given;
}

static int64_t size_of(running *x, int64_t dim) {
    int64_t symbols[32], sizes[32];
    const dim_algebra *a = x->g->algebra;
    int count = dim < 0 ? a->symbols(a->self, dim, symbols, 32) : 0;
    for (int i = 0; i < count; i++) {
        const witness *w = graph_witness_of(x->g, symbols[i]);
        const value *v = &x->now[w->v];
        sizes[i] = w->axis < 0 ? value_as_int(v) : value_dims(v)[w->axis];
    }
    int64_t size = a->substitute(a->self, dim, count, symbols, sizes);
    return size >= 0 ? size : -a->sub(a->self, 0, size);
}

/* How many entries lie between the bounds of a slice, or what is added to one has. */
static void count_entries(running *x, const node *n, op_attrs *attrs) {
    const value *y = &x->now[n->in[n->n - 1]];
    int rank = value_rank(&x->now[n->in[0]]);
    for (int i = 0, axis = 0; i < rank; i++) {
        bool drops = ((attrs->drop >> i) & 1) != 0;
        if (n->op == OP_slice_add) {
            attrs->dims[i] = drops ? 1 : value_dims(y)[axis++];
        } else if (!drops) {
            int64_t lo = attrs->lo[i], hi = size_of(x, n->hi[i]), by = attrs->step[i];
            int64_t length = by < 0 ? lo - hi : hi - lo, stride = by < 0 ? -by : by;
            attrs->dims[i] = length <= 0 ? 0 : (length - 1) / stride + 1;
        }
        if (attrs->dims[i] == 0) attrs->lo[i] = 0;
    }
}

static bool run_op(running *x, const node *n) {
    value in[ARITY_MANY], out;
    op_attrs attrs = *n->attrs;
    bool counts = n->op == OP_slice_add || n->hi != NULL;
    for (int i = 0; i < MAX_RANK; i++) {
        if (!counts) attrs.dims[i] = size_of(x, attrs.dims[i]);
        if (n->op == OP_slice || n->op == OP_slice_add) attrs.lo[i] = size_of(x, attrs.lo[i]);
    }
    if (counts) count_entries(x, n, &attrs);
    for (int i = 0; i < n->n; i++) in[i] = x->now[n->in[i]];
    op_call call = {.op = (op_id)n->op, .n = (uint8_t)n->n, .attrs = &attrs, .in = in, .where = n->where};
    if (!door_perform(x->g->c, &call, &out)) return false;
    put(x, n->out[0], out);
    return true;
}

static bool run_region(running *x, const region *r);

/* Moves a region's results elsewhere, all at once. */
static void hand_over(running *x, const region *r, const var *to) {
    value *kept = malloc(sizeof *kept * (size_t)(r->result_count + 1));
    ck_assert_ptr_nonnull(kept);
    for (int i = 0; i < r->result_count; i++) kept[i] = value_retain(x->now[r->results[i]]);
    for (int i = 0; i < r->result_count; i++) put(x, to[i], kept[i]);
    free(kept);
}

static bool run_if(running *x, const node *n) {
    const region *r = n->inside[x->now[n->in[0]].as.b ? 0 : 1];
    if (!run_region(x, r)) return false;
    hand_over(x, r, n->out);
    return true;
}

static bool run_while(running *x, const node *n) {
    const region *again = n->inside[0], *body = n->inside[1];
    for (int i = 0; i < n->n; i++) put(x, body->params[i], value_retain(x->now[n->in[i]]));
    for (;;) {
        for (int i = 0; i < n->n; i++) put(x, again->params[i], value_retain(x->now[body->params[i]]));
        if (!context_may_go_on(x->g->c, n->where) || !run_region(x, again)) return false;
        if (!x->now[again->results[0]].as.b) break;
        if (!run_region(x, body)) return false;
        hand_over(x, body, body->params);
    }
    for (int i = 0; i < n->n; i++) put(x, n->out[i], value_retain(x->now[body->params[i]]));
    return true;
}

static bool run_call(running *x, const node *n) {
    const region *r = n->call->body;
    if (r == NULL) {
        x->foreign = true;
        return false;
    }
    for (int i = 0; i < n->n; i++) put(x, r->params[i], value_retain(x->now[n->in[i]]));
    if (!run_region(x, r)) return false;
    hand_over(x, r, n->out);
    return true;
}

/* What is pushed together is popped together. */
static bool run_push(running *x, const node *n) {
    tuple *entry = tuple_new(x->g->c, n->n - 1);
    value out;
    if (entry == NULL) return false;
    for (int i = 1; i < n->n; i++) entry->item[i - 1] = value_retain(x->now[n->in[i]]);
    value pushed = {.kind = VALUE_TUPLE, .as = {.tuple = entry}};
    if (!stack_push(x->g->c, value_retain(x->now[n->in[0]]), pushed, false, 0, &out)) return false;
    put(x, n->out[0], out);
    return true;
}

static bool run_pop(running *x, const node *n) {
    value rest, entry;
    if (stack_count(&x->now[n->in[0]]) == 0) return error_set(&x->g->c->err, ERROR_K0515, n->where, "empty tape");
    stack_pop(x->g->c, value_retain(x->now[n->in[0]]), &rest, &entry);
    put(x, n->out[0], rest);
    for (int i = 1; i < n->m; i++) put(x, n->out[i], value_retain(entry.as.tuple->item[i - 1]));
    value_release(x->g->c, entry);
    return true;
}

static bool run_node(running *x, const node *n) {
    switch ((node_kind)n->kind) {
    case NODE_OP: return run_op(x, n);
    case NODE_NUMBER:
    case NODE_LITERAL: put(x, n->out[0], value_retain(n->constant)); return true;
    case NODE_SIZE: {
        int64_t size = size_of(x, n->attrs->dims[0]);
        dtype t = (dtype)n->attrs->dtype;
        put(x, n->out[0], t == DT_I64 ? value_i64(size) : value_number(t, (double)size));
        return true;
    }
    case NODE_STOP: put(x, n->out[0], value_retain(x->now[n->in[0]])); return true;
    case NODE_IF: return run_if(x, n);
    case NODE_WHILE: return run_while(x, n);
    case NODE_CALL: return run_call(x, n);
    case NODE_TAPE: put(x, n->out[0], stack_empty()); return true;
    case NODE_PUSH: return run_push(x, n);
    case NODE_POP: return run_pop(x, n);
    case NODE_EMPTY: put(x, n->out[0], value_bool(stack_count(&x->now[n->in[0]]) == 0)); return true;
    case NODE_DROP:
    case NODE_PRINT: return true;
    case NODE_ASSERT:
        return x->now[n->in[0]].as.b || error_set(&x->g->c->err, ERROR_K0505, n->where, "assertion failed");
    default: x->foreign = true; return false;
    }
}

static bool run_region(running *x, const region *r) {
    for (int i = 0; i < r->count; i++) {
        if (!run_node(x, r->nodes[i])) return false;
    }
    return true;
}

graph_outcome graph_check_run(graph *g, const value *args, value *results) {
    running x = {.g = g, .now = calloc((size_t)g->count + 1, sizeof(value))};
    ck_assert_ptr_nonnull(x.now);
    for (int i = 0; i < g->top->param_count; i++) put(&x, g->top->params[i], value_retain(args[i]));
    bool ok = run_region(&x, g->top);
    for (int i = 0; ok && i < g->top->result_count; i++) results[i] = value_retain(x.now[g->top->results[i]]);
    for (int i = 0; i < g->count; i++) value_release(g->c, x.now[i]);
    free(x.now);
    return ok ? GRAPH_DONE : x.foreign ? GRAPH_FOREIGN : GRAPH_FAILED;
}
