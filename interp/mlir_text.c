/* The emitter's lines, names, types and constants. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interp/mlir_emit.h"
#include "runtime/memory.h"
#include "runtime/print.h"

/* ---- memory and failures ---- */

void *mlir_take(emitter *e, size_t bytes) {
    void *p = arena_take(e->a, bytes);
    if (p == NULL) e->failed = true;
    return p;
}

const char *mlir_string(emitter *e, const char *format, ...) {
    text t;
    va_list arguments;
    text_init(&t, e->c);
    va_start(arguments, format);
    text_format_list(&t, format, arguments);
    va_end(arguments);
    char *copy = t.failed ? NULL : arena_text(e->a, text_data(&t), t.length);
    text_close(&t);
    if (copy == NULL) e->failed = true;
    return copy != NULL ? copy : "";
}

void mlir_refuse(emitter *e, const char *format, ...) {
    va_list arguments;
    char message[ERROR_TEXT];
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(&e->c->err, ERROR_K0701, e->where, "%s", message);
    e->failed = true;
}

/* ---- strings to strings ---- */

static uint32_t hash_of(const char *s) {
    uint32_t h = 2166136261u;
    for (; *s != '\0'; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static struct mlir_entry *place_of(struct mlir_entry *slot, uint32_t capacity, const char *key) {
    uint32_t i = hash_of(key) & (capacity - 1);
    while (slot[i].key != NULL && strcmp(slot[i].key, key) != 0) i = (i + 1) & (capacity - 1);
    return &slot[i];
}

const char *mlir_map_find(const mlir_map *m, const char *key) {
    return m->capacity == 0 ? NULL : place_of(m->slot, m->capacity, key)->value;
}

void mlir_map_put(emitter *e, mlir_map *m, const char *key, const char *to) {
    if (2 * (m->count + 1) > m->capacity) {
        uint32_t wider = m->capacity == 0 ? 64 : 2 * m->capacity;
        struct mlir_entry *slot = MLIR_ARRAY(e, struct mlir_entry, wider);
        if (slot == NULL) return;
        for (uint32_t i = 0; i < m->capacity; i++)
            if (m->slot[i].key != NULL) *place_of(slot, wider, m->slot[i].key) = m->slot[i];
        m->slot = slot;
        m->capacity = wider;
    }
    struct mlir_entry *at = place_of(m->slot, m->capacity, key);
    if (at->key == NULL) m->count++;
    *at = (struct mlir_entry){key, to};
}

/* ---- lines ---- */

void mlir_line(emitter *e, const char *format, ...) {
    va_list arguments;
    text_add_repeat(e->f.to, ' ', 2 * (size_t)e->f.depth);
    va_start(arguments, format);
    text_format_list(e->f.to, format, arguments);
    va_end(arguments);
    text_add_char(e->f.to, '\n');
}

const char *mlir_let(emitter *e, const char *format, ...) {
    const char *name = mlir_fresh(e);
    va_list arguments;
    text_add_repeat(e->f.to, ' ', 2 * (size_t)e->f.depth);
    text_format(e->f.to, "%s = ", name);
    va_start(arguments, format);
    text_format_list(e->f.to, format, arguments);
    va_end(arguments);
    text_add_char(e->f.to, '\n');
    return name;
}

/* ---- names ---- */

const char *mlir_fresh(emitter *e) {
    return mlir_string(e, "%%%u", e->f.numbered++);
}

const char *mlir_named(emitter *e, const char *base) {
    const char *name = mlir_string(e, "%%%s", base);
    for (unsigned k = 1; mlir_map_find(&e->f.names, name) != NULL && !e->failed; k++)
        name = mlir_string(e, "%%%s_%u", base, k);
    mlir_map_put(e, &e->f.names, name, name);
    return name;
}

/* The name that the k-th leaf of a pattern has, counting down. */
static const char *leaf_name(const binding *to, int *k) {
    for (int i = 0; i < to->count; i++) {
        const char *name = leaf_name(&to->items[i], k);
        if (*k < 0) return name;
    }
    if (to->count > 0) return NULL;
    return (*k)-- == 0 ? to->name : NULL;
}

const char *mlir_result_name(emitter *e, const mlir_hint *hint, int k) {
    const char *name = NULL;
    if (hint->to != NULL) {
        name = leaf_name(hint->to, &k);
    } else if (k == 0) {
        name = hint->name;
    }
    return name != NULL ? mlir_named(e, name) : mlir_fresh(e);
}

/* ---- types ---- */

const char *mlir_scalar_type(dtype t) {
    static const char *const words[DTYPE_COUNT] = {
        [DT_F32] = "f32", [DT_F64] = "f64", [DT_I32] = "i32", [DT_I64] = "i64", [DT_Bool] = "i1"};
    return words[t];
}

const char *mlir_tensor_type(emitter *e, const op_type *t) {
    char sizes[MAX_RANK * 21 + 1];
    size_t at = 0;
    sizes[0] = '\0';
    for (int i = 0; i < t->rank; i++) {
        const char *format = t->dims[i] >= 0 ? "%lldx" : "?x";
        at += (size_t)snprintf(sizes + at, sizeof sizes - at, format, (long long)t->dims[i]);
    }
    return mlir_string(e, "tensor<%s%s>", sizes, mlir_scalar_type((dtype)t->dtype));
}

const char *mlir_type_of(emitter *e, const mlir_value *v) {
    if (v->kind == MLIR_TENSOR) return mlir_tensor_type(e, &v->type);
    if (v->kind == MLIR_TAPE) return mlir_scalar_type(DT_I64);
    return mlir_scalar_type((dtype)v->type.dtype);
}

/* ---- constants ---- */

/* A constant of this text, once a function, above everything that may use it. */
static const char *constant(emitter *e, const char *base, const char *literal) {
    const char *known = mlir_map_find(&e->f.known, literal);
    if (known != NULL) return known;
    const char *name = mlir_named(e, base);
    text_format(&e->f.constants, "  %s = arith.constant %s\n", name, literal);
    mlir_map_put(e, &e->f.known, literal, name);
    return name;
}

const char *mlir_index(emitter *e, int64_t n) {
    return constant(e, mlir_string(e, "c%lld", (long long)n), mlir_string(e, "%lld : index", (long long)n));
}

/* A float's digits with the point that MLIR wants; what has none as its bits. */
static void add_element(text *t, dtype dt, const void *p) {
    char digits[NUMBER_ROOM];
    double x = 0;
    uint64_t bits = 0;
    if (dt == DT_F32) {
        float f;
        uint32_t b;
        memcpy(&f, p, sizeof f);
        memcpy(&b, p, sizeof b);
        x = (double)f;
        bits = b;
    } else if (dt == DT_F64) {
        memcpy(&x, p, sizeof x);
        memcpy(&bits, p, sizeof bits);
    }
    if (!isfinite(x)) {
        text_format(t, dt == DT_F32 ? "0x%08llX" : "0x%016llX", (unsigned long long)bits);
        return;
    }
    size_t length = number_print(digits, dt, p);
    size_t whole = strcspn(digits, ".e");
    if (!dtype_floating(dt) || digits[whole] == '.') {
        text_add_bytes(t, digits, length);
    } else {
        text_format(t, "%.*s.0%s", (int)whole, digits, digits + whole);
    }
}

static const char *number_literal(emitter *e, dtype dt, const void *p) {
    text t;
    text_init(&t, e->c);
    add_element(&t, dt, p);
    if (dt != DT_Bool) text_format(&t, " : %s", mlir_scalar_type(dt));
    const char *literal = t.failed ? "" : mlir_string(e, "%s", text_data(&t));
    text_close(&t);
    return literal;
}

static const char *number_constant(emitter *e, const value *v) {
    dtype t = (dtype)v->dtype;
    const char *base = "cst";
    if (t == DT_Bool) base = v->as.b ? "true" : "false";
    if (dtype_integer(t)) base = mlir_string(e, "c%lld_%s", (long long)value_as_int(v), mlir_scalar_type(t));
    return constant(e, base, number_literal(e, t, &v->as));
}

const char *mlir_number(emitter *e, dtype t, double x) {
    value v = value_number(t, x);
    return number_constant(e, &v);
}

/* The entries of one axis and those behind it, as nested lists. */
static const char *add_entries(text *t, const tensor *x, int axis, const char *p) {
    if (axis == x->rank) {
        add_element(t, (dtype)x->dtype, p);
        return p;
    }
    text_add_char(t, '[');
    for (int64_t i = 0; i < x->dims[axis]; i++) {
        if (i > 0) text_add(t, ", ");
        add_entries(t, x, axis + 1, p + i * x->strides[axis] * (int64_t)dtype_size((dtype)x->dtype));
    }
    text_add_char(t, ']');
    return p;
}

/* mlir-translate-19 takes a constant whose entries are all -0 for one of zeros. */
static bool all_minus_zero(const tensor *x) {
    if (!dtype_floating((dtype)x->dtype) || x->size == 0 || !x->contiguous) return false;
    for (int64_t i = 0; i < x->size; i++) {
        double entry =
            x->dtype == DT_F32 ? (double)((const float *)x->data)[i] : ((const double *)x->data)[i];
        if (entry != 0.0 || !signbit(entry)) return false;
    }
    return true;
}

static mlir_value tensor_constant(emitter *e, const tensor *x) {
    op_type shape = {.dtype = x->dtype, .rank = x->rank};
    for (int i = 0; i < x->rank; i++) shape.dims[i] = x->dims[i];
    if (all_minus_zero(x)) return mlir_filled(e, &shape, mlir_number(e, (dtype)x->dtype, -0.0), NULL);
    text t;
    text_init(&t, e->c);
    text_add(&t, "dense<");
    if (x->size > 0 && x->strides[0] == 0 && x->rank == 1) {
        add_element(&t, (dtype)x->dtype, x->data);
    } else if (x->size > 0) {
        add_entries(&t, x, 0, x->data);
    }
    text_format(&t, "> : %s", mlir_tensor_type(e, &shape));
    const char *name = t.failed ? "" : constant(e, "cst", mlir_string(e, "%s", text_data(&t)));
    text_close(&t);
    return mlir_tensor_value(&shape, name);
}

mlir_value mlir_constant(emitter *e, const value *v) {
    if (v->kind == VALUE_TENSOR) return tensor_constant(e, v->as.t);
    if (v->kind != VALUE_NUMBER) return (mlir_value){.kind = MLIR_UNIT};
    mlir_value out = mlir_number_value(e, (dtype)v->dtype, number_constant(e, v));
    if (dtype_integer((dtype)v->dtype) && value_as_int(v) >= 0) out.dim = value_as_int(v);
    return out;
}
