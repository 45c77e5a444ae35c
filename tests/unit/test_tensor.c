/* Tensors, values, the context's two questions, and the thread pool. */
#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/threads.h"
#include "runtime/value.h"

START_TEST(sizes_are_checked_for_overflow) {
    int64_t size = -1;
    ck_assert(shape_size(2, (int64_t[]){3, 4}, 8, &size));
    ck_assert_int_eq(size, 12);
    ck_assert(shape_size(3, (int64_t[]){3, 0, 4}, 8, &size));
    ck_assert_int_eq(size, 0);
    ck_assert(shape_size(0, NULL, 8, &size));
    ck_assert_int_eq(size, 1);
    const int64_t large = (int64_t)1 << 32;
    ck_assert(!shape_size(2, (int64_t[]){large, large}, 1, &size));
    ck_assert(!shape_size(3, (int64_t[]){large, 0, large}, 1, &size));
    ck_assert(!shape_size(1, (int64_t[]){INT64_MAX / 4}, 8, &size));
    ck_assert(shape_size(2, (int64_t[]){INT64_MAX, 0}, 8, &size));
    ck_assert_int_eq(size, 0);
    ck_assert(!shape_size(2, (int64_t[]){-1, 2}, 4, &size));

    context c;
    context_init(&c);
    ck_assert_ptr_null(tensor_new(&c, DT_F64, 2, (int64_t[]){large, large}));
    ck_assert_int_eq(c.err.code, ERROR_K0511);
    ck_assert_ptr_nonnull(strstr(c.err.message, "[4294967296, 4294967296]"));
    context_close(&c);
}
END_TEST

START_TEST(shapes_print_and_never_overrun) {
    const int64_t dims[] = {2, 3, 123456};
    char out[64];
    shape_print(out, sizeof out, 3, dims);
    ck_assert_str_eq(out, "[2, 3, 123456]");
    shape_print(out, sizeof out, 0, NULL);
    ck_assert_str_eq(out, "[]");
    for (size_t room = 1; room < 16; room++) {
        memset(out, '#', sizeof out);
        shape_print(out, room, 3, dims);
        ck_assert_uint_lt(strlen(out), room);
        ck_assert_int_eq(out[room], '#');
    }
    ck_assert(shape_same(3, dims, 3, dims));
    ck_assert(!shape_same(3, dims, 2, dims));
}
END_TEST

START_TEST(owners_are_aligned_and_row_major) {
    context c;
    context_init(&c);
    tensor *t = tensor_new(&c, DT_F32, 3, (int64_t[]){2, 3, 4});
    ck_assert_ptr_nonnull(t);
    ck_assert_uint_eq((uintptr_t)t->data % TENSOR_ALIGN, 0);
    ck_assert(t->contiguous && tensor_sole(t));
    ck_assert_int_eq(t->size, 24);
    ck_assert_int_eq(t->strides[0], 12);
    ck_assert_int_eq(t->strides[2], 1);
    tensor_retain(t);
    ck_assert(!tensor_sole(t));
    tensor_release(&c, t);
    tensor_release(&c, t);
    tensor_release(&c, NULL);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}
END_TEST

START_TEST(views_keep_their_owner) {
    context c;
    context_init(&c);
    tensor *t = tensor_new(&c, DT_I64, 2, (int64_t[]){3, 4});
    for (int64_t i = 0; i < 12; i++) ((int64_t *)t->data)[i] = i;
    tensor *turned = tensor_view(&c, t, 0, 2, (int64_t[]){4, 3}, (int64_t[]){1, 4});
    tensor *back = tensor_view(&c, turned, 11, 1, (int64_t[]){12}, (int64_t[]){-1});
    ck_assert_ptr_eq(turned->base, t);
    ck_assert_ptr_eq(back->base, t);
    ck_assert_int_eq(t->refs, 3);
    ck_assert(!tensor_sole(turned) && !turned->contiguous && !back->contiguous);
    tensor_release(&c, t);
    tensor_release(&c, turned);
    for (int64_t i = 0; i < 12; i++) {
        ck_assert_int_eq(((int64_t *)back->data)[i * back->strides[0]], 11 - i);
    }
    tensor_release(&c, back);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}
END_TEST

START_TEST(views_know_whether_they_are_contiguous) {
    context c;
    context_init(&c);
    tensor *t = tensor_new(&c, DT_F64, 2, (int64_t[]){4, 6});
    const struct {
        int64_t offset;
        int rank;
        int64_t dims[3], strides[3];
        bool contiguous;
    } views[] = {
        {6, 2, {2, 6}, {6, 1}, true},  /* rows */
        {0, 2, {4, 2}, {6, 1}, false}, /* columns */
        {0, 1, {24}, {1}, true},
        {0, 1, {4}, {6}, false},
        {3, 3, {1, 1, 1}, {99, -5, 0}, true}, /* one element */
        {0, 3, {1, 4, 6}, {7, 6, 1}, true},   /* an axis of one is never stepped along */
        {0, 2, {4, 6}, {0, 1}, false},        /* broadcast */
        {999, 2, {0, 6}, {-3, 1}, true},      /* empty */
    };
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        tensor *v =
            tensor_view(&c, t, views[i].offset, views[i].rank, views[i].dims, views[i].strides);
        ck_assert_ptr_nonnull(v);
        ck_assert_msg(v->contiguous == views[i].contiguous, "view %zu", i);
        tensor_release(&c, v);
    }
    const int64_t huge[] = {INT64_MAX / 2, 4};
    ck_assert_ptr_null(tensor_view(&c, t, 0, 2, huge, (int64_t[]){0, 0}));
    ck_assert_int_eq(c.err.code, ERROR_K0511);
    error_clear(&c.err);
    c.mem.fail_at = c.mem.requests + 1;
    ck_assert_ptr_null(tensor_view(&c, t, 0, 1, (int64_t[]){4}, (int64_t[]){1}));
    ck_assert_int_eq(t->refs, 1);
    tensor_release(&c, t);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}
END_TEST

START_TEST(dtypes_have_names) {
    dtype t;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const char *name = dtype_name((dtype)i);
        ck_assert(dtype_find(name, strlen(name), &t));
        ck_assert_int_eq(t, i);
        ck_assert(!(dtype_floating(t) && dtype_integer(t)));
    }
    ck_assert(!dtype_find("F3", 2, &t) && !dtype_find("F32x", 4, &t));
}
END_TEST

START_TEST(numbers_convert_with_wrapping) {
    const struct {
        double x;
        int64_t i64;
        int32_t i32;
    } cases[] = {
        {-1.9, -1, -1},
        {0x1p31, (int64_t)1 << 31, INT32_MIN},
        {0x1p63, INT64_MIN, 0},
        {-0x1p63, INT64_MIN, 0},
        {0x1p64, 0, 0},
        {(double)NAN, 0, 0},
        {-(double)INFINITY, 0, 0},
        {-0x1.8p64, INT64_MIN, 0},
        {1e300, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ck_assert_int_eq(value_number(DT_I64, cases[i].x).as.i64, cases[i].i64);
        ck_assert_int_eq(value_number(DT_I32, cases[i].x).as.i32, cases[i].i32);
    }
    value v = value_number(DT_F32, 0.1);
    ck_assert(value_as_double(&v) == (double)0.1f);
    v = value_number(DT_Bool, 0.5);
    ck_assert(v.as.b && value_as_int(&v) == 1);
    v = value_i32(-7);
    ck_assert(value_as_int(&v) == -7 && value_as_double(&v) == -7.0);
}
END_TEST

START_TEST(tuples_release_what_they_hold) {
    context c;
    context_init(&c);
    tensor *t = tensor_new(&c, DT_F32, 1, (int64_t[]){5});
    tuple *inner = tuple_new(&c, 2), *outer = tuple_new(&c, 3);
    inner->item[0] = value_tensor(t);
    inner->item[1] = value_f64(1.5);
    value held = {.kind = VALUE_TUPLE, .as = {.tuple = inner}};
    outer->item[0] = held;
    outer->item[2] = value_retain(held);
    value whole = {.kind = VALUE_TUPLE, .as = {.tuple = outer}};
    value second = value_retain(whole);
    value_release(&c, whole);
    ck_assert_int_eq(t->refs, 1);
    ck_assert_int_eq(inner->head.refs, 2);
    value_release(&c, second);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}
END_TEST

START_TEST(an_evaluation_can_be_stopped) {
    context c;
    context_init(&c);
    const span here = {4, 9};
    ck_assert(context_may_go_on(&c, here));
    volatile sig_atomic_t flag = 0;
    c.interrupt = &flag;
    ck_assert(context_may_go_on(&c, here));
    flag = 1;
    ck_assert(!context_may_go_on(&c, here));
    ck_assert_int_eq(c.err.code, ERROR_K0509);
    ck_assert_uint_eq(c.err.where.end, 9);
    error_clear(&c.err);
    flag = 0;

    /* The clock is not read at each call, but the limit is met closely. */
    int64_t begin = monotonic_nanoseconds();
    c.deadline = begin + 50000000;
    while (context_may_go_on(&c, here)) {
    }
    int64_t passed = monotonic_nanoseconds() - begin;
    ck_assert_int_eq(c.err.code, ERROR_K0510);
    ck_assert_int_ge(passed, 50000000);
    ck_assert_int_lt(passed, 1000000000);
    context_close(&c);
}
END_TEST

START_TEST(the_stack_is_watched) {
    context c;
    context_init(&c);
    char here = 0;
    ck_assert(context_stack_left(&c, (span){0, 0}));
    c.stack_end = (const char *)__builtin_frame_address(0) - 100000;
    ck_assert(context_stack_left(&c, (span){0, 0}));
    c.stack_end = (const char *)__builtin_frame_address(0) + 100000 + here;
    ck_assert(!context_stack_left(&c, (span){0, 0}));
    ck_assert_int_eq(c.err.code, ERROR_K0508);
    context_close(&c);
}
END_TEST

enum { TASKS = 100 };

static void count_task(void *argument, int i) {
    atomic_int *done = argument;
    atomic_fetch_add(&done[i], 1);
}

START_TEST(every_task_is_done_once) {
    for (int threads = 1; threads <= 5; threads++) {
        context c;
        context_init(&c);
        for (int round = 0; round < 200; round++) {
            /* The number of threads may grow and shrink between jobs. */
            c.threads = round % 7 == 0 ? 1 : threads;
            atomic_int done[TASKS];
            for (int i = 0; i < TASKS; i++) atomic_init(&done[i], 0);
            int tasks = round % (TASKS + 1);
            threads_run(&c, tasks, count_task, done);
            bool right = true;
            for (int i = 0; i < TASKS; i++) right = right && atomic_load(&done[i]) == (i < tasks);
            ck_assert(right);
        }
        threads_close(&c);
        ck_assert_uint_eq(c.mem.live, 0);
        context_close(&c);
    }
}
END_TEST

START_TEST(without_memory_the_caller_works_alone) {
    context c;
    context_init(&c);
    c.threads = 4;
    c.mem.fail_at = 1;
    atomic_int done[TASKS];
    for (int i = 0; i < TASKS; i++) atomic_init(&done[i], 0);
    threads_run(&c, TASKS, count_task, done);
    for (int i = 0; i < TASKS; i++) ck_assert_int_eq(atomic_load(&done[i]), 1);
    ck_assert_int_eq(c.err.code, ERROR_NONE);
    context_close(&c);
}
END_TEST

Suite *suite_tensor(void);
Suite *suite_tensor(void) {
    Suite *s = suite_create("tensor");
    TCase *t = tcase_create("tensor");
    tcase_add_test(t, sizes_are_checked_for_overflow);
    tcase_add_test(t, shapes_print_and_never_overrun);
    tcase_add_test(t, owners_are_aligned_and_row_major);
    tcase_add_test(t, views_keep_their_owner);
    tcase_add_test(t, views_know_whether_they_are_contiguous);
    suite_add_tcase(s, t);
    t = tcase_create("value");
    tcase_add_test(t, dtypes_have_names);
    tcase_add_test(t, numbers_convert_with_wrapping);
    tcase_add_test(t, tuples_release_what_they_hold);
    suite_add_tcase(s, t);
    t = tcase_create("context, threads");
    tcase_add_test(t, an_evaluation_can_be_stopped);
    tcase_add_test(t, the_stack_is_watched);
    tcase_add_test(t, every_task_is_done_once);
    tcase_add_test(t, without_memory_the_caller_works_alone);
    suite_add_tcase(s, t);
    return s;
}
