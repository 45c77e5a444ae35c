/* Rules of linear algebra, written as further calls of it.
 *
 * With y = inv(a): dy = -y da y. With x = solve(a, b): a dx = db - da x. A right-hand side that is
 * a vector becomes a matrix of one column, so that no batch axis is taken for its rows. The slope
 * of a determinant is its cofactors, which are an op of their own because they exist where no
 * inverse does. */
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

/* Whether the right-hand side is a vector: only then the result has fewer axes than the matrices.
 */
static bool right_vector(builder *b, const rule_site *s) {
    return s->out_type->rank < rank_of(b, s->in[0]);
}

/* Which triangle of the matrices counts; of those of solve both do. */
static term triangle(builder *b, op_id op, term t, bool upper) {
    if (op == OP_solve) return t;
    return b_perform(b, OP_triangle, &(op_attrs){.reversed = upper}, 1, &t);
}

static term solve(builder *b, op_id op, term a, term right, bool upper) {
    return b_perform(b, op, &(op_attrs){.reversed = upper}, 2, (term[]){a, right});
}

static void vjp_solution(builder *b, const rule_site *s, op_id op) {
    bool vectors = right_vector(b, s), upper = s->attrs->reversed;
    if (!s->wants[0] && !s->wants[1]) return;
    term d = vectors ? column(b, s->d) : s->d;
    term g = solve(b, op, b_swap_last(b, s->in[0]), d, !upper);
    if (s->wants[0]) {
        term x = vectors ? column(b, s->out) : s->out;
        term t = b_neg(b, b_matmul(b, g, b_swap_last(b, x)));
        b_contribute(b, 0, batch_back(b, s, 0, triangle(b, op, t, upper)));
    }
    if (!s->wants[1]) return;
    if (vectors) {
        unsigned batch = (1u << (s->out_type->rank - 1)) - 1;
        g = b_sum(b, vector(b, g), (uint8_t)batch, false);
    }
    b_contribute(b, 1, batch_back(b, s, 1, g));
}

static term jvp_solution(builder *b, const rule_site *s, op_id op) {
    bool vectors = right_vector(b, s), upper = s->attrs->reversed;
    term da = s->tangent[0], right = s->tangent[1];
    if (right != TERM_NONE && vectors) right = column(b, right);
    if (da != TERM_NONE) {
        term x = vectors ? column(b, s->out) : s->out;
        term t = b_matmul(b, triangle(b, op, da, upper), x);
        right = right == TERM_NONE ? b_neg(b, t) : b_sub(b, right, t);
    }
    if (right == TERM_NONE) return TERM_NONE;
    term x = solve(b, op, s->in[0], right, upper);
    return vectors ? vector(b, x) : x;
}

void vjp_solve(builder *b, const rule_site *s) {
    vjp_solution(b, s, OP_solve);
}

term jvp_solve(builder *b, const rule_site *s) {
    return jvp_solution(b, s, OP_solve);
}

void vjp_solve_triangular(builder *b, const rule_site *s) {
    vjp_solution(b, s, OP_solve_triangular);
}

term jvp_solve_triangular(builder *b, const rule_site *s) {
    return jvp_solution(b, s, OP_solve_triangular);
}

void vjp_triangle(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, b_perform(b, OP_triangle, s->attrs, 1, &s->d));
}

/* ---- the Cholesky factor ---- */

static term half(builder *b, term t) {
    return b_mul(b, t, b_number(b, t, 0.5));
}

/* (t + its transpose) / 2 */
static term symmetric(builder *b, term t) {
    return half(b, b_add(b, t, b_swap_last(b, t)));
}

/* The lower triangle with half of the diagonal. */
static term half_triangle(builder *b, term t) {
    term below = b_perform(b, OP_triangle, &(op_attrs){.lo = {-1}}, 1, &t);
    return half(b, b_add(b, b_perform(b, OP_triangle, NULL, 1, &t), below));
}

/* The transpose of inverse(l) @ t @ transpose(inverse(l)), l lower triangular, or upper. */
static term whitened(builder *b, term l, term t, bool upper) {
    term x = solve(b, OP_solve_triangular, l, t, upper);
    return solve(b, OP_solve_triangular, l, b_swap_last(b, x), upper);
}

/* Of a matrix that is symmetric: entries that are not read share with those that are. */
void vjp_cholesky(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    term turned = b_swap_last(b, s->out);
    term t = half_triangle(b, b_matmul(b, turned, s->d));
    b_contribute(b, 0, symmetric(b, whitened(b, turned, t, true)));
}

term jvp_cholesky(builder *b, const rule_site *s) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    term t = whitened(b, s->out, symmetric(b, s->tangent[0]), false);
    return b_matmul(b, s->out, half_triangle(b, t));
}

/* ---- determinants ---- */

/* A number for each matrix as a matrix of one element. */
static term single(builder *b, term x) {
    return column(b, column(b, x));
}

/* The sum of x * y over each matrix. */
static term inner(builder *b, term x, term y, bool keepdims) {
    int rank = rank_of(b, x);
    if (rank < 2) return TERM_NONE;
    return b_sum(b, b_mul(b, x, y), (uint8_t)(3u << (rank - 2)), keepdims);
}

static term inverse_turned(builder *b, term a) {
    return b_swap_last(b, b_unary(b, OP_inv, a));
}

void vjp_det(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    term slope = b_unary(b, OP_cofactor, s->in[0]);
    b_contribute(b, 0, b_mul(b, single(b, s->d), slope));
}

term jvp_det(builder *b, const rule_site *s) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    return inner(b, b_unary(b, OP_cofactor, s->in[0]), s->tangent[0], false);
}

void vjp_logdet(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    b_contribute(b, 0, b_mul(b, single(b, s->d), inverse_turned(b, s->in[0])));
}

term jvp_logdet(builder *b, const rule_site *s) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    return inner(b, inverse_turned(b, s->in[0]), s->tangent[0], false);
}

/* The second derivative of a determinant is symmetric, so that it serves both directions. */
void vjp_cofactor(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, b_binary(b, OP_cofactor_slope, s->in[0], s->d));
}

term jvp_cofactor(builder *b, const rule_site *s) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    return b_binary(b, OP_cofactor_slope, s->in[0], s->tangent[0]);
}

/* The third derivative of det(a) along h and t, with y the inverse and c the cofactors:
 *   c (tr(yh) tr(yt) - tr(yh yt)) + (y (det(a) (h y t + t y h) - h tr(ct') - t tr(ch')) y)'
 * where det(a) tr(yh) = tr(c h'). */
static term third(builder *b, term a, term h, term t) {
    term y = b_unary(b, OP_inv, a), c = b_unary(b, OP_cofactor, a);
    term det = single(b, b_unary(b, OP_det, a));
    term yh = b_matmul(b, y, h), yt = b_matmul(b, y, t), turned = b_swap_last(b, y);
    term both = inner(b, yh, b_swap_last(b, yt), true);
    term scale = b_sub(b, b_mul(b, inner(b, turned, h, true), inner(b, turned, t, true)), both);
    term middle = b_mul(b, det, b_add(b, b_matmul(b, h, yt), b_matmul(b, t, yh)));
    middle = b_sub(b, middle, b_mul(b, h, inner(b, c, t, true)));
    middle = b_sub(b, middle, b_mul(b, t, inner(b, c, h, true)));
    term rest = b_matmul(b, b_matmul(b, y, middle), y);
    return b_add(b, b_mul(b, c, scale), b_swap_last(b, rest));
}

void vjp_cofactor_slope(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, third(b, s->in[0], s->in[1], s->d));
    if (s->wants[1]) b_contribute(b, 1, b_binary(b, OP_cofactor_slope, s->in[0], s->d));
}

term jvp_cofactor_slope(builder *b, const rule_site *s) {
    term da = s->tangent[0], dh = s->tangent[1], t = TERM_NONE;
    if (da != TERM_NONE) t = third(b, s->in[0], s->in[1], da);
    if (dh == TERM_NONE) return t;
    dh = b_binary(b, OP_cofactor_slope, s->in[0], dh);
    return t == TERM_NONE ? dh : b_add(b, t, dh);
}
