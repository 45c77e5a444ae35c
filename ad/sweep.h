/* The backward sweep over one reverse handler's records. Internal to ad/. */
#ifndef KINA_SWEEP_H
#define KINA_SWEEP_H

#include "ad/ad.h"
#include "ad/performer.h"

typedef struct sweep {
    context *c;
    tape *t;
    reverse_scope *scope;
    pile adjoint;               /* of record base + i: a value, NONE while absent; hollow where the records are */
    uint32_t base;              /* the first record in the chunk of the handler's first */
    bool frees_records;         /* no handler outside */
    bool frees_saved;           /* no reverse handler outside */
    uint32_t dead_from;         /* records from here on belong to a branch or loop without a live result */
    uint32_t at;                /* the record being swept */
    uint32_t next;              /* the sweep goes on below this one */
    performer p;
} sweep;

/* As reverse_sweep: the handler is stopped, its mark is still live. */
bool sweep_run(context *c, reverse_scope *s, const value *primal, const value *seed,
               const value *parameter, int count, span where, value *gradients) MUST_CHECK;

/* ---- for loops that are swept in pieces ---- */

value *sweep_adjoint(sweep *s, uint32_t index);
/* The value at this index is active for the handler. */
bool sweep_wants(const sweep *s, uint32_t index);
/* Rule 3 of ad.h: an absent adjoint of an active value becomes +0.0. */
bool sweep_zero_if_absent(sweep *s, uint32_t index) MUST_CHECK;
bool sweep_accumulate(sweep *s, uint32_t index, const value *v, bool spent) MUST_CHECK;
/* True when one of the region's results has an adjoint, or is a tape: then the text has a backward part for it. */
bool sweep_live(sweep *s, const record *r);
/* Rule 3 for all that a region reads, and for its results too. */
bool sweep_zero_region(sweep *s, const record *r, bool results) MUST_CHECK;
/* Makes room for the adjoints of all records before `top`, those made during the sweep among them. */
bool sweep_extend(sweep *s, uint32_t top) MUST_CHECK;
/* Sweeps records [floor, top) from the last to the first. */
bool sweep_down(sweep *s, uint32_t top, uint32_t floor) MUST_CHECK;
/* Forgets records and adjoints from index on, where nobody else may need them. */
void sweep_cut(sweep *s, uint32_t index);

/* Forgets adjoints from index on; the records stay. */
void sweep_forget(sweep *s, uint32_t index);

/* The record of a call of a function with its own reverse rule; d: the result's adjoint. */
bool sweep_custom(sweep *s, const record *r, const value *d) MUST_CHECK;

/* The backward part of a checkpointed loop with a live result; r is its record. Sets s->next. */
bool checkpoint_sweep(sweep *s, const record *r) MUST_CHECK;

#endif
