/* Commands of the prompt where memory fails: each request that a command makes is refused once. The session says so and
 * goes on, and nothing of it is left at its end. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interp/tools/repl/repl.h"
#include "kernels/kernel.h"
#include "runtime/context.h"
#include "runtime/threads.h"

static const char definitions[] = "fn f(x: F64, w: F64) -> F64 { sin(x) * w }\n"
                                  "fn g(x: F64) -> F64 { relu(x) * floor(x) }\n"
                                  "fn s(x: tensor<F64, [N]>, n: I32) -> F64 {\n"
                                  "    let (y, i) = while (i < n) [y = x, i = 0] { (sin(y), i + 1) };\n"
                                  "    sum(y)\n"
                                  "}\n"
                                  "let v = tensor<F64, [2]>([1.0, 0.0]);\n"
                                  "s(v, 3)\n";

static const char *const commands[] = {
    ":type f(1.0, 2.0)\n", ":grad s(v, 3)\n", ":grad g(-1.5)\n", ":grad f(nan, 1.0)\n", ":source f jvp\n",
    ":set checkpoint k=2\n:tape s(v, 3)\n", ":check f(1.0, 2.0)\n", ":check s\n", ":stats\n", ":vars\n", ":doc f\n",
    ":doc softmax\n", ":load /dev/null\n:reload\n", ":save v /dev/null/v.npy\n", ":save v\n", ":read q /dev/null\n",
    ":set\n", ":set threads 0\n", ":nanbreak on\n", ":reset\n", ":explain\n", ":help\n", ":help grad\n", ":frob\n",
    ":plot g -1 1\n", ":certify g\n",
};

typedef struct session_run {
    uint64_t requests;          /* for memory, in all */
    size_t left;                /* bytes at the end */
    exit_code code;
} session_run;

/* A whole session, whose inputs come from a file. The n-th request fails; 0: none. */
static session_run run(const char *inputs, uint64_t fail_at) {
    static volatile sig_atomic_t stop;
    context c;
    session_run done;
    output out = {.c = &c, .stop = &stop};
    const options o = {.verb = VERB_repl};
    FILE *typed = tmpfile();
    ck_assert_ptr_nonnull(typed);
    fputs(inputs, typed);
    rewind(typed);
    int kept = dup(STDIN_FILENO);
    ck_assert_int_eq(dup2(fileno(typed), STDIN_FILENO), STDIN_FILENO);
    context_init(&c);
    kernel_install(&c);
    c.interrupt = &stop;
    c.mem.fail_at = fail_at;
    done.code = repl_run(&o, &c, &out, (engine_options){.print = output_print, .print_self = &out}, NULL);
    done.requests = c.mem.requests;
    threads_close(&c);
    done.left = c.mem.live;
    context_close(&c);
    dup2(kept, STDIN_FILENO);
    close(kept);
    fclose(typed);
    return done;
}

/* Every request at first, then fewer and fewer of the many that follow. */
static void refuse_each(const char *command) {
    char inputs[1024];
    uint64_t begin = run(definitions, 0).requests;
    snprintf(inputs, sizeof inputs, "%s%s", definitions, command);
    const session_run whole = run(inputs, 0);
    ck_assert_msg(whole.left == 0 && whole.code == EXIT_DONE, "%s: %zu bytes are left, exit code %d", command, whole.left,
                  (int)whole.code);
    uint64_t end = whole.requests;
    for (uint64_t n = begin; n <= end; n += 1 + (n - begin) / 16) {
        session_run done = run(inputs, n);
        ck_assert_msg(done.left == 0, "%s with request %llu of %llu refused: %zu bytes are left", command,
                      (unsigned long long)n, (unsigned long long)end, done.left);
        ck_assert_msg(done.code == EXIT_DONE, "%s with request %llu refused: exit code %d", command, (unsigned long long)n,
                      (int)done.code);
    }
}

static int shown[2];            /* standard output and error, as they were */

static void hush(void) {
    fflush(NULL);
    int nowhere = open("/dev/null", O_WRONLY);
    for (int i = 0; i < 2; i++) {
        shown[i] = dup(i + 1);
        dup2(nowhere, i + 1);
    }
    close(nowhere);
}

static void speak(void) {
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(shown[i], i + 1);
        close(shown[i]);
    }
}

START_TEST(each_request_refused) {
    for (size_t i = 0; i < COUNT_OF(commands); i++) refuse_each(commands[i]);
}
END_TEST

Suite *suite_prompt(void);
Suite *suite_prompt(void) {
    Suite *s = suite_create("prompt");
    TCase *t = tcase_create("prompt");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, hush, speak);
    tcase_add_test(t, each_request_refused);
    suite_add_tcase(s, t);
    return s;
}
