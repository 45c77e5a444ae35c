/* Staging: every function of the language programs and examples, and every program as a whole with its handlers,
 * becomes a well-formed graph, or is refused in words that are listed here; and what the graph computes, as it
 * is and simplified, is what the evaluator computes, to the bit. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/gradient.h"
#include "interp/dims.h"
#include "interp/engine.h"
#include "interp/lower.h"
#include "interp/stage.h"
#include "kernels/kernel.h"
#include "tests/unit/graph_check.h"
#include "tests/unit/kernel_check.h"

/* ---- files ---- */

static char *read_text(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "cannot read %s", path);
    char *words = malloc(1 << 20);
    ck_assert_ptr_nonnull(words);
    *length = fread(words, 1, 1 << 20, f);
    fclose(f);
    return words;
}

enum { ITERATIONS_MOST = 300, MEMORY_MOST = 64 << 20, STACK_MOST = 2 << 20 };

typedef struct staging {
    kernel_fixture f;
    volatile sig_atomic_t stop; /* a loop on random operands may not end */
    int iterations;
    engine e;
    const char *path;
    int functions, compared;
} staging;

static void count_iteration(void *self, context *c) {
    staging *t = self;
    (void)c;
    if (++t->iterations > ITERATIONS_MOST) t->stop = 1;
}

static bool staging_open(staging *t, const char *path, const char *words, size_t length) {
    t->path = path;
    kernel_open(&t->f);
    t->f.c.interrupt = &t->stop;
    t->f.c.on_iteration = count_iteration;
    t->f.c.observer = t;
    t->f.c.mem.limit = MEMORY_MOST;
    t->f.c.stack_end = (const char *)__builtin_frame_address(0) - STACK_MOST;
    engine_init(&t->e, &t->f.c, (engine_options){.no_files = true});
    bool ok = engine_load(&t->e, path, words, length);
    if (ok) t->e.code = lower_program(&t->e.program);
    return ok && t->e.code != NULL;
}

static void staging_close(staging *t) {
    engine_close(&t->e);
    kernel_close(&t->f);
}

/* ---- refusals ---- */

/* Parts of the only messages with which a function of these programs may be refused. */
static const char *const refusals[] = {
    "is a function",
    "it gives a function",
    "chooses between functions",
    "is a function that is computed",
    "something that is no number or tensor",
    "calls itself and uses",
    "a rule of its own and uses",
    "whose step only the run knows",
    "its operands do not fit",  /* known here, where the checker leaves it to the run */
    "none for forwardMode",
    "a `jacobian` or `hessian`",
};

static void check_refusal(staging *t, const graph *g, const char *name) {
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (strstr(g->refusal, refusals[i]) != NULL) return;
    }
    ck_abort_msg("%s: %s is refused: %s: %s", t->path, name, error_code_name(g->refused), g->refusal);
}

static const char *name_of(const fn_decl *fn) { return fn->name != NULL ? fn->name : "main"; }

/* ---- computing ---- */

static bool plain_result(const value *v) { return v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR; }

static void compare(staging *t, graph *g, const fn_decl *fn, const value *args) {
    results expected;
    t->iterations = 0;
    t->stop = 0;
    bool main = fn == &t->e.program.main;
    bool ok = main ? engine_run(&t->e, &expected) : engine_call(&t->e, fn, args, g->top->param_count, &expected);
    t->stop = 0;
    memset(&t->f.c.err, 0, sizeof t->f.c.err);
    if (!ok) return;
    value *given = calloc((size_t)g->top->result_count + 1, sizeof *given);
    ck_assert_ptr_nonnull(given);
    graph_outcome o = graph_check_run(g, args, given);
    bool full = t->f.c.err.code == ERROR_K0507; /* every variable is kept */
    if (full) memset(&t->f.c.err, 0, sizeof t->f.c.err);
    ck_assert_msg(o != GRAPH_FAILED || full, "%s: %s fails as a graph: %s", t->path, name_of(fn), t->f.c.err.message);
    if (o == GRAPH_DONE) {
        t->compared++;
        ck_assert_int_eq(expected.count, g->top->result_count);
        for (int i = 0; i < expected.count; i++) {
            ck_assert(plain_result(&expected.items[i].v));
            ck_assert_msg(kernel_same(&expected.items[i].v, &given[i]), "%s: result %d of %s differs", t->path, i,
                          name_of(fn));
            value_release(&t->f.c, given[i]);
        }
    }
    free(given);
    results_release(&t->f.c, &expected);
}

/* Arguments of sizes 1 and 2, 2 and 3, 3 and 4; small integers. */
static void compute(staging *t, graph *g, const fn_decl *fn, int own) {
    int count = g->top->param_count;
    if (count != own) return; /* captured values come from the program */
    for (int64_t size = 1; size <= 3; size++) {
        value *args = calloc((size_t)count + 1, sizeof *args);
        ck_assert_ptr_nonnull(args);
        for (int i = 0; i < count; i++) {
            op_type made = *graph_type(g, g->top->params[i]);
            for (int k = 0; k < made.rank; k++) {
                int64_t symbols[32];
                const dim_algebra *a = g->algebra;
                int n = made.dims[k] < 0 ? a->symbols(a->self, made.dims[k], symbols, 32) : 0;
                int64_t sizes[32];
                for (int j = 0; j < n; j++) sizes[j] = size + dims_symbol_number(t->e.program.dims, symbols[j]) % 2;
                made.dims[k] = a->substitute(a->self, made.dims[k], n, symbols, sizes);
                if (made.dims[k] < 0) made.dims[k] = 0;
            }
            bool number = made.rank == 0 && dtype_integer((dtype)made.dtype);
            args[i] = number ? value_number((dtype)made.dtype, (double)size)
                             : kernel_operand(&t->f, (dtype)made.dtype, made.rank, made.dims, LAYOUT_DENSE);
        }
        compare(t, g, fn, args);
        kernel_release(&t->f, count, args);
        free(args);
        if (count == 0) break;
    }
}

/* ---- one function ---- */

static void stage_one(staging *t, const fn_decl *fn) {
    arena a;
    graph g;
    stage_params params;
    dim_algebra algebra = dims_algebra(t->e.program.dims);
    arena_init(&a, &t->f.c);
    graph_init(&g, &a, &algebra);
    t->functions++;
    if (stage_function(&g, &t->e.program, t->e.code, fn, &params)) {
        char what[300];
        snprintf(what, sizeof what, "%s: %s", t->path, name_of(fn));
        graph_check_valid(&g, true, what);
        compute(t, &g, fn, params.own);
        graph_simplify(&g);
        graph_check_valid(&g, false, what);
        compute(t, &g, fn, params.own);
    } else {
        ck_assert_msg(g.refused != ERROR_NONE, "%s: %s: %s", t->path, name_of(fn), t->f.c.err.message);
        check_refusal(t, &g, name_of(fn));
    }
    arena_close(&a);
}

/* A tape that is dropped while it holds something: its gradient as a graph takes what is not there. */
static bool drops_entries(const char *path) { return strstr(path, "/nothing_comes_back.kina") != NULL; }

static void stage_text(staging *t, const char *path, const char *words, size_t length) {
    if (staging_open(t, path, words, length)) {
        const expr *body = t->e.program.main.body;
        for (int i = 0; i < body->u.block.count; i++) {
            if (body->u.block.items[i].kind == ITEM_FN) stage_one(t, body->u.block.items[i].fn);
        }
        stage_one(t, &t->e.program.main);
    }
    staging_close(t);
}

static void stage_file(staging *t, const char *path) {
    size_t length;
    if (drops_entries(path)) return;
    char *words = read_text(path, &length);
    stage_text(t, path, words, length);
    free(words);
}

START_TEST(every_program) {
    staging t = {.functions = 0};
    glob_t files = {0};
    ck_assert_int_eq(glob("tests/lang/*/*.kina", 0, NULL, &files), 0);
    ck_assert_int_eq(glob("examples/*.kina", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) stage_file(&t, files.gl_pathv[i]);
    globfree(&files);
    ck_assert_int_gt(t.functions, 400);
    ck_assert_int_gt(t.compared, 300);
}
END_TEST

/* Sizes that only the run knows, through what computes with sizes; with gradients, to the second order. */
START_TEST(symbolic_sizes) {
    static const char *const values[] = {
        "var(x, axis=1, ddof=1)", "std(x)", "norm(x, axis=0)", "flip(x, 1)", "flip(x, [0, 1])",
        "roll(x, 1, 0)", "roll(x, -2, 1)", "roll(x, k, 1)", "roll(x, -k, 0)", "tile(x, [2, 1])",
        "tile(x, [k, 2])", "tile(x, [2, 1, k])", "pad(x, [[1, 0], [0, 2]])",
        "pad(x, [[k, 0], [k - 1, 1]], value=x[0, 0])", "diag(x)", "diag(x[0])", "trace(x)",
        "tril(x)", "sort(x)", "cummax(x, axis=0)", "top_k(x, 1).0", "split(x, [1, dim(x, 1) - 1], axis=1).1",
        "split(concat((x, x)), 2).1", "einsum(\"ij,kj->ik\", x, x)", "einsum(\"ij,kl->ilk\", x, x)",
        "einsum(\"ii->i\", x @ transpose(x))", "einsum(\"ij,ij,kj->k\", x, x, x)", "stack((x, x), axis=1)",
        "concat((x, x[:, 0:1], x), axis=1)", "x[k - 1:, ::-1]", "x[0:k]", "x[::2, 0]", "x[N - 1, :M]",
        "slice(x, [0, 0], [1, M], [1, 1])", "reshape(x, [M, N])", "reshape(x, [N * M])",
        "broadcast(x, [k, N, M])", "full([k, dim(x, 1)], 2.0) * sum(x)", "F64(shape(x)) * x[0, 0]",
        "cross_entropy(x, I64(zeros([N], F32)))", "softmax(x) * F64(M)",
        "while (i < I32(k)) [y = copy(x), i = 0] { (y * x, i + 1) }", "if (k > 1) { x * x } else { x }", "if (k > 1) { x[k - 1:] } else { x[0:1] }",
        "while (i < 2) [y = x[0:1], i = 0] { (y + x[i:i + 1] * y, i + 1) }",
    };
    staging t = {.functions = 0};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char words[1000];
        int length = snprintf(
            words, sizeof words,
            "fn f(x: tensor<F64, [N, M]>, k: I64) -> F64 { sum(square(%s)) }\n"
            "fn g(x: tensor<F64, [N, M]>, k: I64) -> (F64, tensor<F64, [N, M]>) {\n"
            "  handle f(x, k) with reverseMode\n}\n"
            "fn s(x: tensor<F64, [N, M]>, k: I64) -> F64 { let (y, d) = g(x, k); y + sum(d * d) }\n"
            "fn h(x: tensor<F64, [N, M]>, k: I64) -> (F64, tensor<F64, [N, M]>) {\n"
            "  handle s(x, k) with reverseMode\n}\n"
            "fn j(x: tensor<F64, [N, M]>, k: I64) -> (F64, F64) { handle s(x, k) with forwardMode(x) }\n",
            values[i]);
        int before = t.functions, compared = t.compared;
        stage_text(&t, values[i], words, (size_t)length);
        ck_assert_msg(t.functions == before + 6, "%s: the program is wrong", values[i]);
        ck_assert_msg(t.compared > compared, "%s: nothing ran", values[i]);
    }
}
END_TEST

/* Every request for memory refused once: one error, nothing left behind. */
START_TEST(failing_memory) {
    static const char words[] =
        "let scale = [2.0, 3.0];\n"
        "fn rule(x: F32, y: F32, d: F32) -> F32 { 2.0 * d }\n"
        "@vjp(rule) fn ruled(x: F32) -> F32 { x }\n"
        "fn power(x: F32, n: I64) -> F32 { if (n > 0 && n < 9) { x * power(x, n - 1) } else { x } }\n"
        "fn apply(f: fn(F32) -> F32, x: F32) -> F32 { f(x) }\n"
        "fn f(p: (tensor<F32, [N, 2]>, F32), k: I64) -> (F32, tensor<I64, [2]>) {\n"
        "  let (x, a) = p;\n"
        "  let (y, t, _) = @checkpoint(k=2) while (i < 2) [y = x * scale, t: tape<(F32, F32)> = tape(), i = 0] {\n"
        "    (y + x[i:i + 1, ::-1], push(t, (a, y[0, 1])), i + 1)\n"
        "  };\n"
        "  let (t, (b, _)) = pop(t);\n"
        "  let (_, d) = handle ruled(apply(fn(z: F32) -> F32 { z * a + b }, a)) with reverseMode;\n"
        "  print(\"d\", d, dim(x, 0));\n"
        "  assert(is_empty(t) || d > 0.0, \"d\");\n"
        "  drop(t);\n"
        "  (sum(roll(y, k, 0)) + power(d, 3) + std(y) + stop_gradient(b), shape(x))\n"
        "}\n";
    bool ok = false;
    uint64_t n = 0;
    while (!ok) {
        staging t = {.functions = 0};
        arena a;
        graph g;
        stage_params params;
        ck_assert(staging_open(&t, "failing memory", words, sizeof words - 1));
        dim_algebra algebra = dims_algebra(t.e.program.dims);
        const fn_decl *fn = program_find(&t.e.program, "f");
        arena_init(&a, &t.f.c);
        t.f.c.mem.fail_at = t.f.c.mem.requests + ++n;
        graph_init(&g, &a, &algebra);
        ok = stage_function(&g, &t.e.program, t.e.code, fn, &params);
        if (!ok) ck_assert_msg(t.f.c.err.code == ERROR_K0507, "%s", g.refusal != NULL ? g.refusal : "no error");
        arena_close(&a);
        staging_close(&t);
    }
    ck_assert_uint_gt(n, 1);
}
END_TEST

Suite *suite_stage(void) {
    Suite *s = suite_create("stage");
    TCase *t = tcase_create("stage");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_program);
    tcase_add_test(t, symbolic_sizes);
    tcase_add_test(t, failing_memory);
    suite_add_tcase(s, t);
    return s;
}
