/* Elementwise kernels: one set of bits for numbers, tails and every instruction set; accuracy;
 * broadcasting; reuse of buffers; failing allocations. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/exact.h"
#include "kernels/functions.h"
#include "kernels/kernel.h"
#include "kernels/lines.h"
#include "tests/unit/kernel_check.h"

enum { SAMPLES = 4099 };

/* Arguments of every kind: special values, random bits, small and large numbers. */
static double sample(kernel_fixture *f, dtype t) {
    static const double special[] = {0.0,    -0.0,   1.0,    -1.0,    0.5,  -2.0, 3.0,
                                     88.8,   -104.0, 125.0,  709.9,   1e10, 4e4,  1e-40,
                                     -1e-42, 1e-310, 3.3e38, 1.7e308, 1e200};
    uint64_t word = kernel_random(f);
    double unit = (double)(word >> 11) * 0x1p-53;
    switch (kernel_random(f) % 8) {
    case 0: return special[word % COUNT_OF(special)];
    case 1:
        return word % 3 == 0 ? (double)NAN : word % 3 == 1 ? (double)INFINITY : -(double)INFINITY;
    case 2: return unit * 2 - 1;
    case 3: return unit * 2000 - 1000;
    case 4: return ldexp(unit - 0.5, (int)(word % 120) - 60);
    case 5: {
        double x;
        float narrow;
        uint32_t half = (uint32_t)word;
        memcpy(&x, &word, sizeof x);
        memcpy(&narrow, &half, sizeof narrow);
        return t == DT_F32 ? (double)narrow : x;
    }
    default: return unit * 40 - 20;
    }
}

static void sample_element(kernel_fixture *f, dtype t, void *to) {
    if (t == DT_F32)
        *(float *)to = (float)sample(f, t);
    else if (t == DT_F64)
        *(double *)to = sample(f, t);
    else if (dtype_integer(t) && kernel_random(f) % 4 == 0)
        memcpy(to, (uint64_t[]){kernel_random(f) % 2 == 0 ? kernel_random(f) : 1u << 31},
               dtype_size(t));
    else
        kernel_random_element(f, t, to);
}

static int op_operands(op_id op) {
    return op_table[op].arity;
}

static bool elementwise(op_id op) {
    return op_table[op].class <= CLASS_TERNARY_NUMERIC && op_table[op].class != CLASS_IDENTITY;
}

/* Line functions of one table against number functions, on misaligned stretches of every length. */
static void compare_lines(kernel_fixture *f, op_id op, dtype t, line_fn *line, number_fn *number,
                          const op_attrs *attrs) {
    static _Alignas(64) uint64_t in[3][SAMPLES], out[SAMPLES];
    int n = op_operands(op);
    dtype first = op_table[op].class == CLASS_WHERE ? DT_Bool : t;
    for (int k = 0; k < n; k++) {
        dtype own = k == 0 ? first : t;
        for (size_t i = 0; i < SAMPLES; i++)
            sample_element(f, own, (char *)in[k] + i * dtype_size(own));
    }
    /* Lengths 1, 2, 3 … from moving starts; strides 1, then 2, then a number as last operand. */
    for (int pattern = 0; pattern < 3; pattern++) {
        for (size_t from = 0, length = 1; from + 2 * length < SAMPLES; from += length, length++) {
            void *p[4] = {out};
            ptrdiff_t s[4] = {1, 1, 1, 1};
            for (int k = 0; k < n; k++) {
                dtype own = k == 0 ? first : t;
                p[k + 1] = (char *)in[k] + from * dtype_size(own);
                s[k + 1] = pattern == 1 ? 2 : 1;
            }
            if (pattern == 2) s[n] = 0;
            line(p, s, length, attrs);
            for (size_t i = 0; i < length; i++) {
                value v[3];
                for (int k = 0; k < n; k++) {
                    dtype own = k == 0 ? first : t;
                    v[k] = (value){.kind = VALUE_NUMBER, .dtype = (uint8_t)own};
                    memcpy(&v[k].as,
                           (char *)p[k + 1] + (ptrdiff_t)i * s[k + 1] * (ptrdiff_t)dtype_size(own),
                           dtype_size(own));
                }
                value want = number(v, attrs);
                const char *got = (const char *)out + i * dtype_size((dtype)want.dtype);
                if (kernel_same_element((dtype)want.dtype, got, &want.as)) continue;
                ck_abort_msg("%s %s: element %zu of %zu, arguments %a, %a", op_table[op].name,
                             dtype_name(t), i, length, value_as_double(&v[0]),
                             n > 1 ? value_as_double(&v[1]) : 0.0);
            }
        }
    }
}

START_TEST(test_same_bits_everywhere) {
    kernel_fixture f;
    kernel_open(&f);
    const line_table *tables[4] = {&lines_base};
    int count = 1;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        tables[count++] = &lines_avx2;
    if (count == 2 && __builtin_cpu_supports("avx512f")) tables[count++] = &lines_avx512;
    for (int op = 0; op < OP_COUNT; op++) {
        for (int t = 0; t < DTYPE_COUNT; t++) {
            if (!elementwise((op_id)op) || number_table[op][t] == NULL) continue;
            for (int target = 0; target < (op == OP_cast ? DTYPE_COUNT : 1); target++) {
                op_attrs attrs = {.dtype = (uint8_t)target, .axis = 2};
                for (int k = 0; k < count; k++) {
                    line_fn *line = tables[k]->line[op][t];
                    if (line == NULL) continue;
                    compare_lines(&f, (op_id)op, (dtype)t, line, number_table[op][t], &attrs);
                }
                if (line_reference[op][t] != NULL)
                    compare_lines(&f, (op_id)op, (dtype)t, line_reference[op][t],
                                  number_reference[op][t], &attrs);
            }
        }
    }
    kernel_close(&f);
}
END_TEST

/* Every elementwise op has a function for each dtype that its class takes, on numbers and on lines.
 */
START_TEST(test_tables_have_no_holes) {
    kernel_fixture f;
    kernel_open(&f);
    for (int op = 0; op < OP_COUNT; op++) {
        for (int t = 0; t < DTYPE_COUNT && elementwise((op_id)op); t++) {
            op_type in[3], out;
            op_fault fault;
            for (int k = 0; k < 3; k++) in[k] = (op_type){.dtype = (uint8_t)t};
            if (op == OP_where) in[0].dtype = DT_Bool;
            bool takes =
                op_result_type((op_id)op, NULL, in, op_operands((op_id)op), NULL, &out, &fault);
            ck_assert_msg(takes == (numbers_find(&f.c, (op_id)op, (dtype)t) != NULL), "%s %s",
                          op_table[op].name, dtype_name((dtype)t));
            ck_assert_msg(takes == (lines_find(&f.c, (op_id)op, (dtype)t) != NULL), "%s %s",
                          op_table[op].name, dtype_name((dtype)t));
        }
    }
    kernel_close(&f);
}
END_TEST

START_TEST(test_accuracy) {
    kernel_fixture f;
    kernel_open(&f);
    for (int op = 0; op < OP_COUNT; op++) {
        for (int t = DT_F32; t <= DT_F64; t++) {
            number_fn *exact = number_reference[op][t];
            if (exact == NULL || op_operands((op_id)op) != 1) continue;
            /* What kernels promise, and the half unit by which the reference may be off. */
            double allowed = exact_allowed((op_id)op, (dtype)t, false) + 0.51;
            op_attrs attrs = {.axis = 1};
            for (int i = 0; i < 20000; i++) {
                double x = t == DT_F32 ? (double)(float)sample(&f, DT_F32) : sample(&f, DT_F64);
                value in = value_number((dtype)t, x);
                value got = number_table[op][t](&in, &attrs), want = exact(&in, &attrs);
                double distance =
                    exact_ulps((dtype)t, value_as_double(&got), (quad)value_as_double(&want));
                if (distance <= allowed) continue;
                ck_abort_msg("%s %s at %a: %a, not %a", op_table[op].name, dtype_name((dtype)t), x,
                             value_as_double(&got), value_as_double(&want));
            }
        }
    }
    kernel_close(&f);
}
END_TEST

static double number_at(op_id op, double x) {
    value in = value_f64(x), out = number_table[op][DT_F64](&in, &(op_attrs){.axis = 1});
    return value_as_double(&out);
}

START_TEST(test_special_functions) {
    ck_assert_double_eq(special_digamma(1.0), -0.57721566490153286061);
    ck_assert_double_eq(special_digamma(0.5), -1.9635100260214234794);
    ck_assert_double_eq(special_digamma(-0.5), 0.03648997397857652056);
    ck_assert_double_eq(special_polygamma(1, 1.0), 1.6449340668482264365);
    ck_assert_double_eq(special_polygamma(1, -0.5), 8.9348022005446793094);
    ck_assert_double_eq(special_polygamma(2, 1.0), -2.4041138063191885708);
    ck_assert_double_eq(special_polygamma(3, 0.5), 97.409091034002437236);
    ck_assert_double_nan(special_digamma(0.0));
    ck_assert_double_nan(special_digamma(-3.0));
    ck_assert_double_infinite(special_polygamma(1, 0.0));
    for (double x = -6.3; x < 9; x += 0.37) {
        double h = 1e-5, slope = (special_digamma(x + h) - special_digamma(x - h)) / (2 * h);
        ck_assert_double_lt(fabs(slope / special_polygamma(1, x) - 1), 1e-5);
        slope = (special_polygamma(2, x + h) - special_polygamma(2, x - h)) / (2 * h);
        ck_assert_double_lt(fabs(slope - special_polygamma(3, x)),
                            1e-4 * (1 + fabs(special_polygamma(3, x))));
    }
    ck_assert_double_eq(number_at(OP_sigmoid, -800), 0.0);
    ck_assert_double_eq(number_at(OP_softplus, 800), 800.0);
    ck_assert_double_eq(number_at(OP_asinh, -1e200), -asinh(1e200));
    ck_assert_double_eq(number_at(OP_relu, -0.0), 0.0);
    ck_assert_double_nan(number_at(OP_relu, (double)NAN));
    ck_assert_double_nan(number_at(OP_sign, (double)NAN));
    ck_assert_double_eq(number_at(OP_round, 2.5), 2.0);
}
END_TEST

/* ---- tensors ---- */

typedef struct broadcast_case {
    int rank[2];
    int64_t dims[2][4];
    uint8_t ones[2];
} broadcast_case;

static const broadcast_case broadcasts[] = {
    {{1, 1}, {{5}, {5}}, {0, 0}},       {{2, 2}, {{3, 7}, {3, 7}}, {0, 0}},
    {{2, 1}, {{3, 7}, {7}}, {0, 0}},    {{2, 2}, {{3, 7}, {3, 1}}, {0, 2}},
    {{2, 2}, {{3, 1}, {1, 7}}, {2, 1}}, {{0, 3}, {{0}, {2, 3, 4}}, {0, 0}},
    {{3, 0}, {{2, 3, 4}, {0}}, {0, 0}}, {{4, 3}, {{2, 3, 1, 4}, {3, 5, 1}}, {4, 4}},
    {{2, 2}, {{1, 1}, {1, 1}}, {0, 3}}, {{2, 2}, {{0, 3}, {1, 3}}, {0, 1}},
    {{2, 1}, {{3, 0}, {0}}, {0, 0}},    {{1, 2}, {{1}, {30, 300}}, {1, 0}},
};

/* A result against the number function on each element, found by index. */
static void check_against_numbers(kernel_fixture *f, op_id op, const op_attrs *attrs, int n,
                                  const value *in, const value *out) {
    int rank = value_rank(out);
    int64_t index[MAX_RANK] = {0}, size = value_size(out);
    for (int64_t i = 0; i < size; i++) {
        value v[3];
        for (int k = 0; k < n; k++) {
            int64_t own[MAX_RANK] = {0};
            int lead = rank - value_rank(&in[k]);
            for (int axis = 0; axis < value_rank(&in[k]); axis++)
                own[axis] = value_dims(&in[k])[axis] == 1 ? 0 : index[lead + axis];
            v[k] = (value){.kind = VALUE_NUMBER, .dtype = in[k].dtype};
            memcpy(&v[k].as, kernel_at_index(&in[k], own), dtype_size((dtype)in[k].dtype));
        }
        value want = numbers_find(&f->c, op, (dtype)in[n - 1].dtype)(v, attrs);
        if (want.dtype != out->dtype ||
            !kernel_same_element((dtype)want.dtype, kernel_at(out, i), &want.as))
            ck_abort_msg("%s at %lld", op_table[op].name, (long long)i);
        kernel_next(rank, value_dims(out), index);
    }
}

START_TEST(test_broadcasting) {
    kernel_fixture f;
    kernel_open(&f);
    static const op_id ops[] = {OP_add, OP_sub, OP_pow, OP_lt, OP_maximum, OP_mod};
    for (size_t i = 0; i < COUNT_OF(broadcasts); i++)
        for (int how = 0; how < LAYOUTS * LAYOUTS; how++)
            for (size_t k = 0; k < COUNT_OF(ops); k++)
                for (int t = 0; t <= DT_I64; t++) {
                    const broadcast_case *b = &broadcasts[i];
                    if (ops[k] == OP_pow && t > DT_F64) continue;
                    if (ops[k] == OP_mod && t > DT_F64) continue;
                    op_attrs attrs = {.ones = {b->ones[0], b->ones[1], 0}};
                    value in[2];
                    in[0] = kernel_operand(&f, (dtype)t, b->rank[0], b->dims[0],
                                           (layout)(how / LAYOUTS));
                    in[1] = kernel_operand(&f, (dtype)t, b->rank[1], b->dims[1],
                                           (layout)(how % LAYOUTS));
                    value out = kernel_do(&f, ops[k], &attrs, 2, in);
                    check_against_numbers(&f, ops[k], &attrs, 2, in, &out);
                    value_release(&f.c, out);
                    kernel_release(&f, 2, in);
                }
    kernel_close(&f);
}
END_TEST

/* A broadcast operand is read by strides and never made: at no time is more allocated than the
 * result. */
START_TEST(test_broadcasting_makes_no_copy) {
    kernel_fixture f;
    kernel_open(&f);
    enum { SIDE = 256, ROOM = 4096 };
    int64_t row[2] = {1, SIDE}, column[2] = {SIDE, 1}, whole[2] = {SIDE, SIDE};
    static const op_id ops[] = {OP_add, OP_mul, OP_pow, OP_lt, OP_where, OP_clamp, OP_matmul};
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        int n = op_operands(ops[i]);
        op_attrs attrs = {.ones = {ops[i] == OP_matmul ? 0 : 1, 2, 0}};
        value in[3] = {
            kernel_operand(&f, ops[i] == OP_where ? DT_Bool : DT_F64, 2, row, LAYOUT_DENSE),
            kernel_operand(&f, DT_F64, 2, column, LAYOUT_DENSE),
            kernel_operand(&f, DT_F64, n > 2 ? 2 : 0, whole, LAYOUT_DENSE)};
        if (ops[i] == OP_matmul) { /* a batch over which one matrix is stretched */
            int64_t batch[3] = {8, 32, 32}, one[3] = {1, 32, 32};
            kernel_release(&f, 2, in);
            in[0] = kernel_operand(&f, DT_F64, 3, batch, LAYOUT_DENSE);
            in[1] = kernel_operand(&f, DT_F64, 3, one, LAYOUT_DENSE);
            attrs.ones[1] = 1;
        }
        f.c.mem.peak = f.c.mem.live;
        size_t before = f.c.mem.live;
        value out = kernel_do(&f, ops[i], &attrs, n, in);
        size_t made = (size_t)value_size(&out) * dtype_size((dtype)out.dtype);
        ck_assert_msg(f.c.mem.peak - before <= made + ROOM, "%s takes %zu bytes for %zu",
                      op_table[ops[i]].name, f.c.mem.peak - before, made);
        value_release(&f.c, out);
        kernel_release(&f, 3, in);
    }
    kernel_close(&f);
}
END_TEST

START_TEST(test_three_operands) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3][2] = {{3, 1}, {3, 7}, {7, 0}};
    for (int how = 0; how < LAYOUTS; how++)
        for (int t = 0; t < DTYPE_COUNT; t++)
            for (int k = 0; k < 4; k++) {
                op_id op = k < 2 ? OP_where : OP_clamp;
                if (op == OP_clamp && t == DT_Bool) continue;
                op_attrs attrs = {.ones = {2, 0, 0}};
                value in[3];
                in[0] = kernel_operand(&f, op == OP_where ? DT_Bool : (dtype)t, 2, dims[0],
                                       (layout)how);
                in[1] = kernel_operand(&f, (dtype)t, 2, dims[1], (layout)how);
                in[2] = kernel_operand(&f, (dtype)t, k % 2, dims[2], (layout)how);
                value out = kernel_do(&f, op, &attrs, 3, in);
                check_against_numbers(&f, op, &attrs, 3, in, &out);
                value_release(&f.c, out);
                kernel_release(&f, 3, in);
            }
    kernel_close(&f);
}
END_TEST

START_TEST(test_unary_and_cast) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[3] = {3, 5, 4};
    static const op_id ops[] = {OP_exp, OP_neg, OP_gelu, OP_digamma, OP_log1p};
    for (int how = 0; how < LAYOUTS; how++)
        for (int t = 0; t < DTYPE_COUNT; t++) {
            value x = kernel_operand(&f, (dtype)t, 3, dims, (layout)how);
            for (size_t k = 0; k < COUNT_OF(ops) && t <= DT_F64; k++) {
                value out = kernel_do(&f, ops[k], NULL, 1, &x);
                check_against_numbers(&f, ops[k], NULL, 1, &x, &out);
                value_release(&f.c, out);
            }
            for (int to = 0; to < DTYPE_COUNT; to++) {
                op_attrs attrs = {.dtype = (uint8_t)to};
                value out = kernel_do(&f, OP_cast, &attrs, 1, &x);
                check_against_numbers(&f, OP_cast, &attrs, 1, &x, &out);
                value_release(&f.c, out);
            }
            value_release(&f.c, x);
        }
    kernel_close(&f);
}
END_TEST

START_TEST(test_integer_edges) {
    kernel_fixture f;
    kernel_open(&f);
    value least[2] = {value_i32(INT32_MIN), value_i32(-1)};
    value q = kernel_do(&f, OP_div, NULL, 2, least), r = kernel_do(&f, OP_rem, NULL, 2, least);
    ck_assert_int_eq(q.as.i32, INT32_MIN);
    ck_assert_int_eq(r.as.i32, 0);
    value zero[2] = {value_i64(5), value_i64(0)};
    ck_assert_int_eq(kernel_fails(&f, OP_div, NULL, 2, zero), ERROR_K0501);
    ck_assert_int_eq(kernel_fails(&f, OP_mod, NULL, 2, zero), ERROR_K0501);
    value some[2] = {kernel_ints(&f, 3, (int64_t[]){7, -7, 7}),
                     kernel_ints(&f, 3, (int64_t[]){2, 2, -2})};
    value m = kernel_do(&f, OP_mod, NULL, 2, some), d = kernel_do(&f, OP_div, NULL, 2, some);
    ck_assert_double_eq(kernel_double(&m, 1), 1);
    ck_assert_double_eq(kernel_double(&m, 2), -1);
    ck_assert_double_eq(kernel_double(&d, 1), -3);
    value by[2] = {some[0], zero[1]};
    ck_assert_int_eq(kernel_fails(&f, OP_rem, NULL, 2, by), ERROR_K0501);
    int64_t none = 0;
    value nothing[2] = {kernel_operand(&f, DT_I64, 1, &none, LAYOUT_DENSE), zero[1]};
    value empty = kernel_do(&f, OP_div, NULL, 2, nothing);
    value far = value_f32(1e20f),
          cast = kernel_do(&f, OP_cast, &(op_attrs){.dtype = DT_I32}, 1, &far);
    ck_assert_int_eq(cast.as.i32, INT32_MAX);
    far = value_f64((double)NAN);
    cast = kernel_do(&f, OP_cast, &(op_attrs){.dtype = DT_I64}, 1, &far);
    ck_assert_int_eq(cast.as.i64, 0);
    far = value_f32(-0x1p31f);
    cast = kernel_do(&f, OP_cast, &(op_attrs){.dtype = DT_I32}, 1, &far);
    ck_assert_int_eq(cast.as.i32, INT32_MIN);
    kernel_release(&f, 6, (value[]){m, d, some[0], some[1], nothing[0], empty});
    kernel_close(&f);
}
END_TEST

START_TEST(test_shapes_must_agree) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2][2] = {{1, 3}, {2, 3}};
    value in[2] = {kernel_operand(&f, DT_F32, 2, dims[0], LAYOUT_DENSE),
                   kernel_operand(&f, DT_F32, 2, dims[1], LAYOUT_DENSE)};
    ck_assert_int_eq(kernel_fails(&f, OP_add, NULL, 2, in), ERROR_K0502);
    /* Types that do not fit never get past the checker; the kernels refuse them all the same. */
    value wide[2] = {in[0], kernel_operand(&f, DT_F64, 2, dims[0], LAYOUT_DENSE)};
    value whole = kernel_operand(&f, DT_I32, 2, dims[0], LAYOUT_DENSE);
    value numbers[2] = {value_f32(1), value_f64(1)};
    ck_assert_int_eq(kernel_fails(&f, OP_add, NULL, 2, wide), ERROR_K0901);
    ck_assert_int_eq(kernel_fails(&f, OP_add, NULL, 2, numbers), ERROR_K0901);
    ck_assert_int_eq(kernel_fails(&f, OP_exp, NULL, 1, &whole), ERROR_K0901);
    kernel_release(&f, 2, in);
    value_release(&f.c, wide[1]);
    value_release(&f.c, whole);
    kernel_close(&f);
}
END_TEST

START_TEST(test_reuse) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2] = {40, 3};
    value in[2] = {kernel_operand(&f, DT_F32, 2, dims, LAYOUT_DENSE),
                   kernel_operand(&f, DT_F32, 1, dims + 1, LAYOUT_DENSE)};
    value want = kernel_do(&f, OP_sub, NULL, 2, in), out;
    const void *buffer = in[0].as.t->data;
    op_call call = {.op = OP_sub, .n = 2, .spent = 3, .in = in};
    ck_assert(door_perform(&f.c, &call, &out));
    ck_assert_ptr_eq(out.as.t->data, buffer);
    ck_assert_int_eq(out.as.t->refs, 2);
    ck_assert(kernel_same(&out, &want));
    /* Held twice now, so it may not be taken again. */
    value other;
    ck_assert(door_perform(&f.c, &call, &other));
    ck_assert_ptr_ne(other.as.t->data, buffer);
    kernel_release(&f, 5, (value[]){out, other, want, in[0], in[1]});
    kernel_close(&f);
}
END_TEST

/* Any thread count gives the same bits. */
START_TEST(test_threads) {
    kernel_fixture f;
    kernel_open(&f);
    int64_t dims[2] = {301, 701};
    for (int how = 0; how < LAYOUTS; how++) {
        value in[2] = {kernel_operand(&f, DT_F32, 2, dims, (layout)how),
                       kernel_operand(&f, DT_F32, 1, dims + 1, LAYOUT_DENSE)};
        static const op_id ops[] = {OP_tanh, OP_sub};
        for (size_t k = 0; k < COUNT_OF(ops); k++) {
            f.c.threads = 1;
            value one = kernel_do(&f, ops[k], NULL, op_operands(ops[k]), in);
            f.c.threads = 2;
            value two = kernel_do(&f, ops[k], NULL, op_operands(ops[k]), in);
            ck_assert(kernel_same(&one, &two));
            value_release(&f.c, one);
            value_release(&f.c, two);
        }
        kernel_release(&f, 2, in);
    }
    kernel_close(&f);
}
END_TEST

Suite *suite_kernels(void);
Suite *suite_kernels(void) {
    Suite *s = suite_create("kernels");
    TCase *t = tcase_create("elementwise");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_same_bits_everywhere);
    tcase_add_test(t, test_tables_have_no_holes);
    tcase_add_test(t, test_accuracy);
    tcase_add_test(t, test_special_functions);
    tcase_add_test(t, test_broadcasting);
    tcase_add_test(t, test_broadcasting_makes_no_copy);
    tcase_add_test(t, test_three_operands);
    tcase_add_test(t, test_unary_and_cast);
    tcase_add_test(t, test_integer_edges);
    tcase_add_test(t, test_shapes_must_agree);
    tcase_add_test(t, test_reuse);
    tcase_add_test(t, test_threads);
    suite_add_tcase(s, t);
    return s;
}
