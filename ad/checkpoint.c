/* The forward half of a checkpointed loop. */
#include "ad/checkpoint.h"

#include <string.h>

#include "ad/checkpoint_state.h"
#include "ad/performer.h"

bool checkpoint_possible(const context *c) {
    bool innermost_alone = c->top->recorders == 1 && c->top->outer->recorders == 0;
    return innermost_alone && !((const reverse_scope *)c->top)->keep;
}

/* ---- reports ---- */

static uint64_t policy_amount(const policy *p) {
    switch (p->kind) {
    case POLICY_EVERY: return p->every;
    case POLICY_SLOTS: return p->slots;
    case POLICY_BYTES: return p->bytes;
    default: return 0;
    }
}

loop_report *checkpoint_report(context *c, const policy *p, span where) {
    return context_loop(c, where, (uint8_t)p->kind, policy_amount(p));
}

bool checkpoint_kept_whole(context *c, const policy *p, span where) {
    loop_report *r = checkpoint_report(c, p, where);
    if (r != NULL) r->kept_whole++;
    return r != NULL;
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

static void release_kept(context *c, checkpointed *l, value *carry, int count) {
    for (int i = 0; i < count; i++) {
        if (carry[i].kind == VALUE_NONE) {
            spill_free(c, &l->disk, carry[i].as.i64, checkpoint_type_bytes(&l->type[i]));
        } else {
            value_release(c, carry[i]);
        }
    }
    give_back(c, carry, (size_t)l->body.carries * sizeof *carry);
}

static void release_state(context *c, checkpointed *l, checkpoint_state *s) {
    release_kept(c, l, s->carry, l->body.carries);
}

static size_t index_bytes(const checkpointed *l) { return 2 * (size_t)l->floats * sizeof(uint32_t); }

void checkpoint_close(context *c, checkpointed *l) {
    if (l == NULL) return;
    for (int i = 0; i < l->states; i++) release_state(c, l, &l->state[i]);
    give_back(c, l->state, (size_t)l->state_room * sizeof *l->state);
    for (int i = 0; i < l->tapes; i++) give_back(c, l->taped[i].from, index_bytes(l));
    give_back(c, l->taped, (size_t)l->tape_room * sizeof *l->taped);
    pile_close(c, &l->starts);
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

static checkpointed *checkpoint_new(context *c, const policy *p, loop_body body, uint8_t handlers, span where) {
    checkpointed *l = take_zeroed(c, sizeof *l);
    if (l == NULL) {
        body.close(c, body.self);
        return NULL;
    }
    l->body = body;
    l->handlers = handlers;
    l->where = where;
    l->dual = c->tape->forward_depth > 0;
    l->first = l->floor = tape_top(c->tape);
    l->starts.element = sizeof(uint32_t);
    l->hashes.element = sizeof(uint64_t);
    trail_init(&l->own);
    spill_init(&l->disk);
    l->trail = c->tape->trail_mode != TRAIL_OFF ? c->tape->trail : &l->own;
    l->floating = take(c, (size_t)body.carries * sizeof *l->floating);
    l->init = take(c, (size_t)body.carries * sizeof *l->init);
    l->type = take(c, (size_t)body.carries * sizeof *l->type);
    bool ok = l->floating != NULL && l->init != NULL && l->type != NULL && schedule_open(&l->schedule, c, p) &&
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
    return l;
}

static value *float_carry(checkpointed *l, int j) { return l->body.carry[l->floating[j]]; }

/* ---- states ---- */

trail_mark checkpoint_place(const context *c, const checkpointed *l) {
    return c->tape->trail_mode == TRAIL_READ ? c->tape->trail_at : l->trail->end;
}

static bool room_for_state(context *c, checkpointed *l) {
    if (l->states < l->state_room) return true;
    int wider = l->state_room ? 2 * l->state_room : 16;
    checkpoint_state *grown = resize(c, l->state, (size_t)l->state_room * sizeof *grown, (size_t)wider * sizeof *grown);
    if (grown == NULL) return false;
    l->state = grown;
    l->state_room = wider;
    return true;
}

/* Without a forward handler outside, indices mean records that will be gone. */
static bool keep_one(context *c, checkpointed *l, const value *v, value *out) {
    *out = *v;
    if (!l->dual) out->index = 0;
    /* A view keeps its strides, which may decide how a product of it is computed. */
    if (v->kind != VALUE_TENSOR || !v->as.t->contiguous || !spill_is_open(&l->disk)) {
        (void)value_retain(*v);
        return true;
    }
    out->kind = VALUE_NONE;
    return spill_write(c, &l->disk, v->as.t, l->where, &out->as.i64);
}

bool checkpoint_kept(context *c, checkpointed *l, const checkpoint_state *state, int carry, value *out) {
    const value *v = &state->carry[carry];
    if (v->kind != VALUE_NONE) {
        *out = value_retain(*v);
        return true;
    }
    const op_type *type = &l->type[carry];
    tensor *t = spill_read(c, &l->disk, v->as.i64, (dtype)type->dtype, type->rank, type->dims, l->where);
    if (t == NULL) return false;
    *out = value_tensor(t);
    out->index = v->index;
    return true;
}

bool checkpoint_keep(context *c, checkpointed *l, uint64_t iteration) {
    if (!room_for_state(c, l)) return false;
    value *carry = take(c, (size_t)l->body.carries * sizeof *carry);
    if (carry == NULL) return false;
    for (int i = 0; i < l->body.carries; i++) {
        if (keep_one(c, l, l->body.carry[i], &carry[i])) continue;
        release_kept(c, l, carry, i);
        return false;
    }
    int at = l->states;
    while (at > 0 && l->state[at - 1].iteration > iteration) at--;
    memmove(&l->state[at + 1], &l->state[at], (size_t)(l->states - at) * sizeof *l->state);
    l->state[at] = (checkpoint_state){.iteration = iteration, .mark = checkpoint_place(c, l), .carry = carry};
    l->states++;
    l->floor = tape_top(c->tape);
    if (l->states > l->most_states) l->most_states = l->states;
    c->stats.checkpoints++;
    return true;
}

static int find_state(const checkpointed *l, uint64_t iteration) {
    int low = 0, high = l->states;
    while (low < high) {
        int middle = (low + high) / 2;
        if (l->state[middle].iteration < iteration) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < l->states && l->state[low].iteration == iteration ? low : -1;
}

checkpoint_state *checkpoint_state_at(checkpointed *l, uint64_t iteration) {
    int at = find_state(l, iteration);
    return at < 0 ? NULL : &l->state[at];
}

void checkpoint_drop_unwanted(context *c, checkpointed *l) {
    uint64_t iteration;
    while (schedule_next_drop(&l->schedule, &iteration)) {
        int at = find_state(l, iteration);
        if (at < 0) continue;
        release_state(c, l, &l->state[at]);
        l->states--;
        memmove(&l->state[at], &l->state[at + 1], (size_t)(l->states - at) * sizeof *l->state);
    }
}

/* ---- one iteration ---- */

/* A replay is held to the first run; the first run leaves what it is held to. */
static bool run_body(context *c, checkpointed *l, uint64_t i) {
    bool again = l->adjoint != NULL;
    if (!(again ? checkpoint_hash_hold(c, l, i) : checkpoint_hash_keep(c, l, i))) return false;
    return context_may_go_on(c, l->where) && l->body.run(l->body.self);
}

/* With a forward handler outside, an iteration that is over leaves records and tangents behind, of which only the
 * carries' are still of use. */
static void forget_dead(context *c, checkpointed *l) {
    value *place[16];
    if (l->floats > (int)COUNT_OF(place)) return;
    for (int j = 0; j < l->floats; j++) place[j] = float_carry(l, j);
    ad_reclaim(c, l->floor, place, l->floats);
}

bool checkpoint_advance_one(context *c, checkpointed *l, uint64_t i) {
    for (int j = 0; j < l->floats && !l->dual; j++) float_carry(l, j)->index = 0;
    handler *top = c->top;
    if (top->recorders > 0) c->top = top->outer;
    bool ok = run_body(c, l, i);
    if (ok && l->dual) forget_dead(c, l);
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
    bool ok = run_body(c, l, i) && refresh_carries(c, l);
    c->stats.taped += ok;
    l->taped_again += ok;
    return ok;
}

/* ---- bytes ---- */

size_t checkpoint_carried_bytes(const checkpointed *l) {
    /* The lists of states, here and in the schedule, grow by doubling. */
    size_t books = 2 * sizeof(checkpoint_state) + 4 * sizeof(uint64_t);
    size_t bytes = books + (size_t)l->body.carries * sizeof(value);
    for (int i = 0; i < l->body.carries; i++) {
        const value *v = l->body.carry[i];
        if (v->kind == VALUE_TENSOR) bytes += v->as.t->base != NULL ? v->as.t->base->block : v->as.t->block;
    }
    return l->dual ? 2 * bytes : bytes; /* tangents */
}

static size_t used_bytes(const tape *t) {
    return t->records.count * sizeof(record) + t->saved.count * sizeof(value) + t->operands.count * sizeof(uint32_t);
}

/* What is alive, with the tape counted by what is used of its chunks and the loop's own books left out. */
static size_t held_bytes(const context *c, const checkpointed *l) {
    const tape *t = c->tape;
    const trail *w = l->trail;
    size_t chunks = pile_bytes(&t->records) + pile_bytes(&t->saved) + pile_bytes(&t->operands);
    size_t books = pile_bytes(&l->starts) + pile_bytes(&l->hashes) + pile_bytes(&w->words) + pile_bytes(&w->trips) +
                   pile_bytes(&w->longs) + pile_bytes(&w->values);
    return c->mem.live - chunks - books + used_bytes(t);
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
    run->held = held_bytes(c, l);
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
    size_t held = held_bytes(c, l);
    if (held > run->held && held - run->held > l->peak_tape_bytes) l->peak_tape_bytes = held - run->held;
}

void checkpoint_tape_pop(context *c, checkpointed *l) { give_back(c, l->taped[--l->tapes].from, index_bytes(l)); }

/* ---- the forward run ---- */

/* Records that a run's forgotten iterations may leave behind beyond as many as are alive: with more, the whole run is
 * forgotten. */
enum { DEAD_MOST = 1024 };

static bool forget_tape(context *c, checkpointed *l) {
    tape_truncate(c->tape, l->taped[0].first);
    checkpoint_tape_pop(c, l);
    pile_truncate(c, &l->starts, 0);
    for (int j = 0; j < l->floats; j++) float_carry(l, j)->index = 0;
    return true;
}

/* Forgets what is taped of iterations below `iteration`. */
static bool demote(context *c, checkpointed *l, uint64_t iteration, uint64_t now) {
    if (l->tapes == 0) return true;
    checkpoint_taped *run = &l->taped[0];
    if (iteration <= run->start) return true;
    l->demoted = true;
    if (iteration >= now) return forget_tape(c, l);
    /* The carries that begin `iteration` become the run's first; what is before them holds nothing more. */
    uint32_t begin = *(uint32_t *)pile_at(&l->starts, (uint32_t)(iteration - l->starts_from));
    if (begin - run->first > tape_top(c->tape) - begin + DEAD_MOST) return forget_tape(c, l);
    for (; run->dead < begin; run->dead++) tape_unsave(c->tape, tape_record(c->tape, run->dead));
    run->start = iteration;
    run->body = begin + (uint32_t)l->floats;
    for (int j = 0; j < l->floats; j++) run->from[j] = begin + (uint32_t)j;
    return true;
}

/* Where the newest iteration's records begin, for demotion. */
static bool note_start(context *c, checkpointed *l, uint64_t iteration) {
    if (l->starts.count == 0) l->starts_from = iteration;
    uint32_t *place = pile_push(c, &l->starts);
    if (place == NULL) return false;
    *place = l->floats > 0 ? float_carry(l, 0)->index : tape_top(c->tape);
    return true;
}

/* What the schedule itself takes for its table of costs: measured, a small part of what schedule_mixed.c allows. */
static size_t table_bytes(const policy *p) {
    const size_t least = 16 << 10, most = 256 << 10;
    size_t share = (size_t)(p->bytes / 32);
    if (p->kind != POLICY_BYTES) return 0;
    return share < least ? least : share > most ? most : share;
}

/* What the sweep of one iteration needs beside states and tape: the carries' adjoints before and after it and what
 * rules make in between, taken as four states or twice what the body itself needs for a while; the unused ends of
 * the tape's chunks; the records that forgotten iterations left; the schedule's table. */
static size_t fixed_bytes(const checkpointed *l, size_t state) {
    size_t chunks = PILE_CHUNK * (sizeof(record) + 2 * sizeof(value) + sizeof(uint32_t));
    size_t dead = l->tapes > 0 ? (l->taped[0].dead - l->taped[0].first) * sizeof(record) : 0;
    size_t work = 4 * state > 2 * l->work_bytes ? 4 * state : 2 * l->work_bytes;
    return work + chunks + dead + (l->demoted ? table_bytes(&l->schedule.policy) : 0);
}

/* Tells the schedule what states and taped iterations cost. */
static void measure(checkpointed *l, size_t grown) {
    size_t state = checkpoint_carried_bytes(l);
    size_t held = spill_is_open(&l->disk) ? sizeof(checkpoint_state) + (size_t)l->body.carries * sizeof(value) : state;
    l->taped_bytes = grown;
    schedule_measure(&l->schedule, held, grown, fixed_bytes(l, state));
}

static bool tape_ahead(context *c, checkpointed *l, uint64_t i) {
    if (l->tapes == 0 && !checkpoint_tape_begin(c, l, i)) return false;
    if (!note_start(c, l, i)) return false;
    size_t before = held_bytes(c, l), live = c->mem.live;
    uint32_t records = tape_top(c->tape);
    c->mem.high = live;
    if (!checkpoint_tape_one(c, l, i)) return false;
    checkpoint_tape_end(c, l, i + 1);
    size_t after = held_bytes(c, l), floor = c->mem.live > live ? c->mem.live : live;
    if (c->mem.high - floor > l->work_bytes) l->work_bytes = c->mem.high - floor;
    /* It may retain nothing, and free something; in the sweep each record has an adjoint. */
    measure(l, (after > before ? after - before : 0) + (tape_top(c->tape) - records) * sizeof(value));
    return true;
}

/* A schedule knows no places. */
static bool at_loop(context *c, const checkpointed *l, bool ok) {
    if (!ok && c->err.where.end == 0) c->err.where = l->where;
    return ok;
}

static bool forward_one(context *c, checkpointed *l, uint64_t i) {
    forward_order order;
    if (i < 2) l->state_bytes = checkpoint_carried_bytes(l);
    if (!at_loop(c, l, schedule_forward(&l->schedule, i, &order))) return false;
    if (l->dual) order.tape = false;
    uint64_t demoted = order.tape ? order.demote : i;
    if (!demote(c, l, demoted, i)) return false;
    checkpoint_drop_unwanted(c, l);
    if (order.keep && !checkpoint_keep(c, l, i)) return false;
    if (order.tape) return tape_ahead(c, l, i);
    if (l->dual) measure(l, checkpoint_carried_bytes(l));
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
    ok = ok && refresh_carries(c, l) && note_loop(c, l, reads, count);
    if (!ok) checkpoint_close(c, l);
    return ok;
}
