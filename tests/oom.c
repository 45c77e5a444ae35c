/* Every allocation failing once: parse, check, run and differentiate several programs with the n-th request
 * for memory refused, for every n until the whole goes through. Each failure is one clear error, leaves the
 * context usable, and leaves no live byte behind. */
#include <stdio.h>
#include <string.h>

#include "interp/derive.h"
#include "interp/engine.h"
#include "interp/gradcheck.h"
#include "interp/input.h"
#include "interp/mlir.h"
#include "interp/workspace.h"
#include "kernels/kernel.h"
#include "runtime/threads.h"

typedef struct program_text {
    const char *name, *text;
} program_text;

static const program_text programs[] = {
    {"straight", "fn f(x: tensor<F64, [3]>, y: F64) -> F64 { sum(tanh(x * y) + exp(x)) }\n"
                 "let x = tensor<F64, [3]>([0.5, -1.0, 2.0]);\n"
                 "let y: F64 = 1.5;\n"
                 "handle f(x, y) with reverseMode\n"},
    {"loop", "fn step(x: tensor<F64, [B, D]>, w: tensor<F64, [D, D]>) -> tensor<F64, [B, D]> { relu(x @ w) }\n"
             "fn f(x0: tensor<F64, [B, D]>, w: tensor<F64, [D, D]>, n: I32) -> F64 {\n"
             "  let r = while (i < n) [x = x0, i = 0] { (step(x, w), i + 1) };\n"
             "  sum(r * r)\n"
             "}\n"
             "let x = tensor<F64, [2, 2]>([[0.5, 1.0], [0.2, -0.8]]);\n"
             "let w = tensor<F64, [2, 2]>([[0.6, -0.2], [0.4, 0.7]]);\n"
             "handle f(x, w, 3) with reverseMode\n"},
    {"branches", "fn f(x: F64) -> F64 {\n"
                 "  let v = while (i < 6) [v = x, i = 0] {\n"
                 "    (if (v > 1.0) { 0.5 * v } else { v + v * v }, i + 1)\n"
                 "  };\n"
                 "  v\n"
                 "}\n"
                 "let x: F64 = 0.7;\n"
                 "handle f(x) with reverseMode\n"},
    {"nested", "fn f(x: tensor<F64, [2]>) -> F64 { sum(exp(x) * x) + x[0] * x[1] }\n"
               "fn g(x: tensor<F64, [2]>) -> tensor<F64, [2]> { let (y, d) = handle f(x) with reverseMode; d }\n"
               "fn h(x: tensor<F64, [2]>) -> F64 { sum(g(x) * g(x)) }\n"
               "let x = tensor<F64, [2]>([0.5, -1.0]);\n"
               "let v = tensor<F64, [2]>([2.0, 3.0]);\n"
               "(handle g(x) with forwardMode(v), handle h(x) with reverseMode)\n"},
    {"gather", "fn f(x: tensor<F32, [4, 3]>, t: tensor<I32, [4]>) -> F32 {\n"
               "  cross_entropy(x, t) + sum(take(x, [0, 2, 2], axis=0)) + max(x[1:3, :])\n"
               "}\n"
               "let x = tensor<F32, [4, 3]>(0.5);\n"
               "handle f(x, [0, 1, 2, 1]) with reverseMode\n"},
    {"closures", "let w = tensor<F64, [2]>([1.0, 2.0]);\n"
                 "fn scaled(k: F64) -> fn(tensor<F64, [2]>) -> F64 { fn(x: tensor<F64, [2]>) -> F64 { sum(x * w) * k } }\n"
                 "fn bwd(x: F64, y: F64, ct: F64) -> F64 { 3.0 * ct }\n"
                 "@vjp(bwd) fn ident(x: F64) -> F64 { x }\n"
                 "fn f(x: tensor<F64, [2]>, k: F64) -> F64 { ident(scaled(k)(x)) * k }\n"
                 "let k: F64 = 4.0;\n"
                 "let (a, b) = (w * 2.0, [k, k]);\n"
                 "handle f(a + b, k) with reverseMode\n"},
    {"derivatives", "fn f(x: tensor<F64, [N]>, w: F64) -> F64 { sum(x * x * x) * w }\n"
                    "fn g(x: tensor<F64, [N]>) -> tensor<F64, [N]> { x * sum(x) }\n"
                    "let x = tensor<F64, [2]>([0.5, -1.0]);\n"
                    "let w: F64 = 2.0;\n"
                    "(grad(f)(x, w), vjp(f)(x, w, w), jvp(f)(x, w, x, w), hvp(f)(x, w, x, w), jacobian(g)(x),\n"
                    " hessian(f)(x, w), jacobian(jacobian(g))(x), handle f(x, w) with reverseMode(wrt=w, strong_zero=true))\n"},
    {"batches", "@vjp(bwd) @jvp(fwd) fn cube(x: tensor<F64, [2]>) -> tensor<F64, [2]> { x * x * x }\n"
                "fn bwd(x: tensor<F64, [2]>, y: tensor<F64, [2]>, d: tensor<F64, [2]>) -> tensor<F64, [2]> { x * d }\n"
                "fn fwd(x: tensor<F64, [2]>, t: tensor<F64, [2]>) -> tensor<F64, [2]> { x * t }\n"
                "let a: tensor<F64, [2, 2]> = [[2.0, 1.0], [0.5, 3.0]];\n"
                "fn f(x: tensor<F64, [2]>) -> tensor<F64, [2]> { solve(a, cube(x)) * take(x, [1, 1]) + a @ x * x[0] }\n"
                "fn g(x: tensor<F64, [2]>) -> tensor<F64, [3]> { concat((f(x), x[1:])) }\n"
                "let x: tensor<F64, [2]> = [0.5, -1.0];\n"
                "(jacobian(f)(x), jacobian(g)(x))\n"},
    {"checkpoints", "fn f(x: tensor<F64, [2]>, a: F64, n: I32) -> F64 {\n"
                    "  @checkpoint(k=2) let (r, s) = while (i < n) [r = x * 1.0, s = a, i = 0] {\n"
                    "    @checkpoint(slots=2) let q = while (j < 3) [q = r * s, j = 0] {\n"
                    "      (if (sum(q) > 0.5) { tanh(q) } else { sin(q) + 0.1 * x }, j + 1)\n"
                    "    };\n"
                    "    (q * 0.9, 0.5 * s + sum(q), i + 1)\n"
                    "  };\n"
                    "  sum(r) * s\n"
                    "}\n"
                    "fn g(x: tensor<F64, [2]>) -> tensor<F64, [2]> {\n"
                    "  let a: F64 = 0.5;\n"
                    "  let (y, dx, da) = handle f(x, a, 5) with reverseMode;\n"
                    "  dx\n"
                    "}\n"
                    "let x = tensor<F64, [2]>([0.5, -0.3]);\n"
                    "let t = tensor<F64, [2]>([1.0, 2.0]);\n"
                    "let a: F64 = 0.5;\n"
                    "(handle f(x, a, 5) with reverseMode, handle g(x) with forwardMode(t))\n"},
    {"composites", "fn f(x: tensor<F64, [2, 3]>) -> F64 {\n"
                   "  let (a, b) = split(pad(x, [[0, 0], [0, 1]], value=sum(x)), 2, axis=1);\n"
                   "  let (v, _) = top_k(cumprod(logcumsumexp(x)), 2);\n"
                   "  let e = einsum(\"ij,kj,ii->ik\", x, sort(x), tile(a, [1, 1]));\n"
                   "  sum(roll(flip(e, 0), 1, 1)) + std(cummax(v)) + norm(cumsum(b)) + trace(tril(diag(diag(e))))\n"
                   "}\n"
                   "handle f([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]) with reverseMode\n"},
    {"tapes", "fn f(x0: tensor<F64, [2]>, n: I32) -> F64 {\n"
              "  let (x, t, _) = while (i < n) [x = x0, t: tape<(tensor<F64, [2]>, F64)> = tape(), i = 0] {\n"
              "    (x * 1.5, if (i == 1) { t } else { push(t, (x, sum(x))) }, i + 1)\n"
              "  };\n"
              "  print(t);\n"
              "  let (s, _) = while (!is_empty(t)) [s = sum(x), t = t] {\n"
              "    let (t, (y, k)) = pop(t);\n"
              "    (s * k + sum(y), t)\n"
              "  };\n"
              "  s\n"
              "}\n"
              "let x = tensor<F64, [2]>([0.5, -0.3]);\n"
              "let kept = push(push(tape(), x), x * 2.0);\n"
              "let (_, y) = pop(kept);\n"
              "(handle f(y, 4) with reverseMode, handle f(x, 3) with forwardMode(y))\n"},
    {"wrong", "fn f(x: tensor<F32, [A]>, y: tensor<F32, [B]>) -> F32 { sum(x + y) + undefined_name }\n"
              "let z = [1.0, 2.0] @ [1.0, 2.0, 3.0];\n"
              "f(z)\n"},
};

/* Written as MLIR, not run. */
static const program_text to_mlir = {
    "mlir",
    "fn twice(f: fn(tensor<F32, [3]>) -> tensor<F32, [3]>, x: tensor<F32, [3]>) -> tensor<F32, [3]> { f(f(x)) }\n"
    "fn f(x: tensor<F32, [B, 3]>, w: tensor<F32, [3, 3]>, n: I32) -> (F32, tensor<F32, [B, 3]>) {\n"
    "  let (y, t, _) = while (i < n && sum(x) > 0.0) [y = x, t: tape<tensor<F32, [B, 3]>> = tape(), i = 0] {\n"
    "    (tanh(y @ w), push(t, y), i + 1)\n"
    "  };\n"
    "  let (t, z) = pop(t);\n"
    "  drop(t);\n"
    "  (if (n > 2) { sum(z) } else { mean(y[0]) }, softmax(y))\n"
    "}\n"
    "let a = [1.0, 2.0, 3.0];\n"
    "fn g(x: tensor<F32, [B, 3]>, w: tensor<F32, [3, 3]>, n: I32) -> F32 { let (y, z) = f(x, w, n); y + sum(z * z) }\n"
    "let x = [[1.0, 2.0, 3.0]];\n"
    "(twice(fn(x: tensor<F32, [3]>) -> tensor<F32, [3]> { x * a }, a), f(x, [a, a, a], 3),\n"
    " handle g(x, [a, a, a], 3) with reverseMode)\n",
};

/* Differentiated and written as C. */
static const program_text to_c = {
    "emit c",
    "fn powers(x: tensor<F32, [M]>, n: I32) -> F32 { if (n < 1) { sum(x) } else { powers(x * x, n - 1) } }\n"
    "fn f(x: tensor<F32, [B, 3]>, w: tensor<F32, [3, 3]>, n: I32) -> F32 {\n"
    "  let (y, _) = while (i < n && sum(x) > 0.0) [y = copy(x), i = 0] { (tanh(y @ w) + [1.0, 2.0, 3.0], i + 1) };\n"
    "  let z = if (n > 2) { take(y, argsort(x[:, 0])) } else { softmax(y) };\n"
    "  sum(z * z) * powers(stop_gradient(w[0]), n)\n"
    "}\n",
};

/* Checked against differences; one of its parameters stands at a kink. */
static const program_text to_check = {
    "gradcheck",
    "fn f(x: tensor<F64, [2]>, y: F64) -> tensor<F64, [2]> { if (y > 0.0) { tanh(x) * y } else { x * abs(y) } }\n",
};

/* The inputs of a session, a line each. */
static const char *const typed[] = {
    "let x = [1.0, 2.0]",
    "fn f(v: F32) -> F32 { sum(x) * v }",
    "fn g(v: F32) -> F32 { f(v) } let h = grad(g)",
    "let (a, (b, _)) = (h(2.0), (x * 2.0, true)); handle g(a) with reverseMode",
    "fn f(v: F64) -> F64 { v }",
    "fn f(v: F32) -> F32 { x[0] * v }",
    "let x = [3.0, 4.0]; f(1.0)",
    "drop(x)",
    "let x = [it]",
    "h(1.0)",
};

enum { MOST = 20000 };          /* allocations of one program, far more than any makes */

static bool emit(engine *e) {
    text module;
    mlir_exports exports = {0};
    text_init(&module, e->c);
    bool ok = mlir_emit(e, (mlir_options){0}, &module, &exports);
    text_close(&module);
    return ok;
}

static bool emit_c(engine *e) {
    derivative_wish wish = {.fn = program_find(&e->program, "f"), .form = DERIVATIVE_C};
    derivative made;
    text file, header;
    text_init(&file, e->c);
    text_init(&header, e->c);
    wish.header = &header;
    bool ok = derive_program(e, &wish, &file, &made);
    text_close(&file);
    text_close(&header);
    return ok;
}

static bool check(engine *e) {
    const fn_decl *fn = program_find(&e->program, "f");
    tensor *x = tensor_new(e->c, DT_F64, 1, (int64_t[]){2});
    if (x == NULL) return false;
    ((double *)x->data)[0] = 0.5;
    ((double *)x->data)[1] = -1.0;
    value args[] = {value_tensor(x), value_f64(0.0)};
    gradcheck g;
    bool ok = gradcheck_run(e, fn, args, &(gradcheck_wish){.seed = 1}, &g);
    gradcheck_close(e->c, &g);
    tensor_release(e->c, x);
    return ok;
}

/* One run from nothing; true when nothing failed for want of memory. */
static bool attempt(const program_text *p, uint64_t fail_at, bool *fault) {
    context c;
    context_init(&c);
    c.mem.fail_at = fail_at;
    kernel_install(&c);
    engine e;
    engine_init(&e, &c, (engine_options){0});
    results r = {0};
    bool ok = engine_load(&e, p->name, p->text, strlen(p->text));
    bool source_error = !ok && e.diags.errors > 0 && c.err.code == ERROR_NONE;
    if (p == &to_mlir)
        ok = ok && emit(&e);
    else if (p == &to_c)
        ok = ok && emit_c(&e);
    else if (p == &to_check)
        ok = ok && check(&e);
    else
        ok = ok && engine_run(&e, &r);
    bool starved = c.err.code == ERROR_K0506 || c.err.code == ERROR_K0507;
    if (ok) results_release(&c, &r);
    if (!ok && !source_error && !starved) {
        printf("FAIL %s: request %llu refused gives %s: %s\n", p->name, (unsigned long long)fail_at,
               error_code_name(c.err.code), c.err.message);
        *fault = true;
    }
    engine_close(&e);
    threads_close(&c);
    if (c.mem.live != 0) {
        printf("FAIL %s: request %llu refused leaves %zu live bytes\n", p->name, (unsigned long long)fail_at,
               c.mem.live);
        *fault = true;
    }
    context_close(&c);
    return !starved;
}

/* A session asks for memory some 14,000 times where each object is a block of its own: one in so many is refused then. */
#ifdef __SANITIZE_ADDRESS__
enum { SESSION_STRIDE = 17 };
#else
enum { SESSION_STRIDE = 1 };
#endif

/* One input; false when it failed, for want of memory or not. */
static bool type_in(workspace *w, const char *line) {
    input in;
    engine e;
    workspace_outcome out;
    input_init(&in, w->c);
    bool whole = input_add(&in, line, strlen(line)), ok = whole && w->c->err.code == ERROR_NONE;
    if (ok) {
        source_text given = {.path = "<repl>", .text = text_data(&in.text), .length = in.text.length, .first_line = 1};
        ok = workspace_load(w, &given, &e) && workspace_enter(w, &e, &out);
        if (ok) workspace_outcome_release(w->c, &out);
        engine_close(&e);
    }
    input_close(&in);
    return ok;
}

/* A session in which a request is refused: that input fails and changes nothing, so that it can be typed once more. */
static bool attempt_session(uint64_t fail_at, bool *fault) {
    context c;
    workspace w;
    bool starved = false;
    context_init(&c);
    c.mem.fail_at = fail_at;
    kernel_install(&c);
    workspace_init(&w, &c, (engine_options){0});
    for (size_t i = 0; i < COUNT_OF(typed) && !*fault; i++) {
        int count = workspace_count(&w);
        if (type_in(&w, typed[i])) continue;
        starved |= c.err.code == ERROR_K0506 || c.err.code == ERROR_K0507;
        *fault = !starved || workspace_count(&w) != count;
        error_clear(&c.err);
        *fault = *fault || !type_in(&w, typed[i]);
        if (*fault) printf("FAIL session: request %llu refused leaves `%s` undone\n", (unsigned long long)fail_at, typed[i]);
    }
    const workspace_entry *it = workspace_find(&w, "it");
    *fault |= it == NULL || it->v.as.f32 != 1.0f;
    workspace_close(&w);
    threads_close(&c);
    if (c.mem.live != 0) {
        printf("FAIL session: request %llu refused leaves %zu live bytes\n", (unsigned long long)fail_at, c.mem.live);
        *fault = true;
    }
    context_close(&c);
    return !starved;
}

/* Says how many requests of one program were refused; true for success. */
static bool conclude(const char *name, uint64_t n, int stride, bool fault) {
    if (n < 10 || n >= MOST) {
        printf("FAIL %s: %llu requests were tried\n", name, (unsigned long long)n);
        fault = true;
    }
    printf("%s: each of %llu requests refused once\n", name, (unsigned long long)(n - 1) / (unsigned)stride);
    return !fault;
}

int main(void) {
    int passed = 0, failed = 0;
    const program_text *const others[] = {&to_mlir, &to_c, &to_check};
    for (size_t i = 0; i < COUNT_OF(programs) + COUNT_OF(others); i++) {
        const program_text *p = i < COUNT_OF(programs) ? &programs[i] : others[i - COUNT_OF(programs)];
        bool fault = false;
        uint64_t n = 1;
        while (n < MOST && !fault && !attempt(p, n, &fault)) n++;
        *(conclude(p->name, n, 1, fault) ? &passed : &failed) += 1;
    }
    bool fault = false;
    uint64_t n = 1;
    while (n < MOST && !fault && !attempt_session(n, &fault)) n += SESSION_STRIDE;
    *(conclude("session", n, SESSION_STRIDE, fault) ? &passed : &failed) += 1;
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
