/* The backward half of a checkpointed loop: pieces of it are run again and swept, the last iterations first. */
#include "ad/checkpoint_state.h"
#include "ad/sweep.h"
#include "ad/tape_view.h"

/* ---- telling ---- */

/* Only of the outermost handler's sweep, whose tape was shown. */
static bool tell(const sweep *s, const replay_step *step) {
    const tape_observer *o = s->c->tape_observer;
    return o == NULL || s->t->depth > 1 || o->replayed(o->self, step);
}

static bool tell_order(const sweep *s, const checkpointed *l, const backward_order *order) {
    return tell(s, &(replay_step){
        .kind = order->kind == BACKWARD_TAPE ? REPLAY_TAPE : REPLAY_ADVANCE,
        .keeps = order->kind == BACKWARD_ADVANCE && order->keep,
        .from = order->from,
        .to = order->to,
        .where = l->where,
    });
}

/* ---- running again ---- */

/* The carried values and the place in the trail that a kept state holds, or the last advance left. */
static bool restore(sweep *s, checkpointed *l, uint64_t iteration) {
    bool here = l->in_hand && l->hand == iteration;
    l->in_hand = false;
    if (here) {
        s->t->trail_at = l->hand_mark;
        return true;
    }
    const checkpoint_state *state = checkpoint_state_at(l, iteration);
    if (state == NULL) {
        return error_set(&s->c->err, ERROR_K0901, l->where, "the schedule asks for a state that is not kept");
    }
    for (int i = 0; i < l->body.carries; i++) {
        value v;
        if (!checkpoint_kept(s->c, l, state, i, &v)) return false;
        value_release(s->c, *l->body.carry[i]);
        *l->body.carry[i] = v;
    }
    s->t->trail_at = state->mark;
    l->floor = tape_top(s->t);
    return true;
}

static bool advance(sweep *s, checkpointed *l, const backward_order *order) {
    for (uint64_t i = order->from; i < order->to; i++) {
        if (!checkpoint_advance_one(s->c, l, i)) return false;
    }
    l->in_hand = true;
    l->hand = order->to;
    l->hand_mark = s->t->trail_at;
    return !order->keep || checkpoint_keep(s->c, l, order->to);
}

static bool tape_again(sweep *s, checkpointed *l, const backward_order *order) {
    if (l->dual) checkpoint_dual_begin(s->c, l);
    if (!checkpoint_tape_begin(s->c, l, order->from)) return false;
    for (uint64_t i = order->from; i < order->to; i++) {
        if (!checkpoint_tape_one(s->c, l, i)) return false;
    }
    checkpoint_tape_end(s->c, l, order->to);
    return true;
}

/* Carries out one order, obeying the trail and under the reverse handler itself. */
static bool run_again(sweep *s, checkpointed *l, const backward_order *order) {
    tape *t = s->t;
    trail *outer = t->trail;
    trail_mode mode = t->trail_mode;
    trail_mark at = t->trail_at;
    t->trail = l->trail;
    t->trail_mode = TRAIL_READ;
    handler *top = s->c->top;
    budget_share share = t->share;
    s->c->top = &s->scope->h;
    bool ok = restore(s, l, order->from) &&
              (order->kind == BACKWARD_ADVANCE ? advance(s, l, order) : tape_again(s, l, order));
    s->c->top = top;
    t->share = share;
    t->trail = outer;
    t->trail_mode = mode;
    t->trail_at = at;
    return ok;
}

/* ---- sweeping ---- */

/* The newest taped run takes the carries' adjoints in behind it and gives those before it. */
static bool sweep_taped(sweep *s, checkpointed *l, const record *r) {
    checkpoint_taped *run = &l->taped[l->tapes - 1];
    replay_step step = {.kind = REPLAY_SWEEP, .from = run->start, .to = run->end, .where = l->where};
    if (!tell(s, &step)) return false;
    if (!sweep_extend(s, tape_top(s->t))) return false;
    for (int j = 0; j < l->floats; j++) {
        value *slot = sweep_adjoint(s, run->to[j]);
        value_release(s->c, *slot);
        *slot = l->adjoint[j];
        l->adjoint[j] = value_none();
    }
    uint32_t dead_from = s->dead_from;
    s->dead_from = UINT32_MAX; /* what is dead in one piece says nothing of the next */
    if (!sweep_down(s, run->last, run->body)) return false;
    s->dead_from = dead_from;
    for (int j = 0; j < l->floats; j++) {
        if (!sweep_zero_if_absent(s, run->from[j])) return false;
        value *slot = sweep_adjoint(s, run->from[j]);
        l->adjoint[j] = *slot;
        *slot = value_none();
    }
    sweep_cut(s, run->first);
    if (l->dual) checkpoint_dual_end(s->c, l, run->end - run->start);
    checkpoint_tape_pop(s->c, l);
    return !l->dual || checkpoint_dual_swept(s, l, r);
}

static bool sweep_iterations(sweep *s, checkpointed *l, const record *r) {
    uint64_t left = l->trips;
    while (left > 0) {
        if (l->tapes > 0 && l->taped[l->tapes - 1].end == left) {
            left = l->taped[l->tapes - 1].start;
            if (!sweep_taped(s, l, r)) return false;
            continue;
        }
        backward_order order;
        if (!schedule_backward(&l->schedule, left, &order)) return false;
        bool ok = checkpoint_drop_unwanted(s->c, l) && tell_order(s, l, &order) && run_again(s, l, &order);
        if (!ok) return false;
    }
    return true;
}

static bool take_adjoints(sweep *s, checkpointed *l, const record *r) {
    l->adjoint = take(s->c, (size_t)l->floats * sizeof *l->adjoint);
    if (l->adjoint == NULL) return false;
    for (int j = 0; j < l->floats; j++) {
        value *slot = sweep_adjoint(s, tape_operand(s->t, r->u.region.place + (uint32_t)j));
        l->adjoint[j] = *slot;
        *slot = value_none();
    }
    return true;
}

/* The adjoints of the inits, the last first: in reverse order, as on a full tape. */
static bool give_adjoints(sweep *s, checkpointed *l) {
    for (int j = l->floats - 1; j >= 0; j--) {
        if (sweep_wants(s, l->init[j]) && !sweep_accumulate(s, l->init[j], &l->adjoint[j], false)) return false;
    }
    return true;
}

bool checkpoint_sweep(sweep *s, const record *r) {
    checkpointed **owner = pile_at(&s->t->loops, r->u.region.tag);
    checkpointed *l = *owner;
    uint32_t first = l->first;
    replay_step step = {.kind = REPLAY_BEGIN, .first = first, .record = s->at, .to = l->trips, .where = l->where};
    if (!tell(s, &step) || !take_adjoints(s, l, r)) return false;
    *owner = NULL;
    uint32_t results = l->tapes > 0 ? l->taped[l->tapes - 1].last : first;
    sweep_cut(s, results);
    l->base = l->floor = tape_top(s->t);
    bool ok = sweep_iterations(s, l, r) && give_adjoints(s, l) && checkpoint_report(s->c, l);
    step.kind = REPLAY_END;
    ok = ok && tell(s, &step);
    checkpoint_close(s->c, l);
    s->next = first;
    return ok;
}
