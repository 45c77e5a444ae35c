/* Convolutions, their gradients and pooling against plain loops; the same bits for any number of
 * threads and any layout. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/kernel.h"
#include "tests/unit/kernel_check.h"

/* Two spatial axes; for one the first is of size 1. */
typedef struct window_case {
    int64_t n, groups, c, o; /* channels and filters of a group */
    int64_t in[2], window[2], stride[2], padding[2], dilation[2];
} window_case;

static const window_case cases[] = {
    {1, 1, 1, 1, {1, 5}, {1, 3}, {1, 1}, {0, 0}, {1, 1}},
    {2, 1, 3, 4, {6, 7}, {3, 2}, {1, 1}, {0, 0}, {1, 1}},
    {2, 3, 2, 2, {7, 6}, {3, 3}, {2, 1}, {1, 2}, {1, 2}},
    {3, 1, 5, 7, {9, 8}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {2, 4, 1, 1, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 2, 3, {2, 2}, {2, 2}, {3, 4}, {5, 6}, {2, 3}},
    {2, 1, 8, 12, {30, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {2, 2, 10, 4, {3, 700}, {2, 9}, {1, 2}, {0, 4}, {1, 1}},
    {1, 1, 600, 3, {4, 90}, {2, 1}, {1, 1}, {1, 0}, {1, 1}},
    {9, 1, 8, 8, {20, 20}, {5, 5}, {2, 2}, {2, 2}, {1, 1}},
};

/* The shapes of x, w and y, and what the ops are told. */
typedef struct shapes {
    int64_t x[4], w[4], y[4];
    op_attrs attrs;
} shapes;

static shapes shapes_of(const window_case *k) {
    shapes s = {.x = {k->n, k->groups * k->c}, .w = {k->groups * k->o, k->c}};
    s.y[0] = k->n;
    s.y[1] = k->groups * k->o;
    for (int i = 0; i < 2; i++) {
        s.x[2 + i] = k->in[i];
        s.w[2 + i] = k->window[i];
        s.attrs.step[i] = k->stride[i];
        s.attrs.lo[i] = k->padding[i];
        s.attrs.step[2 + i] = k->dilation[i];
        int64_t reach = (k->window[i] - 1) * k->dilation[i];
        s.y[2 + i] = (k->in[i] + 2 * k->padding[i] - reach - 1) / k->stride[i] + 1;
    }
    s.attrs.lo[2] = k->groups;
    s.attrs.rank = 4;
    return s;
}

static int64_t at(const int64_t *dims, int64_t a, int64_t b, int64_t c, int64_t d) {
    return ((a * dims[1] + b) * dims[2] + c) * dims[3] + d;
}

/* sums[i] and scales[i] of the result's entries: every product of two operands' entries once. */
static void plain(const window_case *k, const shapes *s, op_id op, const value *first,
                  const value *second, long double *sums, long double *scales) {
    int64_t i[4], taps = k->c * k->window[0] * k->window[1];
    for (int64_t yi = 0; yi < s->y[0] * s->y[1] * s->y[2] * s->y[3]; yi++) {
        i[3] = yi % s->y[3];
        i[2] = yi / s->y[3] % s->y[2];
        i[1] = yi / s->y[3] / s->y[2] % s->y[1];
        i[0] = yi / s->y[3] / s->y[2] / s->y[1];
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t kw = tap % k->window[1], kh = tap / k->window[1] % k->window[0];
            int64_t c = tap / k->window[1] / k->window[0];
            int64_t h = i[2] * k->stride[0] - k->padding[0] + kh * k->dilation[0];
            int64_t w = i[3] * k->stride[1] - k->padding[1] + kw * k->dilation[1];
            if (h < 0 || w < 0 || h >= k->in[0] || w >= k->in[1]) continue;
            int64_t xi = at(s->x, i[0], i[1] / k->o * k->c + c, h, w), wi = i[1] * taps + tap;
            int64_t from[2] = {op == OP_conv_input_grad ? yi : xi,
                               op == OP_conv_weight_grad ? yi : wi};
            int64_t to = op == OP_conv2d ? yi : op == OP_conv_input_grad ? xi : wi;
            long double p = (long double)kernel_double(first, from[0]);
            p *= (long double)kernel_double(second, from[1]);
            sums[to] += p;
            scales[to] += fabsl(p);
        }
    }
}

enum { ENTRIES_MOST = 400000 };
static long double sums[ENTRIES_MOST], scales[ENTRIES_MOST];

static void check_op(kernel_fixture *f, const window_case *k, op_id op, dtype t, layout how) {
    shapes s = shapes_of(k);
    value in[2], out, again;
    const int64_t *made = op == OP_conv2d ? s.y : op == OP_conv_input_grad ? s.x : s.w;
    in[0] = kernel_operand(f, t, 4, op == OP_conv_input_grad ? s.y : s.x, how);
    in[1] = kernel_operand(f, t, 4, op == OP_conv_weight_grad ? s.y : s.w, how);
    memcpy(s.attrs.dims, made, sizeof s.y);
    int64_t size = made[0] * made[1] * made[2] * made[3];
    ck_assert(size <= ENTRIES_MOST);
    memset(sums, 0, sizeof *sums * (size_t)size);
    memset(scales, 0, sizeof *scales * (size_t)size);
    plain(k, &s, op, &in[0], &in[1], sums, scales);
    f->c.threads = 1;
    out = kernel_do(f, op, &s.attrs, 2, in);
    f->c.threads = 3;
    again = kernel_do(f, op, &s.attrs, 2, in);
    ck_assert(kernel_same(&out, &again));
    value_release(&f->c, again);
    f->c.numerics = NUMERICS_REFERENCE;
    again = kernel_do(f, op, &s.attrs, 2, in);
    f->c.numerics = NUMERICS_FAST;
    double unit = t == DT_F32 ? 0x1p-21 : 0x1p-50;
    for (int64_t i = 0; i < value_size(&out); i++) {
        double near = fabs(kernel_double(&out, i) - (double)sums[i]);
        double nearer = fabs(kernel_double(&again, i) - (double)sums[i]);
        ck_assert_msg(near <= unit * (double)scales[i] * 8, "%s: entry %d is off by %g",
                      op_table[op].name, (int)i, near);
        double wide = t == DT_F32 ? 0x1p-44 : 0x1p-54; /* what the wider type adds up in */
        ck_assert(nearer <= unit * fabs((double)sums[i]) + wide * (double)scales[i]);
    }
    value_release(&f->c, out);
    value_release(&f->c, again);
    kernel_release(f, 2, in);
}

START_TEST(convolutions_and_gradients) {
    static const op_id ops[] = {OP_conv2d, OP_conv_input_grad, OP_conv_weight_grad};
    kernel_fixture f;
    kernel_open(&f);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t op = 0; op < COUNT_OF(ops); op++)
            for (int how = 0; how < LAYOUTS; how++) {
                /* The large ones in one layout each. */
                if (i >= 6 && how != (int)(i + op) % LAYOUTS) continue;
                check_op(&f, &cases[i], ops[op], (i + (size_t)how) % 2 == 0 ? DT_F32 : DT_F64,
                         (layout)how);
            }
    kernel_close(&f);
}
END_TEST

/* ---- pooling ---- */

static void check_pool(kernel_fixture *f, const window_case *k, dtype t, layout how) {
    shapes s = shapes_of(k);
    value in = kernel_operand(f, t, 4, s.x, how), out[3];
    for (int i = 0; i < 2; i++) s.attrs.step[2 + i] = k->window[i];
    f->c.threads = 3;
    out[0] = kernel_do(f, OP_max_pool2d, &s.attrs, 1, &in);
    out[1] = kernel_do(f, OP_max_pool_place, &s.attrs, 1, &in);
    out[2] = kernel_do(f, OP_avg_pool2d, &s.attrs, 1, &in);
    const int64_t *made = out[0].as.t->dims;
    for (int64_t i = 0; i < value_size(&out[0]); i++) {
        int64_t plane = i / made[3] / made[2], best = -1;
        int64_t h0 = i / made[3] % made[2] * k->stride[0] - k->padding[0];
        int64_t w0 = i % made[3] * k->stride[1] - k->padding[1];
        double sum = 0.0, top = -HUGE_VAL;
        for (int64_t h = h0; h < h0 + k->window[0]; h++)
            for (int64_t w = w0; w < w0 + k->window[1]; w++) {
                if (h < 0 || w < 0 || h >= k->in[0] || w >= k->in[1]) continue;
                double x = kernel_double(&in, (plane * k->in[0] + h) * k->in[1] + w);
                sum += x;
                if (x <= top) continue;
                top = x;
                best = h * k->in[1] + w;
            }
        sum /= (double)(k->window[0] * k->window[1]);
        ck_assert(kernel_double(&out[0], i) == top);
        ck_assert(*(const int64_t *)kernel_at(&out[1], i) == best);
        ck_assert(kernel_double(&out[2], i) == (t == DT_F32 ? (double)(float)sum : sum));
    }
    kernel_release(f, 3, out);
    kernel_release(f, 1, &in);
}

START_TEST(pooling) {
    static const window_case pools[] = {
        {2, 1, 3, 1, {6, 5}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
        {2, 1, 2, 1, {7, 6}, {3, 2}, {2, 1}, {1, 1}, {1, 1}},
        {1, 1, 1, 1, {1, 1}, {1, 1}, {3, 3}, {0, 0}, {1, 1}},
        {8, 1, 30, 1, {20, 30}, {3, 3}, {1, 2}, {1, 0}, {1, 1}},
    };
    kernel_fixture f;
    kernel_open(&f);
    for (size_t i = 0; i < COUNT_OF(pools); i++)
        for (int how = 0; how < LAYOUTS; how++) {
            check_pool(&f, &pools[i], DT_F32, (layout)how);
            check_pool(&f, &pools[i], DT_F64, (layout)how);
        }
    kernel_close(&f);
}
END_TEST

Suite *suite_windows(void);
Suite *suite_windows(void) {
    Suite *s = suite_create("windows");
    TCase *t = tcase_create("windows");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, convolutions_and_gradients);
    tcase_add_test(t, pooling);
    suite_add_tcase(s, t);
    return s;
}
