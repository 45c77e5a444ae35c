/* The checker: types of good programs, codes and places of bad ones, and what it writes into the
 * tree. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/parse_check.h"

/* ---- good programs: the type of the final expression ---- */

static const struct {
    const char *program, *type;
} good[] = {
    /* literals adopt what their context asks for, through the whole tree of operators */
    {"1", "I32"},
    {"2 * 3.0", "F32"},
    {"let b: F64 = -0.5; b", "F64"},
    {"let x: F64 = 1.0 / 3; x * 2 + 1", "F64"},
    {"let x: F64 = 2.0; 1 + 2.0 + x", "F64"},
    {"let x: F64 = 2.0; x * sqrt(2.0)", "F64"},
    {"let n: I64 = 3000000000; n + 1", "I64"},
    {"I64(3000000000)", "I64"},
    {"F64(0.1)", "F64"},
    {"sqrt(2)", "F32"},
    {"let x: F64 = 2.0; if (x > 0) { 0.0 } else { x }", "F64"},
    {"let x: tensor<F64, [2, 2]> = [[1, 2], [3, 4]]; x", "tensor<F64, [2, 2]>"},
    {"let x: tensor<F32, [0]> = []; x", "tensor<F32, [0]>"},
    {"let x: F64 = 1.0; [1, x, 2.5]", "tensor<F64, [3]>"},
    {"let x: F64 = 2.0; where(x > 0, x, 0)", "F64"},
    {"-2147483648", "I32"},
    {"(I64(4294967297), F64(1.0 / 3.0), F64([0.1, 2][0]), I64(-4294967297 + 1))",
     "(I64, F64, F64, I64)"},
    /* and through what hands the type on: branches, blocks, subscripts and builtins */
    {"if (true) { 1.0 } else { 2 }", "F32"},
    {"let x: F64 = 2.0; if (x > 0) { 2 } else { x }", "F64"},
    {"let x: F64 = 2.0; if (x > 0) { x } else if (x < -1) { let n = 3; 0.5 } else { 2 }", "F64"},
    {"let x: F64 = [0.5, 1.0][0]; [0.5, 1][1] * x", "F64"},
    {"let x: F64 = 2.0; (x * stop_gradient(0.5), copy(1) + x, x < sum([0.5]), [x, max([1, 2])])",
     "(F64, F64, Bool, tensor<F64, [2]>)"},
    {"let x: F64 = 2.0; (x * (let a = 1 in 0.5), (let a = 1 in let b = 2 in sin(1)) + x)",
     "(F64, F64)"},
    {"let x: F64 = 2.0; (x + stack((0.1, 2)), x + full([2], 1), where(x > 0, x, copy(2)))",
     "(tensor<F64, [2]>, tensor<F64, [2]>, F64)"},
    {"let x: F64 = 2.0; (x * ([0.1] @ [2]), x * einsum(\"i,i->\", [0.1], [2]), x * norm([3, 4]))",
     "(F64, F64, F64)"},
    {"let n: I64 = 5; (n * sum([1, 2]), n + take([1, 2], 1), n + pad([1], [[0, 1]], value=2))",
     "(I64, I64, tensor<I64, [2]>)"},
    /* dims */
    {"fn f(x: tensor<F32, [N, M]>, y: tensor<F32, [M, K]>) { x @ y }\n"
     "f(tensor<F32, [2, 3]>, tensor<F32, [3, 5]>)",
     "tensor<F32, [2, 5]>"},
    {"fn f(x: tensor<F32, [H, W]>) -> tensor<F32, [W*H]> { reshape(x, [H*W]) }\n"
     "f(tensor<F32, [2, 3]>)",
     "tensor<F32, [6]>"},
    {"fn f(x: tensor<F32, [2*N + 1]>, y: tensor<F32, [N]>) { y }\n"
     "f(tensor<F32, [7]>, tensor<F32, [3]>)",
     "tensor<F32, [3]>"},
    {"fn f(x: tensor<F32, [N]>, y: tensor<F32, [M]>) -> tensor<F32, [N + M]> { concat((x, y)) }\n"
     "f(tensor<F32, [2]>, tensor<F32, [3]>)",
     "tensor<F32, [5]>"},
    {"fn f(x: tensor<F32, [N]>, i: I32) { i + N } f(tensor<F32, [3]>, 2)", "I32"},
    {"fn f(x: tensor<F32, [N]>) { N + 1 } f(tensor<F32, [3]>)", "I64"},
    {"fn f(n: I32) -> tensor<F32, [N]> { zeros([n]) } f(3) + f(4)", "tensor<F32, [N]>"},
    {"fn f(n: I32) { zeros([n, 3]) } f(3)", "tensor<F32, [?, 3]>"},
    {"let x: tensor<F32, [N, 64]> = load(\"x.npy\"); x @ zeros([64, 3])", "tensor<F32, [N, 3]>"},
    {"let f: fn(tensor<F32, [?]>) -> tensor<F32, [?]> = fn(x: tensor<F32, [N]>) { x };\n"
     "f(tensor<F32, [2]>) + tensor<F32, [3]>",
     "tensor<F32, [3]>"},
    /* generic functions as values */
    {"fn id(x: tensor<F32, [N]>) { x } let g = id; (g(tensor<F32, [2]>), g(tensor<F32, [3]>))",
     "(tensor<F32, [2]>, tensor<F32, [3]>)"},
    {"fn apply(f: fn(tensor<F32, [N]>) -> tensor<F32, [M]>, x: tensor<F32, [N]>)\n"
     "  -> tensor<F32, [M]> { f(x) }\n"
     "fn twice(x: tensor<F32, [K]>) -> tensor<F32, [K*2]> { concat((x, x)) }\n"
     "(apply(twice, tensor<F32, [3]>), apply(sin, tensor<F32, [4]>))",
     "(tensor<F32, [6]>, tensor<F32, [4]>)"},
    {"fn f(x: F32) { fn(y: tensor<F32, [N]>) { x + y } } f(1.0)(tensor<F32, [3]>)",
     "tensor<F32, [3]>"},
    {"fn f(n: I32, x: tensor<F32, [N]>) -> F32 { if (n == 0) { sum(x) } else { f(n - 1, "
     "concat((x, x))) } } f(2, tensor<F32, [3]>)",
     "F32"},
    {"let a = fn(x: tensor<F32, [N]>) { fn(y: tensor<F32, [M]>) { sum(x) + sum(y) } };\n"
     "let b = fn(x: tensor<F32, [K]>) { fn(y: tensor<F32, [L]>) { sum(x) * sum(y) } };\n"
     "let c = if (true) { a } else { b }; c([1.0])([2.0, 3.0])",
     "F32"},
    /* order of definitions */
    {"let a = f(1.0); fn f(x: F32) { g(x) } fn g(x: F32) { x + 1.0 } a", "F32"},
    {"let b = 2.0; let a = f(1.0); fn f(x: F32) -> F32 { x + b } a", "F32"},
    {"fn even(n: I32) -> Bool { if (n == 0) { true } else { odd(n - 1) } }\n"
     "fn odd(n: I32) { if (n == 0) { false } else { even(n - 1) } } even(4)",
     "Bool"},
    {"fn sin(x: F32) -> F32 { x } sin(1.0)", "F32"},
    /* a branch whose dims only a run knows does not lend them to the other */
    {"fn f(x: tensor<F32, [N]>, y: tensor<F32, [M]>, i: I32) { if (i > 0) { x } else { y[0:i] } }\n"
     "f([1.0], [2.0], 1)",
     "tensor<F32, [?]>"},
    /* loops: how many values a context takes */
    {"while (i < 3) [s = 0.0, i = 0] { (s + 1.0, i + 1) }", "(F32, I32)"},
    {"let r = while (i < 3) [s = 0.0, i = 0] { (s, i + 1) }; r", "F32"},
    {"let (r, k) = while (i < 3) [s = 0.0, i = 0, t = true] { (s, i + 1, t) }; k", "I32"},
    {"let r: (F32, I32) = while (i < 3) [s = 0.0, i = 0, t = 1] { (s, i + 1, t) }; r",
     "(F32, I32)"},
    {"let r = if (true) { while (i < 3) [s = 0.0, i = 0] { (s, i + 1) } } else { 2.0 }; r", "F32"},
    {"sum(while (i < 3) [v = tensor<F32, [2]>, i = 0] { (v * 2.0, i + 1) })", "F32"},
    {"(while (i < 3) [s = 0.0, i = 0] { (s, i + 1) }, 1)", "(F32, I32)"},
    {"let x: F64 = 3.0; while (i < 3) [s = 0.0, i = 0] { (s + x, i + 1) }", "(F64, I32)"},
    {"let x: F64 = 3.0; while (i < 3) [s = 0.0, i = 0] { let t = s * 2.0; (t + x, i + 1) }",
     "(F64, I32)"},
    {"while (i < 3) [s: F64 = 0.0, i: I64 = 0] { (s * 2, i + 1) }", "(F64, I64)"},
    /* handlers */
    {"fn f(x: F32, n: I32, y: tensor<F32, [N]>) -> F32 { x + sum(y) }\n"
     "handle f(1.0, 2, tensor<F32, [3]>) with reverseMode",
     "(F32, F32, tensor<F32, [3]>)"},
    {"fn f(n: I32) -> F32 { F32(n) } handle f(3) with reverseMode", "F32"},
    {"handle sum(tensor<F64, [3]>) with reverseMode(seed = 2)", "(F64, tensor<F64, [3]>)"},
    {"handle sin(tensor<F64, [3]>) with forwardMode([1, 2, 3])",
     "(tensor<F64, [3]>, tensor<F64, [3]>)"},
    {"fn bwd(x: tensor<F64, [N]>, y: F64, ct: F64) -> tensor<F64, [N]> { x * ct }\n"
     "@vjp(bwd) fn s(x: tensor<F64, [M]>) -> F64 { sum(x) }\n"
     "handle s(tensor<F64, [3]>) with reverseMode",
     "(F64, tensor<F64, [3]>)"},
    /* conditionals */
    {"let x = tensor<F32, [3]>; if (x > 0.0) { x } else { -x }", "tensor<F32, [3]>"},
    {"if (1 < 2) { 1 } else if (true) { 2 } else { 3 }", "I32"},
    /* indexing */
    {"let x = tensor<F32, [3, 4]>; (x[0], x[-1, 1], x[1:3], x[::2, ::-1], x[2:0:-1], x[-2:])",
     "(tensor<F32, [4]>, F32, tensor<F32, [2, 4]>, tensor<F32, [2, 4]>, tensor<F32, [2, 4]>, "
     "tensor<F32, [2, 4]>)"},
    {"fn f(x: tensor<F32, [N]>, i: I32) { (x[i], x[0:i], x[1:], x[:], x[0:2]) }\n"
     "f(tensor<F32, [5]>, 2)",
     "(F32, tensor<F32, [?]>, tensor<F32, [?]>, tensor<F32, [5]>, tensor<F32, [2]>)"},
    /* builtins */
    {"let x = tensor<F32, [2, 3]>; (sum(x), sum(x, axis=-1), sum(x, axis=[0], keepdims=true))",
     "(F32, tensor<F32, [2]>, tensor<F32, [1, 3]>)"},
    {"(arange(5), eye(2, F64), zeros([2, 3]), ones([2], dtype=I32), full([], 2))",
     "(tensor<I32, [5]>, tensor<F64, [2, 2]>, tensor<F32, [2, 3]>, tensor<I32, [2]>, I32)"},
    {"let x = tensor<F32, [2, 3]>; (stack((x, x), axis=-1), concat((x, x), axis=1), "
     "expand_dims(x, -1), permute(x, [1, 0]), transpose(x), broadcast(x, [4, 2, 3]))",
     "(tensor<F32, [2, 3, 2]>, tensor<F32, [2, 6]>, tensor<F32, [2, 3, 1]>, tensor<F32, [3, 2]>, "
     "tensor<F32, [3, 2]>, tensor<F32, [4, 2, 3]>)"},
    {"let x = tensor<F32, [2, 3]>; (shape(x), dim(x, -1), rank(x), argmax(x, axis=1))",
     "(tensor<I64, [2]>, I64, I64, tensor<I64, [2]>)"},
    {"(one_hot([1, 2], 5), take([1.0, 2.0, 3.0], [2, 0]), random_normal(7, [2], F64))",
     "(tensor<F32, [2, 5]>, tensor<F32, [2]>, tensor<F64, [2]>)"},
    {"tensor<F32, []>.broadcast([]) + tensor<F32, [2, 2]>.reshape([4]).sum(axis=0)", "F32"},
    {"print(\"a\", 1, (2, 3.0)); assert(true, \"x\"); drop(tensor<F32, [2]>)", "()"},
    {"let (a, (b, _)) = (1, (2.0, true)); (b, a)", "(F32, I32)"},
    {"fn f(a: F32, b: I32) -> F32 { a } f(b = 1, a = 2)", "F32"},
};

/* Every expression that the later passes read has its type; names and calls are settled. */
static void walk(const expr *e);

static void walk_block(const expr *e) {
    for (int i = 0; i < e->u.block.count; i++) {
        const item *it = &e->u.block.items[i];
        if (it->kind == ITEM_FN) {
            ck_assert_ptr_nonnull(it->fn->type);
            walk(it->fn->body);
        } else {
            walk(it->value);
        }
    }
    if (e->u.block.tail != NULL) walk(e->u.block.tail);
}

static void walk_call(const expr *e) {
    walk(e->u.call.callee);
    const builtin_use *use = e->u.call.builtin;
    ck_assert((use != NULL) != (e->u.call.ordered != NULL));
    for (int i = 0; use != NULL && i < use->count; i++)
        if (use->args[i] != NULL) ck_assert_ptr_nonnull(use->args[i]->type);
    for (int i = 0; use != NULL && i < use->sizes; i++) {
        walk(use->size[i]);
        ck_assert(dtype_integer((dtype)use->size[i]->type->tensor.dtype));
    }
    for (int i = 0; use == NULL && i < e->u.call.count; i++) walk(e->u.call.ordered[i]);
}

static void walk(const expr *e) {
    ck_assert_ptr_nonnull(e->type);
    ck_assert_int_ne(e->type->kind, TYPE_ERROR);
    switch (e->kind) {
    case EXPR_NAME: ck_assert(e->u.name.symbol != NULL || e->u.name.is_builtin); break;
    case EXPR_LIST:
    case EXPR_TUPLE:
        for (int i = 0; i < e->u.list.count; i++) walk(e->u.list.items[i]);
        break;
    case EXPR_UNARY: walk(e->u.unary.a); break;
    case EXPR_BINARY:
        walk(e->u.binary.a);
        walk(e->u.binary.b);
        break;
    case EXPR_CALL: walk_call(e); break;
    case EXPR_INDEX: walk(e->u.index.base); break;
    case EXPR_PROJECT: walk(e->u.project.base); break;
    case EXPR_IF:
        walk(e->u.if_.condition);
        walk(e->u.if_.then);
        walk(e->u.if_.otherwise);
        break;
    case EXPR_WHILE:
        ck_assert_int_ge(e->u.while_.take, 1);
        for (int i = 0; i < e->u.while_.count; i++) {
            ck_assert_ptr_nonnull(e->u.while_.carries[i].symbol);
            walk(e->u.while_.carries[i].init);
        }
        walk(e->u.while_.condition);
        walk(e->u.while_.body);
        break;
    case EXPR_HANDLE: walk(e->u.handle.call); break;
    case EXPR_FN: walk(e->u.fn->body); break;
    case EXPR_BLOCK: walk_block(e); break;
    default: break;
    }
}

START_TEST(good_programs) {
    parsed t;
    parsed_open(&t, good[_i].program, strlen(good[_i].program), 0);
    ck_assert_msg(t.ok, "does not parse: %s", good[_i].program);
    bool checked = check_program(&t.prog, &t.d);
    ck_assert_msg(checked, "%s\n%s", good[_i].program, parsed_diagnostics(&t, false));
    text_clear(&t.out);
    type_print(t.prog.dims, t.prog.main.type->result, &t.out);
    ck_assert_str_eq(text_data(&t.out), good[_i].type);
    walk(t.prog.main.body);
    parsed_close(&t);
}
END_TEST

/* ---- bad programs: the errors' codes in source order, and words of the first message ---- */

static const struct {
    const char *program, *codes, *words;
} bad[] = {
    {"x", "K0101", "`x`"},
    {"fn f(weight: F32) -> F32 { wieght } f(1.0)", "K0101", "did you mean `weight`"},
    {"a + b", "K0101 K0101", "`a`"},
    {"fn f(x: F32, x: I32) { x } 1", "K0102", "two parameters"},
    {"fn f() { 1 } fn f() { 2 } 1", "K0102", "`f` twice"},
    {"let (a, a) = (1, 2); 1", "K0102", "twice"},
    {"while (a < 2) [a = 1, a = 2] { (a, a) }", "K0102", "twice"},
    {"let a = f(1.0); let b = 2.0; fn f(x: F32) -> F32 { x + b } a", "K0103", "`let b`"},
    {"let a = f(1.0); let b = 2.0; fn f(x: F32) { x + b } a", "K0103", "`let b`"},
    {"let a = f(); let b = 2.0; fn f() -> F32 { g() } fn g() -> F32 { b } a", "K0103", "`f`"},
    {"let n = 3; tensor<F32, [n]>", "K0104", "`n` is a value"},
    {"fn f(a: F32) { a } f(b = 1.0)", "K0105", "`b`"},
    {"sum([1.0], ax=0)", "K0105", "`ax`"},
    {"fn f(a: F32, b: F32) { a } f(1.0)", "K0106", "takes 2 arguments, not 1"},
    {"fn f(a: F32, b: F32) { a } f(1.0, a=2.0)", "K0106", "given twice"},
    {"sin(1.0, 2.0)", "K0106", "too many"},
    {"pow(1.0)", "K0106", "needs `y`"},
    {"@checkpoint(k=4) let x = 3; x", "K0107", "rules a loop"},
    {"let f = sin; f(1.0)", "K0108", "`sin`"},
    {"let x: F64 = 1.0; let y: F32 = 1.0; x + y", "K0201", "F64 and F32"},
    {"let x: F32 = true; x", "K0201", "must be `F32`, not `Bool`"},
    {"fn f(x: F32) -> F32 { x; } f(1.0)", "K0201", "ends in `;`"},
    {"fn f(x: F64) { x } let y: F32 = 1.0; f(y)", "K0201", "the argument for `x` of `f`"},
    {"-true", "K0202", "`-`"},
    {"(1, 2) + 3", "K0202", "(I32, I32)"},
    {"let x = 3; x + fn() { 1 }", "K0202", "fn() -> I32"},
    {"3000000000", "K0203", "does not fit I32"},
    {"1e39", "K0203", "does not fit F32"},
    {"let x: I64 = 9223372036854775808; x", "K0203", "does not fit I64"},
    {"let x = 3.0; x(2)", "K0204", "not a function"},
    {"fn f(n: I32) { f(n) } f(1)", "K0205", "calls itself"},
    {"if (1) { 1 } else { 2 }", "K0206", "Bool"},
    {"if ([true, false]) { 1 } else { 2 }", "K0206", "any"},
    {"while ([true]) [i = 0] { i }", "K0206", "any"},
    {"if (true) { 1 } else { (2, 3) }", "K0207", "different types"},
    {"let n = 2; if (true) { 1.0 } else { n }", "K0207", "different types"},
    {"while (i < 3) [s = 0.0, i = 0] { s }", "K0208", "1 value for 2"},
    {"while (i < 3) [i = 0] { i + 1; }", "K0208", "0 values for 1"},
    {"let x = 1.0; while (i < 3) [y = x, i = 0] { (i, i) }", "K0208", "the next `y`"},
    {"fn f(x: F32) -> I32 { 1 } handle f(1.0) with reverseMode", "K0209", "`f`"},
    {"fn f(x: F32) { (x, x) } handle f(1.0) with reverseMode", "K0209", "(F32, F32)"},
    {"fn f(x: (F32, I32)) { x.0 } handle f((1.0, 2)) with reverseMode", "K0209", "`f`"},
    {"handle sin(1.0) with reverseMode(wrt = 1)", "K0210", "`wrt`"},
    {"handle sin(1.0) with forwardMode()", "K0210", "1 tangent"},
    {"fn b(x: F64) { x } @vjp(b) fn f(x: F64) -> F64 { x } 1", "K0211", "`b`"},
    {"let (a, b) = (1, 2, 3); 1", "K0212", "2 names"},
    {"load(\"x.npy\")", "K0213", "load"},
    {"[]", "K0213", "empty list"},
    {"let k = 1; sum([1.0], axis=k)", "K0214", "axis"},
    {"(1, 2).2", "K0215", "position 2"},
    {"(while (i < 3) [s = 1, i = 0] { (s, i) }).1", "K0215", "let (a, b) = while"},
    {"let s = \"a\"; 1", "K0216", "string"},
    {"@checkpoint(k=0) let x = while (i < 3) [i = 0] { i + 1 }; x", "K0217", "at least 1"},
    {"@checkpoint(slot=2) let x = while (i < 3) [i = 0] { i + 1 }; x", "K0217", "`slots`"},
    {"fn f(a: tensor<F32, [B]>, b: tensor<F32, [D]>) { a + b } 1", "K0301", "`B` and `D`"},
    {"fn f(x: tensor<F32, [N]>, y: tensor<F32, [N]>) { x } f([1.0], [1.0, 2.0])", "K0301",
     "`N` is `1`"},
    {"tensor<F32, [2, 3]> @ tensor<F32, [4, 2]>", "K0301", "`3` and `4`"},
    {"fn f(x: tensor<F32, [N]>) { x + tensor<F32, [1]> + tensor<F32, [3]> } 1", "K0301", "`N`"},
    {"tensor<F32, [2]>[0, 0]", "K0302", "2 subscripts"},
    {"sum(tensor<F32, [2]>, axis=1)", "K0303", "axis 1"},
    {"permute(tensor<F32, [2, 3]>, [0, 0])", "K0303", "twice"},
    {"tensor<F32, [2]>[2]", "K0304", "index 2"},
    {"tensor<F32, [2]>[1:3]", "K0304", "index 3"},
    {"tensor<F32, [2]>[::0]", "K0304", "step"},
    {"reshape(tensor<F32, [2, 3]>, [5])", "K0305", "`6`"},
    {"fn f(x: tensor<F32, [N + 1]>) { x } 1", "K0306", "`N`"},
    {"fn f(g: fn(F32) -> tensor<F32, [M]>, i: I32) -> tensor<F32, [M]> { g(1.0)[0:i] } 1", "K0306",
     "cannot be checked"},
    {"fn f(g: fn(F32) -> tensor<F32, [M]>) { M } 1", "K0306", "no value"},
    {"sum([1.0], axis=-9223372036854775808)", "K0303", "axis"},
    {"fn f(x: tensor<F32, [?]>) { x } 1", "K0307", "`?`"},
    {"fn f(x: tensor<F32, [N]>) -> tensor<F32, [N - 5]> { x[5:] } f([1.0])", "K0307", "-4"},
    {"[[1, 2], [3]]", "K0308", "one shape"},
    {"max(tensor<F32, [2, 0]>, axis=1)", "K0309", "size 0"},
    {"fn b(x: F64, y: F64, c: F64) { c } @vjp(b) fn f(x: F64) -> F64 { x }\n"
     "handle f(1.0) with forwardMode(1.0)",
     "K0702", "`f`"},
    {"fn f(x: F32) -> F32 { sum(x * x) }\n"
     "fn ad(x: F32) -> (F32, F64) { handle f(x) with reverseMode } 1",
     "K0201", "position 1"},
    /* a value that is not () ends in `;` or in the block's end */
    {"if (true) { 1 } else { 2 } 5", "K0014", "`let _ = ...`"},
    {"fn f(x: F32) { x * x }\nhandle f(2.0) with reverseMode\n3.0", "K0014", "(F32, F32)"},
    {"while (x < 3.0) [x = 0.0] { x + 1.0 } - 3.0", "K0014", "ends here"},
    {"fn f(c: Bool) -> F32 { if (c) { 1.0 } else { 2.0 } fn() { 1 } -3.0 } 1", "K0014 K0014",
     "let _"},
    /* names of a block that mean something else to the literals in it */
    {"let x: F64 = 2.0; x + (let sin = fn(y: F32) { y } in sin(0.5))", "K0201", "F64 and F32"},
    {"let x: F64 = 2.0; x + (let a = 0.5 in a)", "K0201", "F64 and F32"},
    {"let x: F64 = 2.0; x + F32(0.5)", "K0201", "F64 and F32"},
    /* dims beyond 64 bits; those with names stay what they are */
    {"fn f(x: tensor<F32, [65536*65536*65536*65536]>) { x } 1", "K0310", "overflow"},
    {"zeros([2, 9223372036854775807 + 1])", "K0310", "overflow"},
    {"fn f(x: tensor<F32, [0 - 4294967296*4294967296 + 3]>) { x } 1", "K0310", "overflow"},
    {"fn f(x: tensor<F32, [D + 1]>) -> I64 { D } f([1.0])", "K0306", "only inside arithmetic"},
    {"fn f(x: tensor<F32, [D + 1]>, g: fn(tensor<F32, [D]>) -> F32) { D } 1", "K0306",
     "stands alone in function types only"},
    {"7.5 % 2.0", "K0202", "`mod(x, y)`"},
    /* one mistake is reported once, and independent ones all */
    {"let a = nowhere; let b = a + 1.0; let c = sum(b)[0]; c", "K0101", "nowhere"},
    {"fn f() { nowhere } let x: Bool = 1; -true", "K0101 K0201 K0202", "nowhere"},
};

static void codes_of(const diagnostics *d, char *out, size_t room) {
    size_t length = 0;
    const diag *previous = NULL;
    out[0] = '\0';
    for (;;) {
        const diag *next = NULL;
        for (const diag *e = d->first; e != NULL; e = e->next) {
            bool after = previous == NULL || e->at.begin > previous->at.begin;
            if (!e->warning && after && (next == NULL || e->at.begin < next->at.begin)) next = e;
        }
        if (next == NULL || length + 8 > room) return;
        length += (size_t)snprintf(out + length, room - length, "%s%s", length > 0 ? " " : "",
                                   error_code_name(next->code));
        previous = next;
    }
}

START_TEST(bad_programs) {
    parsed t;
    char codes[80];
    parsed_open(&t, bad[_i].program, strlen(bad[_i].program), 0);
    ck_assert_msg(t.ok, "does not parse: %s", bad[_i].program);
    ck_assert_msg(!check_program(&t.prog, &t.d), "accepted: %s", bad[_i].program);
    codes_of(&t.d, codes, sizeof codes);
    const char *shown = parsed_diagnostics(&t, false);
    ck_assert_msg(strcmp(codes, bad[_i].codes) == 0, "%s\n%s", bad[_i].program, shown);
    ck_assert_msg(strstr(shown, bad[_i].words) != NULL, "%s\n%s", bad[_i].program, shown);
    parsed_close(&t);
}
END_TEST

/* ---- warnings ---- */

static const struct {
    const char *program, *code; /* NULL: none */
} warned[] = {
    {"fn f(x: F32) -> F32 { let u = 3.0; x } f(1.0)", "W0101"},
    {"fn f(x: F32) -> F32 { let u = 3.0; let u = x; u } f(1.0)", "W0102"},
    {"fn f(x: F32, y: F32) -> F32 { x } handle f(1.0, 2.0) with reverseMode", "W0103"},
    {"fn f(x: F32) -> F32 { let _u = 3.0; x } f(1.0)", NULL},
    {"fn f(x: F32) -> F32 { let (u, v) = (x, x); v } f(1.0)", NULL},
    {"fn f(x: F32) -> F32 { let x = x + 1.0; let x = x * 2.0; x } f(1.0)", NULL},
    {"let x = 1.0; let y = 2.0; 3", NULL},
};

START_TEST(warnings) {
    parsed t;
    parsed_open(&t, warned[_i].program, strlen(warned[_i].program), 0);
    ck_assert(t.ok && check_program(&t.prog, &t.d));
    ck_assert_uint_eq(t.d.warnings, warned[_i].code != NULL);
    if (warned[_i].code != NULL)
        ck_assert_str_eq(error_code_name(t.d.first->code), warned[_i].code);
    parsed_close(&t);
}
END_TEST

/* ---- what later passes read ---- */

static const expr *checked_tail(parsed *t, const char *words) {
    parsed_open(t, words, strlen(words), 0);
    ck_assert(t->ok && check_program(&t->prog, &t->d));
    return t->prog.main.body->u.block.tail;
}

START_TEST(attributes_of_builtins) {
    parsed t;
    const expr *e = checked_tail(&t, "sum(tensor<F32, [2, 3, 4]>, keepdims=true, axis=[0, -1])");
    const builtin_use *use = e->u.call.builtin;
    ck_assert(use->is_op && use->op == OP_sum);
    ck_assert_uint_eq(use->attrs.axes, 5);
    ck_assert(use->attrs.keepdims);
    parsed_close(&t);
    use = checked_tail(&t, "reshape(tensor<F32, [6]>, [2, 3])")->u.call.builtin;
    ck_assert_int_eq(use->sizes, 2);
    ck_assert_uint_eq(use->attrs.rank, 2);
    parsed_close(&t);
    use = checked_tail(&t, "transpose(tensor<F32, [2, 3]>)")->u.call.builtin;
    ck_assert(!use->is_op && use->builtin == BUILTIN_transpose);
    ck_assert_uint_eq(use->attrs.perm[0], 1);
    parsed_close(&t);
    use = checked_tail(&t, "concat((tensor<F32, [1, 2]>, tensor<F32, [3, 2]>))")->u.call.builtin;
    ck_assert_int_eq(use->count, 2);
    ck_assert_int_eq(use->args[1]->kind, EXPR_TENSOR);
    parsed_close(&t);
    use = checked_tail(&t, "eye(3, F64)")->u.call.builtin;
    ck_assert_uint_eq(use->attrs.dtype, DT_F64);
    parsed_close(&t);
}
END_TEST

START_TEST(dims_bind_where_they_stand_alone) {
    parsed t;
    checked_tail(&t, "fn f(x: tensor<F32, [N + 1]>, y: tensor<F32, [N, N]>) { N } 1");
    const fn_decl *f = program_find(&t.prog, "f");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_null(program_find(&t.prog, "g"));
    const expr *sum = f->params[0].type->dims[0], *const *square =
                                                      (const expr *const *)f->params[1].type->dims;
    ck_assert(!sum->u.binary.a->u.name.binds);
    ck_assert(square[0]->u.name.binds && !square[1]->u.name.binds);
    ck_assert_ptr_eq(square[0]->u.name.symbol, sum->u.binary.a->u.name.symbol);
    ck_assert_ptr_eq(square[0]->u.name.symbol->owner, f);
    ck_assert_int_eq(f->type->generic_count, 1);
    parsed_close(&t);
}
END_TEST

START_TEST(loops_and_masks_are_marked) {
    parsed t;
    const expr *e = checked_tail(&t, "let x = tensor<F32, [2]>; if (x > 0.0) { x } else { -x }");
    ck_assert(e->u.if_.mask);
    parsed_close(&t);
    checked_tail(&t, "@checkpoint(k=2) let (a, b) = while (i < 3) [i = 0, j = 1, k = 2] "
                     "{ (i + 1, j, k) }; a");
    const expr *loop = t.prog.main.body->u.block.items[0].value;
    ck_assert_int_eq(loop->u.while_.take, 2);
    ck_assert_ptr_nonnull(loop->u.while_.checkpoint);
    parsed_close(&t);
}
END_TEST

/* ---- what a program of many parts costs ---- */

static char *repeated(const char *head, const char *part, int count, const char *tail) {
    size_t each = strlen(part), length = strlen(head);
    char *code = malloc(length + each * (size_t)count + strlen(tail) + 1);
    ck_assert_ptr_nonnull(code);
    memcpy(code, head, length);
    for (int i = 0; i < count; i++, length += each) memcpy(code + length, part, each);
    memcpy(code + length, tail, strlen(tail) + 1);
    return code;
}

static void check_quickly(const char *head, const char *part, int count, const char *tail) {
    parsed t;
    char *code = repeated(head, part, count, tail);
    parsed_open(&t, code, strlen(code), 0);
    ck_assert(t.ok);
    int64_t start = monotonic_nanoseconds();
    bool checked = check_program(&t.prog, &t.d);
    int64_t took = monotonic_nanoseconds() - start;
    ck_assert_msg(checked, "%s%s...\n%s", head, part, parsed_diagnostics(&t, false));
    ck_assert_int_lt(took, INT64_C(3000000000));
    parsed_close(&t);
    free(code);
}

/* On a stack of its own, since calls in calls take some. */
static void *check_chains(void *nothing) {
    (void)nothing;
    check_quickly("let x = [1.0]; x", ".relu()", 20000, "");
    check_quickly("let x: F64 = 2.0; x * 0.5", ".relu()", 20000, "");
    check_quickly("0.5", ".maximum(0.25).copy()", 10000, "");
    check_quickly("let x: F64 = 2.0; x * (0.5", " + sin(0.5)", 20000, ")");
    check_quickly("let x: F64 = 2.0; x * (", "let a = 1 in ", 50000, "0.5)");
    return NULL;
}

START_TEST(long_chains) {
    pthread_t thread;
    pthread_attr_t attributes;
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, (size_t)1 << 30), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, check_chains, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}
END_TEST

START_TEST(rules_have_few_parameters) {
    enum { ROOM = 2000 };
    for (int count = 100; count <= 101; count++) {
        char code[5 * ROOM], params[ROOM], results[ROOM], cotangents[ROOM];
        int p = 0, r = 0, k = 0;
        for (int i = 0; i < count; i++) {
            const char *comma = i > 0 ? ", " : "";
            p += snprintf(params + p, sizeof params - (size_t)p, "%sp%d: F32", comma, i);
            r += snprintf(results + r, sizeof results - (size_t)r, "%sF32", comma);
            k += snprintf(cotangents + k, sizeof cotangents - (size_t)k, "%sc", comma);
        }
        snprintf(code, sizeof code,
                 "fn b(%s, r: F32, c: F32) -> (%s) { (%s) }\n@vjp(b) fn f(%s) -> F32 { p0 }\n1",
                 params, results, cotangents, params);
        parsed t;
        parsed_open(&t, code, strlen(code), 0);
        ck_assert(t.ok);
        ck_assert_int_eq(check_program(&t.prog, &t.d), count == 100);
        if (count > 100) {
            ck_assert_str_eq(error_code_name(t.d.first->code), "K0211");
            ck_assert_ptr_nonnull(strstr(t.d.first->message, "at most 100 parameters, not 101"));
        }
        parsed_close(&t);
    }
}
END_TEST

/* ---- out of memory ---- */

static const char *const tight =
    "fn f(x: tensor<F32, [N, M]>, w: tensor<F32, [M, M]>, n: I32) -> F32 {\n"
    "  let h = while (i < n) [h = x, s = 0.0, i = 0] { (tanh(h @ w), s + 1.0, i + 1) };\n"
    "  let c = if (n > 3) { h } else { h * 2.0 };\n"
    "  let g = fn(y: tensor<F32, [K, M]>) { sum(y, axis=-1) };\n"
    "  if (n > 4) { print(n); } else { h }\n"
    "  let d: F64 = F64(s) * (let (one, two) = (1, 2) in sum([0.5, 1]));\n"
    "  sum(g(reshape(concat((c, c)), [2*N, M])))\n"
    "}\n"
    "fn bad(a: tensor<F32, [B]>, b: tensor<F32, [D]>) { let u = 1; a + b * nowhere }\n"
    "let (y, a, b) = handle f(tensor<F32, [2, 3]>, tensor<F32, [3, 3]>, 4) with reverseMode;\n"
    "f(a, b, y)\n";

START_TEST(every_failing_allocation) {
    uint64_t requests = 1;
    for (uint64_t fail_at = 0; fail_at <= requests; fail_at++) {
        parsed t;
        parsed_open(&t, tight, strlen(tight), fail_at);
        bool good_text = t.ok && check_program(&t.prog, &t.d);
        ck_assert(!good_text);
        if (fail_at == 0) requests = t.c.mem.requests;
        ck_assert(t.d.errors > 0 || t.c.err.code != ERROR_NONE);
        parsed_close(&t);
    }
}
END_TEST

Suite *suite_check(void);
Suite *suite_check(void) {
    Suite *suite = suite_create("check");
    TCase *cases = tcase_create("check");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, good_programs, 0, (int)COUNT_OF(good));
    tcase_add_loop_test(cases, bad_programs, 0, (int)COUNT_OF(bad));
    tcase_add_loop_test(cases, warnings, 0, (int)COUNT_OF(warned));
    tcase_add_test(cases, attributes_of_builtins);
    tcase_add_test(cases, dims_bind_where_they_stand_alone);
    tcase_add_test(cases, loops_and_masks_are_marked);
    tcase_add_test(cases, long_chains);
    tcase_add_test(cases, rules_have_few_parameters);
    tcase_add_test(cases, every_failing_allocation);
    suite_add_tcase(suite, cases);
    return suite;
}
