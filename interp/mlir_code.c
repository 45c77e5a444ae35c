/* Expressions and blocks: the walk over code that the evaluator makes in a run. */
#include "interp/mlir_emit.h"

static const mlir_hint no_hint;

static mlir_value nothing(void) {
    return (mlir_value){.kind = MLIR_NONE};
}

static mlir_value number_of_dim(emitter *e, int64_t dim, dtype t) {
    mlir_value v = mlir_number_value(e, t, NULL);
    v.dim = dim;
    return v;
}

mlir_hint mlir_hint_item(mlir_hint hint, int i) {
    if (hint.to == NULL || i >= hint.to->count) return no_hint;
    return (mlir_hint){.to = &hint.to->items[i]};
}

/* ---- blocks ---- */

void mlir_bind(emitter *e, const binding *to, const mlir_value *v) {
    for (int i = 0; i < to->count && i < v->count; i++) mlir_bind(e, &to->items[i], &v->items[i]);
    if (to->count == 0 && to->slot >= 0)
        e->f.frame[to->slot] = *v;
    else if (to->count == 0)
        mlir_drop(e, v);
}

void mlir_step(emitter *e, const step *s) {
    if (s->value == NULL || e->failed) return;
    mlir_value v = mlir_code(e, s->value, (mlir_hint){.to = s->to});
    if (e->failed) return;
    if (s->to != NULL)
        mlir_bind(e, s->to, &v);
    else
        mlir_drop(e, &v);
}

static mlir_value block(emitter *e, const code *n, mlir_hint hint) {
    for (int i = 0; i < n->u.block.count; i++) mlir_step(e, &n->u.block.steps[i]);
    if (n->u.block.tail == NULL) return (mlir_value){.kind = MLIR_UNIT};
    return mlir_code(e, n->u.block.tail, hint);
}

static bool binds(const binding *to, int slot) {
    if (to == NULL) return false;
    for (int i = 0; i < to->count; i++)
        if (binds(&to->items[i], slot)) return true;
    return to->count == 0 && to->slot == slot;
}

/* Of the top level, the step that gives the slot its value. */
static void demand(emitter *e, int slot) {
    int reached = e->f.reached;
    for (int i = 0; i < reached; i++) {
        if (!binds(e->steps[i]->to, slot)) continue;
        e->f.reached = i;
        mlir_step(e, e->steps[i]);
        e->f.reached = reached;
    }
}

mlir_value mlir_slot(emitter *e, int slot) {
    if (e->f.frame[slot].kind == MLIR_NONE && e->f.top_level && !e->failed) demand(e, slot);
    return e->f.frame[slot];
}

void mlir_fill_frame(emitter *e) {
    for (int i = 0; e->f.top_level && i < e->f.slots; i++) (void)mlir_slot(e, i);
}

/* ---- ops ---- */

int64_t mlir_size(emitter *e, const code *n) {
    if (n->kind == CODE_CONSTANT && value_as_int(&n->u.constant) >= 0) return value_as_int(&n->u.constant);
    mlir_value v = mlir_code(e, n, no_hint);
    return mlir_dim_of(e, &v);
}

static mlir_value *emit_all(emitter *e, code *const *args, int count) {
    mlir_value *v = MLIR_ARRAY(e, mlir_value, count);
    for (int i = 0; v != NULL && i < count; i++) v[i] = mlir_code(e, args[i], no_hint);
    return v;
}

static mlir_value op(emitter *e, const code *n, mlir_hint hint) {
    op_attrs attrs = {0};
    mlir_value *in = emit_all(e, n->u.op.args, n->u.op.n);
    if (n->u.op.attrs != NULL) attrs = *n->u.op.attrs;
    for (int i = 0; i < n->u.op.sizes; i++) attrs.dims[i] = mlir_size(e, n->u.op.size[i]);
    e->where = n->where;
    if (in == NULL || e->failed) return nothing();
    return mlir_op(e, (op_id)n->u.op.op, &attrs, n->u.op.n, in, hint);
}

/* ---- tuples ---- */

static mlir_value tuple_of(emitter *e, const code *n, mlir_hint hint) {
    int count = n->u.tuple.count;
    if (count == 0) return (mlir_value){.kind = MLIR_UNIT};
    mlir_value v = {.kind = MLIR_TUPLE, .count = count, .items = MLIR_ARRAY(e, mlir_value, count)};
    if (v.items == NULL) return nothing();
    for (int i = 0; i < count; i++) v.items[i] = mlir_code(e, n->u.tuple.items[i], mlir_hint_item(hint, i));
    return v;
}

static mlir_value project(emitter *e, const code *n) {
    mlir_value base = mlir_code(e, n->u.project.base, no_hint);
    return (int)n->u.project.field < base.count ? base.items[n->u.project.field] : nothing();
}

/* ---- sizes as values ---- */

static mlir_value extent(emitter *e, const code *n) {
    mlir_value a = mlir_code(e, n->u.extent.a, no_hint), b = mlir_code(e, n->u.extent.b, no_hint);
    if (e->failed) return nothing();
    if (n->u.extent.op == OP_sub || a.dim == MLIR_NO_DIM || b.dim == MLIR_NO_DIM) {
        /* May be negative, which whoever uses it as a size finds out. */
        const char *x = mlir_as_index(e, &a), *y = mlir_as_index(e, &b);
        const char *how = n->u.extent.op == OP_sub ? "subi" : n->u.extent.op == OP_add ? "addi" : "muli";
        const char *size = mlir_let(e, "arith.%s %s, %s : index", how, x, y);
        return mlir_number_value(e, DT_I64, mlir_let(e, "arith.index_cast %s : index to i64", size));
    }
    return number_of_dim(e, (n->u.extent.op == OP_add ? mlir_dim_add : mlir_dim_mul)(e, a.dim, b.dim),
                         DT_I64);
}

static mlir_value shape(emitter *e, const code *n, mlir_hint hint) {
    mlir_value v = mlir_code(e, n->u.size.a, no_hint);
    op_type t = {.dtype = DT_I64, .rank = 1, .dims = {v.type.rank}};
    text list;
    text_init(&list, e->c);
    for (int i = 0; i < v.type.rank; i++) {
        mlir_value size = number_of_dim(e, v.type.dims[i], DT_I64);
        text_format(&list, "%s%s", i > 0 ? ", " : "", mlir_ssa(e, &size));
    }
    const char *name = mlir_result_name(e, &hint, 0);
    mlir_line(e, "%s = tensor.from_elements %s : %s", name, text_data(&list), mlir_tensor_type(e, &t));
    text_close(&list);
    return mlir_tensor_value(&t, name);
}

/* ---- what only checks, or cannot be ---- */

static mlir_value checked(emitter *e, const code *n, mlir_hint hint) {
    mlir_value v = mlir_code(e, n->u.check.value, hint);
    v = mlir_copy(e, &v);
    if (e->failed) return v;
    mlir_bind_dims(e, n->u.check.check, &v);
    mlir_hold_dims(e, n->u.check.check, &v, mlir_string(e, "%s: shapes differ", n->u.check.what));
    return v;
}

static mlir_value dropped(emitter *e, const code *n) {
    mlir_value v = mlir_code(e, n->u.size.a, no_hint);
    if (!e->failed) mlir_drop(e, &v);
    return (mlir_value){.kind = MLIR_UNIT};
}

static mlir_value assertion(emitter *e, const code *n) {
    mlir_value holds = mlir_code(e, n->u.assert_.condition, no_hint);
    const char *message = n->u.assert_.message;
    mlir_assert(e, mlir_ssa(e, &holds), "assertion failed%s%s", message[0] != '\0' ? ": " : "", message);
    return (mlir_value){.kind = MLIR_UNIT};
}

static mlir_value refused(emitter *e, const code *n, const char *what) {
    e->where = n->where;
    mlir_refuse(e, "`%s` cannot be lowered to MLIR", what);
    return nothing();
}

/* ---- the walk ---- */

mlir_value mlir_code(emitter *e, const code *n, mlir_hint hint) {
    if (e->failed || !context_stack_left(e->c, n->where)) {
        e->failed = true;
        return nothing();
    }
    e->where = n->where;
    switch ((code_kind)n->kind) {
    case CODE_CONSTANT: return mlir_constant(e, &n->u.constant);
    case CODE_SLOT: return mlir_slot(e, n->u.slot);
    case CODE_OP: return op(e, n, hint);
    case CODE_AND:
    case CODE_OR: return mlir_and_or(e, n);
    case CODE_BLOCK: return block(e, n, hint);
    case CODE_IF: return mlir_if(e, n, hint);
    case CODE_WHILE: return mlir_while(e, n, hint);
    case CODE_CALL: return mlir_call(e, n, hint);
    case CODE_CLOSURE: return mlir_closure(e, n->u.closure.function, &n->u.closure.captures);
    case CODE_TUPLE: return tuple_of(e, n, hint);
    case CODE_PROJECT: return project(e, n);
    case CODE_REVERSE:
    case CODE_FORWARD:
    case CODE_JACOBIAN:
    case CODE_COMPOSITE: return mlir_staged(e, n);
    case CODE_INDEX: return mlir_subscripts(e, n, hint);
    case CODE_CHECK: return checked(e, n, hint);
    case CODE_DIM: return number_of_dim(e, mlir_slot(e, n->u.slot).dim, (dtype)n->dtype);
    case CODE_EXTENT: return extent(e, n);
    case CODE_SIZE: {
        mlir_value v = mlir_code(e, n->u.size.a, no_hint);
        return number_of_dim(e, v.type.dims[n->u.size.axis], DT_I64);
    }
    case CODE_SHAPE: return shape(e, n, hint);
    case CODE_STOP: return mlir_code(e, n->u.size.a, hint);
    case CODE_TAPE: return mlir_tape_empty(e, n->u.entry);
    case CODE_PUSH: return mlir_push(e, n);
    case CODE_POP: return mlir_pop(e, n);
    case CODE_IS_EMPTY: return mlir_is_empty(e, n);
    case CODE_DROP: return dropped(e, n);
    case CODE_ASSERT: return assertion(e, n);
    case CODE_PRINT: return refused(e, n, "print");
    case CODE_LOAD: return refused(e, n, "load");
    case CODE_SAVE: return refused(e, n, "save");
    }
    return nothing();
}
