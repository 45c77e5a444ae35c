/* Instances: the functions of the module, each for one choice of the functions among its parameters and
 * captures. How an instance takes and gives its values follows from the types: its own ones by value where
 * they are numbers; those of an exported function as its source spells them, `F32` by value and `tensor<F32,
 * []>`, as every inferred type, by descriptor. */
#include <string.h>

#include "interp/mlir_emit.h"

/* ---- types as values without names ---- */

static mlir_value capture_template(emitter *e, const code_function *f, int i, const mlir_value *actual) {
    const symbol *sym = f->captured[i];
    if (sym->kind == SYMBOL_DIM) return mlir_number_value(e, DT_I64, NULL);
    return mlir_template(e, sym->type, actual);
}

static mlir_value function_template(emitter *e, const mlir_value *actual) {
    mlir_value v = {.kind = MLIR_FUNCTION};
    if (actual == NULL || actual->kind != MLIR_FUNCTION) return v;
    v.function = actual->function;
    v.count = actual->count;
    v.items = MLIR_ARRAY(e, mlir_value, v.count);
    for (int i = 0; v.items != NULL && i < v.count; i++)
        v.items[i] = capture_template(e, v.function, i, &actual->items[i]);
    return v;
}

mlir_value mlir_template(emitter *e, const type *t, const mlir_value *actual) {
    mlir_value v = {.kind = MLIR_UNIT, .dim = MLIR_NO_DIM};
    switch (t->kind) {
    case TYPE_TENSOR:
        v.kind = t->tensor.rank == 0 ? MLIR_NUMBER : MLIR_TENSOR;
        v.type = t->tensor;
        for (int i = 0; i < v.type.rank; i++)
            if (v.type.dims[i] < 0) v.type.dims[i] = MLIR_NO_DIM;
        break;
    case TYPE_TUPLE:
        v.kind = MLIR_TUPLE;
        v.count = t->count;
        v.items = MLIR_ARRAY(e, mlir_value, t->count);
        for (int i = 0; v.items != NULL && i < t->count; i++)
            v.items[i] = mlir_template(e, t->items[i], actual != NULL ? &actual->items[i] : NULL);
        break;
    case TYPE_FN: return function_template(e, actual);
    case TYPE_TAPE:
        v.kind = MLIR_TAPE;
        v.count = 1;
        v.items = MLIR_ARRAY(e, mlir_value, 1);
        if (v.items != NULL) v.items[0] = mlir_template(e, t->items[0], NULL);
        break;
    case TYPE_UNIT:
    case TYPE_STRING:
    case TYPE_ERROR: break;
    }
    return v;
}

/* ---- how leaves are passed ---- */

/* The k-th leaf of a type as written, counting down; NULL beyond it. */
static const type_expr *written_leaf(const type_expr *t, int *k) {
    if (t->kind == TYPE_EXPR_TENSOR || t->kind == TYPE_EXPR_SCALAR) return (*k)-- == 0 ? t : NULL;
    for (int i = 0; t->kind == TYPE_EXPR_TUPLE && i < t->count; i++) {
        const type_expr *found = written_leaf(t->items[i], k);
        if (found != NULL) return found;
    }
    return NULL;
}

static bool spelled_by_value(const type_expr *t, int leaf) {
    const type_expr *found = t != NULL ? written_leaf(t, &leaf) : NULL;
    return found != NULL && found->kind == TYPE_EXPR_SCALAR;
}

int mlir_instance_inputs(const mlir_instance *n) {
    return n->code->params + (n->exported ? 0 : n->code->captures);
}

bool mlir_param_by_value(const mlir_instance *n, int input, int leaf) {
    return !n->exported || spelled_by_value(n->code->decl->params[input].type, leaf);
}

bool mlir_result_by_value(const mlir_instance *n, int leaf) {
    return !n->exported || spelled_by_value(n->code->decl->result, leaf);
}

const char *mlir_port_type(emitter *e, const mlir_value *leaf, bool by_value) {
    return leaf->kind == MLIR_NUMBER && !by_value ? mlir_tensor_type(e, &leaf->type) : mlir_type_of(e, leaf);
}

/* "f32", "(f32, tensor<4xf32>)", "()" */
static const char *result_types(emitter *e, mlir_instance *n) {
    int count;
    text t;
    text_init(&t, e->c);
    mlir_value **leaf = mlir_leaves(e, &n->result, &count);
    for (int i = 0; i < count; i++)
        text_format(&t, "%s%s", i > 0 ? ", " : "", mlir_port_type(e, leaf[i], mlir_result_by_value(n, i)));
    const char *list = mlir_string(e, count == 1 ? "%s" : "(%s)", text_data(&t));
    text_close(&t);
    return list;
}

/* ---- the list of instances ---- */

static mlir_instance *instance_new(emitter *e, const code_function *f, const mlir_value *values,
                                   const char *named) {
    mlir_instance *n = MLIR_ARRAY(e, mlir_instance, 1);
    int count = f->params + f->captures;
    if (n == NULL) return NULL;
    n->code = f;
    n->symbol = named;
    n->exported = values == NULL;
    n->fixed = MLIR_ARRAY(e, mlir_value, count);
    for (int i = 0; n->fixed != NULL && i < count && !e->failed; i++) {
        if (i >= f->params && values == NULL) break;
        const mlir_value *actual = values != NULL ? &values[i] : NULL;
        n->fixed[i] = i < f->params ? mlir_template(e, f->decl->params[i].symbol->type, actual)
                                    : capture_template(e, f, i - f->params, actual);
    }
    n->result = mlir_template(e, f->decl->type->result, NULL);
    n->result_types = result_types(e, n);
    *e->last = n;
    e->last = &n->next;
    return n;
}

mlir_instance *mlir_instance_export(emitter *e, const code_function *f, const char *name) {
    mlir_map_put(e, &e->symbols, name, name);
    return instance_new(e, f, NULL, name);
}

static bool captures_nothing(const code_function *f, const mlir_value *values) {
    for (int i = 0; i < f->captures; i++)
        if (mlir_leaf_count(&values[f->params + i]) > 0) return false;
    return true;
}

static bool is_for(const mlir_instance *n, const code_function *f, const mlir_value *values) {
    if (n->code != f) return false;
    if (n->exported) return captures_nothing(f, values);
    for (int i = 0; i < f->params + f->captures; i++)
        if (!mlir_same_functions(&n->fixed[i], &values[i])) return false;
    return true;
}

mlir_instance *mlir_instance_of(emitter *e, const code_function *f, const mlir_value *values) {
    for (mlir_instance *n = e->instances; n != NULL; n = n->next)
        if (is_for(n, f, values)) return n;
    if (e->instance_count++ == INSTANCES_MOST)
        mlir_refuse(e, "`%s`, which is called with ever new functions, cannot be lowered to MLIR", f->name);
    /* A point cannot stand in a name of the source, nor in one of the C library. */
    return instance_new(e, f, values, mlir_string(e, "%s.%d", f->name, e->instance_count));
}
