/* Printed numbers read back to the same bits and are no longer than they need to be; tensors keep
 * their layout; JSON is JSON. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/print.h"

static const char *print_f64(double x) {
    static char out[NUMBER_ROOM];
    ck_assert_uint_eq(number_print(out, DT_F64, &x), strlen(out));
    return out;
}

static const char *print_f32(float x) {
    static char out[NUMBER_ROOM];
    ck_assert_uint_eq(number_print(out, DT_F32, &x), strlen(out));
    return out;
}

START_TEST(known_numbers) {
    ck_assert_str_eq(print_f64(1.5), "1.5");
    ck_assert_str_eq(print_f64(2), "2.0");
    ck_assert_str_eq(print_f64(-0.0), "-0.0");
    ck_assert_str_eq(print_f64(0.1), "0.1");
    ck_assert_str_eq(print_f64(1.0 / 3), "0.3333333333333333");
    ck_assert_str_eq(print_f64(1e-30), "1e-30");
    ck_assert_str_eq(print_f64(1.5e20), "1.5e+20");
    ck_assert_str_eq(print_f64(1e15), "1000000000000000.0");
    ck_assert_str_eq(print_f64(1e16), "1e+16");
    ck_assert_str_eq(print_f64(0.0001), "0.0001");
    ck_assert_str_eq(print_f64(0.00001234), "1.234e-05");
    ck_assert_str_eq(print_f64(5e-324), "5e-324");
    ck_assert_str_eq(print_f64(1.7976931348623157e308), "1.7976931348623157e+308");
    ck_assert_str_eq(print_f64(0x1p-44), "5.684341886080802e-14");
    ck_assert_str_eq(print_f64((double)INFINITY), "inf");
    ck_assert_str_eq(print_f64(-(double)INFINITY), "-inf");
    ck_assert_str_eq(print_f64((double)NAN), "nan");
    ck_assert_str_eq(print_f32(0.1f), "0.1");
    ck_assert_str_eq(print_f32(16777216.0f), "16777216.0");
    ck_assert_str_eq(print_f32(1e-45f), "1e-45");
    ck_assert_str_eq(print_f32(3.4028235e38f), "3.4028235e+38");
    char out[NUMBER_ROOM];
    number_print(out, DT_I64, &(int64_t){INT64_MIN});
    ck_assert_str_eq(out, "-9223372036854775808");
    number_print(out, DT_I32, &(int32_t){-42});
    ck_assert_str_eq(out, "-42");
    number_print(out, DT_Bool, &(bool){true});
    ck_assert_str_eq(out, "true");
}
END_TEST

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int count_digits(const char *s) {
    int count = 0, zeros = 0;
    for (; *s != '\0' && *s != 'e'; s++) {
        if (*s < '0' || *s > '9' || (*s == '0' && count == 0)) continue;
        zeros = *s == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

START_TEST(doubles_read_back_and_are_shortest) {
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed);
        double x;
        if (i % 4 == 0) bits &= 0xFFF0000000000000u; /* powers of two */
        if (i % 4 == 1) bits &= 0x000FFFFFFFFFFFFFu; /* subnormal numbers */
        memcpy(&x, &bits, sizeof x);
        if (i % 4 == 2) x = (double)(int64_t)(bits >> 40) / 1000;
        if (!isfinite(x)) continue;
        const char *s = print_f64(x);
        double back = strtod(s, NULL);
        ck_assert_msg(memcmp(&back, &x, sizeof x) == 0, "%s for %a", s, x);
        int digits = count_digits(s);
        if (digits > 1) {
            char shorter[64];
            snprintf(shorter, sizeof shorter, "%.*e", digits - 2, x);
            ck_assert_msg(strtod(shorter, NULL) != x, "%s could be %s", s, shorter);
        }
    }
}
END_TEST

START_TEST(floats_read_back_and_are_shortest) {
    uint64_t seed = 123456789;
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)next_random(&seed);
        if (i % 3 == 0) bits &= 0xFF800000u;
        if (i % 3 == 1) bits &= 0x807FFFFFu;
        float x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        const char *s = print_f32(x);
        float back = strtof(s, NULL);
        ck_assert_msg(memcmp(&back, &x, sizeof x) == 0, "%s for %a", s, (double)x);
        int digits = count_digits(s);
        if (digits > 1) {
            char shorter[64];
            snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)x);
            ck_assert_msg(strtof(shorter, NULL) != x, "%s could be %s", s, shorter);
        }
    }
}
END_TEST

/* A context, a text, and helpers for tensors with elements 0, 1, 2, … times a factor. */
typedef struct bench {
    context c;
    text t;
} bench;

static void open_bench(bench *b) {
    context_init(&b->c);
    text_init(&b->t, &b->c);
}

static void close_bench(bench *b) {
    text_close(&b->t);
    ck_assert_uint_eq(b->c.mem.live, 0);
    context_close(&b->c);
}

static value counting(bench *b, dtype type, int rank, const int64_t *dims) {
    tensor *t = tensor_new(&b->c, type, rank, dims);
    ck_assert_ptr_nonnull(t);
    for (int64_t i = 0; i < t->size; i++) {
        value v = value_number(type, (double)i * (dtype_floating(type) ? 0.5 : 1));
        memcpy((char *)t->data + (size_t)i * dtype_size(type), &v.as, dtype_size(type));
    }
    return value_tensor(t);
}

static void expect_print(bench *b, const value *v, bool full, const char *expected) {
    text_clear(&b->t);
    value_print(&b->t, v, full);
    ck_assert_str_eq(text_data(&b->t), expected);
}

START_TEST(tensors_print_aligned) {
    bench b;
    open_bench(&b);
    value v = counting(&b, DT_F32, 1, (int64_t[]){3});
    expect_print(&b, &v, false, "[0.0, 0.5, 1.0]");
    value_release(&b.c, v);
    v = counting(&b, DT_I32, 2, (int64_t[]){2, 6});
    expect_print(&b, &v, false, "[[ 0,  1,  2,  3,  4,  5],\n [ 6,  7,  8,  9, 10, 11]]");
    text_clear(&b.t);
    text_add(&b.t, "é: ");
    value_print(&b.t, &v, false);
    ck_assert_str_eq(text_data(&b.t),
                     "é: [[ 0,  1,  2,  3,  4,  5],\n    [ 6,  7,  8,  9, 10, 11]]");
    tensor *turned = tensor_view(&b.c, v.as.t, 0, 2, (int64_t[]){2, 2}, (int64_t[]){1, 6});
    value_release(&b.c, v);
    v = value_tensor(turned);
    expect_print(&b, &v, false, "[[0, 6],\n [1, 7]]");
    value_release(&b.c, v);
    v = counting(&b, DT_I64, 3, (int64_t[]){2, 1, 2});
    expect_print(&b, &v, false, "[[[0, 1]],\n\n [[2, 3]]]");
    value_release(&b.c, v);
    v = counting(&b, DT_I64, 2, (int64_t[]){2, 0});
    expect_print(&b, &v, false, "[[],\n []]");
    value_release(&b.c, v);
    close_bench(&b);
}
END_TEST

/* Lines of a text, and characters in the longest. */
static void measure(const char *s, size_t *lines, size_t *most) {
    size_t here = 0;
    *lines = 1, *most = 0;
    for (; *s != '\0'; s++) {
        if (*s == '\n') {
            (*lines)++;
            here = 0;
        } else if (((unsigned char)*s & 0xC0) != 0x80 && ++here > *most) {
            *most = here;
        }
    }
}

static void expect_fitted(bench *b, const value *v, size_t columns, const char *expected) {
    text_clear(&b->t);
    value_print_fitted(&b->t, v, columns);
    ck_assert_str_eq(text_data(&b->t), expected);
}

START_TEST(tensors_fit_a_screen) {
    static const struct {
        int rank;
        int64_t dims[4];
    } large[] = {{1, {1000}}, {2, {300, 2}}, {2, {2, 300}}, {3, {50, 40, 30}}, {4, {9, 9, 9, 9}}, {2, {100000, 0}}};
    bench b;
    open_bench(&b);
    value v = counting(&b, DT_I32, 1, (int64_t[]){10});
    expect_fitted(&b, &v, 80, "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
    expect_fitted(&b, &v, 20, "[0, 1, …, 8, 9]");
    expect_fitted(&b, &v, 2, "[0, …, 9]");
    value_release(&b.c, v);
    v = counting(&b, DT_I32, 2, (int64_t[]){25, 1});
    text_clear(&b.t);
    value_print_fitted(&b.t, &v, 80);
    ck_assert_ptr_nonnull(strstr(text_data(&b.t), "[11],\n …,\n [13]"));
    value_release(&b.c, v);
    for (size_t i = 0; i < COUNT_OF(large); i++) {
        size_t lines, most;
        v = counting(&b, DT_F64, large[i].rank, large[i].dims);
        text_clear(&b.t);
        value_print_fitted(&b.t, &v, 80);
        measure(text_data(&b.t), &lines, &most);
        ck_assert_uint_le(most, 80);
        ck_assert_uint_le(lines, 60);
        value_release(&b.c, v);
    }
    close_bench(&b);
}
END_TEST

START_TEST(long_tensors_are_abridged) {
    bench b;
    open_bench(&b);
    value v = counting(&b, DT_I32, 1, (int64_t[]){1001});
    expect_print(&b, &v, false, "[0, 1, 2, …, 998, 999, 1000]");
    text_clear(&b.t);
    value_print(&b.t, &v, true);
    ck_assert_ptr_nonnull(strstr(text_data(&b.t), " 500, 501,"));
    value_release(&b.c, v);
    v = counting(&b, DT_I32, 1, (int64_t[]){1000});
    text_clear(&b.t);
    value_print(&b.t, &v, false);
    ck_assert_ptr_null(strstr(text_data(&b.t), "…"));
    value_release(&b.c, v);
    v = counting(&b, DT_I32, 2, (int64_t[]){500, 3});
    expect_print(&b, &v, false,
                 "[[   0,    1,    2],\n [   3,    4,    5],\n [   6,    7,    8],\n …,\n"
                 " [1491, 1492, 1493],\n [1494, 1495, 1496],\n [1497, 1498, 1499]]");
    value_release(&b.c, v);
    /* Neither many axes nor an empty one make the text long. */
    v = counting(&b, DT_Bool, 8, (int64_t[]){4, 4, 4, 4, 4, 4, 4, 4});
    text_clear(&b.t);
    value_print(&b.t, &v, false);
    ck_assert_uint_lt(b.t.length, 10000);
    value_release(&b.c, v);
    v = counting(&b, DT_F32, 2, (int64_t[]){1000000, 0});
    text_clear(&b.t);
    value_print(&b.t, &v, false);
    ck_assert_uint_lt(b.t.length, 100);
    value_release(&b.c, v);
    close_bench(&b);
}
END_TEST

START_TEST(types_and_tuples) {
    bench b;
    open_bench(&b);
    tuple *pair = tuple_new(&b.c, 2);
    pair->item[0] = counting(&b, DT_F32, 2, (int64_t[]){2, 3});
    pair->item[1] = value_bool(false);
    value v = {.kind = VALUE_TUPLE, .as = {.tuple = pair}};
    value_print_type(&b.t, &v);
    ck_assert_str_eq(text_data(&b.t), "(tensor<F32, [2, 3]>, Bool)");
    expect_print(&b, &v, false, "([[0.0, 0.5, 1.0],\n  [1.5, 2.0, 2.5]], false)");
    text_clear(&b.t);
    value_json(&b.t, &v);
    ck_assert_str_eq(text_data(&b.t), "[[[0.0,0.5,1.0],[1.5,2.0,2.5]],false]");
    value_release(&b.c, v);
    v = value_unit();
    expect_print(&b, &v, false, "()");
    close_bench(&b);
}
END_TEST

START_TEST(json_has_no_special_numbers) {
    bench b;
    open_bench(&b);
    value v = counting(&b, DT_F64, 1, (int64_t[]){4});
    const double special[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0};
    memcpy(v.as.t->data, special, sizeof special);
    value_json(&b.t, &v);
    ck_assert_str_eq(text_data(&b.t), "[\"NaN\",\"Infinity\",\"-Infinity\",-0.0]");
    value_release(&b.c, v);
    v = counting(&b, DT_F64, 3, (int64_t[]){2, 0, 3});
    text_clear(&b.t);
    value_json(&b.t, &v);
    ck_assert_str_eq(text_data(&b.t), "[[],[]]");
    value_release(&b.c, v);
    close_bench(&b);
}
END_TEST

START_TEST(json_strings_are_escaped) {
    bench b;
    open_bench(&b);
    const char s[] = "a\"b\\c\n\t\x01 é\xff\xc3 \xed\xa0\x80 \xf0\x9f\x98\x80\xe2\x82";
    json_string(&b.t, s, sizeof s - 1);
    ck_assert_str_eq(text_data(&b.t),
                     "\"a\\\"b\\\\c\\n\\t\\u0001 é\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd "
                     "\xf0\x9f\x98\x80\\ufffd\\ufffd\"");
    close_bench(&b);
}
END_TEST

START_TEST(printing_survives_every_failure) {
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        bench b;
        open_bench(&b);
        value v = counting(&b, DT_F64, 2, (int64_t[]){20, 20});
        b.c.mem.fail_at = b.c.mem.requests + n;
        value_print(&b.t, &v, true);
        value_json(&b.t, &v);
        done = !b.t.failed;
        value_release(&b.c, v);
        close_bench(&b);
    }
}
END_TEST

Suite *suite_print(void);
Suite *suite_print(void) {
    Suite *s = suite_create("print");
    TCase *t = tcase_create("numbers");
    tcase_add_test(t, known_numbers);
    tcase_add_test(t, doubles_read_back_and_are_shortest);
    tcase_add_test(t, floats_read_back_and_are_shortest);
    suite_add_tcase(s, t);
    t = tcase_create("values");
    tcase_add_test(t, tensors_print_aligned);
    tcase_add_test(t, tensors_fit_a_screen);
    tcase_add_test(t, long_tensors_are_abridged);
    tcase_add_test(t, types_and_tuples);
    tcase_add_test(t, json_has_no_special_numbers);
    tcase_add_test(t, json_strings_are_escaped);
    tcase_add_test(t, printing_survives_every_failure);
    suite_add_tcase(s, t);
    return s;
}
