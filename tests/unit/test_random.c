/* The random generator: published answers, layout, and the shape of the distributions. */
#include <check.h>
#include <math.h>

#include "kernels/functions.h"
#include "kernels/random.h"
#include "tests/unit/kernel_check.h"

/* The known-answer vectors of Random123 for threefry2x32 with 20 rounds. */
START_TEST(test_known_answers) {
    static const uint32_t cases[3][6] = {
        {0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
        {0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t x[2] = {cases[i][2], cases[i][3]};
        random_threefry(cases[i], x);
        ck_assert_uint_eq(x[0], cases[i][4]);
        ck_assert_uint_eq(x[1], cases[i][5]);
    }
}
END_TEST

/* Counters 0 … n-1 in two halves, an odd count filled up with a 0. */
START_TEST(test_layout) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t seed = 0x123456789ABCDEF;
    uint32_t key[2] = {0x1234567, 0x89ABCDEF};
    for (int64_t n = 0; n < 12; n++) {
        op_attrs attrs = {.rank = 1, .dims = {n}, .dtype = DT_I32};
        value in = value_i64(seed), bits = kernel_do(&f, OP_random_bits, &attrs, 1, &in);
        int64_t half = (n + 1) / 2;
        for (int64_t i = 0; i < n; i++) {
            int64_t block = i < half ? i : i - half;
            uint32_t x[2] = {(uint32_t)block, (uint32_t)(block + half < n ? block + half : 0)};
            random_threefry(key, x);
            uint32_t word = (uint32_t) * (const int32_t *)kernel_at(&bits, i);
            ck_assert_uint_eq(word, x[i >= half]);
            ck_assert_uint_eq(word, random_word(key, (uint64_t)n, (uint64_t)i));
        }
        value_release(&f.c, bits);
    }
    kernel_close(&f);
}
END_TEST

static void moments(const value *v, double *mean, double *variance) {
    double sum = 0, squares = 0, n = (double)value_size(v);
    for (int64_t i = 0; i < value_size(v); i++) {
        double x = kernel_double(v, i);
        sum += x;
        squares += x * x;
    }
    *mean = sum / n;
    *variance = squares / n - *mean * *mean;
}

START_TEST(test_distributions) {
    kernel_fixture f;
    kernel_open(&f);
    for (int k = 0; k < 4; k++) {
        op_id op = k < 2 ? OP_random_uniform : OP_random_normal;
        op_attrs attrs = {.rank = 2, .dims = {100, 101}, .dtype = k % 2 == 0 ? DT_F32 : DT_F64};
        double mean, variance;
        value in = value_i64(42), x = kernel_do(&f, op, &attrs, 1, &in);
        value again = kernel_do(&f, op, &attrs, 1, &in);
        ck_assert(kernel_same(&x, &again));
        moments(&x, &mean, &variance);
        ck_assert_double_lt(fabs(mean - (k < 2 ? 0.5 : 0.0)), 0.03);
        ck_assert_double_lt(fabs(variance - (k < 2 ? 1.0 / 12 : 1.0)), 0.04);
        for (int64_t i = 0; k < 2 && i < value_size(&x); i++) {
            ck_assert_double_ge(kernel_double(&x, i), 0.0);
            ck_assert_double_lt(kernel_double(&x, i), 1.0);
        }
        value_release(&f.c, x);
        value_release(&f.c, again);
    }
    kernel_close(&f);
}
END_TEST

/* Normal numbers invert erf: erf(x / sqrt 2) is the uniform number of the same word. */
START_TEST(test_normal_inverts_erf) {
    kernel_fixture f;
    kernel_open(&f);
    op_attrs attrs = {.rank = 1, .dims = {5000}, .dtype = DT_F32};
    value in = value_i64(7), x = kernel_do(&f, OP_random_normal, &attrs, 1, &in);
    value u = kernel_do(&f, OP_random_uniform, &attrs, 1, &in);
    for (int64_t i = 0; i < 5000; i++) {
        double want = kernel_double(&u, i) * 2 - 1;
        ck_assert_double_lt(fabs(erf(kernel_double(&x, i) / sqrt(2.0)) - want), 1e-6);
    }
    for (double y = -0.999; y < 1; y += 0.01)
        ck_assert_double_lt(fabs(erf(special_erfinv(y)) - y), 4e-16);
    ck_assert_double_lt(fabs(erfc(special_erfinv(1 - 0x1p-52)) / 0x1p-52 - 1), 1e-13);
    value_release(&f.c, x);
    value_release(&f.c, u);
    kernel_close(&f);
}
END_TEST

/* What JAX's documentation prints for random.normal(random.PRNGKey(0), (10,)). */
START_TEST(test_as_jax_draws) {
    static const double printed[] = {-0.3721109, 0.26423115,  -0.18252768, -0.7368197, -0.44030377,
                                     -0.1521442, -0.67135346, -0.5908641,  0.73168886, 0.5673026};
    kernel_fixture f;
    kernel_open(&f);
    op_attrs attrs = {.rank = 1, .dims = {10}, .dtype = DT_F32};
    value in = value_i64(0), x = kernel_do(&f, OP_random_normal, &attrs, 1, &in);
    for (int64_t i = 0; i < 10; i++)
        ck_assert_double_lt(fabs(kernel_double(&x, i) - printed[i]), 2e-7);
    value_release(&f.c, x);
    kernel_close(&f);
}
END_TEST

Suite *suite_random(void);
Suite *suite_random(void) {
    Suite *s = suite_create("random");
    TCase *t = tcase_create("random");
    tcase_add_test(t, test_known_answers);
    tcase_add_test(t, test_layout);
    tcase_add_test(t, test_distributions);
    tcase_add_test(t, test_normal_inverts_erf);
    tcase_add_test(t, test_as_jax_draws);
    suite_add_tcase(s, t);
    return s;
}
