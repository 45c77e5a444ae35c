/* kina-bench printed: how long a gradient takes to be printed, and the printed program beside the
 * engine's own gradient. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/work.h"
#include "interp/derive.h"
#include "runtime/context.h"

/* ---- the programs ---- */

static const char dense_loop[] =
    "fn f(x0: tensor<F32, [B, D]>, w: tensor<F32, [D, D]>, b: tensor<F32, [D]>, steps: I32) -> F32 {\n"
    "    %s let result = while (i < steps) [x = copy(x0), i = 0] { (relu(x @ w + b), i + 1) };\n"
    "    sum(result)\n"
    "}\n";

static const char mlp[] =
    "fn f(x: tensor<F32, [B, D]>, w1: tensor<F32, [D, H]>, b1: tensor<F32, [H]>, w2: tensor<F32, [H, 1]>,\n"
    "     b2: tensor<F32, [1]>) -> F32 {\n"
    "    %s let h = relu(x @ w1 + b1);\n"
    "    let y = h @ w2 + b2;\n"
    "    mean((y - 0.5) * (y - 0.5))\n"
    "}\n";

/* How f is called, in the place of %s, n times; values and gradients are added up. */
static const char calls[] =
    "%s"
    "fn measured(n: I32) {\n"
    "    while (i < n) [total = 0.0, i = 0] {\n"
    "        let (%s) = %s;\n"
    "        (total + (%s), i + 1)\n"
    "    }\n"
    "}\n";

typedef struct task {
    const char *name, *text, *filling;
    const char *inputs;         /* let items */
    const char *arguments;
    const char *bound, *sum;    /* names of value and gradients, and what is added up */
    int n;
} task;

#define LOOP_GRADIENTS "y, d1, d2, d3", "y + sum(d1) + sum(d2) + sum(d3)"
#define MLP_GRADIENTS "y, d1, d2, d3, d4, d5", "y + sum(d1) + sum(d2) + sum(d3) + sum(d4) + sum(d5)"

static const task tasks[] = {
    {"dense_loop 1x3", dense_loop, "",
     "let x = [[0.5, 1.0, -0.3]];\nlet w = [[0.6, -0.2, 0.3], [0.4, 0.7, -0.1], [-0.5, 0.2, 0.8]];\n"
     "let b = [0.05, -0.02, 0.1];\n",
     "x, w, b, 100", LOOP_GRADIENTS, 500},
    {"  @checkpoint(k=4)", dense_loop, "@checkpoint(k=4)",
     "let x = [[0.5, 1.0, -0.3]];\nlet w = [[0.6, -0.2, 0.3], [0.4, 0.7, -0.1], [-0.5, 0.2, 0.8]];\n"
     "let b = [0.05, -0.02, 0.1];\n",
     "x, w, b, 100", LOOP_GRADIENTS, 500},
    {"dense_loop 64x256", dense_loop, "",
     "let x = random_uniform(1, [64, 256]);\nlet w = (random_uniform(2, [256, 256]) - 0.5) * 0.1;\n"
     "let b = random_uniform(3, [256]) * 0.1;\n",
     "x, w, b, 20", LOOP_GRADIENTS, 10},
    {"mlp 2x2, 3", mlp, "",
     "let x = [[1.0, -2.0], [0.5, 3.0]];\nlet v1 = [[0.5, -0.25, -1.0], [0.125, 0.75, -0.5]];\n"
     "let c1 = [0.1, 0.2, -0.3];\nlet v2 = [[0.5], [-1.0], [0.25]];\nlet c2 = [0.05];\n",
     "x, v1, c1, v2, c2", MLP_GRADIENTS, 20000},
    {"mlp 64x784, 256", mlp, "",
     "let x = random_uniform(1, [64, 784]);\nlet v1 = (random_uniform(2, [784, 256]) - 0.5) * 0.17;\n"
     "let c1 = zeros([256]);\nlet v2 = (random_uniform(3, [256, 1]) - 0.5) * 0.3;\nlet c2 = zeros([1]);\n",
     "x, v1, c1, v2, c2", MLP_GRADIENTS, 100},
};
enum { TASKS = COUNT_OF(tasks) };

/* Fifteen lines, with a loop and a branch. */
static const char stretch[] =
    "    let a = sin(x) * y + z;\n"
    "    let b = exp(-a * a) @ w;\n"
    "    let c = softmax(a + b, axis=-1);\n"
    "    let (d, _) = while (i < n) [d = copy(c), i = 0] {\n"
    "        let e = tanh(d @ w) + a;\n"
    "        (e * c - d, i + 1)\n"
    "    };\n"
    "    let e = if (sum(d) > 0.0) {\n"
    "        d * d + x\n"
    "    } else {\n"
    "        sqrt(abs(d)) - y\n"
    "    };\n"
    "    let z = mean(e, axis=-1, keepdims=true) - z;\n"
    "    let y = e / (1.0 + d * d) + max(z);\n"
    "    let x = relu(x + y - mean(a));\n";
enum { STRETCHES = 20, LINES = 15 * STRETCHES };

static const char stretches_head[] =
    "fn f(x: tensor<F32, [B, D]>, y: tensor<F32, [B, D]>, w: tensor<F32, [D, D]>, n: I32) -> F32 {\n"
    "    let z = mean(y, axis=-1, keepdims=true);\n";

/* ---- printing ---- */

/* The printed gradient of the function f of a program, appended to *out. */
static bool print_gradient(context *c, const text *from, text *out) {
    engine e;
    engine_init(&e, c, (engine_options){0});
    bool ok = engine_load(&e, "<bench>", text_data(from), from->length);
    if (!ok && c->err.code == ERROR_NONE) {
        const diag *first = e.diags.first;
        error_set(&c->err, ERROR_K0901, (span){0, 0}, "%s", first != NULL ? first->message : "it does not load");
    }
    derivative_wish wish = {.fn = ok ? program_find(&e.program, "f") : NULL, .mode = DERIVATIVE_VALUE_AND_GRAD};
    derivative made;
    ok = ok && derive_program(&e, &wish, out, &made);
    engine_close(&e);
    return ok;
}

/* Seconds from the source to the text. */
static int time_printing(const text *from, double *seconds) {
    context c;
    text printed;
    context_init(&c);
    text_init(&printed, &c);
    double start = bench_seconds();
    bool ok = print_gradient(&c, from, &printed);
    *seconds = bench_seconds() - start;
    int code = ok ? 0 : bench_report(&c, NULL);
    text_close(&printed);
    context_close(&c);
    return code;
}

/* ---- running ---- */

/* The processor time of one call of f in milliseconds, of the engine's gradient or of the printed one. */
static int run_one(const bench_options *o, const task *t, const text *way, answer *a, double *milliseconds) {
    work w = {.path = t->name, .text = text_data(way), .length = way->length, .fn = "measured",
              .as_it_is = true, .with_n = true, .n = t->n, .threads = o->number[GIVEN_threads]};
    policy p = {0};
    work_run(&w, &p, a);
    *milliseconds = a->m.processor * 1e3 / t->n;
    int code = process_interrupted ? EXIT_INTERRUPTED : a->exit;
    return code != 0 && a->failure.code != ERROR_NONE ? bench_fail(a->failure.code, "%s", a->failure.message) : code;
}

static bool write_programs(context *c, const task *t, text *engine_way, text *printed_way) {
    text function;
    char call[256];
    text_init(&function, c);
    text_format(&function, t->text, t->filling);
    text_add(engine_way, text_data(&function));
    snprintf(call, sizeof call, "handle f(%s) with reverseMode", t->arguments);
    text_format(engine_way, calls, t->inputs, t->bound, call, t->sum);
    bool ok = print_gradient(c, &function, printed_way);
    snprintf(call, sizeof call, "f_value_and_grad(%s)", t->arguments);
    text_format(printed_way, calls, t->inputs, t->bound, call, t->sum);
    text_close(&function);
    return ok && !engine_way->failed && !printed_way->failed;
}

/* One round of a task: both ways, whose results have the same bits. */
static int run_task(const bench_options *o, const task *t, double *engine_time, double *printed_time) {
    context c;
    text ways[2];
    answer a[2] = {0};
    char where[256];
    context_init(&c);
    text_init(&ways[0], &c);
    text_init(&ways[1], &c);
    int code = write_programs(&c, t, &ways[0], &ways[1]) ? 0 : bench_report(&c, NULL);
    if (code == 0) code = run_one(o, t, &ways[0], &a[0], engine_time);
    if (code == 0) code = run_one(o, t, &ways[1], &a[1], printed_time);
    if (code == 0 && answers_differ(&a[0], &a[1], where, sizeof where)) {
        fprintf(stderr, "kina-bench: %s: engine and printed program differ %s\n", t->name, where);
        code = EXIT_DIFFERS;
    }
    answer_close(&a[0]);
    answer_close(&a[1]);
    text_close(&ways[0]);
    text_close(&ways[1]);
    context_close(&c);
    return code;
}

/* ---- the whole ---- */

typedef struct outcome {
    double *engine_time, *printed_time, *ratio;
} outcome;

static void show(const bench_options *o, outcome *all, double *printing) {
    int runs = o->number[GIVEN_runs];
    bool json = o->text[GIVEN_json] != NULL, csv = o->text[GIVEN_csv] != NULL;
    double print_time = bench_median(printing, runs) * 1e3;
    if (json)
        printf("{\"schema\":1,\"bench\":\"printed\",\"threads\":%d,\"runs\":%d,\"lines\":%d,"
               "\"print_milliseconds\":%.6f,\"rows\":[",
               o->number[GIVEN_threads], runs, LINES, print_time);
    if (csv) puts("name,engine_milliseconds,printed_milliseconds,ratio");
    if (!json && !csv) printf("%-20s %11s %11s %9s\n", "", "engine", "printed", "ratio");
    for (int i = 0; i < TASKS; i++) {
        const char *name = tasks[i].name + strspn(tasks[i].name, " ");
        double engine_time = bench_median(all[i].engine_time, runs);
        double printed_time = bench_median(all[i].printed_time, runs);
        double ratio = bench_median(all[i].ratio, runs);
        if (json)
            printf("%s\n{\"name\":\"%s\",\"engine_milliseconds\":%.6f,\"printed_milliseconds\":%.6f,\"ratio\":%.4f}",
                   i > 0 ? "," : "", name, engine_time, printed_time, ratio);
        else if (csv)
            printf("\"%s\",%.6f,%.6f,%.4f\n", name, engine_time, printed_time, ratio);
        else
            printf("%-20s %8.4f ms %8.4f ms %9.2f\n", tasks[i].name, engine_time, printed_time, ratio);
    }
    if (json) puts("\n]}");
    if (!json && !csv) printf("printing the gradient of a function of %d lines: %.1f ms\n", LINES, print_time);
}

static int measure_round(const bench_options *o, const text *long_one, outcome *all, double *printing, int round,
                         progress *shown) {
    progress_step(shown, "printing", LINES);
    int code = time_printing(long_one, &printing[round]);
    for (int i = 0; i < TASKS && code == 0; i++) {
        outcome *a = &all[i];
        progress_step(shown, tasks[i].name, tasks[i].n);
        code = run_task(o, &tasks[i], &a->engine_time[round], &a->printed_time[round]);
        a->ratio[round] = a->printed_time[round] / a->engine_time[round];
    }
    return code;
}

int bench_printed(const bench_options *o) {
    int runs = o->number[GIVEN_runs], code = 0;
    double *figures = bench_take((3 * TASKS + 1) * (size_t)runs * sizeof *figures);
    double *printing = figures + 3 * TASKS * runs;
    outcome all[TASKS];
    for (int i = 0; i < TASKS; i++) {
        double *own = figures + 3 * i * runs;
        all[i] = (outcome){own, own + runs, own + 2 * runs};
    }
    context c;
    text long_program;
    context_init(&c);
    text_init(&long_program, &c);
    text_add(&long_program, stretches_head);
    for (int i = 0; i < STRETCHES; i++) text_add(&long_program, stretch);
    text_add(&long_program, "    sum(x + y + z)\n}\n");
    progress shown = progress_begin(runs * (TASKS + 1), false);
    for (int round = 0; round < runs && code == 0; round++)
        code = measure_round(o, &long_program, all, printing, round, &shown);
    progress_end(&shown);
    if (code == 0) show(o, all, printing);
    text_close(&long_program);
    context_close(&c);
    free(figures);
    return code != 0 ? code : bench_finish_output();
}
