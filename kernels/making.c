/* Making tensors: full, full_like, arange, eye. */
#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"

static void fill(context *c, result *r, const value *number) {
    loop l = {.rank = 1, .operands = 2, .dims = {r->size}};
    size_t element = dtype_size((dtype)number->dtype);
    l.strides[0][0] = 1;
    l.data[0] = r->data;
    l.data[1] = (void *)(uintptr_t)&number->as;
    l.element[0] = l.element[1] = element;
    loop_run(c, &l, lines_now()->line[OP_identity][number->dtype], NULL);
}

static void fill_arange(result *r, dtype t) {
    if (t == DT_I32) {
        int32_t *p = r->data;
        for (int64_t i = 0; i < r->size; i++) p[i] = (int32_t)i;
    } else {
        int64_t *p = r->data;
        for (int64_t i = 0; i < r->size; i++) p[i] = i;
    }
}

static void fill_eye(result *r, dtype t, int64_t n) {
    size_t element = dtype_size(t);
    value one = value_number(t, 1.0);
    memset(r->data, 0, (size_t)r->size * element);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)r->data + (size_t)(i * (n + 1)) * element, &one.as, element);
}

bool making_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type)) return false;
    if (call->op == OP_arange && type.dtype == DT_I32 && type.dims[0] > (int64_t)INT32_MAX + 1)
        return error_set(&c->err, ERROR_K0511, call->where,
                         "arange counts beyond the range of I32");
    if (!result_new(c, &type, &r)) return false;
    switch (call->op) {
    case OP_full: fill(c, &r, &call->in[0]); break;
    case OP_full_like: fill(c, &r, &call->in[1]); break;
    case OP_arange: fill_arange(&r, (dtype)type.dtype); break;
    default: fill_eye(&r, (dtype)type.dtype, type.dims[0]); break;
    }
    *out = r.v;
    return true;
}
