/* What the forward and the backward half of a checkpointed loop share. Internal to ad/. */
#ifndef KINA_CHECKPOINT_STATE_H
#define KINA_CHECKPOINT_STATE_H

#include "ad/checkpoint.h"
#include "ad/spill.h"

/* A kept state: what iteration `iteration` starts from. References, not copies; a tensor on disk is a value of
 * kind NONE whose payload is its place in the file. */
typedef struct checkpoint_state {
    uint64_t iteration;
    trail_mark mark;
    value *carry;
} checkpoint_state;

/* Taped iterations [start, end): records [first, last) of the tape. */
typedef struct checkpoint_taped {
    uint64_t start, end;
    uint32_t first, body, last; /* body: behind the first carries */
    size_t held;                /* bytes alive when it began */
    uint32_t dead;              /* records [first, dead) were forgotten, and hold nothing */
    uint32_t *from, *to;        /* indices of the floating carries before and after */
} checkpoint_taped;

struct checkpointed {
    loop_body body;
    schedule schedule;
    trail own;                  /* used when no loop around this one has a trail */
    trail *trail;
    uint8_t handlers;
    span where;
    bool dual;                  /* forward handlers outside: states keep their tangents, nothing is taped ahead */
    uint64_t trips;
    uint32_t first;             /* tape_top before the loop */
    uint32_t floor;             /* dual: records from here on are of iterations that are over */
    op_type *type;              /* of the carries, which keep it */
    int floats;                 /* floating carries */
    int *floating;              /* which they are */
    uint32_t *init;             /* their indices at the start */
    checkpoint_state *state;          /* in order of iteration */
    int states, state_room;
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
    int most_states;
    size_t peak_tape_bytes;     /* of one taped run */
    bool demoted;               /* not all that was taped could stay */
    size_t work_bytes;          /* what an iteration needs for a while and gives back, the most seen */
    size_t state_bytes, taped_bytes;    /* of a state; what taping an iteration retained, last */
    value *adjoint;             /* backward: of the floating carries at the place reached */
};

checkpoint_state *checkpoint_state_at(checkpointed *l, uint64_t iteration);     /* NULL where none is kept */
/* The carried value that a state keeps, owned by the caller. */
bool checkpoint_kept(context *c, checkpointed *l, const checkpoint_state *state, int carry, value *out) MUST_CHECK;
bool checkpoint_keep(context *c, checkpointed *l, uint64_t iteration) MUST_CHECK;
void checkpoint_drop_unwanted(context *c, checkpointed *l);
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
loop_report *checkpoint_report(context *c, const policy *p, span where) MUST_CHECK;
int64_t checkpoint_type_bytes(const op_type *t);
size_t checkpoint_carried_bytes(const checkpointed *l);
/* Forgets a taped run; its records are the newest. */
void checkpoint_tape_pop(context *c, checkpointed *l);
trail_mark checkpoint_place(const context *c, const checkpointed *l);

#endif
