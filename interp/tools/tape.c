/* Watching a run's first sweep, and showing what was seen. */
#include "interp/tools/tape.h"

#include "interp/certify.h"
#include "interp/tools/arguments.h"
#include "interp/tools/tape_print.h"
#include "runtime/context.h"

static const span nowhere = {0, 0};

typedef struct watch {
    context *c;
    tape_shown shown;
    bool json;
    text records;               /* written when the sweep begins: later the records are gone */
    tape_range range;
    int sweeps;                 /* begun so far; only the first is shown */
    tape_move *moves;
    size_t count, room;
    uint32_t left;              /* records below this one are still to be swept */
    int depth;                  /* checkpointed loops that have begun and not ended */
} watch;

/* ---- what the run tells ---- */

static bool add_move(watch *w, tape_move move) {
    if (w->count == w->room) {
        size_t wider = w->room > 0 ? 2 * w->room : 16;
        tape_move *grown = resize(w->c, w->moves, w->room * sizeof *grown, wider * sizeof *grown);
        if (grown == NULL) return false;
        w->moves = grown;
        w->room = wider;
    }
    w->moves[w->count++] = move;
    return true;
}

/* The records from `from` on that are not swept yet. */
static bool add_records(watch *w, uint32_t from) {
    uint32_t to = w->left;
    return from >= to || add_move(w, (tape_move){.kind = MOVE_RECORDS, .from = from, .to = to});
}

static bool before_sweep(void *self, const tape *t, const tape_range *range) {
    watch *w = self;
    if (w->sweeps++ > 0) return true;
    w->range = *range;
    w->left = range->end;
    (w->json ? tape_json_records : tape_print_records)(&w->records, &w->shown, t, range);
    return !w->records.failed;
}

static bool begin_loop(watch *w, const replay_step *s) {
    if (w->depth == 0) {
        if (!add_records(w, s->record + 1)) return false;
        w->left = s->first;
    }
    tape_move loop = {.kind = MOVE_LOOP, .depth = w->depth++, .to = s->to, .record = s->record, .where = s->where};
    return add_move(w, loop);
}

static bool replayed(void *self, const replay_step *s) {
    watch *w = self;
    if (w->sweeps > 1) return true;
    tape_move move = {.depth = w->depth, .from = s->from, .to = s->to, .keeps = s->keeps, .where = s->where};
    switch (s->kind) {
    case REPLAY_BEGIN: return begin_loop(w, s);
    case REPLAY_END: w->depth--; return true;
    case REPLAY_ADVANCE: move.kind = MOVE_ADVANCE; break;
    case REPLAY_TAPE: move.kind = MOVE_TAPE; break;
    case REPLAY_SWEEP:
        move.kind = MOVE_SWEEP;
        move.ahead = w->moves[w->count - 1].kind != MOVE_TAPE;
        break;
    }
    return add_move(w, move);
}

/* ---- running ---- */

static bool run_function(engine *e, const fn_decl *fn, const value *args, results *out) {
    bool *wrt = ARENA_ARRAY(&e->a, bool, fn->count);
    for (int i = 0; wrt != NULL && i < fn->count; i++) wrt[i] = type_is_floating(fn->type->items[i]);
    return wrt != NULL && engine_reverse(e, fn, args, fn->count, wrt, NULL, out);
}

static bool watched_run(watch *w, engine *e, const tape_wish *wish) {
    const tape_observer observer = {.self = w, .before_sweep = before_sweep, .replayed = replayed};
    results r = {.count = 0};
    w->c->tape_observer = &observer;
    bool ok = wish->fn != NULL ? run_function(e, wish->fn, wish->args, &r) : engine_run(e, &r);
    w->c->tape_observer = NULL;
    if (!ok) return false;
    results_release(w->c, &r);
    if (w->sweeps == 0) {
        error_set(&w->c->err, ERROR_K0512, nowhere, "nothing ran under reverseMode, so there is no tape to show");
        error_help(&w->c->err, "--fn NAME runs a function of the top level under it");
        return false;
    }
    return w->range.primal == 0 || add_records(w, w->range.body);
}

/* ---- the whole ---- */

static void print_all(watch *w, text *t) {
    text_add(t, text_data(&w->records));
    tape_print_moves(t, &w->shown, w->moves, w->count);
    if (w->sweeps > 1) text_format(t, "\nlater sweeps that are not shown: %d\n", w->sweeps - 1);
}

static void json_all(watch *w, text *t) {
    text_add(t, "{\"schema\":1,");
    text_add(t, text_data(&w->records));
    text_add_char(t, ',');
    tape_json_moves(t, &w->shown, w->moves, w->count);
    text_format(t, ",\"more_sweeps\":%d}\n", w->sweeps - 1);
}

bool tape_show(engine *e, const tape_wish *wish, text *out) {
    watch w = {.c = e->c, .json = wish->json, .shown = {.src = &e->src, .full = wish->full}};
    text_init(&w.records, e->c);
    bool ok = watched_run(&w, e, wish);
    if (ok) (w.json ? json_all : print_all)(&w, out);
    text_close(&w.records);
    give_back(e->c, w.moves, w.room * sizeof *w.moves);
    return ok && !out->failed;
}

/* The function of --fn, which has a gradient, and its arguments. */
static bool read_call(const options *o, engine *e, tape_wish *wish, arguments *a) {
    const fn_decl *fn = arguments_function(e->c, &e->program, o->value[OPTION_fn].text);
    if (fn == NULL) return false;
    if (!certify_may(fn)) {
        error_set(&e->c->err, ERROR_K0209, fn->at, "`%s` has no gradient, and so no tape", fn->known_as);
        error_help(&e->c->err, "a function with floating parameters, tensors and numbers alone, and one floating result has");
        return false;
    }
    if (!arguments_read(e->c, &e->program, fn, o->args, o->arg_count, a)) return false;
    wish->fn = fn;
    wish->args = a->values;
    return true;
}

bool tape_run(const options *o, engine *e, output *out) {
    tape_wish wish = {.json = out->json, .full = out->full};
    arguments a = {.count = 0};
    if (options_given(o, OPTION_fn) && !read_call(o, e, &wish, &a)) return false;
    text t;
    text_init(&t, e->c);
    bool ok = tape_show(e, &wish, &t);
    if (ok) output_text(out, &t);
    text_close(&t);
    arguments_release(e->c, &a);
    return ok;
}
