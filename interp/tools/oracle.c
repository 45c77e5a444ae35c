/* One comparison: arguments, the interpreter, the library, and what is to be said about both. */
#include "interp/tools/oracle.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernel.h"
#include "runtime/print.h"
#include "runtime/tensor.h"

static const span nowhere = {0, 0};

typedef struct judge {
    context *c;
    engine *e;
    const oracle_case *k;
    oracle_report *r;
    fn_decl *fn;
    const char *library, *called;
    ffi_library ffi;
    native_signature signature;
    /* of one trial */
    arguments args;
    results expected;
    value *given, *wanted; /* both contiguous: arguments, then expected results */
    native_outcome *o;
} judge;

/* ---- what is said ---- */

static bool say(judge *j, bool fault, const char *line) {
    oracle_line *l = ARENA_NEW(&j->r->a, oracle_line);
    if (l == NULL || line == NULL) return false;
    *l = (oracle_line){.fault = fault, .text = line};
    *j->r->end = l;
    j->r->end = &l->next;
    if (fault) j->r->passed = false;
    return true;
}

/* A line from a format; false when out of memory. */
#define FAULT(j, ...) say((j), true, arena_format(&(j)->r->a, __VA_ARGS__))
#define NOTE(j, ...)  say((j), false, arena_format(&(j)->r->a, __VA_ARGS__))

static const char *result_name(const judge *j, int i) {
    return j->expected.items[i].name;
}

/* "while it computed", "while result `1` was read" */
static const char *doing(judge *j) {
    static const char *const words[] = {
        [STAGE_LOADING] = "while it was loaded",
        [STAGE_CALLING] = "while it computed",
    };
    native_stage stage = j->o->stage;
    if (stage != STAGE_READING && stage != STAGE_FREEING) return words[stage];
    return arena_format(&j->r->a, "while result `%s` was %s", result_name(j, j->o->at),
                        stage == STAGE_READING ? "read" : "freed");
}

static bool say_end(judge *j) {
    const native_outcome *o = j->o;
    if (o->stage == STAGE_DONE) return true;
    const char *when = doing(j);
    if (when == NULL) return false;
    if (o->late) return FAULT(j, "the library ran into the time limit %s", when);
    if (o->signal == 0)
        return FAULT(j, "the library ended its process with code %d %s", o->status, when);
    const char *name = sigabbrev_np(o->signal);
    return FAULT(j, "the library crashed with SIG%s (%s) %s", name != NULL ? name : "?",
                 strsignal(o->signal), when);
}

/* ---- arguments that were written to ---- */

static bool say_argument(judge *j, int i) {
    const native_argument *a = &j->o->argument[i];
    const char *name = j->fn->params[i].name;
    char was[NUMBER_ROOM], is[NUMBER_ROOM];
    oracle_dims place = "";
    if (a->outside && !FAULT(j, "memory next to argument `%s` was overwritten", name)) return false;
    if (a->changed == 0) return true;
    dtype t = j->signature.param[i].t;
    number_print(was, t, &a->was);
    number_print(is, t, &a->is);
    const value *v = &j->given[i];
    if (value_rank(v) > 0) {
        int64_t index[MAX_RANK];
        oracle_index(value_rank(v), value_dims(v), a->first, index);
        strcpy(place, " at ");
        shape_print(place + 4, sizeof place - 4, value_rank(v), index);
    }
    return say(
        j, !j->k->allow_overwrite,
        arena_format(
            &j->r->a,
            "argument `%s` was overwritten: %lld of %lld elements, first%s: %s before, %s after",
            name, (long long)a->changed, (long long)value_size(v), place, was, is));
}

static bool say_arguments(judge *j) {
    bool ok = true;
    for (int i = 0; ok && i < j->signature.params; i++) ok = say_argument(j, i);
    return ok;
}

/* ---- results ---- */

static bool row_major(const native_result *n, int rank) {
    int64_t dense = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (n->dims[axis] > 1 && n->strides[axis] != dense) return false;
        dense *= n->dims[axis];
    }
    return n->offset == 0;
}

/* Where a result lies, when that is not a buffer of its own from its first element on. */
static bool note_place(judge *j, int i) {
    const native_result *n = &j->o->result[i];
    const native_slot *s = &j->signature.result[i];
    const char *name = result_name(j, i);
    bool ok = true;
    if (s->by_value) return true;
    if (!row_major(n, s->rank)) {
        oracle_dims strides;
        shape_print(strides, sizeof strides, s->rank, n->strides);
        ok = NOTE(j, "result `%s` has offset %lld and strides %s", name, (long long)n->offset,
                  strides);
    }
    if (ok && n->constant) ok = NOTE(j, "result `%s` is a constant of the library", name);
    if (ok && n->argument >= 0)
        ok = NOTE(j, "result `%s` lies in argument `%s`", name, j->fn->params[n->argument].name);
    if (ok && n->shares >= 0)
        ok = NOTE(j, "result `%s` shares the buffer of `%s`", name, result_name(j, n->shares));
    return ok;
}

static const void *elements_of(const value *v) {
    return v->kind == VALUE_TENSOR ? v->as.t->data : (const void *)&v->as;
}

static tally compare_with(const judge *j, int wanted, int found) {
    return compare_elements(j->signature.result[wanted].t, elements_of(&j->wanted[wanted]),
                            (const char *)j->o + j->o->result[found].data,
                            value_size(&j->wanted[wanted]), &j->k->bounds);
}

static void add_tally(oracle_result *r, const tally *t) {
    tally *sum = &r->t;
    if (t->mismatches > 0 && sum->mismatches == 0) {
        sum->first = t->first;
        sum->expected = t->expected;
        sum->found = t->found;
    }
    sum->elements += t->elements;
    sum->mismatches += t->mismatches;
    if (t->max_ulp > sum->max_ulp) sum->max_ulp = t->max_ulp;
    if (t->max_abs > sum->max_abs) sum->max_abs = t->max_abs;
}

static bool judge_result(judge *j, int i) {
    const native_result *n = &j->o->result[i];
    oracle_result *r = &j->r->results[i];
    const value *want = &j->wanted[i];
    r->compared = n->written && n->fits;
    if (!n->written) return FAULT(j, "the library gave no result `%s`", r->name);
    if (!n->fits) {
        oracle_dims expected, found;
        shape_print(expected, sizeof expected, value_rank(want), value_dims(want));
        shape_print(found, sizeof found, value_rank(want), n->dims);
        return FAULT(j, "result `%s` has the dims %s, expected %s", r->name, found, expected);
    }
    tally t = compare_with(j, i, i);
    add_tally(r, &t);
    if (t.mismatches == 0) return note_place(j, i);
    j->r->passed = false;
    return note_place(j, i) &&
           (!t.opposite || NOTE(j, "result `%s` has the opposite sign throughout", r->name));
}

static bool alike(const judge *j, int a, int b) {
    const value *x = &j->wanted[a], *y = &j->wanted[b];
    return x->dtype == y->dtype &&
           shape_same(value_rank(x), value_dims(x), value_rank(y), value_dims(y));
}

/* Two results that are wrong and would be right in each other's place. */
static bool note_swapped(judge *j, int count) {
    for (int a = 0; a < count; a++) {
        for (int b = a + 1; b < count; b++) {
            const oracle_result *x = &j->r->results[a], *y = &j->r->results[b];
            if (!x->compared || !y->compared || x->t.mismatches == 0 || y->t.mismatches == 0)
                continue;
            if (!alike(j, a, b) || compare_with(j, a, b).mismatches > 0 ||
                compare_with(j, b, a).mismatches > 0)
                continue;
            if (!NOTE(j, "results `%s` and `%s` are in each other's place", x->name, y->name))
                return false;
        }
    }
    return true;
}

/* How many results were read before the child ended. */
static int results_read(const judge *j) {
    switch (j->o->stage) {
    case STAGE_LOADING:
    case STAGE_CALLING: return 0;
    case STAGE_READING: return j->o->at;
    case STAGE_FREEING:
    case STAGE_DONE: break;
    }
    return j->signature.results;
}

static bool judge_outcome(judge *j) {
    const native_outcome *o = j->o;
    int read = results_read(j);
    if (o->no_function) return native_library_lacks(j->c, j->library, j->called);
    if (o->trouble[0] != '\0')
        return error_set(&j->c->err, ERROR_K0603, nowhere, "the library cannot be used: %s",
                         o->trouble);
    bool ok = say_end(j);
    if (ok && o->stage > STAGE_CALLING) ok = say_arguments(j);
    if (ok && o->beyond)
        ok = FAULT(j, "the library wrote behind its last result, as if it gave more of them");
    for (int i = 0; ok && i < read; i++) ok = judge_result(j, i);
    return ok && note_swapped(j, read);
}

/* ---- a trial ---- */

static void start_clock(judge *j) {
    int64_t now = monotonic_nanoseconds(), limit = j->k->time_limit;
    j->c->deadline = limit == 0 ? 0 : limit > INT64_MAX - now ? INT64_MAX : now + limit;
    j->c->clock.left = 0;
}

/* The interpreter's run. Random integers that do not suit the program are drawn again from fewer.
 */
static bool interpret(judge *j) {
    context *c = j->c;
    const oracle_case *k = j->k;
    for (int attempt = 0;; attempt++) {
        if (!arguments_gather(c, &j->e->program, j->fn, k->args, k->arg_count, &j->args))
            return false;
        bool ok =
            k->trials == 0 || oracle_fill(c, &j->e->program, j->fn, j->r->seed, attempt, &j->args);
        ok = ok && arguments_check(c, &j->e->program, j->fn, &j->args);
        start_clock(j);
        if (ok && engine_call(j->e, j->fn, j->args.values, j->args.count, &j->expected))
            return true;
        bool unfit = ok && (c->err.code == ERROR_K0501 || c->err.code == ERROR_K0503);
        if (!unfit || k->trials == 0 || attempt + 1 == ORACLE_ATTEMPTS) return false;
        error_clear(&c->err);
        arguments_release(c, &j->args);
    }
}

static bool copy_contiguous(context *c, const value *v, value *out) {
    if (v->kind == VALUE_NUMBER) {
        *out = *v;
        return true;
    }
    tensor *t = kernel_contiguous(c, v->as.t);
    if (t == NULL) return false;
    *out = value_tensor(t);
    return true;
}

static bool copy_all(judge *j) {
    int params = j->signature.params, count = params + j->signature.results;
    j->given = take_zeroed(j->c, sizeof *j->given * (size_t)count);
    if (j->given == NULL) return false;
    j->wanted = j->given + params;
    bool ok = true;
    for (int i = 0; ok && i < params; i++)
        ok = copy_contiguous(j->c, &j->args.values[i], &j->given[i]);
    for (int i = 0; ok && i < j->signature.results; i++)
        ok = copy_contiguous(j->c, &j->expected.items[i].v, &j->wanted[i]);
    return ok;
}

static bool name_results(judge *j) {
    oracle_report *r = j->r;
    if (r->results == NULL) {
        r->count = j->expected.count;
        r->results = ARENA_ARRAY(&r->a, oracle_result, (size_t)r->count + 1);
        if (r->results == NULL) return false;
    }
    bool ok = true;
    text shown;
    text_init(&shown, j->c);
    for (int i = 0; ok && i < r->count; i++) {
        const result *from = &j->expected.items[i];
        oracle_result *to = &r->results[i];
        to->shape = (op_type){.dtype = from->v.dtype, .rank = (uint8_t)value_rank(&from->v)};
        for (int axis = 0; axis < value_rank(&from->v); axis++)
            to->shape.dims[axis] = value_dims(&from->v)[axis];
        text_clear(&shown);
        value_print_type(&shown, &from->v);
        to->name = arena_text(&r->a, from->name, strlen(from->name));
        to->type = arena_text(&r->a, text_data(&shown), shown.length);
        ok = !shown.failed && to->name != NULL && to->type != NULL;
    }
    text_close(&shown);
    return ok;
}

static void end_trial(judge *j) {
    int count = j->signature.params + j->signature.results;
    native_close(j->o);
    for (int i = 0; j->given != NULL && i < count; i++) value_release(j->c, j->given[i]);
    if (j->given != NULL) give_back(j->c, j->given, sizeof *j->given * (size_t)count);
    results_release(j->c, &j->expected);
    arguments_release(j->c, &j->args);
    j->given = NULL;
    j->o = NULL;
}

static bool trial(judge *j) {
    native_call call = {.ffi = &j->ffi,
                        .library = j->library,
                        .function = j->called,
                        .signature = &j->signature,
                        .time_limit = j->k->time_limit};
    bool ok = interpret(j) && copy_all(j) && name_results(j);
    call.args = j->given;
    call.expected = j->wanted;
    /* Lines tell of the last trial. */
    j->r->lines = NULL;
    j->r->end = &j->r->lines;
    ok = ok && native_perform(j->c, &call, &j->o) && judge_outcome(j);
    end_trial(j);
    return ok;
}

/* ---- the case ---- */

bool oracle_case_of(const options *o, context *c, oracle_case *out) {
    const option_value *v = o->value;
    *out = (oracle_case){
        .library = v[OPTION_so].text,
        .fn = v[OPTION_fn].text,
        .called = v[OPTION_symbol].text,
        .args = o->args,
        .arg_count = o->arg_count,
        .trials = v[OPTION_random].number,
        .seed = (uint64_t)v[OPTION_seed].number,
        .bounds = {.by_ulp = options_given(o, OPTION_ulp),
                   .by_size = options_given(o, OPTION_rtol) || options_given(o, OPTION_atol),
                   .ulp = (uint64_t)v[OPTION_ulp].number,
                   .rtol = v[OPTION_rtol].real,
                   .atol = v[OPTION_atol].real},
        .numerics = options_numerics(o, NUMERICS_COMPILED),
        .scalars = options_is(o, OPTION_scalars, "value")    ? SCALARS_VALUE
                   : options_is(o, OPTION_scalars, "memref") ? SCALARS_MEMREF
                                                             : SCALARS_SPELLED,
        .allow_overwrite = options_given(o, OPTION_allow_overwrite),
        .time_limit = v[OPTION_time_limit].number,
    };
    if (out->numerics == NUMERICS_COMPILED || out->bounds.by_ulp || out->bounds.by_size)
        return true;
    error_set(&c->err, ERROR_K0801, nowhere, "only compiled numerics can be held to the bit");
    error_help(&c->err, "--numerics %s needs --ulp U, or --rtol R and --atol A",
               v[OPTION_numerics].text);
    return false;
}

/* ---- all of it ---- */

static bool prepare(judge *j) {
    const oracle_case *k = j->k;
    oracle_report *r = j->r;
    j->fn = arguments_function(j->c, &j->e->program, k->fn);
    /* A name without a folder would be looked for where the system keeps its own libraries. */
    j->library =
        strchr(k->library, '/') != NULL ? k->library : arena_format(&r->a, "./%s", k->library);
    if (j->fn == NULL || j->library == NULL) return false;
    if (!native_library_check(j->c, j->library) || !ffi_open(j->c, &j->ffi)) return false;
    r->name = arena_format(&r->a, "%s", k->name != NULL ? k->name : k->fn);
    j->called = k->called != NULL ? k->called : arena_format(&r->a, "_mlir_ciface_%s", k->fn);
    return r->name != NULL && j->called != NULL &&
           native_signature_of(j->c, &r->a, &j->e->program, j->fn, k->scalars, &j->signature);
}

bool oracle_compare(context *c, engine *e, const oracle_case *k, oracle_report *out) {
    judge j = {.c = c, .e = e, .k = k, .r = out};
    *out = (oracle_report){.passed = true, .seed = k->seed};
    out->end = &out->lines;
    arena_init(&out->a, c);
    c->numerics = k->numerics;
    bool ok = prepare(&j);
    while (ok && out->passed && out->trials < (k->trials > 0 ? k->trials : 1)) {
        out->seed = k->seed + (uint64_t)out->trials++;
        ok = trial(&j);
    }
    c->deadline = 0;
    if (!ok) oracle_close(out);
    return ok;
}

void oracle_close(oracle_report *r) {
    arena_close(&r->a);
}
