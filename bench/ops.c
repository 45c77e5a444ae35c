/* kina-bench ops: the cost of a scalar op in a loop and of a small network, forward and backward.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/work.h"

/* Euler steps of an equation with a branch; its last value is known. */
static const char ode[] =
    "let x0: F64 = 0.5;\n"
    "let h0: F64 = 0.0001;\n"
    "let t0: F64 = 0.0;\n"
    "fn steps(x: F64, h: F64, n: I32) -> F64 {\n"
    "  let y = while (i < n) [x = x, t = t0, i = 0] {\n"
    "    let s = %s;\n"
    "    let next = if (x > 0.0) { x + h * (-x * x * x + s) } else { x + h * (-x + s) };\n"
    "    (next, t + h, i + 1)\n"
    "  };\n"
    "  y\n"
    "}\n"
    "fn measured(n: I32) { handle steps(x0, h0, n) with reverseMode }\n";

/* A classifier 784-256-128-10 on a batch; n times loss and gradients. */
static const char network[] =
    "let x = random_uniform(1, [%s, 784]);\n"
    "let labels = random_bits(2, [%s]) % 5 + 5;\n"
    "let v1 = (random_uniform(3, [784, 256]) - 0.5) * 0.17;\n"
    "let v2 = (random_uniform(4, [256, 128]) - 0.5) * 0.3;\n"
    "let v3 = (random_uniform(5, [128, 10]) - 0.5) * 0.4;\n"
    "fn loss(w1: tensor<F32, [784, 256]>, b1: tensor<F32, [256]>, w2: tensor<F32, [256, 128]>,\n"
    "        b2: tensor<F32, [128]>, w3: tensor<F32, [128, 10]>, b3: tensor<F32, [10]>) -> F32 {\n"
    "  let h1 = relu(x @ w1 + b1);\n"
    "  let h2 = relu(h1 @ w2 + b2);\n"
    "  cross_entropy(h2 @ w3 + b3, labels)\n"
    "}\n"
    "fn measured(n: I32) {\n"
    "  let z1 = zeros([256]);\n"
    "  let z2 = zeros([128]);\n"
    "  let z3 = zeros([10]);\n"
    "  let total = while (i < n) [total = 0.0, i = 0] {\n"
    "    let (l, d1, e1, d2, e2, d3, e3) = handle loss(v1, z1, v2, z2, v3, z3) with reverseMode;\n"
    "    drop(d1); drop(e1); drop(d2); drop(e2); drop(d3); drop(e3);\n"
    "    (total + l, i + 1)\n"
    "  };\n"
    "  total\n"
    "}\n";

typedef struct task {
    const char *name, *unit, *text, *filling;
    long long n;
    double parts; /* of one run: ops, or steps of training */
    double scale; /* of the unit: so many to the second */
    double known; /* the first result; 0: not known */
} task;

static const task tasks[] = {
    {"ode sin", "ns/op", ode, "sin(t)", 100000, 744876, 1e9, 0.438977269},
    {"ode", "ns/op", ode, "t * 0.1", 100000, 800000, 1e9, 0.988178179},
    {"mlp batch 1", "ms", network, "1", 1000, 1000, 1e3, 0},
    {"mlp batch 64", "ms", network, "64", 100, 100, 1e3, 0},
    {"mlp batch 1024", "ms", network, "1024", 10, 10, 1e3, 0},
};
enum { TASKS = COUNT_OF(tasks) };

typedef struct outcome {
    double *forward, *backward, *total;
    uint64_t peak;
} outcome;

/* The first result is a number; its bits stand behind the head, at the end. */
static bool as_known(const task *t, const answer *a) {
    double x;
    if (t->known == 0) return true;
    for (size_t at = 0; at + sizeof x <= a->bit_bytes; at += sizeof x) {
        memcpy(&x, a->bits + at, sizeof x);
        if (fabs(x - t->known) <= 1e-8) return true;
    }
    return false;
}

static int run_task(const bench_options *o, const task *t, outcome *out, int round) {
    char whole[4096];
    const char *hole = strstr(t->text, "%s");
    int length = 0;
    const char *from = t->text;
    for (; hole != NULL; from = hole + 2, hole = strstr(from, "%s")) {
        length += snprintf(whole + length, sizeof whole - (size_t)length, "%.*s%s",
                           (int)(hole - from), from, t->filling);
    }
    length += snprintf(whole + length, sizeof whole - (size_t)length, "%s", from);
    work w = {.path = t->name, .text = whole, .length = (size_t)length, .fn = "measured"};
    w.as_it_is = w.with_n = true;
    w.n = t->n;
    w.threads = o->number[GIVEN_threads];
    policy p = {0};
    answer a;
    work_run(&w, &p, &a);
    int code = process_interrupted ? EXIT_INTERRUPTED : a.exit;
    if (code != 0 && a.failure.code != ERROR_NONE)
        code = bench_fail(a.failure.code, "%s", a.failure.message);
    if (code == 0 && !as_known(t, &a)) {
        fprintf(stderr, "kina-bench: %s: the result is not %.9f\n", t->name, t->known);
        code = EXIT_DIFFERS;
    }
    double total = a.m.forward + a.m.backward, unit = t->scale / t->parts;
    out->forward[round] = (total - a.m.backward) * unit;
    out->backward[round] = a.m.backward * unit;
    out->total[round] = total * unit;
    out->peak = a.m.peak;
    answer_close(&a);
    return code;
}

static void show(const bench_options *o, outcome *all) {
    int runs = o->number[GIVEN_runs];
    bool json = o->text[GIVEN_json] != NULL, csv = o->text[GIVEN_csv] != NULL;
    if (json)
        printf("{\"schema\":1,\"bench\":\"ops\",\"threads\":%d,\"runs\":%d,\"rows\":[",
               o->number[GIVEN_threads], runs);
    if (csv) puts("name,unit,forward,backward,total,least,spread,peak_live_bytes");
    if (!json && !csv)
        printf("%-15s %6s %10s %10s %10s %10s %8s\n", "", "", "forward", "backward", "both",
               "least", "spread");
    for (int i = 0; i < TASKS; i++) {
        const task *t = &tasks[i];
        double forward = bench_median(all[i].forward, runs),
               backward = bench_median(all[i].backward, runs);
        double total = bench_median(all[i].total, runs), least = all[i].total[0];
        double spread = (all[i].total[runs - 1] - least) / total;
        if (json) {
            printf("%s\n{\"name\":\"%s\",\"unit\":\"%s\",\"forward\":%.6f,\"backward\":%.6f,"
                   "\"total\":%.6f,"
                   "\"least\":%.6f,\"spread\":%.4f,\"peak_live_bytes\":%llu}",
                   i > 0 ? "," : "", t->name, t->unit, forward, backward, total, least, spread,
                   (unsigned long long)all[i].peak);
        } else if (csv) {
            printf("%s,%s,%.6f,%.6f,%.6f,%.6f,%.4f,%llu\n", t->name, t->unit, forward, backward,
                   total, least, spread, (unsigned long long)all[i].peak);
        } else {
            printf("%-15s %6s %10.3f %10.3f %10.3f %10.3f %7.0f%%\n", t->name, t->unit, forward,
                   backward, total, least, 100 * spread);
        }
    }
    if (json) puts("\n]}");
}

int bench_ops(const bench_options *o) {
    int runs = o->number[GIVEN_runs], code = 0;
    outcome all[TASKS];
    for (int i = 0; i < TASKS; i++) {
        all[i].forward = bench_take(3 * (size_t)runs * sizeof(double));
        all[i].backward = all[i].forward + runs;
        all[i].total = all[i].backward + runs;
    }
    progress shown = progress_begin(runs * TASKS, false);
    for (int round = 0; round < runs && code == 0; round++) {
        for (int i = 0; i < TASKS && code == 0; i++) {
            progress_step(&shown, tasks[i].name, tasks[i].n);
            code = run_task(o, &tasks[i], &all[i], round);
        }
    }
    progress_end(&shown);
    if (code == 0) show(o, all);
    for (int i = 0; i < TASKS; i++) free(all[i].forward);
    return code != 0 ? code : bench_finish_output();
}
