/* Rules of the matrix products.
 *
 * A contribution that is itself a product goes into the accumulator by the op matmul_add, decided
 * by ranks and literal ones: wherever no batch axis of the operand was stretched. Vectors become
 * matrices of one row or column where NumPy's rules would otherwise pair the wrong axes. */
#include "ad/rules.h"

/* x @ y added into operand k, both of rank 2 and up and the product of operand k's shape. */
static void contribute_product(builder *b, const rule_site *s, int k, term x, term y) {
    b_contribute_into(b, s, k, OP_matmul_add, NULL, 2, (term[]){x, y});
}

static int rank_of(builder *b, term x) {
    return b_alive(b, 1, &x) ? b->type(b, x)->rank : 0;
}

/* x as a matrix of one column. */
static term column(builder *b, term x) {
    return b_expand(b, x, rank_of(b, x));
}

/* x as a matrix of one row, its last axis the row's. */
static term row(builder *b, term x) {
    return b_expand(b, x, rank_of(b, x) - 1);
}

/* Operand k and its partner are matrices: x @ y, summed over the batch axes along which k was
 * stretched. */
static void contribute_batched(builder *b, const rule_site *s, int k, term x, term y) {
    int rank = s->in_type[k].rank, out_rank = s->out_type->rank;
    unsigned batch = (1u << (rank - 2)) - 1;
    uint8_t ones = (uint8_t)(s->attrs->ones[k] & batch);
    uint8_t stretched = stretched_axes(rank, ones, out_rank, s->out_ones);
    if (stretched == 0) {
        contribute_product(b, s, k, x, y);
    } else {
        uint8_t missing = (uint8_t)((1u << (out_rank - rank)) - 1);
        b_contribute(b, k, b_sum_to(b, b_matmul(b, x, y), stretched, missing));
    }
}

/* A vector operand k: the matrices m times the cotangent's vectors, summed over the batch. */
static void contribute_vector(builder *b, int k, term m, term d) {
    int rank = rank_of(b, m);
    if (rank <= 2) {
        b_contribute(b, k, b_matmul(b, m, d));
        return;
    }
    unsigned rows = 1u << (rank - 2), all = (1u << rank) - 1;
    b_contribute(b, k, b_sum(b, b_matmul(b, m, column(b, d)), (uint8_t)(all & ~rows), false));
}

/* By the left factor x = operand k of x @ y. */
static void vjp_left(builder *b, const rule_site *s, int k) {
    term y = s->in[k + 1], d = s->d;
    int rank_x = s->in_type[k].rank, rank_y = rank_of(b, y);
    if (b->failed) return;
    if (rank_x >= 2 && rank_y >= 2)
        contribute_batched(b, s, k, d, b_swap_last(b, y));
    else if (rank_x >= 2)
        contribute_product(b, s, k, column(b, d), row(b, y));
    else if (rank_y >= 2)
        contribute_vector(b, k, y, d);
    else
        b_contribute(b, k, b_mul(b, d, y));
}

/* By the right factor y = operand k of x @ y. */
static void vjp_right(builder *b, const rule_site *s, int k) {
    term x = s->in[k - 1], d = s->d;
    int rank_x = rank_of(b, x), rank_y = s->in_type[k].rank;
    if (b->failed) return;
    if (rank_x >= 2 && rank_y >= 2)
        contribute_batched(b, s, k, b_swap_last(b, x), d);
    else if (rank_y >= 2)
        contribute_product(b, s, k, column(b, x), row(b, d));
    else if (rank_x >= 2)
        contribute_vector(b, k, b_swap_last(b, x), d);
    else
        b_contribute(b, k, b_mul(b, d, x));
}

void vjp_matmul(builder *b, const rule_site *s) {
    if (s->wants[0]) vjp_left(b, s, 0);
    if (s->wants[1]) vjp_right(b, s, 1);
}

void vjp_matmul_add(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, s->d);
    if (s->wants[1]) vjp_left(b, s, 1);
    if (s->wants[2]) vjp_right(b, s, 2);
}

static term sum_of(builder *b, term x, term y) {
    if (x == TERM_NONE) return y;
    return y == TERM_NONE ? x : b_add(b, x, y);
}

/* The product rule for x @ y = operands k and k + 1, added to a tangent that may be absent. */
static term jvp_product(builder *b, const rule_site *s, int k, term t) {
    const term *tangent = s->tangent;
    if (tangent[k] != TERM_NONE) t = sum_of(b, t, b_matmul(b, tangent[k], s->in[k + 1]));
    if (tangent[k + 1] != TERM_NONE) t = sum_of(b, t, b_matmul(b, s->in[k], tangent[k + 1]));
    return t;
}

term jvp_matmul(builder *b, const rule_site *s) {
    return jvp_product(b, s, 0, TERM_NONE);
}

term jvp_matmul_add(builder *b, const rule_site *s) {
    return jvp_product(b, s, 1, s->tangent[0]);
}
