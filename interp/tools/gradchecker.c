/* Arguments, tables and JSON of `gradcheck`. */
#include "interp/tools/gradchecker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interp/gradcheck.h"
#include "interp/inputs.h"
#include "interp/tools/arguments.h"
#include "runtime/context.h"
#include "runtime/print.h"

/* Where nobody says: small sizes, and whole numbers that counts and indices are likely to bear. */
static const inputs_range range = {.low = 0, .high = 2, .least_size = 3, .most_size = 5, .special = 0};

static const char *const verdicts[] = {
    [GRADCHECK_AGREES] = "agrees",
    [GRADCHECK_KINK] = "kink",
    [GRADCHECK_NOT_FINITE] = "not finite",
    [GRADCHECK_DIFFERS] = "DIFFERS",
};

typedef struct checker {
    const gradchecker_wish *w;
    engine *e;
    context *c;
    text *t;
    int checked, failed, open;  /* open: without a verdict, since something is not finite */
} checker;

/* ---- one function, as text ---- */

/* "x[1, 2]": the parameter, with the element where a row is of one. */
static void name_row(char *out, size_t room, const fn_decl *fn, const gradcheck_row *row, const value *x) {
    int64_t index[MAX_RANK], place = row->element;
    char at[96] = "";
    for (int k = value_rank(x) - 1; k >= 0 && place >= 0; k--) {
        index[k] = place % value_dims(x)[k];
        place /= value_dims(x)[k];
    }
    if (row->element >= 0 && value_rank(x) > 0) shape_print(at, sizeof at, value_rank(x), index);
    snprintf(out, room, "%s%s", fn->params[row->parameter].name, at);
}

/* In a column of so many places; of a mode that is there. NaN has no sign worth showing. */
static void print_number(text *t, int width, bool there, double x) {
    if (!there || isnan(x)) {
        text_format(t, " %*s", width, there ? "nan" : "-");
    } else {
        text_format(t, " %*.7g", width, x);
    }
}

static void print_kink(checker *k, const kink *at) {
    uint32_t line, column;
    source_position(&k->e->src, at->where.begin, &line, &column);
    if (at->op != NULL) {
        text_format(k->t, "    not smooth here: `%s` at line %u, column %u", at->op, line, column);
    } else {
        text_format(k->t, "    not smooth here: the run goes another way at line %u, column %u", line, column);
    }
    const char *file = source_elsewhere(&k->e->src, at->where.begin);
    if (file != NULL) text_format(k->t, " of %s", file);
    text_add_char(k->t, '\n');
}

static void print_modes(checker *k, const gradcheck *g) {
    if (!g->has_forward || !g->has_reverse) {
        text_format(k->t, "  %s mode is not checked: a rule of one's own is missing for it\n",
                    g->has_reverse ? "forward" : "reverse");
        return;
    }
    text_add(k->t, "  both modes: <u, J v> =");
    print_number(k->t, 0, true, g->pushed);
    text_add(k->t, ", <J' u, v> =");
    print_number(k->t, 0, true, g->pulled);
    bool open = g->modes_agree && !(isfinite(g->pushed) && isfinite(g->pulled));
    text_format(k->t, ": %s\n", verdicts[open ? GRADCHECK_NOT_FINITE : g->modes_agree ? GRADCHECK_AGREES : GRADCHECK_DIFFERS]);
}

static void print_table(checker *k, const fn_decl *fn, const value *args, const gradcheck *g) {
    text_format(k->t, "%s\n  %-12s %13s %13s %13s %8s  %s\n", fn->known_as, "parameter", "reverse", "forward", "differences",
                "allowed", "verdict");
    for (int i = 0; i < g->count; i++) {
        const gradcheck_row *row = &g->row[i];
        char name[160];
        name_row(name, sizeof name, fn, row, &args[row->parameter]);
        text_format(k->t, strlen(name) <= 12 ? "  %-12s" : "  %.70s\n              ", name);
        print_number(k->t, 13, g->has_reverse, row->reverse);
        print_number(k->t, 13, g->has_forward, row->forward);
        print_number(k->t, 13, true, row->difference);
        text_format(k->t, " %8.1e  %s\n", row->uncertainty, verdicts[row->verdict]);
        if (row->kink.found) print_kink(k, &row->kink);
    }
    print_modes(k, g);
}

/* ---- one function, as JSON ---- */

static void json_number(text *t, const char *name, double x) {
    text_format(t, ",\"%s\":", name);
    value v = value_f64(x);
    value_json(t, &v);
}

static void json_row(checker *k, const fn_decl *fn, const gradcheck_row *row) {
    text *t = k->t;
    text_format(t, "{\"parameter\":\"%s\",\"element\":", fn->params[row->parameter].name);
    if (row->element < 0) {
        text_add(t, "null");
    } else {
        text_format(t, "%lld", (long long)row->element);
    }
    json_number(t, "reverse", row->reverse);
    json_number(t, "forward", row->forward);
    json_number(t, "difference", row->difference);
    json_number(t, "allowed", row->uncertainty);
    text_format(t, ",\"verdict\":\"%s\",\"kink\":", verdicts[row->verdict]);
    if (row->kink.found) {
        uint32_t line, column;
        source_position(&k->e->src, row->kink.where.begin, &line, &column);
        text_format(t, "{\"op\":%s%s%s,\"line\":%u,\"column\":%u}}", row->kink.op != NULL ? "\"" : "",
                    row->kink.op != NULL ? row->kink.op : "null", row->kink.op != NULL ? "\"" : "", line, column);
    } else {
        text_add(t, "null}");
    }
}

static void json_function(checker *k, const fn_decl *fn, const gradcheck *g) {
    text *t = k->t;
    text_format(t, "%s{\"name\":\"%s\",\"parameters\":[", k->checked > 0 ? "," : "", fn->known_as);
    for (int i = 0; i < g->count; i++) {
        if (i > 0) text_add_char(t, ',');
        json_row(k, fn, &g->row[i]);
    }
    text_format(t, "],\"modes\":{\"checked\":%s", g->has_reverse && g->has_forward ? "true" : "false");
    json_number(t, "forward", g->pushed);
    json_number(t, "reverse", g->pulled);
    text_format(t, ",\"agree\":%s},\"finite\":%s,\"passed\":%s}", g->modes_agree ? "true" : "false",
                g->finite ? "true" : "false", g->passed ? "true" : "false");
}

/* ---- which, and on what ---- */

static bool check_with(checker *k, const fn_decl *fn, const value *args) {
    gradcheck_wish w = {.seed = k->w->seed, .full = k->w->full};
    gradcheck g;
    bool ok = gradcheck_run(k->e, fn, args, &w, &g);
    if (ok && k->w->json) json_function(k, fn, &g);
    if (ok && !k->w->json) print_table(k, fn, args, &g);
    if (ok) {
        k->checked++;
        k->failed += !g.passed;
        k->open += g.passed && !g.finite;
    }
    gradcheck_close(k->c, &g);
    return ok;
}

static bool check_function(checker *k, const fn_decl *fn) {
    const program *p = &k->e->program;
    arguments a;
    if (k->w->args != NULL) return check_with(k, fn, k->w->args);
    if (!arguments_gather(k->c, p, fn, k->w->given, k->w->given_count, &a)) return false;
    bool ok = inputs_fill(k->c, p, fn, k->w->seed, &range, a.values) && arguments_check(k->c, p, fn, &a) &&
              check_with(k, fn, a.values);
    arguments_release(k->c, &a);
    return ok;
}

static bool has_none(context *c, span where, const char *what, const char *name) {
    error_set(&c->err, ERROR_K0209, where, "%s%s%s has no derivative to be checked", what, name, what[0] == '`' ? "`" : "");
    error_help(&c->err, "a function with floating parameters, tensors and numbers alone, and one floating result has");
    return false;
}

/* A function that random arguments do not suit is passed over; what else goes wrong is the whole check's error. */
static bool check_if_possible(checker *k, const fn_decl *fn) {
    if (!gradcheck_may(fn) || check_function(k, fn)) return true;
    error *err = &k->c->err;
    bool unsuited = error_code_phase(err->code) == PHASE_run && err->code != ERROR_K0509 && err->code != ERROR_K0510 &&
                    err->code != ERROR_K0506 && err->code != ERROR_K0507;
    if (!unsuited) return false;
    if (!k->w->json) text_format(k->t, "%s\n  not checked: %s; give arguments by --fn and --arg\n", fn->known_as, err->message);
    error_clear(err);
    return true;
}

static bool check_all(checker *k) {
    for (const expr *block = k->e->program.main.body; block != NULL; block = program_goes_on(block)) {
        for (int i = 0; i < block->u.block.count; i++) {
            const fn_decl *fn = item_function(&block->u.block.items[i]);
            if (fn != NULL && !check_if_possible(k, fn)) return false;
        }
    }
    return k->checked > 0 || k->t->length > 0 || has_none(k->c, (span){0, 0}, "no function of the program", "");
}

static bool check_named(checker *k, const char *name) {
    const fn_decl *fn = arguments_function(k->c, &k->e->program, name);
    if (fn == NULL) return false;
    return gradcheck_may(fn) ? check_function(k, fn) : has_none(k->c, fn->at, "`", name);
}

bool gradchecker_check(engine *e, const gradchecker_wish *w, text *out, bool *differs) {
    checker k = {.w = w, .e = e, .c = e->c, .t = out};
    if (w->json) text_add(out, "{\"schema\":1,\"functions\":[");
    bool ok = w->name != NULL ? check_named(&k, w->name) : check_all(&k);
    if (ok && w->json) text_format(out, "],\"passed\":%s}\n", k.failed == 0 ? "true" : "false");
    if (ok && !w->json) {
        text_format(out, "%d function%s checked, %d of them wrong", k.checked, k.checked == 1 ? "" : "s", k.failed);
        if (k.open > 0) text_format(out, ", %d not finite at these arguments", k.open);
        text_add_char(out, '\n');
    }
    *differs = k.failed > 0;
    return ok && !out->failed;
}

bool gradchecker_run(const options *o, engine *e, output *out, bool *differs) {
    const gradchecker_wish w = {
        .name = o->value[OPTION_fn].text,
        .given = o->args,
        .given_count = o->arg_count,
        .seed = (uint64_t)o->value[OPTION_seed].number,
        .full = options_given(o, OPTION_full),
        .json = out->json,
    };
    text t;
    text_init(&t, e->c);
    bool ok = gradchecker_check(e, &w, &t, differs);
    if (ok) output_text(out, &t);
    text_close(&t);
    return ok;
}
