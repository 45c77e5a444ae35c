/* Ownership: what each rule reports, and that programs which break none pass in silence.
 *
 * A case is the body of `fn f(x0, w: tensor<F32, [3]>, c: Bool, n: I32)` and the errors expected of
 * it, each a code and the name that its message has to show. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/ast.h"
#include "runtime/context.h"

typedef struct own_case {
    const char *body;
    const char *errors; /* "K0406 x0, K0401 h"; "" for none */
} own_case;

/* A program through all source phases. */
typedef struct fixture {
    context c;
    arena a;
    source src;
    names names;
    program p;
    diagnostics d;
    bool checked, owned;
} fixture;

static void open_program(fixture *f, const char *code, size_t length) {
    *f = (fixture){.checked = false};
    context_init(&f->c);
    arena_init(&f->a, &f->c);
    ck_assert(source_init(&f->src, &f->a, "test.kina", code, length));
    names_init(&f->names, &f->a);
    f->p = (program){.a = &f->a, .names = &f->names, .src = &f->src, .dims = dims_new(&f->a)};
    ck_assert_ptr_nonnull(f->p.dims);
    diagnostics_init(&f->d, &f->a, &f->src);
    f->checked = parse_program(&f->p, &f->d) && check_program(&f->p, &f->d);
}

static void close_program(fixture *f) {
    arena_close(&f->a);
    ck_assert_uint_eq(f->c.mem.live, 0);
    context_close(&f->c);
}

static void show(const fixture *f, const char *code) {
    text out;
    text_init(&out, (context *)(uintptr_t)&f->c);
    diagnostics_render(&f->d, (diag_style){0}, &out);
    fprintf(stderr, "%s\n%s\n", code, text_data(&out));
    text_close(&out);
}

/* Whether the errors are those of the list, in any order. */
static bool are_expected(const diagnostics *d, const char *expected) {
    char list[400];
    snprintf(list, sizeof list, "%s", expected);
    unsigned count = 0;
    char *rest = list;
    for (char *one; (one = strsep(&rest, ",")) != NULL;) {
        char code[8] = "", name[40] = "", quoted[44];
        if (sscanf(one, " %7s %39s", code, name) != 2) continue;
        snprintf(quoted, sizeof quoted, "`%s`", name);
        bool found = false;
        for (const diag *e = d->first; e != NULL && !found; e = e->next) {
            found = !e->warning && strcmp(error_code_name(e->code), code) == 0 &&
                    strstr(e->message, quoted) != NULL && e->label[0] != '\0' && e->help != NULL;
        }
        if (!found) return false;
        count++;
    }
    return count == d->errors;
}

/* Where an error says that nothing uses a name, no warning does so as well. */
static bool says_unused_once(const diagnostics *d) {
    unsigned warnings = 0;
    diag *last = NULL;
    for (diag *e = d->first; e != NULL; last = e, e = e->next) {
        warnings += e->warning;
        for (const diag *w = d->first; w != NULL && e->code == ERROR_K0402; w = w->next)
            if (w->code == ERROR_W0101 && w->at.begin == e->at.begin) return false;
    }
    bool linked = d->last == (last == NULL ? NULL : &last->next) || d->first == NULL;
    return linked && warnings == d->warnings;
}

static void check_case(const char *body, const char *errors) {
    char code[2000];
    int length = snprintf(
        code, sizeof code,
        "fn f(x0: tensor<F32, [3]>, w: tensor<F32, [3]>, c: Bool, n: I32) -> F32 {\n%s\n}\n", body);
    ck_assert_int_lt(length, (int)sizeof code);
    fixture f;
    open_program(&f, code, (size_t)length);
    bool owned = f.checked && own_program(&f.p, &f.d);
    bool fine = f.checked && owned == (errors[0] == '\0') && are_expected(&f.d, errors) &&
                says_unused_once(&f.d);
    if (!fine) {
        show(&f, code);
        fprintf(stderr, "expected: %s\n", errors[0] == '\0' ? "no error" : errors);
    }
    close_program(&f);
    ck_assert(fine);
}

/* ---- leaks ---- */
static const own_case leaks[] = {
    {"let r = while (i < n) [x = x0, h = w, i = 0] { (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     "K0401 h"},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { drop(h); (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { (x * 2.0, h, i + 1) }; sum(r)", ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { (x + h, x - 1.0, i + 1) }; sum(r)", ""},
    /* Read in the condition, in one branch, by print, in a closure, in an inner loop. */
    {"let r = while (sum(h) < 9.0) [x = x0, h = w] { (x * 2.0, x + 1.0) }; sum(r)", ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] {\n"
     "  let y = if (c) { x + h } else { x * 2.0 };\n  (y, x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { if (c) { drop(h) } else { };\n"
     "  (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { print(h); (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { let g = fn(y: tensor<F32, [3]>) { y + h };\n"
     "  (g(x), x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { fn g(y: tensor<F32, [3]>) -> tensor<F32, [3]> "
     "{ y + h }\n"
     "  (g(x), x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] {\n"
     "  let z = while (j < i) [z = x, j = 0] { (z + h, j + 1) };\n  (z, z + 1.0, i + 1) }; sum(r)",
     ""},
    /* A read by an unused let is none, through any number of them, closures and inner loops. */
    {"let r = while (i < n) [x = x0, h = w, i = 0] { let s = sum(h);\n"
     "  (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     "K0401 h"},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { let a = h * 2.0; let b = a + 1.0;\n"
     "  (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     "K0401 h"},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { let a = h;\n"
     "  (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     "K0401 h"},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { let g = fn(y: tensor<F32, [3]>) { y + h };\n"
     "  (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     "K0401 h"},
    {"let r = while (i < n) [x = x0, h = w, i = 0] {\n"
     "  let s = while (j < i) [s = 0.0, j = 0] { (s + sum(h), j + 1) };\n"
     "  (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     "K0401 h"},
    {"let r = while (i < n) [x = x0, h = w, i = 0] {\n"
     "  let s = while (j < i) [s = 0.0, j = 0] { let t = h * s; (s + sum(t), j + 1) };\n"
     "  (x * s, x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { let a = h * 2.0; let b = a + 1.0;\n"
     "  (x * b, x + 1.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, h = w, i = 0] { let _ = h * 2.0;\n"
     "  (x * 2.0, x + 1.0, i + 1) }; sum(r)",
     ""},
    /* Moved into an inner loop: that one accounts for it. */
    {"let r = while (i < n) [x = x0, h = w, i = 0] {\n"
     "  let z = while (j < i) [z = h, j = 0] { (z * 2.0, j + 1) };\n  (x + z, x + 1.0, i + 1) }; "
     "sum(r)",
     ""},
    /* Each leaks by itself; 0-D values never do. */
    {"let r = while (i < n) [x = x0, h = w, g = copy(w), i = 0] { (x * 2.0, x + 1.0, x - 1.0, i + "
     "1) }; sum(r)",
     "K0401 h, K0401 g"},
    {"let r = while (i < n) [x = x0, s = 1.0, i = 0] { (x * 2.0, 2.0, i + 1) }; sum(r)", ""},
    /* Bound in a loop body and unused. */
    {"let r = while (i < n) [x = x0, i = 0] { let t = x * 2.0; (x * 3.0, i + 1) }; sum(r)",
     "K0402 t"},
    {"let r = while (i < n) [x = x0, i = 0] { let t = sum(x); (x * 3.0, i + 1) }; sum(r)", ""},
    {"let r = while (i < n) [x = x0, i = 0] { let t = x * 2.0; drop(t); (x * 3.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] { let t = x; (x * 3.0, i + 1) }; sum(r)", ""},
    {"let r = while (i < n) [x = x0, i = 0] { let (a, b) = (x * 2.0, x * 3.0); (a, i + 1) }; "
     "sum(r)",
     "K0402 b"},
    {"let r = while (i < n) [x = x0, i = 0] { let (a, _) = (x * 2.0, x * 3.0); (a, i + 1) }; "
     "sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] { let t = (x * 2.0, x * 3.0); (t.0, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] {\n"
     "  let y = if (c) { let t = x * 3.0; x * 2.0 } else { x + 1.0 };\n  (y, i + 1) }; sum(r)",
     "K0402 t"},
    {"let t = x0 * 2.0; sum(w)", ""},
    {"let g = fn(y: tensor<F32, [3]>) { let t = y * 2.0; sum(y) }; g(w)", ""},
};

/* ---- tapes ---- */
static const own_case tapes[] = {
    {"let t: tape<F32> = tape(); drop(t); x0[0]", ""},
    {"let _: tape<F32> = tape(); x0[0]", ""},
    {"let t: tape<F32> = tape(); x0[0]", "K0409 t"},
    {"let t = push(tape(), 1.0); let u = t; drop(u); x0[0]", ""},
    {"let t = push(tape(), 1.0); let u = t; drop(u); drop(t); x0[0]", "K0405 t"},
    {"let t = push(tape(), 1.0); let t = push(t, 2.0); let (t, x) = pop(t); drop(t); x", ""},
    {"let t = push(tape(), 1.0); let (u, x) = pop(t); let (v, y) = pop(t); drop(u); drop(v); x + y",
     "K0408 t"},
    {"let t = push(tape(), 1.0); let e = is_empty(t); print(t); drop(t); if (e) { 1.0 } else { 2.0 }",
     ""},
    {"let t = push(tape(), 1.0); drop(t); if (is_empty(t)) { 1.0 } else { 2.0 }", "K0405 t"},
    /* In a tuple each part has its own life. */
    {"let p = (push(tape(), 1.0), push(tape(), 2.0)); drop(p.0); let (_, x) = pop(p.1); x", ""},
    {"let p = (push(tape(), 1.0), push(tape(), 2.0)); drop(p.0); x0[0]", "K0409 p.1"},
    {"let p = (push(tape(), 1.0), 2.0); let (t, y) = p; drop(t); y", ""},
    {"let t = push(tape(), 1.0); let p = (t, 2.0); drop(t); p.1", ""},
    {"let t = push(tape(), 1.0); let p = (t, 2.0); drop(t); drop(p.0); p.1", "K0405 p.0"},
    /* Every path uses it up, or none does. */
    {"let t = push(tape(), 1.0); if (c) { drop(t); 1.0 } else { 2.0 }", "K0410 t"},
    {"let t = push(tape(), 1.0); if (c) { drop(t); 1.0 } else { drop(t); 2.0 }", ""},
    {"let t = push(tape(), 1.0);\n"
     "let s = if (c) { 1.0 } else { if (n > 1) { drop(t); 1.0 } else { drop(t); 2.0 } }; s",
     "K0410 t"},
    {"let t = push(tape(), 1.0);\n"
     "let s = if (c) { drop(t); 0.0 } else { if (n > 1) { drop(t); 1.0 } else { drop(t); 2.0 } }; s",
     ""},
    {"let t = push(tape(), 1.0);\n"
     "let t = if (c) { t } else { if (n > 1) { push(t, 1.0) } else { let (t, _) = pop(t); t } };\n"
     "drop(t); x0[0]",
     ""},
    {"let t = push(tape(), 1.0); let (t, y) = if (c) { (t, 1.0) } else { pop(t) }; drop(t); y", ""},
    {"let p = (push(tape(), 1.0), 2.0); let q = if (c) { p } else { p }; drop(q.0); q.1", ""},
    {"let p = (push(tape(), 1.0), 2.0); let q = if (c) { p } else { p }; drop(p.0); drop(q.0); q.1",
     "K0408 p.0"},
    {"if (c) { let t = push(tape(), 1.0); 1.0 } else { 2.0 }", "K0409 t"},
    /* Loops. */
    {"let (t, _) = while (i < n) [t = push(tape(), 1.0), i = 0] { (push(t, 2.0), i + 1) };\n"
     "drop(t); x0[0]",
     ""},
    {"let (t, _) = while (i < n) [t = push(tape(), 1.0), i = 0] { (push(tape(), 2.0), i + 1) };\n"
     "drop(t); x0[0]",
     "K0409 t"},
    {"let (t, _) = while (!is_empty(t)) [t = push(tape(), 1.0), i = 0] {\n"
     "  if (c) { let (t, _) = pop(t); (t, i) } else { (t, i + 1) } }; drop(t); x0[0]",
     ""},
    {"let t = push(tape(), 1.0);\n"
     "let s = while (i < n) [s = 0.0, i = 0] { if (is_empty(t)) { (s, i + 1) } else { (s, i + 2) } };\n"
     "drop(t); s",
     ""},
    {"let t = push(tape(), 1.0);\n"
     "let s = while (i < n) [s = 0.0, i = 0] { drop(t); (s, i + 1) }; s",
     "K0407 t"},
    {"let t = push(tape(), 1.0);\n"
     "let (u, _) = while (i < n) [u = t, i = 0] { (u, i + 1) }; drop(u); drop(t); x0[0]",
     "K0406 t"},
    /* Functions. */
    {"let f = fn(t: tape<F32>) { drop(t) }; f(tape()); x0[0]", ""},
    {"let f = fn(t: tape<F32>) { 1.0 }; f(tape())", "K0409 t"},
    {"let t = push(tape(), 1.0); let f = fn() { drop(t) }; f(); x0[0]", "K0411 t"},
    {"fn g(t: tape<F32>) -> (F32, tape<F32>) { (1.0, t) }\n"
     "let (x, t) = g(tape()); drop(t); x",
     ""},
};

/* ---- aliases ---- */
static const own_case aliases[] = {
    {"let r = while (i < n) [x = x0, y = w, i = 0] { let d = x + y; (d, d, i + 1) }; sum(r)",
     "K0403 d"},
    {"let r = while (i < n) [x = x0, y = w, i = 0] { let d = x + y; (d, copy(d), i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, y = w, i = 0] { (y, x, i + 1) }; sum(r)", ""},
    {"let r = while (i < n) [x = x0, y = w, i = 0] { let z = x; drop(y); (z, x, i + 1) }; sum(r)",
     "K0403 x"},
    {"let r = while (i < n) [x = x0, y = w, i = 0] { let t = (x, x + y); (t.0, x, i + 1) }; sum(r)",
     "K0403 x"},
    {"let r = while (i < n) [x = x0, y = w, i = 0] { let t = (x, x + y); (t.1, t.0, i + 1) }; "
     "sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, y = w, i = 0] { let (p, q) = (x, y); (q, p, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, y = w, i = 0] { let z = let u = x in u; (z, x, i + 1 + "
     "I32(sum(y))) };\n"
     "sum(r)",
     "K0403 x"},
    /* What an `if` may yield counts on every path; branches that yield by themselves are checked
       so. */
    {"let r = while (i < n) [x = x0, best = w, i = 0] { let t = x * 2.0;\n"
     "  let b = if (c) { t } else { best };\n  (t, b, i + 1) }; sum(r)",
     "K0403 t"},
    {"let r = while (i < n) [x = x0, best = w, i = 0] { let t = x * 2.0;\n"
     "  let b = if (c) { copy(t) } else { best };\n  (t, b, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, best = w, i = 0] { let t = x * 2.0;\n"
     "  (t, if (c) { t } else { best }, i + 1) }; sum(r)",
     "K0403 t"},
    {"let r = while (i < n) [x = x0, best = w, i = 0] { let t = x * 2.0;\n"
     "  if (c) { (t, t, i + 1) } else { (t, best, i + 1) } }; sum(r)",
     "K0403 t"},
    {"let r = while (i < n) [x = x0, y = w, i = 0] {\n"
     "  if (c) { (x, y, i + 1) } else { (y, x, i + 1) } }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] { (if (i > 3) { x } else if (c) { x * 2.0 } else { x "
     "}, i + 1) }; sum(r)",
     ""},
    /* From outside. */
    {"let r = while (i < n) [x = x0, i = 0] { drop(x); (w, i + 1) }; sum(r)", "K0404 w"},
    {"let r = while (i < n) [x = x0, i = 0] { drop(x); (copy(w), i + 1) }; sum(r)", ""},
    {"let r = while (i < n) [x = x0, i = 0] { let v = w; drop(x); (v, i + 1) }; sum(r)", "K0404 w"},
    {"let r = while (i < n) [x = x0, i = 0] { (if (c) { x } else { w }, i + 1) }; sum(r)",
     "K0404 w"},
    {"let r = while (any(x < 9.0)) [x = x0] { w + x }; sum(r)", ""},
    {"let r = while (any(x > 9.0)) [x = x0] { if (c) { x } else { w } }; sum(r)", "K0404 w"},
    {"let r = while (i < n) [x = x0, i = 0] {\n"
     "  let z = while (j < i) [z = copy(w), j = 0] { drop(z); (x, j + 1) };\n  (z, i + 1) }; "
     "sum(r)",
     "K0404 x"},
    {"let r = while (i < n) [x = x0, i = 0] { let h = fn(k: I32) {\n"
     "    let q = while (j < k) [q = copy(w), j = 0] { drop(q); (x, j + 1) }; q };\n"
     "  (h(i), i + 1) }; sum(r)",
     "K0404 x"},
};

/* ---- uses after the end ---- */
static const own_case ends[] = {
    {"let b = x0 * 2.0; drop(b); sum(b)", "K0405 b"},
    {"let b = x0 * 2.0; let s = sum(b); drop(b); s", ""},
    {"let b = x0 * 2.0; drop(b); let s = sum(b); s + sum(b)", "K0405 b"},
    {"let a = x0 * 2.0; let b = a; drop(b); sum(a)", "K0405 a"},
    {"let a = x0 * 2.0; let b = a + 1.0; drop(b); sum(a)", ""},
    {"let b = x0 * 2.0; drop(b); drop(b); 1.0", "K0405 b"},
    {"let b = 2.0; drop(b); b", ""},
    {"let b = x0 * 2.0; drop(b); let b = w + 1.0; sum(b)", ""},
    {"let r = while (i < n) [v = x0, i = 0] { (v * 2.0, i + 1) }; sum(r) + sum(x0)", "K0406 x0"},
    {"let r = while (i < n) [v = copy(x0), i = 0] { (v * 2.0, i + 1) }; sum(r) + sum(x0)", ""},
    {"let r = while (i < n) [v = x0 * 1.0, i = 0] { (v * 2.0, i + 1) }; sum(r) + sum(x0)", ""},
    {"let x0 = while (i < n) [x0 = x0, i = 0] { (x0 * 2.0, i + 1) }; sum(x0)", ""},
    {"let r = while (i < n) [v = x0, i = 0] { (v + x0, i + 1) }; sum(r)", "K0406 x0"},
    {"let r = while (sum(v) < sum(x0)) [v = x0] { v * 2.0 }; sum(r)", "K0406 x0"},
    {"let r = while (i < n) [a = x0, b = x0, i = 0] { (a + b, a - b, i + 1) }; sum(r)", "K0406 x0"},
    {"let r = while (s < 9.0) [a = x0, s = sum(x0)] { (a * 2.0, s + 1.0) }; sum(r)", ""},
    {"let y = x0; let r = while (i < n) [v = y, i = 0] { (v * 2.0, i + 1) }; sum(r) + sum(x0)",
     "K0406 x0"},
    {"let r = while (i < n) [v = let z = x0 in z, i = 0] { (v * 2.0, i + 1) }; sum(r) + sum(x0)",
     "K0406 x0"},
    {"let r = while (i < n) [v = if (c) { x0 } else { w }, i = 0] { (v * 2.0, i + 1) }; sum(r) + "
     "sum(x0) + sum(w)",
     "K0406 x0, K0406 w"},
    {"let a = while (i < n) [v = x0, i = 0] { (v * 2.0, i + 1) };\n"
     "let b = while (i < n) [v = a, i = 0] { (v * 2.0, i + 1) }; sum(b)",
     ""},
    /* Tuples: parts end by themselves. */
    {"let t = (x0 * 2.0, w * 2.0); drop(t.0); sum(t.1)", ""},
    {"let t = (x0 * 2.0, w * 2.0); drop(t.0); sum(t.0)", "K0405 t.0"},
    {"let t = (x0 * 2.0, w * 2.0); drop(t.0); let (a, b) = t; sum(b)", "K0405 t"},
    {"let t = (x0, w); drop(x0); sum(t.0)", "K0405 t.0"},
    {"let t = ((x0, w), n); let u = t.0; drop(u.1); sum(t.0.0) + sum(w)", "K0405 w"},
    {"let (a, b) = (x0, w); drop(a); sum(x0) + sum(b)", "K0405 x0"},
    /* Branches. */
    {"if (c) { drop(x0) } else { }; sum(x0)", "K0405 x0"},
    {"if (c) { drop(x0); 1.0 } else { sum(x0) }", ""},
    {"let s = if (c) { drop(x0); 1.0 } else { drop(x0); 2.0 }; s", ""},
    {"let s = if (c) { drop(x0); 1.0 } else if (n > 1) { sum(x0) } else { drop(w); 2.0 }; s + "
     "sum(w)",
     "K0405 w"},
    {"let b = if (c) { x0 } else { w }; drop(b); sum(x0) + sum(w)", "K0405 x0, K0405 w"},
    {"let b = if (c) { x0 } else { w }; drop(x0); sum(w)", ""},
    {"let b = if (c) { x0 } else { w }; drop(x0); sum(b)", "K0405 b"},
    {"let b = if (c) { x0 } else { w * 2.0 }; drop(b); sum(w)", ""},
    {"let b = if (c) { drop(x0); w } else { x0 }; sum(b)", ""},
    {"let b = if (c) { x0 } else { w }; let d = if (c) { b } else { w * 2.0 }; drop(d); sum(x0)",
     "K0405 x0"},
    {"let b = if (c) { (x0, 1) } else { (w, 2) }; drop(b.0); sum(w)", "K0405 w"},
    {"let y = if (x0 > 0.0) { x0 } else { w }; drop(y); sum(x0) + sum(w)", ""},
    {"if (c) { let r = while (i < n) [v = x0, i = 0] { (v * 2.0, i + 1) }; sum(r) } else {\n"
     "  let r = while (i < n) [v = x0, i = 0] { (v * 3.0, i + 1) }; sum(r) }",
     ""},
    {"let s = if (c) { let r = while (i < n) [v = x0, i = 0] { (v * 2.0, i + 1) }; sum(r) } else { "
     "0.0 };\n"
     "s + sum(x0)",
     "K0406 x0"},
    /* Closures and calls have shares of their own. */
    {"let g = fn() { sum(x0) }; drop(x0); g()", ""},
    {"let g = fn() { sum(x0) }; let r = while (i < n) [v = x0, i = 0] { (v * 2.0, i + 1) }; g() + "
     "sum(r)",
     ""},
    {"drop(x0); let g = fn() { sum(x0) }; g()", "K0405 x0"},
    {"let g = fn() { let r = while (i < n) [v = x0, i = 0] { (v * 2.0, i + 1) }; sum(r) }; g() + "
     "g() + sum(x0)",
     ""},
    {"let g = fn() { let r = while (i < n) [v = x0, i = 0] { (v * 2.0, i + 1) }; sum(r) + sum(x0) "
     "}; g()",
     "K0406 x0"},
    {"let g = fn(y: tensor<F32, [3]>) { drop(y); 1.0 }; g(x0) + sum(x0)", ""},
    {"let g = fn(y: tensor<F32, [3]>) { y }; let z = g(x0); drop(z); sum(x0)", ""},
    {"let z = copy(x0); drop(z); sum(x0)", ""},
};

/* ---- ends inside of loops ---- */
static const own_case in_loops[] = {
    {"let r = while (i < n) [x = x0, i = 0] { drop(w); (x * 2.0, i + 1) }; sum(r)", "K0407 w"},
    {"let r = while (i < n) [x = x0, i = 0] { let v = w; drop(v); (x * 2.0, i + 1) }; sum(r)",
     "K0407 w"},
    {"let r = while (i < n) [x = x0, i = 0] {\n"
     "  let z = while (j < i) [z = w, j = 0] { (z * 2.0, j + 1) };\n  (x + z, i + 1) }; sum(r)",
     "K0407 w"},
    {"let r = while (i < n) [x = x0, i = 0] {\n"
     "  let z = while (j < i) [z = copy(w), j = 0] { (z * 2.0, j + 1) };\n  (x + z, i + 1) }; "
     "sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] {\n"
     "  let z = while (j < i) [z = x, j = 0] { (z * 2.0, j + 1) };\n  (z, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] {\n"
     "  let z = while (j < i) [z = x, j = 0] { (z * 2.0, j + 1) };\n  drop(z); (x, i + 1) }; "
     "sum(r)",
     "K0406 x"},
    {"let r = while (i < n) [x = x0, i = 0] { let y = x * 2.0;\n"
     "  let z = while (j < i) [z = y, j = 0] { (z * 2.0, j + 1) };\n  (z + x, i + 1) }; sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] { let b = if (c) { x } else { w }; drop(b); (w + 1.0, "
     "i + 1) }; sum(r)",
     "K0407 w"},
    {"let r = while (let _ = drop(x) in i < n) [x = x0, i = 0] { (x * 2.0, i + 1) }; sum(r)",
     "K0407 x"},
    {"let r = while (let t = x * 2.0 in let s = sum(t) in let _ = drop(t) in s < 9.0) [x = x0] { x "
     "* 2.0 }; "
     "sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] { let g = fn() { drop(w); 2.0 }; (x * g(), i + 1) }; "
     "sum(r)",
     ""},
    {"let r = while (i < n) [x = x0, i = 0] { let s = sum(w); (x * s, i + 1) }; sum(r) + sum(w)",
     ""},
    /* Independent errors are all reported, each tensor once. */
    {"let r = while (i < n) [x = x0, h = copy(w), i = 0] { drop(w); (x, x, i + 1) }; sum(r) + "
     "sum(x0) + sum(x0)",
     "K0401 h, K0407 w, K0403 x, K0406 x0"},
};

#define CASES(name)                                                                                \
    START_TEST(test_##name) {                                                                      \
        check_case(name[_i].body, name[_i].errors);                                                \
    }                                                                                              \
    END_TEST
CASES(leaks)
CASES(tapes)
CASES(aliases)
CASES(ends)
CASES(in_loops)

/* A top-level program: functions may take what they capture, again in each call. */
START_TEST(test_top_level) {
    static const char code[] = "let x = tensor<F32, [3]>;\n"
                               "fn g(n: I32) -> F32 {\n"
                               "  let r = while (i < n) [v = x, i = 0] { (v * 2.0, i + 1) };\n"
                               "  sum(r)\n"
                               "}\n"
                               "let a = g(1) + g(2);\n"
                               "drop(x);\n"
                               "a + sum(x)\n";
    fixture f;
    open_program(&f, code, strlen(code));
    ck_assert(f.checked);
    ck_assert(!own_program(&f.p, &f.d));
    ck_assert(are_expected(&f.d, "K0405 x"));
    close_program(&f);
}
END_TEST

/* Every allocation of the pass may fail; the error is that of memory and nothing leaks. */
START_TEST(test_memory) {
    static const char code[] = "fn f(x0: tensor<F32, [3]>, w: tensor<F32, [3]>, c: Bool) -> F32 {\n"
                               "  let t = (x0, w * 2.0);\n"
                               "  let b = if (c) { t } else { (w, x0) };\n"
                               "  let r = while (i < 9) [x = t.0, h = t.1, i = 0] {\n"
                               "    fn g(y: tensor<F32, [3]>) -> tensor<F32, [3]> { y + x }\n"
                               "    let (p, q) = (g(h), x * 2.0);\n"
                               "    drop(x);\n"
                               "    (q, if (c) { p } else { h }, i + 1)\n"
                               "  };\n"
                               "  sum(r) + sum(b.0)\n"
                               "}\n";
    bool done = false;
    for (uint64_t fail = 1; !done; fail++) {
        fixture f;
        open_program(&f, code, strlen(code));
        ck_assert(f.checked);
        f.c.mem.fail_at = f.c.mem.requests + fail;
        bool owned = own_program(&f.p, &f.d);
        done = f.c.mem.requests < f.c.mem.fail_at;
        ck_assert(!owned);
        ck_assert_int_eq(done, f.c.err.code == ERROR_NONE);
        if (done) ck_assert(are_expected(&f.d, "K0406 b.0"));
        close_program(&f);
    }
}
END_TEST

/* Long programs take time linear in their length and no deep stack of their own making. */
static char *repeat(const char *head, const char *line, int count, const char *tail,
                    size_t *length) {
    size_t room = strlen(head) + strlen(tail) + (size_t)count * (strlen(line) + 24) + 1;
    char *code = malloc(room);
    ck_assert_ptr_nonnull(code);
    char *to = code + sprintf(code, "%s", head);
    for (int i = 0; i < count; i++) {
        for (const char *from = line; *from != '\0'; from++) {
            if (*from == '#') {
                to += sprintf(to, "%d", i);
            } else if (*from == '~') {
                to += sprintf(to, "%d", i + 1);
            } else {
                *to++ = *from;
            }
        }
    }
    to += sprintf(to, "%s", tail);
    *length = (size_t)(to - code);
    return code;
}

static void check_long(const char *head, const char *line, int count, const char *tail,
                       const char *errors) {
    size_t length = 0;
    char *code = repeat(head, line, count, tail, &length);
    fixture f;
    open_program(&f, code, length);
    free(code);
    ck_assert(f.checked);
    int64_t start = monotonic_nanoseconds();
    ck_assert_int_eq(own_program(&f.p, &f.d), errors[0] == '\0');
    int64_t took = monotonic_nanoseconds() - start;
    ck_assert_int_lt(took, INT64_C(5000000000));
    ck_assert(are_expected(&f.d, errors));
    close_program(&f);
}

START_TEST(test_long) {
    enum { COUNT = 50000 };
    const char *head =
        "fn f(x: tensor<F32, [3]>, w: tensor<F32, [3]>, c: Bool) -> F32 {\nlet y0 = x;\n";
    char tail[100];
    /* Each name may be all that came before; ending one of them ends all. */
    snprintf(tail, sizeof tail, "drop(y%d); sum(y0) }", COUNT);
    check_long(head, "let y~ = if (c) { y# } else { x * 2.0 };\n", COUNT, tail, "K0405 y0");
    check_long(head, "let y~ = if (c) { y# } else { w };\n", COUNT, "drop(y0); sum(w) }", "");
    snprintf(tail, sizeof tail, "(y%d, i + 1) };\nsum(r) }", COUNT);
    check_long("fn f(x: tensor<F32, [3]>, n: I32) -> F32 {\n"
               "let r = while (i < n) [v = x, i = 0] {\nlet y0 = v;\n",
               "let y~ = y# * 2.0;\n", COUNT, tail, "");
    check_long("fn f(x: tensor<F32, [3]>, n: I32) -> F32 {\n"
               "let r = while (i < n) [v = x, i = 0] {\nlet y0 = v;\n",
               "let y~ = y# * 2.0;\n", COUNT, "(x + 1.0, i + 1) };\nsum(r) }", "K0401 v, K0406 x");
    check_long("fn f(x: tensor<F32, [3]>, n: I32) -> F32 {\n", "if (n == #) { drop(x); 1.0 } else ",
               COUNT, "{ sum(x) } }", "");
}
END_TEST

Suite *suite_own(void) {
    Suite *suite = suite_create("own");
    TCase *rules = tcase_create("rules");
    tcase_add_loop_test(rules, test_leaks, 0, (int)COUNT_OF(leaks));
    tcase_add_loop_test(rules, test_tapes, 0, (int)COUNT_OF(tapes));
    tcase_add_loop_test(rules, test_aliases, 0, (int)COUNT_OF(aliases));
    tcase_add_loop_test(rules, test_ends, 0, (int)COUNT_OF(ends));
    tcase_add_loop_test(rules, test_in_loops, 0, (int)COUNT_OF(in_loops));
    tcase_add_test(rules, test_top_level);
    suite_add_tcase(suite, rules);
    TCase *limits = tcase_create("limits");
    tcase_set_timeout(limits, 60);
    tcase_add_test(limits, test_memory);
    tcase_add_test(limits, test_long);
    suite_add_tcase(suite, limits);
    return suite;
}
