/* Building graphs: variables, nodes, regions, and what their dims are in the program that is written. */
#include "ad/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ad/builder.h"

void graph_init(graph *g, arena *a, const dim_algebra *algebra) {
    *g = (graph){.a = a, .c = a->c, .algebra = algebra, .backward_from = VAR_NONE};
    g->top = region_new(g, NULL, NULL);
}

/* ---- memory ---- */

void *graph_take(graph *g, size_t bytes) {
    void *block = g->failed ? NULL : arena_take(g->a, bytes > 0 ? bytes : 1);
    if (block == NULL) g->failed = true;
    return block;
}

void *graph_grow(graph *g, void *list, int count, int *room, size_t element) {
    if (count < *room) return list;
    int wider = *room > 0 ? 2 * *room : 8;
    void *grown = graph_take(g, (size_t)wider * element);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, list, (size_t)count * element);
    *room = wider;
    return grown;
}

void graph_refuse(graph *g, error_code code, span at, const char *help, const char *format, ...) {
    if (graph_bad(g)) return;
    char words[ERROR_TEXT];
    va_list rest;
    va_start(rest, format);
    vsnprintf(words, sizeof words, format, rest);
    va_end(rest);
    g->refusal = arena_text(g->a, words, strlen(words));
    if (g->refusal == NULL) {
        g->failed = true;
        return;
    }
    g->refused = code;
    g->refused_at = at;
    g->refusal_help = help;
}

/* ---- variables ---- */

static var add_var(graph *g, graph_var v) {
    graph_var *vars = g->failed ? NULL : graph_grow(g, g->vars, g->count, &g->room, sizeof *vars);
    if (vars == NULL) return VAR_NONE;
    g->vars = vars;
    vars[g->count] = v;
    return g->count++;
}

var graph_var_new(graph *g, const op_type *type, const char *name) {
    return add_var(g, (graph_var){.type = *type, .name = name, .derivative_of = VAR_NONE});
}

var graph_tape_var(graph *g, tape_element *element, const char *name) {
    return add_var(g, (graph_var){.tape = element, .name = name, .derivative_of = VAR_NONE});
}

var graph_var_like(graph *g, var v) {
    graph_var like = *graph_at(g, v);
    var made = like.tape != NULL ? graph_tape_var(g, like.tape, like.name) : graph_var_new(g, &like.type, like.name);
    if (made == VAR_NONE) return made;
    graph_at(g, made)->derivative_of = like.derivative_of;
    graph_at(g, made)->prefix = like.prefix;
    return made;
}

void graph_name_derivative(graph *g, var v, var of, const char *prefix) {
    graph_var *named = v == VAR_NONE ? NULL : graph_at(g, v);
    if (named == NULL || named->name != NULL || named->derivative_of != VAR_NONE) return;
    named->derivative_of = of;
    named->prefix = prefix;
}

/* ---- tapes ---- */

static tape_element *settled(tape_element *e) {
    while (e != NULL && e->same != NULL) e = e->same;
    return e;
}

void graph_unify_tapes(tape_element *a, tape_element *b) {
    a = settled(a);
    b = settled(b);
    if (a == b || a == NULL || b == NULL) return;
    b->same = a;
    for (int i = 0; i < a->count && i < b->count; i++) graph_unify_tapes(a->leaf[i].tape, b->leaf[i].tape);
}

void graph_settle_tapes(graph *g) {
    for (int i = 0; i < g->count; i++) {
        tape_element *e = g->vars[i].tape = settled(g->vars[i].tape);
        for (int k = 0; e != NULL && k < e->count; k++) e->leaf[k].tape = settled(e->leaf[k].tape);
    }
}

/* ---- dims ---- */

const witness *graph_witness_of(const graph *g, int64_t symbol) {
    for (int i = 0; i < g->witness_count; i++) {
        if (g->witnesses[i].symbol == symbol) return &g->witnesses[i];
    }
    return NULL;
}

void graph_witness(graph *g, int64_t symbol, const char *name, var v, int axis) {
    if (graph_witness_of(g, symbol) != NULL) return;
    witness *list = graph_grow(g, g->witnesses, g->witness_count, &g->witness_room, sizeof *list);
    if (list == NULL) return;
    g->witnesses = list;
    list[g->witness_count++] = (witness){.symbol = symbol, .name = name, .v = v, .axis = axis};
}

int64_t graph_size_of(graph *g, var v) {
    for (int i = 0; i < g->witness_count; i++) {
        if (g->witnesses[i].v == v && g->witnesses[i].axis < 0) return g->witnesses[i].symbol;
    }
    int64_t symbol = g->algebra->unknown(g->algebra->self);
    graph_witness(g, symbol, NULL, v, -1);
    return symbol;
}

void graph_note_dims(graph *g, var v) {
    if (v == VAR_NONE || graph_at(g, v)->tape != NULL) return;
    op_type type = *graph_type(g, v);
    for (int axis = 0; axis < type.rank && !g->failed; axis++) {
        int64_t symbol;
        if (type.dims[axis] >= 0) continue;
        if (g->algebra->symbols(g->algebra->self, type.dims[axis], &symbol, 1) != 1) continue;
        if (symbol == type.dims[axis]) graph_witness(g, symbol, NULL, v, axis);
    }
}

uint8_t graph_ones(const op_type *type) {
    unsigned ones = 0;
    for (int i = 0; i < type->rank && i < MAX_RANK; i++) ones |= (unsigned)(type->dims[i] == 1) << i;
    return (uint8_t)ones;
}

/* ---- regions and nodes ---- */

region *region_new(graph *g, region *outer, node *holder) {
    region *r = graph_take(g, sizeof *r);
    if (r == NULL) return NULL;
    *r = (region){.outer = outer, .holder = holder};
    return r;
}

void region_results(graph *g, region *r, int count, const var *results) {
    if (g->failed || r == NULL) return;
    r->results = graph_take(g, (size_t)count * sizeof *results);
    if (r->results == NULL) return;
    if (count > 0) memcpy(r->results, results, (size_t)count * sizeof *results);
    r->result_count = count;
}

/* A list one longer. */
static var *longer(graph *g, const var *list, int count, var last) {
    var *grown = graph_take(g, (size_t)(count + 1) * sizeof *grown);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, list, (size_t)count * sizeof *grown);
    grown[count] = last;
    return grown;
}

var region_param(graph *g, region *r, var v) {
    if (g->failed || r == NULL || v == VAR_NONE) return VAR_NONE;
    var *params = longer(g, r->params, r->param_count, v);
    if (params == NULL) return VAR_NONE;
    r->params = params;
    r->param_count++;
    graph_at(g, v)->home = r;
    graph_at(g, v)->maker = NULL;
    return v;
}

void region_add_result(graph *g, region *r, var v) {
    var *results = longer(g, r->results, r->result_count, v);
    if (results == NULL) return;
    r->results = results;
    r->result_count++;
}

int region_place(const region *r, const node *n) {
    int at = 0;
    while (at < r->count && r->nodes[at] != n) at++;
    return at;
}

void region_move_last(region *r, int to) {
    node *last = r->nodes[r->count - 1];
    memmove(&r->nodes[to + 1], &r->nodes[to], (size_t)(r->count - 1 - to) * sizeof(node *));
    r->nodes[to] = last;
}

void node_add_in(graph *g, node *n, var v) {
    var *in = longer(g, n->in, n->n, v);
    if (in == NULL) return;
    n->in = in;
    n->n++;
}

void node_add_out(graph *g, region *r, node *n, var v) {
    var *out = longer(g, n->out, n->m, VAR_NONE);
    if (out == NULL) return;
    n->out = out;
    node_out(g, r, n, n->m++, v);
}

void node_add_read(graph *g, node *n, var v) {
    var *reads = longer(g, n->reads, n->read_count, v);
    if (reads == NULL) return;
    n->reads = reads;
    n->read_count++;
}

void graph_add_carry(graph *g, node *n, var init, var in_condition, var in_body, var next, var out) {
    region *body = n->inside[1];
    (void)region_param(g, n->inside[0], in_condition);
    if (!g->failed && graph_at(g, in_body)->home == NULL) (void)region_param(g, body, in_body);
    node_add_in(g, n, init);
    region_add_result(g, body, next);
    node_add_out(g, body->outer, n, out);
}

void region_append(graph *g, region *r, node *n) {
    node **nodes = graph_grow(g, r->nodes, r->count, &r->room, sizeof(node *));
    if (nodes == NULL) return;
    r->nodes = nodes;
    nodes[r->count++] = n;
}

node *node_new(graph *g, region *r, node_kind kind, int n, const var *in, int m) {
    if (g->failed || r == NULL) return NULL;
    node *made = graph_take(g, sizeof *made);
    var *vars = graph_take(g, (size_t)(n + m) * sizeof *vars);
    if (made == NULL || vars == NULL) return NULL;
    region_append(g, r, made);
    if (g->failed) return NULL;
    *made = (node){.kind = (uint8_t)kind, .n = n, .m = m, .in = vars, .out = vars + n};
    if (n > 0) memcpy(vars, in, (size_t)n * sizeof *vars);
    for (int i = 0; i < m; i++) made->out[i] = VAR_NONE;
    return made;
}

void node_out(graph *g, region *r, node *n, int i, var v) {
    if (g->failed || n == NULL || v == VAR_NONE) return;
    n->out[i] = v;
    graph_at(g, v)->maker = n;
    graph_at(g, v)->home = r;
}

static op_attrs *copy_attrs(graph *g, const op_attrs *attrs) {
    op_attrs *own = graph_take(g, sizeof *own);
    if (own == NULL) return NULL;
    *own = attrs != NULL ? *attrs : (op_attrs){0};
    own->stays = false;
    return own;
}

enum { OPERANDS_MOST = ARITY_MANY };

/* The result's type, and the operands' literal ones put into attrs. */
static bool infer(graph *g, op_id op, op_attrs *attrs, int n, const var *in, span where, op_type *out) {
    op_type types[OPERANDS_MOST];
    op_fault fault;
    for (int k = 0; k < n; k++) types[k] = *graph_type(g, in[k]);
    for (int k = 0; k < n && k < (int)COUNT_OF(attrs->ones); k++) attrs->ones[k] = graph_ones(&types[k]);
    if (op_result_type(op, attrs, types, n, g->algebra, out, &fault)) return true;
    char why[ERROR_TEXT];
    snprintf(why, sizeof why, "%s", fault.expects);
    graph_refuse(g, ERROR_K0703, where, NULL, "`%s` cannot be written here: its operands do not fit (%s)",
                 op_table[op].name, why);
    return false;
}

var graph_op(graph *g, region *r, op_id op, const op_attrs *attrs, int n, const var *in, span where) {
    if (graph_bad(g) || r == NULL) return VAR_NONE;
    for (int k = 0; k < n; k++) {
        if (in[k] < 0) return VAR_NONE;
    }
    op_attrs *own = copy_attrs(g, attrs);
    op_type type;
    if (own == NULL || n > OPERANDS_MOST || !infer(g, op, own, n, in, where, &type)) return VAR_NONE;
    node *made = node_new(g, r, NODE_OP, n, in, 1);
    var out = graph_var_new(g, &type, NULL);
    if (made == NULL) return VAR_NONE;
    made->op = (uint16_t)op;
    made->attrs = own;
    made->where = where;
    node_out(g, r, made, 0, out);
    graph_note_dims(g, out);
    return out;
}

var graph_number(graph *g, region *r, value number) {
    op_type type = {.dtype = number.dtype};
    node *made = node_new(g, r, NODE_NUMBER, 0, NULL, 1);
    var out = graph_var_new(g, &type, NULL);
    if (made == NULL) return VAR_NONE;
    made->constant = number;
    node_out(g, r, made, 0, out);
    return out;
}

var graph_size(graph *g, region *r, int64_t dim, dtype t) {
    op_type type = {.dtype = (uint8_t)t};
    op_attrs attrs = {.dtype = (uint8_t)t, .rank = 1, .dims = {dim}};
    node *made = node_new(g, r, NODE_SIZE, 0, NULL, 1);
    var out = graph_var_new(g, &type, NULL);
    if (made == NULL || (made->attrs = copy_attrs(g, &attrs)) == NULL) return VAR_NONE;
    node_out(g, r, made, 0, out);
    return out;
}

var graph_stop(graph *g, region *r, var v, span where) {
    if (graph_bad(g) || v == VAR_NONE) return VAR_NONE;
    op_type type = *graph_type(g, v);
    node *made = node_new(g, r, NODE_STOP, 1, &v, 1);
    var out = graph_var_new(g, &type, NULL);
    if (made == NULL) return VAR_NONE;
    made->where = where;
    node_out(g, r, made, 0, out);
    return out;
}

/* ---- what a node reads ---- */

static bool lo_is_dim(uint8_t class) { return class == CLASS_SLICE || class == CLASS_SLICE_ADD; }

enum { SYMBOLS_MOST = 32 };

static void each_witness(graph *g, int64_t dim, void (*visit)(void *self, const witness *w), void *self) {
    int64_t symbols[SYMBOLS_MOST];
    int count = dim < 0 ? g->algebra->symbols(g->algebra->self, dim, symbols, SYMBOLS_MOST) : 0;
    for (int i = 0; i < count; i++) {
        const witness *w = graph_witness_of(g, symbols[i]);
        if (w != NULL && w->name == NULL) visit(self, w);
    }
}

void node_each_witness(graph *g, const node *n, void (*visit)(void *self, const witness *w), void *self) {
    if (n->attrs == NULL) return;
    int dims = n->kind == NODE_SIZE ? 1 : MAX_RANK;
    for (int i = 0; i < dims; i++) {
        bool bounded = n->hi != NULL; /* how many entries the slice takes, its bounds say */
        if (!bounded) each_witness(g, n->attrs->dims[i], visit, self);
        if (n->kind == NODE_OP && lo_is_dim(op_table[n->op].class)) each_witness(g, n->attrs->lo[i], visit, self);
        if (n->hi != NULL) each_witness(g, n->hi[i], visit, self);
    }
}

typedef struct use_visit {
    void (*visit)(void *self, var v);
    void *self;
} use_visit;

static void visit_witness(void *self, const witness *w) {
    const use_visit *u = self;
    u->visit(u->self, w->v);
}

void node_each_use(graph *g, const node *n, void (*visit)(void *self, var v), void *self) {
    for (int i = 0; i < n->n; i++) visit(self, n->in[i]);
    use_visit u = {visit, self};
    node_each_witness(g, n, visit_witness, &u);
}

void node_substitute(graph *g, node *n, int count, const int64_t *from, const int64_t *to) {
    if (n->attrs == NULL || count == 0) return;
    const dim_algebra *a = g->algebra;
    int64_t *hi = n->hi == NULL ? NULL : graph_take(g, MAX_RANK * sizeof *hi);
    int dims = n->kind == NODE_SIZE ? 1 : MAX_RANK;
    bool lo = n->kind == NODE_OP && lo_is_dim(op_table[n->op].class);
    for (int i = 0; i < dims; i++) {
        n->attrs->dims[i] = a->substitute(a->self, n->attrs->dims[i], count, from, to);
        if (lo) n->attrs->lo[i] = a->substitute(a->self, n->attrs->lo[i], count, from, to);
        if (hi != NULL) hi[i] = a->substitute(a->self, n->hi[i], count, from, to);
    }
    if (hi != NULL) n->hi = hi;
}

/* ---- what branches and loops read ---- */

/* True when v is defined inside of n. */
static bool defined_inside(const graph *g, const node *n, var v) {
    for (const region *r = graph_at(g, v)->home; r != NULL; r = r->outer) {
        if (r->holder == n) return true;
    }
    return false;
}

typedef struct reading {
    graph *g;
    node *n;
} reading;

static void note_read(void *self, var v) {
    reading *a = self;
    if (v < 0 || defined_inside(a->g, a->n, v)) return;
    if (graph_at(a->g, v)->tape == NULL && !graph_floating(a->g, v)) return;
    for (int i = 0; i < a->n->read_count; i++) {
        if (a->n->reads[i] == v) return;
    }
    node_add_read(a->g, a->n, v);
}

static void note_region_reads(reading *a, const region *r) {
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        for (int k = 0; k < n->n; k++) note_read(a, n->in[k]);
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL && !(n->kind == NODE_WHILE && k == 0)) note_region_reads(a, n->inside[k]);
        }
    }
    for (int i = 0; i < r->result_count; i++) note_read(a, r->results[i]);
}

void graph_note_reads(graph *g, const region *r, int from) {
    for (int i = from; i < r->count && !g->failed; i++) {
        node *n = r->nodes[i];
        if (n->kind != NODE_IF && n->kind != NODE_WHILE) continue;
        for (int k = 0; k < 2; k++) graph_note_reads(g, n->inside[k], 0);
        reading a = {g, n};
        bool whole = n->reads == NULL;
        if (whole && n->kind == NODE_IF) note_region_reads(&a, n->inside[0]);
        if (whole) note_region_reads(&a, n->inside[1]);
    }
}

/* ---- nodes of a kind ---- */

static int count_kind(const region *r, node_kind kind) {
    int count = 0;
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        count += n->kind == kind;
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL) count += count_kind(n->inside[k], kind);
        }
    }
    return count;
}

static int list_kind(const region *r, node_kind kind, node **out, int count) {
    for (int i = 0; i < r->count; i++) {
        node *n = r->nodes[i];
        if (n->kind == kind) out[count++] = n;
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL) count = list_kind(n->inside[k], kind, out, count);
        }
    }
    return count;
}

node **graph_nodes_of(graph *g, node_kind kind, int *count) {
    node **list = GRAPH_ARRAY(g, node *, count_kind(g->top, kind));
    *count = list != NULL ? list_kind(g->top, kind, list, 0) : 0;
    return list;
}
