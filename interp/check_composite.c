/* Types of the builtins that a run makes of several ops (composite.c). */
#include <stdio.h>
#include <string.h>

#include "interp/check.h"

/* ---- helpers ---- */

static const type *apply(checker *c, const builtin_call *b, op_id op) {
    op_attrs attrs = b->use->attrs;
    return check_apply(c, op, b->name, b->e->u.call.callee->at, &attrs, b->operands,
                       b->operand_count);
}

static const type *fault(checker *c, const builtin_call *b, op_fault_kind kind, int operand,
                         const char *expects) {
    op_type in[3];
    op_fault f = {.kind = kind, .a = operand, .b = operand};
    snprintf(f.expects, sizeof f.expects, "%s", expects);
    for (int k = 0; k < b->operand_count; k++) in[k] = b->operands[k]->type->tensor;
    check_fault(c, b->name, b->e->u.call.callee->at, b->operands, in, b->operand_count, &f);
    return &check_error_type;
}

static const op_type *first(const builtin_call *b) {
    return &b->operands[0]->type->tensor;
}

/* Dims of the checker mean nothing to a run, which evaluates the sizes. */
static void forget_dims(builtin_call *b) {
    memset(b->use->attrs.dims, 0, sizeof b->use->attrs.dims);
}

static int64_t unknown(checker *c, const expr *at) {
    return dims_symbol(c->dims, DIM_UNKNOWN, NULL, at->at);
}

static bool take_sizes(checker *c, builtin_call *b, int count) {
    b->use->size = ARENA_ARRAY(c->a, expr *, count);
    b->use->sizes = count;
    if (b->use->size == NULL) c->failed = true;
    return b->use->size != NULL;
}

/* ---- reductions ---- */

static const type *check_spread(checker *c, const builtin_call *b) {
    if (b->use->attrs.lo[0] >= 0) return apply(c, b, OP_mean);
    diag_error(c->d, ERROR_K0310, b->use->args[3]->at, "`ddof` cannot be negative");
    return &check_error_type;
}

/* ---- flip, roll, tile ---- */

static const type *check_roll(checker *c, const builtin_call *b) {
    const op_type *shift = &b->operands[1]->type->tensor;
    if (first(b)->rank == 0) return fault(c, b, FAULT_RANK, 0, "rank 1 or more");
    if (shift->rank != 0 || !dtype_integer((dtype)shift->dtype))
        return fault(c, b, shift->rank != 0 ? FAULT_RANK : FAULT_DTYPE, 1,
                     "one integer as the shift");
    return b->operands[0]->type;
}

/* A shorter shape or list counts as if 1s stood before it. */
static const type *check_tile(checker *c, builtin_call *b) {
    const op_type *x = first(b);
    const op_attrs *reps = &b->use->attrs;
    op_type out = {.dtype = x->dtype, .rank = x->rank > reps->rank ? x->rank : reps->rank};
    for (int i = 0; i < out.rank; i++) {
        int axis = i - (out.rank - x->rank), at = i - (out.rank - reps->rank);
        int64_t dim = axis < 0 ? 1 : x->dims[axis], rep = at < 0 ? 1 : reps->dims[at];
        bool wraps = dim >= 0 && rep >= 0 && __builtin_mul_overflow(dim, rep, &(int64_t){0});
        if (wraps) return fault(c, b, FAULT_OVERFLOW, 0, "the sizes multiply beyond 64 bits");
        out.dims[i] = dims_mul(c->dims, dim, rep);
    }
    forget_dims(b);
    return check_tensor_type(c, &out);
}

/* ---- pad ---- */

static const type *widths_fault(checker *c, const builtin_call *b, const expr *at) {
    diag *d = diag_error(c->d, ERROR_K0214, at->at,
                         "`pad` takes a written list of [before, after] for each of the %d axes",
                         first(b)->rank);
    diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    return &check_error_type;
}

/* The dims of x grown by the widths. */
static bool widen(checker *c, builtin_call *b, expr *widths, op_type *out) {
    unsigned errors = c->d->errors;
    for (int i = 0; i < out->rank; i++) {
        expr *pair = widths->u.list.items[i];
        if (pair->kind != EXPR_LIST || pair->u.list.count != 2) {
            widths_fault(c, b, pair);
            return false;
        }
        for (int end = 0; end < 2; end++) {
            expr *e = pair->u.list.items[end];
            int64_t by = check_size(c, e), *dim = &out->dims[i];
            bool wraps = *dim >= 0 && by >= 0 && __builtin_add_overflow(*dim, by, &(int64_t){0});
            if (wraps) {
                diag_error(c->d, ERROR_K0310, e->at, "the padded dim is beyond 64 bits");
                return false;
            }
            b->use->size[2 * i + end] = e;
            *dim = dims_add(c->dims, *dim, by);
        }
        pair->type = check_tensor_type(c, &(op_type){.dtype = DT_I64, .rank = 1, .dims = {2}});
    }
    return c->d->errors == errors && !c->failed;
}

static const type *check_pad(checker *c, builtin_call *b) {
    op_type out = *first(b);
    expr *widths = b->use->args[1];
    if (widths->kind != EXPR_LIST || widths->u.list.count != out.rank)
        return widths_fault(c, b, widths);
    if (!take_sizes(c, b, 2 * out.rank) || !widen(c, b, widths, &out)) return &check_error_type;
    op_type list = {.dtype = DT_I64, .rank = 2, .dims = {out.rank, 2}};
    widths->type = check_tensor_type(c, &list);
    if (b->operand_count == 2) {
        const op_type *filler = &b->operands[1]->type->tensor;
        if (filler->rank != 0) return fault(c, b, FAULT_RANK, 1, "a number as the value");
        if (filler->dtype != out.dtype) {
            op_type in[2] = {*first(b), *filler};
            op_fault f = {.kind = FAULT_DTYPES, .a = 0, .b = 1};
            check_fault(c, b->name, b->e->u.call.callee->at, b->operands, in, 2, &f);
            return &check_error_type;
        }
    }
    return check_tensor_type(c, &out);
}

/* ---- split ---- */

enum { SPLIT_MOST = 1024 };

static const type *parts_fault(checker *c, const builtin_call *b, const expr *parts) {
    diag_error(c->d, ERROR_K0310, parts->at, "`%s` makes 1 to %d parts", b->name, SPLIT_MOST);
    return &check_error_type;
}

/* Equal parts: of a dim that only the run knows they have one unknown size. */
static bool equal_parts(checker *c, builtin_call *b, int64_t n, int64_t dim, int64_t *size) {
    *size = dim;
    b->use->attrs.lo[0] = n;
    if (n == 1) return true;
    if (dim >= 0 && dim % n == 0) {
        *size = dim / n;
        return true;
    }
    *size = unknown(c, b->use->args[1]);
    if (dim < 0) return true;
    diag *d =
        diag_error(c->d, ERROR_K0305, b->use->args[1]->at,
                   "%lld does not divide into %lld equal parts", (long long)dim, (long long)n);
    diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    diag_add_help(c->d, d, "`split(x, [sizes], axis=%d)` makes parts of different sizes",
                  b->use->attrs.axis);
    return false;
}

static const type *split_type(checker *c, const builtin_call *b, int count, const int64_t *sizes,
                              bool equal) {
    const type **items = ARENA_ARRAY(c->a, const type *, count);
    if (items == NULL) return c->failed = true, &check_error_type;
    for (int k = 0; k < count; k++) {
        op_type part = *first(b);
        part.dims[b->use->attrs.axis] = sizes[equal ? 0 : k];
        items[k] = check_tensor_type(c, &part);
    }
    return check_tuple_type(c, count, items);
}

static const type *split_by_sizes(checker *c, builtin_call *b, expr *parts, int64_t dim) {
    unsigned errors = c->d->errors;
    int count = parts->u.list.count;
    int64_t *sizes = ARENA_ARRAY(c->a, int64_t, count), sum = 0;
    if (sizes == NULL || !take_sizes(c, b, count)) return c->failed = true, &check_error_type;
    for (int k = 0; k < count; k++) {
        b->use->size[k] = parts->u.list.items[k];
        sizes[k] = check_size(c, parts->u.list.items[k]);
        bool wraps =
            sum >= 0 && sizes[k] >= 0 && __builtin_add_overflow(sum, sizes[k], &(int64_t){0});
        sum = wraps ? INT64_MAX : dims_add(c->dims, sum, sizes[k]);
    }
    parts->type = check_tensor_type(c, &(op_type){.dtype = DT_I64, .rank = 1, .dims = {count}});
    if (c->d->errors > errors || c->failed) return &check_error_type;
    if (dims_compare(c->dims, sum, dim) == DIM_DIFFERENT) {
        diag *d = diag_error(c->d, ERROR_K0305, parts->at,
                             "the parts add up to `%s`, and axis %d has `%s`",
                             check_show_dim(c, sum), b->use->attrs.axis, check_show_dim(c, dim));
        diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
        check_note_dims(c, d, (int64_t[]){sum, dim}, 2);
        return &check_error_type;
    }
    return split_type(c, b, count, sizes, false);
}

static const type *check_split(checker *c, builtin_call *b) {
    expr *parts = b->use->args[1];
    int64_t n, size;
    if (first(b)->rank == 0) return fault(c, b, FAULT_RANK, 0, "rank 1 or more");
    int64_t dim = first(b)->dims[b->use->attrs.axis];
    if (parts->kind == EXPR_LIST) {
        if (parts->u.list.count < 1 || parts->u.list.count > SPLIT_MOST)
            return parts_fault(c, b, parts);
        return split_by_sizes(c, b, parts, dim);
    }
    if (!check_static_integer(c, parts, &n, "the number of parts")) return &check_error_type;
    if (n < 1 || n > SPLIT_MOST) return parts_fault(c, b, parts);
    if (!equal_parts(c, b, n, dim, &size)) return &check_error_type;
    return split_type(c, b, (int)n, &size, true);
}

/* ---- diagonals ---- */

static int64_t least_dim(checker *c, const builtin_call *b, int64_t x, int64_t y) {
    if (dims_compare(c->dims, x, y) == DIM_SAME) return x;
    if (x >= 0 && y >= 0) return x < y ? x : y;
    return unknown(c, b->e);
}

static const type *check_diag(checker *c, const builtin_call *b) {
    op_type out = *first(b);
    if (out.rank != 1 && out.rank != 2) return fault(c, b, FAULT_RANK, 0, "a vector or a matrix");
    if (out.rank == 1) {
        out.dims[1] = out.dims[0];
        out.rank = 2;
    } else {
        out.dims[0] = least_dim(c, b, out.dims[0], out.dims[1]);
        out.rank = 1;
    }
    return check_tensor_type(c, &out);
}

static const type *check_trace(checker *c, const builtin_call *b) {
    if (first(b)->rank != 2) return fault(c, b, FAULT_RANK, 0, "a matrix");
    if (first(b)->dtype == DT_Bool)
        return fault(c, b, FAULT_DTYPE, 0, "a floating or integer operand");
    return check_scalar((dtype)first(b)->dtype);
}

static const type *check_embedding(checker *c, const builtin_call *b) {
    expr *swapped[2] = {b->operands[1], b->operands[0]};
    op_attrs attrs = {.axis = 0};
    return check_apply(c, OP_take, b->name, b->e->u.call.callee->at, &attrs, swapped, 2);
}

/* ---- orders ---- */

/* The entries at the places that `places` gives. */
static const type *check_order(checker *c, const builtin_call *b, op_id places) {
    return apply(c, b, places)->kind == TYPE_ERROR ? &check_error_type : b->operands[0]->type;
}

static const type *check_top_k(checker *c, builtin_call *b) {
    int rank = first(b)->rank;
    b->use->attrs.axis = (uint8_t)(rank > 0 ? rank - 1 : 0);
    const type *indices = apply(c, b, OP_arg_top_k);
    forget_dims(b);
    if (indices->kind == TYPE_ERROR) return indices;
    op_type values = indices->tensor;
    values.dtype = first(b)->dtype;
    const type **items = ARENA_ARRAY(c->a, const type *, 2);
    if (items == NULL) return c->failed = true, &check_error_type;
    items[0] = check_tensor_type(c, &values);
    items[1] = indices;
    return check_tuple_type(c, 2, items);
}

const type *check_composite(checker *c, builtin_call *b) {
    switch (b->use->builtin) {
    case BUILTIN_var:
    case BUILTIN_std: return check_spread(c, b);
    case BUILTIN_norm: return apply(c, b, OP_mean);
    case BUILTIN_flip: return b->operands[0]->type;
    case BUILTIN_roll: return check_roll(c, b);
    case BUILTIN_tile: return check_tile(c, b);
    case BUILTIN_pad: return check_pad(c, b);
    case BUILTIN_split: return check_split(c, b);
    case BUILTIN_diag: return check_diag(c, b);
    case BUILTIN_trace: return check_trace(c, b);
    case BUILTIN_sort: return check_order(c, b, OP_argsort);
    case BUILTIN_cummax: return check_order(c, b, OP_arg_cummax);
    case BUILTIN_top_k: return check_top_k(c, b);
    case BUILTIN_tril:
    case BUILTIN_triu: return apply(c, b, OP_triangle);
    case BUILTIN_embedding: return check_embedding(c, b);
    case BUILTIN_einsum: return check_einsum(c, b);
    default: return &check_error_type;
    }
}
