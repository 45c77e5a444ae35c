/* Checkpoint schedules: which states of a loop to keep, what to run again, and what to tape. Pure data: a
 * schedule sees iteration numbers and byte counts, never a value, and is tested without tensors.
 *
 * A loop of N iterations (N unknown while it runs, unless `known`) starts from state 0; state i is what
 * iteration i starts from. To advance is to run an iteration without recording, to tape is to run it with
 * recording. The executor (checkpoint.c) asks before each forward iteration, then asks again and again during the
 * backward sweep what to do about the iterations [0, n) that are still to be reversed:
 *
 *   forward:   for i = 0, 1, ...: schedule_forward, then drops, then the iteration is taped or advanced
 *   backward:  n = N; while n > 0: if a taped run of iterations ends at n it is swept, and n becomes its
 *              start; else schedule_backward, then drops, and the order is carried out
 *
 * Taped iterations form runs [a, b). What was taped by the forward order is one run that ends at N and whose
 * start only moves up (`demote`). A state stays kept until it is dropped. */
#ifndef KINA_SCHEDULE_H
#define KINA_SCHEDULE_H

#include "runtime/context.h"

typedef enum policy_kind {
    POLICY_ALL,             /* tape everything */
    POLICY_EVERY,           /* keep a state every `every` iterations (document 002, section 4) */
    POLICY_AUTO,            /* the square root rule with N unknown */
    POLICY_SLOTS,           /* at most `slots` states, state 0 included: binomial */
    POLICY_BYTES,           /* at most `bytes` of states and tapes */
} policy_kind;

typedef struct policy {
    policy_kind kind;
    uint64_t every, slots, bytes;
    uint64_t most;          /* BYTES, inside a loop that has a budget: the most, and `bytes` counts no more; else 0 */
    struct {
        uint64_t left;      /* of that other budget, */
        uint64_t unclaimed; /* of which this and later loops need so much at least, */
        uint32_t parts;     /* being so many */
    } outside;
    const char *disk;       /* SLOTS, BYTES: the folder that states go to; NULL: memory (checkpoint.c) */
    bool known;             /* the trip count is `trips`: plan offline */
    uint64_t trips;
} policy;

typedef struct forward_order {
    bool keep;              /* keep state i */
    bool tape;              /* record iteration i (else advance) */
    uint64_t demote;        /* first forget what is taped of iterations below this one */
} forward_order;

typedef enum backward_kind { BACKWARD_ADVANCE, BACKWARD_TAPE } backward_kind;
typedef struct backward_order {
    backward_kind kind;
    uint64_t from, to;      /* from state `from`, kept or just advanced to, run iterations [from, to), to <= n */
    bool keep;              /* ADVANCE: keep state `to` */
} backward_order;

typedef struct schedule {
    context *c;
    policy policy;
    struct schedule_state *state;   /* the policy's own; NULL for POLICY_ALL */
} schedule;

/* False with the error set: out of memory; for POLICY_EVERY and POLICY_SLOTS a value below 1 (K0512). */
bool schedule_open(schedule *s, context *c, const policy *p) MUST_CHECK;
void schedule_close(schedule *s);

/* What the schedule itself holds for each kept state under BYTES, at most: the measurer adds it to a state. */
enum { SCHEDULE_STATE_BYTES = 84 };

/* What a state is, and what taping one iteration retains (the state behind it included where a rule saves it), in
 * bytes as the allocator counts them; told by the executor after the first iterations and whenever they change.
 * fixed: adjoints and working space; spare: what of all this loops inside could do without, if they had to. AUTO uses
 * the ratio tape / state, clamped to [1/64, 64]; BYTES all four. */
void schedule_measure(schedule *s, size_t state, size_t tape, size_t fixed, size_t spare);
/* BYTES: the least budget that holds what was measured, and the refusal (K0514) that names it and a margin more; the
 * budget that there is, and what it would leave beyond the least that holds such sizes. */
size_t schedule_smallest(const schedule *s);
bool schedule_refuse(schedule *s, size_t margin);
size_t schedule_budget(const schedule *s);
bool schedule_fits(const schedule *s);  /* so far */
loop_room schedule_room(const schedule *s);
size_t schedule_beyond(const schedule *s, size_t state, size_t tape, size_t fixed);

/* Orders. On a failed allocation inside, or for BYTES on a budget that cannot hold one iteration (K0514,
 * naming the smallest that can), false with the error set. */
bool schedule_forward(schedule *s, uint64_t i, forward_order *out) MUST_CHECK;
bool schedule_backward(schedule *s, uint64_t n, backward_order *out) MUST_CHECK;
/* The kept states that are no longer wanted, one a call, until false; asked after every order. */
bool schedule_next_drop(schedule *s, uint64_t *state);

/* The least number of executions (advances and taped steps) for N iterations with s states, by the binomial
 * optimum (Griewank & Walther 2000): t(N, s) + N; saturates at UINT64_MAX. */
uint64_t schedule_optimum(uint64_t trips, uint64_t slots);
/* The same where states and tapes share a room, by the recursion of schedule_mixed.c; where the loop is so long that its
 * table would be large, close to it. */
bool schedule_optimum_of_room(context *c, uint64_t trips, const loop_room *room, uint64_t *out) MUST_CHECK;

#endif
