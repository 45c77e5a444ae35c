/* The vocabulary of rules: ops by name on terms, with the attributes that broadcasting needs filled
 * in.
 *
 * Every helper may be handed TERM_NONE after a failure and then returns TERM_NONE, so that rules
 * nest calls without asking. What is decided here is decided by ranks and literal ones, never by
 * sizes. */
#include "ad/builder.h"

#include <string.h>

#include "ad/rules.h"

bool b_alive(builder *b, int n, const term *in) {
    if (b->failed) return false;
    for (int k = 0; k < n; k++)
        if (in[k] < 0) return false;
    return true;
}

/* A copy to change, which does not live as long as what it was copied from. */
static void copy_attrs(op_attrs *own, const op_attrs *attrs) {
    *own = attrs != NULL ? *attrs : (op_attrs){0};
    own->stays = false;
}

/* The ops for which a strong zero is an attribute. */
static bool adds_products(op_id op) {
    switch ((op_class)op_table[op].class) {
    case CLASS_SCAN:
    case CLASS_MATMUL:
    case CLASS_MATMUL_ADD:
    case CLASS_CONV:
    case CLASS_CONV_INPUT_GRAD:
    case CLASS_CONV_WEIGHT_GRAD: return true;
    default: return false;
    }
}

term b_perform(builder *b, op_id op, const op_attrs *attrs, int n, const term *in) {
    if (!b_alive(b, n, in)) return TERM_NONE;
    uint8_t ones[COUNT_OF(attrs->ones)] = {0}, some = 0;
    for (int k = 0; k < n && k < (int)COUNT_OF(ones); k++) some |= ones[k] = b->ones(b, in[k]);
    if (attrs == NULL && some == 0 && rule_table[op].partial != NULL) return b->op(b, op, NULL, n, in);
    op_attrs full;
    copy_attrs(&full, attrs);
    memcpy(full.ones, ones, sizeof ones);
    full.strong_zero = b->strong_zero && adds_products(op);
    return b->op(b, op, &full, n, in);
}

void b_contribute(builder *b, int k, term t) {
    if (b_alive(b, 1, &t)) b->contribute(b, k, t);
}

void b_contribute_into(builder *b, const rule_site *s, int k, op_id op, const op_attrs *attrs,
                       int n, const term *rest) {
    if (!b_alive(b, n, rest)) return;
    op_attrs full;
    copy_attrs(&full, attrs);
    full.ones[0] = k < (int)COUNT_OF(full.ones) ? s->attrs->ones[k] : 0;
    for (int i = 0; i < n && i + 1 < (int)COUNT_OF(full.ones); i++)
        full.ones[i + 1] = b->ones(b, rest[i]);
    full.strong_zero = b->strong_zero && adds_products(op);
    b->contribute_into(b, k, op, &full, n, rest);
}

/* ---- elementwise ---- */

term b_unary(builder *b, op_id op, term x) {
    return b_perform(b, op, NULL, 1, &x);
}

term b_binary(builder *b, op_id op, term x, term y) {
    return b_perform(b, op, NULL, 2, (term[]){x, y});
}

term b_where(builder *b, term condition, term x, term y) {
    return b_perform(b, OP_where, NULL, 3, (term[]){condition, x, y});
}

term b_number(builder *b, term like, double x) {
    if (!b_alive(b, 1, &like)) return TERM_NONE;
    return b->number(b, (dtype)b->type(b, like)->dtype, x);
}

term b_cast(builder *b, dtype t, term x) {
    return b_perform(b, OP_cast, &(op_attrs){.dtype = (uint8_t)t}, 1, &x);
}

term b_zeros_like(builder *b, term x) {
    return b_perform(b, OP_full_like, NULL, 2, (term[]){x, b_number(b, x, 0.0)});
}

/* ---- reductions and shapes ---- */

term b_sum(builder *b, term x, uint8_t axes, bool keepdims) {
    if (axes == 0) return x;
    return b_perform(b, OP_sum, &(op_attrs){.axes = axes, .keepdims = keepdims}, 1, &x);
}

term b_sum_to(builder *b, term x, uint8_t axes, uint8_t drop) {
    if (axes == 0) return x;
    return b_perform(b, OP_sum_to, &(op_attrs){.axes = axes, .drop = drop}, 1, &x);
}

term b_permute(builder *b, term x, const uint8_t *perm) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    op_attrs attrs = {0};
    int rank = b->type(b, x)->rank;
    for (int i = 0; i < rank; i++) attrs.perm[i] = perm[i];
    return b_perform(b, OP_permute, &attrs, 1, &x);
}

term b_swap_last(builder *b, term x) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    uint8_t perm[MAX_RANK] = {0};
    int rank = b->type(b, x)->rank;
    for (int i = 0; i < rank; i++) perm[i] = (uint8_t)i;
    perm[rank - 1] = (uint8_t)(rank - 2);
    perm[rank - 2] = (uint8_t)(rank - 1);
    return b_permute(b, x, perm);
}

term b_expand(builder *b, term x, int axis) {
    return b_perform(b, OP_expand_dims, &(op_attrs){.axis = (uint8_t)axis}, 1, &x);
}

/* From the front, so that each axis lands where it stands in the final shape. */
term b_expand_mask(builder *b, term x, uint8_t axes) {
    for (int i = 0; i < MAX_RANK; i++)
        if (((axes >> i) & 1) != 0) x = b_expand(b, x, i);
    return x;
}

term b_keep_axes(builder *b, const rule_site *s, term x) {
    return s->attrs->keepdims ? x : b_expand_mask(b, x, s->attrs->axes);
}

term b_matmul(builder *b, term x, term y) {
    return b_binary(b, OP_matmul, x, y);
}

/* ---- broadcasting and its adjoint ---- */

/* The axes that an operand of lower rank lacks. */
static uint8_t missing_axes(int rank, int out_rank) {
    return (uint8_t)((1u << (out_rank - rank)) - 1);
}

uint8_t stretched_axes(int rank, uint8_t ones, int out_rank, uint8_t out_ones) {
    unsigned stretched = (unsigned)ones << (out_rank - rank);
    return (uint8_t)(missing_axes(rank, out_rank) | (stretched & ~(unsigned)out_ones));
}

term b_broadcast(builder *b, term x, const op_type *to, uint8_t ones) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    if (stretched_axes(b->type(b, x)->rank, b->ones(b, x), to->rank, ones) == 0) return x;
    op_attrs attrs = {.rank = to->rank, .ones = {0, ones, 0}};
    for (int i = 0; i < to->rank; i++) attrs.dims[i] = to->dims[i];
    return b_perform(b, OP_broadcast, &attrs, 1, &x);
}

term b_unbroadcast(builder *b, const rule_site *s, int k, term t) {
    int rank = s->in_type[k].rank, out_rank = s->out_type->rank;
    uint8_t axes = stretched_axes(rank, s->attrs->ones[k], out_rank, s->out_ones);
    return b_sum_to(b, t, axes, missing_axes(rank, out_rank));
}
