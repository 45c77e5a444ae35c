/* Looking at the tape without touching it: its records as plain facts, and an observer that is told when an outermost
 * reverse handler is about to be swept and how the sweep replays checkpointed loops. What is told is what is done, not
 * a plan of it: a schedule under a budget depends on what was measured. */
#ifndef KINA_TAPE_VIEW_H
#define KINA_TAPE_VIEW_H

#include "ad/schedule.h"
#include "ad/tape.h"

/* The records of one handler. */
typedef struct tape_range {
    uint32_t first, body, end;  /* [first, body): those of the parameters */
    uint32_t primal;            /* the record of the value that is differentiated; 0: it depends on no parameter */
} tape_range;

typedef enum replay_kind { REPLAY_BEGIN, REPLAY_ADVANCE, REPLAY_TAPE, REPLAY_SWEEP, REPLAY_END } replay_kind;

/* What the sweep did with iterations [from, to) of the checkpointed loop that was begun last and has not ended; a loop
 * may begin inside the SWEEP of another, which is told before it is done. */
typedef struct replay_step {
    replay_kind kind;
    bool keeps;                 /* ADVANCE: the state that `to` starts from is kept */
    uint32_t first, record;     /* BEGIN: the loop's first record, and the one that owns it */
    uint64_t from, to;          /* BEGIN: 0 and its trip count */
    span where;                 /* of the loop */
} replay_step;

/* Both may look and must not change anything; false, with the context's error set, ends the run. */
typedef struct tape_observer {
    void *self;
    bool (*before_sweep)(void *self, const tape *t, const tape_range *range);
    bool (*replayed)(void *self, const replay_step *step);
} tape_observer;

typedef enum entry_kind {
    ENTRY_INPUT,                /* depends on nothing recorded */
    ENTRY_OP,
    ENTRY_SCALAR,               /* an op on numbers, by its partial derivatives */
    ENTRY_BRANCH, ENTRY_LOOP, ENTRY_CHECKPOINT,
    ENTRY_FORGOTTEN,            /* records that a checkpointed loop gave up again */
} entry_kind;

typedef struct tape_entry {
    entry_kind kind;
    const char *name;           /* of the op, or of the kind */
    uint32_t next;              /* the entry behind this one */
    uint32_t operands;          /* an op's; what a branch or loop reads */
    op_type type;               /* of the result, where there is one */
    uint8_t saves;              /* NEED_ bits of the operands and the result that were saved */
    bool custom;                /* a call with a rule of its own: saves all operands, the result and the rule */
    uint64_t saved_bytes;       /* of the saved values, each counted in full */
    double partial[2];          /* SCALAR: of each operand, 0 for a passive one */
    uint32_t tag;               /* BRANCH: 0 then, 1 else */
    uint64_t trips;             /* LOOP, CHECKPOINT; of a LOOP modulo 2^32 */
    span where;
} tape_entry;

tape_entry tape_view_entry(const tape *t, uint32_t index);
/* The record of the entry's k-th operand; 0 for a passive one. */
uint32_t tape_view_operand(const tape *t, uint32_t index, uint32_t k);

/* A checkpointed loop between its forward run and its sweep. */
typedef struct checkpoint_facts {
    policy_kind policy;
    uint64_t amount;            /* its k, slots or bytes */
    uint64_t states;            /* kept now */
    uint64_t state_bytes;       /* of one */
    uint64_t taped_from, taped_to;  /* iterations taped ahead; equal: none */
} checkpoint_facts;

checkpoint_facts tape_view_checkpoint(const tape *t, uint32_t index);
/* The iteration that the next kept state behind *at starts; *at begins as 0. False when there is none. */
bool tape_view_state(const tape *t, uint32_t index, uint32_t *at, uint64_t *iteration);

#endif
