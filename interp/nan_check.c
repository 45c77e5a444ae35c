/* What nan_check.h promises. */
#include "interp/nan_check.h"

#include <math.h>
#include <stdio.h>

#include "runtime/print.h"

/* The element at a place counted in row-major order. */
static const void *element_at(const value *v, int64_t place) {
    if (v->kind != VALUE_TENSOR) return &v->as;
    const tensor *t = v->as.t;
    int64_t offset = 0;
    for (int k = t->rank - 1; k >= 0; k--) {
        offset += place % t->dims[k] * t->strides[k];
        place /= t->dims[k];
    }
    return (const char *)t->data + offset * (int64_t)dtype_size((dtype)v->dtype);
}

static double number_at(const value *v, int64_t place) {
    const void *p = element_at(v, place);
    return v->dtype == DT_F32 ? (double)*(const float *)p : *(const double *)p;
}

/* The place of the first NaN or infinity; -1 for none. */
static int64_t first_special(const value *v) {
    bool number = v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR;
    if (!number || !dtype_floating((dtype)v->dtype)) return -1;
    int64_t size = value_size(v);
    if (v->kind == VALUE_TENSOR && v->as.t->contiguous) {
        const void *data = v->as.t->data;
        for (int64_t i = 0; i < size; i++) {
            if (!isfinite(v->dtype == DT_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i]))
                return i;
        }
        return -1;
    }
    for (int64_t i = 0; i < size; i++) {
        if (!isfinite(number_at(v, i))) return i;
    }
    return -1;
}

/* ---- the message ---- */

/* "[1, 0]" for a place of a shape. */
static void print_place(char *out, size_t room, const value *v, int64_t place) {
    int64_t index[MAX_RANK];
    int rank = value_rank(v);
    for (int k = rank - 1; k >= 0; k--) {
        index[k] = place % value_dims(v)[k];
        place /= value_dims(v)[k];
    }
    shape_print(out, room, rank, index);
}

/* An operand is shown by the element that stands where the result's does, if it has the result's shape; else by its
 * least and its greatest. */
static void note_operand(error *e, int k, const value *v, const value *out, int64_t place) {
    char a[NUMBER_ROOM + 1] = "", b[NUMBER_ROOM + 1] = "", shape[96];
    dtype t = (dtype)v->dtype;
    int64_t size = value_size(v), least = 0, most = 0;
    shape_print(shape, sizeof shape, value_rank(v), value_dims(v));
    bool same = shape_same(value_rank(v), value_dims(v), value_rank(out), value_dims(out));
    if (same || size == 1) {
        a[number_print(a, t, element_at(v, same ? place : 0))] = '\0';
        error_add_note(e, (span){0, 0}, "operand %d is %s%s", k + 1, a, size > 1 ? " there" : "");
        return;
    }
    if (size == 0 || !dtype_floating(t)) {
        error_add_note(e, (span){0, 0}, "operand %d is %s %s", k + 1, dtype_name(t), shape);
        return;
    }
    for (int64_t i = 1; i < size; i++) {
        if (number_at(v, i) < number_at(v, least)) least = i;
        if (number_at(v, i) > number_at(v, most)) most = i;
    }
    a[number_print(a, t, element_at(v, least))] = '\0';
    b[number_print(b, t, element_at(v, most))] = '\0';
    error_add_note(e, (span){0, 0}, "operand %d is %s %s, from %s to %s", k + 1, dtype_name(t), shape, a, b);
}

static bool report(context *c, const op_call *call, const value *out, int64_t place) {
    char made[NUMBER_ROOM + 1] = "", at[96] = "";
    enum { SHOWN = 4 };
    made[number_print(made, (dtype)out->dtype, element_at(out, place))] = '\0';
    if (out->kind == VALUE_TENSOR) print_place(at, sizeof at, out, place);
    error_set(&c->err, ERROR_K0516, call->where, "`%s` makes %s out of finite operands%s", op_table[call->op].surface, made,
              c->sweeping ? ", in the backward sweep" : "");
    if (at[0] != '\0') error_add_note(&c->err, (span){0, 0}, "first in element %s of its result", at);
    for (int k = 0; k < call->n && k < SHOWN; k++) note_operand(&c->err, k, &call->in[k], out, place);
    return false;
}

static bool look(void *self, context *c, const op_call *call, const value *out) {
    (void)self;
    int64_t place = first_special(out);
    if (place < 0) return true;
    for (int k = 0; k < call->n; k++) {
        if (first_special(&call->in[k]) >= 0) return true;
    }
    return report(c, call, out, place);
}

void nan_check_open(watch *w, context *c) {
    watch_open(w, c, look, NULL);
}

void nan_check_close(watch *w, context *c) {
    watch_close(w, c);
}
