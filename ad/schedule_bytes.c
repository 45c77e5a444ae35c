/* A budget of bytes for states and tapes together.
 *
 * Every iteration is recorded and its state kept while all of it fits, so a loop that fits runs
 * once. After that the recorded iterations are a window that ends at the present one, with kept
 * states below it. A state inside the window shares its buffers with the tape: m taped iterations
 * cost m + 1 states and m tapes. Two states and a tape are needed to tape a single iteration from a
 * state in hand and are set aside; of the rest a kept state takes one state, and a further
 * iteration of the window one state and one tape.
 *
 * With the trip count known the states go where schedule_mixed.c puts them. With it unknown, each
 * time the window no longer fits the cheapest of these is done, by the price of the backward sweep
 * if the loop ended now: moving the window on, which lengthens the segment before it; keeping the
 * state at its beginning and moving on from there; or dropping a state, with or without that. The
 * backward sweep is again optimal for what is left. */
#include "ad/schedule_policy.h"

struct bytes_state {
    kept_states kept;    /* those below the window; their prices are by `model` */
    uint64_t start, end; /* the window of recorded iterations; all its states are kept */
    bool planned;        /* the trip count is known and so far all went as planned */
    bool taping;         /* planned: everything from the window on is taped */
    uint64_t next;       /* planned: where the next state goes or the window begins */
    bool in_hand;        /* the last backward order advanced to `hand` without keeping it */
    uint64_t hand;

    /* The sizes at present, none of them 0. */
    size_t state, taped;  /* a kept state; one more iteration of the window */
    size_t smallest;      /* the budget that the loop needs at least */
    uint64_t bytes;       /* the budget that it has */
    uint64_t free, depth; /* beyond what is set aside, and how many states that is */
    bool feasible;        /* the budget covers what is set aside */
    bool over;            /* not all that was taped could stay: costs have to be known */
    uint64_t entries;     /* that their table may have */
    bool settled;         /* they were measured twice the same */
    mixed model;          /* by the sizes when it was made */
    bool model_stale;
    uint64_t model_made; /* at this iteration */
};

/* A first iteration may cost more than those that follow, so a plan for a known trip count waits
 * for two measurements that agree, but not for more iterations than this. Until then all is
 * recorded, and the plan finds every state it wants.
 */
enum { SETTLING = 4 };

/* A loop that does not fit has a table of costs, which is a part of its budget: a thirty-second of what is free, or an
 * eighth where that is little, within this. */
enum { TABLE_LEAST = 16 << 10, TABLE_MOST = 256 << 10 };

bool schedule_bytes_open(schedule *s) {
    bytes_state *own = take_zeroed(s->c, sizeof *own);
    if (own == NULL) return false;
    s->state->bytes = own;
    own->kept.cost = mixed_cost;
    own->kept.model = &own->model;
    own->planned = s->policy.known;
    return true;
}

void schedule_bytes_close(schedule *s) {
    bytes_state *own = s->state->bytes;
    if (own == NULL) return;
    kept_close(s->c, &own->kept);
    mixed_close(s->c, &own->model);
    give_back(s->c, own, sizeof *own);
    s->state->bytes = NULL;
}

/* What reaches and table take of `free`, and the entries that the table may have. Two states come first. */
static uint64_t books(uint64_t free, uint64_t state, uint64_t *entries) {
    uint64_t reaches = mixed_reach_bytes(free, state), first = saturating_add(reaches, 2 * state);
    *entries = 0;
    if (free <= first || !mixed_has_table(free, state)) return reaches;
    uint64_t table = free / 8 < TABLE_LEAST ? free / 8 : free / 32 > TABLE_LEAST ? free / 32 : TABLE_LEAST;
    if (table > TABLE_MOST) table = TABLE_MOST;
    if (table > free - first) table = free - first;
    *entries = table / sizeof(uint32_t);
    return reaches + table;
}

/* Two states and a tape. */
static size_t set_aside(size_t state, size_t tape, size_t fixed) {
    return saturating_add(fixed, saturating_add(state, tape > state ? tape : state));
}

/* The budget of a loop that needs so much at least. Inside another one it gets its part of what is left when each has
 * the least, and what it needs in any case. */
static uint64_t budget_for(const schedule *s, uint64_t smallest) {
    const policy *p = &s->policy;
    if (p->most == 0) return p->bytes;
    uint64_t least = smallest > p->outside.unclaimed ? smallest : p->outside.unclaimed, wished = smallest;
    if (p->outside.left > least) wished += (p->outside.left - least) / (p->outside.parts > 0 ? p->outside.parts : 1);
    return wished < p->most ? wished : p->most;
}

/* Divides the budget anew. */
static void divide(schedule *s) {
    const struct schedule_state *measured = s->state;
    bytes_state *own = s->state->bytes;
    size_t state = measured->state > 0 ? measured->state : 1;
    size_t taped = saturating_add(state, measured->tape);
    size_t aside = set_aside(state, taped, measured->fixed);
    bool lone = s->policy.known && s->policy.trips <= 1;
    own->smallest = saturating_add(aside - measured->spare, lone ? 0 : mixed_least_free(state));
    own->bytes = budget_for(s, own->smallest);
    bool feasible = aside <= own->bytes;
    uint64_t free = feasible ? own->bytes - aside : 0;
    if (own->over) {
        uint64_t taken = books(free, state, &own->entries);
        free = taken < free ? free - taken : 0;
    }
    own->settled = state == own->state && taped == own->taped && free == own->free;
    if (!own->settled) own->model_stale = true;
    own->state = state;
    own->taped = taped;
    own->feasible = feasible;
    own->free = free;
    own->depth = mixed_depth(free, state);
}

void schedule_bytes_measure(schedule *s) { divide(s); }

/* From now on room is kept for what costs take. */
static void run_over(schedule *s) {
    bytes_state *own = s->state->bytes;
    if (own->over) return;
    own->over = true;
    divide(s);
}

size_t schedule_smallest(const schedule *s) { return s->state->bytes->smallest; }

size_t schedule_budget(const schedule *s) { return s->state->bytes->bytes; }

bool schedule_fits(const schedule *s) { return !s->state->bytes->over; }

loop_room schedule_room(const schedule *s) {
    const bytes_state *own = s->state->bytes;
    return (loop_room){.state = own->state, .taped = own->taped, .free = own->free};
}

size_t schedule_beyond(const schedule *s, size_t state, size_t tape, size_t fixed) {
    size_t needed = saturating_add(set_aside(state, tape, fixed), mixed_least_free(state > 0 ? state : 1));
    uint64_t bytes = budget_for(s, needed);
    return bytes > needed ? bytes - needed : 0;
}

bool schedule_refuse(schedule *s, size_t margin) {
    size_t smallest = s->state->bytes->smallest + margin;
    error_set(&s->c->err, ERROR_K0514, (span){0, 0},
              "a budget of %llu bytes cannot hold one iteration of this loop, which takes at least "
              "%zu bytes",
              (unsigned long long)s->policy.bytes, smallest);
    error_help(&s->c->err, "give it memory=%zu or more", smallest);
    return false;
}

/* How many iterations the window may have above `rows` kept states; none when these do not fit
 * themselves. */
static uint64_t window_room(const bytes_state *own, uint64_t rows) {
    return rows > own->depth ? 0 : 1 + (own->free - rows * own->state) / own->taped;
}

/* Makes the model anew when the sizes have changed; on the way forward not again before the loop is
 * twice as long: sizes that change all the time must not cost a table each time, and somewhat wrong
 * prices still lead to a valid schedule. */
static bool prepare(schedule *s, uint64_t n, bool forward) {
    bytes_state *own = s->state->bytes;
    bool changed = false;
    if (own->model_stale && !(forward && own->model_made > s->state->ran / 2)) {
        own->model.entries = own->entries;
        mixed_set(s->c, &own->model, own->free, own->state, own->taped);
        own->model_stale = false;
        own->model_made = s->state->ran;
        changed = true;
    }
    if (!mixed_cover(s->c, &own->model, n, &changed)) return false;
    if (forward && changed) kept_price_again(&own->kept);
    return true;
}

/* ---- the trip count is unknown ---- */

static bool drop_kept(schedule *s, size_t index) {
    kept_states *kept = &s->state->bytes->kept;
    if (!positions_push(s->c, &s->state->drops, kept->at.at[index])) return false;
    kept_remove_priced(kept, index);
    return true;
}

/* The window begins `by` iterations later; the state where it began is kept or not. */
static bool move_window(schedule *s, uint64_t by, bool keep) {
    bytes_state *own = s->state->bytes;
    uint64_t from = own->start;
    own->start += by;
    if (!keep) return schedule_drop_range(s, from, own->start);
    return kept_push_priced(s->c, &own->kept, from) && schedule_drop_range(s, from + 1, own->start);
}

/* What can be done about a window of `length` iterations, one too many, and the price after it. */
typedef struct remedy {
    uint64_t price;
    size_t drop; /* the kept state to drop first; 0: none */
    bool keep;   /* the state at the window's beginning */
    uint64_t by; /* move the window on by so much */
} remedy;

static void consider(remedy *best, remedy other, bool even_if_equal) {
    if (other.price < best->price || (even_if_equal && other.price == best->price)) *best = other;
}

static remedy find_remedy(const bytes_state *own, uint64_t length) {
    const kept_states *kept = &own->kept;
    uint64_t rows = kept->at.count, room = window_room(own, rows);
    remedy best = {.price = UINT64_MAX, .by = length - room};
    uint64_t price = 0;
    if (rows > 0) {
        price = kept_price(kept, own->start);
        best.price = kept_price(kept, own->start + best.by);
    }
    if (rows < own->depth) {
        /* A new segment of one iteration gains nothing over a longer one, but one of two or more
         * has room to grow at the least cost for a while, so it is preferred. */
        uint64_t by = length - window_room(own, rows + 1);
        uint64_t kept_as_well = saturating_add(price, mixed_cost(&own->model, by, rows));
        consider(&best, (remedy){kept_as_well, 0, true, by}, by > 1 || rows == 0);
    }
    if (rows < 2) return best;
    size_t drop;
    uint64_t dropped = kept_price_after_drop(kept, own->start, &drop);
    uint64_t room_then = window_room(own, rows - 1);
    if (length <= room_then) {
        consider(&best, (remedy){dropped, drop, false, 0}, false);
    } else {
        uint64_t exchanged =
            saturating_add(dropped, mixed_cost(&own->model, length - room, rows - 1));
        consider(&best, (remedy){exchanged, drop, true, length - room}, false);
    }
    return best;
}

/* While no iteration needs a third run, no set of states is cheaper than the one that fills up from the first, each
 * segment growing as long as could be taped from its state: nothing has to be priced. */
static bool within_reach(const bytes_state *own, uint64_t length, remedy *out) {
    uint64_t rows = own->kept.at.count, end = own->start + length;
    if (rows > own->depth || own->model.depth != own->depth || end > own->model.reach[0]) return false;
    *out = (remedy){.by = length - window_room(own, rows)};
    if (rows > 0) {
        uint64_t newest = own->kept.at.at[rows - 1];
        if (own->start + out->by - newest <= mixed_capacity(&own->model, rows - 1)) return true;
    }
    if (rows == own->depth) return false;
    out->keep = true;
    out->by = length - window_room(own, rows + 1);
    return true;
}

static bool forward_online(schedule *s, uint64_t i, forward_order *out) {
    bytes_state *own = s->state->bytes;
    kept_states *kept = &own->kept;
    uint64_t length = i + 1 - own->start;
    /* Only sizes that have grown leave more states than fit. */
    while (kept->at.count > own->depth && kept->at.count > 1) {
        size_t drop;
        kept_price_after_drop(kept, own->start, &drop);
        if (!drop_kept(s, drop)) return false;
    }
    if (length > window_room(own, kept->at.count)) {
        bool first = !own->over;
        run_over(s);
        if (own->depth == 0) return schedule_refuse(s, 0);
        /* What does not fit has to go before there is room for costs, and needs none. */
        remedy r = {.keep = true, .by = length - window_room(own, 1)};
        if (!first && !prepare(s, i + 1, true)) return false;
        if (!first && !within_reach(own, length, &r)) r = find_remedy(own, length);
        if (r.drop != 0 && !drop_kept(s, r.drop)) return false;
        if (r.by > 0 && !move_window(s, r.by, r.keep)) return false;
    }
    *out = (forward_order){.keep = true, .tape = true, .demote = own->start};
    return true;
}

/* ---- the trip count is known ---- */

/* Moves the plan on to iteration i: keeps the states up to there that it names. What was recorded
 * before there was a plan serves as far as it agrees with it. False in *holds when the plan does
 * not fit the sizes as they are now. */
static bool follow_plan(schedule *s, uint64_t i, bool *holds) {
    bytes_state *own = s->state->bytes;
    while (own->next <= i && !own->taping) {
        uint64_t rows = own->kept.at.count, here = own->next, left = s->policy.trips - here;
        own->taping = left <= window_room(own, rows);
        if (own->taping) return true;
        *holds = rows < own->depth && rows < own->model.depth &&
                 left > mixed_capacity(&own->model, rows);
        if (!*holds) return true;
        if (!kept_push_priced(s->c, &own->kept, here)) return false;
        own->next = here + mixed_split(&own->model, left, rows);
        own->start = own->next < i ? own->next : i;
        if (!schedule_drop_range(s, here + 1, own->start)) return false;
    }
    return true;
}

static bool forward_planned(schedule *s, uint64_t i, forward_order *out, bool *holds) {
    bytes_state *own = s->state->bytes;
    uint64_t trips = s->policy.trips, rows = own->kept.at.count;
    *holds = i < trips && rows <= own->depth;
    if (!*holds) return true;
    if (rows == 0 && trips <= window_room(own, 0)) own->taping = true;
    if (!own->taping) run_over(s);
    bool waits = !own->settled && i < SETTLING && rows == 0 && i < window_room(own, 0);
    if (own->taping) {
        *holds = trips - own->start <= window_room(own, rows);
    } else if (!waits) {
        if (!prepare(s, trips, true)) return false;
        /* Where the costs are not exact, deciding anew at each iteration turned out better. */
        *holds = rows > 0 || mixed_exact(&own->model, trips);
        if (*holds && !follow_plan(s, i, holds)) return false;
    }
    *out = (forward_order){.keep = true, .tape = true, .demote = own->start};
    if (waits || own->taping || !*holds) return true;
    const positions *kept = &own->kept.at;
    *out = (forward_order){.keep = kept->at[kept->count - 1] == i, .demote = i};
    own->start = i + 1;
    return true;
}

bool schedule_bytes_forward(schedule *s, uint64_t i, forward_order *out) {
    bytes_state *own = s->state->bytes;
    own->end = i + 1;
    if (!s->state->measured) {
        *out = (forward_order){.keep = true, .tape = true};
        return true;
    }
    if (!own->feasible || (own->depth == 0 && i > 0)) return schedule_refuse(s, 0);
    if (own->planned) {
        if (!forward_planned(s, i, out, &own->planned)) return false;
        if (own->planned) return true;
    }
    return forward_online(s, i, out);
}

/* ---- backward ---- */

/* Drops the states that no iteration below n starts from, and those that no longer fit. */
static bool drop_unwanted(schedule *s, uint64_t n) {
    bytes_state *own = s->state->bytes;
    positions *kept = &own->kept.at;
    uint64_t first = own->start > n ? own->start : n;
    if (!schedule_drop_range(s, first, own->end)) return false;
    own->end = first < own->end ? first : own->end;
    while (kept->count > 1 && (kept->at[kept->count - 1] >= n || kept->count > own->depth)) {
        if (!positions_push(s->c, &s->state->drops, kept->at[--kept->count])) return false;
    }
    return true;
}

bool schedule_bytes_backward(schedule *s, uint64_t n, backward_order *out) {
    bytes_state *own = s->state->bytes;
    const positions *kept = &own->kept.at;
    *out = (backward_order){.kind = BACKWARD_TAPE, .from = own->hand, .to = n};
    if (own->in_hand) {
        own->in_hand = false;
        return true;
    }
    if (!drop_unwanted(s, n)) return false;
    /* If the window could not be recorded, its first state is there nevertheless. */
    out->from = own->start;
    if (own->start < n) return true;
    uint64_t row = kept->count - 1, from = kept->at[row];
    out->from = from;
    if (n - from <= window_room(own, row)) return true;
    if (!own->feasible || row >= own->depth) return schedule_refuse(s, 0);
    if (!prepare(s, n - from, false)) return false;
    uint64_t to = from + mixed_split(&own->model, n - from, row);
    *out = (backward_order){.kind = BACKWARD_ADVANCE, .from = from, .to = to};
    if (n - to <= window_room(own, row + 1)) {
        own->in_hand = true;
        own->hand = to;
        return true;
    }
    out->keep = true;
    return kept_push(s->c, &own->kept, to);
}
