/* The walk over code: constants, ops, tuples, sizes. */
#include "interp/stage.h"

#include <string.h>

#include "interp/stage_internal.h"
#include "runtime/context.h"

/* ---- ops ---- */

var stage_var(stager *s, staged *frame, const code *n) {
    staged x = stage(s, frame, n);
    return stage_operand(s, &x, n->where);
}

static uint8_t ones_of_dims(const op_attrs *attrs) {
    op_type made = {.rank = attrs->rank};
    memcpy(made.dims, attrs->dims, sizeof made.dims);
    return graph_ones(&made);
}

/* Run-time sizes, and which axes of a shape that is asked for are a literal 1. */
static void fill_attrs(stager *s, staged *frame, const code *n, op_attrs *attrs) {
    if (n->u.op.sizes > 0) memset(attrs->dims, 0, sizeof attrs->dims);
    for (int i = 0; i < n->u.op.sizes; i++) attrs->dims[i] = stage_dim(s, frame, n->u.op.size[i]);
    switch ((op_class)op_table[n->u.op.op].class) {
    case CLASS_RESHAPE:
    case CLASS_BROADCAST:
    case CLASS_POOL_GRAD: attrs->ones[1] = ones_of_dims(attrs); break;
    case CLASS_CONV_INPUT_GRAD:
    case CLASS_CONV_WEIGHT_GRAD: attrs->ones[2] = ones_of_dims(attrs); break;
    default: break;
    }
}

static staged stage_op(stager *s, staged *frame, const code *n) {
    int count = n->u.op.n;
    var *in = STAGE_ARRAY(s, var, count);
    op_attrs attrs = {0};
    if (in == NULL) return staged_none();
    for (int i = 0; i < count; i++) in[i] = stage_var(s, frame, n->u.op.args[i]);
    if (n->u.op.attrs != NULL) attrs = *n->u.op.attrs;
    fill_attrs(s, frame, n, &attrs);
    return staged_var(graph_op(s->g, s->r, (op_id)n->u.op.op, &attrs, count, in, n->where));
}

/* ---- constants ---- */

static var literal(stager *s, const value *v) {
    op_type t = {.dtype = v->dtype, .rank = (uint8_t)value_rank(v)};
    memcpy(t.dims, v->as.t->dims, sizeof t.dims);
    node *made = node_new(s->g, s->r, NODE_LITERAL, 0, NULL, 1);
    var out = graph_var_new(s->g, &t, NULL);
    if (made == NULL || out == VAR_NONE) return VAR_NONE;
    made->constant = *v;
    node_out(s->g, s->r, made, 0, out);
    return out;
}

static staged stage_constant(stager *s, const code *n) {
    const value *v = &n->u.constant;
    if (v->kind == VALUE_UNIT) return staged_unit();
    var out = v->kind == VALUE_TENSOR ? literal(s, v) : graph_number(s->g, s->r, *v);
    if (out != VAR_NONE) graph_at(s->g, out)->maker->where = n->where;
    return staged_var(out);
}

/* ---- tuples ---- */

bool stage_many(stager *s, staged *frame, const code *n, int count, staged *out) {
    staged x = stage(s, frame, n);
    if (graph_bad(s->g)) return false;
    if (count == 1) {
        out[0] = x;
    } else {
        memcpy(out, x.items, (size_t)count * sizeof *out);
    }
    return true;
}

static staged stage_items(stager *s, staged *frame, const code *n) {
    int count = n->u.tuple.count;
    staged *items = STAGE_ARRAY(s, staged, count);
    if (items == NULL) return staged_none();
    for (int i = 0; i < count; i++) items[i] = stage(s, frame, n->u.tuple.items[i]);
    return stage_tuple(s, count, items);
}

static staged stage_project(stager *s, staged *frame, const code *n) {
    staged base = stage(s, frame, n->u.project.base);
    return base.kind == STAGED_TUPLE ? base.items[n->u.project.field] : staged_none();
}

/* ---- sizes ---- */

/* Of written integers and dims alone: a name that holds a number says as little to the checker. */
int64_t stage_dim(stager *s, staged *frame, const code *n) {
    const dim_algebra *a = s->g->algebra;
    if (n->kind == CODE_CONSTANT) {
        int64_t x = value_as_int(&n->u.constant);
        return x >= 0 ? x : a->sub(a->self, 0, -x);
    }
    if (n->kind == CODE_DIM) return frame[n->u.slot].dim;
    staged x = stage(s, frame, n);
    if (x.kind == STAGED_SIZE) return x.dim;
    var v = stage_operand(s, &x, n->where);
    return v == VAR_NONE ? 0 : graph_size_of(s->g, v);
}

static staged stage_extent(stager *s, staged *frame, const code *n) {
    const dim_algebra *a = s->g->algebra;
    int64_t x = stage_dim(s, frame, n->u.extent.a), y = stage_dim(s, frame, n->u.extent.b);
    switch ((op_id)n->u.extent.op) {
    case OP_add: return staged_size(a->add(a->self, x, y));
    case OP_sub: return staged_size(a->sub(a->self, x, y));
    default: return staged_size(a->mul(a->self, x, y));
    }
}

static staged stage_dim_name(stager *s, staged *frame, const code *n) {
    staged size = frame[n->u.slot];
    if (n->dtype == DT_I64 || size.kind != STAGED_SIZE) return size;
    var v = graph_size(s->g, s->r, size.dim, (dtype)n->dtype);
    if (v != VAR_NONE) graph_at(s->g, v)->maker->where = n->where;
    return staged_var(v);
}

static staged stage_size(stager *s, staged *frame, const code *n) {
    var v = stage_var(s, frame, n->u.size.a);
    return v == VAR_NONE ? staged_none() : staged_size(graph_type(s->g, v)->dims[n->u.size.axis]);
}

/* The sizes joined into a vector. */
static staged stage_shape(stager *s, staged *frame, const code *n) {
    graph *g = s->g;
    var v = stage_var(s, frame, n->u.size.a), axis[MAX_RANK];
    if (v == VAR_NONE) return staged_none();
    op_type t = *graph_type(g, v);
    op_attrs entry = {.rank = 1, .dims = {1}, .ones = {0, 1}}, empty = {.rank = 1}, joined = {0};
    if (t.rank == 0) {
        var zero = graph_number(g, s->r, value_i64(0));
        return staged_var(graph_op(g, s->r, OP_full, &empty, 1, &zero, n->where));
    }
    for (int i = 0; i < t.rank; i++) {
        var size = graph_size(g, s->r, t.dims[i], DT_I64);
        axis[i] = graph_op(g, s->r, OP_reshape, &entry, 1, &size, n->where);
    }
    if (t.rank == 1) return staged_var(axis[0]);
    return staged_var(graph_op(g, s->r, OP_concat, &joined, t.rank, axis, n->where));
}

/* ---- types as written ---- */

void stage_bind_dims(stager *s, staged *frame, const shape_check *check, const staged *x) {
    for (int i = 0; i < check->count && x->kind == STAGED_TUPLE; i++) {
        stage_bind_dims(s, frame, &check->items[i], &x->items[i]);
    }
    for (int i = 0; i < check->rank && x->kind == STAGED_VAR; i++) {
        if (check->bind[i] >= 0) frame[check->bind[i]] = staged_size(graph_type(s->g, x->v)->dims[i]);
    }
}

/* Of what is read from a file, only what the program says is known. */
static void believe_file(stager *s, staged *frame, const shape_check *check, const staged *x) {
    if (x->kind != STAGED_VAR || graph_at(s->g, x->v)->maker == NULL) return;
    if (graph_at(s->g, x->v)->maker->kind != NODE_LOAD) return;
    for (int i = 0; i < check->rank; i++) {
        if (check->equals[i] == NULL) continue;
        int64_t dim = stage_dim(s, frame, check->equals[i]);
        graph_at(s->g, x->v)->type.dims[i] = dim;
    }
}

/* Sizes that the text states and the graph does not show: the value is stretched to them, which no axis but one of a
 * literal 1 can be. */
static staged hold_tensor(stager *s, staged *frame, const shape_check *check, const staged *x, span where) {
    op_type t = *graph_type(s->g, x->v);
    op_attrs attrs = {.rank = t.rank};
    bool shown = true;
    memcpy(attrs.dims, t.dims, sizeof attrs.dims);
    for (int i = 0; i < check->rank; i++) {
        if (check->equals[i] == NULL || t.dims[i] == 1) continue;
        attrs.dims[i] = stage_dim(s, frame, check->equals[i]);
        shown = shown && attrs.dims[i] == t.dims[i];
    }
    if (shown) return *x;
    attrs.ones[1] = ones_of_dims(&attrs);
    return staged_var(graph_op(s->g, s->r, OP_broadcast, &attrs, 1, &x->v, where));
}

staged stage_hold_dims(stager *s, staged *frame, const shape_check *check, const staged *x, span where) {
    if (graph_bad(s->g)) return *x;
    if (x->kind == STAGED_VAR && check->rank > 0) return hold_tensor(s, frame, check, x, where);
    if (x->kind != STAGED_TUPLE || check->count == 0) return *x;
    staged out = stage_tuple(s, x->count, x->items);
    for (int i = 0; out.kind == STAGED_TUPLE && i < check->count; i++) {
        out.items[i] = stage_hold_dims(s, frame, &check->items[i], &out.items[i], where);
    }
    return out;
}

static staged stage_checked(stager *s, staged *frame, const code *n) {
    staged x = stage(s, frame, n->u.check.value);
    if (graph_bad(s->g)) return x;
    stage_bind_dims(s, frame, n->u.check.check, &x);
    believe_file(s, frame, n->u.check.check, &x);
    return stage_hold_dims(s, frame, n->u.check.check, &x, n->where);
}

static staged stage_stop(stager *s, staged *frame, const code *n) {
    staged x = stage(s, frame, n->u.size.a);
    if (x.kind != STAGED_VAR || graph_bad(s->g) || !graph_floating(s->g, x.v)) return x;
    return staged_var(graph_stop(s->g, s->r, x.v, n->where));
}

/* ---- the walk ---- */

static staged stage_any(stager *s, staged *frame, const code *n) {
    switch ((code_kind)n->kind) {
    case CODE_CONSTANT: return stage_constant(s, n);
    case CODE_SLOT: return frame[n->u.slot];
    case CODE_OP: return stage_op(s, frame, n);
    case CODE_AND:
    case CODE_OR: return stage_logic(s, frame, n);
    case CODE_BLOCK: return stage_block(s, frame, n);
    case CODE_IF: return stage_if(s, frame, n);
    case CODE_WHILE: return stage_while(s, frame, n);
    case CODE_CALL: return stage_call_node(s, frame, n);
    case CODE_CLOSURE: return stage_closure(s, frame, n);
    case CODE_TUPLE: return stage_items(s, frame, n);
    case CODE_PROJECT: return stage_project(s, frame, n);
    case CODE_REVERSE:
    case CODE_FORWARD:
    case CODE_JACOBIAN: return stage_handle(s, frame, n);
    case CODE_INDEX: return stage_index(s, frame, n);
    case CODE_CHECK: return stage_checked(s, frame, n);
    case CODE_DIM: return stage_dim_name(s, frame, n);
    case CODE_EXTENT: return stage_extent(s, frame, n);
    case CODE_SIZE: return stage_size(s, frame, n);
    case CODE_SHAPE: return stage_shape(s, frame, n);
    case CODE_STOP: return stage_stop(s, frame, n);
    case CODE_COMPOSITE: return stage_composite(s, frame, n);
    case CODE_TAPE: return stage_new_tape(s, n);
    case CODE_PUSH: return stage_push(s, frame, n);
    case CODE_POP: return stage_pop(s, frame, n);
    case CODE_IS_EMPTY: return stage_is_empty(s, frame, n);
    case CODE_DROP:
    case CODE_PRINT:
    case CODE_ASSERT:
    case CODE_LOAD:
    case CODE_SAVE: return stage_effect(s, frame, n);
    }
    return staged_none();
}

/* Calls are staged where they stand, so that a program may be short and what it does endless. */
enum { VARS_MOST = 200000 };

staged stage(stager *s, staged *frame, const code *n) {
    if (graph_bad(s->g)) return staged_none();
    if (!context_stack_left(s->g->c, n->where)) {
        s->g->failed = true;
        return staged_none();
    }
    if (s->g->count > VARS_MOST) {
        graph_refuse(s->g, ERROR_K0703, n->where, "write out a smaller function",
                     "with every call in its place, `%s` is more than %d lines long", s->name, VARS_MOST);
    }
    return stage_any(s, frame, n);
}
