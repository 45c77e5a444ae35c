/* Ops that move elements: views, copies, slices, gather and scatter; and every allocation of every
 * family failing in turn. */
#include <check.h>
#include <string.h>

#include "tests/unit/kernel_check.h"

/* out[index] must be x[map(index)] bit by bit. */
typedef void index_map(const op_attrs *attrs, int rank, const int64_t *index, int64_t *from);

static void check_moved(const value *x, const value *out, const op_attrs *attrs, index_map *map) {
    int64_t index[MAX_RANK] = {0}, from[MAX_RANK] = {0};
    if (value_size(out) == 0) return;
    do {
        map(attrs, value_rank(x), index, from);
        if (!kernel_same_element((dtype)x->dtype, kernel_at_index(out, index),
                                 kernel_at_index(x, from)))
            ck_abort_msg("an element is not where it should be");
    } while (kernel_next(value_rank(out), value_dims(out), index));
}

static void map_permute(const op_attrs *attrs, int rank, const int64_t *index, int64_t *from) {
    for (int i = 0; i < rank; i++) from[attrs->perm[i]] = index[i];
}

static void map_slice(const op_attrs *attrs, int rank, const int64_t *index, int64_t *from) {
    for (int i = 0; i < rank; i++) {
        int64_t at = ((attrs->drop >> i) & 1) != 0 ? 0 : *index++;
        from[i] = attrs->lo[i] + at * attrs->step[i];
    }
}

static void map_broadcast(const op_attrs *attrs, int rank, const int64_t *index, int64_t *from) {
    for (int i = 0; i < rank; i++)
        from[i] = ((attrs->ones[0] >> i) & 1) != 0 ? 0 : index[attrs->rank - rank + i];
}

START_TEST(test_views) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {4, 1, 6};
    for (int how = 0; how < LAYOUTS; how++)
        for (int t = 0; t < DTYPE_COUNT; t++) {
            value x = kernel_operand(&f, (dtype)t, 3, dims, (layout)how);
            op_attrs turn = {.perm = {2, 0, 1}};
            op_attrs part = {.dims = {2, 1, 3}, .lo = {3, 0, 1}, .step = {-3, 1, 2}, .drop = 2};
            op_attrs wide = {.rank = 4, .dims = {2, 4, 3, 6}, .ones = {2, 0, 0}};
            op_attrs flat = {.rank = 2, .dims = {3, 8}}, axis = {.axis = 1};
            value a = kernel_do(&f, OP_permute, &turn, 1, &x);
            value b = kernel_do(&f, OP_slice, &part, 1, &x);
            value c = kernel_do(&f, OP_broadcast, &wide, 1, &x);
            value d = kernel_do(&f, OP_reshape, &flat, 1, &x);
            value e = kernel_do(&f, OP_squeeze, &axis, 1, &x);
            value g = kernel_do(&f, OP_expand_dims, &axis, 1, &e);
            check_moved(&x, &a, &turn, map_permute);
            check_moved(&x, &b, &part, map_slice);
            check_moved(&x, &c, &wide, map_broadcast);
            for (int64_t i = 0; i < 24; i++)
                ck_assert(kernel_same_element((dtype)t, kernel_at(&d, i), kernel_at(&x, i)));
            ck_assert_int_eq(value_rank(&e), 2);
            ck_assert(kernel_same(&g, &x));
            kernel_release(&f, 7, (value[]){x, a, b, c, d, e, g});
        }
    kernel_close(&f);
}
END_TEST

START_TEST(test_numbers_as_shapes) {
    kernel_fixture f;
    kernel_open(&f);
    value x = value_f64(2.5);
    op_attrs one = {.rank = 2, .dims = {1, 1}}, many = {.rank = 2, .dims = {2, 3}}, none = {0};
    value a = kernel_do(&f, OP_reshape, &one, 1, &x), b = kernel_do(&f, OP_reshape, &none, 1, &a);
    value c = kernel_do(&f, OP_broadcast, &many, 1, &x), d = kernel_do(&f, OP_full, &many, 1, &x);
    value e = kernel_do(&f, OP_full, &none, 1, &x), g = kernel_do(&f, OP_expand_dims, &none, 1, &x);
    ck_assert_int_eq(value_rank(&a), 2);
    ck_assert_int_eq(b.kind, VALUE_NUMBER);
    ck_assert_double_eq(b.as.f64, 2.5);
    ck_assert(kernel_same(&c, &d));
    ck_assert(d.as.t->contiguous && d.as.t->base == NULL);
    ck_assert_int_eq(e.kind, VALUE_NUMBER);
    ck_assert_int_eq(value_rank(&g), 1);
    op_attrs part = {.dims = {1, 1}, .lo = {1, 2}, .step = {1, 1}, .drop = 3};
    value h = kernel_do(&f, OP_slice, &part, 1, &c);
    ck_assert_int_eq(h.kind, VALUE_NUMBER);
    ck_assert_double_eq(h.as.f64, 2.5);
    value like[2] = {c, value_f32(1)}, ones = kernel_do(&f, OP_full_like, NULL, 2, like);
    ck_assert_int_eq(ones.dtype, DT_F32);
    ck_assert_double_eq(kernel_double(&ones, 5), 1);
    kernel_release(&f, 5, (value[]){a, c, d, g, ones});
    kernel_close(&f);
}
END_TEST

START_TEST(test_making) {
    kernel_fixture f;
    kernel_open(&f);
    op_attrs attrs = {.dims = {5}, .dtype = DT_I32};
    value a = kernel_do(&f, OP_arange, &attrs, 0, NULL);
    attrs.dtype = DT_F64;
    value e = kernel_do(&f, OP_eye, &attrs, 0, NULL);
    for (int64_t i = 0; i < 5; i++) ck_assert_double_eq(kernel_double(&a, i), (double)i);
    for (int64_t i = 0; i < 25; i++) ck_assert_double_eq(kernel_double(&e, i), i % 6 == 0);
    kernel_release(&f, 2, (value[]){a, e});
    attrs.dims[0] = INT64_MAX;
    ck_assert_int_eq(kernel_fails(&f, OP_eye, &attrs, 0, NULL), ERROR_K0511);
    kernel_close(&f);
}
END_TEST

START_TEST(test_slice_bounds) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2] = {3, 4};
    value x = kernel_operand(&f, DT_F32, 2, dims, LAYOUT_DENSE);
    op_attrs low = {.dims = {1, 4}, .lo = {-1, 0}, .step = {1, 1}};
    op_attrs high = {.dims = {3, 3}, .lo = {0, 1}, .step = {1, 2}};
    op_attrs none = {.dims = {3, 0}, .lo = {0, 4}, .step = {1, 1}};
    ck_assert_int_eq(kernel_fails(&f, OP_slice, &low, 1, &x), ERROR_K0503);
    ck_assert_int_eq(kernel_fails(&f, OP_slice, &high, 1, &x), ERROR_K0503);
    value empty = kernel_do(&f, OP_slice, &none, 1, &x);
    ck_assert_int_eq(value_size(&empty), 0);
    kernel_release(&f, 2, (value[]){x, empty});
    kernel_close(&f);
}
END_TEST

START_TEST(test_slice_add) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {4, 3, 6};
    for (int how = 0; how < LAYOUTS; how++)
        for (int t = 0; t <= DT_I64; t++) {
            op_attrs part = {.dims = {2, 1, 3}, .lo = {3, 2, 5}, .step = {-2, 1, -2}, .drop = 2};
            value in[2] = {kernel_operand(&f, (dtype)t, 3, dims, (layout)how)};
            value slice = kernel_do(&f, OP_slice, &part, 1, in);
            in[1] = kernel_operand(&f, (dtype)t, 2, value_dims(&slice), (layout)how);
            value out = kernel_do(&f, OP_slice_add, &part, 2, in);
            value want = kernel_do(&f, OP_add, NULL, 2, (value[]){slice, in[1]});
            value got = kernel_do(&f, OP_slice, &part, 1, &out);
            ck_assert(kernel_same(&want, &got));
            /* All other entries stay. */
            int64_t changed = 0;
            for (int64_t i = 0; i < value_size(&out); i++)
                changed += !kernel_same_element((dtype)t, kernel_at(&out, i), kernel_at(in, i));
            ck_assert_int_le(changed, value_size(&slice));
            kernel_release(&f, 6, (value[]){in[0], in[1], slice, out, want, got});
        }
    kernel_close(&f);
}
END_TEST

START_TEST(test_concat) {
    kernel_fixture f;
    kernel_open(&f);
    for (int axis = 0; axis < 3; axis++)
        for (int how = 0; how < LAYOUTS; how++) {
            int64_t dims[3] = {2, 3, 1}, at = 0;
            value in[5];
            for (int k = 0; k < 5; k++) {
                dims[axis] = k == 2 ? 0 : k + 1;
                in[k] = kernel_operand(&f, DT_I64, 3, dims, (layout)how);
            }
            value out = kernel_do(&f, OP_concat, &(op_attrs){.axis = (uint8_t)axis}, 5, in);
            for (int k = 0; k < 5; k++) {
                op_attrs part = {.step = {1, 1, 1}};
                memcpy(part.dims, value_dims(&in[k]), sizeof dims);
                part.lo[axis] = at;
                at += part.dims[axis];
                value back = kernel_do(&f, OP_slice, &part, 1, &out);
                ck_assert(kernel_same(&back, &in[k]));
                value_release(&f.c, back);
            }
            ck_assert_int_eq(value_dims(&out)[axis], at);
            kernel_release(&f, 5, in);
            value_release(&f.c, out);
        }
    kernel_close(&f);
}
END_TEST

START_TEST(test_take_and_scatter) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {2, 4, 3}, n = 6;
    for (int axis = 0; axis < 3; axis++)
        for (int how = 0; how < LAYOUTS; how++) {
            int64_t index[3] = {0}, at[6];
            for (int i = 0; i < 6; i++) at[i] = (int64_t)(kernel_random(&f) % (uint64_t)dims[axis]);
            op_attrs attrs = {.axis = (uint8_t)axis, .dtype = DT_I32};
            value in[3] = {kernel_operand(&f, DT_F64, 3, dims, (layout)how),
                           kernel_ints(&f, n, at)};
            value narrow = kernel_do(&f, OP_cast, &attrs, 1, &in[1]);
            value out = kernel_do(&f, OP_take, &attrs, 2, in);
            value again = kernel_do(&f, OP_take, &attrs, 2, (value[]){in[0], narrow});
            ck_assert(kernel_same(&out, &again));
            do {
                int64_t from[3] = {index[0], index[1], index[2]};
                from[axis] = at[index[axis]];
                ck_assert(kernel_same_element(DT_F64, kernel_at_index(&out, index),
                                              kernel_at_index(in, from)));
            } while (kernel_next(3, value_dims(&out), index));
            /* Scatter adds in index order: checked by adding one entry after the other. */
            in[2] = out;
            value all = kernel_do(&f, OP_scatter_add, &attrs, 3, in);
            value sum = value_retain(in[0]);
            for (int64_t i = 0; i < n; i++) {
                op_attrs row = {.step = {1, 1, 1}};
                memcpy(row.dims, dims, sizeof dims);
                row.dims[axis] = 1;
                row.lo[axis] = i;
                value entry = kernel_do(&f, OP_slice, &row, 1, &out);
                row.lo[axis] = at[i];
                value next = kernel_do(&f, OP_slice_add, &row, 2, (value[]){sum, entry});
                kernel_release(&f, 2, (value[]){sum, entry});
                sum = next;
            }
            ck_assert(kernel_same(&all, &sum));
            kernel_release(&f, 7, (value[]){in[0], in[1], narrow, out, again, all, sum});
        }
    kernel_close(&f);
}
END_TEST

START_TEST(test_along_axis) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2] = {3, 4}, picked[2] = {2, 4};
    for (int how = 0; how < LAYOUTS; how++) {
        value in[3] = {kernel_operand(&f, DT_F32, 2, dims, (layout)how)};
        tensor *t = tensor_new(&f.c, DT_I32, 2, picked);
        ck_assert_ptr_nonnull(t);
        for (int i = 0; i < 8; i++) ((int32_t *)t->data)[i] = i % 3;
        in[1] = value_tensor(t);
        op_attrs attrs = {.axis = 0};
        value out = kernel_do(&f, OP_take_along_axis, &attrs, 2, in);
        in[2] = out;
        value sum = kernel_do(&f, OP_scatter_along_axis, &attrs, 3, in);
        float want[12];
        for (int64_t i = 0; i < 12; i++) want[i] = *(const float *)kernel_at(in, i);
        for (int64_t i = 0; i < 8; i++) {
            float x = *(const float *)kernel_at(in, i % 3 * 4 + i % 4);
            ck_assert(*(const float *)kernel_at(&out, i) == x);
            want[i % 3 * 4 + i % 4] += x;
        }
        for (int64_t i = 0; i < 12; i++) ck_assert(*(const float *)kernel_at(&sum, i) == want[i]);
        kernel_release(&f, 4, (value[]){in[0], in[1], out, sum});
    }
    kernel_close(&f);
}
END_TEST

START_TEST(test_index_faults) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t n = 3;
    op_attrs attrs = {.dims = {3}};
    value x = kernel_operand(&f, DT_F32, 1, &n, LAYOUT_DENSE);
    value low = value_i32(-1), high = value_i64(3);
    ck_assert_int_eq(kernel_fails(&f, OP_take, &attrs, 2, (value[]){x, low}), ERROR_K0503);
    ck_assert_int_eq(kernel_fails(&f, OP_take, &attrs, 2, (value[]){x, high}), ERROR_K0503);
    ck_assert_int_eq(kernel_fails(&f, OP_one_hot, &attrs, 1, &high), ERROR_K0503);
    value two = value_i64(2), hot = kernel_do(&f, OP_one_hot, &attrs, 1, &two);
    ck_assert_double_eq(kernel_double(&hot, 2), 1);
    ck_assert_double_eq(kernel_double(&hot, 1), 0);
    value one = kernel_do(&f, OP_take, &attrs, 2, (value[]){x, two});
    ck_assert_int_eq(one.kind, VALUE_NUMBER);
    kernel_release(&f, 2, (value[]){x, hot});
    kernel_close(&f);
}
END_TEST

/* Each call again and again with its n-th allocation failing, until none fails: nothing may be
 * left. */
static void fail_each(kernel_fixture *f, op_id op, const op_attrs *attrs, int n, const value *in) {
    for (uint64_t k = 1;; k++) {
        size_t live = f->c.mem.live;
        op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in};
        value out = value_none();
        f->c.mem.fail_at = f->c.mem.requests + k;
        bool good = door_perform(&f->c, &call, &out);
        f->c.mem.fail_at = 0;
        if (good) {
            value_release(&f->c, out);
            ck_assert_uint_eq(f->c.mem.live, live);
            return;
        }
        ck_assert_int_ne(f->c.err.code, ERROR_NONE);
        ck_assert_uint_eq(f->c.mem.live, live);
        error_clear(&f->c.err);
    }
}

START_TEST(test_failing_allocations) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {3, 17, 11}, square[2] = {60, 60};
    value x[3] = {kernel_operand(&f, DT_F32, 3, dims, LAYOUT_STEPPED),
                  kernel_operand(&f, DT_F32, 3, dims, LAYOUT_TURNED),
                  kernel_operand(&f, DT_F32, 3, dims, LAYOUT_DENSE)};
    value m[3] = {kernel_operand(&f, DT_F64, 2, square, LAYOUT_STEPPED),
                  kernel_operand(&f, DT_F64, 2, square, LAYOUT_STEPPED),
                  kernel_operand(&f, DT_F64, 2, square, LAYOUT_STEPPED)};
    value number = value_f32(3), key = value_i64(1),
          indices = kernel_ints(&f, 2, (int64_t[]){1, 0});
    value i[3] = {x[0], indices, x[1]};
    op_attrs axis = {.axis = 1, .axes = 2, .perm = {2, 0, 1}, .lo = {1}, .step = {1, 1, 1}};
    op_attrs shape = {.rank = 2, .dims = {17, 33}, .dtype = DT_F32};
    op_attrs part = {.dims = {3, 17, 11}, .step = {1, 1, 1}};
    fail_each(&f, OP_exp, NULL, 1, x);
    fail_each(&f, OP_add, NULL, 2, x);
    fail_each(&f, OP_sum, &axis, 1, x);
    fail_each(&f, OP_argmax, &axis, 1, x);
    fail_each(&f, OP_logsumexp, &axis, 1, x);
    fail_each(&f, OP_softmax, &axis, 1, x);
    fail_each(&f, OP_shift, &axis, 1, x);
    fail_each(&f, OP_scan_linear, &axis, 2, x);
    fail_each(&f, OP_permute, &axis, 1, x);
    fail_each(&f, OP_reshape, &shape, 1, x);
    fail_each(&f, OP_broadcast, &shape, 1, &number);
    fail_each(&f, OP_concat, &axis, 3, x);
    fail_each(&f, OP_slice, &part, 1, x);
    fail_each(&f, OP_slice_add, &part, 2, x);
    fail_each(&f, OP_take, &axis, 2, i);
    fail_each(&f, OP_one_hot, &(op_attrs){.dims = {9}}, 1, &indices);
    fail_each(&f, OP_matmul, NULL, 2, m);
    fail_each(&f, OP_matmul_add, NULL, 3, m);
    fail_each(&f, OP_full, &shape, 1, &number);
    fail_each(&f, OP_random_normal, &shape, 1, &key);
    value picked = kernel_do(&f, OP_take, &axis, 2, i);
    i[2] = picked;
    fail_each(&f, OP_scatter_add, &axis, 3, i);
    kernel_release(&f, 8, (value[]){x[0], x[1], x[2], m[0], m[1], m[2], indices, picked});
    kernel_close(&f);
}
END_TEST

Suite *suite_shape(void);
Suite *suite_shape(void) {
    Suite *s = suite_create("shape");
    TCase *t = tcase_create("shape");
    tcase_add_test(t, test_views);
    tcase_add_test(t, test_numbers_as_shapes);
    tcase_add_test(t, test_making);
    tcase_add_test(t, test_slice_bounds);
    tcase_add_test(t, test_slice_add);
    tcase_add_test(t, test_concat);
    tcase_add_test(t, test_take_and_scatter);
    tcase_add_test(t, test_along_axis);
    tcase_add_test(t, test_index_faults);
    tcase_add_test(t, test_failing_allocations);
    suite_add_tcase(s, t);
    return s;
}
