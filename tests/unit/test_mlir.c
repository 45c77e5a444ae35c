/* The MLIR emitter: which ops it knows, the shape of modules, and what it refuses. That what it writes
 * computes the right numbers is for tests/mlir/run.py, which compiles and calls it. */
#include <check.h>
#include <string.h>

#include "interp/mlir.h"
#include "interp/mlir_emit.h"
#include "kernels/kernel.h"
#include "runtime/memory.h"
#include "runtime/threads.h"

/* ---- modules ---- */

typedef struct emitted {
    context c;
    engine e;
    text module;
    mlir_exports exports;
    bool ok;
} emitted;

static void emit(emitted *m, const char *program_text, bool plain) {
    memset(m, 0, sizeof *m);
    context_init(&m->c);
    kernel_install(&m->c);
    engine_init(&m->e, &m->c, (engine_options){0});
    text_init(&m->module, &m->c);
    ck_assert(engine_load(&m->e, "test", program_text, strlen(program_text)));
    m->ok = mlir_emit(&m->e, (mlir_options){.plain = plain}, &m->module, &m->exports);
    ck_assert(m->ok == (m->c.err.code == ERROR_NONE));
}

static void done(emitted *m) {
    text_close(&m->module);
    engine_close(&m->e);
    threads_close(&m->c);
    ck_assert_uint_eq(m->c.mem.live, 0);
    context_close(&m->c);
}

static void holds(const emitted *m, const char *line) {
    ck_assert_msg(m->ok, "%s", m->c.err.message);
    ck_assert_msg(strstr(text_data(&m->module), line) != NULL, "no line\n%s\nin\n%s", line,
                  text_data(&m->module));
}

static void holds_not(const emitted *m, const char *what) {
    ck_assert_msg(strstr(text_data(&m->module), what) == NULL, "%s in\n%s", what, text_data(&m->module));
}

#define PAIR                                                                                                 \
    "fn pair(x: tensor<F32, [2, 2]>) -> (tensor<F32, [2, 2]>, (tensor<F32, [2, 2]>, F32)) {\n"               \
    "  (-x, (x * x, sum(x)))\n"                                                                              \
    "}\n"

START_TEST(tuples_are_flat) {
    emitted m;
    emit(&m, PAIR "let x = tensor<F32, [2, 2]>; let (y, (g, s)) = pair(x); (y, (g, (s, 1)))\n", false);
    holds(&m, "func.func @pair(%x: tensor<2x2xf32> {bufferization.writable = false}) -> (tensor<2x2xf32>, "
              "tensor<2x2xf32>, f32) attributes {llvm.emit_c_interface} {\n");
    holds(&m, "  %y, %g, %s = func.call @pair(%x) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, "
              "f32)\n");
    holds(&m, "func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<f32>, tensor<i32>) {\n");
    holds_not(&m, "tuple<");
    done(&m);
}
END_TEST

START_TEST(plain_functions_have_no_attributes) {
    emitted m;
    emit(&m, PAIR, true);
    holds(&m, "func.func @pair(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, f32) {\n");
    holds_not(&m, "@main");
    done(&m);
}
END_TEST

START_TEST(spelling_decides_how_numbers_pass) {
    emitted m;
    emit(&m,
         "fn f(a: F32, b: tensor<F32, []>) -> F32 { a * b }\n"
         "fn g(a: tensor<I64, []>) { a + 1 }\n",
         false);
    holds(&m, "@f(%a: f32, %b: tensor<f32> {bufferization.writable = false}) -> f32 ");
    holds(&m, "@g(%a: tensor<i64> {bufferization.writable = false}) -> tensor<i64> ");
    ck_assert_int_eq(m.exports.count, 2);
    ck_assert(m.exports.items[0].params[0].by_value && !m.exports.items[0].params[1].by_value);
    ck_assert(m.exports.items[0].results[0].by_value && !m.exports.items[1].results[0].by_value);
    done(&m);
}
END_TEST

START_TEST(sizes_of_a_run_are_question_marks) {
    emitted m;
    emit(&m,
         "fn f(x: tensor<F32, [B, 3]>, y: tensor<F32, [B, 3]>) -> tensor<F32, [B, 3]> { x + y }\n"
         "f([[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]])\n",
         false);
    holds(&m, "@f(%x: tensor<?x3xf32> {");
    holds(&m, "  %B = tensor.dim %x, %c0 : tensor<?x3xf32>\n");
    holds(&m, "  cf.assert %0, \"the argument y of f: shapes differ\"\n");
    holds(&m, "func.func @main() -> tensor<1x3xf32> {\n");
    done(&m);
}
END_TEST

START_TEST(functions_are_specialised) {
    emitted m;
    emit(&m,
         "fn twice(f: fn(F32) -> F32, x: F32) -> F32 { f(f(x)) }\n"
         "fn g(x: F32, a: F32) -> F32 { twice(fn(y: F32) -> F32 { y * a }, x) + twice(sin, x) }\n",
         false);
    holds(&m, "func.call @twice.1(%a, %x) : (f32, f32) -> f32\n");
    holds(&m, "func.func private @twice.2(%x: f32) -> f32 {\n");
    holds_not(&m, "call_indirect");
    holds_not(&m, "@twice(");
    ck_assert_int_eq(m.exports.count, 1);
    done(&m);
}
END_TEST

START_TEST(exported_functions_make_their_captures) {
    emitted m;
    emit(&m,
         "let w = [1.0, 2.0];\nlet unread = [3.0];\nfn f(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x * w }\n"
         "f(unread[0] * w)\n",
         false);
    holds(&m, "func.func @f(%x: tensor<2xf32> {bufferization.writable = false}) -> tensor<2xf32> attributes");
    holds(&m, "func.func private @f.1(%x: tensor<2xf32> {bufferization.writable = false}, %w: tensor<2xf32> "
              "{bufferization.writable = false}) -> tensor<2xf32> {\n");
    done(&m);
}
END_TEST

/* ---- refusals ---- */

static void refused(const char *program_text, const char *message, const char *place) {
    emitted m;
    emit(&m, program_text, false);
    ck_assert(!m.ok);
    ck_assert_int_eq(m.c.err.code, ERROR_K0701);
    ck_assert_str_eq(m.c.err.message, message);
    ck_assert_uint_eq(m.c.err.where.begin, (uint32_t)(strstr(program_text, place) - program_text));
    done(&m);
}

START_TEST(refusals_name_what_and_where) {
    refused("fn f(a: tensor<F64, [2, 2]>) -> tensor<F64, [2, 2]> { let b = a + a; inv(b) }\n",
            "`inv` cannot be lowered to MLIR", "inv(b)");
    refused("fn f(x: F32) -> F32 { print(x); x }\n", "`print` cannot be lowered to MLIR", "print");
    refused("fn f(x: F32) -> F32 { x * x }\njacobian(f)(2.0)\n",
            "this cannot be lowered to MLIR: a `jacobian` or `hessian` has as many rows as the run says, and "
            "cannot be "
            "written out",
            "jacobian");
    refused("fn malloc(x: F32) -> F32 { x }\n",
            "a function called `malloc` cannot be lowered to MLIR: the compiled code calls another one of "
            "this name",
            "malloc");
    refused("fn a(x: F32) -> F32 { x }\nfn b(x: F32) -> F32 { -x }\n"
            "fn f(x: F32, c: Bool) -> F32 { let g = if (c) { a } else { b }; g(x) }\n",
            "a function that a branch chooses cannot be lowered to MLIR", "if (c)");
}
END_TEST

START_TEST(ops_without_a_lowering) {
    /* LAPACK's, those of a wider type than the operands', random numbers, and what is no op of a program. */
    static const op_id without[] = {
        OP_digamma,       OP_polygamma, OP_inv,      OP_solve,          OP_cholesky,    OP_solve_triangular,
        OP_det,           OP_logdet,    OP_cofactor, OP_cofactor_slope, OP_random_bits, OP_random_uniform,
        OP_random_normal, OP_custom,
    };
    for (int op = 0; op < OP_COUNT; op++) {
        bool listed = false;
        for (size_t i = 0; i < COUNT_OF(without); i++) listed = listed || (int)without[i] == op;
        ck_assert_msg(mlir_lowered((op_id)op) != listed, "%s", op_table[op].name);
    }
}
END_TEST

Suite *suite_mlir(void);
Suite *suite_mlir(void) {
    Suite *s = suite_create("mlir");
    TCase *t = tcase_create("modules");
    tcase_add_test(t, tuples_are_flat);
    tcase_add_test(t, plain_functions_have_no_attributes);
    tcase_add_test(t, spelling_decides_how_numbers_pass);
    tcase_add_test(t, sizes_of_a_run_are_question_marks);
    tcase_add_test(t, functions_are_specialised);
    tcase_add_test(t, exported_functions_make_their_captures);
    tcase_add_test(t, refusals_name_what_and_where);
    tcase_add_test(t, ops_without_a_lowering);
    suite_add_tcase(s, t);
    return s;
}
