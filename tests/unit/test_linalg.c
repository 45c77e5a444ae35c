/* Linear algebra against what defines it: products give back what was solved, inverted or factored;
 * a batch gives the bits of its matrices alone, with any number of threads; what fails is named. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/kernel.h"
#include "tests/unit/kernel_check.h"

enum { ORDER = 13, BATCH = 300 };

/* Random matrices, their diagonals raised, so that they are far from singular. */
static value regular(kernel_fixture *f, dtype t, int rank, const int64_t *dims) {
    value x = kernel_operand(f, t, rank, dims, LAYOUT_DENSE);
    int64_t n = dims[rank - 1];
    for (int64_t i = 0; i < value_size(&x); i++) {
        if (i / n % n != i % n) continue;
        if (t == DT_F32)
            ((float *)x.as.t->data)[i] += 10.0f * (float)n;
        else
            ((double *)x.as.t->data)[i] += 10.0 * (double)n;
    }
    return x;
}

/* a @ b is c, each to within the rounding of its type. */
static void check_product(kernel_fixture *f, const value *a, const value *b, const value *c,
                          double scale) {
    value product = kernel_do(f, OP_matmul, NULL, 2, (value[]){*a, *b});
    double unit = c->dtype == DT_F32 ? 0x1p-20 : 0x1p-48;
    ck_assert_int_eq(value_size(&product), value_size(c));
    for (int64_t i = 0; i < value_size(c); i++) {
        double off = fabs(kernel_double(&product, i) - kernel_double(c, i));
        ck_assert_msg(off <= unit * scale, "entry %d is off by %g", (int)i, off);
    }
    value_release(&f->c, product);
}

static value turned(kernel_fixture *f, const value *x) {
    op_attrs attrs = {.perm = {0, 2, 1}};
    return kernel_do(f, OP_permute, &attrs, 1, x);
}

static void check_type(kernel_fixture *f, dtype t, int64_t n) {
    int64_t dims[3] = {4, n, n}, right[3] = {4, n, 3};
    value a = regular(f, t, 3, dims), b = kernel_operand(f, t, 3, right, LAYOUT_TURNED);
    value x = kernel_do(f, OP_solve, NULL, 2, (value[]){a, b});
    check_product(f, &a, &x, &b, 10.0 * (double)n);
    value y = kernel_do(f, OP_inv, NULL, 1, &a), one;
    one = kernel_do(f, OP_matmul, NULL, 2, (value[]){a, y});
    for (int64_t i = 0; i < value_size(&one); i++)
        ck_assert(fabs(kernel_double(&one, i) - (double)(i / n % n == i % n)) <
                  (t == DT_F32 ? 1e-5 : 1e-12));
    for (int upper = 0; upper < 2; upper++) {
        op_attrs attrs = {.reversed = upper != 0};
        value side = kernel_do(f, OP_triangle, &attrs, 1, &a);
        value z = kernel_do(f, OP_solve_triangular, &attrs, 2, (value[]){a, b});
        check_product(f, &side, &z, &b, 10.0 * (double)n);
        kernel_release(f, 2, (value[]){side, z});
    }
    value back = turned(f, &a);
    value square = kernel_do(f, OP_matmul, NULL, 2, (value[]){a, back});
    value root = kernel_do(f, OP_cholesky, NULL, 1, &square), root_turned = turned(f, &root);
    check_product(f, &root, &root_turned, &square, 200.0 * (double)(n * n));
    kernel_release(f, 9, (value[]){a, b, x, y, one, back, square, root, root_turned});
}

START_TEST(products_give_back) {
    kernel_fixture f;
    kernel_open(&f);
    for (int64_t n = 1; n < 100; n += n < 8 ? 1 : 37) {
        check_type(&f, DT_F32, n);
        check_type(&f, DT_F64, n);
    }
    kernel_close(&f);
}
END_TEST

static value entry(kernel_fixture *f, const value *x, int64_t i) {
    op_attrs attrs = {.drop = 1, .lo = {i}, .dims = {1}};
    for (int axis = 0; axis < value_rank(x); axis++) {
        if (axis > 0) attrs.dims[axis] = x->as.t->dims[axis];
        attrs.step[axis] = 1;
    }
    return kernel_do(f, OP_slice, &attrs, 1, x);
}

START_TEST(a_batch_is_its_matrices) {
    static const op_id ops[] = {OP_inv,  OP_det, OP_logdet, OP_cofactor, OP_cofactor_slope,
                                OP_solve};
    const int64_t dims[3] = {BATCH, ORDER, ORDER};
    kernel_fixture f;
    kernel_open(&f);
    value in[2] = {regular(&f, DT_F64, 3, dims),
                   kernel_operand(&f, DT_F64, 3, dims, LAYOUT_STEPPED)};
    for (size_t k = 0; k < COUNT_OF(ops); k++) {
        int n = op_table[ops[k]].arity;
        f.c.threads = 3;
        value all = kernel_do(&f, ops[k], NULL, n, in);
        f.c.threads = 1;
        for (int64_t i = 0; i < BATCH; i += 13) {
            value one[2] = {entry(&f, &in[0], i), entry(&f, &in[1], i)};
            value alone = kernel_do(&f, ops[k], NULL, n, one), part = entry(&f, &all, i);
            ck_assert_msg(kernel_same(&alone, &part), "%s: matrix %d", op_table[ops[k]].name,
                          (int)i);
            kernel_release(&f, 4, (value[]){one[0], one[1], alone, part});
        }
        value_release(&f.c, all);
    }
    kernel_release(&f, 2, in);
    kernel_close(&f);
}
END_TEST

/* The cofactors of a matrix without an inverse, by their definition. */
START_TEST(cofactors_are_minors) {
    const int64_t dims[2] = {4, 4}, less[2] = {3, 3};
    kernel_fixture f;
    kernel_open(&f);
    for (int trial = 0; trial < 40; trial++) {
        value a = kernel_operand(&f, DT_F64, 2, dims, LAYOUT_DENSE);
        double *x = a.as.t->data;
        /* Of rank 3, then 2. */
        for (int k = 0; k < 4; k++) x[12 + k] = x[k] - 2 * x[4 + k];
        for (int k = 0; k < 4 && trial % 2 != 0; k++) x[8 + k] = x[k];
        value c = kernel_do(&f, OP_cofactor, NULL, 1, &a);
        for (int i = 0; i < 16; i++) {
            value minor = kernel_operand(&f, DT_F64, 2, less, LAYOUT_DENSE);
            for (int r = 0, to = 0; r < 16; r++)
                if (r / 4 != i / 4 && r % 4 != i % 4) ((double *)minor.as.t->data)[to++] = x[r];
            value det = kernel_do(&f, OP_det, NULL, 1, &minor);
            double sign = (i / 4 + i % 4) % 2 == 0 ? 1.0 : -1.0;
            ck_assert(fabs(kernel_double(&c, i) - sign * kernel_double(&det, 0)) < 1e-11);
            value_release(&f.c, minor);
        }
        kernel_release(&f, 2, (value[]){a, c});
    }
    kernel_close(&f);
}
END_TEST

START_TEST(failures_are_named) {
    const int64_t dims[4] = {2, 20, 2, 2};
    kernel_fixture f;
    kernel_open(&f);
    value a = regular(&f, DT_F32, 4, dims);
    float *x = a.as.t->data;
    for (int64_t i = 31 * 4; i < 33 * 4; i++) x[i] = 1.0f;
    f.c.threads = 3;
    ck_assert_int_eq(kernel_fails(&f, OP_inv, NULL, 1, &a), ERROR_K0520);
    ck_assert_int_eq(kernel_fails(&f, OP_logdet, NULL, 1, &a), ERROR_K0520);
    ck_assert_int_eq(kernel_fails(&f, OP_solve, NULL, 2, (value[]){a, a}), ERROR_K0520);
    ck_assert_int_eq(kernel_fails(&f, OP_cholesky, NULL, 1, &a), ERROR_K0521);
    value out, det = kernel_do(&f, OP_det, NULL, 1, &a);
    ck_assert(kernel_double(&det, 31) == 0.0 && kernel_double(&det, 33) != 0.0);
    op_call call = {.op = OP_inv, .n = 1, .in = &a};
    ck_assert(!door_perform(&f.c, &call, &out));
    ck_assert_str_eq(f.c.err.message,
                     "inv: matrix [1, 11] of its operand is singular: pivot 1 is 0");
    error_clear(&f.c.err);
    kernel_release(&f, 2, (value[]){a, det});
    kernel_close(&f);
}
END_TEST

Suite *suite_linalg(void);
Suite *suite_linalg(void) {
    Suite *s = suite_create("linalg");
    TCase *t = tcase_create("linalg");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, products_give_back);
    tcase_add_test(t, a_batch_is_its_matrices);
    tcase_add_test(t, cofactors_are_minors);
    tcase_add_test(t, failures_are_named);
    suite_add_tcase(s, t);
    return s;
}
