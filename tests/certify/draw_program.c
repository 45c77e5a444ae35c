/* Statements, functions and whole random programs (draw.h). */
#include <stdio.h>
#include <string.h>

#include "tests/certify/draw.h"

const char *const draw_form_names[FORM_COUNT] = {
    [FORM_LOOP] = "loop",
    [FORM_LOOP_IN_LOOP] = "loop in a loop",
    [FORM_LOOP_IN_BRANCH] = "loop in a branch",
    [FORM_BRANCH] = "branch",
    [FORM_BRANCH_IN_LOOP] = "branch in a loop",
    [FORM_DATA_TRIPS] = "trips by the data",
    [FORM_POLICY_K] = "@checkpoint(k=...)",
    [FORM_POLICY_OTHER] = "another policy",
    [FORM_CALL] = "call",
    [FORM_CALL_IN_LOOP] = "call in a loop",
    [FORM_CLOSURE] = "closure",
    [FORM_TAPE] = "tape",
    [FORM_EFFECT] = "print and assert",
    [FORM_OPEN_RESULT] = "size of the run",
    [FORM_F32] = "F32",
    [FORM_F64] = "F64",
};

static const char *const shapes[] = {"", "A", "B", "A,B", "A,B", "A,3", "3", "3,3", "1,B", "A,1", "2,B", "B,A", "1"};

static const char *any_shape(drawing *d) { return shapes[draw_below(d, (int)COUNT_OF(shapes))]; }

static void line(drawing *d) { text_add_repeat(d->out, ' ', 2 * (size_t)d->indent); }

static void draw_statements(drawing *d, int count, int nesting);

/* ---- blocks ---- */

/* A fresh value of the shape, which reads what the block bound since `from` and nobody used. */
static void draw_end(drawing *d, const char *shape, int from) {
    text_add(d->out, "0.5 * ");
    draw_expression(d, shape, 1);
    for (int i = from; i < d->count; i++) {
        draw_variable *v = &d->scope[i];
        if (v->used) continue;
        v->used = true;
        text_format(d->out, v->shape[0] == '\0' ? " + 0.1 * %s" : " + 0.1 * sum(%s)", v->name);
    }
}

/* The inside of a block: statements and a value for each shape. */
static void draw_block(drawing *d, const char *const *ends, int count, int nesting) {
    int before = d->count;
    d->indent++;
    draw_statements(d, draw_below(d, 2), nesting);
    line(d);
    text_add(d->out, count > 1 ? "(" : "");
    for (int i = 0; i < count; i++) {
        if (i > 0) text_add(d->out, ", ");
        draw_end(d, ends[i], i + 1 == count ? before : d->count);
    }
    text_add(d->out, count > 1 ? ")\n" : "\n");
    d->indent--;
    d->count = before;
}

/* ---- statements ---- */

static void draw_let(drawing *d) {
    const char *shape = any_shape(d);
    char name[16];
    snprintf(name, sizeof name, "v%d", ++d->names);
    line(d);
    text_format(d->out, "let %s = ", name);
    draw_expression(d, shape, 1 + draw_below(d, 2));
    text_add(d->out, ";\n");
    memcpy(draw_bind(d, shape)->name, name, sizeof name);
}

/* Binds names, and writes them as the pattern of a let. */
static void draw_pattern(drawing *d, const char *const *bound, int count) {
    draw_variable *v[4];
    for (int i = 0; i < count; i++) v[i] = draw_bind(d, bound[i]);
    text_add(d->out, count > 1 ? "let (" : "let ");
    for (int i = 0; i < count; i++) text_format(d->out, i > 0 ? ", %s" : "%s", v[i]->name);
    text_add(d->out, count > 1 ? ") = " : " = ");
}

static void draw_branch(drawing *d, int nesting) {
    const char *given[2] = {any_shape(d), any_shape(d)};
    int count = 1 + draw_below(d, 2), before = d->count;
    d->forms[FORM_BRANCH] = true;
    if (d->loops > 0) d->forms[FORM_BRANCH_IN_LOOP] = true;
    line(d);
    draw_pattern(d, given, count);
    int after = d->count;
    d->count = before;          /* not yet in scope */
    draw_variable bound[2];
    memcpy(bound, &d->scope[before], sizeof bound);
    text_add(d->out, "if ");
    if (draw_one_in(d, 3)) {
        text_add(d->out, "(any(");
        draw_test(d, "A,B");
        text_add(d->out, "))");
    } else {
        draw_test(d, "");
    }
    text_add(d->out, " {\n");
    d->branches++;
    draw_block(d, given, count, nesting - 1);
    line(d);
    text_add(d->out, "} else {\n");
    draw_block(d, given, count, nesting - 1);
    d->branches--;
    line(d);
    text_add(d->out, "};\n");
    memcpy(&d->scope[before], bound, sizeof bound);
    d->count = after;
}

static void draw_policy(drawing *d) {
    static const char *const policies[] = {"k=2", "k=2", "k=1", "k=3", "k=auto", "slots=2", "memory=1MiB", "slots=1"};
    int i = draw_below(d, 2 * (int)COUNT_OF(policies));
    if (i >= (int)COUNT_OF(policies)) return;
    d->forms[i < 4 ? FORM_POLICY_K : FORM_POLICY_OTHER] = true;
    text_format(d->out, "@checkpoint(%s) ", policies[i]);
}

static void note_loop(drawing *d) {
    d->forms[FORM_LOOP] = true;
    if (d->loops > 0) d->forms[FORM_LOOP_IN_LOOP] = true;
    if (d->branches > 0) d->forms[FORM_LOOP_IN_BRANCH] = true;
}

/* The condition, in which the carried values are the last `count` of the scope. */
static void draw_condition(drawing *d, const char *counter, int count) {
    static const char *const ends[] = {"n", "n", "n + 1", "3", "2"};
    text_format(d->out, "while (%s < %s", counter, ends[draw_below(d, (int)COUNT_OF(ends))]);
    if (draw_one_in(d, 3)) {
        d->forms[FORM_DATA_TRIPS] = true;
        const draw_variable *v = &d->scope[d->count - 1 - draw_below(d, count)];
        text_format(d->out, v->shape[0] == '\0' ? " && abs(%s) < 1.5" : " && sum(abs(%s)) < 5.0", v->name);
    }
    text_add(d->out, ") [");
}

static void draw_loop(drawing *d, int nesting) {
    const char *carried[3] = {any_shape(d), any_shape(d), any_shape(d)};
    int count = 1 + draw_below(d, 3), before = d->count;
    char counter[16];
    note_loop(d);
    line(d);
    draw_policy(d);
    draw_pattern(d, carried, count);
    snprintf(counter, sizeof counter, "i%d", d->names);
    draw_condition(d, counter, count);
    draw_variable bound[3];
    memcpy(bound, &d->scope[before], sizeof bound);
    d->count = before;          /* the inits do not see the carried names */
    for (int i = 0; i < count; i++) {
        text_format(d->out, "%s = 0.5 * ", bound[i].name);
        draw_leaf(d, carried[i]);
        text_add(d->out, ", ");
    }
    text_format(d->out, "%s = 0] {\n", counter);
    memcpy(&d->scope[before], bound, sizeof bound);
    d->count = before + count;
    d->loops++;
    d->indent++;
    draw_statements(d, draw_below(d, 3), nesting - 1);
    line(d);
    text_add_char(d->out, '(');
    for (int i = 0; i < count; i++) {
        draw_end(d, carried[i], i + 1 == count ? before : d->count);
        text_add(d->out, ", ");
    }
    text_format(d->out, "%s + 1)\n", counter);
    d->indent--;
    d->loops--;
    line(d);
    text_add(d->out, "};\n");
    memcpy(&d->scope[before], bound, sizeof bound);     /* the results have the names of the carries */
    d->count = before + count;
}

static void draw_call(drawing *d) {
    d->forms[FORM_CALL] = true;
    if (d->loops > 0) d->forms[FORM_CALL_IN_LOOP] = true;
    static const char *const matrices[] = {"A,B", "B,A", "3,3", "A,3", "1,B"};
    const char *shape = matrices[draw_below(d, (int)COUNT_OF(matrices))];
    char name[16];
    snprintf(name, sizeof name, "v%d", ++d->names);
    line(d);
    text_format(d->out, "let %s = helper(", name);
    draw_expression(d, shape, 1);
    text_add(d->out, ", ");
    draw_expression(d, "", 1);
    text_add(d->out, draw_one_in(d, 2) ? ", n);\n" : ", 2);\n");
    memcpy(draw_bind(d, shape)->name, name, sizeof name);
}

/* A function over what is in scope, called twice. */
static void draw_closure(drawing *d) {
    d->forms[FORM_CLOSURE] = true;
    const char *shape = any_shape(d);
    int before = d->count, g = ++d->names;
    line(d);
    text_format(d->out, "let g%d = fn(", g);
    draw_variable *u = draw_bind(d, shape);
    text_format(d->out, "%s: ", u->name);
    draw_type(d, shape);
    text_add(d->out, ") { ");
    draw_end(d, shape, before);
    text_add(d->out, " };\n");
    d->count = before;
    char name[16];
    snprintf(name, sizeof name, "v%d", ++d->names);
    line(d);
    text_format(d->out, "let %s = g%d(", name, g);
    draw_expression(d, shape, 1);
    text_format(d->out, ") - 0.5 * g%d(", g);
    draw_leaf(d, shape);
    text_add(d->out, ");\n");
    memcpy(draw_bind(d, shape)->name, name, sizeof name);
}

/* One loop pushes, another pops. */
static void draw_tape(drawing *d) {
    d->forms[FORM_TAPE] = true;
    note_loop(d);
    const char *shape = any_shape(d);
    int before = d->count, k = ++d->names;
    line(d);
    text_format(d->out, "let (x%d, t%d, _) = while (i < n) [x%d = 0.5 * ", k, k, k);
    draw_leaf(d, shape);
    text_format(d->out, ", t%d: tape<", k);
    draw_type(d, shape);
    text_add(d->out, "> = tape(), i = 0] {\n");
    draw_variable *x = draw_bind(d, shape);
    snprintf(x->name, sizeof x->name, "x%d", k);
    d->indent++;
    line(d);
    text_add_char(d->out, '(');
    draw_end(d, shape, before);
    text_format(d->out, ", push(t%d, sin(x%d)), i + 1)\n", k, k);
    d->indent--;
    line(d);
    text_add(d->out, "};\n");
    line(d);
    text_format(d->out, "let (y%d, _) = while (!is_empty(t%d)) [y%d = x%d, t%d = t%d] {\n", k, k, k, k, k, k);
    d->indent++;
    line(d);
    text_format(d->out, "let (t%d, z%d) = pop(t%d);\n", k, k, k);
    line(d);
    text_format(d->out, "(0.5 * y%d * z%d + tanh(z%d), t%d)\n", k, k, k, k);
    d->indent--;
    line(d);
    text_add(d->out, "};\n");
    x = &d->scope[before];
    x->used = false;
    snprintf(x->name, sizeof x->name, "y%d", k);
}

static void draw_effect(drawing *d) {
    d->forms[FORM_EFFECT] = true;
    line(d);
    text_add(d->out, "assert(n < 100, \"n\");\n");
    line(d);
    text_add(d->out, "print(\"n\", n, ");
    draw_leaf(d, "");
    text_add(d->out, ");\n");
}

static void draw_statements(drawing *d, int count, int nesting) {
    for (int i = 0; i < count; i++) {
        int roll = draw_below(d, 10);
        if (roll < 3 && nesting > 0) {
            draw_loop(d, nesting);
        } else if (roll < 5 && nesting > 0) {
            draw_branch(d, nesting);
        } else if (roll == 5 && d->loops == 0) {
            draw_tape(d);
        } else if (roll == 6) {
            draw_closure(d);
        } else if (roll == 7 && !d->helper) {
            draw_call(d);
        } else if (roll == 8 && draw_one_in(d, 4)) {
            draw_effect(d);
        } else {
            draw_let(d);
        }
    }
}

/* ---- declarations ---- */

/* Values that functions capture, and a function with rules of its own. */
static void draw_top(drawing *d) {
    const char *t = d->dtype;
    text_format(d->out, "let c: %s = 0.75;\nlet w = tensor<%s, [1, 2]>([[0.5, -1.25]]);\n", t, t);
    text_format(d->out,
                "fn back(x: tensor<%s, [N]>, r: tensor<%s, [N]>, d: tensor<%s, [N]>) -> tensor<%s, [N]> {\n"
                "  d * (1.5 - r) + 0.1 * x\n}\n",
                t, t, t, t);
    text_format(d->out,
                "fn along(x: tensor<%s, [N]>, d: tensor<%s, [N]>) -> tensor<%s, [N]> { d * cos(x) }\n"
                "@vjp(back) @jvp(along) fn own(x: tensor<%s, [N]>) -> tensor<%s, [N]> { sin(x) * 1.5 }\n"
                "@jvp(along) fn ahead(x: tensor<%s, [N]>) -> tensor<%s, [N]> { sin(x) * x }\n",
                t, t, t, t, t, t, t);
    text_format(d->out, "fn stated(x: tensor<%s, [P, Q]>, n: I32) -> tensor<%s, [P, Q]> { x[n - n:, :] }\n", t, t);
}

/* The last entries of a value, as many as the run says: a type with a name of its own for each size. */
static void draw_open_type(drawing *d, const char *shape) {
    text_format(d->out, strchr(shape, ',') != NULL ? "tensor<%s, [P, Q]>" : "tensor<%s, [P]>", d->dtype);
}

static void draw_open_end(drawing *d, const char *shape) {
    d->forms[FORM_OPEN_RESULT] = true;
    text_add(d->out, "let r = ");
    draw_end(d, shape, 0);
    text_add(d->out, ";\n");
    line(d);
    text_add(d->out, "r[mod(n, 2):]");
}

/* A function's head and body. Dims A and B come from its first parameter, which is a matrix. */
static void draw_function(drawing *d, const char *name, const char *const *given, int count, const char *result) {
    d->count = 0;
    text_format(d->out, "fn %s(", name);
    for (int i = 0; i < count; i++) {
        draw_variable *v = draw_bind(d, given[i]);
        text_format(d->out, "%s: ", v->name);
        draw_type(d, given[i]);
        text_add(d->out, ", ");
    }
    text_add(d->out, d->helper ? "n: I32) -> " : "n: I32, ids: tensor<I32, [3]>) -> ");
    bool open = !d->helper && result[0] != '\0' && draw_one_in(d, 6);
    if (open) {
        draw_open_type(d, result);
    } else {
        draw_type(d, result);
    }
    text_add(d->out, " {\n");
    d->indent = 1;
    if (d->helper) text_add(d->out, "  let ids = [n, 1, n + 1];\n");
    draw_statements(d, d->helper ? draw_below(d, 2) : 1 + draw_below(d, 3), d->helper ? 1 : 2);
    line(d);
    if (open) {
        draw_open_end(d, result);
    } else {
        draw_end(d, result, 0);
    }
    text_add(d->out, "\n}\n");
}

void draw_program(drawing *d, uint64_t seed) {
    inputs_stream mix = {seed}; /* near seeds give streams that are far apart */
    d->chance.state = inputs_next(&mix);
    d->names = d->loops = d->branches = 0;
    bool single = draw_one_in(d, 2);
    d->dtype = single ? "F32" : "F64";
    d->forms[single ? FORM_F32 : FORM_F64] = true;
    draw_top(d);
    d->helper = true;
    draw_function(d, "helper", (const char *const[]){"A,B", ""}, 2, "A,B");
    d->helper = false;
    const char *given[3] = {"A,B", any_shape(d), any_shape(d)};
    draw_function(d, "f", given, 1 + draw_below(d, 3), any_shape(d));
}
