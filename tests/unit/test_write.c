/* Writing graphs: every op reads back as what it was, and graphs made by hand give the text that a person would
 * write, which is a program that computes the same. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ad/performer.h"
#include "interp/write.h"
#include "runtime/door.h"
#include "runtime/print.h"
#include "tests/unit/rule_check.h"
#include "tests/unit/write_check.h"

/* ---- every op ---- */

/* Ops without derivatives, of which the table of rules has no cases. */
#define INTEGERS(what, list) {.shape = what, .entries = list}
#define FLOATS(what)         {.shape = what, .low = -2, .high = 2}
#define BOOLS(what, list)    {.shape = what, .entries = list, .condition = true}
static const rule_case passive[] = {
    {OP_sign, {.axis = 0}, 1, {FLOATS("2 3")}},
    {OP_floor, {.axis = 0}, 1, {FLOATS("4")}},
    {OP_ceil, {.axis = 0}, 1, {FLOATS("4")}},
    {OP_round, {.axis = 0}, 1, {FLOATS("4")}},
    {OP_step, {.axis = 0}, 1, {FLOATS("4")}},
    {OP_not, {.axis = 0}, 1, {BOOLS("3", "1 0 1")}},
    {OP_cast, {.dtype = DT_I32}, 1, {FLOATS("4")}},
    {OP_cast, {.dtype = DT_Bool}, 1, {INTEGERS("3", "0 2 -1")}},
    {OP_rem, {.axis = 0}, 2, {INTEGERS("3", "7 -7 5"), INTEGERS("", "3")}},
    {OP_lt, {.axis = 0}, 2, {FLOATS("3"), FLOATS("2 3")}},
    {OP_le, {.axis = 0}, 2, {INTEGERS("3", "1 2 3"), INTEGERS("3", "2 2 2")}},
    {OP_gt, {.axis = 0}, 2, {FLOATS("3"), FLOATS("")}},
    {OP_ge, {.axis = 0}, 2, {FLOATS("2 1*"), FLOATS("2 3")}},
    {OP_eq, {.axis = 0}, 2, {INTEGERS("2", "1 2"), INTEGERS("2", "1 3")}},
    {OP_ne, {.axis = 0}, 2, {BOOLS("2", "1 0"), BOOLS("2", "1 1")}},
    {OP_and, {.axis = 0}, 2, {BOOLS("2", "1 0"), BOOLS("2", "1 1")}},
    {OP_or, {.axis = 0}, 2, {BOOLS("2", "1 0"), BOOLS("2", "0 0")}},
    {OP_any, {.axes = 2}, 1, {BOOLS("2 2", "1 0 0 0")}},
    {OP_all, {.axes = 3, .keepdims = true}, 1, {BOOLS("2 2", "1 1 1 1")}},
    {OP_argmax, {.axes = 2, .keepdims = true}, 1, {FLOATS("2 3")}},
    {OP_argmin, {.axes = 3}, 1, {FLOATS("2 3")}},
    {OP_argsort, {.axis = 0}, 1, {FLOATS("3 2")}},
    {OP_arg_top_k, {.axis = 1, .dims = {2}}, 1, {FLOATS("2 3")}},
    {OP_arg_cummax, {.axis = 0}, 1, {FLOATS("3 2")}},
    {OP_one_hot, {.dims = {4}}, 1, {INTEGERS("3", "2 0 3")}},
    {OP_max_pool_place, {.step = {1, 2, 2, 3}, .lo = {0, 1}}, 1, {FLOATS("1 1 4 5")}},
    {OP_arange, {.dims = {4}, .dtype = DT_I32}, 0, {INTEGERS("", "0")}},
    {OP_arange, {.dims = {4}, .dtype = DT_I64}, 0, {INTEGERS("", "0")}},
    {OP_eye, {.dims = {3}, .dtype = DT_Bool}, 0, {INTEGERS("", "0")}},
    {OP_eye, {.dims = {3}, .dtype = DT_F32}, 0, {INTEGERS("", "0")}},
    {OP_random_bits, {.rank = 1, .dims = {5}}, 1, {INTEGERS("", "42")}},
    {OP_random_uniform, {.rank = 2, .dims = {2, 2}, .dtype = DT_F64}, 1, {INTEGERS("", "7")}},
    {OP_random_normal, {.rank = 1, .dims = {3}, .dtype = DT_F32}, 1, {INTEGERS("", "7")}},
};

/* The case as a graph of one op on parameters, whose sizes are those of the operands. */
static void graph_of(write_fixture *f, const rule_case *rc, const op_attrs *attrs, const value *in) {
    static const char *const words[] = {"x", "y", "z"};
    var params[CASE_OPERANDS];
    for (int k = 0; k < rc->n; k++) {
        op_type of = value_type(&in[k]);
        params[k] = region_param(&f->g, f->g.top, graph_var_new(&f->g, &of, words[k]));
    }
    var out = graph_op(&f->g, f->g.top, rc->op, attrs, rc->n, params, (span){0, 0});
    region_results(&f->g, f->g.top, 1, &out);
}

/* Numbers are printed so that they read back to the same bits. */
static bool same(context *c, const value *a, const value *b) {
    text x, y;
    text_init(&x, c);
    text_init(&y, c);
    value_print_type(&x, a);
    value_json(&x, a);
    value_print_type(&y, b);
    value_json(&y, b);
    bool equal = strcmp(text_data(&x), text_data(&y)) == 0;
    text_close(&x);
    text_close(&y);
    return equal;
}

static void op_reads_back(void *self, const rule_case *rc) {
    int *cases = self;
    char name[100];
    write_fixture f;
    engine e;
    results r;
    value in[CASE_OPERANDS], direct;
    op_attrs attrs;
    cases[rc->op]++;
    write_open(&f);
    ck_assert(rule_operands(rc, &f.c, in, &attrs));
    op_call call = {.op = rc->op, .n = (uint8_t)rc->n, .attrs = &attrs, .in = in};
    ck_assert_msg(door_perform(&f.c, &call, &direct), "%s", f.c.err.message);
    graph_of(&f, rc, &attrs, in);
    write_call_text(&f, in, rc->n, &e, &r);
    rule_case_name(rc, name, sizeof name);
    ck_assert_msg(r.count == 1 && same(&f.c, &r.items[0].v, &direct), "%s differs:\n%s", name,
                  text_data(&f.out));
    results_release(&f.c, &r);
    engine_close(&e);
    value_release(&f.c, direct);
    for (int k = 0; k < rc->n; k++) value_release(&f.c, in[k]);
    write_close(&f);
}

START_TEST(every_op) {
    int cases[OP_COUNT] = {0};
    rule_cases_walk(op_reads_back, cases);
    for (size_t i = 0; i < COUNT_OF(passive); i++) op_reads_back(cases, &passive[i]);
    for (int op = 0; op < OP_COUNT; op++)
        ck_assert_msg(cases[op] > 0 || op == OP_custom, "no case of %s", op_table[op].name);
}
END_TEST

/* ---- texts ---- */

static void shows(write_fixture *f, int count, const var *out, const char *expected) {
    region_results(&f->g, f->g.top, count, out);
    ck_assert_str_eq(write_text(f), expected);
}

/* Checks without a run that the text is a program. */
static void is_program(write_fixture *f) {
    engine e;
    engine_init(&e, &f->c, (engine_options){0});
    bool good = engine_load(&e, "written.kina", text_data(&f->out), f->out.length);
    ck_assert_msg(good, "%s\nis no program: %s", text_data(&f->out),
                  e.diags.first != NULL ? e.diags.first->message : f->c.err.message);
    engine_close(&e);
}

START_TEST(straight_lines) {
    write_fixture f;
    write_open(&f);
    region *top = f.g.top;
    int64_t b = write_named_dim(&f, "B"), d = write_named_dim(&f, "D");
    var x = write_param(&f, "x", DT_F32, 2, b, d), w = write_param(&f, "w", DT_F32, 1, d);
    var h = write_named(&f, write_binary_op(&f, top, OP_matmul, x, w), "h");
    var y = write_unary_op(&f, top, OP_relu, write_binary_op(&f, top, OP_add, h, write_f32(&f, top, -0.5)));
    var s = graph_op(&f.g, top, OP_sum, &(op_attrs){.axes = 1}, 1, &y, (span){0, 0});
    var mean = write_binary_op(&f, top, OP_div, s, graph_size(&f.g, top, b, DT_F32));
    shows(&f, 2, (var[]){mean, h},
          "fn f(x: tensor<F32, [B, D]>, w: tensor<F32, [D]>) -> (F32, tensor<F32, [B]>) {\n"
          "    let h = x @ w;\n"
          "    (sum(relu(h + -0.5)) / F32(B), h)\n"
          "}\n");
    is_program(&f);
    write_close(&f);
}
END_TEST

/* A new adjoint takes over the name of one that nothing reads any more; one that is read keeps it. */
START_TEST(adjoint_names) {
    write_fixture f;
    write_open(&f);
    region *top = f.g.top;
    var x = write_param(&f, "x", DT_F32, 0), sum = write_param(&f, "sum", DT_F32, 0);
    var h = write_named(&f, write_unary_op(&f, top, OP_exp, x), "h");
    var h_again = write_named(&f, write_unary_op(&f, top, OP_sin, h), "h");
    var first = write_binary_op(&f, top, OP_mul, sum, h_again);
    var second = write_binary_op(&f, top, OP_add, first, h);
    graph_at(&f.g, first)->derivative_of = graph_at(&f.g, second)->derivative_of = h;
    graph_at(&f.g, first)->prefix = graph_at(&f.g, second)->prefix = "d_";
    var t = write_binary_op(&f, top, OP_mul, second, second);
    var u = write_binary_op(&f, top, OP_mul, t, t);
    shows(&f, 3, (var[]){u, h_again, second},
          "fn f(x: F32, sum2: F32) -> (F32, F32, F32) {\n"
          "    let h = exp(x);\n"
          "    let h2 = sin(h);\n"
          "    let d_h = sum2 * h2;\n"
          "    let d_h = d_h + h;\n"
          "    let t1 = d_h * d_h;\n"
          "    (t1 * t1, h2, d_h)\n"
          "}\n");
    is_program(&f);
    write_close(&f);
}
END_TEST

START_TEST(long_lines) {
    write_fixture f;
    write_open(&f);
    region *top = f.g.top;
    var x = write_param(&f, "a_long_name_of_a_parameter", DT_F32, 0), y = x;
    for (int i = 0; i < 3; i++) y = write_binary_op(&f, top, OP_add, write_unary_op(&f, top, OP_sigmoid, x), y);
    shows(&f, 1, &y,
          "fn f(a_long_name_of_a_parameter: F32) -> F32 {\n"
          "    let t1 = sigmoid(a_long_name_of_a_parameter) + a_long_name_of_a_parameter;\n"
          "    let t2 = sigmoid(a_long_name_of_a_parameter) + t1;\n"
          "    sigmoid(a_long_name_of_a_parameter) + t2\n"
          "}\n");
    is_program(&f);
    write_close(&f);
}
END_TEST

/* ---- literals and dims ---- */

/* Numbers come back as the same bits, alone and beside a parameter whose type they adopt. */
START_TEST(literals) {
    const value cases[] = {
        value_f32(0.1f), value_f32(-0.0f), value_f32(1e-45f), value_f32(3.4028235e38f), value_f32((float)INFINITY),
        value_f32(-(float)INFINITY), value_f32((float)NAN), value_f32(16777216.0f), value_f64(0.1),
        value_f64(-1e-310), value_f64(-0.0), value_f64((double)NAN), value_f64(-(double)INFINITY), value_f64(1e300),
        value_f64(3), value_i32(0), value_i32(INT32_MIN), value_i32(INT32_MAX), value_i64(INT64_MIN),
        value_i64(INT64_MAX), value_i64(-1), value_i64(1), value_bool(true),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_fixture f;
        engine e;
        results r;
        dtype t = (dtype)cases[i].dtype;
        value zero = value_number(t, 0);
        write_open(&f);
        region *top = f.g.top;
        var x = write_param(&f, "x", t, 0), number = graph_number(&f.g, top, cases[i]);
        var beside = t == DT_Bool ? write_binary_op(&f, top, OP_or, x, number)
                                  : write_binary_op(&f, top, OP_maximum, number, x);
        var wide = graph_op(&f.g, top, OP_cast, &(op_attrs){.dtype = DT_F64}, 1, &number, (span){0, 0});
        region_results(&f.g, top, 3, (var[]){number, beside, wide});
        write_call_text(&f, &zero, 1, &e, &r);
        value cast;
        op_call call = {.op = OP_cast, .n = 1, .attrs = &(op_attrs){.dtype = DT_F64}, .in = &cases[i]};
        ck_assert(door_perform(&f.c, &call, &cast));
        ck_assert_msg(same(&f.c, &r.items[0].v, &cases[i]) && same(&f.c, &r.items[2].v, &cast), "%s",
                      text_data(&f.out));
        results_release(&f.c, &r);
        engine_close(&e);
        write_close(&f);
    }
}
END_TEST

static var sliced(write_fixture *f, var x, int64_t lo, int64_t count, int64_t step, const int64_t *hi) {
    op_attrs attrs = {.rank = 1, .lo = {lo}, .dims = {count}, .step = {step}};
    var out = graph_op(&f->g, f->g.top, OP_slice, &attrs, 1, &x, (span){0, 0});
    graph_at(&f->g, out)->maker->hi = hi;
    return out;
}

START_TEST(dims_of_slices) {
    write_fixture f;
    write_open(&f);
    region *top = f.g.top;
    int64_t n = write_named_dim(&f, "N"), m = write_named_dim(&f, "M");
    var x = write_param(&f, "x", DT_F32, 1, n), y = write_param(&f, "y", DT_F32, 1, m);
    var i = write_param(&f, "i", DT_I32, 0);
    int64_t at = dims_symbol(f.dims, DIM_UNKNOWN, NULL, (span){0, 0}), some;
    graph_witness(&f.g, at, NULL, i, -1);
    int64_t hi[2] = {dims_add(f.dims, at, 2), dims_sub(f.dims, 0, 1)}, last = dims_sub(f.dims, n, 1);
    var both = graph_op(&f.g, top, OP_concat, NULL, 2, (var[]){x, y}, (span){0, 0});
    some = dims_symbol(f.dims, DIM_UNKNOWN, NULL, (span){0, 0});
    const var parts[] = {
        sliced(&f, x, at, some, 1, &hi[0]),             /* as the source had it */
        sliced(&f, x, last, n, -1, &hi[1]),
        sliced(&f, both, n, m, 1, NULL),                /* the parts of a concat */
        sliced(&f, both, 0, n, 1, NULL),
        sliced(&f, x, at, 1, 1, NULL),                  /* a size that stretches has to be said */
        sliced(&f, x, 7, 3, -2, NULL),
        sliced(&f, x, 4, 3, -2, NULL),
        graph_size(&f.g, top, dims_add(f.dims, dims_mul(f.dims, n, n), dims_sub(f.dims, 3, m)), DT_I64),
        graph_size(&f.g, top, at, DT_F32),
        graph_op(&f.g, top, OP_full, &(op_attrs){.rank = 1, .dims = {some}}, 1,
                 (var[]){write_f32(&f, top, 2)}, (span){0, 0}),
    };
    shows(&f, (int)COUNT_OF(parts), parts,
          "fn f(x: tensor<F32, [N]>, y: tensor<F32, [M]>, i: I32) {\n"
          "    let t1 = concat((x, y));\n"
          "    let t2 = x[i:i + 2];\n"
          "    let t3 = x[::-1];\n"
          "    let t4 = t1[N:];\n"
          "    let t5 = t1[:N];\n"
          "    let t6 = slice(x, [i], [1]);\n"
          "    let t7 = x[7:2:-2];\n"
          "    let t8 = x[4::-2];\n"
          "    let t9 = full([dim(t2, 0)], 2.0);\n"
          "    (t2, t3, t4, t5, t6, t7, t8, N * N - M + 3, F32(I64(i)), t9)\n"
          "}\n");
    is_program(&f);
    write_close(&f);
}
END_TEST

/* ---- control flow ---- */

/* A loop from inits, with a condition and a body to be filled; gives its params to both. */
static node *loop_of(write_fixture *f, region *r, int n, const var *inits, const char *const *carried, int outs) {
    node *loop = node_new(&f->g, r, NODE_WHILE, n, inits, outs);
    for (int k = 0; k < 2; k++) {
        loop->inside[k] = region_new(&f->g, r, loop);
        for (int i = 0; i < n; i++)
            region_param(&f->g, loop->inside[k],
                         graph_var_new(&f->g, graph_type(&f->g, inits[i]), k == 1 ? carried[i] : NULL));
    }
    for (int i = 0; i < outs; i++)
        node_out(&f->g, r, loop, i, graph_var_new(&f->g, graph_type(&f->g, inits[i]), carried[i]));
    return loop;
}

static var number(write_fixture *f, region *r, dtype t, double x) {
    return graph_number(&f->g, r, value_number(t, x));
}

/* `while (i < n) [...]`, i being carry number `at`, counted up as the result number `at` of the body. */
static var count_up(write_fixture *f, node *loop, int at, var n) {
    region *condition = loop->inside[0], *body = loop->inside[1];
    var less = write_binary_op(f, condition, OP_lt, condition->params[at], n);
    region_results(&f->g, condition, 1, &less);
    return write_binary_op(f, body, OP_add, body->params[at], number(f, body, DT_I32, 1));
}

/* x is given to the loop and read behind it; the body yields w, which is outside, and one value twice; it reads
 * neither `lost` nor what an inner branch gives back as it is. */
static void owning(write_fixture *f) {
    region *top = f->g.top;
    int64_t d = write_named_dim(f, "D");
    var x = write_param(f, "x", DT_F32, 1, d), w = write_param(f, "w", DT_F32, 1, d);
    var n = write_param(f, "n", DT_I32, 0);
    const char *const carried[] = {"a", "b", "lost", "c", "i"};
    node *loop = loop_of(f, top, 5, (var[]){x, x, w, x, number(f, top, DT_I32, 0)}, carried, 4);
    region *body = loop->inside[1];
    var next = count_up(f, loop, 4, n);
    var sum = write_binary_op(f, body, OP_add, body->params[0], body->params[1]);
    var big = graph_op(&f->g, body, OP_sum, &(op_attrs){.axes = 1}, 1, &sum, (span){0, 0});
    big = write_binary_op(f, body, OP_gt, big, number(f, body, DT_F32, 9));
    node *branch = node_new(&f->g, body, NODE_IF, 1, &big, 1);
    for (int k = 0; k < 2; k++) branch->inside[k] = region_new(&f->g, body, branch);
    region_results(&f->g, branch->inside[0], 1, &body->params[3]);
    var half = write_binary_op(f, branch->inside[1], OP_mul, sum, number(f, branch->inside[1], DT_F32, 0.5));
    region_results(&f->g, branch->inside[1], 1, &half);
    node_out(&f->g, body, branch, 0, graph_var_new(&f->g, graph_type(&f->g, x), NULL));
    region_results(&f->g, body, 5, (var[]){sum, sum, w, branch->out[0], next});
    var y = write_binary_op(f, top, OP_add, loop->out[0], x);
    y = write_binary_op(f, top, OP_mul, y, loop->out[3]);
    region_results(&f->g, top, 1, &y);
}

START_TEST(owners) {
    write_fixture f;
    write_open(&f);
    owning(&f);
    ck_assert_str_eq(write_text(&f),
          "fn f(x: tensor<F32, [D]>, w: tensor<F32, [D]>, n: I32) -> tensor<F32, [D]> {\n"
          "    let (a, _, _, c) = while (i < n) [\n"
          "        a = copy(x),\n"
          "        b = copy(x),\n"
          "        lost = copy(w),\n"
          "        c = copy(x),\n"
          "        i = 0,\n"
          "    ] {\n"
          "        drop(lost);\n"
          "        let t1 = a + b;\n"
          "        let t2 = if (sum(t1) > 9.0) { copy(c) } else { t1 * 0.5 };\n"
          "        (t1, copy(t1), copy(w), t2, i + 1)\n"
          "    };\n"
          "    (a + x) * c\n"
          "}\n");
    is_program(&f);
    write_close(&f);
}
END_TEST

/* Loops inside branches and in one another, literal inits of other types, and a name that is taken again. */
START_TEST(nested) {
    write_fixture f;
    write_open(&f);
    region *top = f.g.top;
    var x = write_param(&f, "x", DT_F64, 0), n = write_param(&f, "n", DT_I32, 0);
    var positive = write_binary_op(&f, top, OP_gt, x, number(&f, top, DT_F64, 0));
    node *branch = node_new(&f.g, top, NODE_IF, 1, &positive, 1);
    for (int k = 0; k < 2; k++) branch->inside[k] = region_new(&f.g, top, branch);
    region *then = branch->inside[0], *otherwise = branch->inside[1];
    const char *const carried[] = {"s", "i"};
    node *outer = loop_of(&f, then, 2, (var[]){number(&f, then, DT_F64, 0.1), number(&f, then, DT_I32, 0)}, carried, 1);
    region *body = outer->inside[1];
    var next = count_up(&f, outer, 1, n);
    node *inner = loop_of(&f, body, 2, (var[]){body->params[0], number(&f, body, DT_I32, 0)}, carried, 1);
    var inner_next = count_up(&f, inner, 1, body->params[1]);
    var step = write_binary_op(&f, inner->inside[1], OP_mul, inner->inside[1]->params[0], x);
    region_results(&f.g, inner->inside[1], 2, (var[]){step, inner_next});
    region_results(&f.g, body, 2, (var[]){inner->out[0], next});
    region_results(&f.g, then, 1, &outer->out[0]);
    var minus = number(&f, otherwise, DT_F64, -0.0);
    region_results(&f.g, otherwise, 1, &minus);
    node_out(&f.g, top, branch, 0, graph_var_new(&f.g, graph_type(&f.g, x), NULL));
    shows(&f, 1, &branch->out[0],
          "fn f(x: F64, n: I32) -> F64 {\n"
          "    if (x > 0.0) {\n"
          "        let s = while (i < n) [s: F64 = 0.1, i = 0] {\n"
          "            let s = while (i2 < i) [s = s, i2 = 0] { (s * x, i2 + 1) };\n"
          "            (s, i + 1)\n"
          "        };\n"
          "        s\n"
          "    } else {\n"
          "        F64(-0.0)\n"
          "    }\n"
          "}\n");
    is_program(&f);
    write_close(&f);
}
END_TEST

/* ---- comments ---- */

/* x -> x * sin(x) with its gradient, as the source has it. */
static void answering(write_fixture *f) {
    static const char source_words[] = "fn f(x: F32) -> F32 {\n  let h = sin(x);\n  h *\n    x\n}\n";
    ck_assert(source_init(&f->src, &f->a, "prog.kina", source_words, strlen(source_words)));
    span sine = {32, 38}, product = {42, 51};
    region *top = f->g.top;
    var x = write_param(f, "x", DT_F32, 0);
    var h = write_named(f, write_unary_op(f, top, OP_sin, x), "h");
    var y = write_binary_op(f, top, OP_mul, h, x);
    f->g.backward_from = f->g.count;
    var d_h = write_unary_op(f, top, OP_neg, x), d_x = write_unary_op(f, top, OP_neg, h);
    var c = write_unary_op(f, top, OP_cos, x), more = write_binary_op(f, top, OP_mul, d_h, c);
    var d_x2 = write_binary_op(f, top, OP_add, d_x, more);
    const var of[] = {h, x, VAR_NONE, VAR_NONE, x}, named[] = {d_h, d_x, c, more, d_x2};
    for (int i = 0; i < 5; i++) {
        graph_at(&f->g, named[i])->derivative_of = of[i];
        graph_at(&f->g, named[i])->prefix = "d_";
        graph_at(&f->g, named[i])->maker->answers = i < 2 ? product : sine;
    }
    region_results(&f->g, top, 2, (var[]){y, d_x2});
}

START_TEST(answers) {
    write_fixture f;
    write_open(&f);
    answering(&f);
    ck_assert_str_eq(write_text(&f),
          "fn f(x: F32) -> (F32, F32) {\n"
          "    // forward\n"
          "    let h = sin(x);\n"
          "\n"
          "    // backward\n"
          "    let d_h = -x; // line 3: h * x\n"
          "    let d_x = -h;\n"
          "    let d_x = d_x + d_h * cos(x); // line 2: sin(x)\n"
          "    (h * x, d_x)\n"
          "}\n");
    is_program(&f);
    write_close(&f);
}
END_TEST

/* With any allocation failing the error is reported, and nothing leaks. */
static void write_failing(void (*make)(write_fixture *f)) {
    bool ok = false;
    for (uint64_t n = 1; !ok; n++) {
        write_fixture f;
        write_open(&f);
        make(&f);
        program p = {.a = &f.a, .names = &f.names}, from = {.a = &f.a, .src = &f.src};
        f.c.mem.fail_at = f.c.mem.requests + n;
        ok = write_program(&f.g, "f", f.src.text != NULL ? &from : NULL, &p);
        ck_assert(ok || f.c.err.code == ERROR_K0506 || f.c.err.code == ERROR_K0507);
        write_close(&f);
    }
}

START_TEST(failing_memory) {
    write_failing(answering);
    write_failing(owning);
}
END_TEST

Suite *suite_write(void) {
    Suite *suite = suite_create("write");
    TCase *ops = tcase_create("ops");
    tcase_set_timeout(ops, 120);
    tcase_add_test(ops, every_op);
    suite_add_tcase(suite, ops);
    TCase *texts = tcase_create("texts");
    tcase_add_test(texts, straight_lines);
    tcase_add_test(texts, adjoint_names);
    tcase_add_test(texts, long_lines);
    tcase_add_test(texts, literals);
    tcase_add_test(texts, dims_of_slices);
    tcase_add_test(texts, owners);
    tcase_add_test(texts, nested);
    tcase_add_test(texts, answers);
    tcase_add_test(texts, failing_memory);
    suite_add_tcase(suite, texts);
    return suite;
}
