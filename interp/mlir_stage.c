/* What is made of ops only when it is staged (stage.h): derivatives, and builtins made of several ops. The
 * expression is staged where it stands, the values that it reads being the graph's parameters; its graph is
 * emitted in its place. So the emitter knows no calculus. */
#include "ad/gradient.h"
#include "interp/mlir_emit.h"
#include "interp/stage_internal.h"

typedef struct site {
    emitter *e;
    dim_algebra algebra;
    graph g;
    stager s;
    int64_t *symbol; /* by the emitter's dims: the checker's; 0 while there is none */
    int count, room;
    mlir_value *param; /* what the graph's parameters are */
} site;

/* ---- sizes ---- */

static int64_t symbol_of(site *t, int64_t dim) {
    if (dim >= 0 || t->symbol == NULL) return dim >= 0 ? dim : 0;
    int64_t *known = &t->symbol[-dim - 1];
    if (*known == 0) *known = dims_symbol(t->e->e->program.dims, DIM_UNKNOWN, NULL, (span){0, 0});
    return *known;
}

static var add_param(site *t, const op_type *as, const mlir_value *v) {
    if (t->count == t->room) {
        int wider = t->room == 0 ? 32 : 2 * t->room;
        mlir_value *grown = MLIR_ARRAY(t->e, mlir_value, wider);
        if (grown == NULL) return VAR_NONE;
        for (int i = 0; i < t->count; i++) grown[i] = t->param[i];
        t->param = grown;
        t->room = wider;
    }
    var x = region_param(&t->g, t->g.top, graph_var_new(&t->g, as, NULL));
    if (x != VAR_NONE) t->param[t->count++] = *v;
    return x;
}

/* A size that no tensor shows is a parameter of its own. */
static void show_sizes(site *t, int count) {
    for (int i = 0; i < count; i++) {
        if (t->symbol[i] == 0 || graph_witness_of(&t->g, t->symbol[i]) != NULL) continue;
        mlir_value v = mlir_number_value(t->e, DT_I64, NULL);
        v.dim = -(int64_t)i - 1;
        var x = add_param(t, &v.type, &v);
        if (x != VAR_NONE) graph_witness(&t->g, t->symbol[i], NULL, x, -1);
    }
}

/* ---- values ---- */

static staged staged_of(site *t, const mlir_value *v);

static staged *staged_items(site *t, const mlir_value *v) {
    staged *items = STAGE_ARRAY(&t->s, staged, v->count);
    for (int i = 0; items != NULL && i < v->count; i++) items[i] = staged_of(t, &v->items[i]);
    return items;
}

static staged staged_tensor(site *t, const mlir_value *v) {
    op_type as = v->type;
    for (int i = 0; i < as.rank; i++) as.dims[i] = symbol_of(t, as.dims[i]);
    var x = add_param(t, &as, v);
    if (x != VAR_NONE && as.rank > 0) graph_note_dims(&t->g, x);
    return staged_var(x);
}

static staged staged_of(site *t, const mlir_value *v) {
    staged out = staged_none();
    switch (v->kind) {
    case MLIR_UNIT: return staged_unit();
    case MLIR_NUMBER:
        if (v->dim != MLIR_NO_DIM && v->type.dtype == DT_I64) return staged_size(symbol_of(t, v->dim));
        return staged_tensor(t, v);
    case MLIR_TENSOR: return staged_tensor(t, v);
    case MLIR_TUPLE: return stage_tuple(&t->s, v->count, staged_items(t, v));
    case MLIR_FUNCTION:
        out.kind = STAGED_FUNCTION;
        out.function = v->function;
        out.count = v->count;
        out.items = staged_items(t, v);
        return out;
    case MLIR_TAPE:
    case MLIR_NONE: break;
    }
    return out;
}

/* The value of the expression: its form as staged, its leaves the graph's results. */
static mlir_value value_of(site *t, const staged *x, const mlir_value *of, int *at) {
    mlir_value v = {.kind = MLIR_UNIT};
    if (x->kind == STAGED_VAR || x->kind == STAGED_SIZE) return of[t->g.top->results[(*at)++]];
    if (x->kind != STAGED_TUPLE) return v;
    v = (mlir_value){.kind = MLIR_TUPLE, .count = x->count, .items = MLIR_ARRAY(t->e, mlir_value, x->count)};
    for (int i = 0; v.items != NULL && i < x->count; i++) v.items[i] = value_of(t, &x->items[i], of, at);
    return v;
}

/* ---- staging ---- */

static bool open_site(site *t, emitter *e) {
    engine *all = e->e;
    *t = (site){.e = e, .algebra = dims_algebra(all->program.dims)};
    if (e->captures == NULL) e->captures = captures_find(&all->program);
    if (e->captures == NULL) return false;
    graph_init(&t->g, e->a, &t->algebra);
    t->s = (stager){.g = &t->g,
                    .p = &all->program,
                    .code = e->code,
                    .captures = e->captures,
                    .r = t->g.top,
                    .name = "this"};
    t->symbol = MLIR_ARRAY(e, int64_t, e->f.dim_count);
    return t->symbol != NULL && t->g.top != NULL;
}

static void refuse(site *t) {
    graph *g = &t->g;
    t->e->failed = true;
    if (g->refused == ERROR_NONE) return;
    error_set(&t->e->c->err, ERROR_K0701, g->refused_at, "this cannot be lowered to MLIR: %s", g->refusal);
    if (g->refusal_help != NULL) error_help(&t->e->c->err, "%s", g->refusal_help);
}

/* The expression as a graph whose parameters are the values of the frame. */
static staged stage_here(site *t, const code *n) {
    emitter *e = t->e;
    int sizes = e->f.dim_count;
    var_list leaves = {0};
    staged *frame = STAGE_ARRAY(&t->s, staged, e->f.slots);
    for (int i = 0; frame != NULL && i < e->f.slots; i++) frame[i] = staged_of(t, &e->f.frame[i]);
    if (e->failed || graph_bad(&t->g)) return staged_none();
    show_sizes(t, sizes);
    staged out = stage(&t->s, frame, n);
    stage_leaves(&t->s, &out, n->where, &leaves);
    if (!graph_bad(&t->g)) region_results(&t->g, t->g.top, leaves.count, leaves.item);
    if (!graph_bad(&t->g)) graph_simplify(&t->g);
    return out;
}

mlir_value mlir_staged(emitter *e, const code *n) {
    mlir_value none = {.kind = MLIR_NONE};
    site t;
    int at = 0;
    mlir_fill_frame(e);
    if (e->failed || !open_site(&t, e)) return e->failed = true, none;
    staged out = stage_here(&t, n);
    if (graph_bad(&t.g) || e->failed) {
        refuse(&t);
        return none;
    }
    mlir_value *of = MLIR_ARRAY(e, mlir_value, t.g.count);
    if (of == NULL) return none;
    for (int i = 0; i < t.count; i++) of[t.g.top->params[i]] = t.param[i];
    if (!mlir_graph(e, &t.g, of)) return none;
    e->where = n->where;
    return value_of(&t, &out, of, &at);
}
