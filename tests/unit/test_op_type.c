/* The type rules: results and faults in a run, and dims that only the run can compare. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "runtime/op.h"
#include "runtime/tensor.h"

static op_type type(dtype t, int rank, ...) {
    op_type made = {.dtype = (uint8_t)t, .rank = (uint8_t)rank};
    __builtin_va_list list;
    __builtin_va_start(list, rank);
    for (int i = 0; i < rank; i++) made.dims[i] = __builtin_va_arg(list, int);
    __builtin_va_end(list);
    return made;
}

/* The result as "F32 [2, 3]", or the fault's kind and operands as "!3 0.1 1.0". */
static const char *result(op_id op, const op_attrs *attrs, int n, const op_type *in) {
    static char text[160];
    op_type out;
    op_fault fault;
    if (op_result_type(op, attrs, in, n, NULL, &out, &fault)) {
        char shape[100];
        shape_print(shape, sizeof shape, out.rank, out.dims);
        snprintf(text, sizeof text, "%s %s", dtype_name((dtype)out.dtype), shape);
    } else {
        snprintf(text, sizeof text, "!%d %d.%d %d.%d", (int)fault.kind, fault.a, fault.axis_a,
                 fault.b, fault.axis_b);
    }
    return text;
}

START_TEST(test_table) {
    for (int i = 0; i < OP_COUNT; i++) {
        const op_info *info = &op_table[i];
        ck_assert_ptr_nonnull(info->name);
        ck_assert_uint_gt(strlen(info->doc), 0);
        if (info->surface[0] != '\0')
            ck_assert_int_eq(op_find(info->surface, strlen(info->surface)), i);
    }
    ck_assert_int_eq(op_find("sums", 4), OP_COUNT);
    ck_assert_int_eq(op_find("sums", 3), OP_sum);
    ck_assert_int_eq(op_find("", 0), OP_COUNT);
}
END_TEST

START_TEST(test_broadcast) {
    op_attrs ones = {.ones = {1, 0, 0}};
    op_type a[2] = {type(DT_F32, 2, 1, 3), type(DT_F32, 2, 2, 3)};
    ck_assert_str_eq(result(OP_add, &ones, 2, a), "F32 [2, 3]");
    /* A dim that merely happens to be 1 does not stretch. */
    ck_assert_str_eq(result(OP_add, NULL, 2, a), "!3 0.0 1.0");
    op_type b[2] = {type(DT_F32, 1, 3), type(DT_F32, 2, 2, 3)};
    ck_assert_str_eq(result(OP_mul, NULL, 2, b), "F32 [2, 3]");
    op_type c[2] = {type(DT_F32, 0), type(DT_F32, 2, 0, 3)};
    ck_assert_str_eq(result(OP_lt, NULL, 2, c), "Bool [0, 3]");
    op_type d[2] = {type(DT_F32, 1, 3), type(DT_F64, 1, 3)};
    ck_assert_str_eq(result(OP_add, NULL, 2, d), "!2 0.0 1.0");
    op_type e[2] = {type(DT_I32, 1, 3), type(DT_I32, 1, 3)};
    ck_assert_str_eq(result(OP_pow, NULL, 2, e), "!1 0.0 0.0");
    ck_assert_str_eq(result(OP_rem, NULL, 2, e), "I32 [3]");
    op_type w[3] = {type(DT_Bool, 2, 2, 1), type(DT_F64, 0), type(DT_F64, 1, 5)};
    ck_assert_str_eq(result(OP_where, &(op_attrs){.ones = {2, 0, 0}}, 3, w), "F64 [2, 5]");
}
END_TEST

START_TEST(test_reductions) {
    op_type x = type(DT_F32, 3, 2, 0, 4);
    ck_assert_str_eq(result(OP_sum, &(op_attrs){.axes = 7}, 1, &x), "F32 []");
    ck_assert_str_eq(result(OP_sum, &(op_attrs){.axes = 2, .keepdims = true}, 1, &x),
                     "F32 [2, 1, 4]");
    ck_assert_str_eq(result(OP_max, &(op_attrs){.axes = 1}, 1, &x), "F32 [0, 4]");
    ck_assert_str_eq(result(OP_max, &(op_attrs){.axes = 2}, 1, &x), "!6 0.1 0.0");
    ck_assert_str_eq(result(OP_argmax, &(op_attrs){.axes = 4}, 1, &x), "I64 [2, 0]");
    ck_assert_str_eq(result(OP_sum, &(op_attrs){.axes = 8}, 1, &x), "!5 0.3 0.0");
    ck_assert_str_eq(result(OP_sum_to, &(op_attrs){.axes = 5, .drop = 1}, 1, &x), "F32 [0, 1]");
}
END_TEST

START_TEST(test_shapes) {
    op_type x = type(DT_I64, 2, 2, 6);
    op_attrs to = {.rank = 3, .dims = {3, 1, 4}};
    ck_assert_str_eq(result(OP_reshape, &to, 1, &x), "I64 [3, 1, 4]");
    to.dims[0] = 2;
    ck_assert_str_eq(result(OP_reshape, &to, 1, &x), "!7 0.0 0.0");
    ck_assert_str_eq(result(OP_permute, &(op_attrs){.perm = {1, 0}}, 1, &x), "I64 [6, 2]");
    ck_assert_str_eq(result(OP_permute, &(op_attrs){.perm = {1, 1}}, 1, &x), "!5 0.1 0.0");
    ck_assert_str_eq(result(OP_expand_dims, &(op_attrs){.axis = 2}, 1, &x), "I64 [2, 6, 1]");
    ck_assert_str_eq(result(OP_squeeze, &(op_attrs){.axis = 1}, 1, &x), "!7 0.1 0.0");
    op_attrs wide = {.rank = 3, .dims = {5, 2, 6}};
    ck_assert_str_eq(result(OP_broadcast, &wide, 1, &x), "I64 [5, 2, 6]");
    wide.dims[1] = 3;
    ck_assert_str_eq(result(OP_broadcast, &wide, 1, &x), "!7 0.0 0.0");
    op_type many[3] = {type(DT_F32, 2, 2, 3), type(DT_F32, 2, 2, 0), type(DT_F32, 2, 2, 4)};
    ck_assert_str_eq(result(OP_concat, &(op_attrs){.axis = 1}, 3, many), "F32 [2, 7]");
    ck_assert_str_eq(result(OP_concat, &(op_attrs){.axis = 0}, 3, many), "!3 0.1 1.1");
    op_attrs slice = {.dims = {1, 3}, .drop = 1};
    ck_assert_str_eq(result(OP_slice, &slice, 1, &x), "I64 [3]");
    op_type add[2] = {x, type(DT_I64, 1, 3)};
    ck_assert_str_eq(result(OP_slice_add, &slice, 2, add), "I64 [2, 6]");
}
END_TEST

START_TEST(test_gather_and_products) {
    op_type t[3] = {type(DT_F32, 2, 5, 6), type(DT_I32, 2, 2, 3), type(DT_F32, 3, 2, 3, 6)};
    ck_assert_str_eq(result(OP_take, &(op_attrs){.axis = 0}, 2, t), "F32 [2, 3, 6]");
    ck_assert_str_eq(result(OP_scatter_add, &(op_attrs){.axis = 0}, 3, t), "F32 [5, 6]");
    ck_assert_str_eq(result(OP_scatter_add, &(op_attrs){.axis = 1}, 3, t), "!7 2.0 2.0");
    ck_assert_str_eq(result(OP_one_hot, &(op_attrs){.dims = {7}}, 1, t + 1), "F32 [2, 3, 7]");
    op_type m[2] = {type(DT_F32, 3, 4, 2, 3), type(DT_F32, 2, 3, 5)};
    ck_assert_str_eq(result(OP_matmul, NULL, 2, m), "F32 [4, 2, 5]");
    op_type v[2] = {type(DT_F32, 1, 3), type(DT_F32, 1, 3)};
    ck_assert_str_eq(result(OP_matmul, NULL, 2, v), "F32 []");
    op_type u[2] = {type(DT_F32, 2, 2, 3), type(DT_F32, 1, 4)};
    ck_assert_str_eq(result(OP_matmul, NULL, 2, u), "!3 0.1 1.0");
    op_type add[3] = {type(DT_F64, 2, 2, 5), type(DT_F64, 2, 2, 3), type(DT_F64, 2, 3, 5)};
    ck_assert_str_eq(result(OP_matmul_add, NULL, 3, add), "F64 [2, 5]");
    op_type key = type(DT_I64, 0);
    op_attrs draw = {.rank = 1, .dims = {9}, .dtype = DT_F64};
    ck_assert_str_eq(result(OP_random_bits, &draw, 1, &key), "I32 [9]");
    ck_assert_str_eq(result(OP_random_normal, &draw, 1, &key), "F64 [9]");
}
END_TEST

START_TEST(test_words) {
    char text[200];
    op_type in[2] = {type(DT_F32, 2, 2, 3), type(DT_F32, 1, 4)}, out;
    op_fault fault;
    ck_assert(!op_result_type(OP_add, NULL, in, 2, NULL, &out, &fault));
    op_fault_describe(OP_add, in, 2, &fault, text, sizeof text);
    ck_assert_str_eq(text, "+: shapes [2, 3] and [4] differ in the last dim: 3 and 4");
    op_type x = type(DT_F32, 2, 2, 6);
    op_attrs to = {.rank = 1, .dims = {7}};
    ck_assert(!op_result_type(OP_reshape, &to, &x, 1, NULL, &out, &fault));
    op_fault_describe(OP_reshape, &x, 1, &fault, text, sizeof text);
    ck_assert_str_eq(text, "reshape takes 7 elements for the new shape, but the operand is F32 of "
                           "shape [2, 6]");
}
END_TEST

/* A toy algebra: negative dims are names, of which the even ones are only known in the run. */
static dim_verdict compare(void *self, int64_t a, int64_t b) {
    (void)self;
    return (a < 0 && a % 2 == 0) || (b < 0 && b % 2 == 0) ? DIM_LATER : DIM_DIFFERENT;
}
static int64_t combine(void *self, int64_t a, int64_t b) {
    (void)self;
    return -100 + a + b;
}

START_TEST(test_symbolic) {
    const dim_algebra algebra = {.compare = compare, .add = combine, .mul = combine};
    op_type in[2] = {type(DT_F32, 2, -2, -3), type(DT_F32, 2, 7, -3)}, out;
    op_fault fault;
    ck_assert(op_result_type(OP_add, NULL, in, 2, &algebra, &out, &fault));
    ck_assert_int_eq(out.dims[0], 7);
    ck_assert_int_eq(out.dims[1], -3);
    in[1].dims[1] = -5;
    ck_assert(!op_result_type(OP_add, NULL, in, 2, &algebra, &out, &fault));
    ck_assert_int_eq(fault.kind, FAULT_DIMS);
    in[1].dims[1] = -3;
    ck_assert(op_result_type(OP_concat, &(op_attrs){.axis = 0}, in, 2, &algebra, &out, &fault));
    ck_assert_int_eq(out.dims[0], -95);
}
END_TEST

Suite *suite_op_type(void);
Suite *suite_op_type(void) {
    Suite *s = suite_create("op_type");
    TCase *t = tcase_create("op_type");
    tcase_add_test(t, test_table);
    tcase_add_test(t, test_broadcast);
    tcase_add_test(t, test_reductions);
    tcase_add_test(t, test_shapes);
    tcase_add_test(t, test_gather_and_products);
    tcase_add_test(t, test_words);
    tcase_add_test(t, test_symbolic);
    suite_add_tcase(s, t);
    return s;
}
