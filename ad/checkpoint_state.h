/* What the forward and the backward half of a checkpointed loop share. Internal to ad/. */
#ifndef KINA_CHECKPOINT_STATE_H
#define KINA_CHECKPOINT_STATE_H

#include "ad/checkpoint.h"
#include "ad/spill.h"
#include "ad/sweep.h"

/* A kept state: what iteration `iteration` starts from. References, not copies; a tensor on disk is a value of
 * kind NONE whose payload is its place in the file. */
typedef struct checkpoint_state {
    uint64_t iteration;
    trail_mark mark;
    value *carry;               /* NULL: dropped */
} checkpoint_state;

/* Dropped states are forgotten when there are more of them than one to so many others, and a few. */
enum { STATES_PER_GAP = 8, GAPS_LEAST = 8 };

/* Taped iterations [start, end): records [first, last) of the tape. */
typedef struct checkpoint_taped {
    uint64_t start, end;
    uint32_t first, body, last; /* body: behind the first carries */
    size_t held;                /* bytes alive when it began */
    uint32_t dead;              /* records [first, dead) were forgotten, and hold nothing */
    uint32_t *from, *to;        /* indices of the floating carries before and after */
} checkpoint_taped;

/* Elements on the tape's piles. */
typedef struct tape_counts {
    uint32_t records, saved, operands;
} tape_counts;

/* Where things stood before an iteration. */
typedef struct measurement {
    size_t held, live, high;
    tape_counts counts;
} measurement;

/* Records that a run's forgotten iterations may leave behind for each that is of use; with more, the whole run is
 * forgotten. They hold nothing but places in tables. */
enum { DEAD_PER_RECORD = 4 };

struct checkpointed {
    loop_body body;
    schedule schedule;
    trail own;                  /* used when no loop around this one has a trail */
    trail *trail;
    uint8_t handlers;
    span where;
    bool dual;                  /* forward handlers outside: states keep their tangents, nothing is taped ahead */
    int forward_depth;          /* how many of those */
    uint64_t trips;
    uint32_t first;             /* tape_top before the loop */
    uint32_t base;              /* dual: the first record of this run, forward or back; behind it all is the loop's */
    uint32_t floor;             /* dual: records from here on are of iterations that are over */
    value **place;              /* dual: scratch, where live values are */
    size_t places, place_room;
    op_type *type;              /* of the carries, which keep it */
    int floats;                 /* floating carries */
    int *floating;              /* which they are */
    uint32_t *init;             /* their indices at the start */
    pile states;                /* checkpoint_state, in order of iteration */
    uint32_t gaps;              /* dropped ones among them; the last is none */
    checkpoint_taped *taped;          /* a stack; the last ends latest */
    int tapes, tape_room;
    pile starts;                /* uint32_t: where the records of each forward-taped iteration begin */
    uint64_t starts_from;       /* the iteration of the first of them */
    bool in_hand;               /* backward: the carries are state `hand`, as the last advance left them */
    uint64_t hand;
    trail_mark hand_mark;
    spill disk;                 /* open where the policy has a folder */
    pile hashes;                /* uint64_t: of each carry, every hash_every-th iteration */
    uint64_t hash_every;
    uint64_t advanced, taped_again;     /* executions so far */
    uint32_t most_states;
    size_t peak_tape_bytes;     /* of one taped run */
    size_t own_bytes;           /* the loop's books when it began */
    size_t work_bytes;          /* what an iteration needs for a while and gives back, the most seen */
    size_t sweep_bytes;         /* what the sweep of one needs at least, */
    bool sweep_more;            /* to which rules and loops inside add up to work_bytes */
    uint32_t swept_records;     /* records of the iteration by which that was found */
    size_t state_bytes, taped_bytes;    /* of a state; what taping an iteration retained, last */
    size_t taped_most;          /* what taping an iteration takes, the most seen, loops with budgets inside apart */
    measurement measured;
    uint32_t inside_loops;
    bool inside_over;
    size_t inside_held, inside_least, inside_extra;     /* of loops with budgets inside, the most of an iteration */
    budget_share outside;       /* how this loop found things */
    size_t held_before;
    tape_counts before;
    budget_share share;         /* as the loops inside its iterations find it */
    bool refused;               /* the budget is too small: only measured from now on, to say what is not */
    value *adjoint;             /* backward: of the floating carries at the place reached */
};

checkpoint_state *checkpoint_state_at(checkpointed *l, uint64_t iteration);     /* NULL where none is kept */
/* The carried value that a state keeps, owned by the caller. */
bool checkpoint_kept(context *c, checkpointed *l, const checkpoint_state *state, int carry, value *out) MUST_CHECK;
bool checkpoint_keep(context *c, checkpointed *l, uint64_t iteration) MUST_CHECK;
bool checkpoint_drop_unwanted(context *c, checkpointed *l) MUST_CHECK;
checkpoint_state *checkpoint_state_number(const checkpointed *l, uint32_t number);
void checkpoint_keep_close(context *c, checkpointed *l);
/* Begins a taped run at the present carries; ends it after them. */
bool checkpoint_tape_begin(context *c, checkpointed *l, uint64_t iteration) MUST_CHECK;
/* Iteration i, recorded at the handler on top; its carries get fresh indices. */
bool checkpoint_tape_one(context *c, checkpointed *l, uint64_t i) MUST_CHECK;
void checkpoint_tape_end(context *c, checkpointed *l, uint64_t end);
/* One iteration at the handler outside the reverse handler. */
bool checkpoint_advance_one(context *c, checkpointed *l, uint64_t i) MUST_CHECK;
/* Forward: keeps the hashes of the state that iteration i starts from. Backward: compares it (K0901). */
bool checkpoint_hash_keep(context *c, checkpointed *l, uint64_t i) MUST_CHECK;
bool checkpoint_hash_hold(context *c, checkpointed *l, uint64_t i) MUST_CHECK;
/* A policy's k, slots or bytes; 0 where it has none. */
uint64_t checkpoint_amount(const policy *p);
bool checkpoint_report(context *c, const checkpointed *l) MUST_CHECK;
int64_t checkpoint_type_bytes(const op_type *t);
size_t checkpoint_carried_bytes(const checkpointed *l);
/* What is alive, with the piles of the tape and the loop counted by what is used of them; its books left out. */
size_t checkpoint_held_bytes(const context *c, const checkpointed *l);
size_t checkpoint_hash_bytes(const checkpointed *l);    /* at most */
/* Around the taping of an iteration (with BYTES, also the keeping of its state): tells the schedule what it took. */
void checkpoint_measure_begin(context *c, checkpointed *l);
bool checkpoint_measure_end(context *c, checkpointed *l) MUST_CHECK;
/* Around a loop's run: tells the loop around it what this one holds. */
void checkpoint_account_begin(context *c, checkpointed *l);
void checkpoint_account(context *c, const checkpointed *l);
/* By how much the least budget may be too little, since loops inside that have more of it need a little more too. */
size_t checkpoint_margin(const checkpointed *l);
/* An estimate, where nothing is taped ahead. */
void checkpoint_measure_dual(checkpointed *l);
/* Around the taping and the sweep of so many iterations, where nothing was measured ahead. */
void checkpoint_dual_begin(context *c, checkpointed *l);
void checkpoint_dual_end(const context *c, checkpointed *l, uint64_t iterations);
/* With forward handlers outside: forgets what an advanced iteration left; what dropped states left; what a swept piece
 * left, but for what the adjoints of the carries and of `reads`, taken from the loop's record, need. */
bool checkpoint_dual_advanced(context *c, checkpointed *l) MUST_CHECK;
bool checkpoint_dual_dropped(context *c, checkpointed *l) MUST_CHECK;
void checkpoint_dual_drop(context *c, checkpointed *l, const checkpoint_state *state);
bool checkpoint_dual_swept(sweep *s, checkpointed *l, const record *r) MUST_CHECK;
/* Forgets a taped run; its records are the newest. */
void checkpoint_tape_pop(context *c, checkpointed *l);
trail_mark checkpoint_place(const context *c, const checkpointed *l);

#endif
