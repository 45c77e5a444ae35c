/* Dims, types and literals as a program states them. */
#include <math.h>
#include <string.h>

#include "interp/writing.h"
#include "runtime/print.h"

/* ---- symbols of dims ---- */

/* An integer variable has I64s as its company where they are needed. */
static bool is_narrow(const writing *w, const witness *s) {
    return s != NULL && s->name == NULL && s->axis < 0 && graph_type(w->g, s->v)->dtype == DT_I32;
}

static expr *write_factor(writing *w, int64_t id, bool wide) {
    const witness *s = graph_witness_of(w->g, id);
    if (s == NULL) return write_expr_new(w, EXPR_UNKNOWN_DIM);
    if (s->name != NULL) return write_name(w, s->name);
    if (s->axis < 0) {
        expr *e = write_read(w, s->v);
        return wide && is_narrow(w, s) ? write_call_of(w, "I64", 1, &e) : e;
    }
    expr *args[2] = {write_var(w, s->v), write_integer(w, s->axis)};
    return write_call_of(w, "dim", 2, args);
}

/* Whether I32 variables in a dim have to be made I64: beside other I64s, or numbers that only those hold. */
static bool is_wide(const writing *w, int64_t dim) {
    int64_t symbols[DIM_DEGREE_MOST], factor;
    for (int i = 0; i < dims_term_count(w->dims, dim); i++) {
        int count = dims_term(w->dims, dim, i, &factor, symbols);
        if (factor > INT32_MAX || factor < -INT32_MAX) return true;
        for (int k = 0; k < count; k++) {
            const witness *s = graph_witness_of(w->g, symbols[k]);
            if (s != NULL && s->name == NULL && !is_narrow(w, s)) return true;
        }
    }
    return false;
}

/* ---- sums of products ---- */

static expr *write_term(writing *w, int64_t dim, int i, bool wide) {
    int64_t symbols[DIM_DEGREE_MOST], factor;
    int count = dims_term(w->dims, dim, i, &factor, symbols);
    int64_t size = factor < 0 ? -factor : factor;
    expr *e = size != 1 || count == 0 ? write_integer(w, size) : NULL;
    for (int k = 0; k < count; k++) {
        expr *one = write_factor(w, symbols[k], wide);
        e = e == NULL ? one : write_binary(w, OP_mul, e, one);
    }
    return e;
}

static bool is_negative(const writing *w, int64_t dim, int i) {
    int64_t symbols[DIM_DEGREE_MOST], factor;
    (void)dims_term(w->dims, dim, i, &factor, symbols);
    return factor < 0;
}

static expr *write_sum(writing *w, int64_t dim, bool wide) {
    int64_t constant;
    if (dims_constant(w->dims, dim, &constant)) return write_integer(w, constant);
    int count = dims_term_count(w->dims, dim), first = 0;
    while (first < count && is_negative(w, dim, first)) first++;
    expr *e = first < count ? write_term(w, dim, first, wide) : write_integer(w, 0);
    for (int i = 0; i < count; i++) {
        if (i == first) continue;
        e = write_binary(w, is_negative(w, dim, i) ? OP_sub : OP_add, e, write_term(w, dim, i, wide));
    }
    return e;
}

expr *write_dim(writing *w, int64_t dim) {
    return write_sum(w, dim, is_wide(w, dim));
}

expr *write_size(writing *w, int64_t dim, dtype t) {
    expr *e = write_sum(w, dim, true);
    return t == DT_I64 ? e : write_call_of(w, dtype_name(t), 1, &e);
}

bool write_dim_named(const writing *w, int64_t dim) {
    int64_t symbols[DIM_DEGREE_MOST], factor;
    for (int i = 0; i < dims_term_count(w->dims, dim); i++) {
        int count = dims_term(w->dims, dim, i, &factor, symbols);
        for (int k = 0; k < count; k++) {
            const witness *s = graph_witness_of(w->g, symbols[k]);
            if (s == NULL || s->name == NULL) return false;
        }
    }
    return true;
}

expr *write_dims(writing *w, int count, const int64_t *list) {
    expr *items[MAX_RANK];
    for (int i = 0; i < count; i++) items[i] = write_dim(w, list[i]);
    return write_list(w, EXPR_LIST, count, items);
}

/* ---- types ---- */

static type_expr *type_new(writing *w, type_expr_kind kind) {
    static type_expr unit = {.kind = TYPE_EXPR_UNIT};
    type_expr *t = write_take(w, sizeof *t);
    if (t == NULL) return &unit;
    t->kind = kind;
    return t;
}

type_expr *write_type(writing *w, const op_type *of) {
    type_expr *t = type_new(w, of->rank > 0 ? TYPE_EXPR_TENSOR : TYPE_EXPR_SCALAR);
    expr **list = WRITE_ARRAY(w, expr *, of->rank);
    if (w->failed) return t;
    t->dt = (dtype)of->dtype;
    t->count = of->rank;
    t->dims = list;
    for (int i = 0; i < of->rank; i++) {
        bool named = write_dim_named(w, of->dims[i]);
        list[i] = named ? write_dim(w, of->dims[i]) : write_expr_new(w, EXPR_UNKNOWN_DIM);
    }
    return t;
}

type_expr *write_tuple_type(writing *w, int count, type_expr *const *items) {
    if (count == 1) return items[0];
    type_expr *t = type_new(w, count == 0 ? TYPE_EXPR_UNIT : TYPE_EXPR_TUPLE);
    type_expr **own = WRITE_ARRAY(w, type_expr *, count);
    if (w->failed) return t;
    for (int i = 0; i < count; i++) own[i] = items[i];
    t->count = count;
    t->items = own;
    return t;
}

static type_expr *write_tape_type(writing *w, const tape_element *element);

/* What a tape holds at one place. */
static type_expr *write_leaf_type(writing *w, const tape_element *element, int i) {
    const tape_leaf *leaf = &element->leaf[i];
    return leaf->tape != NULL ? write_tape_type(w, leaf->tape) : write_type(w, &leaf->type);
}

static type_expr *write_tape_type(writing *w, const tape_element *element) {
    type_expr *t = type_new(w, TYPE_EXPR_TAPE);
    type_expr **held = WRITE_ARRAY(w, type_expr *, element->count);
    type_expr **one = WRITE_ARRAY(w, type_expr *, 1);
    if (w->failed) return t;
    for (int i = 0; i < element->count; i++) held[i] = write_leaf_type(w, element, i);
    one[0] = write_tuple_type(w, element->count, held);
    t->count = 1;
    t->items = one;
    return t;
}

type_expr *write_var_type(writing *w, var v) {
    const graph_var *of = graph_at(w->g, v);
    return of->tape != NULL ? write_tape_type(w, of->tape) : write_type(w, &of->type);
}

type_expr *write_opened_type(writing *w, var v) {
    type_expr *t = write_var_type(w, v);
    for (int i = 0; i < t->count; i++) {
        if (t->kind != TYPE_EXPR_TENSOR || t->dims[i]->kind != EXPR_UNKNOWN_DIM) continue;
        t->dims[i] = write_name(w, write_word(w, "N%d", ++w->dim_names));
    }
    return t;
}

/* ---- literals ---- */

static expr *write_float(writing *w, dtype t, double x) {
    char digits[NUMBER_ROOM];
    double size = isnan(x) ? x : fabs(x);
    float narrow = (float)size;
    size_t length = number_print(digits, t, t == DT_F32 ? (const void *)&narrow : (const void *)&size);
    expr *e = write_expr_new(w, EXPR_FLOAT);
    const char *own = w->failed ? NULL : arena_text(w->a, digits, length);
    if (own == NULL) {
        w->failed = true;
        return e;
    }
    e->u.floating.digits = own;
    e->u.floating.value = size;
    e->u.floating.narrow = narrow;
    return signbit(x) && !isnan(x) ? write_unary(w, OP_neg, e) : e;
}

/* The digits are those of the element type, so that they mean it wherever they adopt it. */
static expr *write_element(writing *w, dtype t, const void *at) {
    switch (t) {
    case DT_F32: return write_float(w, t, (double)*(const float *)at);
    case DT_F64: return write_float(w, t, *(const double *)at);
    case DT_I32: return write_integer(w, *(const int32_t *)at);
    case DT_I64: return write_integer(w, *(const int64_t *)at);
    default: return write_flag(w, *(const bool *)at);
    }
}

expr *write_number(writing *w, const value *v) {
    switch ((dtype)v->dtype) {
    case DT_F32: return write_element(w, DT_F32, &v->as.f32);
    case DT_F64: return write_element(w, DT_F64, &v->as.f64);
    case DT_I32: return write_element(w, DT_I32, &v->as.i32);
    case DT_I64: return write_element(w, DT_I64, &v->as.i64);
    default: return write_element(w, DT_Bool, &v->as.b);
    }
}

static expr *write_rows(writing *w, const tensor *t, int axis, int64_t offset) {
    if (axis == t->rank)
        return write_element(w, (dtype)t->dtype,
                             (const char *)t->data + offset * (int64_t)dtype_size((dtype)t->dtype));
    expr *e = write_expr_new(w, EXPR_LIST);
    int64_t count = t->dims[axis];
    expr **items = WRITE_ARRAY(w, expr *, count);
    if (w->failed) return e;
    for (int64_t i = 0; i < count; i++)
        items[i] = write_rows(w, t, axis + 1, offset + i * t->strides[axis]);
    e->u.list.count = (int)count;
    e->u.list.items = items;
    return e;
}

static bool stands_by_itself(dtype t) {
    return t == DT_F32 || t == DT_I32 || t == DT_Bool;
}

expr *write_literal(writing *w, const value *v) {
    if (v->kind != VALUE_TENSOR) return write_number(w, v);
    const tensor *t = v->as.t;
    expr *rows = write_rows(w, t, 0, 0);
    if (stands_by_itself((dtype)t->dtype) && t->size > 0) return rows;
    op_type of = {.dtype = t->dtype, .rank = t->rank};
    memcpy(of.dims, t->dims, sizeof of.dims);
    expr *e = write_expr_new(w, EXPR_TENSOR);
    type_expr *form = write_type(w, &of);
    if (w->failed) return e;
    e->u.tensor.form = form;
    e->u.tensor.fill = t->size > 0 ? rows : NULL;
    return e;
}

/* ---- element types of literals ---- */

expr *write_firm(writing *w, dtype t, expr *e) {
    return t != DT_Bool && write_flexible(e) ? write_call_of(w, dtype_name(t), 1, &e) : e;
}

expr *write_alone(writing *w, dtype t, expr *e) {
    return stands_by_itself(t) ? e : write_firm(w, t, e);
}
