/* Ops that only rearrange: views wherever strides allow, copies where not. */
#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"

static const op_attrs no_attrs;

/* A view of the operand, or the operand itself as a number. The result's reference is the caller's.
 */
static bool view_of(context *c, const op_call *call, const op_type *type, int64_t offset,
                    const int64_t *strides, value *out) {
    if (type->rank == 0) {
        array x = array_of(&call->in[0]);
        size_t element = dtype_size(x.t);
        *out = (value){.kind = VALUE_NUMBER, .dtype = type->dtype};
        memcpy(&out->as, (const char *)x.data + (ptrdiff_t)offset * (ptrdiff_t)element, element);
        return true;
    }
    tensor *t = tensor_view(c, call->in[0].as.t, offset, type->rank, type->dims, strides);
    if (t == NULL) return false;
    *out = value_tensor(t);
    return true;
}

/* A number spread over a shape: a tensor of one element, viewed with strides of 0. */
static bool spread_number(context *c, const op_call *call, const op_type *type, value *out) {
    static const int64_t one = 1, zero[MAX_RANK];
    if (type->rank == 0) {
        *out = call->in[0];
        out->index = 0;
        return true;
    }
    tensor *cell = tensor_new(c, (dtype)type->dtype, 1, &one);
    if (cell == NULL) return false;
    memcpy(cell->data, &call->in[0].as, dtype_size((dtype)type->dtype));
    tensor *t = tensor_view(c, cell, 0, type->rank, type->dims, zero);
    tensor_release(c, cell);
    if (t == NULL) return false;
    *out = value_tensor(t);
    return true;
}

static bool identity(const op_call *call, value *out) {
    *out = value_retain(call->in[0]);
    out->index = 0;
    return true;
}

static bool reshape(context *c, const op_call *call, const op_type *type, value *out) {
    int64_t strides[MAX_RANK];
    if (call->in[0].kind != VALUE_TENSOR) return spread_number(c, call, type, out);
    tensor *x = call->in[0].as.t;
    if (shape_same(x->rank, x->dims, type->rank, type->dims)) return identity(call, out);
    shape_strides(type->rank, type->dims, strides);
    if (x->contiguous || x->size == 0) return view_of(c, call, type, 0, strides, out);
    result r;
    if (!result_new(c, type, &r)) return false;
    loop_copy(c, (dtype)x->dtype, r.data, x->data, x->rank, x->dims, x->strides);
    *out = r.v;
    return true;
}

static bool permute(context *c, const op_call *call, const op_type *type, value *out) {
    int64_t strides[MAX_RANK];
    const op_attrs *attrs = call->attrs != NULL ? call->attrs : &no_attrs;
    bool moved = false;
    for (int i = 0; i < type->rank; i++) {
        strides[i] = call->in[0].as.t->strides[attrs->perm[i]];
        moved |= attrs->perm[i] != i;
    }
    return moved ? view_of(c, call, type, 0, strides, out) : identity(call, out);
}

static bool broadcast(context *c, const op_call *call, const op_type *type, value *out) {
    int64_t strides[MAX_RANK];
    if (call->in[0].kind != VALUE_TENSOR) return spread_number(c, call, type, out);
    const tensor *x = call->in[0].as.t;
    int lead = type->rank - x->rank;
    if (shape_same(x->rank, x->dims, type->rank, type->dims)) return identity(call, out);
    for (int i = 0; i < type->rank; i++) {
        int axis = i - lead;
        bool stretched = axis < 0 || x->dims[axis] != type->dims[i];
        strides[i] = stretched ? 0 : x->strides[axis];
    }
    return view_of(c, call, type, 0, strides, out);
}

/* expand_dims and squeeze: one axis of size 1 comes or goes. */
static bool one_axis(context *c, const op_call *call, const op_type *type, value *out) {
    int64_t strides[MAX_RANK] = {0};
    if (call->in[0].kind != VALUE_TENSOR) return spread_number(c, call, type, out);
    const tensor *x = call->in[0].as.t;
    int axis = call->attrs->axis, from = 0;
    if (call->op == OP_expand_dims) {
        for (int i = 0; i < type->rank; i++) {
            if (i != axis)
                strides[i] = x->strides[from++];
            else
                strides[i] = axis < x->rank ? x->strides[axis] * x->dims[axis] : 1;
        }
    } else {
        for (int i = 0; i < x->rank; i++)
            if (i != axis) strides[from++] = x->strides[i];
    }
    return view_of(c, call, type, 0, strides, out);
}

bool shape_perform(context *c, const op_call *call, value *out) {
    op_type type;
    if (op_table[call->op].class == CLASS_IDENTITY) return identity(call, out);
    if (!result_type(c, call, &type)) return false;
    switch ((op_class)op_table[call->op].class) {
    case CLASS_RESHAPE: return reshape(c, call, &type, out);
    case CLASS_BROADCAST: return broadcast(c, call, &type, out);
    case CLASS_PERMUTE:
        return call->in[0].kind == VALUE_TENSOR ? permute(c, call, &type, out)
                                                : identity(call, out);
    default: return one_axis(c, call, &type, out);
    }
}

/* ---- slices ---- */

/* Where the slice begins in x, and how it strides over each axis; false with K0503 when it leaves
 * x. */
static bool slice_walk(context *c, const op_call *call, const array *x, int64_t *offset,
                       int64_t *strides) {
    const op_attrs *attrs = call->attrs != NULL ? call->attrs : &no_attrs;
    *offset = 0;
    for (int i = 0; i < x->rank; i++) {
        int64_t count = attrs->dims[i], lo = attrs->lo[i];
        int64_t step = count > 1 ? attrs->step[i] : 1, last, size = x->dims[i];
        strides[i] = 0;
        if (count == 0) continue;
        bool wraps = __builtin_mul_overflow(count - 1, step, &last) ||
                     __builtin_add_overflow(last, lo, &last);
        if (lo < 0 || lo >= size || wraps || last < 0 || last >= size) {
            int64_t bad = lo < 0 || lo >= size ? lo : last;
            return error_set(&c->err, ERROR_K0503, call->where,
                             "index %lld is out of range for axis %d, which has size %lld",
                             (long long)bad, i, (long long)size);
        }
        *offset += lo * x->strides[i];
        strides[i] = step * x->strides[i];
    }
    return true;
}

bool shape_slice_perform(context *c, const op_call *call, value *out) {
    op_type type;
    int64_t offset, all[MAX_RANK] = {0}, strides[MAX_RANK] = {0};
    array x = array_of(&call->in[0]);
    if (!result_type(c, call, &type) || !slice_walk(c, call, &x, &offset, all)) return false;
    if (x.rank == 0) return identity(call, out);
    int rank = 0;
    int64_t size = 1;
    uint8_t drop = call->attrs != NULL ? call->attrs->drop : 0;
    for (int i = 0; i < x.rank; i++)
        if (((drop >> i) & 1) == 0) strides[rank++] = all[i];
    for (int i = 0; i < type.rank; i++) size = type.dims[i] == 0 ? 0 : size;
    return view_of(c, call, &type, size == 0 ? 0 : offset, strides, out);
}

#define ADD_INTO(name, T, U)                                                                       \
    static void name(void *const *p, const ptrdiff_t *s, size_t n) {                               \
        T *out = p[0];                                                                             \
        const T *in = p[1];                                                                        \
        for (size_t i = 0; i < n; i++, out += s[0], in += s[1]) *out = (T)((U)*out + (U)*in);      \
    }
ADD_INTO(add_f32, float, float)
ADD_INTO(add_f64, double, double)
ADD_INTO(add_i32, int32_t, uint32_t)
ADD_INTO(add_i64, int64_t, uint64_t)

#define ADD_LINE(P, D)                                                                             \
    static void add_line_##P(void *const *p, const ptrdiff_t *s, size_t n,                         \
                             const op_attrs *attrs) {                                              \
        (void)attrs;                                                                               \
        if (s[0] == 1 && s[1] == 1)                                                                \
            lines_now()->reduce[REDUCE_SUM][DT_##D].join(p[0], p[1], n);                           \
        else                                                                                       \
            add_##P(p, s, n);                                                                      \
    }
ADD_LINE(f32, F32)
ADD_LINE(f64, F64)
ADD_LINE(i32, I32)
ADD_LINE(i64, I64)

bool shape_slice_add_perform(context *c, const op_call *call, value *out) {
    static line_fn *const add_line[DTYPE_COUNT] = {[DT_F32] = add_line_f32,
                                                   [DT_F64] = add_line_f64,
                                                   [DT_I32] = add_line_i32,
                                                   [DT_I64] = add_line_i64};
    op_type type;
    result r;
    int64_t offset, strides[MAX_RANK] = {0}, dense[MAX_RANK] = {0};
    array acc = array_of(&call->in[0]), y = array_of(&call->in[1]);
    if (!result_type(c, call, &type)) return false;
    /* The slice lies in the result, which is dense whatever acc's layout. */
    shape_strides(type.rank, type.dims, dense);
    acc.strides = dense;
    if (!slice_walk(c, call, &acc, &offset, strides)) return false;
    if (!result_onto(c, call, 0, &type, &r)) return false;
    loop l = {.rank = acc.rank, .operands = 2};
    l.element[0] = l.element[1] = dtype_size(acc.t);
    l.data[0] = (char *)r.data + offset * (int64_t)l.element[0];
    l.data[1] = (void *)(uintptr_t)y.data;
    for (int i = 0, axis = 0; i < acc.rank; i++) {
        l.dims[i] = call->attrs->dims[i];
        l.strides[0][i] = strides[i];
        if (((call->attrs->drop >> i) & 1) == 0) l.strides[1][i] = y.strides[axis++];
    }
    loop_collapse(&l);
    loop_run(c, &l, add_line[acc.t], NULL);
    *out = r.v;
    return true;
}

/* ---- concat ---- */

bool shape_concat_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    int64_t dense[MAX_RANK];
    if (!result_type(c, call, &type) || !result_new(c, &type, &r)) return false;
    int axis = call->attrs != NULL ? call->attrs->axis : 0;
    shape_strides(type.rank, type.dims, dense);
    char *place = r.data;
    for (int k = 0; k < call->n; k++) {
        array x = array_of(&call->in[k]);
        loop_copy_into(c, x.t, place, dense, x.data, x.rank, x.dims, x.strides);
        place += x.dims[axis] * dense[axis] * (int64_t)dtype_size(x.t);
    }
    *out = r.v;
    return true;
}
