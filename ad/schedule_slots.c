/* A fixed number of states. The backward sweep is binomial: the newest state left and the slots from it on are
 * all that the iterations after it can use, so each decision is the first split of a smaller problem and the
 * list of states is the whole memory of the recursion.
 *
 * Forward, with the trip count known, the same split says where the next state goes. With it unknown a state is
 * kept while a slot is free; after that every iteration prices the set as it is and the set with one state
 * exchanged for the present one, by the exact cost of the backward sweep if the loop ended here, and takes the
 * cheapest. The prices are sums of one term for each segment between two states. Of these only the last one
 * changes from one iteration to the next, so a step without an exchange is O(1) and an exchange is O(slots). */
#include "ad/schedule_policy.h"

/* What dropping the state at the beginning of a segment involves, in advances. The segment from state j owns the
 * slots from j on. */
typedef struct segment {
    uint64_t own;       /* reversing this segment */
    uint64_t moved;     /* the same with one slot more, after an earlier state was dropped */
    uint64_t joined;    /* reversing it together with the segment before, from the slot of that one */
    uint64_t before;    /* the sum of `own` of all segments before this one */
} segment;

struct slots_state {
    positions kept;         /* rising; the first is state 0 */
    uint64_t next;          /* known trip count: where the next state goes */
    bool in_hand;           /* the last order advanced to `hand` without keeping it */
    uint64_t hand;
    segment *segments;      /* unknown trip count, all slots taken: one for each kept state */
    uint64_t best;          /* the price of the best exchange of states 1 to slots - 2, less the last segment's term */
    size_t best_state;      /* which one; 0: none */
};

/* While the loop is this many times as long as there are slots, the latest iteration is recorded, because it may
 * be the last one and then needs no second run. Later on that gains a vanishing part and would not pay for
 * recording every iteration. */
enum { RECORDED_TIMES_SLOTS = 8 };

bool schedule_slots_open(schedule *s) {
    s->state->slots = take_zeroed(s->c, sizeof *s->state->slots);
    return s->state->slots != NULL;
}

void schedule_slots_close(schedule *s) {
    slots_state *own = s->state->slots;
    if (own == NULL) return;
    if (own->segments != NULL) give_back(s->c, own->segments, s->policy.slots * sizeof(segment));
    positions_close(s->c, &own->kept);
    give_back(s->c, own, sizeof *own);
    s->state->slots = NULL;
}

/* ---- the trip count is known ---- */

static bool forward_planned(schedule *s, uint64_t i, forward_order *out) {
    slots_state *own = s->state->slots;
    *out = (forward_order){.keep = i == own->next, .tape = i + 1 == s->policy.trips};
    if (!out->keep) return true;
    if (!positions_push(s->c, &own->kept, i)) return false;
    uint64_t slots = s->policy.slots - own->kept.count + 1, left = s->policy.trips - i;
    /* The last iteration is recorded as the forward sweep reaches it, so a state before it would be of no use. */
    own->next = UINT64_MAX;
    if (slots < 2 || left < 2) return true;
    uint64_t distance = schedule_binomial_split(left, slots);
    if (distance < left - 1) own->next = i + distance;
    return true;
}

/* ---- the trip count is unknown ---- */

/* Fills in the segments from `first` on and finds the best exchange. The last segment is still growing. */
static void price_segments(slots_state *own, size_t first, uint64_t slots) {
    const uint64_t *at = own->kept.at;
    size_t last = own->kept.count - 1;
    for (size_t j = first; j <= last; j++) {
        segment *g = &own->segments[j];
        g->before = j == 0 ? 0 : saturating_add(g[-1].before, g[-1].own);
        if (j == last) break;
        g->own = schedule_binomial_advances(at[j + 1] - at[j], slots - j);
        if (j == 0) continue;
        g->moved = schedule_binomial_advances(at[j + 1] - at[j], slots - j + 1);
        g->joined = schedule_binomial_advances(at[j + 1] - at[j - 1], slots - j + 1);
    }
    own->best = UINT64_MAX;
    own->best_state = 0;
    uint64_t moved = 0;
    for (size_t j = last; j-- > 1;) {
        const segment *g = &own->segments[j];
        uint64_t price = saturating_add(saturating_add(g[-1].before, g->joined), moved);
        if (price <= own->best) {
            own->best = price;
            own->best_state = j;
        }
        moved = saturating_add(moved, g->moved);
    }
}

static bool exchange(schedule *s, size_t j, uint64_t i) {
    slots_state *own = s->state->slots;
    positions *kept = &own->kept;
    if (!positions_push(s->c, &s->state->drops, kept->at[j])) return false;
    for (size_t k = j; k + 1 < kept->count; k++) kept->at[k] = kept->at[k + 1];
    kept->at[kept->count - 1] = i;
    price_segments(own, j - 1, s->policy.slots);
    return true;
}

/* Which state to give up for state i; 0: none. All slots are taken. */
static size_t cheapest_exchange(const slots_state *own, uint64_t i) {
    size_t last = own->kept.count - 1;
    if (last == 0) return 0;
    const uint64_t *at = own->kept.at;
    const segment *g = &own->segments[last];
    uint64_t price = saturating_add(g->before, schedule_binomial_advances(i + 1 - at[last], 1));
    size_t state = 0;
    uint64_t middle = saturating_add(own->best, schedule_binomial_advances(i - at[last], 2));
    if (own->best_state != 0 && middle < price) {
        price = middle;
        state = own->best_state;
    }
    uint64_t newest =
        saturating_add(g[-1].before, schedule_binomial_advances(i - at[last - 1], 2));
    return newest < price ? last : state;
}

static bool forward_online(schedule *s, uint64_t i, forward_order *out) {
    slots_state *own = s->state->slots;
    bool recorded = i / RECORDED_TIMES_SLOTS < s->policy.slots;
    *out = (forward_order){.tape = recorded, .demote = i};
    if (own->kept.count < s->policy.slots) {
        out->keep = true;
        if (!positions_push(s->c, &own->kept, i)) return false;
        if (own->kept.count < s->policy.slots) return true;
        own->segments = take(s->c, own->kept.count * sizeof(segment));
        if (own->segments == NULL) return false;
        price_segments(own, 0, s->policy.slots);
        return true;
    }
    size_t state = cheapest_exchange(own, i);
    out->keep = state != 0;
    return state == 0 || exchange(s, state, i);
}

bool schedule_slots_forward(schedule *s, uint64_t i, forward_order *out) {
    return s->policy.known ? forward_planned(s, i, out) : forward_online(s, i, out);
}

/* ---- backward ---- */

bool schedule_slots_backward(schedule *s, uint64_t n, backward_order *out) {
    slots_state *own = s->state->slots;
    positions *kept = &own->kept;
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
    return positions_push(s->c, kept, out->to);
}
