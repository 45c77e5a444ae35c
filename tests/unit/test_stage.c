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

static bool staging_open(staging *t, const char *path) {
    size_t length;
    char *words = read_text(path, &length);
    t->path = path;
    kernel_open(&t->f);
    t->f.c.interrupt = &t->stop;
    t->f.c.on_iteration = count_iteration;
    t->f.c.observer = t;
    t->f.c.mem.limit = MEMORY_MOST;
    t->f.c.stack_end = (const char *)__builtin_frame_address(0) - STACK_MOST;
    engine_init(&t->e, &t->f.c, (engine_options){.no_files = true});
    bool ok = engine_load(&t->e, path, words, length);
    free(words);
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
    "this builtin",
};

static void check_refusal(staging *t, const graph *g, const char *name) {
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (strstr(g->refusal, refusals[i]) != NULL) return;
    }
    ck_abort_msg("%s: %s is refused: %s: %s", t->path, name, error_code_name(g->refused), g->refusal);
}

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
    ck_assert_msg(o != GRAPH_FAILED || full, "%s: %s fails as a graph: %s", t->path, fn->name, t->f.c.err.message);
    if (o == GRAPH_DONE) {
        t->compared++;
        ck_assert_int_eq(expected.count, g->top->result_count);
        for (int i = 0; i < expected.count; i++) {
            ck_assert(plain_result(&expected.items[i].v));
            ck_assert_msg(kernel_same(&expected.items[i].v, &given[i]), "%s: result %d of %s differs", t->path, i,
                          fn->name);
            value_release(&t->f.c, given[i]);
        }
    }
    free(given);
    results_release(&t->f.c, &expected);
}

/* Arguments of all sizes 2, or 3, or 1; small integers. */
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
                for (int j = 0; j < n; j++) sizes[j] = size;
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
    int own;
    dim_algebra algebra = dims_algebra(t->e.program.dims);
    arena_init(&a, &t->f.c);
    graph_init(&g, &a, &algebra);
    t->functions++;
    if (stage_function(&g, &t->e.program, t->e.code, fn, &own)) {
        char what[300];
        snprintf(what, sizeof what, "%s: %s", t->path, fn->name != NULL ? fn->name : "main");
        graph_check_valid(&g, true, what);
        compute(t, &g, fn, own);
        graph_simplify(&g);
        graph_check_valid(&g, false, what);
        compute(t, &g, fn, own);
    } else {
        ck_assert_msg(g.refused != ERROR_NONE, "%s: %s: %s", t->path, fn->name, t->f.c.err.message);
        check_refusal(t, &g, fn->name != NULL ? fn->name : "main");
    }
    arena_close(&a);
}

/* A tape that is dropped while it holds something: its gradient as a graph takes what is not there. */
static bool drops_entries(const char *path) { return strstr(path, "/nothing_comes_back.kina") != NULL; }

static void stage_file(staging *t, const char *path) {
    if (drops_entries(path)) return;
    if (staging_open(t, path)) {
        const expr *body = t->e.program.main.body;
        for (int i = 0; i < body->u.block.count; i++) {
            if (body->u.block.items[i].kind == ITEM_FN) stage_one(t, body->u.block.items[i].fn);
        }
        stage_one(t, &t->e.program.main);
    }
    staging_close(t);
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

Suite *suite_stage(void) {
    Suite *s = suite_create("stage");
    TCase *t = tcase_create("stage");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_program);
    suite_add_tcase(s, t);
    return s;
}
