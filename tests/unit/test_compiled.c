/* The compiled numerics against the loops that docs/numerics.md states, bit for bit, whatever the
 * layout and the number of threads. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/functions.h"
#include "tests/unit/kernel_check.h"

static void open_compiled(kernel_fixture *f) {
    kernel_open(f);
    f->c.numerics = NUMERICS_COMPILED;
}

/* ---- functions ---- */

/* An op of one or two operands against a function of libm or one written out, on a tensor and on
 * its first element as a number. */
#define CHECK_FUNCTION(P, T, D)                                                                    \
    static void P##_check(kernel_fixture *f, op_id op, T (*one)(T), T (*two)(T, T)) {              \
        int64_t dims[2] = {5, 13};                                                                 \
        int n = one != NULL ? 1 : 2;                                                               \
        for (int how = 0; how < LAYOUTS; how++) {                                                  \
            value in[2] = {kernel_operand(f, DT_##D, 2, dims, (layout)how),                        \
                           kernel_operand(f, DT_##D, 2, dims, LAYOUT_DENSE)};                      \
            value out = kernel_do(f, op, NULL, n, in);                                             \
            for (int64_t i = 0; i < value_size(&out); i++) {                                       \
                T x = *(const T *)kernel_at(&in[0], i), y = *(const T *)kernel_at(&in[1], i);      \
                T want = one != NULL ? one(x) : two(x, y);                                         \
                value numbers[2] = {value_##P(x), value_##P(y)};                                   \
                value got = kernel_do(f, op, NULL, n, numbers);                                    \
                if (!kernel_same_element(DT_##D, kernel_at(&out, i), &want) ||                     \
                    !kernel_same_element(DT_##D, &got.as, &want))                                  \
                    ck_abort_msg("%s differs at %.17g", op_table[op].name, (double)x);             \
            }                                                                                      \
            kernel_release(f, 3, (value[]){in[0], in[1], out});                                    \
        }                                                                                          \
    }
CHECK_FUNCTION(f32, float, F32)
CHECK_FUNCTION(f64, double, F64)

#define WRITTEN_OUT(P, T, F)                                                                       \
    static T P##_by_sigmoid(T x) {                                                                 \
        T e = exp##F(-fabs##F(x));                                                                 \
        return (x >= (T)0 ? (T)1 : e) / ((T)1 + e);                                                \
    }                                                                                              \
    static T P##_by_silu(T x) {                                                                    \
        return x * P##_by_sigmoid(x);                                                              \
    }                                                                                              \
    static T P##_by_softplus(T x) {                                                                \
        return (x > (T)0 ? x : (T)0) + log1p##F(exp##F(-fabs##F(x)));                              \
    }                                                                                              \
    static T P##_by_gelu(T x) {                                                                    \
        return (T)0.5 * x * erfc##F(x * (T)-0.70710678118654752440);                               \
    }                                                                                              \
    static T P##_by_rsqrt(T x) {                                                                   \
        return (T)1 / sqrt##F(x);                                                                  \
    }
WRITTEN_OUT(f32, float, f)
WRITTEN_OUT(f64, double, )

#define LIBM_ONE(op, unused, P, F) P##_check(&f, OP_##op, op##F, NULL);
#define LIBM_TWO(op, unused, P, F) P##_check(&f, OP_##op, NULL, op##F);
#define WRITTEN(op, P)             P##_check(&f, OP_##op, P##_by_##op, NULL);
#define EVERY_FUNCTION(P, F)                                                                       \
    PLAIN_FUNCTIONS(LIBM_ONE, P, F)                                                                \
    PATCHED_FUNCTIONS(LIBM_ONE, P, F)                                                              \
    LIBM_ONE(sqrt, , P, F)                                                                         \
    BINARY_FUNCTIONS(LIBM_TWO, P, F)                                                               \
    WRITTEN(sigmoid, P)                                                                            \
    WRITTEN(silu, P)                                                                               \
    WRITTEN(softplus, P)                                                                           \
    WRITTEN(gelu, P)                                                                               \
    WRITTEN(rsqrt, P)

START_TEST(functions_of_libm) {
    kernel_fixture f;
    open_compiled(&f);
    EVERY_FUNCTION(f32, f)
    EVERY_FUNCTION(f64, )
    kernel_close(&f);
}
END_TEST

/* ---- reductions and rows ---- */

enum { ROWS = 3, LONG = 700 };

#define LARGER(m, x)  ((m) > (x) || (m) != (m) ? (m) : (x))
#define SMALLER(m, x) ((m) < (x) || (m) != (m) ? (m) : (x))

/* One row by every op: what a reduction gives, or for the last five the whole row. */
#define CHECK_ROW(P, T, F)                                                                         \
    static T P##_row(op_id op, const T *x, int64_t n, T *row) {                                    \
        T sum = (T)0, product = (T)1, most = -(T)INFINITY, least = (T)INFINITY, exps = (T)0;       \
        T running = -(T)INFINITY, scaled = (T)0;                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            sum = sum + x[i];                                                                      \
            product = product * x[i];                                                              \
            most = LARGER(most, x[i]);                                                             \
            least = SMALLER(least, x[i]);                                                          \
            if (op == OP_cumsum) row[i] = sum;                                                     \
            if (op == OP_cumprod) row[i] = product;                                                \
            if (op != OP_logcumsumexp) continue;                                                   \
            if (x[i] > running)                                                                    \
                scaled = scaled * exp##F(running - x[i]) + (T)1, running = x[i];                   \
            else                                                                                   \
                scaled = scaled + (x[i] == running ? (T)1 : exp##F(x[i] - running));               \
            row[i] = running + log##F(scaled);                                                     \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) exps = exps + exp##F(x[i] - most);                         \
        for (int64_t i = 0; i < n && op == OP_softmax; i++) row[i] = exp##F(x[i] - most) / exps;   \
        for (int64_t i = 0; i < n && op == OP_log_softmax; i++)                                    \
            row[i] = x[i] - most - log##F(exps);                                                   \
        return op == OP_sum    ? sum                                                               \
               : op == OP_mean ? sum / (T)n                                                        \
               : op == OP_prod ? product                                                           \
               : op == OP_max  ? most                                                              \
               : op == OP_min  ? least                                                             \
                               : most + log##F(exps);                                               \
    }
CHECK_ROW(f32, float, f)
CHECK_ROW(f64, double, )

#define CHECK_ROWS(P, T, D)                                                                        \
    static void P##_check_rows(kernel_fixture *f, op_id op, bool whole, layout how) {              \
        int64_t dims[2] = {ROWS, LONG};                                                            \
        T x[LONG], row[LONG];                                                                      \
        value in = kernel_operand(f, DT_##D, 2, dims, how);                                        \
        value out = kernel_do(f, op, &(op_attrs){.axis = 1, .axes = 2}, 1, &in);                   \
        for (int64_t r = 0; r < ROWS; r++) {                                                       \
            for (int64_t i = 0; i < LONG; i++) x[i] = *(const T *)kernel_at(&in, r * LONG + i);    \
            T want = P##_row(op, x, LONG, row);                                                    \
            for (int64_t i = 0; i < (whole ? LONG : 1); i++)                                       \
                if (!kernel_same_element(DT_##D, kernel_at(&out, whole ? r * LONG + i : r),        \
                                         whole ? &row[i] : &want))                                 \
                    ck_abort_msg("%s of row %d differs at %d", op_table[op].name, (int)r, (int)i); \
        }                                                                                          \
        kernel_release(f, 2, (value[]){in, out});                                                  \
    }
CHECK_ROWS(f32, float, F32)
CHECK_ROWS(f64, double, F64)

START_TEST(loops_in_index_order) {
    static const op_id reduced[] = {OP_sum, OP_mean, OP_prod, OP_max, OP_min, OP_logsumexp};
    static const op_id along[] = {OP_softmax, OP_log_softmax, OP_cumsum, OP_cumprod,
                                  OP_logcumsumexp};
    kernel_fixture f;
    open_compiled(&f);
    for (int k = 0; k < LAYOUTS * 2; k++) {
        f.c.threads = 1 + k % 2 * 2;
        for (size_t i = 0; i < COUNT_OF(reduced) + COUNT_OF(along); i++) {
            bool whole = i >= COUNT_OF(reduced);
            op_id op = whole ? along[i - COUNT_OF(reduced)] : reduced[i];
            f32_check_rows(&f, op, whole, (layout)(k % LAYOUTS));
            f64_check_rows(&f, op, whole, (layout)(k % LAYOUTS));
        }
    }
    kernel_close(&f);
}
END_TEST

/* Of equal ones the last counts, so the order shows in the sign of a zero. */
START_TEST(zeros_of_max) {
    kernel_fixture f;
    open_compiled(&f);
    int64_t n = 3;
    value x = kernel_floats(&f, 1, &n, (float[]){0.0f, -0.0f, 0.0f});
    value y = kernel_floats(&f, 1, &n, (float[]){-0.0f, -0.0f, -0.0f});
    op_attrs all = {.axes = 1};
    value most = kernel_do(&f, OP_max, &all, 1, &x), sum = kernel_do(&f, OP_sum, &all, 1, &y);
    ck_assert(!signbit(most.as.f32) && !signbit(sum.as.f32));
    kernel_release(&f, 2, (value[]){x, y});
    kernel_close(&f);
}
END_TEST

/* ---- products and windows ---- */

START_TEST(products_by_plain_loops) {
    kernel_fixture f;
    open_compiled(&f);
    int64_t da[2] = {33, 65}, db[2] = {65, 47}, dc[2] = {33, 47};
    for (int how = 0; how < LAYOUTS; how++) {
        f.c.threads = 1 + how;
        value in[3] = {kernel_operand(&f, DT_F32, 2, dc, LAYOUT_DENSE),
                       kernel_operand(&f, DT_F32, 2, da, (layout)how),
                       kernel_operand(&f, DT_F32, 2, db, (layout)how)};
        value plain = kernel_do(&f, OP_matmul, NULL, 2, in + 1);
        value added = kernel_do(&f, OP_matmul_add, NULL, 3, in);
        for (int64_t i = 0; i < dc[0] * dc[1]; i++) {
            float c = 0.0f, acc = *(const float *)kernel_at(&in[0], i);
            for (int64_t k = 0; k < da[1]; k++) {
                float a = *(const float *)kernel_at(&in[1], i / dc[1] * da[1] + k);
                float b = *(const float *)kernel_at(&in[2], k * db[1] + i % dc[1]);
                c = c + a * b;
                acc = acc + a * b;
            }
            ck_assert(kernel_same_element(DT_F32, kernel_at(&plain, i), &c));
            ck_assert(kernel_same_element(DT_F32, kernel_at(&added, i), &acc));
        }
        kernel_release(&f, 5, (value[]){in[0], in[1], in[2], plain, added});
    }
    kernel_close(&f);
}
END_TEST

static float window_sum(const value *x, const value *w, int64_t channels, int64_t to) {
    float sum = 0.0f;
    for (int64_t tap = 0; tap < channels * 9; tap++) {
        int64_t row = to / 5 % 5 + tap / 3 % 3 - 1, column = to % 5 + tap % 3 - 1;
        if (row < 0 || column < 0 || row > 4 || column > 4) continue;
        int64_t plane = channels == 1 ? to / 25 : tap / 9;
        float at = *(const float *)kernel_at(x, plane * 25 + row * 5 + column);
        sum = sum +
              (w == NULL ? at : at * *(const float *)kernel_at(w, to / 25 * channels * 9 + tap));
    }
    return w == NULL ? sum / 9.0f : sum;
}

START_TEST(windows_by_plain_loops) {
    kernel_fixture f;
    open_compiled(&f);
    int64_t dx[4] = {1, 3, 5, 5}, dw[4] = {2, 3, 3, 3};
    op_attrs attrs = {.step = {1, 1, 1, 1}, .lo = {1, 1, 1}};
    value in[2] = {kernel_operand(&f, DT_F32, 4, dx, LAYOUT_TURNED),
                   kernel_operand(&f, DT_F32, 4, dw, LAYOUT_DENSE)};
    value conv = kernel_do(&f, OP_conv2d, &attrs, 2, in);
    attrs.step[2] = attrs.step[3] = 3;
    value pool = kernel_do(&f, OP_avg_pool2d, &attrs, 1, in);
    for (int64_t i = 0; i < 50; i++) {
        float want = window_sum(&in[0], &in[1], 3, i);
        ck_assert(kernel_same_element(DT_F32, kernel_at(&conv, i), &want));
    }
    for (int64_t i = 0; i < 75; i++) {
        float want = window_sum(&in[0], NULL, 1, i);
        ck_assert(kernel_same_element(DT_F32, kernel_at(&pool, i), &want));
    }
    kernel_release(&f, 4, (value[]){in[0], in[1], conv, pool});
    kernel_close(&f);
}
END_TEST

Suite *suite_compiled(void);
Suite *suite_compiled(void) {
    Suite *s = suite_create("compiled");
    TCase *t = tcase_create("compiled");
    tcase_add_test(t, functions_of_libm);
    tcase_add_test(t, loops_in_index_order);
    tcase_add_test(t, zeros_of_max);
    tcase_add_test(t, products_by_plain_loops);
    tcase_add_test(t, windows_by_plain_loops);
    suite_add_tcase(s, t);
    return s;
}
