/* Gather and scatter: entries at indices that only a run knows, which are checked there. */
#include "interp/mlir_emit.h"

/* An index as an SSA value of type index, within [0, size). */
static const char *checked_index(emitter *e, const char *index, dtype t, int64_t size) {
    const char *at = mlir_let(e, "arith.index_cast %s : %s to index", index, mlir_scalar_type(t));
    mlir_assert_within(e, at, mlir_dim(e, size));
    return at;
}

/* The coordinates in x of the entry `at` of what take gives: those of the indices replaced by the index. */
static void taken_places(const mlir_site *s, const char *const *at, const char *index, const char **places) {
    int axis = s->attrs->axis, indices = s->in[1].type.rank;
    for (int i = 0; i < s->in[0].type.rank; i++)
        places[i] = i < axis ? at[i] : i == axis ? index : at[i + indices - 1];
}

static void along_places(const mlir_site *s, const char *const *at, const char *index, const char **places) {
    for (int i = 0; i < s->in[0].type.rank; i++) places[i] = i == s->attrs->axis ? index : at[i];
}

static bool is_along(op_id op) {
    return op == OP_take_along_axis || op == OP_scatter_along_axis;
}

/* ---- gather ---- */

mlir_value mlir_gather(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0], *indices = &s->in[1];
    int axis = s->attrs->axis;
    const char *at[MAX_RANK] = {0}, *places[MAX_RANK], *index = NULL;
    mlir_generic g = {.dims = s->out.rank};
    if (indices->kind != MLIR_TENSOR) {
        const char *number = mlir_ssa(e, indices);
        index = checked_index(e, number, (dtype)indices->type.dtype, x->type.dims[axis]);
    }
    if (s->out.rank == 0)
        return mlir_number_value(e, (dtype)s->out.dtype, mlir_extract(e, x->name, &x->type, &index));
    mlir_value empty = mlir_empty(e, &s->out);
    if (indices->kind == MLIR_TENSOR) {
        mlir_generic_in(&g, indices);
        for (int i = 0; i < indices->type.rank; i++) g.map[0][i] = is_along(s->op) ? i : axis + i;
    }
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    if (indices->kind == MLIR_TENSOR)
        index = checked_index(e, g.arg[0], (dtype)indices->type.dtype, x->type.dims[axis]);
    for (int i = 0; i < s->out.rank; i++) at[i] = mlir_coordinate(e, i);
    (is_along(s->op) ? along_places : taken_places)(s, at, index, places);
    const char *entry = mlir_extract(e, x->name, &x->type, places);
    mlir_generic_close(e, &g, &entry);
    return mlir_generic_result(&g, 0);
}

/* ---- scatter ---- */

mlir_value mlir_scatter(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0], *indices = &s->in[1], *src = &s->in[2];
    int axis = s->attrs->axis;
    const char *places[MAX_RANK];
    mlir_nest l;
    mlir_nest_open(e, &l, src->type.rank, src->type.dims, x);
    const char *const *at = l.index + (is_along(s->op) ? 0 : axis);
    const char *index = indices->kind == MLIR_TENSOR ? mlir_extract(e, indices->name, &indices->type, at)
                                                     : mlir_ssa(e, indices);
    index = checked_index(e, index, (dtype)indices->type.dtype, x->type.dims[axis]);
    (is_along(s->op) ? along_places : taken_places)(s, l.index, index, places);
    const char *more =
        src->kind == MLIR_TENSOR ? mlir_extract(e, src->name, &src->type, l.index) : mlir_ssa(e, src);
    const char *sum = mlir_extract(e, l.now, &x->type, places);
    sum = mlir_scalar(e, OP_add, NULL, (dtype)x->type.dtype, (const char *const[]){sum, more});
    sum = mlir_insert(e, sum, l.now, &x->type, places);
    return mlir_tensor_value(&x->type, mlir_nest_close(e, &l, sum));
}

/* ---- one_hot ---- */

mlir_value mlir_one_hot(emitter *e, const mlir_site *s) {
    const mlir_value *indices = &s->in[0];
    int last = s->out.rank - 1;
    mlir_generic g = {.dims = s->out.rank};
    mlir_value empty = mlir_empty(e, &s->out);
    if (indices->kind == MLIR_TENSOR) mlir_generic_in(&g, indices);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    const char *index = indices->kind == MLIR_TENSOR ? g.arg[0] : mlir_ssa(e, indices);
    index = checked_index(e, index, (dtype)indices->type.dtype, s->out.dims[last]);
    const char *here = mlir_let(e, "arith.cmpi eq, %s, %s : index", index, mlir_coordinate(e, last));
    const char *choice[3] = {here, mlir_number(e, DT_F32, 1.0), mlir_number(e, DT_F32, 0.0)};
    const char *y = mlir_scalar(e, OP_where, NULL, DT_F32, choice);
    mlir_generic_close(e, &g, &y);
    return mlir_generic_result(&g, 0);
}
