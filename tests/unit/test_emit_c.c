/* Derivatives as C: which ops are written, what is refused, and that names stay the user's. That what is written
 * computes the right bits is for tests/emit_c.py, which compiles and calls it. */
#include <check.h>
#include <string.h>

#include "interp/c_emit.h"
#include "interp/derive.h"
#include "kernels/kernel.h"
#include "runtime/memory.h"
#include "runtime/threads.h"

typedef struct emitted {
    context c;
    engine e;
    text file, header;
    bool ok;
} emitted;

static void emit(emitted *m, const char *program_text, derivative_mode mode) {
    derivative made;
    memset(m, 0, sizeof *m);
    context_init(&m->c);
    kernel_install(&m->c);
    engine_init(&m->e, &m->c, (engine_options){0});
    text_init(&m->file, &m->c);
    text_init(&m->header, &m->c);
    ck_assert(engine_load(&m->e, "test", program_text, strlen(program_text)));
    derivative_wish wish = {.mode = mode, .form = DERIVATIVE_C, .header = &m->header};
    wish.fn = program_find(&m->e.program, "f");
    m->ok = derive_program(&m->e, &wish, &m->file, &made);
    ck_assert(m->ok == (m->c.err.code == ERROR_NONE));
}

static void done(emitted *m) {
    text_close(&m->file);
    text_close(&m->header);
    engine_close(&m->e);
    threads_close(&m->c);
    ck_assert_uint_eq(m->c.mem.live, 0);
    context_close(&m->c);
}

static void holds(const emitted *m, const text *t, const char *words) {
    ck_assert_msg(m->ok, "%s", m->c.err.message);
    ck_assert_msg(strstr(text_data(t), words) != NULL, "no\n%s\nin\n%s", words, text_data(t));
}

START_TEST(names_and_types_stay) {
    emitted m;
    emit(&m,
         "fn f(x: tensor<F32, [N]>, int: F64, i0: tensor<I64, [N]>) -> F64 {\n"
         "  let memcpy = F64(x) * F64(i0); sum(memcpy) * int\n}\n",
         DERIVATIVE_VALUE_AND_GRAD);
    holds(&m, &m.header,
          "int f_value_and_grad(\n"
          "    kina_f32_1 x, /* tensor<F32, [N]> */\n"
          "    double v_int, /* F64 */\n"
          "    kina_i64_1 v_i0, /* tensor<I64, [N]> */\n"
          "    struct f_value_and_grad_results *out);\n");
    holds(&m, &m.header, "    kina_f32_1 d_x; /* tensor<F32, [N]> */\n");
    holds(&m, &m.file, "kina_f64_1 v_memcpy;\n");
    holds(&m, &m.file, "CHECK(v_i0.dims[0] == x.dims[0], \"the argument v_i0: axis 0 is not x.dims[0]\");\n");
    done(&m);
}
END_TEST

START_TEST(numbers_need_no_helpers) {
    emitted m;
    emit(&m, "fn f(x: F32) -> F32 { x * x + 0.1 }\n", DERIVATIVE_GRAD);
    ck_assert_msg(m.ok && strstr(text_data(&m.file), "kina") == strstr(text_data(&m.file), "kina-interp"), "%s",
                  text_data(&m.file));
    holds(&m, &m.file, "    return 0;\n}\n");
    done(&m);
}
END_TEST

START_TEST(refusals_name_what_and_where) {
    static const struct refusal {
        const char *program, *message, *place;
    } refusals[] = {
        {"fn f(a: tensor<F64, [2, 2]>) -> F64 { let b = a + a; sum(inv(b)) }\n", "`inv` cannot be written as C",
         "inv(b)"},
        {"fn f(x: F64) -> F64 { lgamma(x) }\n", "`digamma` cannot be written as C", "lgamma(x)"},
        {"fn f(x: F64) -> F64 { print(x); x }\n", "`print` cannot be written as C", "print"},
    };
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct refusal *r = &refusals[i];
        emitted m;
        emit(&m, r->program, DERIVATIVE_VALUE_AND_GRAD);
        ck_assert(!m.ok);
        ck_assert_int_eq(m.c.err.code, ERROR_K0701);
        ck_assert_str_eq(m.c.err.message, r->message);
        ck_assert_uint_eq(m.c.err.where.begin, (uint32_t)(strstr(r->program, r->place) - r->program));
        ck_assert_uint_eq(m.file.length + m.header.length, 0);
        done(&m);
    }
}
END_TEST

START_TEST(ops_that_are_not_written) {
    /* LAPACK's, those of a wider type than the operands', and what is no op of a program. */
    static const op_id without[] = {
        OP_digamma,       OP_polygamma, OP_inv,      OP_solve,          OP_cholesky,    OP_solve_triangular,
        OP_det,           OP_logdet,    OP_cofactor, OP_cofactor_slope, OP_custom,
    };
    for (int op = 0; op < OP_COUNT; op++) {
        bool listed = false;
        for (size_t i = 0; i < COUNT_OF(without); i++) listed = listed || (int)without[i] == op;
        ck_assert_msg(c_written((op_id)op) != listed, "%s", op_table[op].name);
    }
}
END_TEST

Suite *suite_emit_c(void);
Suite *suite_emit_c(void) {
    Suite *s = suite_create("emit_c");
    TCase *t = tcase_create("files");
    tcase_add_test(t, names_and_types_stay);
    tcase_add_test(t, numbers_need_no_helpers);
    tcase_add_test(t, refusals_name_what_and_where);
    tcase_add_test(t, ops_that_are_not_written);
    suite_add_tcase(s, t);
    return s;
}
