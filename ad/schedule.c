/* The face of the checkpoint schedules: opening, closing and handing each question to its policy.
 */
#include "ad/schedule_policy.h"

bool positions_push(context *c, positions *p, uint64_t position) {
    if (p->count == p->room) {
        /* By a quarter, since the old list and the new one are there at once and count. */
        size_t room = p->room + p->room / 4 + 8;
        uint64_t *at = resize(c, p->at, p->room * sizeof *at, room * sizeof *at);
        if (at == NULL) return false;
        p->at = at;
        p->room = room;
    }
    p->at[p->count++] = position;
    return true;
}

void positions_close(context *c, positions *p) {
    give_back(c, p->at, p->room * sizeof *p->at);
    *p = (positions){0};
}

bool schedule_drop_range(schedule *s, uint64_t from, uint64_t to) {
    struct schedule_state *own = s->state;
    if (from >= to) return true;
    if (own->drop_from == own->drop_to) own->drop_from = own->drop_to = from;
    if (own->drop_to == from) {
        own->drop_to = to;
        return true;
    }
    for (uint64_t state = from; state < to; state++)
        if (!positions_push(s->c, &own->drops, state)) return false;
    return true;
}

static bool refuse(schedule *s, const char *option) {
    return error_set(&s->c->err, ERROR_K0512, (span){0, 0}, "%s must be at least 1", option);
}

bool schedule_open(schedule *s, context *c, const policy *p) {
    *s = (schedule){.c = c, .policy = *p};
    if (p->kind == POLICY_ALL) return true;
    if (p->kind == POLICY_EVERY && p->every == 0) return refuse(s, "every");
    if (p->kind == POLICY_SLOTS && p->slots == 0) return refuse(s, "slots");
    s->state = take_zeroed(c, sizeof *s->state);
    if (s->state == NULL) return false;
    s->state->spacing = p->kind == POLICY_EVERY ? p->every : 1;
    bool opened = true;
    if (p->kind == POLICY_SLOTS) opened = schedule_slots_open(s);
    if (p->kind == POLICY_BYTES) opened = schedule_bytes_open(s);
    if (!opened) schedule_close(s);
    return opened;
}

void schedule_close(schedule *s) {
    if (s->state == NULL) return;
    schedule_slots_close(s);
    schedule_bytes_close(s);
    positions_close(s->c, &s->state->drops);
    give_back(s->c, s->state, sizeof *s->state);
    s->state = NULL;
}

void schedule_measure(schedule *s, size_t state, size_t tape, size_t fixed, size_t spare) {
    struct schedule_state *own = s->state;
    if (own == NULL) return;
    own->measured = true;
    own->state = state;
    own->taped = tape;
    own->tape = tape > state ? tape - state : 0;
    own->fixed = fixed;
    own->spare = spare;
    if (own->bytes != NULL) schedule_bytes_measure(s);
}

bool schedule_forward(schedule *s, uint64_t i, forward_order *out) {
    if (s->state != NULL) s->state->ran = i + 1;
    switch (s->policy.kind) {
    case POLICY_EVERY:
    case POLICY_AUTO: return schedule_spaced_forward(s, i, out);
    case POLICY_SLOTS: return schedule_slots_forward(s, i, out);
    case POLICY_BYTES: return schedule_bytes_forward(s, i, out);
    case POLICY_ALL: break;
    }
    *out = (forward_order){.tape = true};
    return true;
}

bool schedule_backward(schedule *s, uint64_t n, backward_order *out) {
    switch (s->policy.kind) {
    case POLICY_EVERY:
    case POLICY_AUTO: return schedule_spaced_backward(s, n, out);
    case POLICY_SLOTS: return schedule_slots_backward(s, n, out);
    case POLICY_BYTES: return schedule_bytes_backward(s, n, out);
    case POLICY_ALL: break;
    }
    /* Everything was taped, so nobody asks; the answer would be the whole loop. */
    *out = (backward_order){.kind = BACKWARD_TAPE, .from = 0, .to = n};
    return true;
}

bool schedule_next_drop(schedule *s, uint64_t *state) {
    struct schedule_state *own = s->state;
    if (own == NULL) return false;
    if (own->drop_from < own->drop_to) {
        *state = own->drop_from++;
        return true;
    }
    if (own->drops.count == 0) return false;
    *state = own->drops.at[--own->drops.count];
    return true;
}
