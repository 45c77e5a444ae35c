/* What the files of gradient_reverse share: the state of writing one backward part. Internal to ad/.
 *
 *   gradient.c           straight-line text, and the whole
 *   gradient_inline.c    calls that are taken back by their bodies
 *   gradient_active.c    which variables are active
 *   gradient_control.c   branches and loops
 *   gradient_every.c     loops under @checkpoint(k=K)
 *   gradient_tape.c      tapes of the text that is taken back
 *   gradient_height.c    which of them end empty */
#ifndef KINA_REVERSAL_H
#define KINA_REVERSAL_H

#include "ad/gradient.h"
#include "ad/writer.h"

typedef struct reversal {
    graph *g;
    writer w;                   /* w.r: where the backward part is written */
    int count;                  /* variables of the text; later ones belong to the backward part */
    bool *active;               /* by variable */
    var *adjoint;               /* by variable; VAR_NONE while absent */
    bool keeps_all;             /* @checkpoint is not written out */
    const node *at;             /* the node being taken back */
    struct adjoint_tape *tapes; /* gradient_tape.c */
} reversal;

/* ---- gradient_inline.c ---- */
/* Puts the bodies of functions that have no rule but a forward one in the places of their active calls, from node
 * `from` of r on. True when there were some: then everything is to be marked again. */
bool reversal_inline(reversal *v, region *r, int from);

/* ---- gradient_active.c ---- */
/* Marks what depends on the parameters, which are marked already. Refuses what has no derivative. */
void reversal_mark(reversal *v, const region *r, int from, int to);

/* ---- gradient.c ---- */
/* Rule 1 of ad.h: written when absent, else added. */
void reversal_accumulate(reversal *v, var to, var t);
var reversal_zeros(reversal *v, var of);
/* Rule 3: an absent adjoint of an active value becomes +0.0. */
void reversal_zero_if_absent(reversal *v, var of);
/* Takes back nodes to - 1 ... from of a region. */
void reversal_sweep(reversal *v, const region *r, int from, int to);
static inline bool reversal_wants(const reversal *v, var of) { return of >= 0 && of < v->count && v->active[of]; }
/* The adjoint, which is absent from now on. */
var reversal_take(reversal *v, var of);

/* ---- gradient_control.c ---- */
void reversal_if(reversal *v, node *n);
void reversal_while(reversal *v, node *n);
/* A variable for the adjoint of `of`, named after it. */
var reversal_adjoint_var(reversal *v, var of);

/* ---- gradient_every.c ---- */
/* A live loop under @checkpoint(k=K). */
void reversal_every(reversal *v, node *n);

/* ---- gradient_tape.c ---- */
void reversal_push(reversal *v, node *n);
void reversal_pop(reversal *v, node *n);
void reversal_tape(reversal *v, node *n);
void reversal_drop(reversal *v, const region *r, node *n);
/* A branch or loop without a backward part: what it takes off tapes has no adjoints there. */
void reversal_pass(reversal *v, const node *n);
/* A tape is used up once: before its adjoint comes from there, it has none but an empty one, which goes. */
void reversal_drop_adjoint(reversal *v, var tape);
/* An empty tape of the adjoints of what `of` holds, and what such a tape holds. */
var reversal_empty_tape(reversal *v, var of);
tape_element *reversal_element(reversal *v, var of);
/* True when the region takes entries off a tape of this element. */
bool region_pops(const graph *g, const region *r, const tape_element *element);

/* ---- gradient_height.c ---- */
/* True when the text says that the tape is empty where `at` is. */
bool region_leaves_empty(graph *g, const region *at, var tape);

#endif
