/* A fixed number of states. The backward sweep is binomial: the newest state left and the slots
 * from it on are all that the iterations after it can use, so each decision is the first split of a
 * smaller problem and the list of states is the whole memory of the recursion.
 *
 * Forward, with the trip count known, the same split says where the next state goes. With it
 * unknown a state is kept while a slot is free; after that every iteration prices the set as it is
 * and the set with one state exchanged for the present one, by the exact cost of the backward sweep
 * if the loop ended here, and takes the cheaper. */
#include "ad/schedule_policy.h"

struct slots_state {
    uint64_t slots;
    kept_states kept;
    uint64_t next; /* known trip count: where the next state goes */
    bool in_hand;  /* the last order advanced to `hand` without keeping it */
    uint64_t hand;
};

/* While the loop is this many times as long as there are slots, the latest iteration is recorded,
 * because it may be the last one and then needs no second run. Later on that gains a vanishing part
 * and would not pay for recording every iteration. */
enum { RECORDED_TIMES_SLOTS = 8 };

/* In advances: the state in row j owns the slots from j on. */
static uint64_t advances(const void *state, uint64_t length, uint64_t row) {
    const slots_state *own = state;
    return schedule_binomial_advances(length, own->slots - row);
}

bool schedule_slots_open(schedule *s) {
    slots_state *own = take_zeroed(s->c, sizeof *own);
    if (own == NULL) return false;
    s->state->slots = own;
    own->kept.cost = advances;
    own->kept.model = own;
    own->slots = s->policy.slots;
    return true;
}

void schedule_slots_close(schedule *s) {
    slots_state *own = s->state->slots;
    if (own == NULL) return;
    kept_close(s->c, &own->kept);
    give_back(s->c, own, sizeof *own);
    s->state->slots = NULL;
}

/* ---- the trip count is known ---- */

static bool forward_planned(schedule *s, uint64_t i, forward_order *out) {
    slots_state *own = s->state->slots;
    *out = (forward_order){.keep = i == own->next, .tape = i + 1 == s->policy.trips};
    if (!out->keep) return true;
    if (!kept_push(s->c, &own->kept, i)) return false;
    uint64_t slots = s->policy.slots - own->kept.at.count + 1, left = s->policy.trips - i;
    /* The last iteration is recorded as the forward sweep reaches it, so a state before it would be
     * of no use. */
    own->next = UINT64_MAX;
    if (slots < 2 || left < 2) return true;
    uint64_t distance = schedule_binomial_split(left, slots);
    if (distance < left - 1) own->next = i + distance;
    return true;
}

/* ---- the trip count is unknown ---- */

static bool forward_online(schedule *s, uint64_t i, forward_order *out) {
    slots_state *own = s->state->slots;
    kept_states *kept = &own->kept;
    bool recorded = i / RECORDED_TIMES_SLOTS < s->policy.slots;
    *out = (forward_order){.keep = true, .tape = recorded, .demote = i};
    if (kept->at.count == s->policy.slots) {
        size_t state;
        uint64_t price = kept_price_after_drop(kept, i, &state);
        out->keep = price < kept_price(kept, i + 1);
        if (!out->keep) return true;
        if (!positions_push(s->c, &s->state->drops, kept->at.at[state])) return false;
        kept_remove_priced(kept, state);
    }
    return kept_push_priced(s->c, kept, i);
}

bool schedule_slots_forward(schedule *s, uint64_t i, forward_order *out) {
    return s->policy.known ? forward_planned(s, i, out) : forward_online(s, i, out);
}

/* ---- backward ---- */

bool schedule_slots_backward(schedule *s, uint64_t n, backward_order *out) {
    slots_state *own = s->state->slots;
    positions *kept = &own->kept.at;
    if (own->in_hand) {
        own->in_hand = false;
        *out = (backward_order){.kind = BACKWARD_TAPE, .from = own->hand, .to = n};
        return true;
    }
    while (kept->at[kept->count - 1] >= n)
        if (!positions_push(s->c, &s->state->drops, kept->at[--kept->count])) return false;
    uint64_t from = kept->at[kept->count - 1], length = n - from;
    uint64_t slots = s->policy.slots - kept->count + 1;
    if (length == 1) {
        *out = (backward_order){.kind = BACKWARD_TAPE, .from = from, .to = n};
        return true;
    }
    uint64_t distance = slots == 1 ? length - 1 : schedule_binomial_split(length, slots);
    *out = (backward_order){.kind = BACKWARD_ADVANCE, .from = from, .to = from + distance};
    /* The state before the last iteration serves at once and once, so it needs no slot. */
    if (distance == length - 1) {
        own->in_hand = true;
        own->hand = out->to;
        return true;
    }
    out->keep = true;
    return kept_push(s->c, &own->kept, out->to);
}
