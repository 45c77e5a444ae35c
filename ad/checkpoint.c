/* The forward half of a checkpointed loop. */
#include "ad/checkpoint.h"

#include <string.h>

#include "ad/checkpoint_state.h"
#include "ad/performer.h"

bool checkpoint_possible(const context *c) {
    bool innermost_alone = c->top->recorders == 1 && c->top->outer->recorders == 0;
    return innermost_alone && !((const reverse_scope *)c->top)->keep;
}

/* ---- making and releasing ---- */

static bool floating_carry(const value *v) {
    return (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) && dtype_floating((dtype)v->dtype);
}

int64_t checkpoint_type_bytes(const op_type *t) {
    int64_t bytes = (int64_t)dtype_size((dtype)t->dtype);
    for (int i = 0; i < t->rank; i++) bytes *= t->dims[i];
    return bytes;
}

static size_t index_bytes(const checkpointed *l) { return 2 * (size_t)l->floats * sizeof(uint32_t); }

void checkpoint_close(context *c, checkpointed *l) {
    if (l == NULL) return;
    checkpoint_keep_close(c, l);
    for (int i = 0; i < l->tapes; i++) give_back(c, l->taped[i].from, index_bytes(l));
    give_back(c, l->taped, (size_t)l->tape_room * sizeof *l->taped);
    pile_close(c, &l->starts);
    give_back(c, l->place, l->place_room * sizeof *l->place);
    pile_close(c, &l->hashes);
    schedule_close(&l->schedule);
    trail_close(c, &l->own);
    spill_close(c, &l->disk);
    for (int i = 0; l->adjoint != NULL && i < l->floats; i++) value_release(c, l->adjoint[i]);
    give_back(c, l->adjoint, (size_t)l->floats * sizeof *l->adjoint);
    give_back(c, l->floating, (size_t)l->body.carries * sizeof *l->floating);
    give_back(c, l->init, (size_t)l->body.carries * sizeof *l->init);
    give_back(c, l->type, (size_t)l->body.carries * sizeof *l->type);
    l->body.close(c, l->body.self);
    give_back(c, l, sizeof *l);
}

/* A loop inside one that has a budget shares that. */
static policy share_budget(const context *c, const policy *p) {
    policy shared = *p;
    const budget_share *outside = &c->tape->share;
    shared.outside.left = outside->left;
    shared.outside.unclaimed = outside->unclaimed;
    shared.outside.parts = outside->parts;
    if (outside->left == SIZE_MAX) shared.most = 0;
    return shared;
}

/* For the first iteration, of which nothing is known, loops inside get little. */
static budget_share first_share(const policy *p) {
    uint64_t budget = p->most > 0 && p->outside.left < p->most ? p->outside.left : p->bytes;
    return (budget_share){.left = budget / 16, .parts = 2};
}

static checkpointed *checkpoint_new(context *c, const policy *p, loop_body body, uint8_t handlers, span where) {
    size_t live = c->mem.live;
    checkpointed *l = take_zeroed(c, sizeof *l);
    if (l == NULL) {
        body.close(c, body.self);
        return NULL;
    }
    policy shared = share_budget(c, p);
    checkpoint_account_begin(c, l);
    l->share = l->outside;
    if (p->kind == POLICY_BYTES) l->share = first_share(&shared);
    l->body = body;
    l->handlers = handlers;
    l->where = where;
    l->forward_depth = c->tape->forward_depth < 8 ? c->tape->forward_depth : 8;
    l->dual = l->forward_depth > 0;
    l->first = l->floor = l->base = tape_top(c->tape);
    l->states.element = sizeof(checkpoint_state);
    l->starts.element = sizeof(uint32_t);
    l->hashes.element = sizeof(uint64_t);
    trail_init(&l->own);
    spill_init(&l->disk);
    l->trail = c->tape->trail_mode != TRAIL_OFF ? c->tape->trail : &l->own;
    l->floating = take(c, (size_t)body.carries * sizeof *l->floating);
    l->init = take(c, (size_t)body.carries * sizeof *l->init);
    l->type = take(c, (size_t)body.carries * sizeof *l->type);
    bool ok = l->floating != NULL && l->init != NULL && l->type != NULL && schedule_open(&l->schedule, c, &shared) &&
              (p->disk == NULL || spill_open(c, &l->disk, p->disk, where));
    if (!ok) {
        if (c->err.where.end == 0) c->err.where = where;
        checkpoint_close(c, l);
        return NULL;
    }
    for (int i = 0; i < body.carries; i++) {
        l->type[i] = value_type(body.carry[i]);
        if (!floating_carry(body.carry[i])) continue;
        l->init[l->floats] = body.carry[i]->index;
        l->floating[l->floats++] = i;
    }
    l->own_bytes = c->mem.live - live;
    return l;
}

static value *float_carry(checkpointed *l, int j) { return l->body.carry[l->floating[j]]; }

trail_mark checkpoint_place(const context *c, const checkpointed *l) {
    return c->tape->trail_mode == TRAIL_READ ? c->tape->trail_at : l->trail->end;
}

/* ---- one iteration ---- */

/* A replay is held to the first run; the first run leaves what it is held to. */
static bool run_body(context *c, checkpointed *l, uint64_t i) {
    bool again = l->adjoint != NULL;
    if (!(again ? checkpoint_hash_hold(c, l, i) : checkpoint_hash_keep(c, l, i))) return false;
    return context_may_go_on(c, l->where) && l->body.run(l->body.self);
}

bool checkpoint_advance_one(context *c, checkpointed *l, uint64_t i) {
    for (int j = 0; j < l->floats && !l->dual; j++) float_carry(l, j)->index = 0;
    handler *top = c->top;
    if (top->recorders > 0) c->top = top->outer;
    bool ok = run_body(c, l, i);
    ok = ok && (!l->dual || checkpoint_dual_advanced(c, l));
    c->top = top;
    c->stats.advanced += ok;
    l->advanced += ok;
    return ok;
}

static bool refresh_carries(context *c, checkpointed *l) {
    for (int j = 0; j < l->floats; j++) {
        if (!ad_carry(c, l->handlers, l->where, float_carry(l, j))) return false;
    }
    return true;
}

bool checkpoint_tape_one(context *c, checkpointed *l, uint64_t i) {
    if (l->schedule.policy.kind == POLICY_BYTES) c->tape->share = l->share;
    bool ok = run_body(c, l, i) && refresh_carries(c, l);
    c->stats.taped += ok;
    l->taped_again += ok;
    return ok;
}

/* ---- taped runs ---- */

bool checkpoint_tape_begin(context *c, checkpointed *l, uint64_t iteration) {
    if (l->tapes == l->tape_room) {
        int wider = l->tape_room ? 2 * l->tape_room : 4;
        checkpoint_taped *grown = resize(c, l->taped, (size_t)l->tape_room * sizeof *grown, (size_t)wider * sizeof *grown);
        if (grown == NULL) return false;
        l->taped = grown;
        l->tape_room = wider;
    }
    uint32_t *indices = take(c, index_bytes(l));
    if (indices == NULL) return false;
    checkpoint_taped *run = &l->taped[l->tapes++];
    uint32_t top = tape_top(c->tape);
    *run = (checkpoint_taped){.start = iteration, .end = iteration, .first = top, .dead = top, .from = indices};
    run->to = indices + l->floats;
    run->held = checkpoint_held_bytes(c, l);
    c->tape->share = l->share;
    for (int j = 0; j < l->floats && !l->dual; j++) float_carry(l, j)->index = 0;
    if (!refresh_carries(c, l)) return false;
    for (int j = 0; j < l->floats; j++) run->from[j] = float_carry(l, j)->index;
    run->body = tape_top(c->tape);
    return true;
}

void checkpoint_tape_end(context *c, checkpointed *l, uint64_t end) {
    checkpoint_taped *run = &l->taped[l->tapes - 1];
    run->end = end;
    run->last = tape_top(c->tape);
    for (int j = 0; j < l->floats; j++) run->to[j] = float_carry(l, j)->index;
    size_t held = checkpoint_held_bytes(c, l);
    if (held > run->held && held - run->held > l->peak_tape_bytes) l->peak_tape_bytes = held - run->held;
}

void checkpoint_tape_pop(context *c, checkpointed *l) { give_back(c, l->taped[--l->tapes].from, index_bytes(l)); }

/* ---- the forward run ---- */

static void forget_tape(context *c, checkpointed *l) {
    tape_truncate(c->tape, l->taped[0].first);
    checkpoint_tape_pop(c, l);
    pile_truncate(c, &l->starts, 0);
    for (int j = 0; j < l->floats; j++) float_carry(l, j)->index = 0;
}

/* Forgets what is taped of iterations below `iteration`. */
static void demote(context *c, checkpointed *l, uint64_t iteration, uint64_t now) {
    if (l->tapes == 0) return;
    checkpoint_taped *run = &l->taped[0];
    if (iteration <= run->start) return;
    if (iteration >= now) {
        forget_tape(c, l);
        return;
    }
    /* The carries that begin `iteration` become the run's first; what is before them holds nothing more. */
    uint32_t begin = *(uint32_t *)pile_at(&l->starts, (uint32_t)(iteration - l->starts_from));
    if ((begin - run->first) / DEAD_PER_RECORD > tape_top(c->tape) - begin + PILE_CHUNK) {
        forget_tape(c, l);
        return;
    }
    tape_forget(c->tape, run->first, run->dead, begin);
    run->dead = begin;
    run->start = iteration;
    run->body = begin + (uint32_t)l->floats;
    for (int j = 0; j < l->floats; j++) run->from[j] = begin + (uint32_t)j;
}

/* Where the newest iteration's records begin, for demotion. */
static bool note_start(context *c, checkpointed *l, uint64_t iteration) {
    if (l->starts.count == 0) l->starts_from = iteration;
    uint32_t *place = pile_push(c, &l->starts);
    if (place == NULL) return false;
    *place = l->floats > 0 ? float_carry(l, 0)->index : tape_top(c->tape);
    return true;
}

static bool tape_ahead(context *c, checkpointed *l, uint64_t i) {
    if (!note_start(c, l, i) || !checkpoint_tape_one(c, l, i)) return false;
    checkpoint_tape_end(c, l, i + 1);
    return checkpoint_measure_end(c, l);
}

/* A schedule knows no places. */
static bool at_loop(context *c, const checkpointed *l, bool ok) {
    if (!ok && c->err.where.end == 0) c->err.where = l->where;
    return ok;
}

/* An iteration is measured, and those before it are forgotten. */
static bool measure_only(context *c, checkpointed *l, uint64_t i) {
    if (l->tapes > 0) forget_tape(c, l);
    checkpoint_keep_close(c, l);
    if (!checkpoint_tape_begin(c, l, i)) return false;
    checkpoint_measure_begin(c, l);
    return checkpoint_keep(c, l, i) && tape_ahead(c, l, i);
}

/* The order for iteration i. Where a budget cannot work the loop still runs to its end, for its dearest iteration says
 * what would. */
static bool order_forward(context *c, checkpointed *l, uint64_t i, forward_order *out) {
    bool ok = schedule_forward(&l->schedule, i, out);
    if (!ok && c->err.code == ERROR_K0514) {
        error_clear(&c->err);
        l->refused = ok = true;
    }
    if (l->dual) out->tape = false;
    return at_loop(c, l, ok);
}

static bool forward_one(context *c, checkpointed *l, uint64_t i) {
    if (i < 2) l->state_bytes = checkpoint_carried_bytes(l);
    forward_order order = {0};
    if (!l->refused && !order_forward(c, l, i, &order)) return false;
    if (l->refused && l->dual) return checkpoint_advance_one(c, l, i);
    if (l->refused) return measure_only(c, l, i);
    uint64_t demoted = order.tape ? order.demote : i;
    demote(c, l, demoted, i);
    if (!checkpoint_drop_unwanted(c, l)) return false;
    if (order.tape && l->tapes == 0 && !checkpoint_tape_begin(c, l, i)) return false;
    bool with_state = l->schedule.policy.kind == POLICY_BYTES; /* there each taped iteration has its state */
    if (order.tape && with_state) checkpoint_measure_begin(c, l);
    if (order.keep && !checkpoint_keep(c, l, i)) return false;
    if (order.tape && !with_state) checkpoint_measure_begin(c, l);
    if (order.tape) return tape_ahead(c, l, i);
    if (l->dual) checkpoint_measure_dual(l);
    return checkpoint_advance_one(c, l, i);
}

static bool forward(context *c, checkpointed *l) {
    for (;; l->trips++) {
        bool again;
        if (!l->body.again(l->body.self, &again)) return false;
        if (!again) return true;
        if (!forward_one(c, l, l->trips)) return false;
    }
}

/* A replay of a loop around this one knows how often it runs. */
static bool forward_again(context *c, checkpointed *l) {
    uint64_t trips = ad_past_trips(c);
    for (; l->trips < trips; l->trips++) {
        if (!forward_one(c, l, l->trips)) return false;
    }
    return true;
}

static bool forward_first(context *c, checkpointed *l) {
    tape *t = c->tape;
    uint32_t place = 0;
    bool inside = t->trail_mode == TRAIL_WRITE;
    if (inside && !ad_hold_trips(c, &place)) return false;
    trail *outer = t->trail; /* paused, where this is part of a condition */
    if (!inside) {
        t->trail = l->trail;
        t->trail_mode = TRAIL_WRITE;
    }
    bool ok = forward(c, l);
    if (!inside) {
        t->trail = outer;
        t->trail_mode = TRAIL_OFF;
    }
    return ok && (!inside || ad_keep_trips(c, place, l->trips));
}

/* The record that owns the loop, behind its results. */
static bool note_loop(context *c, checkpointed *l, const value *const *reads, int count) {
    tape *t = c->tape;
    const value **results = take(c, (size_t)l->floats * sizeof *results);
    checkpointed **place = results != NULL ? pile_push(c, &t->loops) : NULL;
    bool ok = false;
    if (place != NULL) {
        *place = l;
        for (int j = 0; j < l->floats; j++) results[j] = float_carry(l, j);
        ok = tape_note_region(t, RECORD_CHECKPOINT, l->first, t->loops.count - 1, results, l->floats, reads, count,
                              l->where);
        if (!ok) pile_truncate(c, &t->loops, t->loops.count - 1);
    }
    give_back(c, results, (size_t)l->floats * sizeof *results);
    return ok;
}

bool checkpoint_run(context *c, const policy *p, loop_body body, uint8_t handlers, const value *const *reads,
              int count, span where, uint64_t *trips) {
    checkpointed *l = checkpoint_new(c, p, body, handlers, where);
    *trips = 0;
    if (l == NULL) return false;
    bool ok = c->tape->trail_mode == TRAIL_READ ? forward_again(c, l) : forward_first(c, l);
    *trips = l->trips;
    if (ok && l->refused) ok = at_loop(c, l, schedule_refuse(&l->schedule, checkpoint_margin(l)));
    if (ok) checkpoint_account(c, l);
    ok = ok && refresh_carries(c, l) && note_loop(c, l, reads, count);
    if (!ok) checkpoint_close(c, l);
    return ok;
}
