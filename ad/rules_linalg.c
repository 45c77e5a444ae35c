/* Rules of linear algebra, written as further calls of it.
 *
 * With y = inv(a): dy = -y da y. With x = solve(a, b): a dx = db - da x. A right-hand side that is
 * a vector becomes a matrix of one column, so that no batch axis is taken for its rows. */
#include "ad/rules.h"

static int rank_of(builder *b, term x) {
    return b_alive(b, 1, &x) ? b->type(b, x)->rank : 0;
}

/* Vectors as matrices of one column. */
static term column(builder *b, term x) {
    return b_expand(b, x, rank_of(b, x));
}

static term vector(builder *b, term x) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    op_attrs attrs = {.axis = (uint8_t)(rank_of(b, x) - 1)};
    return b_perform(b, OP_squeeze, &attrs, 1, &x);
}

/* t, of matrices with the result's batch, summed over the batch axes along which operand k was
 * stretched. */
static term batch_back(builder *b, const rule_site *s, int k, term t) {
    int rank = s->in_type[k].rank, out_rank = rank_of(b, t);
    if (out_rank == 0 || rank < 2) return t;
    unsigned batch = (1u << (rank - 2)) - 1;
    uint8_t stretched =
        stretched_axes(rank, (uint8_t)(s->attrs->ones[k] & batch), out_rank, s->out_ones);
    return b_sum_to(b, t, stretched, (uint8_t)((1u << (out_rank - rank)) - 1));
}

/* ---- the inverse ---- */

/* -x @ t @ x */
static term sandwich(builder *b, term x, term t) {
    return b_neg(b, b_matmul(b, b_matmul(b, x, t), x));
}

void vjp_inv(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, sandwich(b, b_swap_last(b, s->out), s->d));
}

term jvp_inv(builder *b, const rule_site *s) {
    return s->tangent[0] == TERM_NONE ? TERM_NONE : sandwich(b, s->out, s->tangent[0]);
}

/* ---- solutions ---- */

/* Whether the right-hand side is a vector: only then the result has fewer axes than the matrices. */
static bool right_vector(builder *b, const rule_site *s) {
    return s->out_type.rank < rank_of(b, s->in[0]);
}

void vjp_solve(builder *b, const rule_site *s) {
    bool vectors = right_vector(b, s);
    if (!s->wants[0] && !s->wants[1]) return;
    term d = vectors ? column(b, s->d) : s->d;
    term g = b_binary(b, OP_solve, b_swap_last(b, s->in[0]), d);
    if (s->wants[0]) {
        term x = vectors ? column(b, s->out) : s->out;
        term t = b_neg(b, b_matmul(b, g, b_swap_last(b, x)));
        b_contribute(b, 0, batch_back(b, s, 0, t));
    }
    if (!s->wants[1]) return;
    if (vectors) {
        unsigned batch = (1u << (s->out_type.rank - 1)) - 1;
        g = b_sum(b, vector(b, g), (uint8_t)batch, false);
    }
    b_contribute(b, 1, batch_back(b, s, 1, g));
}

term jvp_solve(builder *b, const rule_site *s) {
    bool vectors = right_vector(b, s);
    term da = s->tangent[0], right = s->tangent[1];
    if (right != TERM_NONE && vectors) right = column(b, right);
    if (da != TERM_NONE) {
        term t = b_matmul(b, da, vectors ? column(b, s->out) : s->out);
        right = right == TERM_NONE ? b_neg(b, t) : b_sub(b, right, t);
    }
    if (right == TERM_NONE) return TERM_NONE;
    term x = b_binary(b, OP_solve, s->in[0], right);
    return vectors ? vector(b, x) : x;
}
