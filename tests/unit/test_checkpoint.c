/* Checkpointed loops: how often bodies run, what is left behind, and that a replay that goes wrong is seen. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/engine.h"
#include "interp/policy.h"
#include "kernels/kernel.h"
#include "runtime/threads.h"

static const char text_of_loop[] = "fn f(x0: F64, a: F64, n: I32) -> F64 {\n"
                                   "  let x = while (i < n) [x = x0, i = 0] { (x * a + 0.001 * sin(x), i + 1) };\n"
                                   "  x\n"
                                   "}\n"
                                   "let x: F64 = 0.5;\n"
                                   "let a: F64 = 0.99;\n"
                                   "handle f(x, a, 30) with reverseMode\n";

typedef struct outcome {
    bool ok;
    error err;
    context_stats stats;
    loop_report loop;
    double gradient[2];
    size_t peak;
} outcome;

static outcome run_program(const char *program_text, const char *policy_words, uint64_t perturb) {
    outcome o = {0};
    context c;
    context_init(&c);
    kernel_install(&c);
    c.perturb_replay = perturb;
    engine_options options = {0};
    ck_assert(policy_read(policy_words, &options.checkpoint));
    engine e;
    engine_init(&e, &c, options);
    results r = {0};
    ck_assert(engine_load(&e, "loop.kina", program_text, strlen(program_text)));
    o.ok = engine_run(&e, &r);
    o.err = c.err;
    o.stats = c.stats;
    if (c.stats.loop_count > 0) o.loop = c.stats.loops[0];
    o.peak = c.mem.peak;
    for (int i = 0; o.ok && i < 2 && i + 1 < r.count; i++) o.gradient[i] = r.items[i + 1].v.as.f64;
    if (o.ok) results_release(&c, &r);
    engine_close(&e);
    threads_close(&c);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
    return o;
}

static outcome run(const char *policy_words, uint64_t perturb) {
    return run_program(text_of_loop, policy_words, perturb);
}

/* Executions of the body, as the schedules of checkpointing's literature have them: 2N - L for a state every
 * k iterations with L in the last segment, t(N, s) + N for s states. */
START_TEST(executions) {
    static const struct {
        const char *policy;
        uint64_t executions, states;
    } rows[] = {
        {"all", 30, 0},       {"k=1", 59, 30},     {"k=4", 58, 8},     {"k=7", 58, 5},
        {"k=30", 30, 1},      {"k=100", 30, 1},    {"slots=1", 465, 1}, {"slots=3", 115, 3},
        {"slots=10", 78, 10},
    };
    outcome full = run("all", 0);
    ck_assert(full.ok);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        outcome o = run(rows[i].policy, 0);
        ck_assert_msg(o.ok, "%s: %s", rows[i].policy, o.err.message);
        ck_assert_mem_eq(o.gradient, full.gradient, sizeof full.gradient);
        ck_assert_msg(o.stats.iterations == rows[i].executions, "%s: %llu executions, not %llu", rows[i].policy,
                      (unsigned long long)o.stats.iterations, (unsigned long long)rows[i].executions);
        ck_assert_msg(o.loop.states <= rows[i].states, "%s keeps %llu states", rows[i].policy,
                      (unsigned long long)o.loop.states);
    }
}
END_TEST

/* A replay that reaches iteration 8 finds the carried x changed in its last bit. */
START_TEST(perturbed_replay) {
    static const char *const policies[] = {"k=3", "slots=2", "auto"};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        outcome o = run(policies[i], 8);
        ck_assert_msg(!o.ok, "%s does not notice", policies[i]);
        ck_assert_int_eq(o.err.code, ERROR_K0901);
        ck_assert_msg(strstr(o.err.message, "`x`") != NULL, "%s", o.err.message);
        ck_assert_msg(strstr(o.err.message, "iteration 8") != NULL, "%s", o.err.message);
        ck_assert_uint_ne(o.err.where.end, 0);
    }
    outcome full = run("all", 8);
    ck_assert(full.ok); /* nothing is run again */
}
END_TEST

static const char text_of_dense[] =
    "fn f(x0: tensor<F32, [64, 64]>, w: tensor<F32, [64, 64]>, n: I32) -> F32 {\n"
    "  let r = while (i < n) [x = x0, i = 0] { (if (sum(x) > 1e9) { x * 0.5 } else { relu(x @ w) }, i + 1) };\n"
    "  sum(r)\n"
    "}\n"
    "let (_, _, d) = handle f(random_uniform(1, [64, 64]), random_uniform(2, [64, 64]) * 0.05, %d) with reverseMode;\n"
    "(0.0, sum(d), 0.0)\n";

static size_t dense_peak(const char *policy_words, int trips, uint64_t *runs) {
    char program_text[sizeof text_of_dense + 16];
    snprintf(program_text, sizeof program_text, text_of_dense, trips);
    outcome o = run_program(program_text, policy_words, 0);
    ck_assert_msg(o.ok, "%s: %s", policy_words, o.err.message);
    *runs = o.stats.iterations;
    return o.peak;
}

/* Bytes as the allocator counts them, weights and their gradients apart: what a run without iterations takes. A
 * larger budget never repeats more, one that holds the tape repeats nothing. */
START_TEST(budgets) {
    static const char *const words[] = {"memory=256KiB", "memory=384KiB", "memory=512KiB", "memory=1MiB",
                                          "memory=2MiB"};
    static const size_t bytes[] = {256 << 10, 384 << 10, 512 << 10, 1 << 20, 2 << 20};
    uint64_t runs, before = UINT64_MAX;
    size_t base = dense_peak("all", 0, &runs);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t peak = dense_peak(words[i], 100, &runs);
        ck_assert_msg(peak - base <= bytes[i], "%s peaks at %zu", words[i], peak - base);
        ck_assert_msg(runs <= before, "%s repeats more than a smaller budget", words[i]);
        before = runs;
    }
    ck_assert_uint_eq(runs, 100);
}
END_TEST

static const char text_of_numbers[] =
    "fn f(x0: F64, a: F64, n: I32) -> F64 {\n"
    "  let x = while (i < n && x < 9.0) [x = x0, i = 0] { (if (i % 3 == 0) { x * a } else { sin(x) }, i + 1) };\n"
    "  x\n"
    "}\n"
    "handle f(0.5, 0.99, %d) with reverseMode\n";

static const char text_of_nested_numbers[] =
    "fn f(x0: F64, a: F64, n: I32) -> F64 {\n"
    "  let x = while (i < n) [x = x0, i = 0] {\n"
    "    let y = while (j < 30 && y < 9.0) [y = x, j = 0] { (sin(y) * a + 0.1, j + 1) };\n"
    "    (0.5 * y + 0.1 * x, i + 1)\n"
    "  };\n"
    "  x\n"
    "}\n"
    "handle f(0.5, 0.99, %d) with reverseMode\n";

static outcome run_for(const char *format, int trips, size_t budget) {
    char program_text[1024], words[40];
    snprintf(program_text, sizeof program_text, format, trips);
    snprintf(words, sizeof words, budget == 0 ? "all" : "memory=%zu", budget);
    return run_program(program_text, words, 0);
}

/* States of a few bytes, for which the books of tape and schedule are the most of what is counted. The budget that a
 * refusal names works, also where the loop inside shares it. */
static void hold_budgets(const char *format, int trips) {
    size_t base = run_for(format, 0, 0).peak;
    outcome full = run_for(format, trips, 0), refused = run_for(format, trips, 1);
    ck_assert(full.ok && !refused.ok);
    ck_assert_int_eq(refused.err.code, ERROR_K0514);
    const char *named = strstr(refused.err.message, "at least ");
    ck_assert(named != NULL);
    size_t least = strtoul(named + strlen("at least "), NULL, 10);
    for (size_t tenths = 10; tenths < 1000; tenths += 1 + tenths / 2) {
        size_t budget = least * tenths / 10;
        outcome o = run_for(format, trips, budget);
        ck_assert_msg(o.ok, "%zu bytes: %s", budget, o.err.message);
        ck_assert_mem_eq(o.gradient, full.gradient, sizeof full.gradient);
        ck_assert_msg(o.peak - base <= budget, "%zu bytes: takes %zu", budget, o.peak - base);
    }
}

START_TEST(budgets_of_numbers) {
    hold_budgets(text_of_numbers, 2000);
    hold_budgets(text_of_nested_numbers, 60);
}
END_TEST

static const char text_of_orders[] =
    "fn f(x0: tensor<F64, [1000]>, a: F64, n: I32) -> F64 {\n"
    "  let r = while (i < n%s) [x = x0, i = 0] { (x * a + 0.001 * sin(x), i + 1) };\n"
    "  sum(r * r)\n"
    "}\n"
    "fn g(x: tensor<F64, [1000]>) -> tensor<F64, [1000]> {\n"
    "  let (_, d, _) = handle f(x, 0.99, %d) with reverseMode; d\n"
    "}\n"
    "fn h(x: tensor<F64, [1000]>) -> tensor<F64, [1000]> {\n"
    "  let (_, d) = handle g(x) with forwardMode(ones([1000], dtype=F64)); d\n"
    "}\n"
    "fn third(x: tensor<F64, [1000]>) -> tensor<F64, [1000]> {\n"
    "  let (_, d) = handle h(x) with forwardMode(ones([1000], dtype=F64)); d\n"
    "}\n"
    "sum(%s(random_uniform(1, [1000], dtype=F64)))\n";

static size_t peak_of_order(const char *function, const char *stop, const char *policy_words, int trips) {
    char program_text[2048];
    snprintf(program_text, sizeof program_text, text_of_orders, stop, trips, function);
    outcome o = run_program(program_text, policy_words, 0);
    ck_assert_msg(o.ok, "%s: %s", policy_words, o.err.message);
    return o.peak;
}

/* Forward over reverse: tangents double what states and adjoints take, and nothing is left behind by states that were
 * dropped, nor by iterations that were advanced over or swept, however many there are. */
START_TEST(higher_orders) {
    static const char *const stops[] = {"", " && sum(x) < 1e30"};
    static const char *const functions[] = {"h", "third"};
    const size_t state = 8000;
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        for (size_t k = 0; k < COUNT_OF(functions); k++) {
            size_t few = peak_of_order(functions[k], stops[i], "slots=8", 100);
            size_t many = peak_of_order(functions[k], stops[i], "slots=8", 400);
            ck_assert_msg(many < few + 4 * state, "%s: %zu bytes after %zu", functions[k], many, few);
        }
        size_t rest = peak_of_order("g", stops[i], "slots=8", 0), rest_twice = peak_of_order("h", stops[i], "slots=8", 0);
        size_t once = peak_of_order("g", stops[i], "slots=8", 400) - rest;
        size_t twice = peak_of_order("h", stops[i], "slots=8", 400) - rest_twice;
        ck_assert_msg(twice < 2 * once + 16 * state, "%zu bytes for the first order, %zu for the second", once, twice);
    }
}
END_TEST

START_TEST(policy_words) {
    policy p;
    static const char *const bad[] = {"", "k", "k=", "k=0", "k=-1", "k=4x", "slots=0", "memory=", "memory=4kb",
                                      "memory=99999999999999999999", "every=3", "auto "};
    for (size_t i = 0; i < COUNT_OF(bad); i++) ck_assert_msg(!policy_read(bad[i], &p), "%s is taken", bad[i]);
    ck_assert(policy_read("memory=64MiB", &p));
    ck_assert_int_eq(p.kind, POLICY_BYTES);
    ck_assert_uint_eq(p.bytes, 64u << 20);
    ck_assert(policy_read("k=auto", &p));
    ck_assert_int_eq(p.kind, POLICY_AUTO);
}
END_TEST

Suite *suite_checkpoint(void) {
    Suite *s = suite_create("checkpoint");
    TCase *t = tcase_create("loops");
    tcase_add_test(t, executions);
    tcase_add_test(t, perturbed_replay);
    tcase_add_test(t, budgets);
    tcase_add_test(t, budgets_of_numbers);
    tcase_add_test(t, higher_orders);
    tcase_add_test(t, policy_words);
    suite_add_tcase(s, t);
    return s;
}
