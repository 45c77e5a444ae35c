/* Functions as values, and their calls. A function value is always a known function with what it captured; a
 * call is a func.call of its instance, or the function's body in place where there can be no instance. */
#include "interp/mlir_emit.h"

static const mlir_hint no_hint;

enum { INLINED_MOST = 64 }; /* functions in place, one inside another */

mlir_value mlir_closure(emitter *e, const code_function *f, const slots *captures) {
    mlir_value v = {.kind = MLIR_FUNCTION, .function = f, .count = captures->count};
    v.items = MLIR_ARRAY(e, mlir_value, captures->count);
    for (int i = 0; v.items != NULL && i < captures->count; i++) v.items[i] = mlir_slot(e, captures->slot[i]);
    return v;
}

static mlir_value callee_of(emitter *e, const callee *c) {
    if (c->known != NULL) return mlir_closure(e, c->known, &c->captures);
    return mlir_code(e, c->value, no_hint);
}

/* ---- in place ---- */

static void check_params(emitter *e, const code_function *f) {
    for (int i = 0; i < f->params; i++)
        if (f->checks[i].rank + f->checks[i].count > 0) mlir_bind_dims(e, &f->checks[i], &e->f.frame[i]);
    for (int i = 0; i < f->params; i++) {
        if (f->checks[i].rank + f->checks[i].count == 0) continue;
        const char *name = f->decl != NULL ? f->decl->params[i].name : "x";
        mlir_hold_dims(e, &f->checks[i], &e->f.frame[i],
                       mlir_string(e, "the argument %s of %s: shapes differ", name, f->name));
    }
}

mlir_value mlir_inline(emitter *e, const code_function *f, const mlir_value *args, const mlir_value *captured,
                       mlir_hint hint) {
    mlir_value *frame = e->f.frame, none = {.kind = MLIR_NONE};
    int slots_around = e->f.slots;
    bool top_level = e->f.top_level;
    span where = e->where;
    if (e->f.inlined == INLINED_MOST)
        mlir_refuse(e, "`%s`, which calls itself with functions, cannot be lowered to MLIR", f->name);
    e->f.frame = MLIR_ARRAY(e, mlir_value, f->slots);
    if (e->f.frame == NULL || e->failed) return none;
    e->f.slots = f->slots;
    for (int i = 0; i < f->params; i++) e->f.frame[i] = mlir_copy(e, &args[i]);
    for (int i = 0; i < f->captures; i++) e->f.frame[f->params + i] = captured[i];
    e->f.top_level = false;
    e->f.inlined++;
    check_params(e, f);
    mlir_value v = mlir_code(e, f->body, hint);
    e->f.inlined--;
    e->f.frame = frame;
    e->f.slots = slots_around;
    e->f.top_level = top_level;
    e->where = where;
    return v;
}

/* ---- by func.call ---- */

/* The operands as the instance takes them. */
static void add_operands(emitter *e, const mlir_instance *n, mlir_value *values, text *operands,
                         text *types) {
    int count = 0;
    for (int i = 0; i < mlir_instance_inputs(n); i++) {
        int given, taken;
        mlir_value **leaf = mlir_leaves(e, &values[i], &given), **as = mlir_leaves(e, &n->fixed[i], &taken);
        for (int k = 0; k < given && !e->failed; k++, count++) {
            mlir_value v = mlir_cast(e, leaf[k], &as[k]->type);
            if (!mlir_param_by_value(n, i, k)) v = mlir_boxed(e, &v);
            text_format(operands, "%s%s", count > 0 ? ", " : "", mlir_ssa(e, &v));
            text_format(types, "%s%s", count > 0 ? ", " : "", mlir_type_of(e, &v));
        }
    }
}

/* The size that an argument has where its parameter's type has the checker's dim; 0 - 1: none has it. */
static bool find_dim(const type *t, const mlir_value *v, int64_t wanted, int64_t *out) {
    if (t->kind == TYPE_TENSOR && v->kind == MLIR_TENSOR) {
        for (int i = 0; i < t->tensor.rank; i++) {
            if (t->tensor.dims[i] != wanted) continue;
            *out = v->type.dims[i];
            return true;
        }
    }
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count && i < v->count; i++)
        if (find_dim(t->items[i], &v->items[i], wanted, out)) return true;
    return false;
}

/* The sizes of a result: those of arguments where the types say so, else measured. */
static void size_result(emitter *e, const type *f, const type *t, const mlir_value *args, mlir_value *v) {
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count && i < v->count; i++)
        size_result(e, f, t->items[i], args, &v->items[i]);
    if (v->kind != MLIR_TENSOR) return;
    op_type known = v->type;
    for (int i = 0; i < known.rank; i++) {
        bool found = false;
        for (int k = 0; k < f->count && !found && v->type.dims[i] < 0; k++)
            found = find_dim(f->items[k], &args[k], t->tensor.dims[i], &known.dims[i]);
        if (found || v->type.dims[i] >= 0) continue;
        const char *axis = mlir_index(e, i);
        known.dims[i] =
            mlir_dim_new(e, mlir_let(e, "tensor.dim %s, %s : %s", v->name, axis, mlir_type_of(e, v)));
    }
    *v = mlir_cast(e, v, &known);
}

static mlir_value call_instance(emitter *e, const mlir_instance *n, mlir_value *values, mlir_hint hint) {
    const type *f = n->code->decl->type;
    int count;
    text operands, types;
    text_init(&operands, e->c);
    text_init(&types, e->c);
    add_operands(e, n, values, &operands, &types);
    mlir_value out = mlir_copy(e, &n->result);
    mlir_value **leaf = mlir_leaves(e, &out, &count);
    text_add_repeat(e->f.to, ' ', 2 * (size_t)e->f.depth);
    for (int i = 0; i < count; i++) {
        leaf[i]->name = mlir_result_name(e, &hint, i);
        text_format(e->f.to, "%s%s", i > 0 ? ", " : "", leaf[i]->name);
    }
    text_format(e->f.to, "%sfunc.call @%s(%s) : (%s) -> %s\n", count > 0 ? " = " : "", n->symbol,
                text_data(&operands), text_data(&types), n->result_types);
    for (int i = 0; i < count; i++) {
        if (leaf[i]->kind != MLIR_NUMBER || mlir_result_by_value(n, i)) continue;
        mlir_value boxed = *leaf[i];
        boxed.kind = MLIR_TENSOR;
        *leaf[i] = mlir_unboxed(e, &boxed);
    }
    size_result(e, f, f->result, values, &out);
    if (operands.failed || types.failed) e->failed = true;
    text_close(&operands);
    text_close(&types);
    return out;
}

static bool gives_function(const type *t) {
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++)
        if (gives_function(t->items[i])) return true;
    return t->kind == TYPE_FN;
}

mlir_value mlir_apply(emitter *e, const mlir_value *function, const mlir_value *args, mlir_hint hint) {
    const code_function *f = function->function;
    if (function->kind != MLIR_FUNCTION || e->failed) return (mlir_value){.kind = MLIR_NONE};
    if (f->decl == NULL || gives_function(f->decl->type->result))
        return mlir_inline(e, f, args, function->items, hint);
    mlir_value *values = MLIR_ARRAY(e, mlir_value, f->params + f->captures);
    for (int i = 0; values != NULL && i < f->params + f->captures; i++)
        values[i] = i < f->params ? args[i] : function->items[i - f->params];
    const mlir_instance *n = values != NULL ? mlir_instance_of(e, f, values) : NULL;
    if (n == NULL || e->failed) return (mlir_value){.kind = MLIR_NONE};
    return call_instance(e, n, values, hint);
}

mlir_value mlir_call(emitter *e, const code *n, mlir_hint hint) {
    mlir_value function = callee_of(e, &n->u.call.callee);
    mlir_value *args = MLIR_ARRAY(e, mlir_value, n->u.call.count);
    for (int i = 0; args != NULL && i < n->u.call.count; i++)
        args[i] = mlir_code(e, n->u.call.args[i], no_hint);
    e->where = n->where;
    return args != NULL ? mlir_apply(e, &function, args, hint) : (mlir_value){.kind = MLIR_NONE};
}
