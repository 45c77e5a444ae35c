/* The pipeline from text to results. */
#include "interp/engine.h"

#include <string.h>

#include "ad/ad.h"
#include "interp/eval.h"
#include "interp/lower.h"
#include "kernels/kernel.h"

void engine_init(engine *e, context *c, engine_options options) {
    memset(e, 0, sizeof *e);
    e->c = c;
    e->options = options;
    arena_init(&e->a, c);
}

void engine_close(engine *e) {
    code_release(e->c, e->code);
    e->code = NULL;
    arena_close(&e->a);
    tape_close(e->c);
    context_forget_loops(e->c);
}

/* ---- loading ---- */


bool engine_load(engine *e, const char *path, const char *bytes, size_t length) {
    const source_text whole = {.path = path, .text = bytes, .length = length, .first_line = 1};
    return engine_load_pieces(e, &whole, 1);
}

bool engine_load_pieces(engine *e, const source_text *pieces, int count) {
    program *p = &e->program;
    bool ok = engine_parse(e, pieces, count) && check_program(p, &e->diags) && own_program(p, &e->diags);
    return ok && e->diags.errors == 0 && e->c->err.code == ERROR_NONE;
}

bool engine_parse(engine *e, const source_text *pieces, int count) {
    if (!source_init_pieces(&e->src, &e->a, pieces, count)) return false;
    names_init(&e->names, &e->a);
    diagnostics_init(&e->diags, &e->a, &e->src);
    e->program = (program){.a = &e->a, .names = &e->names, .src = &e->src, .dims = dims_new(&e->a)};
    e->program.globals = e->options.globals;
    e->program.global_count = e->options.global_count;
    e->program.session = e->options.session;
    if (e->program.dims == NULL) return false;
    return parse_program(&e->program, &e->diags);
}

bool engine_has_main(const engine *e) { return e->program.main.body->u.block.tail != NULL; }

/* ---- running ---- */

/* An outside seed goes to the handle that the main expression itself is. */
static bool mark_outermost(engine *e, code *n) {
    while (n != NULL && n->kind == CODE_BLOCK) n = n->u.block.tail;
    if (n == NULL || n->kind != CODE_REVERSE) {
        return error_set(&e->c->err, ERROR_K0512, (span){0, 0},
                         "a seed cotangent belongs to a final expression `handle ... with reverseMode`, and "
                         "this program has none");
    }
    n->u.handle.outermost_main = true;
    return true;
}

bool engine_lower(engine *e) {
    if (e->code == NULL) e->code = lower_program(&e->program);
    return e->code != NULL;
}

static bool prepare(engine *e, evaluator *ev, value **frame) {
    if (!engine_lower(e)) return false;
    evaluator_init(ev, e->c, &e->options);
    int count = e->code->main.slots;
    *frame = take(e->c, (size_t)count * sizeof **frame);
    if (*frame == NULL) return false;
    for (int i = 0; i < count; i++) (*frame)[i] = value_none();
    for (int i = 0; i < e->program.global_count; i++) {
        (*frame)[e->program.global_symbols[i]->slot] = value_retain(*e->program.globals[i].v);
    }
    return true;
}

static void finish(engine *e, value *frame) {
    values_release(e->c, frame, e->code->main.slots);
    give_back(e->c, frame, (size_t)e->code->main.slots * sizeof *frame);
    tape_close(e->c);
}

bool engine_run(engine *e, results *out) {
    evaluator ev;
    value *frame, v;
    *out = (results){0};
    if (!prepare(e, &ev, &frame)) return false;
    bool ok = e->options.seed == NULL || mark_outermost(e, e->code->main.body);
    ok = ok && eval(&ev, frame, e->code->main.body, &v);
    if (ok) {
        ok = results_flatten(&e->a, &v, e->program.main.body->u.block.tail, out);
        value_release(e->c, v);
    }
    finish(e, frame);
    return ok;
}

static bool check_argument(engine *e, const fn_decl *fn, int i, const value *v) {
    const type *want = fn->type->items[i];
    const char *name = fn->params[i].name;
    if (want->kind != TYPE_TENSOR) {
        return error_set(&e->c->err, ERROR_K0502, fn->params[i].at,
                         "the parameter `%s` of `%s` is not a tensor, so it cannot be given from outside", name,
                         fn->known_as);
    }
    if (v->dtype == want->tensor.dtype && value_rank(v) == want->tensor.rank) return true;
    return error_set(&e->c->err, ERROR_K0502, fn->params[i].at,
                     "the argument `%s` is %s of rank %d, but `%s` asks for %s of rank %d", name,
                     dtype_name((dtype)v->dtype), value_rank(v), fn->known_as, dtype_name((dtype)want->tensor.dtype),
                     want->tensor.rank);
}

static bool call_in(engine *e, evaluator *ev, value *frame, const fn_decl *fn, const value *args, int count,
                    value *out) {
    const code_function *f = code_find(e->code, fn);
    if (f == NULL) return error_set(&e->c->err, ERROR_K0901, fn->at, "no code for `%s`", fn->known_as);
    value *own = take(e->c, (size_t)(count + f->captures) * sizeof *own);
    if (own == NULL) return false;
    value *captured = own + count;
    for (int i = 0; i < count; i++) own[i] = value_retain(args[i]);
    for (int i = 0; i < f->captures; i++) captured[i] = frame[f->captured[i]->slot];
    bool ok = eval_call(ev, f, own, captured, false, fn->at, out);
    give_back(e->c, own, (size_t)(count + f->captures) * sizeof *own);
    return ok;
}

/* The items of the top level, those of its chains of `let ... in` too. */
static bool run_items(engine *e, evaluator *ev, value *frame) {
    const code *n = e->code->main.body;
    for (const expr *block = e->program.main.body; block != NULL; block = program_goes_on(block)) {
        if (!eval_steps(ev, frame, n)) return false;
        n = n->u.block.tail;
    }
    return true;
}

static const code *final_code(const engine *e) {
    const code *n = e->code->main.body;
    for (const expr *block = e->program.main.body; block != NULL; block = program_goes_on(block)) n = n->u.block.tail;
    return n;
}

bool engine_arguments(engine *e, value *args) {
    evaluator ev;
    value *frame;
    if (!prepare(e, &ev, &frame)) return false;
    const code *call = final_code(e);
    bool ok = run_items(e, &ev, frame) && eval_args(&ev, frame, call->u.call.args, call->u.call.count, args);
    finish(e, frame);
    return ok;
}

/* ---- under a handler ---- */

/* A handle of fn whose operands are slots behind those of the top level: arguments, then seed or tangents. */
typedef struct handling_call {
    code handle;
    code *slots;                /* one a value */
    code **places;
    bool *floating;
    int *captures;
} handling_call;

static bool open_handle(engine *e, handling_call *h, const fn_decl *fn, int count, int given, bool forward) {
    const code_function *f = code_find(e->code, fn);
    if (f == NULL) return error_set(&e->c->err, ERROR_K0901, fn->at, "no code for `%s`", fn->known_as);
    int base = e->code->main.slots;
    h->slots = ARENA_ARRAY(&e->a, code, count + given);
    h->places = ARENA_ARRAY(&e->a, code *, count + given);
    h->floating = ARENA_ARRAY(&e->a, bool, count);
    h->captures = ARENA_ARRAY(&e->a, int, f->captures);
    if (h->slots == NULL || h->places == NULL || h->floating == NULL || h->captures == NULL) return false;
    for (int i = 0; i < count + given; i++) {
        h->slots[i] = (code){.kind = CODE_SLOT, .where = fn->at, .u.slot = base + i};
        h->places[i] = &h->slots[i];
    }
    for (int i = 0; i < f->captures; i++) h->captures[i] = f->captured[i]->slot;
    h->handle = (code){.kind = forward ? CODE_FORWARD : CODE_REVERSE, .where = fn->at};
    h->handle.u.handle.callee.known = (code_function *)(uintptr_t)f;
    h->handle.u.handle.callee.captures = (slots){.count = f->captures, .slot = h->captures};
    h->handle.u.handle.count = count;
    h->handle.u.handle.primals = 1;
    h->handle.u.handle.args = h->places;
    h->handle.u.handle.floating = h->floating;
    return true;
}

static bool handle_in(engine *e, const fn_decl *fn, code *handle, const value *const *values, const int *counts,
                      results *out) {
    evaluator ev;
    value *top, v;
    if (!prepare(e, &ev, &top)) return false;
    int base = e->code->main.slots, more = counts[0] + counts[1];
    value *frame = take(e->c, (size_t)(base + more) * sizeof *frame);
    bool ok = frame != NULL && eval_steps(&ev, top, e->code->main.body);
    if (ok) {
        memcpy(frame, top, (size_t)base * sizeof *frame);
        for (int i = 0; i < more; i++) {
            frame[base + i] = i < counts[0] ? values[0][i] : values[1][i - counts[0]];
        }
        ok = eval(&ev, frame, handle, &v);
    }
    if (ok) {
        ok = results_flatten(&e->a, &v, fn->body, out);
        value_release(e->c, v);
    }
    if (frame != NULL) give_back(e->c, frame, (size_t)(base + more) * sizeof *frame);
    finish(e, top);
    return ok;
}

static bool check_arguments(engine *e, const fn_decl *fn, const value *args, int count) {
    for (int i = 0; i < count; i++) {
        if (!check_argument(e, fn, i, &args[i])) return false;
    }
    return engine_lower(e);
}

bool engine_reverse(engine *e, const fn_decl *fn, const value *args, int count, const bool *wrt, const value *seed,
                    results *out) {
    handling_call h;
    *out = (results){0};
    int given = seed != NULL;
    if (!check_arguments(e, fn, args, count) || !open_handle(e, &h, fn, count, given, false)) return false;
    for (int i = 0; i < count; i++) h.floating[i] = type_is_floating(fn->type->items[i]) && wrt[i];
    if (given) h.handle.u.handle.seed = h.places[count];
    return handle_in(e, fn, &h.handle, (const value *const[]){args, seed}, (int[]){count, given}, out);
}

bool engine_forward(engine *e, const fn_decl *fn, const value *args, int count, const value *tangents,
                    results *out) {
    handling_call h;
    *out = (results){0};
    int given = 0;
    for (int i = 0; i < count; i++) given += type_is_floating(fn->type->items[i]);
    if (!check_arguments(e, fn, args, count) || !open_handle(e, &h, fn, count, given, true)) return false;
    for (int i = 0; i < count; i++) h.floating[i] = type_is_floating(fn->type->items[i]);
    h.handle.u.handle.tangents = h.places + count;
    return handle_in(e, fn, &h.handle, (const value *const[]){args, tangents}, (int[]){count, given}, out);
}

/* ---- values of the top level ---- */

bool engine_values(engine *e, const symbol *const *symbols, int count, results *out) {
    evaluator ev;
    value *frame;
    *out = (results){0};
    if (!prepare(e, &ev, &frame)) return false;
    bool ok = eval_steps(&ev, frame, e->code->main.body);
    int leaves = 0;
    for (int i = 0; ok && i < count; i++) leaves += results_leaves(&frame[symbols[i]->slot]);
    if (ok) {
        out->items = take_zeroed(e->c, (size_t)leaves * sizeof *out->items);
        ok = out->items != NULL;
    }
    for (int i = 0; ok && i < count; i++) {
        out->count += results_place(&frame[symbols[i]->slot], out->items + out->count);
    }
    finish(e, frame);
    return ok;
}

/* At the top level, outside of every handler, no value is active. */
bool engine_keep(engine *e, const symbol *const *symbols, int count, value *bound, value *last) {
    evaluator ev;
    value *frame;
    if (!prepare(e, &ev, &frame)) return false;
    bool ok = eval(&ev, frame, e->code->main.body, last);
    for (int i = 0; ok && i < count; i++) bound[i] = value_retain(frame[symbols[i]->slot]);
    finish(e, frame);
    return ok;
}

bool engine_call(engine *e, const fn_decl *fn, const value *args, int count, results *out) {
    evaluator ev;
    value *frame, v;
    *out = (results){0};
    for (int i = 0; i < count; i++) {
        if (!check_argument(e, fn, i, &args[i])) return false;
    }
    if (!prepare(e, &ev, &frame)) return false;
    bool ok = run_items(e, &ev, frame) && call_in(e, &ev, frame, fn, args, count, &v);
    if (ok) {
        ok = results_flatten(&e->a, &v, fn->body, out);
        value_release(e->c, v);
    }
    finish(e, frame);
    return ok;
}
