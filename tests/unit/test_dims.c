/* Symbolic dims: normal forms, verdicts, substitution and printing; types over them. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "interp/dims.h"
#include "runtime/context.h"

typedef struct fixture {
    context c;
    arena a;
    dims *d;
    int64_t n, m; /* rigid */
    int64_t u;    /* unknown */
    text out;
} fixture;

static void open_fixture(fixture *f) {
    context_init(&f->c);
    arena_init(&f->a, &f->c);
    text_init(&f->out, &f->c);
    f->d = dims_new(&f->a);
    f->n = dims_symbol(f->d, DIM_RIGID, "N", (span){3, 4});
    f->m = dims_symbol(f->d, DIM_RIGID, "M", (span){5, 6});
    f->u = dims_symbol(f->d, DIM_UNKNOWN, NULL, (span){0, 0});
}

static void close_fixture(fixture *f) {
    text_close(&f->out);
    arena_close(&f->a);
    ck_assert_uint_eq(f->c.mem.live, 0);
    context_close(&f->c);
}

static const char *shown(fixture *f, int64_t dim) {
    text_clear(&f->out);
    dims_print(f->d, dim, &f->out);
    return text_data(&f->out);
}

START_TEST(equal_polynomials_have_equal_ids) {
    fixture f;
    open_fixture(&f);
    ck_assert_int_eq(dims_mul(f.d, f.n, f.m), dims_mul(f.d, f.m, f.n));
    ck_assert_int_eq(dims_add(f.d, f.n, f.n), dims_mul(f.d, 2, f.n));
    int64_t plus = dims_add(f.d, f.n, 1), minus = dims_sub(f.d, f.n, 1);
    int64_t square = dims_sub(f.d, dims_mul(f.d, f.n, f.n), 1);
    ck_assert_int_eq(dims_mul(f.d, plus, minus), square);
    ck_assert_int_eq(dims_sub(f.d, dims_add(f.d, f.n, 4), f.n), 4);
    ck_assert_int_eq(dims_mul(f.d, f.n, 0), 0);
    ck_assert_int_eq(dims_sub(f.d, f.n, f.n), 0);
    ck_assert_int_eq(dims_add(f.d, 2, 3), 5);
    close_fixture(&f);
}
END_TEST

START_TEST(verdicts) {
    fixture f;
    open_fixture(&f);
    ck_assert_int_eq(dims_compare(f.d, f.n, f.n), DIM_SAME);
    ck_assert_int_eq(dims_compare(f.d, f.n, f.m), DIM_DIFFERENT);
    ck_assert_int_eq(dims_compare(f.d, f.n, 3), DIM_DIFFERENT);
    ck_assert_int_eq(dims_compare(f.d, 3, 4), DIM_DIFFERENT);
    ck_assert_int_eq(dims_compare(f.d, f.u, 4), DIM_LATER);
    ck_assert_int_eq(dims_compare(f.d, f.u, f.n), DIM_LATER);
    ck_assert_int_eq(dims_compare(f.d, dims_add(f.d, f.u, 1), f.u), DIM_DIFFERENT);
    ck_assert_int_eq(dims_compare(f.d, dims_add(f.d, f.n, 1), f.n), DIM_DIFFERENT);
    int64_t any = dims_symbol(f.d, DIM_ANY, NULL, (span){0, 0});
    ck_assert_int_eq(dims_compare(f.d, any, 4), DIM_LATER);
    close_fixture(&f);
}
END_TEST

START_TEST(printing) {
    fixture f;
    open_fixture(&f);
    ck_assert_str_eq(shown(&f, 7), "7");
    ck_assert_str_eq(shown(&f, 0), "0");
    ck_assert_str_eq(shown(&f, f.u), "?");
    ck_assert_str_eq(shown(&f, dims_mul(f.d, f.m, f.n)), "N*M");
    ck_assert_str_eq(shown(&f, dims_add(f.d, dims_mul(f.d, 2, f.n), 1)), "2*N + 1");
    ck_assert_str_eq(shown(&f, dims_sub(f.d, f.n, f.m)), "N - M");
    ck_assert_str_eq(shown(&f, dims_sub(f.d, 2, 5)), "-3");
    ck_assert(dims_below_zero(f.d, dims_sub(f.d, 2, 5)));
    ck_assert(!dims_below_zero(f.d, dims_sub(f.d, f.n, 5)));
    close_fixture(&f);
}
END_TEST

START_TEST(substitution_is_simultaneous) {
    fixture f;
    open_fixture(&f);
    int64_t from[2] = {f.n, f.m}, swapped[2] = {f.m, f.n}, sizes[2] = {3, 4};
    int64_t dim = dims_sub(f.d, f.n, dims_mul(f.d, 2, f.m));
    int64_t other = dims_sub(f.d, f.m, dims_mul(f.d, 2, f.n));
    ck_assert_int_eq(dims_substitute(f.d, dim, 2, from, swapped), other);
    ck_assert(dims_below_zero(f.d, dims_substitute(f.d, dim, 2, from, sizes)));
    ck_assert_int_eq(dims_substitute(f.d, dims_mul(f.d, f.n, f.m), 2, from, sizes), 12);
    ck_assert_int_eq(dims_substitute(f.d, f.u, 2, from, sizes), f.u);
    close_fixture(&f);
}
END_TEST

START_TEST(symbols_know_their_place) {
    fixture f;
    int64_t found[4];
    open_fixture(&f);
    ck_assert_uint_eq(dims_origin(f.d, f.n).begin, 3);
    ck_assert_uint_eq(dims_origin(f.d, dims_add(f.d, f.n, 1)).end, 0);
    int64_t mixed = dims_add(f.d, dims_mul(f.d, f.n, f.u), f.n);
    ck_assert_int_eq(dims_symbols(f.d, mixed, found, 4), 2);
    ck_assert_int_eq(dims_symbols(f.d, mixed, found, 1), 1);
    ck_assert(dims_is_symbol(f.d, f.u));
    ck_assert(!dims_is_symbol(f.d, mixed));
    ck_assert(!dims_is_symbol(f.d, 3));
    close_fixture(&f);
}
END_TEST

/* Beyond the limits of a normal form a dim is unknown, and never wrong. */
START_TEST(beyond_the_limits_a_dim_is_unknown) {
    fixture f;
    open_fixture(&f);
    int64_t power = 1, coefficient = INT64_MAX;
    for (int i = 0; i < 8; i++) power = dims_mul(f.d, power, f.n);
    ck_assert_int_eq(dims_compare(f.d, power, f.m), DIM_DIFFERENT);
    ck_assert_int_eq(dims_compare(f.d, dims_mul(f.d, power, f.n), f.m), DIM_LATER);
    ck_assert_int_eq(dims_compare(f.d, dims_add(f.d, coefficient, 1), 5), DIM_LATER);
    int64_t total = 0;
    for (int i = 0; i < 100; i++)
        total = dims_add(f.d, total, dims_symbol(f.d, DIM_RIGID, "X", (span){0, 0}));
    ck_assert_int_eq(dims_compare(f.d, total, f.m), DIM_LATER);
    close_fixture(&f);
}
END_TEST

static type tensor_of(dtype t, int rank, int64_t a, int64_t b) {
    return (type){.kind = TYPE_TENSOR,
                  .tensor = {.dtype = (uint8_t)t, .rank = (uint8_t)rank, .dims = {a, b}}};
}

START_TEST(types_compare_and_print) {
    fixture f;
    open_fixture(&f);
    type x = tensor_of(DT_F32, 2, f.n, 4), y = tensor_of(DT_F32, 2, f.u, 4);
    type z = tensor_of(DT_F64, 2, f.n, 4), number = tensor_of(DT_I64, 0, 0, 0),
         unit = {.kind = TYPE_UNIT};
    const type *pair[] = {&x, &number}, *nested[] = {&unit, &number}, *leaves[4];
    type tuple = {.kind = TYPE_TUPLE, .count = 2, .items = pair};
    type inner = {.kind = TYPE_TUPLE, .count = 2, .items = nested};
    const type *deep[] = {&tuple, &inner};
    type outer = {.kind = TYPE_TUPLE, .count = 2, .items = deep};
    type fn = {.kind = TYPE_FN, .count = 2, .items = pair, .result = &unit};
    ck_assert_int_eq(type_compare(f.d, &x, &y), DIM_LATER);
    ck_assert_int_eq(type_compare(f.d, &x, &z), DIM_DIFFERENT);
    ck_assert_int_eq(type_compare(f.d, &x, &x), DIM_SAME);
    ck_assert_int_eq(type_compare(f.d, &tuple, &inner), DIM_DIFFERENT);
    ck_assert(type_is_floating(&x) && !type_is_floating(&number));
    ck_assert(type_is_scalar(&number) && !type_is_scalar(&x));
    ck_assert_int_eq(type_leaves(&outer, leaves, 4), 3);
    ck_assert_ptr_eq(leaves[2], &number);
    type_print(f.d, &fn, &f.out);
    ck_assert_str_eq(text_data(&f.out), "fn(tensor<F32, [N, 4]>, I64) -> ()");
    close_fixture(&f);
}
END_TEST

START_TEST(generic_functions_are_equal_up_to_names) {
    fixture f;
    open_fixture(&f);
    type x = tensor_of(DT_F32, 1, f.n, 0), y = tensor_of(DT_F32, 1, f.m, 0);
    const type *a[] = {&x}, *b[] = {&y};
    type fn_a = {.kind = TYPE_FN, .count = 1, .items = a, .result = &x};
    type fn_b = {.kind = TYPE_FN, .count = 1, .items = b, .result = &y};
    ck_assert_int_eq(type_compare(f.d, &fn_a, &fn_b), DIM_DIFFERENT);
    fn_a.generic_count = fn_b.generic_count = 1;
    fn_a.generic = &f.n;
    fn_b.generic = &f.m;
    ck_assert_int_eq(type_compare(f.d, &fn_a, &fn_b), DIM_SAME);
    close_fixture(&f);
}
END_TEST

Suite *suite_dims(void);
Suite *suite_dims(void) {
    Suite *suite = suite_create("dims");
    TCase *cases = tcase_create("dims");
    tcase_add_test(cases, equal_polynomials_have_equal_ids);
    tcase_add_test(cases, verdicts);
    tcase_add_test(cases, printing);
    tcase_add_test(cases, substitution_is_simultaneous);
    tcase_add_test(cases, symbols_know_their_place);
    tcase_add_test(cases, beyond_the_limits_a_dim_is_unknown);
    tcase_add_test(cases, types_compare_and_print);
    tcase_add_test(cases, generic_functions_are_equal_up_to_names);
    suite_add_tcase(suite, cases);
    return suite;
}
