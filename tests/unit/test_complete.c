/* What TAB offers, by where the cursor is. */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/tools/repl/complete.h"
#include "runtime/context.h"
#include "runtime/text.h"

static void define(workspace *w, const char *name) {
    ck_assert(workspace_bind(w, name, value_i64(1), "", 1));
}

/* The candidates for a line with the cursor at its end, each behind a blank; in front, what they complete. */
static void check_line(const char *before, const char *line, const char *expected) {
    context c;
    context_init(&c);
    workspace session;
    workspace_init(&session, &c, (engine_options){0});
    input typed;
    input_init(&typed, &c);
    typed.lines = before != NULL;
    if (before != NULL) text_add(&typed.text, before);
    define(&session, "squirrel");
    completion found;
    complete_scope scope = {&session, &typed};
    ck_assert(complete_line(&found, &c, &scope, line, strlen(line)));
    text got;
    text_init(&got, &c);
    text_add(&got, line + found.from);
    text_add_char(&got, ':');
    for (size_t i = 0; i < found.found.count; i++) text_format(&got, " %s", found.found.words[i]);
    ck_assert_msg(strcmp(text_data(&got), expected) == 0, "%s: %s, expected %s", line, text_data(&got), expected);
    text_close(&got);
    completion_close(&found);
    input_close(&typed);
    workspace_close(&session);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}

START_TEST(names_of_the_language) {
    check_line(NULL, "squ", "squ: square squeeze squirrel");
    check_line(NULL, "sum(squ", "squ: square squeeze squirrel");
    check_line(NULL, "x.squ", "squ: square squeeze squirrel");
    check_line(NULL, "relu(x) + lga", "lga: lgamma");
    check_line(NULL, "top", "top: top_k");
    check_line(NULL, "whi", "whi: while");
    check_line(NULL, "qqq", "qqq:");
    /* A word that the language refuses is no candidate, nor is an op that programs cannot name. */
    check_line(NULL, "impo", "impo:");
    check_line(NULL, "retu", "retu:");
    /* In the middle of a word too the letters in front of the cursor count. */
    check_line(NULL, "1 + ", ":");
}
END_TEST

START_TEST(names_of_the_input) {
    check_line(NULL, "fn f(alpha: F32) -> F32 { square(alp", "alp: alpha");
    check_line("fn step(alpha: F32, alps: F32) -> F32 {\n", "  alp", "alp: alpha alps");
    check_line("let alpha = 1.0; // alpine\n", "alp", "alp: alpha");
}
END_TEST

START_TEST(handlers) {
    check_line(NULL, "handle f(x) with ", ": forwardMode reverseMode");
    check_line("handle f(x)\n", "with rev", "rev: reverseMode");
    check_line(NULL, "handle f(x) rev", "rev:");
}
END_TEST

START_TEST(comments_and_strings) {
    check_line(NULL, "1 // squ", "squ:");
    check_line("1 // comment\n", "squ", "squ: square squeeze squirrel");
    check_line(NULL, "print(\"squ", "squ:");
    check_line(NULL, "print(\"a\", squ", "squ: square squeeze squirrel");
    check_line(NULL, "print(\"//\", squ", "squ: square squeeze squirrel");
}
END_TEST

START_TEST(commands) {
    check_line(NULL, ":sa", "sa: save");
    check_line(NULL, "  :se", "se: set");
    check_line(NULL, ":ty squ", "squ: square squeeze squirrel");
    check_line(NULL, ":grad f(squ", "squ: square squeeze squirrel");
    check_line(NULL, ":nanbreak o", "o: off on");
    check_line(NULL, ":nanbreak ", ": off on");
    check_line(NULL, ":explain K010", "K010: K0101 K0102 K0103 K0104 K0105 K0106 K0107 K0108");
    check_line(NULL, ":set nu", "nu: numerics");
    check_line(NULL, ":set numerics ", ": compiled default fast reference");
    check_line(NULL, ":set full o", "o: off on");
    check_line(NULL, ":set threads ", ": default");
    check_line(NULL, ":help ce", "ce: certify");
    check_line(NULL, ":vars s", "s:");
    check_line(NULL, ":nosuch s", ":");
    /* Within an input a colon is no command's. */
    check_line("let x\n", ":nanb", "nanb:");
}
END_TEST

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *where) {
    (void)s, (void)kind, (void)where;
    return remove(path);
}

START_TEST(paths) {
    char folder[] = "/tmp/kina-complete-XXXXXX", old[4096];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_ptr_nonnull(getcwd(old, sizeof old));
    ck_assert_int_eq(chdir(folder), 0);
    static const char *const files[] = {"w.npy", "with space.npy", "x/train.npy", "x/test.npy",
                                        ".hidden", "a\"b", "a\nb"};
    ck_assert_int_eq(mkdir("x", 0777), 0);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        FILE *f = fopen(files[i], "w");
        ck_assert_ptr_nonnull(f);
        fclose(f);
    }
    check_line(NULL, "load(\"", ": w.npy with space.npy x/");
    check_line(NULL, "let w: F32 = load(\"w", "w: w.npy with space.npy");
    check_line(NULL, "load(\"with s", "with s: with space.npy");
    check_line(NULL, "load(\"x/t", "t: test.npy train.npy");
    check_line(NULL, "load(\"./x/tr", "tr: train.npy");
    check_line(NULL, "save(\"x/", ": test.npy train.npy");
    check_line(NULL, "load(\".h", ".h: .hidden");
    check_line(NULL, "load(\"none/", ":");
    check_line(NULL, ":load w", "w: w.npy with space.npy");
    check_line(NULL, ":load ", ": w.npy with space.npy x/");
    check_line(NULL, ":load with s", "with s: with space.npy");
    check_line(NULL, ":read w x/te", "te: test.npy");
    check_line(NULL, ":save squ", "squ: square squeeze squirrel");
    /* Only the path of load and save is one. */
    check_line(NULL, "print(\"w", "w:");
    check_line(NULL, "save(\"a\", \"w", "w:");
    ck_assert_int_eq(chdir(old), 0);
    ck_assert_int_eq(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

START_TEST(shared_beginning) {
    context c;
    context_init(&c);
    candidates t;
    candidates_init(&t, &c);
    ck_assert_uint_eq(candidates_shared(&t), 0);
    static const char *const words[] = {"tile", "tanh", "tan", "tan", "sin"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        ck_assert(candidates_offer(&t, "ta", 2, words[i], strlen(words[i])));
    }
    candidates_sort(&t);
    ck_assert_uint_eq(t.count, 2);
    ck_assert_str_eq(t.words[0], "tan");
    ck_assert_str_eq(t.words[1], "tanh");
    ck_assert_uint_eq(candidates_shared(&t), 3);
    candidates_close(&t);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}
END_TEST

/* When any one request for memory fails, that is said and nothing is lost. */
START_TEST(without_memory) {
    for (uint64_t n = 1;; n++) {
        context c;
        context_init(&c);
        c.mem.fail_at = n;
        completion found;
        workspace session;
        workspace_init(&session, &c, (engine_options){0});
        input typed;
        input_init(&typed, &c);
        complete_scope scope = {&session, &typed};
        const char line[] = "let squeak = 1; squ";
        bool ok = complete_line(&found, &c, &scope, line, sizeof line - 1);
        ck_assert(ok == (c.err.code == ERROR_NONE));
        completion_close(&found);
        input_close(&typed);
        workspace_close(&session);
        ck_assert_uint_eq(c.mem.live, 0);
        context_close(&c);
        if (ok) break;
    }
}
END_TEST

Suite *suite_complete(void);
Suite *suite_complete(void) {
    Suite *s = suite_create("complete");
    TCase *t = tcase_create("complete");
    tcase_add_test(t, names_of_the_language);
    tcase_add_test(t, names_of_the_input);
    tcase_add_test(t, handlers);
    tcase_add_test(t, comments_and_strings);
    tcase_add_test(t, commands);
    tcase_add_test(t, paths);
    tcase_add_test(t, shared_beginning);
    tcase_add_test(t, without_memory);
    suite_add_tcase(s, t);
    return s;
}
