/* What the files of the checkpoint schedules share and nobody else sees: the state behind ad/schedule.h and
 * the entry points of each family of policies. */
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

typedef struct slots_state slots_state;
typedef struct bytes_state bytes_state;

struct schedule_state {
    positions drops;        /* what schedule_next_drop has still to name */
    size_t state, tape, fixed; /* as measured last */
    bool measured;
    uint64_t spacing;       /* EVERY and AUTO: states are kept at its multiples */
    slots_state *slots;     /* SLOTS */
    bytes_state *bytes;     /* BYTES */
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

/* schedule_binomial.c: the optimum of Griewank and Walther in closed form, O(r) and without tables. */
uint64_t saturating_add(uint64_t a, uint64_t b);
/* t(n, slots): the least number of advances that reverse n iterations; UINT64_MAX when it is larger. */
uint64_t schedule_binomial_advances(uint64_t n, uint64_t slots);
/* How far from the first state the next one goes, for n >= 2 and slots >= 2. */
uint64_t schedule_binomial_split(uint64_t n, uint64_t slots);

#endif
