/* Builtins made of several ops. They are written against ad/builder.h, as rules are: the evaluator has a builder
 * that performs their ops at the handlers that are there (eval_composite.c), staging one that writes them down
 * (stage_composite.c), so that their derivatives are those of the ops.
 *
 * Which ops there are, the text decides and no size that only the run knows. */
#ifndef KINA_COMPOSITE_H
#define KINA_COMPOSITE_H

#include "ad/rules.h"
#include "interp/code.h"
#include "interp/einsum.h"

typedef struct composite composite;
struct composite {
    builder *b;
    const code *n;
    const op_attrs *attrs;      /* what the text fixes */
    int count;                  /* operands */
    term in[2];                 /* the first two of them */
    const int64_t *size;        /* the sizes; not negative where they are known */
    int sizes;
    term (*stopped)(composite *m, term t);  /* a term like t that passes no derivative */
};

/* A composite without operands and sizes. */
composite composite_of(builder *b, const code *n, term (*stopped)(composite *m, term t));
/* How many results a composite has: the items of a tuple where there are several. */
int composite_results(const code *n);
/* The results; false after a failure. einsum apart. */
bool composite_make(composite *m, term *out) MUST_CHECK;

/* The product of the sizes [from, to). */
int64_t composite_product(builder *b, const int64_t *shape, int from, int to);

/* ---- composite_rearrange.c ---- */
term composite_flip(composite *m);
term composite_roll(composite *m);
term composite_tile(composite *m);
term composite_pad(composite *m);
/* The diagonal of the last two axes, as the last axis. */
term composite_diagonal(builder *b, term x);
term composite_diag(composite *m);
term composite_trace(composite *m);
bool composite_split(composite *m, term *out) MUST_CHECK;

/* ---- composite_einsum.c ---- */
/* A term and the index of each of its axes. */
typedef struct indexed {
    term t;
    einsum_operand x;
} indexed;

/* Takes operand k into what is made of those before it; after the last, that is the result. */
indexed composite_einsum_take(builder *b, const einsum_plan *plan, int k, indexed so_far, term next);

#endif
