/* States at equal distances: EVERY with a given distance, AUTO with one that doubles as the loop
 * runs on, so that about sqrt(N T / S) iterations lie between two states and no more memory than
 * twice the optimum's 6 % above is in use whenever the loop ends.
 *
 * Both record every iteration and forget what was recorded when a new state is kept. Recording
 * costs less than the second run it saves: the iterations after the last state need none. */
#include "ad/schedule_policy.h"

/* A tape this much cheaper or dearer than a state is as good as free or priceless: without bounds a
 * measurement taken in an odd iteration could make AUTO keep next to nothing, or everything. */
static const double RATIO_MIN = 1.0 / 64, RATIO_MAX = 64;

static double tape_per_state(const struct schedule_state *own) {
    if (!own->measured) return 1;
    if (own->state == 0) return RATIO_MAX;
    double ratio = (double)own->taped / (double)own->state;
    return ratio < RATIO_MIN ? RATIO_MIN : ratio > RATIO_MAX ? RATIO_MAX : ratio;
}

/* Doubles the distance while there are more states than 2 d T / S at multiples of it up to i. Where
 * tapes are free the first state is enough. */
static bool widen(schedule *s, uint64_t i) {
    struct schedule_state *own = s->state;
    uint64_t before = own->spacing;
    bool free_tapes = own->measured && own->taped == 0;
    double ratio = tape_per_state(own);
    while (i >= own->spacing) {
        uint64_t states = i / own->spacing + 1;
        if (!free_tapes && (double)states <= 2 * (double)own->spacing * ratio) break;
        own->spacing *= 2;
    }
    if (own->spacing == before) return true;
    for (uint64_t kept = before; kept < i; kept += before)
        if (kept % own->spacing != 0 && !positions_push(s->c, &own->drops, kept)) return false;
    return true;
}

bool schedule_spaced_forward(schedule *s, uint64_t i, forward_order *out) {
    struct schedule_state *own = s->state;
    if (s->policy.kind == POLICY_AUTO && i % own->spacing == 0 && !widen(s, i)) return false;
    bool starts = i % own->spacing == 0;
    *out = (forward_order){.keep = starts, .tape = true, .demote = starts ? i : 0};
    return true;
}

bool schedule_spaced_backward(schedule *s, uint64_t n, backward_order *out) {
    struct schedule_state *own = s->state;
    /* What was taped from here on is swept; only the state it started from can still be there. */
    bool starts = n < own->ran && n % own->spacing == 0;
    if (starts && !positions_push(s->c, &own->drops, n)) return false;
    *out = (backward_order){
        .kind = BACKWARD_TAPE, .from = (n - 1) / own->spacing * own->spacing, .to = n};
    return true;
}
