/* Derivatives of graphs: what the tape's sweep and the forward handler do to one run, done to the text.
 *
 * The rules are those of builder.h and the order of adjoints that of ad.h; here a writing builder appends
 * ops to a graph instead of performing them, so that the derivative of a graph is a graph. Which values are
 * active, and where an adjoint is absent, is decided by the text as the engine decides it. */
#ifndef KINA_GRADIENT_H
#define KINA_GRADIENT_H

#include "ad/graph.h"

/* A stretch of a region to be differentiated: its nodes from `from` on compute the primals from `params`,
 * which are fresh variables (parameters of the region, or identity ops that stand before `from`). A handler
 * has one primal; a function to be written with cotangents as parameters may have several. */
typedef struct handled_text {
    region *r;
    int from;
    int count;
    const var *params;          /* those that are differentiated */
    int primal_count;
    const var *primals;         /* floating */
    bool nested;                /* a handler inside the function: its loops keep everything, as the engine's do
                                   while an outer handler records */
    bool strong_zero;           /* reverse: 0 times anything is 0 in every product of a rule */
    span where;
} handled_text;

/* Appends the backward part. seeds: the primals' cotangents, VAR_NONE for ones; gradients[i], of params[i]'s
 * type, is zeros where nothing reaches it. What the backward part of a branch or loop reads of the forward
 * part is carried to it on tapes. */
void gradient_reverse(graph *g, const handled_text *t, const var *seeds, var *gradients);

/* Appends the tangents, tangents[i] being that of params[i], right behind what they belong to; out: those of
 * the primals. */
void gradient_forward(graph *g, const handled_text *t, const var *tangents, var *out);

/* ---- gradient_tapes.c ---- */
/* Variables that a backward region reads out of the forward region that it takes back are pushed on a tape
 * at the end of the one and popped at the start of the other. r: holds both. */
void graph_put_on_tapes(graph *g, region *r);

/* ---- simplify.c ---- */
/* Nothing twice and nothing dead, without a changed bit: equal ops are one, what nothing reads goes, carries
 * that no iteration changes become plain reads, tapes hold each value once. */
void graph_simplify(graph *g);

#endif
