/* Every op in random applications, against naive.h: shapes of 0 to 8 axes, sizes of 0 and 1,
 * broadcast, strided and turned operands, every dtype, special values, all numerics, one thread
 * and two, spent operands. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/naive_draw.h"

enum { APPLICATIONS = 20000 };

/* ---- one element ---- */

static bool same_float(dtype t, double got, const cell *want) {
    double rounded = t == DT_F32 ? (double)(float)want->f : (double)want->f;
    if (got != got || rounded != rounded) return got != got && rounded != rounded;
    return got == rounded && (got != 0.0 || want->any_sign || signbit(got) == signbit(rounded));
}

static bool near(const application *a, double got, const cell *want) {
    if (want->slack == (quad)0 || same_float((dtype)a->out.dtype, got, want))
        return same_float((dtype)a->out.dtype, got, want);
    if (got != got || want->f != want->f) return false;
    quad off = (quad)got - want->f,
         slack = want->slack + naive_unit(a) * (want->f < (quad)0 ? -want->f : want->f);
    if (isinf(got)) return (got > 0 ? want->f : -want->f) + slack > naive_most(a);
    return off <= slack && -off <= slack;
}

static bool agrees(const application *a, const void *p, const cell *want) {
    dtype t = (dtype)a->out.dtype;
    if (want->any) return true;
    if (!dtype_floating(t)) {
        int64_t got = t == DT_Bool  ? *(const bool *)p
                      : t == DT_I32 ? *(const int32_t *)p
                                    : *(const int64_t *)p;
        return got == want->i;
    }
    double got = t == DT_F32 ? (double)*(const float *)p : *(const double *)p;
    return want->ulps > 0.0 ? exact_ulps(t, got, want->f) <= want->ulps : near(a, got, want);
}

/* ---- one application ---- */

static const char *const numerics_names[] = {"", " (reference)", " (compiled)"};

static void describe(const application *a, char *out, size_t room) {
    size_t used = (size_t)snprintf(out, room, "%s%s", op_table[a->op].name, numerics_names[a->how]);
    for (int k = 0; k < a->n && used < room; k++) {
        char shape[80];
        shape_print(shape, sizeof shape, value_rank(&a->in[k]), value_dims(&a->in[k]));
        used += (size_t)snprintf(out + used, room - used, " %s%s",
                                 dtype_name((dtype)a->in[k].dtype), shape);
    }
}

static void find_type(application *a) {
    op_type in[4];
    op_fault fault;
    char what[400];
    for (int k = 0; k < a->n; k++) {
        in[k] = (op_type){.dtype = a->in[k].dtype, .rank = (uint8_t)value_rank(&a->in[k])};
        for (int i = 0; i < in[k].rank; i++) in[k].dims[i] = value_dims(&a->in[k])[i];
    }
    bool fits = op_result_type(a->op, &a->attrs, in, a->n, NULL, &a->out, &fault);
    describe(a, what, sizeof what);
    ck_assert_msg(fits, "%s is refused: kind %d, %s", what, (int)fault.kind, fault.expects);
}

static void compare(const application *a, const value *got, const cell *want, int number) {
    int64_t at[MAX_RANK] = {0};
    char what[400], where[80];
    describe(a, what, sizeof what);
    bool fits = got->dtype == a->out.dtype &&
                shape_same(value_rank(got), value_dims(got), a->out.rank, a->out.dims);
    ck_assert_msg(fits, "%d. %s: the result has another type", number, what);
    for (int64_t i = 0; i < value_size(got); i++, kernel_next(a->out.rank, a->out.dims, at)) {
        if (agrees(a, kernel_at_index(got, at), &want[i])) continue;
        shape_print(where, sizeof where, a->out.rank, at);
        for (int k = 0; k < a->n && value_size(&a->in[k]) <= 12; k++)
            for (int64_t j = 0; j < value_size(&a->in[k]); j++)
                printf("%s%.17g", j == 0 ? "\noperand: " : " ", kernel_double(&a->in[k], j));
        ck_abort_msg("%d. %s at %s: %a (%.9g), not %a (%.9g, %lld) within %g", number, what, where,
                     kernel_double(got, i), kernel_double(got, i), (double)want[i].f,
                     (double)want[i].f, (long long)want[i].i,
                     want[i].ulps > 0.0 ? want[i].ulps : (double)want[i].slack);
    }
}

static value copied(kernel_fixture *f, const value *v) {
    if (v->kind != VALUE_TENSOR) return *v;
    tensor *t = tensor_new(&f->c, (dtype)v->dtype, v->as.t->rank, v->as.t->dims);
    size_t element = dtype_size((dtype)v->dtype);
    ck_assert_ptr_nonnull(t);
    for (int64_t i = 0; i < t->size; i++)
        memcpy((char *)t->data + (size_t)i * element, kernel_at(v, i), element);
    return value_tensor(t);
}

/* Operands that are spent may be overwritten, so what should come out is found first. */
static void check_application(kernel_fixture *f, application *a, int number) {
    int64_t at[MAX_RANK] = {0}, size = 1;
    value kept[4], out = value_none();
    find_type(a);
    for (int i = 0; i < a->out.rank; i++) size *= a->out.dims[i];
    cell *want = calloc((size_t)size + 1, sizeof *want);
    ck_assert_ptr_nonnull(want);
    for (int64_t i = 0; i < size; i++, naive_next(a->out.rank, a->out.dims, at))
        want[i] = naive_table[a->op](a, at);
    uint8_t spent = kernel_random(f) % 3 == 0 ? (uint8_t)(kernel_random(f) % 16) : 0;
    for (int k = 0; k < a->n; k++) kept[k] = copied(f, &a->in[k]);
    f->c.numerics = a->how;
    f->c.threads = number % 2 + 1;
    op_call call = {
        .op = a->op, .n = (uint8_t)a->n, .spent = spent, .attrs = &a->attrs, .in = a->in};
    ck_assert_msg(door_perform(&f->c, &call, &out), "%d. %s: %s", number, op_table[a->op].name,
                  f->c.err.message);
    for (int k = 0; k < a->n; k++)
        ck_assert_msg(((spent >> k) & 1) != 0 || kernel_same(&kept[k], &a->in[k]),
                      "%d. %s changes operand %d", number, op_table[a->op].name, k);
    application seen = *a;
    memcpy(seen.in, kept, sizeof kept);
    compare(&seen, &out, want, number);
    free(want);
    value_release(&f->c, out);
    kernel_release(f, a->n, kept);
}

START_TEST(test_random_applications) {
    kernel_fixture f;
    kernel_open(&f);
    drawing d = {.f = &f};
    for (int number = 0, op = 0; number < APPLICATIONS; number++, op = (op + 1) % OP_COUNT) {
        while (!draw_application(&d, (op_id)op)) op = (op + 1) % OP_COUNT;
        check_application(&f, &d.a, number);
        kernel_release(&f, d.a.n, d.a.in);
    }
    kernel_close(&f);
}
END_TEST

Suite *suite_naive(void);
Suite *suite_naive(void) {
    Suite *suite = suite_create("naive");
    TCase *tests = tcase_create("applications");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, test_random_applications);
    suite_add_tcase(suite, tests);
    return suite;
}
