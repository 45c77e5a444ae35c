/* Tapes: an i64 that refers to a cell, or 0 when empty. Cells hold one tensor each and are made and taken by
 * functions of the run time (interp/tools/pipeline.c); a value of several leaves is several cells. A tape is
 * used up once, so a cell that is popped is gone. */
#include "interp/mlir_emit.h"

static const mlir_hint no_hint;

mlir_value mlir_tape_value(const char *name, mlir_value *element) {
    return (mlir_value){.kind = MLIR_TAPE, .name = name, .dim = MLIR_NO_DIM, .count = 1, .items = element};
}

mlir_value mlir_tape_empty(emitter *e, const type *entry) {
    mlir_value *element = MLIR_ARRAY(e, mlir_value, 1);
    if (element == NULL) return (mlir_value){.kind = MLIR_NONE};
    *element = mlir_template(e, entry, NULL);
    return mlir_tape_value(mlir_number(e, DT_I64, 0.0), element);
}

/* The type of a leaf as cells hold it: of any sizes. */
static op_type cell_type(const mlir_value *leaf) {
    op_type t = leaf->type;
    for (int i = 0; i < t.rank; i++) t.dims[i] = MLIR_NO_DIM;
    return t;
}

/* The function of the run time that pushes or pops tensors of this type. */
static const char *runtime_function(emitter *e, const char *what, const op_type *t) {
    return mlir_string(e, "kina_tape_%s_%s_%d", what, mlir_scalar_type((dtype)t->dtype), t->rank);
}

/* "memref<?xf32>" */
static const char *memref_type(emitter *e, const op_type *t) {
    return mlir_string(e, "memref%s", mlir_tensor_type(e, t) + 6);
}

static const char *push_leaf(emitter *e, const char *tape, const mlir_value *leaf) {
    op_type t = cell_type(leaf);
    mlir_value v = leaf->kind == MLIR_NUMBER ? mlir_boxed(e, leaf) : mlir_cast(e, leaf, &t);
    const char *name = runtime_function(e, "push", &t), *held = mlir_tensor_type(e, &t);
    mlir_declare(
        e, name,
        mlir_string(e,
                    "(i64, %s {bufferization.access = \"read\"}) -> i64 attributes {llvm.emit_c_interface}",
                    held));
    return mlir_let(e, "func.call @%s(%s, %s) : (i64, %s) -> i64", name, tape, v.name, held);
}

const char *mlir_push_leaves(emitter *e, const char *tape, mlir_value *const *leaf, int count) {
    for (int i = 0; i < count && !e->failed; i++) tape = push_leaf(e, tape, leaf[i]);
    return tape;
}

mlir_value mlir_push(emitter *e, const code *n) {
    mlir_value tape = mlir_code(e, n->u.two.a, no_hint), x = mlir_code(e, n->u.two.b, no_hint);
    int count;
    if (e->failed || tape.kind != MLIR_TAPE) return (mlir_value){.kind = MLIR_NONE};
    x = mlir_copy(e, &x);
    mlir_value **leaf = mlir_leaves(e, &x, &count);
    tape.name = mlir_push_leaves(e, tape.name, leaf, count);
    return tape;
}

/* The uppermost cell's tensor as the leaf; gives what is below. */
static const char *pop_leaf(emitter *e, const char *tape, mlir_value *leaf) {
    op_type t = cell_type(leaf), known = leaf->type;
    const char *name = runtime_function(e, "pop", &t), *held = memref_type(e, &t);
    mlir_declare(e, "kina_tape_below", "(i64) -> i64");
    mlir_declare(e, name, mlir_string(e, "(i64) -> %s attributes {llvm.emit_c_interface}", held));
    const char *below = mlir_let(e, "func.call @kina_tape_below(%s) : (i64) -> i64", tape);
    const char *held_at = mlir_let(e, "func.call @%s(%s) : (i64) -> %s", name, tape, held);
    mlir_value v =
        mlir_tensor_value(&t, mlir_let(e, "bufferization.to_tensor %s restrict : %s", held_at, held));
    if (leaf->kind == MLIR_NUMBER) {
        *leaf = mlir_unboxed(e, &v);
        return below;
    }
    for (int i = 0; i < t.rank; i++) {
        if (known.dims[i] >= 0) continue;
        const char *axis = mlir_index(e, i);
        known.dims[i] =
            mlir_dim_new(e, mlir_let(e, "tensor.dim %s, %s : %s", v.name, axis, mlir_type_of(e, &v)));
    }
    *leaf = mlir_cast(e, &v, &known);
    return below;
}

const char *mlir_tape_empty_at(emitter *e, const char *tape) {
    return mlir_let(e, "arith.cmpi eq, %s, %s : i64", tape, mlir_number(e, DT_I64, 0.0));
}

const char *mlir_pop_leaves(emitter *e, const char *tape, mlir_value **leaf, int count) {
    const char *empty = mlir_tape_empty_at(e, tape);
    const char *some = mlir_let(e, "arith.xori %s, %s : i1", empty, mlir_number(e, DT_Bool, 1.0));
    mlir_assert(e, some, "pop of an empty tape");
    for (int i = count - 1; i >= 0 && !e->failed; i--) tape = pop_leaf(e, tape, leaf[i]);
    return tape;
}

mlir_value mlir_pop(emitter *e, const code *n) {
    mlir_value tape = mlir_code(e, n->u.two.a, no_hint), none = {.kind = MLIR_NONE};
    mlir_value out = {.kind = MLIR_TUPLE, .count = 2, .items = MLIR_ARRAY(e, mlir_value, 2)};
    int count;
    if (e->failed || tape.kind != MLIR_TAPE) return none;
    out.items[1] = mlir_copy(e, tape.items);
    mlir_value **leaf = mlir_leaves(e, &out.items[1], &count);
    tape.name = mlir_pop_leaves(e, tape.name, leaf, count);
    out.items[0] = tape;
    return out;
}

mlir_value mlir_is_empty(emitter *e, const code *n) {
    mlir_value tape = mlir_code(e, n->u.two.a, no_hint);
    return mlir_number_value(e, DT_Bool, mlir_tape_empty_at(e, tape.name != NULL ? tape.name : ""));
}

/* Whatever tapes are in v end here. */
void mlir_drop(emitter *e, const mlir_value *v) {
    if (v->kind == MLIR_TAPE) {
        mlir_declare(e, "kina_tape_drop", "(i64)");
        mlir_line(e, "func.call @kina_tape_drop(%s) : (i64) -> ()", v->name);
    }
    for (int i = 0; v->kind == MLIR_TUPLE && i < v->count; i++) mlir_drop(e, &v->items[i]);
}
