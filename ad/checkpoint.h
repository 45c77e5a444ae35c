/* Loops under a checkpoint policy: run once forward, keeping some states and perhaps a part of the tape, and
 * again in pieces during the backward sweep, as a schedule says (schedule.h). The carried values and their
 * adjoints pass from piece to piece through the same records and in the same order as on a full tape, so no
 * policy changes a bit.
 *
 * What the loop's body is, only the evaluator knows: it hands over a loop_body, which stays alive until the
 * loop has been swept. */
#ifndef KINA_CHECKPOINT_H
#define KINA_CHECKPOINT_H

#include "ad/ad.h"
#include "ad/schedule.h"

typedef struct loop_body {
    void *self;
    int carries;
    value **carry;              /* places of the carried values, inside self */
    const char *const *names;   /* of the carried values, for messages */
    bool (*again)(void *self, bool *out);   /* asks the condition */
    bool (*run)(void *self);    /* one iteration: replaces the carried values */
    void (*close)(context *c, void *self);
} loop_body;

typedef struct checkpointed checkpointed;

/* True where a policy can act: the innermost handler is a reverse handler and the only one. Elsewhere the
 * loop keeps everything: an outer reverse handler's tape holds it anyway. */
bool checkpoint_possible(const context *c);

/* Runs the loop to its end. The carries hold the inits and get the results, under fresh indices; they are
 * numbers and tensors. body is taken over, also on failure. reads as for ad_loop. */
bool checkpoint_run(context *c, const policy *p, loop_body body, uint8_t handlers, const value *const *reads,
              int count, span where, uint64_t *trips) MUST_CHECK;
/* Notes for --stats that a loop under this policy keeps everything. */
bool checkpoint_kept_whole(context *c, const policy *p, span where) MUST_CHECK;
/* Fills in the optimum of each loop that was reported. */
void checkpoint_optima(context *c);
/* Releases a loop; NULL is fine. */
void checkpoint_close(context *c, checkpointed *l);

#endif
