/* Checkpointed loops with forward handlers outside. Tangents are kept by the places of values on the tape, so what is
 * dead there has to be forgotten: the records of an iteration that was only advanced over, those of a swept piece, and
 * the carries of a dropped state. */
#include "ad/checkpoint_state.h"

static value *float_carry(const checkpointed *l, int j) { return l->body.carry[l->floating[j]]; }

/* ---- where live values are ---- */

static bool add_place(context *c, checkpointed *l, value *v) {
    if (l->places == l->place_room) {
        size_t wider = l->place_room + l->place_room / 2 + 16;
        value **grown = resize(c, l->place, l->place_room * sizeof *grown, wider * sizeof *grown);
        if (grown == NULL) return false;
        l->place = grown;
        l->place_room = wider;
    }
    l->place[l->places++] = v;
    return true;
}

static bool add_carries(context *c, checkpointed *l) {
    for (int j = 0; j < l->floats; j++) {
        if (!add_place(c, l, float_carry(l, j))) return false;
    }
    return true;
}

static bool add_states(context *c, checkpointed *l) {
    for (uint32_t i = 0; i < l->states.count; i++) {
        value *carry = checkpoint_state_number(l, i)->carry;
        for (int j = 0; carry != NULL && j < l->floats; j++) {
            if (!add_place(c, l, &carry[l->floating[j]])) return false;
        }
    }
    return true;
}

/* At the handler outside the reverse handler. */
static void reclaim(context *c, checkpointed *l, uint32_t mark) {
    handler *top = c->top;
    if (top->recorders > 0) c->top = top->outer;
    ad_reclaim(c, mark, l->place, l->places);
    c->top = top;
}

/* ---- what is dead ---- */

/* Of an iteration's records only the carries' are of use. */
bool checkpoint_dual_advanced(context *c, checkpointed *l) {
    l->places = 0;
    if (!add_carries(c, l)) return false;
    reclaim(c, l, l->floor);
    return true;
}

static bool holds(const checkpointed *l, const value *carry, uint32_t index) {
    for (int j = 0; carry != NULL && j < l->floats; j++) {
        if (carry[l->floating[j]].index == index) return true;
    }
    return false;
}

/* A value that outlives a state is in the states next to it or in the carries themselves. */
static bool lives_on(const checkpointed *l, const checkpoint_state *state, uint32_t index) {
    for (int j = 0; j < l->floats; j++) {
        if (float_carry(l, j)->index == index) return true;
    }
    const value *before = NULL, *after = NULL;
    for (uint32_t i = 0; i < l->states.count; i++) {
        const checkpoint_state *other = checkpoint_state_number(l, i);
        if (other->carry == NULL || other == state) continue;
        if (other->iteration < state->iteration) before = other->carry;
        if (other->iteration > state->iteration) {
            after = other->carry;
            break;
        }
    }
    return holds(l, before, index) || holds(l, after, index);
}

/* A state of the forward run lies below what came behind the loop: its records cannot go any more, its tangents can. */
void checkpoint_dual_drop(context *c, checkpointed *l, const checkpoint_state *state) {
    if (l->adjoint == NULL) return;
    for (int j = 0; j < l->floats; j++) {
        uint32_t index = state->carry[l->floating[j]].index;
        if (index >= l->first && index < l->base && !lives_on(l, state, index)) ad_forget_tangents(c, index);
    }
}

enum { DEAD_PART = 4, DEAD_FEW = 2 };   /* forgotten when more than this part of the live ones are dead, and a few */

/* While the loop first runs; later the next swept piece takes dropped states along. */
bool checkpoint_dual_dropped(context *c, checkpointed *l) {
    size_t live = (l->states.count - l->gaps) * (size_t)l->floats, records = l->floor - l->base;
    if (l->adjoint != NULL || records <= live + live / DEAD_PART + DEAD_FEW * (size_t)l->floats) return true;
    l->places = 0;
    if (!add_carries(c, l) || !add_states(c, l)) return false;
    reclaim(c, l, l->base);
    l->floor = tape_top(c->tape);
    return true;
}

bool checkpoint_dual_swept(sweep *s, checkpointed *l, const record *r) {
    if (s->frees_records || !s->frees_saved) return true;
    l->places = 0;
    for (int j = 0; j < l->floats; j++) {
        if (!add_place(s->c, l, &l->adjoint[j])) return false;
    }
    for (uint32_t i = 0; i < r->u.region.reads; i++) {
        uint32_t index = tape_operand(s->t, r->u.region.place + r->u.region.results + i);
        if (sweep_wants(s, index) && !add_place(s->c, l, sweep_adjoint(s, index))) return false;
    }
    if (!add_states(s->c, l)) return false;
    sweep_forget(s, l->base);
    reclaim(s->c, l, l->base);
    l->floor = tape_top(s->t);
    return true;
}
