/* Indexing: subscripts become the attributes of a slice, as in eval_index.c. */
#include "interp/mlir_emit.h"

static const mlir_hint no_hint;

/* A bound as a dim. A negative literal counts from the end; a computed one does not. */
static int64_t bound(emitter *e, const code *n, int64_t size, int64_t absent) {
    if (n == NULL) return absent;
    if (n->kind == CODE_CONSTANT) {
        int64_t at = value_as_int(&n->u.constant);
        return at < 0 ? mlir_dim_sub(e, size, -at) : at;
    }
    mlir_value v = mlir_code(e, n, no_hint);
    if (e->failed) return 0;
    return v.dim != MLIR_NO_DIM ? v.dim : mlir_dim_new(e, mlir_as_index(e, &v));
}

static void one_index(emitter *e, const index_axis *a, int axis, int64_t size, op_attrs *attrs) {
    int64_t at = bound(e, a->lo, size, 0);
    if (at < 0 || size < 0)
        mlir_assert_within(e, mlir_dim(e, at), mlir_dim(e, size));
    else if (at >= size)
        mlir_refuse(e, "index %lld is out of range for axis %d of size %lld", (long long)at, axis,
                    (long long)size);
    attrs->lo[axis] = at;
    attrs->dims[axis] = attrs->step[axis] = 1;
    attrs->drop |= (uint8_t)(1u << axis);
}

static void assert_at_most(emitter *e, int64_t at, int64_t size) {
    if (at == 0 || at == size || (at > 0 && at <= size)) return;
    const char *within = mlir_let(e, "arith.cmpi ule, %s, %s : index", mlir_dim(e, at), mlir_dim(e, size));
    mlir_assert(e, within, "index out of range");
}

/* How many entries from lo up to hi, `step` apart. */
static int64_t entries(emitter *e, int64_t lo, int64_t hi, int64_t stride) {
    if (lo >= 0 && hi >= 0) return hi <= lo ? 0 : (hi - lo - 1) / stride + 1;
    int64_t length = mlir_dim_sub(e, hi, lo);
    if (lo != 0) {
        const char *some = mlir_let(e, "arith.maxsi %s, %s : index", mlir_dim(e, length), mlir_index(e, 0));
        length = mlir_dim_new(e, some);
    }
    if (stride == 1) return length;
    const char *up = mlir_dim(e, mlir_dim_add(e, length, stride - 1));
    return mlir_dim_new(e, mlir_let(e, "arith.divsi %s, %s : index", up, mlir_index(e, stride)));
}

/* From lo down to but without hi; -1 as hi: to the first one. */
static void downwards(emitter *e, const index_axis *a, int axis, int64_t size, op_attrs *attrs) {
    int64_t stride = -attrs->step[axis], lo = bound(e, a->lo, size, size - 1), hi = bound(e, a->hi, size, -1);
    if (size < 0 || lo < 0 || (hi < 0 && a->hi != NULL)) {
        if (size != 0)
            mlir_refuse(
                e,
                "a slice with a negative step cannot be lowered to MLIR where only a run knows its bounds");
        lo = hi = 0;
    }
    if (size > 0 && (lo >= size || hi > size))
        mlir_refuse(e, "a bound of a slice of axis %d is out of range", axis);
    attrs->dims[axis] = lo <= hi ? 0 : (lo - hi - 1) / stride + 1;
    attrs->lo[axis] = attrs->dims[axis] == 0 ? 0 : lo;
}

static void one_range(emitter *e, const index_axis *a, int axis, int64_t size, op_attrs *attrs) {
    attrs->step[axis] = 1;
    if (a->step != NULL && a->step->kind != CODE_CONSTANT) {
        mlir_refuse(e, "a slice whose step only a run knows cannot be lowered to MLIR");
        return;
    }
    if (a->step != NULL) attrs->step[axis] = value_as_int(&a->step->u.constant);
    if (attrs->step[axis] < 0) {
        downwards(e, a, axis, size, attrs);
        return;
    }
    int64_t lo = bound(e, a->lo, size, 0), hi = bound(e, a->hi, size, size);
    assert_at_most(e, lo, size);
    assert_at_most(e, hi, size);
    attrs->dims[axis] = entries(e, lo, hi, attrs->step[axis]);
    attrs->lo[axis] = attrs->dims[axis] == 0 ? 0 : lo;
}

/* That `count` places from lo on, `stride` apart, lie within the axis; where there is none, any will do. */
void mlir_assert_slice(emitter *e, int axis, int64_t size, const op_attrs *attrs) {
    int64_t lo = attrs->lo[axis], count = attrs->dims[axis], stride = attrs->step[axis];
    if (lo >= 0 && count >= 0 && size >= 0) {
        if (!op_slice_fits(lo, count, stride, size))
            mlir_refuse(e, "a slice of axis %d is out of range", axis);
        return;
    }
    const char *first = mlir_dim(e, lo), *length = mlir_dim(e, size);
    const char *steps = mlir_let(e, "arith.subi %s, %s : index", mlir_dim(e, count), mlir_index(e, 1));
    const char *reach = mlir_let(e, "arith.muli %s, %s : index", steps, mlir_index(e, stride));
    const char *last = mlir_let(e, "arith.addi %s, %s : index", first, reach);
    const char *a = mlir_let(e, "arith.cmpi ult, %s, %s : index", first, length);
    const char *b = mlir_let(e, "arith.cmpi ult, %s, %s : index", last, length);
    const char *none = mlir_let(e, "arith.cmpi eq, %s, %s : index", mlir_dim(e, count), mlir_index(e, 0));
    const char *within = mlir_let(e, "arith.andi %s, %s : i1", a, b);
    mlir_assert(e, mlir_let(e, "arith.ori %s, %s : i1", within, none), "index out of range");
}

/* So many entries from lo on; those of `added`, where no count is given. */
static void one_stretch(emitter *e, const index_axis *a, int axis, int64_t size, const mlir_value *added,
                        op_attrs *attrs) {
    attrs->step[axis] = 1;
    if (a->step != NULL && a->step->kind != CODE_CONSTANT) {
        mlir_refuse(e, "a slice whose step only a run knows cannot be lowered to MLIR");
        return;
    }
    if (a->step != NULL) attrs->step[axis] = value_as_int(&a->step->u.constant);
    attrs->dims[axis] = a->count != NULL ? mlir_size(e, a->count) : added->type.dims[axis];
    attrs->lo[axis] = bound(e, a->lo, size, 0);
    if (!e->failed) mlir_assert_slice(e, axis, size, attrs);
    if (attrs->dims[axis] == 0) attrs->lo[axis] = 0;
}

static void one_axis(emitter *e, const code *n, int axis, int64_t size, const mlir_value *added,
                     op_attrs *attrs) {
    const index_axis *a = axis < n->u.index.count ? &n->u.index.axes[axis] : NULL;
    if (a == NULL) {
        attrs->dims[axis] = size;
        attrs->step[axis] = 1;
    } else if (a->stretch) {
        one_stretch(e, a, axis, size, added, attrs);
    } else if (a->range) {
        one_range(e, a, axis, size, attrs);
    } else {
        one_index(e, a, axis, size, attrs);
    }
}

mlir_value mlir_subscripts(emitter *e, const code *n, mlir_hint hint) {
    mlir_value in[2] = {mlir_code(e, n->u.index.base, no_hint)};
    int count = n->u.index.added != NULL ? 2 : 1;
    if (count == 2) in[1] = mlir_code(e, n->u.index.added, no_hint);
    op_attrs attrs = *n->u.index.attrs;
    attrs.rank = in[0].type.rank;
    for (int axis = 0; axis < in[0].type.rank && !e->failed; axis++) {
        one_axis(e, n, axis, in[0].type.dims[axis], &in[1], &attrs);
        e->where = n->where;
    }
    return mlir_op(e, count == 2 ? OP_slice_add : OP_slice, &attrs, count, in, hint);
}
