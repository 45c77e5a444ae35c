/* The type rules: from the operands' types to the result's, one rule per op class.
 *
 * The checker and the run share them. Dims are opaque here: they are only compared, added and
 * multiplied, in a run as sizes and in the checker through its algebra of symbolic dims. */
#include <stdio.h>
#include <string.h>

#include "runtime/op_rule.h"
#include "runtime/tensor.h"

static const op_attrs no_attrs;

/* ---- faults ---- */

bool rule_fail(const rule *r, op_fault_kind kind, int a, const char *expects) {
    *r->fault = (op_fault){.kind = kind, .a = a, .b = a};
    snprintf(r->fault->expects, sizeof r->fault->expects, "%s", expects);
    return false;
}

bool rule_fail_axis(const rule *r, op_fault_kind kind, int a, int axis, const char *expects) {
    rule_fail(r, kind, a, expects);
    r->fault->axis_a = axis;
    return false;
}

bool rule_fail_dims(const rule *r, int a, int axis_a, int b, int axis_b) {
    *r->fault = (op_fault){.kind = FAULT_DIMS, .a = a, .b = b, .axis_a = axis_a, .axis_b = axis_b};
    snprintf(r->fault->expects, sizeof r->fault->expects, "equal dims");
    return false;
}

/* ---- dims ---- */

dim_verdict rule_compare_dims(const rule *r, int64_t a, int64_t b) {
    if (a == b) return DIM_SAME;
    if (r->algebra == NULL || (a >= 0 && b >= 0)) return DIM_DIFFERENT;
    return r->algebra->compare(r->algebra->self, a, b);
}

int64_t rule_definite_dim(int64_t a, int64_t b) {
    return a < 0 && b >= 0 ? b : a;
}

/* False on overflow, which only plain sizes can have. */
static bool dim_add(const rule *r, int64_t a, int64_t b, int64_t *sum) {
    if (a >= 0 && b >= 0) return !__builtin_add_overflow(a, b, sum);
    *sum = r->algebra->add(r->algebra->self, a, b);
    return true;
}

bool rule_mul_dims(const rule *r, int64_t a, int64_t b, int64_t *product) {
    if (a >= 0 && b >= 0) return !__builtin_mul_overflow(a, b, product);
    *product = r->algebra->mul(r->algebra->self, a, b);
    return true;
}

bool rule_in_a_run(const rule *r) {
    return r->algebra == NULL;
}

/* ---- dtypes ---- */

bool rule_want(const rule *r, int k, wants w) {
    static const char *const words[] = {
        [WANT_ANY] = "anything",
        [WANT_FLOAT] = "a floating operand (F32 or F64)",
        [WANT_NUMERIC] = "a floating or integer operand",
        [WANT_INTEGER] = "an integer operand (I32 or I64)",
        [WANT_BOOL] = "a Bool operand",
    };
    dtype t = (dtype)r->in[k].dtype;
    bool good = w == WANT_ANY || (w == WANT_BOOL && t == DT_Bool) ||
                (w == WANT_FLOAT && dtype_floating(t)) || (w == WANT_INTEGER && dtype_integer(t)) ||
                (w == WANT_NUMERIC && t != DT_Bool);
    return good || rule_fail(r, FAULT_DTYPE, k, words[w]);
}

bool rule_same_dtype(const rule *r, int a, int b) {
    if (r->in[a].dtype == r->in[b].dtype) return true;
    rule_fail(r, FAULT_DTYPES, a, "operands of one type");
    r->fault->b = b;
    return false;
}

/* ---- shapes ---- */

bool rule_same_shape(const rule *r, int a, int b) {
    const op_type *x = &r->in[a], *y = &r->in[b];
    if (x->rank != y->rank) return rule_fail(r, FAULT_RANK, b, "operands of one rank");
    for (int i = 0; i < x->rank; i++) {
        if (rule_compare_dims(r, x->dims[i], y->dims[i]) == DIM_DIFFERENT)
            return rule_fail_dims(r, a, i, b, i);
    }
    return true;
}

static bool axis_within(const rule *r, int k) {
    if (r->in[k].rank == 0) return rule_fail(r, FAULT_RANK, k, "rank 1 or more");
    if (r->attrs->axis >= r->in[k].rank)
        return rule_fail_axis(r, FAULT_AXIS, k, r->attrs->axis, "an axis within the rank");
    return true;
}

void rule_same_as(const rule *r, int k) {
    *r->out = r->in[k];
}

bool rule_broadcast_axis(const rule *r, int first, int last, const uint8_t *ones, int skip,
                         int from_end, int64_t *joined) {
    int seen = -1;
    *joined = 1;
    for (int k = first; k <= last; k++) {
        int axis = r->in[k].rank - skip - from_end;
        if (axis < 0) continue;
        int64_t dim = r->in[k].dims[axis];
        if (dim == 1 && ((ones[k - first] >> axis) & 1) != 0) continue;
        if (seen < 0) {
            seen = k;
            *joined = dim;
        } else if (rule_compare_dims(r, *joined, dim) == DIM_DIFFERENT) {
            return rule_fail_dims(r, seen, r->in[seen].rank - skip - from_end, k, axis);
        } else {
            *joined = rule_definite_dim(*joined, dim);
        }
    }
    return true;
}

/* Broadcasts operands first..last elementwise into out->rank and out->dims. */
static bool broadcast(const rule *r, int first, int last) {
    int rank = 0;
    for (int k = first; k <= last; k++)
        if (r->in[k].rank > rank) rank = r->in[k].rank;
    r->out->rank = (uint8_t)rank;
    for (int from_end = 1; from_end <= rank; from_end++) {
        if (!rule_broadcast_axis(r, first, last, r->attrs->ones, 0, from_end,
                                 &r->out->dims[rank - from_end]))
            return false;
    }
    return true;
}

/* ---- elementwise ---- */

static bool rule_unary(const rule *r, wants w) {
    rule_same_as(r, 0);
    return rule_want(r, 0, w);
}

static bool rule_cast(const rule *r) {
    rule_same_as(r, 0);
    r->out->dtype = r->attrs->dtype;
    return true;
}

static bool rule_binary(const rule *r, wants w) {
    r->out->dtype = r->in[0].dtype;
    return rule_want(r, 0, w) && rule_same_dtype(r, 0, 1) && broadcast(r, 0, 1);
}

static bool rule_compare(const rule *r, wants w) {
    bool good = rule_binary(r, w);
    r->out->dtype = DT_Bool;
    return good;
}

static bool rule_where(const rule *r) {
    r->out->dtype = r->in[1].dtype;
    return rule_want(r, 0, WANT_BOOL) && rule_same_dtype(r, 1, 2) && broadcast(r, 0, 2);
}

static bool rule_ternary(const rule *r) {
    r->out->dtype = r->in[0].dtype;
    return rule_want(r, 0, WANT_NUMERIC) && rule_same_dtype(r, 0, 1) && rule_same_dtype(r, 0, 2) &&
           broadcast(r, 0, 2);
}

/* ---- reductions ---- */

static bool rule_reduce(const rule *r, wants w, bool nonempty) {
    const op_type *x = &r->in[0];
    if (!rule_want(r, 0, w)) return false;
    if ((r->attrs->axes >> x->rank) != 0)
        return rule_fail_axis(r, FAULT_AXIS, 0, x->rank, "axes within the rank");
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        bool reduced = ((r->attrs->axes >> i) & 1) != 0;
        if (reduced && nonempty && x->dims[i] == 0)
            return rule_fail_axis(r, FAULT_EMPTY, 0, i, "an axis with entries");
        if (!reduced)
            r->out->dims[rank++] = x->dims[i];
        else if (r->attrs->keepdims)
            r->out->dims[rank++] = 1;
    }
    r->out->rank = (uint8_t)rank;
    r->out->dtype = x->dtype;
    return true;
}

static bool rule_arg_reduce(const rule *r) {
    bool good = rule_reduce(r, WANT_NUMERIC, true);
    r->out->dtype = DT_I64;
    return good;
}

static bool rule_sum_to(const rule *r) {
    const op_type *x = &r->in[0];
    if (!rule_want(r, 0, WANT_NUMERIC)) return false;
    if (((r->attrs->axes | r->attrs->drop) >> x->rank) != 0)
        return rule_fail_axis(r, FAULT_AXIS, 0, x->rank, "axes within the rank");
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (((r->attrs->drop >> i) & 1) != 0) continue;
        r->out->dims[rank++] = ((r->attrs->axes >> i) & 1) != 0 ? 1 : x->dims[i];
    }
    r->out->rank = (uint8_t)rank;
    r->out->dtype = x->dtype;
    return true;
}

/* ---- along one axis ---- */

static bool rule_along(const rule *r, wants w) {
    rule_same_as(r, 0);
    return rule_want(r, 0, w) && axis_within(r, 0);
}

static bool rule_scan(const rule *r) {
    rule_same_as(r, 0);
    return rule_want(r, 0, WANT_FLOAT) && rule_same_dtype(r, 0, 1) && rule_same_shape(r, 0, 1) &&
           axis_within(r, 0);
}

static bool rule_order(const rule *r) {
    bool good = rule_along(r, WANT_NUMERIC);
    r->out->dtype = DT_I64;
    return good;
}

static bool rule_top_k(const rule *r) {
    int64_t k = r->attrs->dims[0];
    char text[80];
    if (!rule_order(r)) return false;
    int64_t *dim = &r->out->dims[r->attrs->axis];
    if (rule_in_a_run(r) && k < 0) return rule_fail(r, FAULT_OVERFLOW, 0, "a negative size");
    if (k >= 0 && *dim >= 0 && k > *dim) {
        snprintf(text, sizeof text, "%lld entries or more on its last axis", (long long)k);
        return rule_fail_axis(r, FAULT_SIZE, 0, r->attrs->axis, text);
    }
    *dim = k;
    return true;
}

/* ---- shape ---- */

static bool product(const rule *r, int rank, const int64_t *dims, int64_t *out) {
    *out = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0) return *out = 0, true;
    for (int i = 0; i < rank; i++)
        if (!rule_mul_dims(r, *out, dims[i], out)) return false;
    return true;
}

bool rule_attr_shape(const rule *r) {
    r->out->rank = r->attrs->rank;
    for (int i = 0; i < r->attrs->rank; i++) {
        r->out->dims[i] = r->attrs->dims[i];
        if (rule_in_a_run(r) && r->attrs->dims[i] < 0)
            return rule_fail(r, FAULT_OVERFLOW, -1, "a negative size");
    }
    return true;
}

static bool rule_reshape(const rule *r) {
    const op_type *x = &r->in[0];
    int64_t from, to;
    r->out->dtype = x->dtype;
    if (!rule_attr_shape(r)) return false;
    if (!product(r, x->rank, x->dims, &from) || !product(r, r->out->rank, r->out->dims, &to))
        return rule_fail(r, FAULT_OVERFLOW, 0, "the sizes multiply beyond 64 bits");
    if (rule_compare_dims(r, from, to) == DIM_DIFFERENT) {
        char text[80] = "as many elements as the new shape";
        if (rule_in_a_run(r))
            snprintf(text, sizeof text, "%lld elements for the new shape", (long long)to);
        return rule_fail(r, FAULT_SIZE, 0, text);
    }
    return true;
}

static bool rule_permute(const rule *r) {
    const op_type *x = &r->in[0];
    unsigned seen = 0;
    rule_same_as(r, 0);
    for (int i = 0; i < x->rank; i++) {
        int axis = r->attrs->perm[i];
        if (axis >= x->rank || ((seen >> axis) & 1) != 0)
            return rule_fail_axis(r, FAULT_AXIS, 0, axis, "each axis exactly once");
        seen |= 1u << axis;
        r->out->dims[i] = x->dims[axis];
    }
    return true;
}

static bool rule_broadcast(const rule *r) {
    const op_type *x = &r->in[0];
    r->out->dtype = x->dtype;
    if (!rule_attr_shape(r)) return false;
    int lead = r->out->rank - x->rank;
    if (lead < 0) return rule_fail(r, FAULT_RANK, 0, "a rank up to that of the new shape");
    for (int i = 0; i < x->rank; i++) {
        int64_t *dim = &r->out->dims[lead + i];
        if (x->dims[i] == 1 && ((r->attrs->ones[0] >> i) & 1) != 0) continue;
        if (rule_compare_dims(r, x->dims[i], *dim) == DIM_DIFFERENT) {
            char text[80] = "an equal dim or a literal 1 where the shapes meet";
            if (rule_in_a_run(r))
                snprintf(text, sizeof text, "%lld entries along axis %d", (long long)*dim, i);
            return rule_fail_axis(r, FAULT_SIZE, 0, i, text);
        }
        *dim = rule_definite_dim(*dim, x->dims[i]);
    }
    return true;
}

static bool rule_expand(const rule *r) {
    const op_type *x = &r->in[0];
    int axis = r->attrs->axis;
    if (x->rank == MAX_RANK) return rule_fail(r, FAULT_OVERFLOW, 0, "more than 8 axes");
    if (axis > x->rank)
        return rule_fail_axis(r, FAULT_AXIS, 0, axis, "an axis within the result's rank");
    rule_same_as(r, 0);
    r->out->rank = (uint8_t)(x->rank + 1);
    r->out->dims[axis] = 1;
    for (int i = axis; i < x->rank; i++) r->out->dims[i + 1] = x->dims[i];
    return true;
}

static bool rule_squeeze(const rule *r) {
    const op_type *x = &r->in[0];
    int axis = r->attrs->axis;
    if (!axis_within(r, 0)) return false;
    if (rule_compare_dims(r, x->dims[axis], 1) == DIM_DIFFERENT)
        return rule_fail_axis(r, FAULT_SIZE, 0, axis, "size 1 along the axis that it drops");
    rule_same_as(r, 0);
    r->out->rank = (uint8_t)(x->rank - 1);
    for (int i = axis; i < x->rank - 1; i++) r->out->dims[i] = x->dims[i + 1];
    return true;
}

static bool rule_concat(const rule *r) {
    int axis = r->attrs->axis;
    if (r->n == 0) return rule_fail(r, FAULT_RANK, -1, "one tensor or more");
    if (!axis_within(r, 0)) return false;
    rule_same_as(r, 0);
    for (int k = 1; k < r->n; k++) {
        const op_type *x = &r->in[k];
        if (!rule_same_dtype(r, 0, k)) return false;
        if (x->rank != r->in[0].rank) return rule_fail(r, FAULT_RANK, k, "tensors of one rank");
        for (int i = 0; i < x->rank; i++) {
            int64_t *dim = &r->out->dims[i];
            if (i == axis) {
                if (!dim_add(r, *dim, x->dims[i], dim))
                    return rule_fail(r, FAULT_OVERFLOW, k, "the sizes add up beyond 64 bits");
            } else if (rule_compare_dims(r, *dim, x->dims[i]) == DIM_DIFFERENT) {
                return rule_fail_dims(r, 0, i, k, i);
            } else {
                *dim = rule_definite_dim(*dim, x->dims[i]);
            }
        }
    }
    return true;
}

static bool rule_slice(const rule *r) {
    const op_type *x = &r->in[0];
    int rank = 0;
    if ((r->attrs->drop >> x->rank) != 0)
        return rule_fail_axis(r, FAULT_AXIS, 0, x->rank, "axes within the rank");
    for (int i = 0; i < x->rank; i++) {
        if (rule_in_a_run(r) && r->attrs->dims[i] < 0)
            return rule_fail(r, FAULT_OVERFLOW, 0, "a negative size");
        if (((r->attrs->drop >> i) & 1) == 0) r->out->dims[rank++] = r->attrs->dims[i];
    }
    r->out->rank = (uint8_t)rank;
    r->out->dtype = x->dtype;
    return true;
}

bool rule_has_shape(const rule *r, int k, const op_type *t) {
    const op_type *x = &r->in[k];
    char text[80] = "an operand of the shape that the others ask for";
    if (rule_in_a_run(r)) {
        char shape[48];
        shape_print(shape, sizeof shape, t->rank, t->dims);
        snprintf(text, sizeof text, "an operand of shape %s", shape);
    }
    if (x->rank != t->rank) return rule_fail(r, FAULT_RANK, k, text);
    for (int i = 0; i < x->rank; i++) {
        if (rule_compare_dims(r, x->dims[i], t->dims[i]) == DIM_DIFFERENT)
            return rule_fail_axis(r, FAULT_SIZE, k, i, text);
    }
    return true;
}

static bool rule_slice_add(const rule *r) {
    op_type part = {0};
    rule inner = *r;
    inner.out = &part;
    if (!rule_want(r, 0, WANT_NUMERIC) || !rule_same_dtype(r, 0, 1) || !rule_slice(&inner))
        return false;
    rule_same_as(r, 0);
    return rule_has_shape(r, 1, &part);
}

/* ---- gather and scatter ---- */

static bool rule_take(const rule *r) {
    const op_type *x = &r->in[0], *indices = &r->in[1];
    int axis = r->attrs->axis, rank = 0;
    if (!rule_want(r, 1, WANT_INTEGER) || !axis_within(r, 0)) return false;
    if (x->rank - 1 + indices->rank > MAX_RANK)
        return rule_fail(r, FAULT_OVERFLOW, 1, "more than 8 axes");
    for (int i = 0; i < axis; i++) r->out->dims[rank++] = x->dims[i];
    for (int i = 0; i < indices->rank; i++) r->out->dims[rank++] = indices->dims[i];
    for (int i = axis + 1; i < x->rank; i++) r->out->dims[rank++] = x->dims[i];
    r->out->rank = (uint8_t)rank;
    r->out->dtype = x->dtype;
    return true;
}

static bool rule_take_along(const rule *r) {
    const op_type *x = &r->in[0], *indices = &r->in[1];
    if (!rule_want(r, 1, WANT_INTEGER) || !axis_within(r, 0)) return false;
    if (indices->rank != x->rank)
        return rule_fail(r, FAULT_RANK, 1, "indices of the tensor's rank");
    *r->out = *indices;
    r->out->dtype = x->dtype;
    for (int i = 0; i < x->rank; i++) {
        if (i == r->attrs->axis) continue;
        if (rule_compare_dims(r, x->dims[i], indices->dims[i]) == DIM_DIFFERENT)
            return rule_fail_dims(r, 0, i, 1, i);
        r->out->dims[i] = rule_definite_dim(x->dims[i], indices->dims[i]);
    }
    return true;
}

static bool rule_scatter(const rule *r, bool along) {
    op_type source = {0};
    rule inner = *r;
    inner.out = &source;
    if (!rule_want(r, 0, WANT_NUMERIC) || !rule_same_dtype(r, 0, 2)) return false;
    if (!(along ? rule_take_along(&inner) : rule_take(&inner))) return false;
    rule_same_as(r, 0);
    return rule_has_shape(r, 2, &source);
}

static bool rule_one_hot(const rule *r) {
    const op_type *x = &r->in[0];
    if (!rule_want(r, 0, WANT_INTEGER)) return false;
    if (x->rank == MAX_RANK) return rule_fail(r, FAULT_OVERFLOW, 0, "more than 8 axes");
    if (rule_in_a_run(r) && r->attrs->dims[0] < 0)
        return rule_fail(r, FAULT_OVERFLOW, 0, "a negative size");
    rule_same_as(r, 0);
    r->out->dtype = DT_F32;
    r->out->dims[x->rank] = r->attrs->dims[0];
    r->out->rank = (uint8_t)(x->rank + 1);
    return true;
}

/* ---- making ---- */

static bool rule_full(const rule *r) {
    if (r->in[0].rank != 0) return rule_fail(r, FAULT_RANK, 0, "a number");
    r->out->dtype = r->in[0].dtype;
    return rule_attr_shape(r);
}

static bool rule_full_like(const rule *r) {
    if (r->in[1].rank != 0) return rule_fail(r, FAULT_RANK, 1, "a number");
    rule_same_as(r, 0);
    r->out->dtype = r->in[1].dtype;
    return true;
}

static bool rule_square(const rule *r, int rank) {
    r->out->dtype = r->attrs->dtype;
    r->out->rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) r->out->dims[i] = r->attrs->dims[0];
    if (rule_in_a_run(r) && r->attrs->dims[0] < 0)
        return rule_fail(r, FAULT_OVERFLOW, -1, "a negative size");
    return true;
}

static bool rule_random(const rule *r) {
    if (r->in[0].rank != 0 || r->in[0].dtype != DT_I64)
        return rule_fail(r, r->in[0].rank != 0 ? FAULT_RANK : FAULT_DTYPE, 0,
                         "a number of type I64");
    r->out->dtype = r->op == OP_random_bits ? DT_I32 : r->attrs->dtype;
    return rule_attr_shape(r);
}

/* ---- dispatch ---- */

static bool apply(const rule *r) {
    switch ((op_class)op_table[r->op].class) {
    case CLASS_UNARY: return rule_unary(r, WANT_FLOAT);
    case CLASS_UNARY_NUMERIC: return rule_unary(r, WANT_NUMERIC);
    case CLASS_UNARY_BOOL: return rule_unary(r, WANT_BOOL);
    case CLASS_CAST: return rule_cast(r);
    case CLASS_IDENTITY: return rule_unary(r, WANT_ANY);
    case CLASS_BINARY: return rule_binary(r, WANT_FLOAT);
    case CLASS_BINARY_NUMERIC: return rule_binary(r, WANT_NUMERIC);
    case CLASS_BINARY_INTEGER: return rule_binary(r, WANT_INTEGER);
    case CLASS_BINARY_BOOL: return rule_binary(r, WANT_BOOL);
    case CLASS_COMPARE: return rule_compare(r, WANT_ANY);
    case CLASS_COMPARE_ORDER: return rule_compare(r, WANT_NUMERIC);
    case CLASS_WHERE: return rule_where(r);
    case CLASS_TERNARY_NUMERIC: return rule_ternary(r);
    case CLASS_REDUCE:
    case CLASS_REDUCE_ONE: return rule_reduce(r, WANT_NUMERIC, false);
    case CLASS_REDUCE_NONEMPTY: return rule_reduce(r, WANT_NUMERIC, true);
    case CLASS_REDUCE_FLOAT: return rule_reduce(r, WANT_FLOAT, false);
    case CLASS_REDUCE_BOOL: return rule_reduce(r, WANT_BOOL, false);
    case CLASS_ARG_REDUCE: return rule_arg_reduce(r);
    case CLASS_SUM_TO: return rule_sum_to(r);
    case CLASS_ALONG: return rule_along(r, WANT_FLOAT);
    case CLASS_SHIFT: return rule_along(r, WANT_NUMERIC);
    case CLASS_SCAN: return rule_scan(r);
    case CLASS_CUMULATE: return rule_along(r, WANT_NUMERIC);
    case CLASS_CUMULATE_FLOAT: return rule_along(r, WANT_FLOAT);
    case CLASS_ORDER: return rule_order(r);
    case CLASS_TOP_K: return rule_top_k(r);
    case CLASS_RESHAPE: return rule_reshape(r);
    case CLASS_PERMUTE: return rule_permute(r);
    case CLASS_BROADCAST: return rule_broadcast(r);
    case CLASS_EXPAND: return rule_expand(r);
    case CLASS_SQUEEZE: return rule_squeeze(r);
    case CLASS_CONCAT: return rule_concat(r);
    case CLASS_SLICE: return rule_slice(r);
    case CLASS_SLICE_ADD: return rule_slice_add(r);
    case CLASS_TAKE: return rule_take(r);
    case CLASS_TAKE_ALONG: return rule_take_along(r);
    case CLASS_SCATTER: return rule_scatter(r, false);
    case CLASS_SCATTER_ALONG: return rule_scatter(r, true);
    case CLASS_ONE_HOT: return rule_one_hot(r);
    case CLASS_MATMUL: return rule_product(r, 0, r->attrs->ones);
    case CLASS_MATMUL_ADD: return rule_matmul_add(r);
    case CLASS_MATRIX: return rule_matrix(r);
    case CLASS_MATRIX_PAIR: return rule_matrix_pair(r);
    case CLASS_DETERMINANT: return rule_determinant(r);
    case CLASS_SOLVE: return rule_solve(r);
    case CLASS_TRIANGLE: return rule_triangle(r);
    case CLASS_CONV: return rule_conv(r);
    case CLASS_CONV_INPUT_GRAD: return rule_conv_grad(r, 0);
    case CLASS_CONV_WEIGHT_GRAD: return rule_conv_grad(r, 1);
    case CLASS_POOL: return rule_pool(r, false);
    case CLASS_POOL_PLACE: return rule_pool(r, true);
    case CLASS_POOL_GRAD: return rule_pool_grad(r);
    case CLASS_FULL: return rule_full(r);
    case CLASS_FULL_LIKE: return rule_full_like(r);
    case CLASS_ARANGE: return rule_square(r, 1);
    case CLASS_EYE: return rule_square(r, 2);
    case CLASS_RANDOM: return rule_random(r);
    case CLASS_CUSTOM: break;
    }
    return rule_fail(r, FAULT_RANK, -1, "a handler of its own");
}

bool op_result_type(op_id op, const op_attrs *attrs, const op_type *in, int n,
                    const dim_algebra *algebra, op_type *out, op_fault *fault) {
    memset(out, 0, sizeof *out);
    *fault = (op_fault){.kind = FAULT_NONE};
    rule r = {op, attrs != NULL ? attrs : &no_attrs, in, n, algebra, out, fault};
    return apply(&r);
}
