/* Sizes while MLIR is emitted: those of the text are themselves, those of a run are SSA values of type index.
 */
#include <string.h>

#include "interp/mlir_emit.h"

int64_t mlir_dim_new(emitter *e, const char *name) {
    mlir_function *f = &e->f;
    if (f->dim_count == f->dim_capacity) {
        int wider = f->dim_capacity == 0 ? 16 : 2 * f->dim_capacity;
        const char **grown = MLIR_ARRAY(e, const char *, wider);
        if (grown == NULL) return 0;
        if (f->dim_count > 0) memcpy(grown, f->dim_names, (size_t)f->dim_count * sizeof *grown);
        f->dim_names = grown;
        f->dim_capacity = wider;
    }
    f->dim_names[f->dim_count++] = name;
    return -(int64_t)f->dim_count;
}

const char *mlir_dim(emitter *e, int64_t dim) {
    if (dim >= 0) return mlir_index(e, dim);
    return dim >= -(int64_t)e->f.dim_count ? e->f.dim_names[-dim - 1] : "";
}

static int64_t combine(emitter *e, const char *op, int64_t a, int64_t b) {
    return mlir_dim_new(e, mlir_let(e, "arith.%s %s, %s : index", op, mlir_dim(e, a), mlir_dim(e, b)));
}

int64_t mlir_dim_add(emitter *e, int64_t a, int64_t b) {
    int64_t sum;
    if (a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, &sum)) return sum;
    if (a == 0 || b == 0) return a == 0 ? b : a;
    return combine(e, "addi", a, b);
}

int64_t mlir_dim_sub(emitter *e, int64_t a, int64_t b) {
    if (a >= 0 && b >= 0 && a >= b) return a - b;
    if (a == b || b == 0) return a == b ? 0 : a;
    return combine(e, "subi", a, b);
}

int64_t mlir_dim_mul(emitter *e, int64_t a, int64_t b) {
    int64_t product;
    if (a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, &product)) return product;
    if (a == 1 || b == 1) return a == 1 ? b : a;
    return combine(e, "muli", a, b);
}

/* ---- as the type rules ask ---- */

/* What only a run can tell is checked there. */
static dim_verdict compare(void *self, int64_t a, int64_t b) {
    emitter *e = self;
    if (a == b) return DIM_SAME;
    if (a >= 0 && b >= 0) return DIM_DIFFERENT;
    mlir_assert_equal(e, a, b, "shapes differ");
    return DIM_LATER;
}

static int64_t add(void *self, int64_t a, int64_t b) {
    return mlir_dim_add(self, a, b);
}

static int64_t sub(void *self, int64_t a, int64_t b) {
    return mlir_dim_sub(self, a, b);
}

static int64_t mul(void *self, int64_t a, int64_t b) {
    return mlir_dim_mul(self, a, b);
}

/* (size + 2 * padding - dilation * (window - 1) - 1) / stride + 1, where the window fits at all. */
static int64_t windows(void *self, int64_t size, int64_t window, int64_t stride, int64_t padding,
                       int64_t dilation) {
    emitter *e = self;
    int64_t reach = mlir_dim_mul(e, dilation, mlir_dim_sub(e, window, 1));
    int64_t free = mlir_dim_sub(e, mlir_dim_add(e, size, 2 * padding), mlir_dim_add(e, reach, 1));
    const char *fits = mlir_let(e, "arith.cmpi sge, %s, %s : index", mlir_dim(e, free), mlir_index(e, 0));
    mlir_assert(e, fits, "the window is larger than what it moves over");
    const char *steps = mlir_let(e, "arith.divsi %s, %s : index", mlir_dim(e, free), mlir_index(e, stride));
    return mlir_dim_add(e, mlir_dim_new(e, steps), 1);
}

dim_algebra mlir_algebra(emitter *e) {
    return (dim_algebra){
        .self = e, .compare = compare, .add = add, .sub = sub, .mul = mul, .windows = windows};
}

/* ---- numbers and dims ---- */

const char *mlir_as_index(emitter *e, const mlir_value *v) {
    if (v->dim != MLIR_NO_DIM) return mlir_dim(e, v->dim);
    return mlir_let(e, "arith.index_cast %s : %s to index", mlir_ssa(e, v), mlir_type_of(e, v));
}

int64_t mlir_dim_of(emitter *e, const mlir_value *v) {
    if (v->kind != MLIR_NUMBER) return 0;
    if (v->dim != MLIR_NO_DIM) return v->dim;
    const char *index = mlir_as_index(e, v);
    const char *ok = mlir_let(e, "arith.cmpi sge, %s, %s : index", index, mlir_index(e, 0));
    mlir_assert(e, ok, "a size cannot be negative");
    return mlir_dim_new(e, index);
}

mlir_value mlir_dim_number(emitter *e, int64_t dim, dtype t) {
    mlir_value out = mlir_number_value(e, t, NULL);
    out.dim = dim;
    if (dim >= 0) {
        value v = t == DT_I32 ? value_i32((int32_t)dim) : value_i64(dim);
        if (dtype_floating(t)) v = value_number(t, (double)dim);
        return mlir_constant(e, &v);
    }
    const char *index = mlir_dim(e, dim);
    if (dtype_floating(t)) {
        const char *wide = mlir_let(e, "arith.index_cast %s : index to i64", index);
        out.name = mlir_let(e, "arith.sitofp %s : i64 to %s", wide, mlir_scalar_type(t));
        out.dim = MLIR_NO_DIM;
        return out;
    }
    if (t == DT_I32) {
        const char *fits = mlir_let(e, "arith.cmpi sle, %s, %s : index", index, mlir_index(e, INT32_MAX));
        mlir_assert(e, fits, "a size is too large for I32");
    }
    out.name = mlir_let(e, "arith.index_cast %s : index to %s", index, mlir_scalar_type(t));
    return out;
}
