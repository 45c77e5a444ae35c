/* Matrix products against a triple loop: every form, layout and path; the same bits for any
 * threads. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/kernel.h"
#include "tests/unit/kernel_check.h"

typedef struct product_case {
    int rank[2];
    int64_t dims[2][4];
    uint8_t ones[2];
} product_case;

static const product_case cases[] = {
    {{1, 1}, {{4}, {4}}, {0, 0}},
    {{1, 1}, {{5000}, {5000}}, {0, 0}},
    {{1, 1}, {{0}, {0}}, {0, 0}},
    {{1, 2}, {{4}, {4, 3}}, {0, 0}},
    {{1, 2}, {{90}, {90, 70}}, {0, 0}},
    {{2, 1}, {{3, 4}, {4}}, {0, 0}},
    {{2, 1}, {{90, 70}, {70}}, {0, 0}},
    {{2, 2}, {{3, 4}, {4, 5}}, {0, 0}},
    {{2, 2}, {{1, 80}, {80, 50}}, {0, 0}},
    {{2, 2}, {{50, 80}, {80, 1}}, {0, 0}},
    {{2, 2}, {{70, 1}, {1, 90}}, {0, 0}},
    {{2, 2}, {{33, 47}, {47, 29}}, {0, 0}},
    {{2, 2}, {{300, 90}, {90, 200}}, {0, 0}},
    {{2, 2}, {{70, 130}, {130, 600}}, {0, 0}},
    {{2, 2}, {{3, 0}, {0, 4}}, {0, 0}},
    {{2, 2}, {{0, 3}, {3, 4}}, {0, 0}},
    {{3, 2}, {{5, 6, 7}, {7, 8}}, {0, 0}},
    {{3, 2}, {{5, 16, 17}, {17, 18}}, {0, 0}},
    {{3, 1}, {{5, 6, 7}, {7}}, {0, 0}},
    {{1, 3}, {{7}, {5, 7, 6}}, {0, 0}},
    {{2, 3}, {{6, 7}, {5, 7, 8}}, {0, 0}},
    {{3, 3}, {{5, 16, 17}, {5, 17, 18}}, {0, 0}},
    {{4, 3}, {{2, 1, 6, 7}, {5, 7, 8}}, {2, 0}},
    {{4, 4}, {{1, 3, 16, 17}, {2, 1, 17, 18}}, {1, 2}},
};

/* Checks out - acc against a @ b in long double; acc may be NULL. */
static void check_product(const product_case *p, const value *a, const value *b, const value *acc,
                          const value *out) {
    int ra = p->rank[0], rb = p->rank[1], rank = value_rank(out), matrix = (ra >= 2) + (rb >= 2);
    int64_t k = p->dims[0][ra - 1], index[MAX_RANK] = {0};
    double unit = out->dtype == DT_F32 ? 0x1p-22 : out->dtype == DT_F64 ? 0x1p-51 : 0;
    for (int64_t i = 0; i < value_size(out); i++) {
        int64_t in_a[MAX_RANK] = {0}, in_b[MAX_RANK] = {0};
        int batch = rank - matrix;
        for (int axis = 0; axis < batch; axis++) {
            int own_a = axis - (batch - (ra - 2)), own_b = axis - (batch - (rb - 2));
            if (ra > 2 && own_a >= 0) in_a[own_a] = p->dims[0][own_a] == 1 ? 0 : index[axis];
            if (rb > 2 && own_b >= 0) in_b[own_b] = p->dims[1][own_b] == 1 ? 0 : index[axis];
        }
        if (ra >= 2) in_a[ra - 2] = index[batch];
        if (rb >= 2) in_b[rb - 1] = index[rank - 1];
        long double sum = acc != NULL ? (long double)kernel_double(acc, i) : 0, scale = fabsl(sum);
        for (int64_t j = 0; j < k; j++) {
            in_a[ra - 1] = j;
            in_b[rb >= 2 ? rb - 2 : 0] = j;
            int64_t at_a = 0, at_b = 0;
            for (int axis = 0; axis < ra; axis++) at_a = at_a * p->dims[0][axis] + in_a[axis];
            for (int axis = 0; axis < rb; axis++) at_b = at_b * p->dims[1][axis] + in_b[axis];
            long double term =
                (long double)kernel_double(a, at_a) * (long double)kernel_double(b, at_b);
            sum += term;
            scale += fabsl(term);
        }
        if (fabsl((long double)kernel_double(out, i) - sum) > scale * (long double)unit * 4)
            ck_abort_msg("product at %lld: %g, not %Lg", (long long)i, kernel_double(out, i), sum);
        kernel_next(rank, value_dims(out), index);
    }
}

START_TEST(test_products) {
    kernel_fixture f;
    kernel_open(&f);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int t = 0; t <= DT_I64; t++)
            for (int how = 0; how < LAYOUTS * LAYOUTS; how++) {
                const product_case *p = &cases[i];
                bool large = p->dims[0][0] * p->dims[0][1] * p->dims[1][1] > 1000000;
                if (large && (how % 4 != 0 || t > DT_F64)) continue;
                op_attrs attrs = {.ones = {p->ones[0], p->ones[1], 0}};
                value in[2];
                for (int k = 0; k < 2; k++)
                    in[k] = kernel_operand(&f, (dtype)t, p->rank[k], p->dims[k],
                                           (layout)(k == 0 ? how / LAYOUTS : how % LAYOUTS));
                f.c.numerics = how % 2 == 1 && !large ? NUMERICS_REFERENCE : NUMERICS_FAST;
                f.c.threads = 1;
                value one = kernel_do(&f, OP_matmul, &attrs, 2, in);
                f.c.threads = 2;
                value two = kernel_do(&f, OP_matmul, &attrs, 2, in);
                if (!kernel_same(&one, &two)) ck_abort_msg("one thread and two differ");
                check_product(p, &in[0], &in[1], NULL, &one);
                kernel_release(&f, 4, (value[]){in[0], in[1], one, two});
            }
    kernel_close(&f);
}
END_TEST

START_TEST(test_accumulating) {
    kernel_fixture f;
    kernel_open(&f);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int t = 0; t <= DT_I64; t++)
            for (int how = 0; how < LAYOUTS; how++) {
                const product_case *p = &cases[i];
                bool large = p->dims[0][0] * p->dims[0][1] * p->dims[1][1] > 1000000;
                if (p->rank[0] < 2 || p->rank[1] < 2 || (large && how != 0)) continue;
                op_attrs plain = {.ones = {p->ones[0], p->ones[1], 0}};
                op_attrs attrs = {.ones = {0, p->ones[0], p->ones[1]}};
                value in[3] = {value_none(),
                               kernel_operand(&f, (dtype)t, p->rank[0], p->dims[0], (layout)how),
                               kernel_operand(&f, (dtype)t, p->rank[1], p->dims[1], LAYOUT_DENSE)};
                value shape = kernel_do(&f, OP_matmul, &plain, 2, in + 1);
                in[0] = kernel_operand(&f, (dtype)t, value_rank(&shape), value_dims(&shape),
                                       (layout)how);
                value out = kernel_do(&f, OP_matmul_add, &attrs, 3, in), reused;
                check_product(p, &in[1], &in[2], &in[0], &out);
                op_call call = {.op = OP_matmul_add, .n = 3, .spent = 1, .attrs = &attrs, .in = in};
                const void *buffer = in[0].as.t->data;
                bool sole = tensor_sole(in[0].as.t);
                ck_assert(door_perform(&f.c, &call, &reused));
                ck_assert((reused.as.t->data == buffer) == sole);
                if (!kernel_same(&out, &reused)) ck_abort_msg("a reused buffer changes the bits");
                kernel_release(&f, 6, (value[]){in[0], in[1], in[2], shape, out, reused});
            }
    kernel_close(&f);
}
END_TEST

/* A broadcast operand, such as the cotangent of a sum, and the accumulator as a factor of its own.
 */
START_TEST(test_odd_operands) {
    kernel_fixture f;
    kernel_open(&f);
    const product_case p = {{2, 2}, {{40, 40}, {40, 40}}, {0, 0}};
    value cell = value_f32(0.25f);
    op_attrs to = {.rank = 2, .dims = {40, 40}};
    value in[3];
    in[0] = kernel_operand(&f, DT_F32, 2, p.dims[0], LAYOUT_DENSE);
    in[1] = kernel_do(&f, OP_broadcast, &to, 1, &cell);
    in[2] = in[0];
    value out = kernel_do(&f, OP_matmul, NULL, 2, in);
    check_product(&p, &in[0], &in[1], NULL, &out);
    value want = kernel_do(&f, OP_matmul_add, NULL, 3, in), got;
    op_call call = {.op = OP_matmul_add, .n = 3, .spent = 1, .in = in};
    ck_assert(door_perform(&f.c, &call, &got));
    ck_assert(kernel_same(&want, &got));
    kernel_release(&f, 5, (value[]){in[0], in[1], out, want, got});
    ck_assert_ptr_nonnull(strstr(kernel_blas_name(&f.c), "OpenBLAS"));
    kernel_close(&f);
}
END_TEST

START_TEST(test_faults) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2][2] = {{2, 3}, {4, 5}};
    value in[2] = {kernel_operand(&f, DT_F32, 2, dims[0], LAYOUT_DENSE),
                   kernel_operand(&f, DT_F32, 2, dims[1], LAYOUT_DENSE)};
    ck_assert_int_eq(kernel_fails(&f, OP_matmul, NULL, 2, in), ERROR_K0502);
    kernel_release(&f, 2, in);
    kernel_close(&f);
}
END_TEST

Suite *suite_matmul(void);
Suite *suite_matmul(void) {
    Suite *s = suite_create("matmul");
    TCase *t = tcase_create("matmul");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_products);
    tcase_add_test(t, test_accumulating);
    tcase_add_test(t, test_odd_operands);
    tcase_add_test(t, test_faults);
    suite_add_tcase(s, t);
    return s;
}
