/* Ops that move entries without computing on them. */
#include <string.h>

#include "interp/mlir_emit.h"

/* ---- axes elsewhere ---- */

mlir_value mlir_mapped(emitter *e, const mlir_value *v, const int *map, const op_type *out,
                       const char *named) {
    if (v->kind != MLIR_TENSOR) return mlir_filled(e, out, mlir_ssa(e, v), named);
    mlir_generic g = {.dims = out->rank};
    mlir_value empty = mlir_empty(e, out);
    mlir_generic_in(&g, v);
    for (int i = 0; i < v->type.rank; i++) g.map[0][i] = map[i];
    mlir_generic_out(&g, &empty, named);
    mlir_generic_open(e, &g);
    mlir_generic_close(e, &g, g.arg);
    return mlir_generic_result(&g, 0);
}

mlir_value mlir_rearrange(emitter *e, const mlir_site *s) {
    int map[MAX_RANK] = {0}, lead = s->out.rank - s->in[0].type.rank, axis = s->attrs->axis;
    for (int i = 0; i < s->in[0].type.rank; i++) {
        switch (s->op) {
        case OP_permute: map[s->attrs->perm[i]] = i; break;
        case OP_expand_dims: map[i] = i < axis ? i : i + 1; break;
        case OP_squeeze: map[i] = i == axis ? MLIR_FIRST : i < axis ? i : i - 1; break;
        default: {
            bool stretched = s->in[0].type.dims[i] == 1 && s->out.dims[lead + i] != 1;
            map[i] = stretched ? MLIR_FIRST : lead + i;
        }
        }
    }
    if (s->out.rank > 0) return mlir_mapped(e, &s->in[0], map, &s->out, s->result);
    if (s->in[0].kind != MLIR_TENSOR) return s->in[0];
    const char *zero = mlir_index(e, 0);
    return mlir_number_value(e, (dtype)s->out.dtype, mlir_extract(e, s->in[0].name, &s->in[0].type, &zero));
}

mlir_value mlir_reshape(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0];
    const char *zeros[MAX_RANK];
    for (int i = 0; i < MAX_RANK; i++) zeros[i] = x->type.rank > i ? mlir_index(e, 0) : NULL;
    if (s->out.rank == 0 && x->kind != MLIR_TENSOR) return *x;
    if (s->out.rank == 0)
        return mlir_number_value(e, (dtype)s->out.dtype, mlir_extract(e, x->name, &x->type, zeros));
    if (x->kind != MLIR_TENSOR) return mlir_filled(e, &s->out, mlir_ssa(e, x), s->result);
    text sizes;
    text_init(&sizes, e->c);
    for (int i = 0; i < s->out.rank; i++)
        text_format(&sizes, "%s%s", i > 0 ? ", " : "", mlir_dim(e, s->out.dims[i]));
    const char *shape =
        mlir_let(e, "tensor.from_elements %s : tensor<%dxindex>", text_data(&sizes), s->out.rank);
    mlir_line(e, "%s = tensor.reshape %s(%s) : (%s, tensor<%dxindex>) -> %s", s->result, x->name, shape,
              mlir_type_of(e, x), s->out.rank, mlir_tensor_type(e, &s->out));
    if (sizes.failed) e->failed = true;
    text_close(&sizes);
    return mlir_tensor_value(&s->out, s->result);
}

/* ---- slices ---- */

/* "[a, 3, %b]": what the text fixes as itself, sizes of a run as SSA values. */
static void add_dims(emitter *e, text *t, int count, const int64_t *sizes) {
    text_add(t, "[");
    for (int i = 0; i < count; i++) {
        if (i > 0) text_add(t, ", ");
        if (sizes[i] >= 0)
            text_format(t, "%lld", (long long)sizes[i]);
        else
            text_add(t, mlir_dim(e, sizes[i]));
    }
    text_add(t, "]");
}

static const char *part(emitter *e, int count, const int64_t *lo, const int64_t *sizes,
                        const int64_t *stride) {
    text t;
    text_init(&t, e->c);
    add_dims(e, &t, count, lo);
    text_add_char(&t, ' ');
    add_dims(e, &t, count, sizes);
    text_add_char(&t, ' ');
    add_dims(e, &t, count, stride);
    const char *s = mlir_string(e, "%s", text_data(&t));
    if (t.failed) e->failed = true;
    text_close(&t);
    return s;
}

mlir_value mlir_concat(emitter *e, const mlir_site *s) {
    int64_t lo[MAX_RANK] = {0}, stride[MAX_RANK];
    int axis = s->attrs->axis;
    const char *written = mlir_tensor_type(e, &s->out);
    mlir_value joined = mlir_empty(e, &s->out);
    for (int i = 0; i < MAX_RANK; i++) stride[i] = 1;
    for (int k = 0; k < s->n; k++) {
        const op_type *x = &s->in[k].type;
        const char *name = k + 1 < s->n ? mlir_fresh(e) : s->result;
        const char *where = part(e, x->rank, lo, x->dims, stride);
        mlir_line(e, "%s = tensor.insert_slice %s into %s%s : %s into %s", name, s->in[k].name, joined.name,
                  where, mlir_type_of(e, &s->in[k]), written);
        joined.name = name;
        lo[axis] = mlir_dim_add(e, lo[axis], x->dims[axis]);
    }
    return joined;
}

/* Where entry `at` of the slice stands: its coordinates in what was sliced. `at` lacks the dropped axes. */
static void sliced_places(emitter *e, const mlir_site *s, const char *const *at, const char **places) {
    for (int i = 0, k = 0; i < s->in[0].type.rank; i++) {
        places[i] = mlir_dim(e, s->attrs->lo[i]);
        if (((s->attrs->drop >> i) & 1) != 0) continue;
        const char *by = at[k++];
        int64_t by_each = s->attrs->step[i];
        if (by_each != 1 && by_each != -1) {
            const char *stride = mlir_index(e, by_each < 0 ? -by_each : by_each);
            by = mlir_let(e, "arith.muli %s, %s : index", by, stride);
        }
        if (s->attrs->lo[i] == 0 && by_each > 0)
            places[i] = by;
        else
            places[i] = mlir_let(e, "arith.%s %s, %s : index", by_each < 0 ? "subi" : "addi", places[i], by);
    }
}

/* Entry by entry: what goes backwards, which no memref can, and what drops axes, where the lowering of a
 * slice that reduces the rank loses track of axes of size 1. */
static mlir_value picked_slice(emitter *e, const mlir_site *s) {
    mlir_generic g = {.dims = s->out.rank};
    const char *at[MAX_RANK], *places[MAX_RANK];
    mlir_value empty = mlir_empty(e, &s->out);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    for (int i = 0; i < s->out.rank; i++) at[i] = mlir_coordinate(e, i);
    sliced_places(e, s, at, places);
    const char *entry = mlir_extract(e, s->in[0].name, &s->in[0].type, places);
    mlir_generic_close(e, &g, &entry);
    return mlir_generic_result(&g, 0);
}

mlir_value mlir_slice(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0];
    const char *places[MAX_RANK] = {0};
    bool picked = s->attrs->drop != 0;
    if (x->kind != MLIR_TENSOR) return *x;
    for (int i = 0; i < x->type.rank; i++) picked |= s->attrs->step[i] < 0;
    if (s->out.rank == 0) {
        sliced_places(e, s, places, places); /* of no axis is there an entry to count to */
        return mlir_number_value(e, (dtype)s->out.dtype, mlir_extract(e, x->name, &x->type, places));
    }
    if (picked) return picked_slice(e, s);
    const char *where = part(e, x->type.rank, s->attrs->lo, s->attrs->dims, s->attrs->step);
    mlir_line(e, "%s = tensor.extract_slice %s%s : %s to %s", s->result, x->name, where, mlir_type_of(e, x),
              mlir_tensor_type(e, &s->out));
    return mlir_tensor_value(&s->out, s->result);
}

mlir_value mlir_slice_add(emitter *e, const mlir_site *s) {
    const mlir_value *acc = &s->in[0], *y = &s->in[1];
    dtype t = (dtype)acc->type.dtype;
    const char *places[MAX_RANK];
    mlir_nest l;
    mlir_nest_open(e, &l, y->type.rank, y->type.dims, acc);
    sliced_places(e, s, l.index, places);
    const char *more = y->kind == MLIR_TENSOR ? mlir_extract(e, y->name, &y->type, l.index) : mlir_ssa(e, y);
    const char *sum = mlir_extract(e, l.now, &acc->type, places);
    sum = mlir_scalar(e, OP_add, NULL, t, (const char *const[]){sum, more});
    sum = mlir_insert(e, sum, l.now, &acc->type, places);
    return mlir_tensor_value(&acc->type, mlir_nest_close(e, &l, sum));
}

/* ---- zeros beside entries ---- */

/* The entry where a condition holds, else 0. */
static mlir_value kept_where(emitter *e, mlir_generic *g, const char *condition, const char *entry) {
    dtype t = (dtype)g->out[0].type.dtype;
    const char *choice[3] = {condition, entry, mlir_number(e, t, 0.0)};
    const char *y = mlir_scalar(e, OP_where, NULL, t, choice);
    mlir_generic_close(e, g, &y);
    return mlir_generic_result(g, 0);
}

/* Entry j - by, where there is one. */
mlir_value mlir_shift(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0];
    int axis = s->attrs->axis;
    const char *at[MAX_RANK];
    mlir_generic g = {.dims = s->out.rank};
    mlir_value empty = mlir_empty(e, &s->out);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    for (int i = 0; i < s->out.rank; i++) at[i] = mlir_coordinate(e, i);
    const char *from = mlir_let(e, "arith.subi %s, %s : index", at[axis], mlir_index(e, s->attrs->lo[0]));
    const char *size = mlir_dim(e, x->type.dims[axis]);
    const char *inside = mlir_let(e, "arith.cmpi ult, %s, %s : index", from, size);
    at[axis] = mlir_let(e, "arith.select %s, %s, %s : index", inside, from, mlir_index(e, 0));
    return kept_where(e, &g, inside, mlir_extract(e, x->name, &x->type, at));
}

/* Up to the lo[0]-th diagonal, or from it on. */
mlir_value mlir_triangle(emitter *e, const mlir_site *s) {
    mlir_generic g = {.dims = s->out.rank};
    mlir_value empty = mlir_empty(e, &s->out);
    mlir_generic_in(&g, &s->in[0]);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    const char *row = mlir_coordinate(e, s->out.rank - 2), *column = mlir_coordinate(e, s->out.rank - 1);
    const char *edge = mlir_let(e, "arith.addi %s, %s : index", row, mlir_index(e, s->attrs->lo[0]));
    const char *kept =
        mlir_let(e, "arith.cmpi %s, %s, %s : index", s->attrs->reversed ? "sge" : "sle", column, edge);
    return kept_where(e, &g, kept, g.arg[0]);
}
