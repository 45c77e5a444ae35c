/* Values: conversion of numbers, and the counting of references that is not inline. */
#include "runtime/value.h"

#include <math.h>

#include "runtime/context.h"
#include "runtime/stack.h"

/* x towards zero and modulo 2^64; 0 for NaN and infinities. */
static int64_t wrap_to_int(double x) {
    if (!isfinite(x)) return 0;
    x = trunc(x);
    if (x >= -0x1p63 && x < 0x1p63) return (int64_t)x;
    double rest = fmod(fabs(x), 0x1p64);
    uint64_t bits = (uint64_t)rest;
    return (int64_t)(x < 0 ? 0 - bits : bits);
}

value value_number(dtype t, double x) {
    switch (t) {
    case DT_F32: return value_f32((float)x);
    case DT_F64: return value_f64(x);
    case DT_I32: return value_i32((int32_t)(uint32_t)(uint64_t)wrap_to_int(x));
    case DT_I64: return value_i64(wrap_to_int(x));
    case DT_Bool: return value_bool(x != 0);
    case DTYPE_COUNT: break;
    }
    return value_none();
}

double value_as_double(const value *v) {
    switch ((dtype)v->dtype) {
    case DT_F32: return (double)v->as.f32;
    case DT_F64: return v->as.f64;
    case DT_I32: return v->as.i32;
    case DT_I64: return (double)v->as.i64;
    case DT_Bool: return v->as.b ? 1 : 0;
    case DTYPE_COUNT: break;
    }
    return 0;
}

int64_t value_as_int(const value *v) {
    return v->dtype == DT_I32 ? v->as.i32 : v->dtype == DT_Bool ? v->as.b : v->as.i64;
}

value value_retain_slow(value v) {
    if (v.kind == VALUE_TENSOR) {
        tensor_retain(v.as.t);
    } else if (v.kind == VALUE_TUPLE) {
        v.as.tuple->head.refs++;
    } else if (v.kind == VALUE_FUNCTION) {
        v.as.fn->refs++;
    } else if (v.kind == VALUE_TAPE && v.as.cell != NULL) {
        v.as.cell->refs++;
    }
    return v;
}

void value_release_slow(context *c, value v) {
    if (v.kind == VALUE_TENSOR) {
        tensor_release(c, v.as.t);
        return;
    }
    if (v.kind == VALUE_TAPE) {
        stack_release(c, v);
        return;
    }
    counted *object = v.kind == VALUE_TUPLE ? &v.as.tuple->head : v.as.fn;
    if (object != NULL && --object->refs == 0) object->destroy(c, object);
}

static size_t tuple_bytes(int count) {
    return sizeof(tuple) + (size_t)count * sizeof(value);
}

static void destroy_tuple(context *c, counted *self) {
    tuple *t = (tuple *)self;
    for (int32_t i = 0; i < t->count; i++) value_release(c, t->item[i]);
    give_back(c, t, tuple_bytes(t->count));
}

tuple *tuple_new(context *c, int count) {
    tuple *t = take(c, tuple_bytes(count));
    if (t == NULL) return NULL;
    t->head = (counted){.refs = 1, .destroy = destroy_tuple};
    t->count = count;
    for (int i = 0; i < count; i++) t->item[i] = value_none();
    return t;
}
