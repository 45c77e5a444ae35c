/* Sessions: what inputs define, what a redefinition does to the rest, what an input that fails leaves behind, and that
 * values outlive the engines that made them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/input.h"
#include "interp/workspace.h"
#include "kernels/kernel.h"
#include "runtime/context.h"
#include "runtime/print.h"
#include "runtime/threads.h"

typedef struct session_test {
    context c;
    workspace w;
    text printed;               /* by `print` */
    text said;                  /* news and results of the last input, or the codes of its errors */
    uint32_t line;
} session_test;

static void take_print(void *self, const char *words, size_t length) { text_add_bytes(self, words, length); }

static void open_session(session_test *t) {
    *t = (session_test){.line = 0};
    context_init(&t->c);
    kernel_install(&t->c);
    text_init(&t->printed, &t->c);
    text_init(&t->said, &t->c);
    workspace_init(&t->w, &t->c, (engine_options){.print = take_print, .print_self = &t->printed});
}

static void close_session(session_test *t) {
    workspace_close(&t->w);
    text_close(&t->printed);
    text_close(&t->said);
    threads_close(&t->c);
    ck_assert_uint_eq(t->c.mem.live, 0);
    context_close(&t->c);
}

static void say_news(text *t, const workspace_outcome *out) {
    static const char *const words[] = {"defined", "redefined", "checked", "aside", "back", "dropped"};
    for (int i = 0; i < out->news_count; i++) {
        const workspace_news *n = &out->news[i];
        text_format(t, "%s %s", words[n->change], n->name);
        if (n->of != NULL) text_format(t, " of %s", n->of);
        text_add(t, "; ");
    }
    for (int i = 0; i < out->results.count; i++) {
        text_format(t, "%s = ", out->results.items[i].name);
        value_print(t, &out->results.items[i].v, false);
        text_add(t, "; ");
    }
}

static void say_errors(text *t, const engine *e) {
    if (e->c->err.code != ERROR_NONE) text_format(t, "%s; ", error_code_name(e->c->err.code));
    for (const diag *d = e->diags.first; d != NULL; d = d->next) {
        uint32_t line, column;
        source_position(&e->src, d->at.begin, &line, &column);
        text_format(t, "%s %s:%u:%u; ", error_code_name(d->code), source_piece_at(&e->src, d->at.begin)->path, line, column);
    }
}

/* Enters an input and returns what came of it: "defined x; it = 3; ", or "K0101 <repl>:1:1; ". */
static const char *enter(session_test *t, const char *words) {
    engine e;
    workspace_outcome out;
    source_text given = {.path = "<repl>", .text = words, .length = strlen(words), .first_line = ++t->line};
    text_clear(&t->said);
    text_clear(&t->printed);
    bool ok = workspace_load(&t->w, &given, &e) && workspace_enter(&t->w, &e, &out);
    if (ok) {
        say_news(&t->said, &out);
        workspace_outcome_release(&t->c, &out);
    } else {
        say_errors(&t->said, &e);
    }
    error_clear(&t->c.err);
    engine_close(&e);
    return text_data(&t->said);
}

#define IS(t, words, expected) ck_assert_str_eq(enter((t), (words)), (expected))

START_TEST(definitions_and_variables) {
    session_test t;
    open_session(&t);
    IS(&t, "let x = [1.0, 2.0]", "defined x; ");
    IS(&t, "fn f(k: F32) -> F32 { sum(x) * k }", "defined f; ");
    IS(&t, "let g = grad(f)", "defined g; ");
    IS(&t, "g(5.0)", "0 = 3.0; ");
    IS(&t, "it + f(1.0)", "0 = 6.0; ");
    IS(&t, "let (a, (b, _)) = (1, (true, x)); b", "defined a; defined b; 0 = true; ");
    IS(&t, "let a = 1; let a = 2.0; a", "redefined a; 0 = 2.0; ");
    IS(&t, "let u = print(\"said\")", "defined u; ");
    ck_assert_str_eq(text_data(&t.printed), "said\n");
    ck_assert_int_eq(workspace_count(&t.w), 7);
    ck_assert_str_eq(workspace_find(&t.w, "a")->type, "F32");
    ck_assert_str_eq(workspace_find(&t.w, "f")->type, "fn(F32) -> F32");
    ck_assert_str_eq(workspace_find(&t.w, "g")->text, "let g = grad(f);");
    ck_assert_uint_eq(workspace_find(&t.w, "g")->line, 3);
    ck_assert_ptr_null(workspace_find(&t.w, "nothing"));
    /* A let that is kept as text is evaluated again, but has its effects once. */
    IS(&t, "fn say(v: F32) -> F32 { print(v); v }", "defined say; ");
    IS(&t, "fn make() -> fn(F32) -> F32 { print(\"made\"); say }", "defined make; ");
    IS(&t, "let s = make()", "defined s; ");
    ck_assert_str_eq(text_data(&t.printed), "made\n");
    IS(&t, "s(2.0)", "0 = 2.0; ");
    ck_assert_str_eq(text_data(&t.printed), "2.0\n");
    workspace_clear(&t.w);
    IS(&t, "x", "K0101 <repl>:13:1; ");
    close_session(&t);
}
END_TEST

START_TEST(values_outlive_engines) {
    session_test t;
    open_session(&t);
    IS(&t, "let x = arange(1000) + 1", "defined x; ");
    IS(&t, "fn f(v: F32) -> F32 { v * v }", "defined f; ");
    IS(&t, "let r = handle f(3.0) with reverseMode", "defined r; ");
    IS(&t, "let y = x[0:3]; let z = (y, (y, r));", "defined y; defined z; ");
    IS(&t, "let x = 0", "redefined x; ");
    /* A gradient is passive in the next input, whatever tape it came of. */
    IS(&t, "handle f(z.1.1.1) with reverseMode", "primal = 36.0; grad v = 12.0; ");
    IS(&t, "sum(z.0) + sum(z.1.0)", "0 = 12; ");
    ck_assert(workspace_bind(&t.w, "y", value_f32(2.5f), "y.npy", 1));
    IS(&t, "y * 2.0", "0 = 5.0; ");
    close_session(&t);
}
END_TEST

START_TEST(redefinition) {
    session_test t;
    open_session(&t);
    IS(&t, "fn f(x: F32) -> F32 { x * 2.0 }", "defined f; ");
    IS(&t, "fn g(x: F32) -> F32 { f(x) }", "defined g; ");
    IS(&t, "let h = grad(g)", "defined h; ");
    IS(&t, "fn f(x: F32) -> F32 { x * x }", "redefined f; checked g of f; ");
    IS(&t, "h(3.0)", "0 = 6.0; ");
    IS(&t, "fn f(x: F64) -> F64 { x }", "redefined f; aside g; aside h; ");
    ck_assert_str_eq(workspace_find(&t.w, "g")->aside, "the argument for `x` of `f` must be `F64`, not `F32` (<repl>:2:25)");
    IS(&t, "g(1.0)", "K0101 <repl>:7:1; ");
    IS(&t, "f(1.5)", "0 = 1.5; ");
    IS(&t, "fn f(x: F32) -> F32 { x }", "redefined f; back g; back h; ");
    ck_assert_ptr_null(workspace_find(&t.w, "h")->aside);
    IS(&t, "h(3.0)", "0 = 1.0; ");
    /* Above what it uses only until it is checked again. */
    IS(&t, "let h2 = fn(x: F32) -> F32 { h(x) }", "defined h2; ");
    IS(&t, "let h = fn(x: F32) -> F32 { x + 1.0 }", "redefined h; checked h2 of h; ");
    IS(&t, "h2(1.0)", "0 = 2.0; ");
    IS(&t, "let f = 3.0", "redefined f; aside g; ");
    IS(&t, "fn f(x: F32) -> F32 { x }", "redefined f; back g; ");
    close_session(&t);
}
END_TEST

START_TEST(variables_that_change) {
    session_test t;
    open_session(&t);
    IS(&t, "let k: F32 = 2.0", "defined k; ");
    IS(&t, "fn f(x: F32) -> F32 { x * k }", "defined f; ");
    IS(&t, "let k: F32 = 3.0", "redefined k; ");
    IS(&t, "f(1.0)", "0 = 3.0; ");
    IS(&t, "let k = [1.0]", "redefined k; aside f; ");
    IS(&t, "let k: F32 = 4.0", "redefined k; back f; ");
    IS(&t, "drop(k)", "dropped k; aside f; ");
    IS(&t, "k", "K0101 <repl>:8:1; ");
    /* Its own share of a variable is a function's and a loop's to end. */
    IS(&t, "let v = [1.0, 2.0]", "defined v; ");
    IS(&t, "fn ends() -> F32 { drop(v); 1.0 }", "defined ends; ");
    IS(&t, "ends()", "0 = 1.0; ");
    IS(&t, "let (w, _) = while (i < 2) [v = v, i = 0] { (v + v, i + 1) }", "defined w; ");
    IS(&t, "(v, w)", "0 = [1.0, 2.0]; 1 = [4.0, 8.0]; ");
    IS(&t, "let n: tensor<F32, [N]> = v;", "defined n; ");
    IS(&t, "fn g(x: tensor<F32, [N]>) -> F32 { sum(x) }", "defined g; ");
    IS(&t, "g([1.0])", "0 = 1.0; ");
    close_session(&t);
}
END_TEST

START_TEST(what_fails_leaves_nothing) {
    session_test t;
    open_session(&t);
    IS(&t, "let x = 1.0", "defined x; ");
    IS(&t, "fn f(v: F32) -> F32 { assert(v > 0.0); v }", "defined f; ");
    size_t live = t.c.mem.live;
    IS(&t, "let x = 2.0; fn g() -> F32 { 1.0 } f(-1.0)", "K0505; ");
    IS(&t, "let x = 2.0; fn g( -> F32 { 1.0 }", "K0010 <repl>:4:20; ");
    IS(&t, "fn f(v: F32) -> F32 { v + [x] }", "K0201 <repl>:5:23; ");
    IS(&t, "let t: tape<F32> = tape()", "K0409 <repl>:6:5; ");
    IS(&t, "let (y, g) = (1.0, fn(v: F32) { v })", "K0704 <repl>:7:9; ");
    IS(&t, "x = 2.0", "K0017 <repl>:8:3; ");
    ck_assert_int_eq(workspace_count(&t.w), 2);
    ck_assert(t.c.mem.live <= live + t.said.capacity + t.printed.capacity);
    IS(&t, "f(x)", "0 = 1.0; ");
    IS(&t, "let g = fn(v: F32) -> F32 { v }", "defined g; ");
    IS(&t, "let g = fn(v: F32) -> F32 { g(v) }", "K0704 <repl>:11:5; ");
    /* An input that needs what it breaks fails with the errors of both. */
    IS(&t, "fn h(v: F32) -> F32 { f(v) }", "defined h; ");
    IS(&t, "fn f(v: I32) -> I32 { v } h(1.0)", "K0201 <repl>:12:25; K0201 <repl>:12:23; ");
    IS(&t, "h(1.0)", "0 = 1.0; ");
    close_session(&t);
}
END_TEST

START_TEST(places) {
    session_test t;
    open_session(&t);
    IS(&t, "let a = 1;   fn f(x: F32) -> F32 {\n    x\n}", "defined a; defined f; ");
    ck_assert_str_eq(workspace_find(&t.w, "f")->text, "             fn f(x: F32) -> F32 {\n    x\n}");
    t.line = 9;
    IS(&t, "\n  f(true)", "K0201 <repl>:11:5; ");
    /* A warning is given once, with its input. */
    IS(&t, "fn g(x: F32) -> F32 { let unused = x; x }", "defined g; ");
    engine e;
    source_text given = {.path = "<repl>", .text = "g(1.0)", .length = 6, .first_line = 1};
    ck_assert(workspace_load(&t.w, &given, &e));
    ck_assert_uint_eq(e.diags.warnings, 0);
    ck_assert_ptr_null(e.diags.first);
    engine_close(&e);
    close_session(&t);
}
END_TEST

/* What verbs do with a loaded program they do with a loaded input. */
/* The codes of the warnings of an input behind others. */
static const char *warnings(session_test *t, const char *words) {
    engine e;
    source_text given = {.path = "<repl>", .text = words, .length = strlen(words), .first_line = 1};
    text_clear(&t->said);
    ck_assert(workspace_load(&t->w, &given, &e));
    say_errors(&t->said, &e);
    engine_close(&e);
    return text_data(&t->said);
}

START_TEST(variables_of_before) {
    session_test t;
    open_session(&t);
    IS(&t, "let k: F32 = 1.0; let other = 2.0", "defined k; defined other; ");
    IS(&t, "fn f(x: F32) -> F32 { x * k }", "defined f; ");
    IS(&t, "fn g(x: F32) -> F32 { f(x) } fn free(x: F32) -> F32 { x }", "defined g; defined free; ");
    IS(&t, "let h = grad(g)", "defined h; ");
    ck_assert_str_eq(warnings(&t, "let k: F32 = 2.0; f(1.0)"), "W0104 <repl>:1:19; ");
    ck_assert_str_eq(warnings(&t, "let (k, _) = (2.0, 1); let y = 1.0; let z = h(y); g(2.0)"), "W0104 <repl>:1:45; ");
    ck_assert_str_eq(warnings(&t, "f(1.0); let k: F32 = 2.0; k + free(k)"), "");
    ck_assert_str_eq(warnings(&t, "let other = 2.0; f(1.0)"), "");
    ck_assert_str_eq(warnings(&t, "let k: F32 = 2.0; fn f(x: F32) -> F32 { x } f(1.0)"), "");
    close_session(&t);
}
END_TEST

START_TEST(derivatives_of_a_session) {
    session_test t;
    open_session(&t);
    IS(&t, "let k = [2.0, 3.0]", "defined k; ");
    IS(&t, "fn f(x: tensor<F32, [2]>) -> F32 { sum(x * k) }", "defined f; ");
    engine e;
    source_text given = {.path = "<repl>", .text = "", .length = 0, .first_line = 1};
    ck_assert(workspace_load(&t.w, &given, &e));
    const fn_decl *f = program_find(&e.program, "f");
    tensor *x = tensor_new(&t.c, DT_F32, 1, (int64_t[]){2});
    ((float *)x->data)[0] = ((float *)x->data)[1] = 1.0f;
    const value args[] = {value_tensor(x)};
    const bool wrt[] = {true};
    results r;
    ck_assert(engine_reverse(&e, f, args, 1, wrt, NULL, &r));
    ck_assert_int_eq(r.count, 2);
    ck_assert(((const float *)r.items[1].v.as.t->data)[1] == 3.0f);
    results_release(&t.c, &r);
    ck_assert(engine_call(&e, f, args, 1, &r));
    ck_assert(r.items[0].v.as.f32 == 5.0f);
    results_release(&t.c, &r);
    tensor_release(&t.c, x);
    engine_close(&e);
    close_session(&t);
}
END_TEST

/* Adds lines to an input; "1": whole after the first, "001": after the third. */
static const char *whole_after(context *c, const char *const *lines, char *out) {
    input in;
    input_init(&in, c);
    size_t count = 0;
    for (; lines[count] != NULL; count++) out[count] = input_add(&in, lines[count], strlen(lines[count])) ? '1' : '0';
    out[count] = '\0';
    input_close(&in);
    return out;
}

START_TEST(when_an_input_is_whole) {
    static const struct {
        const char *lines[5], *whole;
    } cases[] = {
        {{"1 + 2"}, "1"},
        {{"let x = 1"}, "1"},
        {{"let x ="}, "0"},
        {{"1 +", "2"}, "01"},
        {{"1 +", ""}, "01"},
        {{"1 +", "// c", "", }, "001"},
        {{"1 + // c", "2"}, "01"},
        {{"f(", "", "1)"}, "001"},
        {{"fn f(x: F32) -> F32 {", "  // )}]", "  x", "}"}, "0001"},
        {{"fn f(x: F32)", "-> F32 { x }"}, "01"},
        {{"[\"(\""}, "0"},
        {{"if (a) { 1 }", "else { 2 }"}, "01"},
        {{"@checkpoint(k=2)", "let x = 1"}, "01"},
        {{"let a = 1 in", "a"}, "01"},
        {{")"}, "1"},
        {{"1 2"}, "1"},
        {{"$"}, "1"},
        {{""}, "1"},
        {{"// a comment"}, "1"},
        {{"x // 1 +"}, "1"},
    };
    context c;
    char out[8];
    context_init(&c);
    for (size_t i = 0; i < COUNT_OF(cases); i++) ck_assert_str_eq(whole_after(&c, cases[i].lines, out), cases[i].whole);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}
END_TEST

Suite *suite_workspace(void) {
    Suite *s = suite_create("workspace");
    TCase *t = tcase_create("workspace");
    tcase_add_test(t, definitions_and_variables);
    tcase_add_test(t, values_outlive_engines);
    tcase_add_test(t, redefinition);
    tcase_add_test(t, variables_that_change);
    tcase_add_test(t, what_fails_leaves_nothing);
    tcase_add_test(t, places);
    tcase_add_test(t, variables_of_before);
    tcase_add_test(t, derivatives_of_a_session);
    tcase_add_test(t, when_an_input_is_whole);
    suite_add_tcase(s, t);
    return s;
}
