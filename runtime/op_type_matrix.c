/* The type rules of matrix products and linear algebra. */
#include "runtime/op_rule.h"

/* ---- matrix products ---- */

bool rule_product(const rule *r, int a, const uint8_t *ones) {
    const op_type *x = &r->in[a], *y = &r->in[a + 1];
    if (!rule_want(r, a, WANT_NUMERIC) || !rule_same_dtype(r, a, a + 1)) return false;
    if (x->rank == 0) return rule_fail(r, FAULT_RANK, a, "rank 1 or more");
    if (y->rank == 0) return rule_fail(r, FAULT_RANK, a + 1, "rank 1 or more");
    int inner_x = x->rank - 1, inner_y = y->rank >= 2 ? y->rank - 2 : 0;
    if (rule_compare_dims(r, x->dims[inner_x], y->dims[inner_y]) == DIM_DIFFERENT)
        return rule_fail_dims(r, a, inner_x, a + 1, inner_y);
    int batch = 0;
    if (x->rank - 2 > batch) batch = x->rank - 2;
    if (y->rank - 2 > batch) batch = y->rank - 2;
    for (int from_end = 1; from_end <= batch; from_end++) {
        if (!rule_broadcast_axis(r, a, a + 1, ones, 2, from_end, &r->out->dims[batch - from_end]))
            return false;
    }
    int rank = batch;
    if (x->rank >= 2) r->out->dims[rank++] = x->dims[x->rank - 2];
    if (y->rank >= 2) r->out->dims[rank++] = y->dims[y->rank - 1];
    r->out->rank = (uint8_t)rank;
    r->out->dtype = x->dtype;
    return true;
}

bool rule_matmul_add(const rule *r) {
    op_type both = {0};
    rule inner = *r;
    inner.out = &both;
    if (!rule_same_dtype(r, 0, 1)) return false;
    for (int k = 1; k <= 2; k++)
        if (r->in[k].rank < 2) return rule_fail(r, FAULT_RANK, k, "rank 2 or more");
    if (!rule_product(&inner, 1, r->attrs->ones + 1)) return false;
    rule_same_as(r, 0);
    return rule_has_shape(r, 0, &both);
}

/* ---- linear algebra ---- */

static bool square_matrices(const rule *r, int k) {
    const op_type *x = &r->in[k];
    if (!rule_want(r, k, WANT_FLOAT)) return false;
    if (x->rank < 2) return rule_fail(r, FAULT_RANK, k, "rank 2 or more");
    if (rule_compare_dims(r, x->dims[x->rank - 2], x->dims[x->rank - 1]) == DIM_DIFFERENT)
        return rule_fail_axis(r, FAULT_SIZE, k, x->rank - 1,
                              "square matrices on its last two axes");
    return true;
}

bool rule_matrix(const rule *r) {
    rule_same_as(r, 0);
    return square_matrices(r, 0);
}

bool rule_matrix_pair(const rule *r) {
    return rule_matrix(r) && rule_same_dtype(r, 0, 1) && rule_same_shape(r, 0, 1);
}

bool rule_determinant(const rule *r) {
    rule_same_as(r, 0);
    if (!square_matrices(r, 0)) return false;
    r->out->rank = (uint8_t)(r->in[0].rank - 2);
    return true;
}

bool rule_triangle(const rule *r) {
    rule_same_as(r, 0);
    return r->in[0].rank >= 2 || rule_fail(r, FAULT_RANK, 0, "rank 2 or more");
}

/* The inverse of a square matrix has its type, so that the result is that of a product. */
bool rule_solve(const rule *r) {
    return square_matrices(r, 0) && rule_product(r, 0, r->attrs->ones);
}
