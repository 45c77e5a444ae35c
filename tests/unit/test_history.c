/* The history and its file: what comes back, sessions side by side, files that are not one. */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/tools/repl/history.h"
#include "runtime/context.h"

static char folder[64], path[128];
static context c;

static void set_up(void) {
    context_init(&c);
    snprintf(folder, sizeof folder, "/tmp/kina-history-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history", folder);
}

static int remove_entry(const char *name, const struct stat *s, int kind, struct FTW *where) {
    (void)s, (void)kind, (void)where;
    return remove(name);
}

static void tear_down(void) {
    ck_assert_int_eq(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}

static void add(input_history *h, const char *entry) {
    ck_assert(history_add(h, entry, strlen(entry)));
}

static void write_file(const char *bytes, size_t length) {
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, length, f), length);
    fclose(f);
}

/* The file is exactly this. */
static void check_file(const char *expected) {
    char bytes[512];
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(bytes, 1, sizeof bytes - 1, f);
    bytes[n] = '\0';
    fclose(f);
    ck_assert_str_eq(bytes, expected);
}

START_TEST(entries_come_back) {
    static const char *const entries[] = {"1 + 1", "fn f() {\n  1\n}", "print(\"a\\nb\\\\\")", "é∂", "\\", "\tx"};
    input_history h;
    ck_assert(history_open(&h, &c, path));
    for (size_t i = 0; i < COUNT_OF(entries); i++) add(&h, entries[i]);
    history_close(&h);
    struct stat s;
    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_int_eq(s.st_mode & 0777, 0600);
    ck_assert(history_open(&h, &c, path));
    ck_assert_uint_eq(h.count, COUNT_OF(entries));
    for (size_t i = 0; i < COUNT_OF(entries); i++) ck_assert_str_eq(h.entries[i], entries[i]);
    history_close(&h);
}
END_TEST

/* Nothing empty, nothing twice in a row, nothing of great length. */
START_TEST(what_is_not_kept) {
    input_history h;
    ck_assert(history_open(&h, &c, path));
    char *great = calloc(HISTORY_ENTRY + 2, 1);
    ck_assert_ptr_nonnull(great);
    memset(great, 'x', HISTORY_ENTRY + 1);
    add(&h, "1");
    add(&h, "");
    add(&h, "1");
    add(&h, great);
    add(&h, "2");
    free(great);
    check_file("1\n2\n");
    history_close(&h);
}
END_TEST

START_TEST(sessions_side_by_side) {
    input_history one, two, after;
    ck_assert(history_open(&one, &c, path));
    ck_assert(history_open(&two, &c, path));
    add(&one, "a");
    add(&two, "b");
    add(&one, "c");
    check_file("a\nb\nc\n");
    /* A third session puts a shorter file in its place, and no entry goes to the old one. */
    char beside[160];
    snprintf(beside, sizeof beside, "%s/new", folder);
    ck_assert_int_eq(rename(path, beside), 0);
    write_file("b\n", 2);
    add(&two, "d");
    add(&one, "e");
    check_file("b\nd\ne\n");
    ck_assert(history_open(&after, &c, path));
    ck_assert_uint_eq(after.count, 3);
    history_close(&one);
    history_close(&two);
    history_close(&after);
}
END_TEST

START_TEST(cut_off) {
    write_file("a\nb", 3);
    input_history h;
    ck_assert(history_open(&h, &c, path));
    ck_assert_uint_eq(h.count, 2);
    add(&h, "c");
    check_file("a\nb\nc\n");
    history_close(&h);
}
END_TEST

/* The newest lines of a long file are read, whole ones, and only they stay. */
START_TEST(long_file) {
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 400000; i++) fprintf(f, "%06d\n", i);
    fclose(f);
    input_history h;
    ck_assert(history_open(&h, &c, path));
    ck_assert_uint_eq(h.count, HISTORY_BYTES / 7);
    ck_assert_str_eq(h.entries[h.count - 1], "399999");
    ck_assert_uint_eq(strlen(h.entries[0]), 6);
    struct stat s;
    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_int_eq(s.st_size, HISTORY_BYTES / 7 * 7);
    add(&h, "x");
    history_close(&h);
    ck_assert(history_open(&h, &c, path));
    ck_assert_str_eq(h.entries[h.count - 1], "x");
    history_close(&h);
}
END_TEST

/* One error, and a history that works without the file. */
static void check_unusable(error_code code) {
    input_history h;
    ck_assert(!history_open(&h, &c, path));
    ck_assert_int_eq(c.err.code, code);
    error_clear(&c.err);
    add(&h, "1");
    ck_assert_uint_eq(h.count, 1);
    history_close(&h);
}

START_TEST(no_file_of_ours) {
    static const char binary[] = "a\nb\0c\n", latin[] = "caf\xE9\n";
    write_file(binary, sizeof binary - 1);
    check_unusable(ERROR_K0603);
    struct stat s;
    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_int_eq(s.st_size, sizeof binary - 1);
    write_file(latin, sizeof latin - 1);
    check_unusable(ERROR_K0603);
    check_file(latin);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    check_unusable(ERROR_K0601);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0666), 0);
    check_unusable(ERROR_K0601);
}
END_TEST

/* The folder is gone: one error, and no further attempt. */
START_TEST(cannot_be_written) {
    input_history h;
    char nowhere[160];
    snprintf(nowhere, sizeof nowhere, "%s/none/history", folder);
    ck_assert(history_open(&h, &c, nowhere));
    ck_assert(!history_add(&h, "1", 1));
    ck_assert_int_eq(c.err.code, ERROR_K0602);
    error_clear(&c.err);
    add(&h, "2");
    ck_assert_uint_eq(h.count, 2);
    history_close(&h);
}
END_TEST

START_TEST(search) {
    input_history h;
    ck_assert(history_open(&h, &c, NULL));
    add(&h, "w * x");
    add(&h, "x");
    add(&h, "w * y");
    ck_assert_int_eq(history_search(&h, "w *", 3), 2);
    ck_assert_int_eq(history_search(&h, "w *", 2), 0);
    ck_assert_int_eq(history_search(&h, "w *", 0), -1);
    ck_assert_int_eq(history_search(&h, "z", 3), -1);
    history_close(&h);
}
END_TEST

START_TEST(without_memory) {
    write_file("a\nb\n", 4);
    for (uint64_t n = 1;; n++) {
        input_history h;
        c.mem.fail_at = c.mem.requests + n;
        bool ok = history_open(&h, &c, path) && history_add(&h, "a", 1) && history_add(&h, "b", 1);
        ck_assert(ok == (c.err.code == ERROR_NONE));
        error_clear(&c.err);
        history_close(&h);
        ck_assert_uint_eq(c.mem.live, 0);
        if (ok) break;
    }
    c.mem.fail_at = 0;
}
END_TEST

Suite *suite_history(void);
Suite *suite_history(void) {
    Suite *s = suite_create("history");
    TCase *t = tcase_create("history");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, entries_come_back);
    tcase_add_test(t, what_is_not_kept);
    tcase_add_test(t, sessions_side_by_side);
    tcase_add_test(t, cut_off);
    tcase_add_test(t, long_file);
    tcase_add_test(t, no_file_of_ours);
    tcase_add_test(t, cannot_be_written);
    tcase_add_test(t, search);
    tcase_add_test(t, without_memory);
    suite_add_tcase(s, t);
    return s;
}
