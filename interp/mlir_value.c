/* Values of the emitter: what the evaluator's values are before there is a run. */
#include <string.h>

#include "interp/mlir_emit.h"

mlir_value mlir_number_value(emitter *e, dtype t, const char *name) {
    (void)e;
    return (mlir_value){.kind = MLIR_NUMBER, .name = name, .type = {.dtype = (uint8_t)t}, .dim = MLIR_NO_DIM};
}

mlir_value mlir_tensor_value(const op_type *t, const char *name) {
    return (mlir_value){.kind = MLIR_TENSOR, .name = name, .type = *t, .dim = MLIR_NO_DIM};
}

const char *mlir_ssa(emitter *e, const mlir_value *v) {
    if (v->name != NULL) return v->name;
    if (v->kind != MLIR_NUMBER) return "";
    return mlir_dim_number(e, v->dim, (dtype)v->type.dtype).name;
}

/* ---- shapes ---- */

static bool same_written(const op_type *a, const op_type *b) {
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] && (a->dims[i] >= 0 || b->dims[i] >= 0)) return false;
    return true;
}

mlir_value mlir_cast(emitter *e, const mlir_value *v, const op_type *to) {
    if (v->kind != MLIR_TENSOR) return *v;
    mlir_value out = *v;
    out.type = *to;
    if (!same_written(&v->type, to))
        out.name =
            mlir_let(e, "tensor.cast %s : %s to %s", v->name, mlir_type_of(e, v), mlir_tensor_type(e, to));
    return out;
}

mlir_value mlir_boxed(emitter *e, const mlir_value *v) {
    op_type t = {.dtype = v->type.dtype};
    if (v->kind == MLIR_TENSOR) return *v;
    const char *name = mlir_let(e, "tensor.from_elements %s : %s", mlir_ssa(e, v), mlir_tensor_type(e, &t));
    return mlir_tensor_value(&t, name);
}

mlir_value mlir_unboxed(emitter *e, const mlir_value *v) {
    if (v->kind != MLIR_TENSOR || v->type.rank > 0) return *v;
    return mlir_number_value(e, (dtype)v->type.dtype,
                             mlir_let(e, "tensor.extract %s[] : %s", v->name, mlir_type_of(e, v)));
}

/* ---- leaves ---- */

static bool is_leaf(const mlir_value *v) {
    return v->kind == MLIR_NUMBER || v->kind == MLIR_TENSOR || v->kind == MLIR_TAPE;
}

int mlir_leaf_count(const mlir_value *v) {
    if (is_leaf(v)) return 1;
    int count = 0;
    for (int i = 0; i < v->count; i++) count += mlir_leaf_count(&v->items[i]);
    return count;
}

static int place_leaves(mlir_value *v, mlir_value **at) {
    if (is_leaf(v)) {
        *at = v;
        return 1;
    }
    int count = 0;
    for (int i = 0; i < v->count; i++) count += place_leaves(&v->items[i], at + count);
    return count;
}

mlir_value **mlir_leaves(emitter *e, mlir_value *v, int *count) {
    *count = mlir_leaf_count(v);
    mlir_value **list = MLIR_ARRAY(e, mlir_value *, *count);
    if (list == NULL) {
        *count = 0;
        return NULL;
    }
    place_leaves(v, list);
    return list;
}

mlir_value mlir_copy(emitter *e, const mlir_value *v) {
    mlir_value out = *v;
    if (v->count == 0 || v->kind == MLIR_TAPE) return out;
    out.items = MLIR_ARRAY(e, mlir_value, v->count);
    if (out.items == NULL) return (mlir_value){.kind = MLIR_NONE};
    for (int i = 0; i < v->count; i++) out.items[i] = mlir_copy(e, &v->items[i]);
    return out;
}

bool mlir_same_functions(const mlir_value *a, const mlir_value *b) {
    if (a->kind != b->kind || a->count != b->count || a->function != b->function) return false;
    if (a->kind == MLIR_TAPE) return true;
    for (int i = 0; i < a->count; i++)
        if (!mlir_same_functions(&a->items[i], &b->items[i])) return false;
    return true;
}
