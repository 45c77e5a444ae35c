/* See rule_numbers.h. */
#include "tests/unit/rule_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void size_up(numbers *x) {
    x->size = 1;
    for (int i = 0; i < x->rank; i++) x->size *= x->dims[i];
}

uint8_t numbers_shape(const char *text, numbers *x) {
    unsigned ones = 0;
    x->rank = 0;
    while (*text != '\0') {
        char *end;
        x->dims[x->rank] = strtol(text, &end, 10);
        if (*end == '*') ones |= 1u << x->rank, end++;
        x->rank++;
        text = end;
        while (*text == ' ') text++;
    }
    size_up(x);
    return (uint8_t)ones;
}

void numbers_entries(const char *text, numbers *x) {
    for (int64_t i = 0; i < x->size; i++) {
        char *end;
        x->at[i] = (double)strtol(text, &end, 10);
        text = end;
    }
}

static int64_t offset_of(int64_t i, int rank, const int64_t *dims, const int64_t *strides) {
    int64_t offset = 0;
    for (int a = rank - 1; a >= 0; a--) {
        offset += (i % dims[a]) * strides[a];
        i /= dims[a];
    }
    return offset;
}

static void write_element(tensor *x, int64_t offset, double number) {
    switch ((dtype)x->dtype) {
    case DT_F32: ((float *)x->data)[offset] = (float)number; break;
    case DT_F64: ((double *)x->data)[offset] = number; break;
    case DT_I32: ((int32_t *)x->data)[offset] = (int32_t)number; break;
    case DT_I64: ((int64_t *)x->data)[offset] = (int64_t)number; break;
    case DT_Bool: ((bool *)x->data)[offset] = number != 0; break;
    case DTYPE_COUNT: break;
    }
}

/* Fresh room with a view on it that lies as asked for. NULL on failure. */
static tensor *room_for(context *c, const numbers *x, dtype type, layout how) {
    int64_t dims[MAX_RANK], strides[MAX_RANK], own[MAX_RANK], offset = 0;
    int rank = x->rank;
    memcpy(dims, x->dims, sizeof dims);
    if (how == LAYOUT_STRIDED) dims[rank - 1] *= 2;
    if (how == LAYOUT_PERMUTED)
        for (int i = 0; i < rank; i++) dims[i] = x->dims[rank - 1 - i];
    tensor *base = tensor_new(c, type, rank, dims);
    if (base == NULL || how == LAYOUT_PLAIN) return base;
    for (int64_t i = 0; i < base->size; i++) write_element(base, i, 77.0);
    shape_strides(rank, dims, own);
    for (int i = 0; i < rank; i++) {
        strides[i] = how == LAYOUT_PERMUTED ? own[rank - 1 - i] : own[i];
        if (how == LAYOUT_REVERSED && x->size > 0) {
            offset += own[i] * (dims[i] - 1);
            strides[i] = -own[i];
        }
    }
    if (how == LAYOUT_STRIDED) strides[rank - 1] = 2;
    tensor *view = tensor_view(c, base, offset, rank, x->dims, strides);
    tensor_release(c, base);
    return view;
}

bool numbers_value(context *c, const numbers *x, dtype type, layout how, value *out) {
    *out = value_none();
    if (x->rank == 0) {
        *out = value_number(type, x->at[0]);
        return true;
    }
    tensor *room = room_for(c, x, type, how);
    if (room == NULL) return false;
    for (int64_t i = 0; i < x->size; i++)
        write_element(room, offset_of(i, x->rank, x->dims, room->strides), x->at[i]);
    *out = value_tensor(room);
    return true;
}

void numbers_from(const value *v, numbers *x) {
    *x = (numbers){.rank = value_rank(v)};
    if (v->kind == VALUE_NUMBER) {
        x->at[0] = value_as_double(v);
        x->size = 1;
        return;
    }
    const tensor *t = v->as.t;
    memcpy(x->dims, t->dims, sizeof x->dims);
    size_up(x);
    for (int64_t i = 0; i < x->size && i < CASE_ELEMENTS; i++) {
        int64_t offset = offset_of(i, x->rank, x->dims, t->strides);
        x->at[i] = t->dtype == DT_F32 ? (double)((const float *)t->data)[offset]
                                      : ((const double *)t->data)[offset];
    }
}

bool numbers_same_shape(const numbers *a, const numbers *b) {
    return shape_same(a->rank, a->dims, b->rank, b->dims);
}

bool numbers_same_bits(const numbers *a, const numbers *b) {
    if (!numbers_same_shape(a, b)) return false;
    for (int64_t i = 0; i < a->size; i++)
        if (a->at[i] != b->at[i] && !(isnan(a->at[i]) && isnan(b->at[i]))) return false;
    return true;
}

bool close_to(double a, double b, double scale, double tolerance) {
    return fabs(a - b) <= tolerance * fmax(scale, fmax(fabs(a), fabs(b)));
}

bool numbers_close(const numbers *a, const numbers *b, double tolerance) {
    double scale = 1e-2;
    for (int64_t i = 0; i < b->size; i++) scale = fmax(scale, fabs(b->at[i]));
    for (int64_t i = 0; i < b->size; i++)
        if (!close_to(a->at[i], b->at[i], scale, tolerance)) return false;
    return true;
}

double numbers_dot(const numbers *a, const numbers *b, double *scale) {
    double sum = 0.0;
    for (int64_t i = 0; i < a->size; i++) {
        sum += a->at[i] * b->at[i];
        *scale += fabs(a->at[i] * b->at[i]);
    }
    return sum;
}
