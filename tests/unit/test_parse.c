/* The parser: which tree a text means, where each part stands, one message for one mistake, and the
 * identity of parsing, printing and parsing again. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/ast_print.h"
#include "tests/unit/parse_check.h"

static void parse_text(parsed *t, const char *words) {
    parsed_open(t, words, strlen(words), 0);
}

/* ---- trees ---- */

typedef struct tree_case {
    const char *words, *tree;
} tree_case;

static void check_trees(const tree_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        parsed t;
        parse_text(&t, cases[i].words);
        ck_assert_msg(t.ok, "%s\n%s", cases[i].words, parsed_diagnostics(&t, false));
        const char *tree = parsed_tree(&t);
        ck_assert_msg(strcmp(tree, cases[i].tree) == 0, "%s\nis   %s\nnot  %s", cases[i].words,
                      tree, cases[i].tree);
        parsed_close(&t);
    }
}

START_TEST(operators) {
    static const tree_case cases[] = {
        {"a + b * c", "<(+ a (* b c))>"},
        {"a * b + c", "<(+ (* a b) c)>"},
        {"a - b - c", "<(- (- a b) c)>"},
        {"a / b % c @ d", "<(@ (% (/ a b) c) d)>"},
        {"a || b && c == d + e * f", "<(|| a (&& b (== c (+ d (* e f)))))>"},
        {"a * b + c < d && e || f", "<(|| (&& (< (+ (* a b) c) d) e) f)>"},
        {"(a < b) == (c < d)", "<(== (< a b) (< c d))>"},
        {"-x.f()", "<(neg (method f x))>"},
        {"-x @ y", "<(@ (neg x) y)>"},
        {"!a && !b", "<(&& (! a) (! b))>"},
        {"- - x", "<(neg (neg x))>"},
        {"-5", "<-5>"},
        {"-(5)", "<-5>"},
        {"--5", "<(neg -5)>"},
        {"-5.f()", "<(neg (method f 5))>"},
        {"(-5).f()", "<(method f -5)>"},
        {"-5.0", "<(neg 5.0)>"},
        {"a - -5", "<(- a -5)>"},
        {"-9223372036854775808", "<-9223372036854775808>"},
        {"1e-3 + 2.5E2 + inf - nan", "<(- (+ (+ 1e-3 2.5E2) inf) nan)>"},
        {"t.0.1.f(a, k=2).1", "<(project (method f (project (project t 0) 1) a k=2) 1)>"},
        {"t . 0 . 1", "<(project (project t 0) 1)>"},
        {"f(x)(y)[i]", "<(index (call (call f x) y) i)>"},
        {"3.abs()", "<(method abs 3)>"},
        {"x[i, 1:3, :, ::2, lo:hi:step]",
         "<(index x i (range 1 3 _) (range _ _ _) (range _ _ 2) (range lo hi step))>"},
        {"f((a, b,), [1, 2,], g(),)", "<(call f (tuple a b) (list 1 2) (call g))>"},
        {"()", "<(tuple)>"},
        {"[[1.0, 2.0], []]", "<(list (list 1.0 2.0) (list))>"},
        {"assert(c, \"a\\\"b\\\\\\u{41}\\u{e9}\")", "<(call assert c \"a\"b\\A\xC3\xA9\")>"},
    };
    check_trees(cases, COUNT_OF(cases));
}
END_TEST

START_TEST(lets_and_blocks) {
    static const tree_case cases[] = {
        {"", "<>"},
        {"// nothing", "<>"},
        {"let x = 1; x", "<(let x 1) x>"},
        {"let x = 1 in x", "<<(let x 1) x>>"},
        {"let x = 1 in let y = 2 in x + y", "<<(let x 1) (let y 2) (+ x y)>>"},
        {"fn f() { a; let x = 1 in x }", "<(fn f {(do a) <(let x 1) x>})>"},
        {"let x = 1 in f(x); b", "<(do <(let x 1) (call f x)>) b>"},
        {"let a = let b = 1 in b in a", "<<(let a <(let b 1) b>) a>>"},
        {"let ((a, _), b,): (F32, F32) = t; a",
         "<(let ((a _) b) (types (scalar F32) (scalar F32)) t) a>"},
        {"let x = 1; print(x);", "<(let x 1) (do (call print x))>"},
        {"fn f(x: F32, n: I32) -> F32 { x } f(1.0, 2)",
         "<(fn f x:(scalar F32) n:(scalar I32) -> (scalar F32) {x}) (call f 1.0 2)>"},
        {"@vjp(bwd) @jvp(fwd) fn f(x: F32) { }", "<(fn f @vjp =bwd @jvp =fwd x:(scalar F32) {})>"},
        {"@checkpoint(k=4) let r = while (c) [x = y] { x }; r",
         "<(let @checkpoint k=4 r (while c x=y {x})) r>"},
        {"let r = @checkpoint(memory=64MiB, k=auto) while (c) [x: F64 = y, i = 0] { (x, i) }; r",
         "<(let r (while @checkpoint memory=67108864B k=auto c x(scalar F64)=y i=0 {(tuple x i)})) "
         "r>"},
    };
    check_trees(cases, COUNT_OF(cases));
}
END_TEST

START_TEST(statement_position) {
    static const tree_case cases[] = {
        {"if (c) { a } else { b } -x", "<(end (if c {a} {b})) (neg x)>"},
        {"if (c) { a } else { b }; x", "<(do (if c {a} {b})) x>"},
        {"if (c) { } else { } (a, b)", "<(end (if c {} {})) (tuple a b)>"},
        {"let y = if (c) { a } else { b } - x; y", "<(let y (- (if c {a} {b}) x)) y>"},
        {"1 + if (c) { a } else { b }.0", "<(+ 1 (project (if c {a} {b}) 0))>"},
        {"while (c) [x = 1] { x } [1]", "<(end (while c x=1 {x})) (list 1)>"},
        {"handle f(x) with reverseMode -1", "<(end (reverse (call f x))) -1>"},
        {"handle x.loss(w) with reverseMode(seed = s)", "<(reverse (method loss x w) seed=s)>"},
        {"(handle f(x) with forwardMode(t, u,)).0", "<(project (forward (call f x) t u) 0)>"},
        {"(handle f(a) with reverseMode, handle g(b) with reverseMode(wrt=(w, b)))",
         "<(tuple (reverse (call f a)) (reverse (call g b) wrt=(tuple w b)))>"},
        {"fn(x: F32) { x } (1.0)", "<(end (fn _ x:(scalar F32) {x})) 1.0>"},
        {"let y = fn(x: F32) { x }(1.0); y", "<(let y (call (fn _ x:(scalar F32) {x}) 1.0)) y>"},
        {"let x = 1 in if (c) { x } else { 2 } y", "<(end <(let x 1) (if c {x} {2})>) y>"},
        {"if (a) { 1 } else if (b) { 2 } else { 3 }", "<(if a {1} (if b {2} {3}))>"},
    };
    check_trees(cases, COUNT_OF(cases));
}
END_TEST

START_TEST(types) {
    static const tree_case cases[] = {
        {"tensor<F32, [2, N], @host>", "<(make (tensor F32 2 N))>"},
        {"tensor<F32, []>.broadcast([])", "<(method broadcast (make (tensor F32)) (list))>"},
        {"tensor<F64, [2]>([1, 2])", "<(make (tensor F64 2) (list 1 2))>"},
        {"tensor<F64, [2],>(0.5)", "<(make (tensor F64 2) 0.5)>"},
        {"tensor<Bool, [H*W, (D+1)*2-1, ?]> == x",
         "<(== (make (tensor Bool (* H W) (- (* (+ D 1) 2) 1) ?)) x)>"},
        {"let t: tape<tape<F32>>= tape(); t", "<(let t (tape (tape (scalar F32))) (call tape)) t>"},
        {"let t: tensor<I64, [2]>= x; t", "<(let t (tensor I64 2) x) t>"},
        {"tensor<F32, [2]>>= tensor<F32, [2]>",
         "<(>= (make (tensor F32 2)) (make (tensor F32 2)))>"},
        {"let f: fn(F32, fn() -> ()) -> (F32, I32) = g; f",
         "<(let f (fntype (scalar F32) (fntype -> (unit)) -> (types (scalar F32) (scalar I32))) g) "
         "f>"},
        {"let x: ((F32)) = y; x", "<(let x (scalar F32) y) x>"},
    };
    check_trees(cases, COUNT_OF(cases));
}
END_TEST

START_TEST(literals) {
    parsed t;
    parse_text(
        &t, "(0.1, 16777217.0, 1e39, 340282350000000000000000000000000000000.0, 5e-324, 1.0e-400)");
    ck_assert(t.ok);
    expr **items = t.prog.main.body->u.block.tail->u.list.items;
    ck_assert(items[0]->u.floating.value == 0.1 && items[0]->u.floating.narrow == 0.1f);
    ck_assert(items[1]->u.floating.value == 16777217.0);
    ck_assert(items[1]->u.floating.narrow == 16777216.0f);
    ck_assert(items[2]->u.floating.value == 1e39 && isinf(items[2]->u.floating.narrow));
    ck_assert(items[3]->u.floating.narrow == 3.4028235e38f);
    ck_assert(items[4]->u.floating.value == 5e-324 && items[5]->u.floating.value == 0.0);
    parsed_close(&t);
    /* Rounded to F32 by way of F64 this one would be one unit too small. */
    parse_text(&t, "1.00000017881393432617187499");
    ck_assert(t.prog.main.body->u.block.tail->u.floating.narrow == 1.00000011920928955078125f);
    parsed_close(&t);
}
END_TEST

/* ---- spans ---- */

static void check_span(const parsed *t, span at, const char *words) {
    ck_assert_uint_le(at.begin, at.end);
    ck_assert_uint_eq(at.end - at.begin, strlen(words));
    ck_assert_msg(memcmp(t->src.text + at.begin, words, strlen(words)) == 0, "%.*s is not %s",
                  (int)(at.end - at.begin), t->src.text + at.begin, words);
}

static void check_expr_spans(const char *words, const char *at, const char *mark) {
    parsed t;
    parse_text(&t, words);
    ck_assert_msg(t.ok, "%s", parsed_diagnostics(&t, false));
    const expr *e = t.prog.main.body->u.block.tail;
    check_span(&t, e->at, at);
    check_span(&t, e->mark, mark);
    parsed_close(&t);
}

START_TEST(spans) {
    check_expr_spans(" a + b * c ", "a + b * c", "+");
    check_expr_spans("(a) + (b)", "(a) + (b)", "+");
    check_expr_spans("((a + b))", "((a + b))", "+");
    check_expr_spans("- x", "- x", "-");
    check_expr_spans("- 5", "- 5", "- 5");
    check_expr_spans("f ( x )", "f ( x )", "f");
    check_expr_spans("x . f ( y )", "x . f ( y )", "f");
    check_expr_spans("x [ 0 ]", "x [ 0 ]", "[ 0 ]");
    check_expr_spans("t . 0", "t . 0", "0");
    check_expr_spans("if (a) { b } else { c } // end", "if (a) { b } else { c }", "if");
    check_expr_spans("@checkpoint(k=2) while (a) [b = c] { b }",
                     "@checkpoint(k=2) while (a) [b = c] { b }", "while");
    check_expr_spans("handle f(x) with reverseMode", "handle f(x) with reverseMode", "handle");
    check_expr_spans("tensor<F32, [2]>(1.0)", "tensor<F32, [2]>(1.0)", "tensor");
    check_expr_spans("let x = 1 in x + 2", "let x = 1 in x + 2", "+");
    check_expr_spans("fn(x: F32) { x }", "fn(x: F32) { x }", "fn");
    check_expr_spans("( a , b )", "( a , b )", "( a , b )");
    parsed t;
    parse_text(&t, "fn f(x: tensor<F32, [N]>) -> F32 { sum(x) }\nlet y: F32 = g; y;");
    const item *items = t.prog.main.body->u.block.items;
    check_span(&t, items[0].at, "fn f(x: tensor<F32, [N]>) -> F32 { sum(x) }");
    check_span(&t, items[0].fn->at, "f");
    check_span(&t, items[0].fn->params[0].at, "x");
    check_span(&t, items[0].fn->params[0].type->at, "tensor<F32, [N]>");
    check_span(&t, items[0].fn->params[0].type->dims[0]->at, "N");
    check_span(&t, items[0].fn->body->at, "{ sum(x) }");
    check_span(&t, items[1].at, "let y: F32 = g;");
    check_span(&t, items[1].pattern->at, "y");
    check_span(&t, items[1].type->at, "F32");
    check_span(&t, items[2].at, "y;");
    parsed_close(&t);
}
END_TEST

/* ---- mistakes ---- */

typedef struct mistake {
    const char *words;
    error_code code;
    const char *at;       /* the text under the primary caret; "" for a place between tokens */
    const char *mentions; /* in the rendered message */
} mistake;

static const mistake mistakes[] = {
    {"let x = 3 $ + 4; x", ERROR_K0001, "$", "unexpected character"},
    {"a & b", ERROR_K0001, "&", "write `&&`"},
    {"a ^ b", ERROR_K0001, "^", "pow(x, y)"},
    {"# note\n3", ERROR_K0001, "#", "`//`"},
    {"/* note */ 3", ERROR_K0001, "/*", "`//`"},
    {"/* note", ERROR_K0002, "/*", "without its end"},
    {"let s\xC3\xA9 = 3; s\xC3\xA9 + s\xC3\xA9", ERROR_K0001, "s\xC3\xA9", "ASCII"},
    {"x \xE2\x88\x92 3", ERROR_K0001, "\xE2\x88\x92", "write `-`"},
    {"print('abc', 3)", ERROR_K0001, "'abc'", "quotes"},
    {"print(\"abc, 3);\nlet x = 3; x", ERROR_K0002, "\"abc, 3);", "closing"},
    {"print(\"a\\q\")", ERROR_K0006, "\\q", "escapes"},
    {"print(\"\\u{d800}\")", ERROR_K0006, "\\u", "escapes"},
    {"99999999999999999999", ERROR_K0003, "99999999999999999999", "64 bits"},
    {"1e309", ERROR_K0003, "1e309", "F64"},
    {"t.4294967296", ERROR_K0003, "4294967296", "tuple"},
    {"1.0f", ERROR_K0005, "f", "takes its type"},
    {"0x10", ERROR_K0005, "x10", "decimal"},
    {"64MiB", ERROR_K0005, "MiB", "after a number"},
    {"1. + 2", ERROR_K0005, "1.", "`1.0`"},
    {".5 + 1", ERROR_K0005, ".5", "`0.5`"},
    {"1e + 2", ERROR_K0005, "e", "exponent"},
    {"let x = ; x", ERROR_K0010, ";", "expected an expression, found `;`"},
    {"let x = 1 + ; x", ERROR_K0010, ";", "operand after `+`"},
    {"let 3 = x; x", ERROR_K0010, "3", "a name, `_` or a tuple"},
    {"let x == 3; x", ERROR_K0010, "==", "`==` compares"},
    {"let in = 3; 4", ERROR_K0010, "in", "found `in`"},
    {"fn f(x) { x }", ERROR_K0010, "x", "x: F32"},
    {"fn f(x: F32): F32 { x }", ERROR_K0010, ":", "`->`"},
    {"fn f(x: F32) F32 { x }", ERROR_K0010, "F32", "`->`"},
    {"fn f(x: F32) => F32 { x }", ERROR_K0010, "=", "`->`"},
    {"let f: fn(F32) = g; f", ERROR_K0010, "=", "`->`"},
    {"f(1, 2; x", ERROR_K0010, ";", "opened here"},
    {"f(a = = 2)", ERROR_K0010, "=", "expected an expression"},
    {"g((a = b))", ERROR_K0010, "=", "`==` compares"},
    {"x[]", ERROR_K0010, "]", "an index"},
    {"let a = 1 + let b = 2 in b; a", ERROR_K0010, "let", "parentheses"},
    {"let a = { 1 }; a", ERROR_K0010, "{", "a block stands only"},
    {"let a = 1 in let b = 2; a", ERROR_K0010, ";", "an `in` of its own"},
    {"if (c) { a } else { b } + 1", ERROR_K0010, "+", "parentheses"},
    {"let y = handle f(x) with reverseMode.0; y", ERROR_K0010, ".", "(handle ... with ...).0"},
    {"handle f(x) + 1 with reverseMode", ERROR_K0010, "+", "takes one call"},
    {"x ** 2", ERROR_K0010, "*", "pow(x, y)"},
    {"let a = not b; a", ERROR_K0010, "b", "write `!`"},
    {"let z = a and b; z", ERROR_K0010, "and", "write `&&`"},
    {"def f(x): x", ERROR_K0010, "f", "fn f(x: F32)"},
    {"tensor<F32>", ERROR_K0010, ">", "a bare `F32`"},
    {"tensor<F32, [2]>(1, 2)", ERROR_K0010, ",", "a list"},
    {"tape<F32>", ERROR_K0010, "tape", "`tape()`"},
    {"fn f(x: F32) { x };", ERROR_K0010, ";", "ends nothing"},
    {"fn f() -> F32 let x = 1.0; x }\nf()", ERROR_K0010, "let", "expected `{`"},
    {"if (c) a else { b }", ERROR_K0010, "a", "expected `{` before the branch"},
    {"if (c) { a } else b; d", ERROR_K0010, "b", "expected `{` after `else`"},
    {"a < b < c", ERROR_K0012, "<", "`a < b && b < c`"},
    {"a == b != c < d", ERROR_K0012, "!=", "`a == b && b != c`"},
    {"(x,)", ERROR_K0013, ",", "`(x)` is the value itself"},
    {"let (x,) = y; x", ERROR_K0013, "(x,)", "two values or more"},
    {"let x: (F32,) = y; x", ERROR_K0013, "(F32,)", "two values or more"},
    {"let x = 1\nlet y = 2;\nx + y", ERROR_K0014, "", "expected `;` or `in`"},
    {"f(x)\ng(y)", ERROR_K0014, "", "before this"},
    {"fn f() { let x = 1 }", ERROR_K0014, "", "after its last `;`"},
    {"let y = a\n@checkpoint(k=1) let r = while (c) [x = y] { x };\nr", ERROR_K0014, "",
     "before this"},
    {"if (c) { a }; b", ERROR_K0015, "", "without `else`"},
    {"if (c) { a } { b }", ERROR_K0015, "", "write `else`"},
    {"f((a, b)", ERROR_K0016, "(", "never closed"},
    {"fn f() { 1", ERROR_K0016, "{", "never closed"},
    {"fn f() -> I32 {\n    1\nfn g() -> I32 { 2 }\nf()", ERROR_K0016, "{", "missing before this"},
    {"let y = if (c) { a else { b }; y", ERROR_K0016, "{", "missing before this"},
    {"f(if (c) { a } else { b, 1)", ERROR_K0016, "{", "missing before this"},
    {"let x = 1; } x", ERROR_K0016, "}", "closes nothing"},
    {"let x = 1; ) x", ERROR_K0016, ")", "closes nothing"},
    {"x = 3; x", ERROR_K0017, "=", "not assigned"},
    {"x += 3; x", ERROR_K0017, "=", "not assigned"},
    {"@chekpoint(k=1) let r = x; r", ERROR_K0018, "chekpoint", "@checkpoint(...)"},
    {"@vjp(g) let r = x; r", ERROR_K0018, "@vjp(g)", "before the `fn`"},
    {"@checkpoint(k=1) fn f() { 1 }", ERROR_K0018, "@checkpoint(k=1)", "before a `while`"},
    {"for i in x { i }", ERROR_K0019, "for", "while (i < n)"},
    {"fn f() { return 3; }", ERROR_K0019, "return", "value"},
    {"import x; 3", ERROR_K0019, "import", "one file"},
    {"let r = while (c) [x = y] { break; x }; r", ERROR_K0019, "break", "condition"},
    {"fn f(x: float) { x }", ERROR_K0020, "float", "write `F32`"},
    {"fn f(x: tensor<f64, [2]>) { x }", ERROR_K0020, "f64", "write `F64`"},
    {"tensor<F32, [2], @gpu>", ERROR_K0021, "gpu", "@host"},
    {"handle f with reverseMode", ERROR_K0022, "f", "the call of a function"},
    {"handle f(x) with reversMode", ERROR_K0023, "reversMode", "did you mean `reverseMode`?"},
    {"while (a) && (b[0]) [x = 1] { x }", ERROR_K0024, "&&", "one pair of parentheses"},
    {"if (a) && b { 1 } else { 2 }", ERROR_K0024, "&&", "one pair of parentheses"},
    {"if a { 1 } else { 2 }", ERROR_K0024, "a", "expected `(`"},
    {"while a < b [x = 1] { x }", ERROR_K0024, "a", "expected `(`"},
    {"x.shape + 1", ERROR_K0025, "shape", "no fields"},
    {"let x: tensor<F32, [N/2]> = y; x", ERROR_K0026, "/", "not divided"},
    {"while (c) [] { 1 }", ERROR_K0027, "[]", "carries nothing"},
};

START_TEST(one_message_for_one_mistake) {
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        const mistake *m = &mistakes[i];
        parsed t;
        parse_text(&t, m->words);
        const char *shown = parsed_diagnostics(&t, false);
        ck_assert_msg(!t.ok && t.d.errors == 1, "%s: %u errors\n%s", m->words, t.d.errors, shown);
        const diag *e = t.d.first;
        ck_assert_msg(e->code == m->code, "%s\n%s", m->words, shown);
        int length = (int)(e->at.end - e->at.begin);
        const char *at = t.src.text + e->at.begin;
        bool there = (size_t)length == strlen(m->at) && memcmp(at, m->at, (size_t)length) == 0;
        ck_assert_msg(there, "%s: at `%.*s`\n%s", m->words, length, at, shown);
        ck_assert_msg(strstr(shown, m->mentions) != NULL, "%s: no `%s`\n%s", m->words, m->mentions,
                      shown);
        parsed_close(&t);
    }
}
END_TEST

START_TEST(independent_mistakes) {
    parsed t;
    parse_text(&t, "let a = ;\n"
                   "fn f(x F32) -> F32 { x + }\n"
                   "fn g(x: F32) -> F32 {\n"
                   "    let y = (x;\n"
                   "    let z = x +* 2;\n"
                   "    y < z < x\n"
                   "}\n"
                   "if (a { 1 } else { 2 };\n"
                   "g(1.0\n");
    ck_assert_msg(t.d.errors == 8, "%s", parsed_diagnostics(&t, false));
    parsed_close(&t);
}
END_TEST

START_TEST(any_bytes) {
    static const struct {
        const char *bytes;
        size_t length;
        const char *mentions;
    } cases[] = {
        {"let x = 3;\0 y", 13, "NUL"},   {"let x = 3; // \xE9\n", 16, "0xE9"},
        {"\xFF\xFEl\0e\0", 6, "UTF-16"}, {"x\xC0\xAF", 3, "0xC0"},
        {"x \xED\xA0\x80", 5, "0xED"},   {"x \xE2\x82", 4, "0xE2"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        parsed t;
        parsed_open(&t, cases[i].bytes, cases[i].length, 0);
        ck_assert_uint_eq(t.d.errors, 1);
        ck_assert_int_eq(t.d.first->code, ERROR_K0004);
        ck_assert_ptr_nonnull(strstr(parsed_diagnostics(&t, false), cases[i].mentions));
        parsed_close(&t);
    }
    parsed t;
    parse_text(&t, "\xEF\xBB\xBFlet x = 3;\r\nx");
    ck_assert(t.ok);
    parsed_close(&t);
}
END_TEST

/* ---- size ---- */

static size_t copy_words(char *to, const char *from) {
    size_t length = 0;
    for (; from[length] != '\0'; length++) to[length] = from[length];
    return length;
}

/* `count` times `part`, between two texts. */
static char *repeat(const char *before, const char *part, size_t count, const char *after) {
    char *out = malloc(strlen(before) + strlen(part) * count + strlen(after) + 1);
    ck_assert_ptr_nonnull(out);
    size_t length = copy_words(out, before);
    for (size_t i = 0; i < count; i++) length += copy_words(out + length, part);
    length += copy_words(out + length, after);
    out[length] = '\0';
    return out;
}

START_TEST(deep_nesting) {
    static const char *const parts[] = {
        "(",
        "[",
        "-",
        "!",
        "f(",
        "x[",
        "if (a) {",
        "fn() {",
        "fn f() {",
        "handle ",
        "if (",
        "let a = ",
        "f(k=",
        "while (",
        "while (x) [a = ",
        "@checkpoint(k=",
        "(a, ",
        "let a = b in (",
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char *words = repeat("", parts[i], 300000, "");
        parsed t;
        parse_text(&t, words);
        ck_assert_msg(t.d.errors == 1, "%s: %u", parts[i], t.d.errors);
        ck_assert_int_eq(t.d.first->code, ERROR_K0011);
        parsed_close(&t);
        free(words);
    }
    static const char *const inside[] = {"(", "tape<", "fn() -> ", "tensor<F32, [("};
    for (size_t i = 0; i < COUNT_OF(inside); i++) {
        char *words = repeat("let x: ", inside[i], i == 3 ? 1 : 300000, "((((");
        parsed t;
        parse_text(&t, words);
        ck_assert_uint_eq(t.d.errors, 1);
        parsed_close(&t);
        free(words);
    }
}
END_TEST

START_TEST(nesting_limit) {
    for (size_t depth = NESTING_MOST; depth <= NESTING_MOST + 1; depth++) {
        char *open = repeat("", "(", depth, "x");
        char *words = repeat(open, ")", depth, "");
        parsed t;
        parse_text(&t, words);
        ck_assert_int_eq(t.ok, depth == NESTING_MOST);
        parsed_close(&t);
        free(words);
        free(open);
    }
}
END_TEST

START_TEST(long_runs) {
    static const struct {
        const char *before, *part, *after;
    } runs[] = {
        {"", "let a = a + 1 in\n", "a"},
        {"", "let a = a + 1;\n", "a"},
        {"x", " + x", ""},
        {"x", " @ x", ""},
        {"x", ".f(1)", ""},
        {"x", "[0]", ""},
        {"x", ".0", ""},
        {"f", "()", ""},
        {"if (a) { 1 } ", "else if (b) { 2 } ", "else { 3 }"},
        {"f(0", ", 1", ")"},
        {"", "fn f() { 1 }\n", "f()"},
    };
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        char *words = repeat(runs[i].before, runs[i].part, 100000, runs[i].after);
        parsed t;
        parse_text(&t, words);
        ck_assert_msg(t.ok, "%s", runs[i].part);
        ck_assert_uint_gt(strlen(parsed_print(&t)), 100000);
        parsed_close(&t);
        free(words);
    }
}
END_TEST

/* ---- parse, print, parse ---- */

static void check_identity(const char *words, size_t length) {
    parsed first, second;
    parsed_open(&first, words, length, 0);
    if (!first.ok) {
        ck_assert_msg(first.d.errors > 0, "%.*s", (int)length, words);
        (void)parsed_diagnostics(&first, false);
        (void)parsed_diagnostics(&first, true);
        parsed_close(&first);
        return;
    }
    char *tree = strdup(parsed_tree(&first)), *print = strdup(parsed_print(&first));
    ck_assert(tree != NULL && print != NULL);
    parse_text(&second, print);
    ck_assert_msg(second.ok, "%s\n%s", print, parsed_diagnostics(&second, false));
    ck_assert_str_eq(parsed_tree(&second), tree);
    ck_assert_str_eq(parsed_print(&second), print);
    parsed_close(&first);
    parsed_close(&second);
    free(tree);
    free(print);
}

static const char *const programs[] = {
    "let f = fn(x: tensor<F32, [2, 2], @host>) -> tensor<F32, [2, 2], @host> {\n"
    "  let y = -x in\n  y\n} in\n"
    "let ad = fn(x: tensor<F32, [2, 2], @host>)\n"
    "  -> (tensor<F32, [2, 2], @host>, tensor<F32, [2, 2], @host>) {\n"
    "  handle f(x) with reverseMode\n} in\n"
    "let x = tensor<F32, [2, 2], @host> in\nad(x)\n",
    "fn absolute_val(x: tensor<F32, [D]>) -> tensor<F32, [D]> {\n"
    "  // pointwise comparison returns boolean tensor\n  let mask = x >= 0.0;\n"
    "  if (mask) {\n    x\n  } else {\n    -x\n  }\n}\n",
    "fn power_of_two(exponent: I32) -> tensor<F32, []> {\n"
    "  let initial_val = tensor<F32, [], @host>.broadcast([]); // 1.0\n  \n"
    "  let final_val = while (i < exponent) [val = initial_val, i = 0] {\n"
    "    let next_val = val * 2.0;\n    let next_i = i + 1;\n    (next_val, next_i)\n  };\n"
    "  \n  final_val\n}\n",
    "fn dense_loop(init: tensor<F32, [D]>, steps: I32) -> tensor<F32, [D]> {\n"
    "  @checkpoint(k=4)\n  let result = while (i < steps) [x = init, i = 0] {\n"
    "    let next_x = relu(x @ weight + bias);\n    (next_x, i + 1)\n  };\n  result\n}\n",
    "(if (c) { 1 } else { 2 }) + 3; (fn(x: F32) { x })(1.0); (let a = 1 in a) * 2;\n"
    "(handle f(x) with reverseMode).0; (while (c) [x = 1] { x }) + 1; (-5).f(); (-x)[0];\n"
    "(a + b) * c - (d - (e - f)); (a < b) == c; -(-5); !(a && b); (3).0; a.f().g(k=(1, 2));\n"
    "print(\"tab\\t quote\\\" \\u{1B} \xC3\xA9\"); if (a) { b; } else { }",
    "@vjp(bwd) fn f(x: F64) -> F64 { x }\n@checkpoint(memory=64MiB, k=auto, slots=3) let r =\n"
    "while (i < n) [x: F64 = x0, i = 0] { if (x > 1.0) { (x * 0.5, i + 1) } else if (x > 0.5) {\n"
    "(x * 0.25 + some_quite_long_name_of_a_value * another_quite_long_name_of_a_value, i + 1) } "
    "else\n"
    "{ (x, i + 1) } } in r[0:3:2, :, ::2, -1]",
};

START_TEST(identity) {
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        parsed t;
        parse_text(&t, programs[i]);
        ck_assert_msg(t.ok, "%s\n%s", programs[i], parsed_diagnostics(&t, false));
        parsed_close(&t);
        check_identity(programs[i], strlen(programs[i]));
    }
}
END_TEST

START_TEST(layout) {
    parsed t;
    parse_text(&t, programs[5]);
    ck_assert_str_eq(
        parsed_print(&t),
        "@vjp(bwd)\nfn f(x: F64) -> F64 { x }\n"
        "@checkpoint(memory=64MiB, k=auto, slots=3)\nlet r = while (i < n) [x: F64 = x0, i = 0] {\n"
        "    if (x > 1.0) {\n"
        "        (x * 0.5, i + 1)\n"
        "    } else if (x > 0.5) {\n"
        "        (x * 0.25 + some_quite_long_name_of_a_value * another_quite_long_name_of_a_value, "
        "i + "
        "1)\n"
        "    } else {\n"
        "        (x, i + 1)\n"
        "    }\n"
        "} in\n"
        "r[0:3:2, :, ::2, -1]\n");
    parsed_close(&t);
}
END_TEST

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Programs with pieces taken out, put in and moved, and bytes at random: no crash, no leak, an
 * error or an identity. */
START_TEST(damaged_programs) {
    static const char *const pieces[] = {
        "(",   ")",       "[",        "]",      "{",       "}",    ";",        ",",
        ":",   ".",       "=",        "<",      ">",       ">=",   "->",       "-",
        "@",   "\"",      "'",        "#",      "let ",    "in ",  "if (c) {", "} else {",
        "fn ", "handle ", "with ",    "while ", "tensor<", "tape", "1.5",      "64MiB",
        "x",   "\n",      "\xC3\xA9", "\x80",   "\t",      "/*",   "_",        "return ",
    };
    enum { ROOM = 2048 };
    char words[ROOM];
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 3000; round++) {
        const char *from = programs[next_random(&state) % COUNT_OF(programs)];
        size_t length = copy_words(words, from);
        for (int edit = 0; edit < 3; edit++) {
            size_t at = next_random(&state) % (length + 1), cut = next_random(&state) % 6;
            if (at + cut <= length) {
                memmove(words + at, words + at + cut, length - at - cut);
                length -= cut;
            }
            const char *piece = pieces[next_random(&state) % COUNT_OF(pieces)];
            size_t more = strlen(piece);
            memmove(words + at + more, words + at, length - at);
            copy_words(words + at, piece);
            length += more;
        }
        check_identity(words, length);
        length = next_random(&state) % 64;
        for (size_t i = 0; i < length; i++) words[i] = (char)(next_random(&state) % 128);
        check_identity(words, length);
    }
}
END_TEST

START_TEST(every_allocation_may_fail) {
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        bool done = false;
        for (uint64_t n = 1; !done; n++) {
            parsed t;
            parsed_open(&t, programs[i], strlen(programs[i]), n);
            done = t.ok;
            if (!done) ck_assert_int_ne(t.c.err.code, ERROR_NONE);
            if (done) (void)parsed_print(&t);
            parsed_close(&t);
        }
    }
    for (size_t i = 0; i < COUNT_OF(mistakes); i += 3) {
        for (uint64_t n = 1; n < 60; n++) {
            parsed t;
            parsed_open(&t, mistakes[i].words, strlen(mistakes[i].words), n);
            ck_assert(!t.ok);
            (void)parsed_diagnostics(&t, false);
            parsed_close(&t);
        }
    }
}
END_TEST

Suite *suite_parse(void);
Suite *suite_parse(void) {
    Suite *s = suite_create("parse");
    TCase *trees = tcase_create("trees");
    tcase_add_test(trees, operators);
    tcase_add_test(trees, lets_and_blocks);
    tcase_add_test(trees, statement_position);
    tcase_add_test(trees, types);
    tcase_add_test(trees, literals);
    tcase_add_test(trees, spans);
    suite_add_tcase(s, trees);
    TCase *wrong = tcase_create("mistakes");
    tcase_add_test(wrong, one_message_for_one_mistake);
    tcase_add_test(wrong, independent_mistakes);
    tcase_add_test(wrong, any_bytes);
    suite_add_tcase(s, wrong);
    TCase *size = tcase_create("size");
    tcase_set_timeout(size, 120);
    tcase_add_test(size, deep_nesting);
    tcase_add_test(size, nesting_limit);
    tcase_add_test(size, long_runs);
    suite_add_tcase(s, size);
    TCase *print = tcase_create("identity");
    tcase_set_timeout(print, 120);
    tcase_add_test(print, identity);
    tcase_add_test(print, layout);
    tcase_add_test(print, damaged_programs);
    tcase_add_test(print, every_allocation_may_fail);
    suite_add_tcase(s, print);
    return s;
}
