/* einsum: operands are taken in from left to right. Of each, repeated indices become a diagonal and
 * indices that nothing else needs are summed; a pair is a matrix product where it has indices to
 * sum over, else an elementwise product. */
#include "interp/composite.h"

/* ---- one operand ---- */

static void remove_axis(einsum_operand *x, int axis) {
    x->rank--;
    for (int i = axis; i < x->rank; i++) x->index[i] = x->index[i + 1];
}

static void squeeze_stretched(builder *b, indexed *a) {
    for (int i = a->x.rank - 1; i >= 0; i--) {
        if (((a->x.stretched >> i) & 1) == 0) continue;
        a->t = b_perform(b, OP_squeeze, &(op_attrs){.axis = (uint8_t)i}, 1, &a->t);
        remove_axis(&a->x, i);
    }
    a->x.stretched = 0;
}

/* The axes p and q as the last two, then their diagonal as the last one. */
static void take_diagonal(builder *b, indexed *a, int p, int q) {
    uint8_t perm[MAX_RANK] = {0};
    uint8_t index = a->x.index[p];
    int n = 0;
    for (int i = 0; i < a->x.rank; i++)
        if (i != p && i != q) perm[n++] = (uint8_t)i;
    perm[n++] = (uint8_t)p;
    perm[n] = (uint8_t)q;
    a->t = composite_diagonal(b, b_permute(b, a->t, perm));
    remove_axis(&a->x, q);
    remove_axis(&a->x, p);
    a->x.index[a->x.rank++] = index;
}

static void take_diagonals(builder *b, indexed *a) {
    for (int p = 0; p < a->x.rank; p++)
        for (int q = p + 1; q < a->x.rank; q++) {
            if (a->x.index[p] != a->x.index[q]) continue;
            take_diagonal(b, a, p, q);
            p = -1;
            break;
        }
}

/* Sums over every index that is not among `needed`. */
static void sum_others(builder *b, indexed *a, uint64_t needed) {
    uint8_t axes = 0;
    for (int i = a->x.rank - 1; i >= 0; i--)
        if ((needed & einsum_bit(a->x.index[i])) == 0) axes |= (uint8_t)(1u << i);
    a->t = b_sum(b, a->t, axes, false);
    for (int i = a->x.rank - 1; i >= 0; i--)
        if (((axes >> i) & 1) != 0) remove_axis(&a->x, i);
}

static int axis_of(const einsum_operand *x, int index) {
    for (int i = 0; i < x->rank; i++)
        if (x->index[i] == index) return i;
    return -1;
}

/* The axes in the order of a list of indices, which are those of a. */
static void reorder(builder *b, indexed *a, const uint8_t *order) {
    uint8_t perm[MAX_RANK] = {0};
    bool moved = false;
    for (int i = 0; i < a->x.rank; i++) {
        perm[i] = (uint8_t)axis_of(&a->x, order[i]);
        moved = moved || perm[i] != i;
    }
    if (moved) a->t = b_permute(b, a->t, perm);
    for (int i = 0; i < a->x.rank; i++) a->x.index[i] = order[i];
}

/* ---- two operands ---- */

/* Appends the indices of x that are in `of`, in their order. */
static int append(const einsum_operand *x, uint64_t of, uint8_t *order, int n) {
    for (int i = 0; i < x->rank; i++)
        if ((of & einsum_bit(x->index[i])) != 0) order[n++] = x->index[i];
    return n;
}

/* a in the order of `order`, axes of size 1 where it lacks an index. */
static term aligned(builder *b, indexed a, const uint8_t *order, int rank) {
    uint8_t own[MAX_RANK] = {0};
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (axis_of(&a.x, order[i]) >= 0) own[n++] = order[i];
    reorder(b, &a, own);
    for (int i = 0; i < rank; i++)
        if (axis_of(&a.x, order[i]) < 0) a.t = b_expand(b, a.t, i);
    return a.t;
}

static void multiply(builder *b, indexed *a, const indexed *y) {
    uint8_t order[2 * MAX_RANK];
    uint64_t all = einsum_bits(&a->x) | einsum_bits(&y->x);
    int rank = append(&a->x, all, order, 0);
    rank = append(&y->x, all & ~einsum_bits(&a->x), order, rank);
    a->t = b_mul(b, aligned(b, *a, order, rank), aligned(b, *y, order, rank));
    a->x.rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) a->x.index[i] = order[i];
}

static term reshape(builder *b, term t, int rank, const int64_t *shape, uint8_t ones) {
    if (!b_alive(b, 1, &t)) return TERM_NONE;
    const op_type *now = b->type(b, t);
    bool same = now->rank == rank;
    for (int i = 0; same && i < rank; i++) same = now->dims[i] == shape[i];
    if (same) return t;
    op_attrs attrs = {.rank = (uint8_t)rank, .ones = {0, ones, 0}};
    for (int i = 0; i < rank; i++) attrs.dims[i] = shape[i];
    return b_perform(b, OP_reshape, &attrs, 1, &t);
}

/* A matrix for each index of the batch: a's axes in three groups, each laid end to end. */
static term as_matrices(builder *b, indexed *a, const uint8_t *order, const int *group) {
    int64_t shape[3] = {1, 1, 1};
    reorder(b, a, order);
    if (!b_alive(b, 1, &a->t)) return TERM_NONE;
    const op_type *t = b->type(b, a->t);
    for (int g = 0, axis = 0; g < 3; g++) {
        shape[g] = composite_product(b, t->dims, axis, axis + group[g]);
        axis += group[g];
    }
    int batched = group[0] > 0;
    return reshape(b, a->t, 2 + batched, shape + !batched, 0);
}

/* The axes [from, to) of a term with the literal ones among them, behind those in *out. */
static void append_dims(builder *b, term t, int from, int to, op_type *out, uint8_t *ones) {
    const op_type *x = b->type(b, t);
    for (int i = from; i < to; i++) {
        if (((b->ones(b, t) >> i) & 1) != 0) *ones |= (uint8_t)(1u << out->rank);
        out->dims[out->rank++] = x->dims[i];
    }
}

static void contract(builder *b, indexed *a, indexed *y, uint64_t needed) {
    uint64_t of_a = einsum_bits(&a->x), of_y = einsum_bits(&y->x), both = of_a & of_y;
    uint8_t order_a[MAX_RANK] = {0}, order_y[MAX_RANK] = {0}, ones = 0;
    op_type out = {0};
    int batch = append(&a->x, both & needed, order_a, 0);
    int left = append(&a->x, of_a & ~both, order_a, batch) - batch;
    int inner = append(&a->x, both & ~needed, order_a, batch + left) - batch - left;
    for (int i = 0; i < batch; i++) order_y[i] = order_a[i];
    for (int i = 0; i < inner; i++) order_y[batch + i] = order_a[batch + left + i];
    int right = append(&y->x, of_y & ~both, order_y, batch + inner) - batch - inner;
    term p = as_matrices(b, a, order_a, (int[]){batch, left, inner});
    term q = as_matrices(b, y, order_y, (int[]){batch, inner, right});
    term r = b_matmul(b, p, q);
    if (!b_alive(b, 1, &r)) {
        a->t = TERM_NONE;
        return;
    }
    append_dims(b, a->t, 0, batch + left, &out, &ones);
    append_dims(b, y->t, batch + inner, batch + inner + right, &out, &ones);
    a->t = reshape(b, r, out.rank, out.dims, ones);
    a->x.rank = (uint8_t)(batch + left);
    for (int i = 0; i < batch + left; i++) a->x.index[i] = order_a[i];
    for (int i = 0; i < right; i++) a->x.index[a->x.rank++] = order_y[batch + inner + i];
}

/* ---- the whole ---- */

/* The indices that the result and the operands from k on have. */
static uint64_t needed_from(const einsum_plan *plan, int k) {
    uint64_t bits = einsum_bits(&plan->out);
    for (; k < plan->count; k++) bits |= einsum_bits(&plan->operand[k]);
    return bits;
}

indexed composite_einsum_take(builder *b, const einsum_plan *plan, int k, indexed so_far, term next) {
    indexed y = {next, plan->operand[k]};
    uint64_t needed = needed_from(plan, k + 1);
    squeeze_stretched(b, &y);
    take_diagonals(b, &y);
    if (k == 0) {
        sum_others(b, &y, needed);
        so_far = y;
    } else {
        sum_others(b, &so_far, needed | einsum_bits(&y.x));
        sum_others(b, &y, needed | einsum_bits(&so_far.x));
        bool sums = (einsum_bits(&so_far.x) & einsum_bits(&y.x) & ~needed) != 0;
        if (sums)
            contract(b, &so_far, &y, needed);
        else
            multiply(b, &so_far, &y);
    }
    if (k + 1 == plan->count) reorder(b, &so_far, plan->out.index);
    return so_far;
}
