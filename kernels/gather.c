/* Gather and scatter along an axis. Indices are checked before anything is moved; scatters add in
 * the order of the indices, so that repeated ones always give the same bits. */
#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"

static bool index_fault(context *c, const op_call *call, int64_t index, int axis, int64_t size) {
    return error_set(&c->err, ERROR_K0503, call->where,
                     "index %lld is out of range for axis %d, which has size %lld",
                     (long long)index, axis, (long long)size);
}

/* The indices in row-major order as I64, each within [0, size); NULL with the error set. give_back
 * with indices_bytes. At least one is allocated, so that NULL always means failure. */
static size_t indices_bytes(const value *v) {
    return (size_t)(value_size(v) + 1) * sizeof(int64_t);
}

static int64_t *indices_read(context *c, const op_call *call, int axis, int64_t size) {
    const value *v = &call->in[1];
    int64_t n = value_size(v);
    int64_t *all = take(c, indices_bytes(v));
    if (all == NULL) return NULL;
    array x = array_of(v);
    if (x.t == DT_I64) {
        loop_copy(c, DT_I64, all, x.data, x.rank, x.dims, x.strides);
    } else {
        int32_t *narrow = (int32_t *)all + n; /* the upper half, widened from the front */
        loop_copy(c, DT_I32, narrow, x.data, x.rank, x.dims, x.strides);
        for (int64_t i = 0; i < n; i++) {
            int32_t index;
            memcpy(&index, narrow + i, sizeof index);
            all[i] = index;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (all[i] >= 0 && all[i] < size) continue;
        index_fault(c, call, all[i], axis, size);
        give_back(c, all, indices_bytes(v));
        return NULL;
    }
    return all;
}

/* The operand's elements row-major: its own when they are, else a copy kept in *made. */
static bool dense_operand(context *c, const value *v, const void **data, tensor **made) {
    *made = NULL;
    if (v->kind != VALUE_TENSOR) {
        *data = &v->as;
    } else if (v->as.t->contiguous) {
        *data = v->as.t->data;
    } else {
        *made = kernel_contiguous(c, v->as.t);
        if (*made == NULL) return false;
        *data = (*made)->data;
    }
    return true;
}

/* A tensor as [outer, size, inner] about an axis. */
typedef struct split {
    int64_t outer, size, inner;
} split;

static split split_at(const array *x, int axis) {
    split s = {1, x->dims[axis], 1};
    for (int i = 0; i < axis; i++) s.outer *= x->dims[i];
    for (int i = axis + 1; i < x->rank; i++) s.inner *= x->dims[i];
    return s;
}

static int axis_of(const op_call *call) {
    return call->attrs != NULL ? call->attrs->axis : 0;
}

static void add_entries(dtype t, void *to, const void *from, int64_t n) {
    lines_now()->reduce[REDUCE_SUM][t].join(to, from, (size_t)n);
}

bool gather_take_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    tensor *made = NULL;
    const void *data;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    split s = split_at(&x, axis_of(call));
    int64_t n = value_size(&call->in[1]);
    int64_t *indices = indices_read(c, call, axis_of(call), s.size);
    if (indices == NULL) return false;
    bool good = dense_operand(c, &call->in[0], &data, &made) && result_new(c, &type, &r);
    if (good) {
        size_t row = (size_t)s.inner * dtype_size(x.t);
        char *to = r.data;
        for (int64_t o = 0; o < s.outer; o++) {
            const char *from = (const char *)data + (size_t)(o * s.size) * row;
            for (int64_t i = 0; i < n; i++, to += row)
                memcpy(to, from + (size_t)indices[i] * row, row);
        }
        *out = r.v;
    }
    tensor_release(c, made);
    give_back(c, indices, indices_bytes(&call->in[1]));
    return good;
}

bool gather_scatter_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    tensor *made = NULL;
    const void *source;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    split s = split_at(&x, axis_of(call));
    int64_t n = value_size(&call->in[1]);
    int64_t *indices = indices_read(c, call, axis_of(call), s.size);
    if (indices == NULL) return false;
    bool good =
        dense_operand(c, &call->in[2], &source, &made) && result_onto(c, call, 0, &type, &r);
    if (good) {
        size_t row = (size_t)s.inner * dtype_size(x.t);
        const char *from = source;
        for (int64_t o = 0; o < s.outer; o++) {
            char *to = (char *)r.data + (size_t)(o * s.size) * row;
            for (int64_t i = 0; i < n; i++, from += row)
                add_entries(x.t, to + (size_t)indices[i] * row, from, s.inner);
        }
        *out = r.v;
    }
    tensor_release(c, made);
    give_back(c, indices, indices_bytes(&call->in[1]));
    return good;
}

bool gather_take_along_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    tensor *made = NULL;
    const void *data;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]), at = array_of(&call->in[1]);
    split s = split_at(&x, axis_of(call));
    int64_t n = at.dims[axis_of(call)];
    int64_t *indices = indices_read(c, call, axis_of(call), s.size);
    if (indices == NULL) return false;
    bool good = dense_operand(c, &call->in[0], &data, &made) && result_new(c, &type, &r);
    if (good) {
        size_t element = dtype_size(x.t);
        const int64_t *index = indices;
        char *to = r.data;
        for (int64_t o = 0; o < s.outer; o++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < s.inner; i++, index++, to += element) {
                    int64_t from = (o * s.size + *index) * s.inner + i;
                    memcpy(to, (const char *)data + (size_t)from * element, element);
                }
        *out = r.v;
    }
    tensor_release(c, made);
    give_back(c, indices, indices_bytes(&call->in[1]));
    return good;
}

bool gather_scatter_along_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    tensor *made = NULL;
    const void *source;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]), at = array_of(&call->in[1]);
    split s = split_at(&x, axis_of(call));
    int64_t n = at.dims[axis_of(call)];
    int64_t *indices = indices_read(c, call, axis_of(call), s.size);
    if (indices == NULL) return false;
    bool good =
        dense_operand(c, &call->in[2], &source, &made) && result_onto(c, call, 0, &type, &r);
    if (good) {
        size_t element = dtype_size(x.t);
        const int64_t *index = indices;
        const char *from = source;
        for (int64_t o = 0; o < s.outer; o++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < s.inner; i++, index++, from += element) {
                    int64_t to = (o * s.size + *index) * s.inner + i;
                    add_entries(x.t, (char *)r.data + (size_t)to * element, from, 1);
                }
        *out = r.v;
    }
    tensor_release(c, made);
    give_back(c, indices, indices_bytes(&call->in[1]));
    return good;
}

bool gather_one_hot_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    int64_t n = call->attrs->dims[0], count = value_size(&call->in[0]);
    /* indices_read looks at operand 1. */
    value twice[2] = {call->in[0], call->in[0]};
    op_call inner = *call;
    inner.in = twice;
    int64_t *indices = indices_read(c, &inner, x.rank, n);
    if (indices == NULL) return false;
    bool good = result_new(c, &type, &r);
    if (good) {
        float *p = r.data;
        memset(p, 0, (size_t)r.size * sizeof *p);
        for (int64_t i = 0; i < count; i++) p[i * n + indices[i]] = 1.0f;
        *out = r.v;
    }
    give_back(c, indices, indices_bytes(&call->in[0]));
    return good;
}
