/* What the files of rules share: a prototype for every rule that ops.def asks for, so that one left
 * out is a link error, and the helpers that only rules need. Drivers use builder.h alone. */
#ifndef KINA_RULES_H
#define KINA_RULES_H

#include "ad/builder.h"

#define DECLARE_NONE(id)
#define DECLARE_PARTIAL(id) term partial_##id(builder *b, const rule_site *s, int k);
#define DECLARE_LINEAR(id)  void vjp_##id(builder *b, const rule_site *s);
#define DECLARE_RULE(id)                                                                           \
    void vjp_##id(builder *b, const rule_site *s);                                                 \
    term jvp_##id(builder *b, const rule_site *s);
#define OP(id, surface, class, arity, needs, rule, signature, doc) DECLARE_##rule(id)
#include "runtime/ops.def"
#undef OP
#undef DECLARE_NONE
#undef DECLARE_PARTIAL
#undef DECLARE_LINEAR
#undef DECLARE_RULE

/* The forward rule of every linear op: the op on the tangents. */
term jvp_linear(builder *b, const rule_site *s, op_id op);

/* The axes of a result, as a mask, along which an operand of this rank and these literal ones was
 * stretched: those that it lacks, and its literal ones that are none in the result. */
uint8_t stretched_axes(int rank, uint8_t ones, int out_rank, uint8_t out_ones);

/* True when every term is there and nothing has failed, so that their types may be asked for. */
bool b_alive(builder *b, int n, const term *in);
/* Performs op with ones[] filled in from the operands; attrs may be NULL. */
term b_perform(builder *b, op_id op, const op_attrs *attrs, int n, const term *in);
/* contribute, of nothing after a failure. */
void b_contribute(builder *b, int k, term t);
/* contribute_into with ones[] filled in: operand k's own for the accumulator, then those of rest.
 */
void b_contribute_into(builder *b, const rule_site *s, int k, op_id op, const op_attrs *attrs,
                       int n, const term *rest);
/* Zeros of x's type. */
term b_zeros_like(builder *b, term x);
/* A sum over stretched axes; those of drop vanish. x itself when there are none. */
term b_sum_to(builder *b, term x, uint8_t axes, uint8_t drop);
/* x, of a reduction's result type, with the reduced axes back at size 1. */
term b_keep_axes(builder *b, const rule_site *s, term x);

#endif
