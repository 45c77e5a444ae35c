/* What the files of the checkpoint schedules share and nobody else sees: the state behind
 * ad/schedule.h and the entry points of each family of policies. */
#ifndef KINA_SCHEDULE_POLICY_H
#define KINA_SCHEDULE_POLICY_H

#include "ad/schedule.h"

/* A growing list of iteration numbers. */
typedef struct positions {
    uint64_t *at;
    size_t count, room;
} positions;

bool positions_push(context *c, positions *p, uint64_t position) MUST_CHECK;
void positions_close(context *c, positions *p);
/* Drops the states [from, to). */
bool schedule_drop_range(schedule *s, uint64_t from, uint64_t to) MUST_CHECK;

/* What it costs to reverse `length` iterations from the kept state number `row`, counted from 0,
 * when that state and the room left by the states before it are all there is. */
typedef uint64_t segment_cost(const void *model, uint64_t length, uint64_t row);

/* What the state at the beginning of a segment is worth, while the trip count is unknown. */
typedef struct segment {
    uint64_t own;    /* reversing this segment */
    uint64_t moved;  /* the same one row further down, after an earlier state was dropped */
    uint64_t joined; /* reversing it together with the segment before, from the row of that one */
    uint64_t before; /* the sum of `own` of all segments before this one */
} segment;

/* schedule_kept.c: the kept states, rising from state 0, and online their prices. The segment
 * behind the newest state is still open: it ends where the caller says. */
typedef struct kept_states {
    segment_cost *cost; /* set by the owner, as is `model` */
    const void *model;
    positions at;
    segment
        *segments; /* as many as `at` has room for; NULL until a state is pushed with its price */
    size_t room;
    uint64_t best;    /* the price after the best drop of a state between the first and the newest,
                         without the open    segment's part */
    size_t best_drop; /* which one; 0: there is none */
} kept_states;

bool kept_push(context *c, kept_states *k, uint64_t state) MUST_CHECK;
bool kept_push_priced(context *c, kept_states *k, uint64_t state) MUST_CHECK;
void kept_remove_priced(kept_states *k, size_t index);
/* After the costs themselves have changed. */
void kept_price_again(kept_states *k);
void kept_close(context *c, kept_states *k);
/* The price of reversing all there is up to `end`; with one state dropped, the cheapest (not the
 * first). */
uint64_t kept_price(const kept_states *k, uint64_t end);
uint64_t kept_price_after_drop(const kept_states *k, uint64_t end, size_t *index);

typedef struct slots_state slots_state;
typedef struct bytes_state bytes_state;

struct schedule_state {
    positions drops;            /* what schedule_next_drop has still to name, */
    uint64_t drop_from, drop_to; /* and a range of it */
    size_t state, taped, fixed, spare; /* as measured last */
    size_t tape;                /* taped, beyond the state behind it */
    bool measured;
    uint64_t ran;       /* iterations that the forward sweep has asked about */
    uint64_t spacing;   /* EVERY and AUTO: states are kept at its multiples */
    slots_state *slots; /* SLOTS */
    bytes_state *bytes; /* BYTES */
};

/* schedule_spaced.c: EVERY and AUTO. */
bool schedule_spaced_forward(schedule *s, uint64_t i, forward_order *out) MUST_CHECK;
bool schedule_spaced_backward(schedule *s, uint64_t n, backward_order *out) MUST_CHECK;

/* schedule_slots.c: SLOTS. */
bool schedule_slots_open(schedule *s) MUST_CHECK;
void schedule_slots_close(schedule *s);
bool schedule_slots_forward(schedule *s, uint64_t i, forward_order *out) MUST_CHECK;
bool schedule_slots_backward(schedule *s, uint64_t n, backward_order *out) MUST_CHECK;

/* schedule_bytes.c: BYTES. */
bool schedule_bytes_open(schedule *s) MUST_CHECK;
void schedule_bytes_close(schedule *s);
void schedule_bytes_measure(schedule *s);
bool schedule_bytes_forward(schedule *s, uint64_t i, forward_order *out) MUST_CHECK;
bool schedule_bytes_backward(schedule *s, uint64_t n, backward_order *out) MUST_CHECK;

/* schedule_mixed.c: the cheapest way to reverse a loop when states and tapes share one budget. */
typedef struct mixed {
    uint64_t
        free; /* what states and tapes may use, beyond what one taped iteration needs at any rate */
    uint64_t state, taped; /* a kept state; one more iteration in a taped run, its state included */
    uint64_t depth;        /* states that fit into `free` */
    uint64_t *reach; /* for each row how many iterations need no more than a second run; NULL: not
                        yet known */
    uint32_t *table; /* [row][iterations]; NULL while the formulas suffice */
    uint64_t rows, columns; /* of the table */
    uint64_t entries;       /* that it may have; set by the owner */
} mixed;

/* The states that fit into `free`, as far as they are planned for. */
uint64_t mixed_depth(uint64_t free, uint64_t state);
/* Of so many free bytes, what the reaches take at most; the least that leaves room for one state; and whether a table
 * is used as well. */
uint64_t mixed_reach_bytes(uint64_t free, uint64_t state);
uint64_t mixed_least_free(uint64_t state);
bool mixed_has_table(uint64_t free, uint64_t state);
/* Forgets all and starts anew with these sizes (state and taped at least 1). */
void mixed_set(context *c, mixed *m, uint64_t free, uint64_t state, uint64_t taped);
void mixed_close(context *c, mixed *m);
/* Prepares costs and splits for up to n iterations; says whether costs have changed. */
bool mixed_cover(context *c, mixed *m, uint64_t n, bool *changed) MUST_CHECK;
/* How many iterations can be taped at once from row `row` <= depth. */
uint64_t mixed_capacity(const mixed *m, uint64_t row);
segment_cost mixed_cost;
/* Whether, once covered, the cost of n iterations from the first row is exact. */
bool mixed_exact(const mixed *m, uint64_t n);
/* How far to advance from the state of row `row` < depth when n iterations are more than can be
 * taped. */
uint64_t mixed_split(const mixed *m, uint64_t n, uint64_t row);

/* schedule_binomial.c: the optimum of Griewank and Walther in closed form, O(r) and without tables.
 */
uint64_t saturating_add(uint64_t a, uint64_t b);
/* t(n, slots): the least number of advances that reverse n iterations; UINT64_MAX when it is
 * larger. */
uint64_t schedule_binomial_advances(uint64_t n, uint64_t slots);
/* How far from the first state the next one goes, for n >= 2 and slots >= 2. */
uint64_t schedule_binomial_split(uint64_t n, uint64_t slots);

#endif
