/* The kept states of a schedule and, while the trip count is unknown, the price of doing without
 * one of them.
 *
 * A set of states is priced by what the backward sweep would cost if the loop ended now: a sum of
 * one term for each segment between two states, where the state in row j leaves its segment all the
 * room that j states do not take. Dropping a state joins two segments and moves every later one up
 * a row. Only the segment behind the newest state changes from one iteration to the next, so all
 * the rest of the sums is kept: a question costs O(1), a push O(1) and a removal O(states). */
#include "ad/schedule_policy.h"

bool kept_push(context *c, kept_states *k, uint64_t state) {
    return positions_push(c, &k->at, state);
}

static uint64_t cost_of(const kept_states *k, uint64_t length, uint64_t row) {
    return k->cost(k->model, length, row);
}

/* Prices the segment of state `index`, which is not the newest, and what dropping that state would
 * do. */
static void price_closed(kept_states *k, size_t index) {
    const uint64_t *at = k->at.at;
    segment *g = &k->segments[index];
    g->own = cost_of(k, at[index + 1] - at[index], index);
    if (index == 0) return;
    g->moved = cost_of(k, at[index + 1] - at[index], index - 1);
    g->joined = cost_of(k, at[index + 1] - at[index - 1], index - 1);
}

static void sum_before(kept_states *k, size_t index) {
    segment *g = &k->segments[index];
    g->before = index == 0 ? 0 : saturating_add(g[-1].before, g[-1].own);
}

static uint64_t price_joined(const kept_states *k, size_t index) {
    return saturating_add(k->segments[index - 1].before, k->segments[index].joined);
}

bool kept_push_priced(context *c, kept_states *k, uint64_t state) {
    if (!positions_push(c, &k->at, state)) return false;
    if (k->room < k->at.room) {
        segment *wider =
            resize(c, k->segments, k->room * sizeof *wider, k->at.room * sizeof *wider);
        if (wider == NULL) return false;
        k->segments = wider;
        k->room = k->at.room;
    }
    size_t newest = k->at.count - 1;
    if (newest > 0) price_closed(k, newest - 1);
    sum_before(k, newest);
    if (newest < 2) {
        k->best = UINT64_MAX;
        k->best_drop = 0;
        return true;
    }
    /* The segment that has just been closed lies behind every state that could be dropped so far.
     */
    k->best = saturating_add(k->best, k->segments[newest - 1].moved);
    uint64_t price = price_joined(k, newest - 1);
    if (price < k->best) {
        k->best = price;
        k->best_drop = newest - 1;
    }
    return true;
}

static void price_from(kept_states *k, size_t first) {
    size_t newest = k->at.count - 1;
    for (size_t j = first; j <= newest; j++) {
        sum_before(k, j);
        if (j < newest) price_closed(k, j);
    }
    k->best = UINT64_MAX;
    k->best_drop = 0;
    uint64_t moved = 0;
    for (size_t j = newest; j-- > 1;) {
        uint64_t price = saturating_add(price_joined(k, j), moved);
        if (price <= k->best) {
            k->best = price;
            k->best_drop = j;
        }
        moved = saturating_add(moved, k->segments[j].moved);
    }
}

void kept_remove_priced(kept_states *k, size_t index) {
    k->at.count--;
    for (size_t j = index; j < k->at.count; j++) k->at.at[j] = k->at.at[j + 1];
    price_from(k, index - 1);
}

void kept_price_again(kept_states *k) {
    if (k->at.count > 0) price_from(k, 0);
}

void kept_close(context *c, kept_states *k) {
    give_back(c, k->segments, k->room * sizeof *k->segments);
    k->segments = NULL;
    k->room = 0;
    positions_close(c, &k->at);
}

uint64_t kept_price(const kept_states *k, uint64_t end) {
    size_t newest = k->at.count - 1;
    return saturating_add(k->segments[newest].before, cost_of(k, end - k->at.at[newest], newest));
}

uint64_t kept_price_after_drop(const kept_states *k, uint64_t end, size_t *index) {
    size_t newest = k->at.count - 1;
    const uint64_t *at = k->at.at;
    *index = 0;
    if (newest == 0) return UINT64_MAX;
    uint64_t price = UINT64_MAX;
    if (k->best_drop != 0) {
        price = saturating_add(k->best, cost_of(k, end - at[newest], newest - 1));
        *index = k->best_drop;
    }
    uint64_t without_newest = saturating_add(k->segments[newest - 1].before,
                                             cost_of(k, end - at[newest - 1], newest - 1));
    if (*index == 0 || without_newest < price) {
        price = without_newest;
        *index = newest;
    }
    return price;
}
