/* What the kernel suites share (kernel_check.h). */
#include "tests/unit/kernel_check.h"

#include <check.h>
#include <string.h>

#include "kernels/kernel.h"
#include "runtime/threads.h"

void kernel_open(kernel_fixture *f) {
    context_init(&f->c);
    kernel_install(&f->c);
    f->random = 88172645463325252u;
}

void kernel_close(kernel_fixture *f) {
    threads_close(&f->c);
    ck_assert_uint_eq(f->c.mem.live, 0);
    context_close(&f->c);
}

uint64_t kernel_random(kernel_fixture *f) {
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return f->random;
}

void kernel_random_element(kernel_fixture *f, dtype t, void *to) {
    double unit = (double)(kernel_random(f) >> 11) * 0x1p-53;
    int64_t whole = (int64_t)(kernel_random(f) % 19) - 9;
    switch (t) {
    case DT_F32: *(float *)to = (float)(unit * 8 - 4); break;
    case DT_F64: *(double *)to = unit * 8 - 4; break;
    case DT_I32: *(int32_t *)to = (int32_t)whole; break;
    case DT_I64: *(int64_t *)to = whole; break;
    case DT_Bool: *(bool *)to = unit < 0.5; break;
    case DTYPE_COUNT: break;
    }
}

static tensor *random_tensor(kernel_fixture *f, dtype t, int rank, const int64_t *dims) {
    tensor *made = tensor_new(&f->c, t, rank, dims);
    ck_assert_ptr_nonnull(made);
    for (int64_t i = 0; i < made->size; i++)
        kernel_random_element(f, t, (char *)made->data + (size_t)i * dtype_size(t));
    return made;
}

value kernel_operand(kernel_fixture *f, dtype t, int rank, const int64_t *dims, layout how) {
    if (rank == 0) {
        value v = {.kind = VALUE_NUMBER, .dtype = (uint8_t)t};
        kernel_random_element(f, t, &v.as);
        return v;
    }
    int64_t own[MAX_RANK], strides[MAX_RANK], offset = 0;
    for (int i = 0; i < rank; i++)
        own[i] = how == LAYOUT_TURNED
                     ? dims[rank - 1 - i]
                     : dims[i] * (how == LAYOUT_STEPPED) * 2 + dims[i] * (how == LAYOUT_DENSE);
    tensor *base = random_tensor(f, t, rank, own);
    if (how == LAYOUT_DENSE) return value_tensor(base);
    for (int i = 0; i < rank; i++)
        strides[i] = how == LAYOUT_TURNED ? base->strides[rank - 1 - i] : 2 * base->strides[i];
    if (how == LAYOUT_STEPPED) {
        strides[rank - 1] = -2;
        offset = own[rank - 1] > 0 ? own[rank - 1] - 1 : 0;
    }
    tensor *view = tensor_view(&f->c, base, offset, rank, dims, strides);
    ck_assert_ptr_nonnull(view);
    tensor_release(&f->c, base);
    return value_tensor(view);
}

value kernel_floats(kernel_fixture *f, int rank, const int64_t *dims, const float *x) {
    tensor *t = tensor_new(&f->c, DT_F32, rank, dims);
    ck_assert_ptr_nonnull(t);
    memcpy(t->data, x, (size_t)t->size * sizeof *x);
    return value_tensor(t);
}

value kernel_ints(kernel_fixture *f, int64_t n, const int64_t *x) {
    tensor *t = tensor_new(&f->c, DT_I64, 1, &n);
    ck_assert_ptr_nonnull(t);
    memcpy(t->data, x, (size_t)n * sizeof *x);
    return value_tensor(t);
}

value kernel_do(kernel_fixture *f, op_id op, const op_attrs *attrs, int n, const value *in) {
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in};
    value out = value_none();
    bool good = door_perform(&f->c, &call, &out);
    ck_assert_msg(good, "%s: %s", op_table[op].name, f->c.err.message);
    return out;
}

error_code kernel_fails(kernel_fixture *f, op_id op, const op_attrs *attrs, int n,
                        const value *in) {
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in, .where = {3, 7}};
    value out = value_none();
    ck_assert_msg(!door_perform(&f->c, &call, &out), "%s did not fail", op_table[op].name);
    error_code code = f->c.err.code;
    ck_assert_uint_eq(f->c.err.where.begin, 3);
    ck_assert_uint_eq(f->c.err.where.end, 7);
    error_clear(&f->c.err);
    return code;
}

const void *kernel_at_index(const value *v, const int64_t *index) {
    if (v->kind != VALUE_TENSOR) return &v->as;
    const tensor *t = v->as.t;
    int64_t offset = 0;
    for (int i = 0; i < t->rank; i++) offset += index[i] * t->strides[i];
    return (const char *)t->data + offset * (int64_t)dtype_size((dtype)t->dtype);
}

const void *kernel_at(const value *v, int64_t position) {
    int64_t index[MAX_RANK] = {0};
    for (int i = value_rank(v) - 1; i >= 0; i--) {
        index[i] = position % v->as.t->dims[i];
        position /= v->as.t->dims[i];
    }
    return kernel_at_index(v, index);
}

double kernel_double(const value *v, int64_t position) {
    const void *p = kernel_at(v, position);
    switch ((dtype)v->dtype) {
    case DT_F32: return (double)*(const float *)p;
    case DT_F64: return *(const double *)p;
    case DT_I32: return *(const int32_t *)p;
    case DT_I64: return (double)*(const int64_t *)p;
    case DT_Bool: return *(const bool *)p;
    case DTYPE_COUNT: break;
    }
    return 0.0;
}

bool kernel_same_element(dtype t, const void *a, const void *b) {
    if (memcmp(a, b, dtype_size(t)) == 0) return true;
    if (t == DT_F32) {
        float x = *(const float *)a, y = *(const float *)b;
        return x != x && y != y;
    }
    if (t == DT_F64) {
        double x = *(const double *)a, y = *(const double *)b;
        return x != x && y != y;
    }
    return false;
}

bool kernel_same(const value *a, const value *b) {
    if (a->kind != b->kind || a->dtype != b->dtype) return false;
    if (!shape_same(value_rank(a), value_dims(a), value_rank(b), value_dims(b))) return false;
    for (int64_t i = 0; i < value_size(a); i++)
        if (!kernel_same_element((dtype)a->dtype, kernel_at(a, i), kernel_at(b, i))) return false;
    return true;
}

void kernel_release(kernel_fixture *f, int n, value *in) {
    for (int k = 0; k < n; k++) value_release(&f->c, in[k]);
}

bool kernel_next(int rank, const int64_t *dims, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < dims[i]) return true;
        index[i] = 0;
    }
    return false;
}
