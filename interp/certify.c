/* Certifying a function (certify.h). */
#include "interp/certify.h"

#include <stdio.h>
#include <string.h>

#include "interp/compare.h"
#include "interp/derive.h"
#include "interp/inputs.h"
#include "kernels/kernel.h"
#include "runtime/context.h"
#include "runtime/print.h"

bool certify_may(const fn_decl *fn) {
    bool floating = false;
    if (fn->type == NULL || fn->type->kind != TYPE_FN) return false;
    for (int i = 0; i < fn->count; i++) {
        const type *t = fn->type->items[i];
        if (t->kind != TYPE_TENSOR) return false;
        floating |= type_is_floating(t);
    }
    return floating && type_is_floating(fn->type->result);
}

/* ---- one function ---- */

typedef struct certifying {
    context *c;
    engine *e;                  /* the program */
    const fn_decl *fn;
    const certify_wish *w;
    certify_counts *counts;
    derivative_mode mode;
    derivative made;
    engine printed;             /* the printed program */
    const fn_decl *printed_fn;
    results captured;
    bool *wrt;
    value *args;                /* the function's, then the captured values, then seed or tangents */
    int count, room;
    bool zero_trip;
    int64_t deadline;           /* the context's own */
    bool *differs;
    text *report;
    char why[ERROR_TEXT];       /* what stopped the last run that stopped */
} certifying;

/* Prints in a mode and loads what was printed. */
static bool print_program(certifying *y, derivative_mode mode, engine *into, derivative *made) {
    derivative_wish wish = {.fn = y->fn, .mode = mode};
    text t;
    text_init(&t, y->c);
    bool ok = derive_program(y->e, &wish, &t, made);
    if (ok) {
        engine_init(into, y->c, (engine_options){.load_folder = y->e->options.load_folder});
        ok = engine_load(into, "<printed>", text_data(&t), t.length);
        if (!ok && y->c->err.code == ERROR_NONE) {
            const diag *first = into->diags.first;
            error_set(&y->c->err, ERROR_K0901, y->fn->at, "the printed gradient of `%s` is no program: %s", y->fn->known_as,
                      first != NULL ? first->message : "it does not load");
        }
    }
    text_close(&t);
    return ok;
}

static bool print_derivative(certifying *y) {
    if (!print_program(y, y->mode, &y->printed, &y->made)) return false;
    y->printed_fn = program_find(&y->printed.program, y->made.name);
    return y->printed_fn != NULL ||
           error_set(&y->c->err, ERROR_K0901, y->fn->at, "the printed gradient of `%s` has another name", y->fn->known_as);
}

/* ---- what is compared ---- */

enum { SHOWN_MOST = 64 };       /* elements of an argument that are all shown */

static void show_value(certifying *y, const char *name, const value *v) {
    text_format(y->report, "  %s = ", name);
    value_print(y->report, v, value_size(v) <= SHOWN_MOST);
    text_add_char(y->report, '\n');
}

static void report_difference(certifying *y, const char *how, const result *a, const tally *t) {
    if (*y->differs) return;
    *y->differs = true;
    static const char *const modes[] = {"value and gradient", "gradient", "vjp", "jvp"};
    text_format(y->report, "`%s`, %s: the engine (%s) and the printed program differ in %s, element %lld:\n",
                y->fn->known_as, modes[y->mode], how, a->name, (long long)t->first);
    dtype dt = (dtype)a->v.dtype;
    value engine_value = {.kind = VALUE_NUMBER, .dtype = (uint8_t)dt, .as = t->expected};
    value printed_value = {.kind = VALUE_NUMBER, .dtype = (uint8_t)dt, .as = t->found};
    size_t digits = 2 * dtype_size(dt);
    text_add(y->report, "  engine  ");
    value_print(y->report, &engine_value, true);
    text_format(y->report, " 0x%0*llx\n  printed ", (int)digits, (unsigned long long)(t->expected.bits & (digits == 8 ? 0xFFFFFFFFu : ~0ull)));
    value_print(y->report, &printed_value, true);
    text_format(y->report, " 0x%0*llx\n  where\n", (int)digits, (unsigned long long)(t->found.bits & (digits == 8 ? 0xFFFFFFFFu : ~0ull)));
    for (int i = 0; i < y->fn->count; i++) show_value(y, y->fn->params[i].name, &y->args[i]);
    for (int i = y->fn->count; i < y->count; i++) show_value(y, y->printed_fn->params[i].name, &y->args[i]);
}

static const void *elements_of(const value *v) {
    return v->kind == VALUE_TENSOR ? v->as.t->data : (const void *)&v->as;
}

/* The value, or a copy of a view, without gaps; owned. */
static bool without_gaps(context *c, const value *v, value *out) {
    *out = value_retain(*v);
    if (v->kind != VALUE_TENSOR || v->as.t->contiguous) return true;
    tensor *t = kernel_contiguous(c, v->as.t);
    value_release(c, *out);
    if (t == NULL) return false;
    *out = value_tensor(t);
    return true;
}

/* Bits of every result; a view is copied first. */
static bool compare_results(certifying *y, const char *how, const results *a, const results *b) {
    if (a->count != b->count)
        return error_set(&y->c->err, ERROR_K0901, y->fn->at, "`%s`: %d results and %d printed ones", y->fn->known_as, a->count, b->count);
    static const bounds exact;
    for (int i = 0; i < a->count; i++) {
        const value *x = &a->items[i].v, *z = &b->items[i].v;
        bool same = x->dtype == z->dtype && shape_same(value_rank(x), value_dims(x), value_rank(z), value_dims(z));
        if (!same) return error_set(&y->c->err, ERROR_K0901, y->fn->at, "`%s`: %s has another type printed", y->fn->known_as, a->items[i].name);
        value left, right;
        if (!without_gaps(y->c, x, &left)) return false;
        if (!without_gaps(y->c, z, &right)) {
            value_release(y->c, left);
            return false;
        }
        tally t = compare_elements((dtype)x->dtype, elements_of(&left), elements_of(&right), value_size(x), &exact);
        y->counts->values += t.elements;
        if (t.mismatches > 0) report_difference(y, how, &a->items[i], &t);
        value_release(y->c, left);
        value_release(y->c, right);
    }
    return true;
}

/* ---- runs ---- */

/* How a run ended. */
typedef enum ending {
    RAN,
    STOPPED,                    /* with a run-time error of the program's own */
    LEFT,                       /* it took too long */
    FAILED,                     /* out of memory, an interrupt, a time limit: the context's error says so */
} ending;

static void set_limit(certifying *y) {
    int64_t soon = monotonic_nanoseconds() + (int64_t)CERTIFY_RUN_MILLISECONDS * 1000000;
    if (y->deadline == 0 || soon < y->deadline) y->c->deadline = soon;
    y->c->clock.left = 0;
}

static ending ending_of(certifying *y, bool ok) {
    error_code code = y->c->err.code;
    y->c->deadline = y->deadline;
    y->c->clock.left = 0;
    if (ok) return RAN;
    bool late = code == ERROR_K0510 && (y->deadline == 0 || monotonic_nanoseconds() < y->deadline);
    /* A policy that asks too much is the engine's alone: the printed program has none. */
    late |= code == ERROR_K0512 || code == ERROR_K0514;
    bool outside = code == ERROR_K0506 || code == ERROR_K0507 || code == ERROR_K0508 || code == ERROR_K0509;
    if (!late && (outside || code == ERROR_K0510 || error_code_phase(code) != PHASE_run)) return FAILED;
    snprintf(y->why, sizeof y->why, "%s", y->c->err.message);
    y->counts->late += code == ERROR_K0510;
    error_clear(&y->c->err);
    return late ? LEFT : STOPPED;
}

/* The same for a program that was printed: its places mean nothing to who wrote the function. */
static ending ending_of_printed(certifying *y, bool ok) {
    ending end = ending_of(y, ok);
    if (end == FAILED) {
        y->c->err.where = (span){0, 0};
        y->c->err.note_count = 0;
        error_add_note(&y->c->err, (span){0, 0}, "in the program printed for `%s`", y->fn->known_as);
    }
    return end;
}

static ending run_engine(certifying *y, results *out) {
    int own = y->fn->count;
    const value *given = &y->args[own + y->captured.count];
    uint64_t before = y->c->stats.iterations;
    set_limit(y);
    bool ok = y->mode == DERIVATIVE_JVP ? engine_forward(y->e, y->fn, y->args, own, given, out)
                                        : engine_reverse(y->e, y->fn, y->args, own, y->wrt,
                                                         y->mode == DERIVATIVE_VJP ? given : NULL, out);
    ending end = ending_of(y, ok);
    y->counts->runs += end != LEFT;
    if (ok && y->c->stats.iterations == before) y->zero_trip = true;
    return end;
}

static ending run_printed(certifying *y, results *out) {
    set_limit(y);
    return ending_of_printed(y, engine_call(&y->printed, y->printed_fn, y->args, y->count, out));
}

typedef struct schedule_choice {
    const char *words;
    policy policy;
    int threads;
} schedule_choice;

static const schedule_choice choices[] = {
    {"full tape, 1 thread", {.kind = POLICY_ALL}, 1},
    {"full tape, 2 threads", {.kind = POLICY_ALL}, 2},
    {"k=1", {.kind = POLICY_EVERY, .every = 1}, 1},
    {"k=3", {.kind = POLICY_EVERY, .every = 3}, 2},
    {"auto", {.kind = POLICY_AUTO}, 1},
    {"slots=2", {.kind = POLICY_SLOTS, .slots = 2}, 1},
};

static void report_stop(certifying *y, const char *who) {
    *y->differs = true;
    text_format(y->report, "`%s`: only the %s stops with a run-time error (%s), where\n", y->fn->known_as, who, y->why);
    for (int i = 0; i < y->fn->count; i++) show_value(y, y->fn->params[i].name, &y->args[i]);
}

/* How the function ends, written with all of its lines. */
static ending run_whole(certifying *y) {
    engine whole = {0};
    derivative made;
    results r;
    ending end = FAILED;
    if (print_program(y, DERIVATIVE_NONE, &whole, &made)) {
        const fn_decl *fn = program_find(&whole.program, made.name);
        set_limit(y);
        end = ending_of_printed(y, engine_call(&whole, fn, y->args, y->fn->count + y->captured.count, &r));
        if (end == RAN) results_release(y->c, &r);
    }
    if (whole.c != NULL) engine_close(&whole);
    return end;
}

/* The engine alone stopped: at a value that no result needs, if the function with all of its lines stops too. */
static bool explain_stop(certifying *y) {
    char why[ERROR_TEXT];
    memcpy(why, y->why, sizeof why);
    ending end = run_whole(y);
    if (end == RAN) {
        memcpy(y->why, why, sizeof why);
        report_stop(y, "engine");
    }
    y->counts->left_out += end == STOPPED || end == LEFT;
    return end != FAILED;
}

/* One way to run the engine, against what the printed program gave. *go_on: other ways are worth it. */
static bool compare_choice(certifying *y, const schedule_choice *choice, ending printed_end, const results *printed,
                           bool *go_on) {
    results r;
    y->e->options.checkpoint = choice->policy;
    y->c->threads = choice->threads;
    ending end = run_engine(y, &r);
    if (end == FAILED) return false;
    bool ok = true;
    *go_on = end == RAN;
    if (end == RAN && printed_end == RAN) ok = compare_results(y, choice->words, &r, printed);
    if (end == RAN && printed_end == STOPPED) report_stop(y, "printed program");
    if (end == STOPPED && printed_end == RAN) ok = explain_stop(y);
    if (end == RAN) results_release(y->c, &r);
    return ok;
}

static bool compare_runs(certifying *y) {
    results printed;
    int threads = y->c->threads;
    policy before = y->e->options.checkpoint;
    y->c->threads = 1;
    ending end = run_printed(y, &printed);
    bool ok = end != FAILED, go_on = end != LEFT;
    int last = y->mode == DERIVATIVE_JVP ? 2 : (int)COUNT_OF(choices);
    for (int i = 0; i < last && ok && go_on && !*y->differs; i++) {
        ok = compare_choice(y, &choices[i], end, &printed, &go_on);
    }
    y->counts->stopped += end == STOPPED;
    if (end == RAN) results_release(y->c, &printed);
    y->e->options.checkpoint = before;
    y->c->threads = threads;
    return ok;
}

/* ---- inputs ---- */

static void release_args(certifying *y) {
    for (int i = 0; i < y->count; i++) {
        value_release(y->c, y->args[i]);
        y->args[i] = value_none();
    }
    y->count = 0;
}

/* The cotangent has the primal's type, which only a run tells. */
static ending draw_seed(certifying *y, uint64_t seed, const inputs_range *r) {
    results primal;
    set_limit(y);
    ending end = ending_of(y, engine_call(y->e, y->fn, y->args, y->fn->count, &primal));
    if (end != RAN) return end;
    const value *v = &primal.items[0].v;
    op_type shape = {.dtype = v->dtype, .rank = (uint8_t)value_rank(v)};
    if (shape.rank > 0) memcpy(shape.dims, value_dims(v), sizeof shape.dims[0] * shape.rank);
    inputs_stream s = {seed ^ 0xA5A5A5A5u};
    bool ok = inputs_draw(y->c, &s, &shape, r, &y->args[y->count]);
    y->count += ok;
    results_release(y->c, &primal);
    return ok ? RAN : FAILED;
}

static bool draw_tangents(certifying *y, uint64_t seed, const inputs_range *r) {
    inputs_stream s = {seed ^ 0x5A5A5A5Au};
    for (int i = 0; i < y->fn->count; i++) {
        if (!type_is_floating(y->fn->type->items[i])) continue;
        const value *v = &y->args[i];
        op_type shape = {.dtype = v->dtype, .rank = (uint8_t)value_rank(v)};
        if (shape.rank > 0) memcpy(shape.dims, value_dims(v), sizeof shape.dims[0] * shape.rank);
        if (!inputs_draw(y->c, &s, &shape, r, &y->args[y->count])) return false;
        y->count++;
    }
    return true;
}

/* One input in four has special values, one in four dims of 0; trip counts and indices stay small. */
static inputs_range range_of(int trial) {
    inputs_range r = {0, 4, 1, 4, 0};
    if (trial % 4 == 1) r.special = 30;
    if (trial % 4 == 2) r.least_size = 0;
    if (trial % 4 == 3) r = (inputs_range){-1, 2, 1, 5, 8};
    if (trial % 8 == 4) r = (inputs_range){0, 0, 1, 3, 4};
    return r;
}

static bool one_input(certifying *y, int trial) {
    uint64_t seed = y->w->seed * 0x9E3779B97F4A7C15u + (uint64_t)trial;
    inputs_range r = range_of(trial);
    int own = y->fn->count;
    bool ok = inputs_fill(y->c, &y->e->program, y->fn, seed, &r, y->args);
    ending end = RAN;
    y->count = own;
    for (int i = 0; ok && i < y->captured.count; i++) y->args[y->count++] = value_retain(y->captured.items[i].v);
    if (ok && y->mode == DERIVATIVE_JVP) ok = draw_tangents(y, seed, &r);
    if (ok && y->mode == DERIVATIVE_VJP) end = draw_seed(y, seed, &r);
    /* Where the function itself stops, so does everything else. */
    ok = ok && end != FAILED && (end != RAN || compare_runs(y));
    y->counts->stopped += end == STOPPED;
    release_args(y);
    return ok;
}

static bool open_certifying(certifying *y) {
    int n = y->fn->count;
    y->wrt = ARENA_ARRAY(&y->e->a, bool, n);
    if (y->wrt == NULL || !engine_values(y->e, y->made.captures, y->made.captured, &y->captured)) return false;
    for (int i = 0; i < n; i++) y->wrt[i] = type_is_floating(y->fn->type->items[i]);
    y->room = 2 * n + y->captured.count + 1;
    y->args = take(y->c, (size_t)y->room * sizeof *y->args);
    if (y->args == NULL) return false;
    for (int i = 0; i < y->room; i++) y->args[i] = value_none();
    return true;
}

static bool certify_mode(certifying *y) {
    bool ok = print_derivative(y) && open_certifying(y);
    int64_t enough = monotonic_nanoseconds() + (int64_t)CERTIFY_MODE_MILLISECONDS * 1000000;
    int i = 0;
    while (i < y->w->inputs && ok && !*y->differs && monotonic_nanoseconds() < enough) ok = one_input(y, i++);
    if (ok && !*y->differs) y->counts->untried += y->w->inputs - i;
    give_back(y->c, y->args, (size_t)y->room * sizeof *y->args);
    y->args = NULL;
    results_release(y->c, &y->captured);
    y->captured = (results){0};
    if (y->printed.c != NULL) engine_close(&y->printed);
    y->printed = (engine){0};
    return ok;
}

/* ---- the whole ---- */

static bool certify_modes(certifying *y) {
    static const derivative_mode modes[] = {DERIVATIVE_VALUE_AND_GRAD, DERIVATIVE_VJP, DERIVATIVE_JVP};
    for (int i = 0; i < (int)COUNT_OF(modes) && !*y->differs; i++) {
        y->mode = modes[i];
        if (certify_mode(y)) continue;
        /* A rule of its own for one mode is none for the other. */
        if (modes[i] != DERIVATIVE_JVP || y->c->err.code != ERROR_K0702) return false;
        error_clear(&y->c->err);
    }
    return true;
}

/* The gradient by the first floating parameter, a function with one result, certified in its turn. */
static bool certify_gradient(certifying *y) {
    int n = y->fn->count, first = 0;
    bool *wrt = ARENA_ARRAY(&y->e->a, bool, n);
    if (wrt == NULL) return false;
    while (!type_is_floating(y->fn->type->items[first])) first++;
    wrt[first] = true;
    derivative_wish wish = {.fn = y->fn, .mode = DERIVATIVE_GRAD, .wrt = wrt};
    derivative made;
    text t;
    engine once = {0};
    text_init(&t, y->c);
    bool ok = derive_program(y->e, &wish, &t, &made);
    /* Captured values would have to be given from outside at each level. */
    bool again = ok && made.captured == 0;
    if (again) {
        engine_init(&once, y->c, (engine_options){.load_folder = y->e->options.load_folder});
        ok = engine_load(&once, "<printed>", text_data(&t), t.length);
        const fn_decl *gradient = ok ? program_find(&once.program, made.name) : NULL;
        if (gradient != NULL && certify_may(gradient)) {
            certify_wish w = *y->w;
            certify_counts ignored = {0};
            w.order = 1;
            w.inputs = (w.inputs + 1) / 2;
            ok = certify_function(&once, gradient, &w, &ignored, y->differs, y->report);
            y->counts->runs += ignored.runs;
            y->counts->values += ignored.values;
            y->counts->late += ignored.late;
            y->counts->untried += ignored.untried;
            y->counts->holds[CONSTRUCT_ORDER_2] += ok;
        }
        engine_close(&once);
    }
    text_close(&t);
    return ok || y->c->err.code != ERROR_NONE ? ok
                                              : error_set(&y->c->err, ERROR_K0901, y->fn->at,
                                                          "the printed gradient of `%s` is no program", y->fn->known_as);
}

bool certify_function(engine *e, const fn_decl *fn, const certify_wish *w, certify_counts *counts, bool *differs,
                      text *report) {
    certifying y = {.c = e->c, .e = e, .fn = fn, .w = w, .counts = counts, .deadline = e->c->deadline, .differs = differs,
                    .report = report};
    bool holds[CONSTRUCT_COUNT] = {0};
    certify_survey(fn, holds);
    if (!certify_modes(&y)) return false;
    holds[CONSTRUCT_CAPTURE] = y.made.captured > 0;
    holds[CONSTRUCT_ZERO_TRIP] = y.zero_trip && holds[CONSTRUCT_LOOP];
    counts->functions++;
    for (int i = 0; i < CONSTRUCT_COUNT; i++) counts->holds[i] += holds[i];
    return w->order < 2 || *differs || certify_gradient(&y);
}
