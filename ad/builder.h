/* What rules of calculus are written against.
 *
 * A rule never touches numbers: it names ops on `term`s and hands over contributions. One builder performs
 * the ops through the door (ad/performer.c: the tape's sweep and the forward handler); another can write
 * them down as program text. So a rule may branch on static facts only: attributes, ranks, dtypes and
 * literal-one axes; whatever looks at an element or a run-time size is an op.
 *
 * Terms are borrowed from the builder, which frees them all after the rule. The first failure is sticky:
 * later calls do nothing and return TERM_NONE, so that rules nest calls without asking. */
#ifndef KINA_BUILDER_H
#define KINA_BUILDER_H

#include "runtime/context.h"
#include "runtime/op.h"

typedef struct builder builder;

typedef int term;
enum {
    TERM_NONE = -1,         /* absent, or after a failure */
    TERM_ONE = -2,          /* a partial of exactly 1: the cotangent itself */
    TERM_MINUS_ONE = -3,    /* a partial of exactly -1 */
};

struct builder {
    context *c;
    bool failed;
    bool strong_zero;           /* 0 times anything is 0 in whatever rules multiply, by strong_mul or by
                                   the attribute of that name */
    /* Performs or writes op; the result is a new term. */
    term (*op)(builder *b, op_id op, const op_attrs *attrs, int n, const term *in);
    /* A literal of dtype t. */
    term (*number)(builder *b, dtype t, double x);
    /* The number of entries of `of` along the axes of the mask, as a number of dtype t. */
    term (*count)(builder *b, const op_type *of, uint8_t axes, dtype t);
    /* Sizes: op is OP_add, OP_sub or OP_mul. A builder that writes may have sizes that are not known; these
     * are negative. */
    int64_t (*size)(builder *b, op_id op, int64_t x, int64_t y);
    /* The integer that a term is, where it is known; and as a size, known or not. */
    bool (*known)(builder *b, term t, int64_t *x);
    int64_t (*size_of)(builder *b, term t);
    /* Adds t to operand k's adjoint: written when absent, else added. t has the operand's shape. */
    void (*contribute)(builder *b, int k, term t);
    /* The same by an op whose first operand is the accumulator: matmul_add, slice_add, scatter_add,
     * scatter_along_axis. When absent: matmul for matmul_add, else the op on zeros of the operand's shape. */
    void (*contribute_into)(builder *b, int k, op_id op, const op_attrs *attrs, int n, const term *rest);
    const op_type *(*type)(builder *b, term t);
    uint8_t (*ones)(builder *b, term t);    /* literal-one axes */
};

/* One application of an op, as its rule sees it. */
typedef struct rule_site {
    const op_attrs *attrs;
    int n;
    const op_type *in_type;     /* of every operand that receives a contribution or has a tangent */
    const op_type *out_type;
    uint8_t out_ones;
    const term *in;             /* operands; valid where the op's `needs` says (vjp), all of them (jvp) */
    term out;                   /* the result; valid where needed (vjp), always (jvp) */
    const bool *wants;          /* vjp: operand k is active and receives a contribution */
    term d;                     /* vjp: the result's cotangent */
    const term *tangent;        /* jvp: each operand's tangent, TERM_NONE where absent */
    const int64_t *sizes;       /* concat: the operands' sizes along attrs->axis */
} rule_site;

/* The rules of an op, generated from ops.def (rules.c). */
typedef term (*partial_rule)(builder *b, const rule_site *s, int k);   /* d out / d operand k, elementwise */
typedef void (*vjp_rule)(builder *b, const rule_site *s);              /* calls contribute for each wanted operand */
typedef term (*jvp_rule)(builder *b, const rule_site *s);              /* the result's tangent */

typedef struct op_rules {
    partial_rule partial;
    vjp_rule vjp;
    jvp_rule jvp;
} op_rules;
extern const op_rules rule_table[OP_COUNT];

/* ---- for the drivers ---- */

/* All contributions of one application: cotangent * partial for elementwise ops, summed back over
 * stretched axes; else the op's vjp. */
void rules_vjp(builder *b, op_id op, const rule_site *s);
/* The result's tangent, broadcast to the result's shape; TERM_NONE when there is none. */
term rules_jvp(builder *b, op_id op, const rule_site *s);

/* Literal-one axes of an op's result from its operands' (static): shared by all builders. */
uint8_t rules_result_ones(op_id op, const op_attrs *attrs, int n, const op_type *in, const uint8_t *ones,
                          const op_type *out);

/* ---- for rules: ops by name; elementwise ones broadcast by literal ones and fill attrs.ones ---- */
term b_unary(builder *b, op_id op, term x);
term b_binary(builder *b, op_id op, term x, term y);
term b_where(builder *b, term condition, term x, term y);
term b_number(builder *b, term like, double x);         /* a literal of like's dtype */
term b_cast(builder *b, dtype t, term x);
term b_sum(builder *b, term x, uint8_t axes, bool keepdims);
term b_permute(builder *b, term x, const uint8_t *perm);
term b_swap_last(builder *b, term x);                   /* the last two axes exchanged */
term b_expand(builder *b, term x, int axis);
term b_expand_mask(builder *b, term x, uint8_t axes);   /* undoes a reduction without keepdims */
term b_matmul(builder *b, term x, term y);
/* x stretched to a type; ones: the literal-one axes of the target. */
term b_broadcast(builder *b, term x, const op_type *to, uint8_t ones);
/* t (of the result's shape) summed back to operand k's shape over the axes along which it was stretched. */
term b_unbroadcast(builder *b, const rule_site *s, int k, term t);

static inline term b_add(builder *b, term x, term y) { return b_binary(b, OP_add, x, y); }
static inline term b_sub(builder *b, term x, term y) { return b_binary(b, OP_sub, x, y); }
/* Every product that a rule forms is this one. */
static inline term b_mul(builder *b, term x, term y) {
    return b_binary(b, b->strong_zero ? OP_strong_mul : OP_mul, x, y);
}
static inline term b_div(builder *b, term x, term y) { return b_binary(b, OP_div, x, y); }
static inline term b_neg(builder *b, term x) { return b_unary(b, OP_neg, x); }

#endif
