/* Builtins made of several ops while a program runs. Internal to eval_composite.c and its neighbours.
 *
 * They are written against ad/builder.h, as rules are, and perform their ops at the handlers that are
 * there, so that their derivatives are those of the ops. */
#ifndef KINA_COMPOSITE_H
#define KINA_COMPOSITE_H

#include "ad/performer.h"
#include "ad/rules.h"
#include "interp/eval.h"

typedef struct composite {
    performer p;                /* first: its builder is the composite's */
    term (*perform)(builder *b, op_id op, const op_attrs *attrs, int n, const term *in);
    evaluator *ev;
    const code *n;
    const op_attrs *attrs;      /* what the text fixes */
    int count;                  /* operands */
    term in[2];                 /* the first two of them */
    const int64_t *size;        /* the sizes, evaluated; not negative */
    int sizes;
} composite;

static inline builder *composite_builder(composite *m) { return &m->p.b; }
/* Readies a composite without operands: its ops go to the handlers where an operand is active. */
void composite_open(composite *m, evaluator *ev, const code *n);
/* A term like t that passes no derivative. */
term composite_stopped(composite *m, term t);

/* ---- eval_rearrange.c ---- */
term composite_flip(composite *m);
term composite_roll(composite *m);
term composite_tile(composite *m);
term composite_pad(composite *m);
/* The diagonal of the last two axes, as the last axis. */
term composite_diagonal(builder *b, term x);
term composite_diag(composite *m);
term composite_trace(composite *m);
/* The parts as a tuple; out of as many terms as a program likes. */
bool composite_split(evaluator *ev, const code *n, const value *x, const int64_t *size,
                     value *out) MUST_CHECK;

/* ---- eval_einsum.c ---- */
bool composite_einsum(evaluator *ev, const code *n, const value *in, value *out) MUST_CHECK;

#endif
