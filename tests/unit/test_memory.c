/* The allocator's promises: alignment, accounting, limits, reuse; and what is built on it, arenas
 * and text buffers, when the n-th request fails. */
#include <check.h>
#include <string.h>

#include "runtime/arena.h"
#include "runtime/context.h"
#include "runtime/text.h"

/* Whether freed blocks are kept for reuse, which a sanitizer's build does not do. */
static bool pools(void) {
    memory m;
    memory_init(&m);
    void *p = memory_take(&m, 16);
    bool kept = m.reserved > 16;
    memory_free(&m, p, 16);
    memory_close(&m);
    return kept;
}

/* A small generator of its own, so that a failure repeats. */
static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Check writes to a pipe at every assertion, so bytes are compared without it. */
static bool all_bytes(const void *p, size_t count, int expected) {
    const unsigned char *bytes = p;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != expected) return false;
    }
    return true;
}

START_TEST(blocks_are_aligned_and_counted) {
    memory m;
    memory_init(&m);
    static const size_t sizes[] = {
        0,   1,   15,  16,  17,   63,   64,   65,    100,    127,     129,     191,     255,    257,
        320, 321, 511, 513, 4095, 4097, 5000, 70000, 300000, 1048575, 1048576, 1048577, 3000000};
    void *block[COUNT_OF(sizes)];
    size_t live = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        block[i] = memory_take(&m, sizes[i]);
        ck_assert_ptr_nonnull(block[i]);
        ck_assert_uint_eq((uintptr_t)block[i] % (sizes[i] >= TENSOR_ALIGN ? TENSOR_ALIGN : 16), 0);
        memset(block[i], (int)i + 1, sizes[i]);
        live += sizes[i];
        ck_assert_uint_eq(m.live, live);
        ck_assert_uint_ge(m.reserved, live);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        ck_assert(all_bytes(block[i], sizes[i], (int)i + 1));
        memory_free(&m, block[i], sizes[i]);
    }
    ck_assert_uint_eq(m.live, 0);
    ck_assert_uint_eq(m.peak, live);
    ck_assert_uint_eq(m.requests, COUNT_OF(sizes));
    memory_free(&m, NULL, 0);
    memory_close(&m);
}
END_TEST

/* Random takes, frees and resizes; every block holds a pattern that only its own writer knows. */
START_TEST(blocks_never_overlap) {
    enum { SLOTS = 200, STEPS = 20000 };
    struct {
        unsigned char *p;
        size_t bytes;
    } slot[SLOTS] = {{0}};
    memory m;
    memory_init(&m);
    uint32_t seed = 7;
    size_t live = 0;
    for (int step = 0; step < STEPS; step++) {
        unsigned i = next_random(&seed) % SLOTS;
        unsigned shift = next_random(&seed) % (step % 500 == 0 ? 22 : 13);
        size_t bytes = next_random(&seed) % (1u << shift);
        size_t old = slot[i].bytes, checked = old < 64 ? old : 64;
        if (checked > 0) {
            ck_assert(all_bytes(slot[i].p, checked, (int)i));
            ck_assert(all_bytes(slot[i].p + old - checked, checked, (int)i));
        }
        if (slot[i].p != NULL && next_random(&seed) % 2 == 0) {
            memory_free(&m, slot[i].p, old);
            slot[i].p = NULL;
            bytes = 0;
        } else {
            slot[i].p = memory_resize(&m, slot[i].p, old, bytes);
            ck_assert_ptr_nonnull(slot[i].p);
            ck_assert(all_bytes(slot[i].p, checked < bytes ? checked : bytes, (int)i));
            memset(slot[i].p, (int)i, bytes);
        }
        slot[i].bytes = bytes;
        live += bytes - old;
        ck_assert_uint_eq(m.live, live);
    }
    for (int i = 0; i < SLOTS; i++) memory_free(&m, slot[i].p, slot[i].bytes);
    ck_assert_uint_eq(m.live, 0);
    memory_close(&m);
}
END_TEST

START_TEST(a_loop_of_fixed_sizes_reserves_once) {
    if (!pools()) return;
    static const size_t sizes[] = {24, 200, 5000, 100000, 1500000, 5000000};
    memory m;
    memory_init(&m);
    size_t reserved = 0;
    for (int round = 0; round < 50; round++) {
        void *block[COUNT_OF(sizes)];
        for (size_t i = 0; i < COUNT_OF(sizes); i++) block[i] = memory_take(&m, sizes[i]);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) memory_free(&m, block[i], sizes[i]);
        if (round == 0) reserved = m.reserved;
        ck_assert_uint_eq(m.reserved, reserved);
    }
    memory_close(&m);
    ck_assert_uint_eq(m.reserved, 0);
}
END_TEST

START_TEST(cached_blocks_yield_to_the_limit) {
    if (!pools()) return;
    memory m;
    memory_init(&m);
    m.limit = 64 << 20;
    for (size_t mib = 2; mib < 60; mib++) {
        void *p = memory_take(&m, mib << 20);
        ck_assert_ptr_nonnull(p);
        memory_free(&m, p, mib << 20);
    }
    ck_assert_uint_le(m.reserved, 3 * m.limit / 2);
    memory_close(&m);
}
END_TEST

START_TEST(the_limit_counts_live_bytes) {
    memory m;
    memory_init(&m);
    m.limit = 1000;
    void *a = memory_take(&m, 600);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_null(memory_take(&m, 401));
    ck_assert(m.limited);
    void *b = memory_take(&m, 400);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_null(memory_take(&m, SIZE_MAX));
    ck_assert_ptr_null(memory_resize(&m, b, 400, 700));
    memory_free(&m, a, 600);
    b = memory_resize(&m, b, 400, 410);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(m.live, 410);
    memory_free(&m, b, 410);
    ck_assert_uint_eq(m.live, 0);
    ck_assert_uint_le(m.peak, 1000);
    memory_close(&m);
}
END_TEST

START_TEST(absurd_sizes_are_refused) {
    memory m;
    memory_init(&m);
    for (int bit = 45; bit < 64; bit++) {
        ck_assert_ptr_null(memory_take(&m, (size_t)1 << bit));
        ck_assert(!m.limited);
    }
    ck_assert_ptr_null(memory_take(&m, SIZE_MAX));
    void *p = memory_take(&m, 100);
    ck_assert_ptr_nonnull(p);
    memory_free(&m, p, 100);
    memory_close(&m);
}
END_TEST

START_TEST(errors_say_what_was_asked_for) {
    context c;
    context_init(&c);
    c.mem.limit = 64 << 20;
    ck_assert_ptr_null(take(&c, 100 << 20));
    ck_assert_int_eq(c.err.code, ERROR_K0507);
    ck_assert_ptr_nonnull(strstr(c.err.message, "64 MiB"));
    ck_assert_ptr_nonnull(strstr(c.err.message, "100 MiB"));
    ck_assert_ptr_nonnull(strstr(c.err.help, "--max-memory"));
    error_clear(&c.err);
    c.mem.limit = 0;
    ck_assert_ptr_null(take(&c, SIZE_MAX / 4));
    ck_assert_int_eq(c.err.code, ERROR_K0506);
    error_clear(&c.err);
    unsigned char *p = take_zeroed(&c, 1000);
    ck_assert_ptr_nonnull(p);
    ck_assert(all_bytes(p, 1000, 0));
    c.mem.fail_at = c.mem.requests + 1;
    ck_assert_ptr_null(resize(&c, p, 1000, 100000));
    ck_assert_int_eq(c.err.code, ERROR_K0507);
    give_back(&c, p, 1000);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}
END_TEST

START_TEST(the_first_error_is_kept_and_cut_at_characters) {
    error e;
    error_clear(&e);
    ck_assert(!error_set(&e, ERROR_K0501, (span){3, 5}, "first %d", 1));
    ck_assert(!error_set(&e, ERROR_K0502, (span){0, 0}, "second"));
    ck_assert_int_eq(e.code, ERROR_K0501);
    ck_assert_str_eq(e.message, "first 1");
    ck_assert_str_eq(error_code_name(e.code), "K0501");
    ck_assert_str_eq(error_code_title(e.code), "integer division by zero");
    ck_assert_int_eq(error_code_phase(e.code), PHASE_run);
    for (unsigned i = 0; i < ERROR_NOTES + 5; i++) error_add_note(&e, (span){i, i}, "note %u", i);
    ck_assert_uint_eq(e.note_count, ERROR_NOTES + 5);
    ck_assert_str_eq(e.note[ERROR_NOTES - 1].text, "note 11");
    /* Two bytes a character, behind one or no single byte: one of the two is cut within a
     * character. */
    char wide[2 * ERROR_TEXT + 2] = "x";
    for (int i = 0; i < ERROR_TEXT; i++) memcpy(wide + 1 + 2 * (size_t)i, "é", 2);
    wide[2 * ERROR_TEXT + 1] = '\0';
    for (int skip = 0; skip < 2; skip++) {
        error_clear(&e);
        error_set(&e, ERROR_K0502, (span){0, 0}, "%s", wide + skip);
        size_t length = strlen(e.message);
        ck_assert_uint_ge(length, ERROR_TEXT - 2);
        ck_assert_uint_eq((unsigned char)e.message[length - 2], 0xC3);
    }
}
END_TEST

START_TEST(arenas_survive_every_failure) {
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        context c;
        context_init(&c);
        c.mem.fail_at = n;
        arena a;
        arena_init(&a, &c);
        done = true;
        for (int i = 0; i < 300 && done; i++) {
            char *p = arena_take(&a, (size_t)i);
            if (p == NULL) {
                done = false;
                break;
            }
            ck_assert_uint_eq((uintptr_t)p % 16, 0);
            ck_assert(all_bytes(p, (size_t)i, 0));
            memset(p, 0xAB, (size_t)i);
        }
        if (done) {
            char *large = arena_take(&a, 200000), *small = NULL, *copy = NULL;
            if (large != NULL) small = arena_format(&a, "%d-%s", 42, "x");
            if (small != NULL) copy = arena_text(&a, "abcdef", 3);
            done = copy != NULL;
            if (done) {
                ck_assert_str_eq(small, "42-x");
                ck_assert_str_eq(copy, "abc");
            }
        }
        ck_assert(done == (c.err.code == ERROR_NONE));
        arena_close(&a);
        ck_assert_uint_eq(c.mem.live, 0);
        context_close(&c);
    }
}
END_TEST

START_TEST(texts_grow_and_survive_every_failure) {
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        context c;
        context_init(&c);
        c.mem.fail_at = n;
        text t;
        text_init(&t, &c);
        ck_assert_str_eq(text_data(&t), "");
        text_add(&t, "");
        for (int i = 0; i < 100; i++) {
            text_format(&t, "%d,", i);
            text_add_char(&t, 'x');
            text_add_repeat(&t, 'y', (size_t)i % 3);
        }
        text_format(&t, "%0500d", 7);
        done = !t.failed;
        if (done) {
            ck_assert_uint_eq(strlen(text_data(&t)), t.length);
            ck_assert_uint_eq(t.length, 190 + 100 + 100 + 99 + 500);
            ck_assert_int_eq(strncmp(text_data(&t), "0,x1,xy2,xyy3,x", 15), 0);
        } else {
            ck_assert_int_eq(c.err.code, ERROR_K0507);
        }
        text_clear(&t);
        ck_assert_str_eq(text_data(&t), "");
        text_close(&t);
        ck_assert_uint_eq(c.mem.live, 0);
        context_close(&c);
    }
}
END_TEST

Suite *suite_memory(void);
Suite *suite_memory(void) {
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("allocator");
    tcase_add_test(t, blocks_are_aligned_and_counted);
    tcase_add_test(t, blocks_never_overlap);
    tcase_add_test(t, a_loop_of_fixed_sizes_reserves_once);
    tcase_add_test(t, cached_blocks_yield_to_the_limit);
    tcase_add_test(t, the_limit_counts_live_bytes);
    tcase_add_test(t, absurd_sizes_are_refused);
    tcase_add_test(t, errors_say_what_was_asked_for);
    suite_add_tcase(s, t);
    t = tcase_create("error, arena, text");
    tcase_add_test(t, the_first_error_is_kept_and_cut_at_characters);
    tcase_add_test(t, arenas_survive_every_failure);
    tcase_add_test(t, texts_grow_and_survive_every_failure);
    suite_add_tcase(s, t);
    return s;
}
