/* Graphs (ad/graph.h) as MLIR: node by node what mlir_code.c does with code. */
#include "ad/graph.h"

#include <string.h>

#include "interp/mlir_emit.h"

typedef struct emission {
    emitter *e;
    graph *g;
    mlir_value *of; /* by variable */
} emission;

static void emit_region(emission *m, const region *r);

/* ---- sizes ---- */

static int64_t dim_of_symbol(emission *m, int64_t id) {
    const witness *w = graph_witness_of(m->g, id);
    if (w == NULL) {
        mlir_refuse(m->e, "a size that nothing in the program has cannot be lowered to MLIR");
        return 0;
    }
    const mlir_value *v = &m->of[w->v];
    return w->axis < 0 ? mlir_dim_of(m->e, v) : v->type.dims[w->axis];
}

/* A sum of products of symbols; what is taken away comes last, so that no part is below zero. */
static int64_t dim_of(emission *m, int64_t dim) {
    emitter *e = m->e;
    const dims *d = e->e->program.dims;
    int64_t constant, symbols[DIM_DEGREE_MOST], factor, part[2] = {0, 0};
    if (dim >= 0) return dim;
    if (dims_constant(d, dim, &constant)) return constant;
    for (int i = 0; i < dims_term_count(d, dim) && !e->failed; i++) {
        int count = dims_term(d, dim, i, &factor, symbols);
        int64_t product = factor < 0 ? -factor : factor;
        for (int k = 0; k < count; k++) product = mlir_dim_mul(e, product, dim_of_symbol(m, symbols[k]));
        part[factor < 0] = mlir_dim_add(e, part[factor < 0], product);
    }
    return mlir_dim_sub(e, part[0], part[1]);
}

static op_attrs attrs_of(emission *m, const node *n) {
    op_attrs attrs = *n->attrs;
    bool slices = n->op == OP_slice || n->op == OP_slice_add;
    for (int i = 0; i < MAX_RANK; i++) {
        attrs.dims[i] = dim_of(m, attrs.dims[i]);
        if (slices) attrs.lo[i] = dim_of(m, attrs.lo[i]);
    }
    return attrs;
}

/* ---- names ---- */

static const char *name_of(emission *m, var v) {
    const graph_var *x = graph_at(m->g, v);
    if (x->name != NULL) return x->name;
    if (x->derivative_of == VAR_NONE || x->prefix == NULL) return NULL;
    const char *base = graph_at(m->g, x->derivative_of)->name;
    return base != NULL ? mlir_string(m->e, "%s%s", x->prefix, base) : NULL;
}

static mlir_hint hint_of(emission *m, var v) {
    return (mlir_hint){.name = name_of(m, v)};
}

/* ---- ops ---- */

static void emit_op(emission *m, const node *n) {
    op_attrs attrs = attrs_of(m, n);
    mlir_value *in = MLIR_ARRAY(m->e, mlir_value, n->n);
    if (in == NULL) return;
    for (int i = 0; i < n->n; i++) in[i] = m->of[n->in[i]];
    for (int i = 0; (n->op == OP_slice || n->op == OP_slice_add) && i < in[0].type.rank; i++)
        mlir_assert_slice(m->e, i, in[0].type.dims[i], &attrs);
    m->of[n->out[0]] = mlir_op(m->e, (op_id)n->op, &attrs, n->n, in, hint_of(m, n->out[0]));
}

static void emit_size(emission *m, const node *n) {
    mlir_value v = mlir_number_value(m->e, (dtype)n->attrs->dtype, NULL);
    v.dim = dim_of(m, n->attrs->dims[0]);
    m->of[n->out[0]] =
        dtype_integer((dtype)n->attrs->dtype) ? v : mlir_dim_number(m->e, v.dim, (dtype)n->attrs->dtype);
}

/* ---- branches and loops ---- */

typedef struct inside {
    emission *m;
    const node *n;
} inside;

/* What a region gives: a tuple, or the one value. */
static mlir_value results_of(emission *m, const region *r, bool always_tuple) {
    mlir_value v = {
        .kind = MLIR_TUPLE, .count = r->result_count, .items = MLIR_ARRAY(m->e, mlir_value, r->result_count)};
    for (int i = 0; v.items != NULL && i < r->result_count; i++) v.items[i] = m->of[r->results[i]];
    return r->result_count == 1 && !always_tuple && v.items != NULL ? v.items[0] : v;
}

static mlir_value branch_of(void *self, int which) {
    inside *x = self;
    emit_region(x->m, x->n->inside[which]);
    return results_of(x->m, x->n->inside[which], true);
}

static mlir_value then_of(emitter *e, void *self, const mlir_value *carried) {
    (void)e, (void)carried;
    return branch_of(self, 0);
}

static mlir_value otherwise_of(emitter *e, void *self, const mlir_value *carried) {
    (void)e, (void)carried;
    return branch_of(self, 1);
}

static void give_results(emission *m, const node *n, const mlir_value *v) {
    for (int i = 0; i < n->m && i < v->count && !m->e->failed; i++)
        if (n->out[i] != VAR_NONE) m->of[n->out[i]] = v->items[i];
}

static void emit_if(emission *m, const node *n) {
    inside x = {m, n};
    mlir_value v = mlir_branches(m->e, &m->of[n->in[0]], then_of, otherwise_of, &x, (mlir_hint){0});
    give_results(m, n, &v);
}

static void take_carries(inside *x, const region *r, const mlir_value *carried) {
    for (int i = 0; i < r->param_count; i++) x->m->of[r->params[i]] = carried[i];
}

static mlir_value condition_of(emitter *e, void *self, const mlir_value *carried) {
    inside *x = self;
    (void)e;
    take_carries(x, x->n->inside[0], carried);
    emit_region(x->m, x->n->inside[0]);
    return results_of(x->m, x->n->inside[0], false);
}

static mlir_value body_of(emitter *e, void *self, const mlir_value *carried) {
    inside *x = self;
    (void)e;
    take_carries(x, x->n->inside[1], carried);
    emit_region(x->m, x->n->inside[1]);
    return results_of(x->m, x->n->inside[1], false);
}

static void emit_while(emission *m, const node *n) {
    inside x = {m, n};
    mlir_value *inits = MLIR_ARRAY(m->e, mlir_value, n->n);
    const char **called = MLIR_ARRAY(m->e, const char *, n->n);
    if (inits == NULL || called == NULL) return;
    for (int i = 0; i < n->n; i++) {
        inits[i] = m->of[n->in[i]];
        called[i] = name_of(m, n->inside[1]->params[i]);
    }
    const mlir_loop loop = {
        .count = n->n, .names = called, .condition = condition_of, .body = body_of, .self = &x};
    mlir_value v = mlir_loop_of(m->e, &loop, inits, (mlir_hint){0});
    give_results(m, n, &v);
}

/* ---- tapes ---- */

/* A tape on a tape is the number that it is. */
static mlir_value as_number(emitter *e, const mlir_value *v) {
    return v->kind == MLIR_TAPE ? mlir_number_value(e, DT_I64, v->name) : *v;
}

static void emit_push(emission *m, const node *n) {
    mlir_value *all = MLIR_ARRAY(m->e, mlir_value, n->n), **leaf = MLIR_ARRAY(m->e, mlir_value *, n->n);
    if (leaf == NULL || all == NULL) return;
    for (int i = 1; i < n->n; i++) {
        all[i] = as_number(m->e, &m->of[n->in[i]]);
        leaf[i - 1] = &all[i];
    }
    m->of[n->out[0]] = mlir_tape_value(mlir_push_leaves(m->e, m->of[n->in[0]].name, leaf, n->n - 1), NULL);
}

/* What a leaf of an entry is, before it is there. */
static mlir_value leaf_of(emitter *e, const tape_leaf *leaf) {
    op_type t = leaf->type;
    if (leaf->tape != NULL) return mlir_number_value(e, DT_I64, NULL);
    if (t.rank == 0) return mlir_number_value(e, (dtype)t.dtype, NULL);
    for (int k = 0; k < t.rank; k++)
        if (t.dims[k] < 0) t.dims[k] = MLIR_NO_DIM;
    return mlir_tensor_value(&t, NULL);
}

static void emit_pop(emission *m, const node *n) {
    const tape_element *entry = graph_at(m->g, n->in[0])->tape;
    mlir_value **leaf = MLIR_ARRAY(m->e, mlir_value *, entry->count);
    mlir_value *all = MLIR_ARRAY(m->e, mlir_value, entry->count);
    if (leaf == NULL || all == NULL) return;
    for (int i = 0; i < entry->count; i++) {
        all[i] = leaf_of(m->e, &entry->leaf[i]);
        leaf[i] = &all[i];
    }
    m->of[n->out[0]] = mlir_tape_value(mlir_pop_leaves(m->e, m->of[n->in[0]].name, leaf, entry->count), NULL);
    for (int i = 0; i < entry->count; i++) {
        if (n->out[i + 1] == VAR_NONE) continue;
        m->of[n->out[i + 1]] = entry->leaf[i].tape != NULL ? mlir_tape_value(all[i].name, NULL) : all[i];
    }
}

/* ---- calls that stay calls ---- */

/* The operands are the leaves of the arguments; such a function captures nothing. */
static void emit_call(emission *m, const node *n) {
    emitter *e = m->e;
    const fn_decl *decl = n->call->decl;
    const code_function *f = decl != NULL ? code_find(e->code, decl) : NULL;
    mlir_value function = {.kind = MLIR_FUNCTION, .function = f}, *args = NULL;
    int at = 0, count;
    if (f != NULL) args = MLIR_ARRAY(e, mlir_value, f->params);
    for (int i = 0; args != NULL && i < f->params; i++) {
        args[i] = mlir_template(e, decl->params[i].symbol->type, NULL);
        mlir_value **leaf = mlir_leaves(e, &args[i], &count);
        for (int k = 0; k < count && at < n->n; k++) *leaf[k] = m->of[n->in[at++]];
    }
    if (args == NULL) {
        mlir_refuse(e, "the call of `%s` cannot be lowered to MLIR", n->call->name);
        return;
    }
    mlir_value v = mlir_apply(e, &function, args, (mlir_hint){0});
    mlir_value **leaf = mlir_leaves(e, &v, &count);
    for (int i = 0; i < n->m && i < count; i++)
        if (n->out[i] != VAR_NONE) m->of[n->out[i]] = *leaf[i];
}

/* ---- all nodes ---- */

static void emit_node(emission *m, const node *n) {
    emitter *e = m->e;
    if (n->where.end > 0) e->where = n->where;
    switch ((node_kind)n->kind) {
    case NODE_OP: emit_op(m, n); break;
    case NODE_NUMBER:
    case NODE_LITERAL: m->of[n->out[0]] = mlir_constant(e, &n->constant); break;
    case NODE_SIZE: emit_size(m, n); break;
    case NODE_STOP: m->of[n->out[0]] = m->of[n->in[0]]; break;
    case NODE_IF: emit_if(m, n); break;
    case NODE_WHILE: emit_while(m, n); break;
    case NODE_TAPE: m->of[n->out[0]] = mlir_tape_value(mlir_number(e, DT_I64, 0.0), NULL); break;
    case NODE_PUSH: emit_push(m, n); break;
    case NODE_POP: emit_pop(m, n); break;
    case NODE_EMPTY:
        m->of[n->out[0]] = mlir_number_value(e, DT_Bool, mlir_tape_empty_at(e, m->of[n->in[0]].name));
        break;
    case NODE_DROP: mlir_drop(e, &m->of[n->in[0]]); break;
    case NODE_ASSERT:
        mlir_assert(e, mlir_ssa(e, &m->of[n->in[0]]), "assertion failed: %s", n->strings[0]);
        break;
    case NODE_CALL: emit_call(m, n); break;
    case NODE_PRINT: mlir_refuse(e, "`print` cannot be lowered to MLIR"); break;
    case NODE_LOAD: mlir_refuse(e, "`load` cannot be lowered to MLIR"); break;
    case NODE_SAVE: mlir_refuse(e, "`save` cannot be lowered to MLIR"); break;
    }
}

static void emit_region(emission *m, const region *r) {
    for (int i = 0; i < r->count && !m->e->failed; i++) emit_node(m, r->nodes[i]);
}

bool mlir_graph(emitter *e, graph *g, mlir_value *of) {
    emission m = {.e = e, .g = g, .of = of};
    emit_region(&m, g->top);
    return !e->failed;
}
