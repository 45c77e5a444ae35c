/* Values: 16 bytes, passed by copy. A 0-D number lives in the payload and is never on the heap; tensors,
 * tuples and functions are counted references. `index` is the value's place on the tape: 0 for a value
 * that depends on no differentiated parameter (passive), else where its record stands (active).
 *
 * Ownership: a `value` that a function returns or writes to an `out` is owned by the receiver, who
 * releases it; a `const value *` argument is borrowed. value_retain gives a second owned copy. */
#ifndef KINA_VALUE_H
#define KINA_VALUE_H

#include "runtime/tensor.h"

typedef enum value_kind {
    VALUE_NONE,                 /* nothing: an empty slot, an absent adjoint */
    VALUE_UNIT,                 /* () */
    VALUE_NUMBER,               /* a 0-D tensor: dtype and payload */
    VALUE_TENSOR,
    VALUE_TUPLE,
    VALUE_FUNCTION,             /* a closure; its layout belongs to the evaluator */
    VALUE_TAPE,                 /* a stack of values (stack.h); its own index is 0 whatever it holds */
} value_kind;

typedef union payload {
    float f32;
    double f64;
    int32_t i32;
    int64_t i64;
    bool b;
    uint64_t bits;
    tensor *t;
    struct tuple *tuple;
    struct counted *fn;
    struct cell *cell;          /* the uppermost; NULL: an empty tape */
} payload;

typedef struct value {
    uint8_t kind, dtype;
    uint16_t handlers;          /* of a tape: the reverse handlers for which it is active, a property of the text */
    uint32_t index;
    payload as;
} value;

_Static_assert(sizeof(value) == 16, "a value is 16 bytes");

/* The head of every counted object that a value may refer to besides tensors. */
typedef struct counted {
    int32_t refs;
    void (*destroy)(context *c, struct counted *self);  /* called when refs reaches 0 */
} counted;

typedef struct tuple {
    counted head;
    int32_t count;
    value item[];
} tuple;

static inline value value_none(void) { return (value){.kind = VALUE_NONE}; }
static inline value value_unit(void) { return (value){.kind = VALUE_UNIT}; }
static inline value value_f32(float x) {
    return (value){.kind = VALUE_NUMBER, .dtype = DT_F32, .as = {.f32 = x}};
}
static inline value value_f64(double x) {
    return (value){.kind = VALUE_NUMBER, .dtype = DT_F64, .as = {.f64 = x}};
}
static inline value value_i32(int32_t x) {
    return (value){.kind = VALUE_NUMBER, .dtype = DT_I32, .as = {.i32 = x}};
}
static inline value value_i64(int64_t x) {
    return (value){.kind = VALUE_NUMBER, .dtype = DT_I64, .as = {.i64 = x}};
}
static inline value value_bool(bool x) {
    return (value){.kind = VALUE_NUMBER, .dtype = DT_Bool, .as = {.b = x}};
}
/* Takes over the caller's reference. */
static inline value value_tensor(tensor *t) {
    return (value){.kind = VALUE_TENSOR, .dtype = t->dtype, .as = {.t = t}};
}

/* x as a number of dtype t (floats rounded, integers wrapped). For making constants. */
value value_number(dtype t, double x);
/* The payload of a number of any dtype as a double, as an int64 (integers only). */
double value_as_double(const value *v);
int64_t value_as_int(const value *v);

value value_retain_slow(value v);
void value_release_slow(context *c, value v);
static inline value value_retain(value v) {
    return v.kind <= VALUE_NUMBER ? v : value_retain_slow(v);
}
static inline void value_release(context *c, value v) {
    if (v.kind > VALUE_NUMBER) value_release_slow(c, v);
}

/* Tuple of count values, items set to NONE. */
tuple *tuple_new(context *c, int count) MUST_CHECK;

/* Shape of a number or tensor. */
static inline int value_rank(const value *v) { return v->kind == VALUE_TENSOR ? v->as.t->rank : 0; }
static inline const int64_t *value_dims(const value *v) {
    return v->kind == VALUE_TENSOR ? v->as.t->dims : NULL;
}
static inline int64_t value_size(const value *v) {
    return v->kind == VALUE_TENSOR ? v->as.t->size : 1;
}

#endif
