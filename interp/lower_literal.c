/* Lowering literals: numbers, lists, and tensor<...> forms. */
#include <string.h>

#include "interp/lower_scope.h"

/* ---- numbers ---- */

static value integer_value(dtype t, uint64_t magnitude, bool negative) {
    uint64_t bits = negative ? 0 - magnitude : magnitude;
    switch (t) {
    case DT_F32: return value_f32(negative ? -(float)magnitude : (float)magnitude);
    case DT_F64: return value_f64(negative ? -(double)magnitude : (double)magnitude);
    case DT_I32: return value_i32((int32_t)(uint32_t)bits);
    case DT_I64: return value_i64((int64_t)bits);
    default: return value_bool(magnitude != 0);
    }
}

static value number_of(const expr *e) {
    dtype t = e->type != NULL && e->type->kind == TYPE_TENSOR ? (dtype)e->type->tensor.dtype : DT_F32;
    if (e->kind == EXPR_BOOL) return value_bool(e->u.boolean);
    if (e->kind == EXPR_INT) return integer_value(t, e->u.integer.magnitude, e->u.integer.negative);
    return t == DT_F32 ? value_f32(e->u.floating.narrow) : value_number(t, e->u.floating.value);
}

code *lower_number(fn_scope *s, const expr *e) { return code_constant(s, number_of(e), e->at); }

/* ---- lists ---- */

/* The number that a literal leaf stands for; false when it is not a literal. */
static bool literal_leaf(const expr *e, value *out) {
    if (e->kind == EXPR_INT || e->kind == EXPR_FLOAT || e->kind == EXPR_BOOL) {
        *out = number_of(e);
        return true;
    }
    if (e->kind != EXPR_UNARY || e->u.unary.op != OP_neg || !literal_leaf(e->u.unary.a, out)) return false;
    if (out->dtype == DT_F32) out->as.f32 = -out->as.f32;
    if (out->dtype == DT_F64) out->as.f64 = -out->as.f64;
    return dtype_floating((dtype)out->dtype);
}

static bool all_literal(const expr *e) {
    value ignored;
    if (e->kind != EXPR_LIST) return literal_leaf(e, &ignored);
    for (int i = 0; i < e->u.list.count; i++) {
        if (!all_literal(e->u.list.items[i])) return false;
    }
    return true;
}

static char *fill_literals(const expr *e, char *at) {
    if (e->kind == EXPR_LIST) {
        for (int i = 0; i < e->u.list.count; i++) at = fill_literals(e->u.list.items[i], at);
        return at;
    }
    value v = value_f32(0);
    (void)literal_leaf(e, &v);
    size_t bytes = dtype_size((dtype)v.dtype);
    memcpy(at, &v.as, bytes);
    return at + bytes;
}

static int64_t count_leaves(const expr *e) {
    if (e->kind != EXPR_LIST) return 1;
    int64_t count = 0;
    for (int i = 0; i < e->u.list.count; i++) count += count_leaves(e->u.list.items[i]);
    return count;
}

/* The dims of a list from its nesting: what is written, whatever its type says of unknown sizes. */
static int list_dims(const expr *e, int64_t *shape) {
    int rank = 0;
    for (; e->kind == EXPR_LIST && rank < MAX_RANK; rank++) {
        shape[rank] = e->u.list.count;
        if (e->u.list.count == 0) return rank + 1;
        e = e->u.list.items[0];
    }
    return rank;
}

static code *constant_list(fn_scope *s, const expr *e) {
    int64_t shape[MAX_RANK] = {0};
    int rank = list_dims(e, shape);
    if (count_leaves(e) == 0) {
        rank = e->type->tensor.rank;
        memcpy(shape, e->type->tensor.dims, sizeof shape);
    }
    tensor *t = tensor_new(s->l->a->c, (dtype)e->type->tensor.dtype, rank, shape);
    if (t == NULL) {
        s->l->failed = true;
        return NULL;
    }
    fill_literals(e, t->data);
    return code_constant(s, value_tensor(t), e->at);
}

static code **gather_leaves(fn_scope *s, const expr *e, code **at, uint8_t dt) {
    if (e->kind == EXPR_LIST) {
        for (int i = 0; i < e->u.list.count; i++) at = gather_leaves(s, e->u.list.items[i], at, dt);
        return at;
    }
    op_attrs attrs = {.rank = 1, .dims = {1}, .dtype = dt};
    code *leaf = lower_expr(s, e);
    const type *types[1] = {e->type};
    *at = op_node(s, OP_reshape, &attrs, 1, &leaf, types, NULL, e->at);
    return at + 1;
}

/* Each leaf is a vector of one entry by now; what is joined is as long as its leaves. */
static code *join_leaves(fn_scope *s, code **leaf, int64_t count, span where) {
    type *entry = LOWER_ARRAY(s->l, type, 1);
    const type **types = LOWER_ARRAY(s->l, const type *, count);
    if (entry == NULL || types == NULL) return NULL;
    entry->kind = TYPE_TENSOR;
    entry->tensor = (op_type){.rank = 1, .dims = {1}};
    for (int64_t i = 0; i < count; i++) types[i] = entry;
    return concat_node(s, 0, (int)count, leaf, types, NULL, where);
}

code *lower_list(fn_scope *s, const expr *e) {
    if (all_literal(e)) return constant_list(s, e);
    int64_t count = count_leaves(e);
    code **leaf = LOWER_ARRAY(s->l, code *, count);
    if (leaf == NULL) return NULL;
    gather_leaves(s, e, leaf, e->type->tensor.dtype);
    op_attrs attrs = {.dtype = e->type->tensor.dtype};
    int rank = list_dims(e, attrs.dims);
    attrs.rank = (uint8_t)rank;
    code *flat = join_leaves(s, leaf, count, e->at);
    if (rank == 1) return flat;
    const type *types[1] = {e->type};
    code *shaped = op_node(s, OP_reshape, &attrs, 1, &flat, types, e->type, e->at);
    if (shaped != NULL) shaped->u.op.attrs->ones[0] = 0;
    return shaped;
}

/* ---- tensor<...> forms ---- */

code *lower_tensor(fn_scope *s, const expr *e) {
    const type_expr *form = e->u.tensor.form;
    const expr *fill = e->u.tensor.fill;
    uint8_t dt = form->dt & 255;
    if (fill != NULL && fill->kind == EXPR_LIST) {
        return lower_checked(s, lower_list(s, fill), fill->type, form, "the list", e->at);
    }
    code *number = fill != NULL ? lower_expr(s, fill)
                                : code_constant(s, value_number((dtype)dt, 1.0), e->at);
    if (form->count == 0 || form->kind == TYPE_EXPR_SCALAR) return number;
    op_attrs attrs = {.rank = (uint8_t)form->count, .dtype = dt};
    const type *types[1] = {NULL};
    code *node = op_node(s, OP_full, &attrs, 1, &number, types, e->type, e->at);
    if (node == NULL) return NULL;
    node->u.op.sizes = (uint8_t)form->count;
    node->u.op.size = LOWER_ARRAY(s->l, code *, form->count);
    if (node->u.op.size == NULL) return NULL;
    for (int i = 0; i < form->count; i++) node->u.op.size[i] = lower_extent(s, form->dims[i]);
    return node;
}
