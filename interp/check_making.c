/* Lists of sizes, and the builtins that are not one op. */
#include <string.h>

#include "interp/check.h"

/* ---- sizes ---- */

static bool take_sizes(checker *c, builtin_call *b, int count) {
    b->use->size = ARENA_ARRAY(c->a, expr *, count);
    b->use->sizes = count;
    if (b->use->size == NULL) c->failed = true;
    return b->use->size != NULL;
}

bool check_sizes(checker *c, builtin_call *b, expr *list) {
    unsigned errors = c->d->errors;
    if (list->kind != EXPR_LIST) {
        if (check_expr(c, list, expect_one)->kind == TYPE_ERROR) return false;
        diag *d = diag_error(c->d, ERROR_K0214, list->at, "the dims must be a written list");
        diag_add_help(c->d, d, "`%s` takes dims like `[n, 3]`", b->name);
        return false;
    }
    int count = list->u.list.count;
    if (count > MAX_RANK) {
        diag_error(c->d, ERROR_K0302, list->at, "a tensor has at most %d dims, not %d", MAX_RANK,
                   count);
        return false;
    }
    if (!take_sizes(c, b, count)) return false;
    b->use->attrs.rank = (uint8_t)count;
    for (int i = 0; i < count; i++) {
        b->use->size[i] = list->u.list.items[i];
        b->use->attrs.dims[i] = check_size(c, list->u.list.items[i]);
    }
    op_type t = {.dtype = DT_I64, .rank = 1, .dims = {count}};
    list->type = check_tensor_type(c, &t);
    return c->d->errors == errors && !c->failed;
}

bool check_size_alone(checker *c, builtin_call *b, expr *e) {
    unsigned errors = c->d->errors;
    if (!take_sizes(c, b, 1)) return false;
    b->use->size[0] = e;
    b->use->attrs.dims[0] = check_size(c, e);
    return c->d->errors == errors && !c->failed;
}

/* ---- helpers ---- */

static bool has_rank(checker *c, const builtin_call *b, const expr *e, int rank) {
    if (e->type->tensor.rank == rank) return true;
    diag *d = diag_error(c->d, ERROR_K0302, b->e->u.call.callee->at,
                         "`%s` takes a tensor of rank %d here", b->name, rank);
    diag_add_label(c->d, d, e->at, "`%s`", check_show(c, e->type));
    return false;
}

static const type *with_dtype(checker *c, const type *t, dtype d) {
    op_type made = t->tensor;
    made.dtype = (uint8_t)d;
    return check_tensor_type(c, &made);
}

static const type *apply(checker *c, const builtin_call *b, op_id op) {
    op_attrs attrs = b->use->attrs;
    return check_apply(c, op, b->name, b->e->u.call.callee->at, &attrs, b->operands,
                       b->operand_count);
}

/* ---- one by one ---- */

static const type *check_losses(checker *c, const builtin_call *b) {
    const expr *logits = b->operands[0], *targets = b->operands[1];
    if (!has_rank(c, b, logits, 2) || !has_rank(c, b, targets, 1)) return &check_error_type;
    const op_type *x = &logits->type->tensor, *y = &targets->type->tensor;
    op_fault fault = {.kind = FAULT_DTYPE};
    if (!dtype_floating((dtype)x->dtype) || !dtype_integer((dtype)y->dtype)) {
        fault.a = dtype_floating((dtype)x->dtype);
        strcpy(fault.expects,
               fault.a == 0 ? "floating scores of dims [N, C]" : "integer targets of dims [N]");
    } else if (dims_compare(c->dims, x->dims[0], y->dims[0]) == DIM_DIFFERENT) {
        fault = (op_fault){.kind = FAULT_DIMS, .a = 0, .b = 1};
    } else {
        return check_scalar((dtype)x->dtype);
    }
    op_type in[2] = {*x, *y};
    check_fault(c, b->name, b->e->u.call.callee->at, b->operands, in, 2, &fault);
    return &check_error_type;
}

static const type *check_transpose(checker *c, builtin_call *b) {
    int rank = b->operands[0]->type->tensor.rank;
    for (int i = 0; i < rank; i++) b->use->attrs.perm[i] = (uint8_t)(rank - 1 - i);
    return apply(c, b, OP_permute);
}

static const type *check_stack(checker *c, builtin_call *b) {
    expr *const *parts = b->use->args;
    op_type first, other, out;
    bool good = true;
    if (!check_operand(c, parts[0], b->name, &first)) return &check_error_type;
    op_fault fault = {.kind = FAULT_RANK};
    strcpy(fault.expects, "tensors of one shape");
    for (int k = 1; k < b->use->count; k++) {
        good = check_operand(c, parts[k], b->name, &other) && good;
        if (!good) continue;
        op_type in[2] = {first, other};
        expr *pair[2] = {parts[0], parts[k]};
        fault = (op_fault){.kind = FAULT_NONE, .b = 1};
        if (first.dtype != other.dtype) fault.kind = FAULT_DTYPES;
        if (first.rank != other.rank) {
            fault.kind = FAULT_RANK;
            fault.a = 1;
            strcpy(fault.expects, "tensors of one shape");
        }
        for (int i = 0; i < first.rank && fault.kind == FAULT_NONE; i++) {
            if (dims_compare(c->dims, first.dims[i], other.dims[i]) != DIM_DIFFERENT) continue;
            fault.kind = FAULT_DIMS;
            fault.axis_a = fault.axis_b = i;
        }
        if (fault.kind == FAULT_NONE) continue;
        check_fault(c, b->name, b->e->u.call.callee->at, pair, in, 2, &fault);
        good = false;
    }
    if (!good) return &check_error_type;
    if (first.rank == MAX_RANK) {
        diag_error(c->d, ERROR_K0302, b->e->at,
                   "the result of `stack` would have more than %d dims", MAX_RANK);
        return &check_error_type;
    }
    int axis = b->use->attrs.axis;
    out = first;
    out.rank = (uint8_t)(first.rank + 1);
    out.dims[axis] = b->use->count;
    for (int i = axis; i < first.rank; i++) out.dims[i + 1] = first.dims[i];
    return check_tensor_type(c, &out);
}

static const type *check_vectors(checker *c, builtin_call *b) {
    const expr *x = b->operands[0], *y = b->operands[1];
    if (!has_rank(c, b, x, 1) || !has_rank(c, b, y, 1)) return &check_error_type;
    if (b->use->builtin == BUILTIN_dot) return apply(c, b, OP_matmul);
    op_type in[2] = {x->type->tensor, y->type->tensor};
    op_fault fault = {.kind = FAULT_DTYPES, .b = 1};
    bool good = in[0].dtype == in[1].dtype && in[0].dtype != DT_Bool;
    if (in[0].dtype == DT_Bool) {
        fault.kind = FAULT_DTYPE;
        strcpy(fault.expects, "floating or integer vectors");
    }
    if (!good) {
        check_fault(c, b->name, b->e->u.call.callee->at, b->operands, in, 2, &fault);
        return &check_error_type;
    }
    op_type out = {.dtype = in[0].dtype, .rank = 2, .dims = {in[0].dims[0], in[1].dims[0]}};
    return check_tensor_type(c, &out);
}

static const type *check_filled(checker *c, builtin_call *b) {
    op_type out = {.dtype = b->use->attrs.dtype, .rank = b->use->attrs.rank};
    memcpy(out.dims, b->use->attrs.dims, sizeof out.dims);
    memset(b->use->attrs.dims, 0, sizeof b->use->attrs.dims);
    return check_tensor_type(c, &out);
}

static const type *check_assert(checker *c, const builtin_call *b) {
    const expr *e = b->operands[0];
    if (type_compare(c->dims, e->type, check_scalar(DT_Bool)) == DIM_SAME) return &check_unit_type;
    diag *d = diag_error(c->d, ERROR_K0206, e->at, "`assert` takes one Bool, not `%s`",
                         check_show(c, e->type));
    if (e->type->tensor.dtype == DT_Bool)
        diag_add_help(c->d, d, "`all(...)` or `any(...)` makes it one Bool");
    return &check_error_type;
}

static const type *check_print(checker *c, const builtin_call *b) {
    for (int i = 0; i < b->use->count; i++) {
        expr *e = b->use->args[i];
        if (e->kind == EXPR_STRING)
            e->type = &check_string_type;
        else
            check_expr(c, e, expect_one);
    }
    return &check_unit_type;
}

bool check_storage_word(checker *c, const expr *e, storage *out) {
    return e->kind == EXPR_NAME && check_lookup(c, e->u.name.name) == NULL &&
           storage_find(e->u.name.name, strlen(e->u.name.name), out);
}

/* The type to store, which is kept as the call's dtype: that of x unless said otherwise. */
static const type *check_save(checker *c, const builtin_call *b) {
    expr *e = b->use->args[2];
    dtype held = (dtype)b->operands[0]->type->tensor.dtype;
    storage t = (storage)held;
    if (e != NULL && !check_storage_word(c, e, &t)) {
        if (e->kind == EXPR_NAME || check_expr(c, e, expect_one)->kind != TYPE_ERROR) {
            diag *d = diag_error(c->d, ERROR_K0214, e->at, "a type to store is asked for here");
            diag_add_help(c->d, d, "F16 or BF16, and F32 for an F64");
        }
        return &check_error_type;
    }
    if (e != NULL) e->type = &check_unit_type;
    b->use->attrs.dtype = (uint8_t)t;
    if (storage_fits(held, t)) return &check_unit_type;
    diag *d = diag_error(c->d, ERROR_K0202, e->at, "`save` does not store %s as %s", dtype_name(held),
                         storage_name(t));
    diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    diag_add_help(c->d, d, "convert it first: `%s(...)`", t < STORAGE_F16 ? storage_name(t) : "F32");
    return &check_error_type;
}

/* The file alone knows its dims: where others are asked for, the run compares them. */
static const type *check_load(checker *c, const builtin_call *b) {
    const type *wanted = b->x.type;
    if (wanted != NULL && wanted->kind == TYPE_TENSOR) {
        b->use->attrs.dtype = wanted->tensor.dtype;
        b->use->attrs.rank = wanted->tensor.rank;
        op_type read = wanted->tensor;
        for (int i = 0; i < read.rank; i++) read.dims[i] = dims_symbol(c->dims, DIM_UNKNOWN, NULL, b->e->at);
        return check_tensor_type(c, &read);
    }
    diag *d =
        diag_error(c->d, ERROR_K0213, b->e->at, "the type of what `load` reads is unknown here");
    diag_add_help(c->d, d,
                  "say it: `let x: tensor<F32, [N, 64]> = load(...);`, where a new name stands for "
                  "whatever size the file has");
    return &check_error_type;
}

static const type *check_cast(checker *c, const builtin_call *b) {
    dtype t = builtin_dtype(b->use->builtin);
    b->use->attrs.dtype = (uint8_t)t;
    return with_dtype(c, b->operands[0]->type, t);
}

static const type *check_shape(checker *c, const builtin_call *b) {
    op_type t = {.dtype = DT_I64, .rank = 1, .dims = {b->operands[0]->type->tensor.rank}};
    return check_tensor_type(c, &t);
}

static const type *check_dim(checker *c, const builtin_call *b) {
    if (b->operands[0]->type->tensor.rank > 0) return check_scalar(DT_I64);
    diag *d = diag_error(c->d, ERROR_K0302, b->e->u.call.callee->at, "a number has no dims");
    diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    return &check_error_type;
}

static const type *check_effect(checker *c, builtin_call *b) {
    switch (b->use->builtin) {
    case BUILTIN_save: return check_save(c, b);
    case BUILTIN_assert: return check_assert(c, b);
    case BUILTIN_print: return check_print(c, b);
    case BUILTIN_load: return check_load(c, b);
    default: return &check_unit_type;
    }
}

static const type *check_plain(checker *c, builtin_call *b) {
    switch (b->use->builtin) {
    case BUILTIN_mean_nll:
    case BUILTIN_cross_entropy: return check_losses(c, b);
    case BUILTIN_transpose: return check_transpose(c, b);
    case BUILTIN_stack: return check_stack(c, b);
    case BUILTIN_dot:
    case BUILTIN_outer: return check_vectors(c, b);
    case BUILTIN_zeros:
    case BUILTIN_ones: return check_filled(c, b);
    case BUILTIN_zeros_like:
    case BUILTIN_ones_like:
    case BUILTIN_copy:
    case BUILTIN_stop_gradient: return b->operands[0]->type;
    case BUILTIN_shape: return check_shape(c, b);
    case BUILTIN_dim: return check_dim(c, b);
    case BUILTIN_rank: return check_scalar(DT_I64);
    default: return check_composite(c, b);
    }
}

const type *check_special(checker *c, builtin_call *b) {
    switch (builtin_kind_of(b->use->builtin)) {
    case BUILTIN_KIND_PLAIN: return check_plain(c, b);
    case BUILTIN_KIND_COMPOSITE: return check_composite(c, b);
    case BUILTIN_KIND_CAST: return check_cast(c, b);
    case BUILTIN_KIND_DERIVATIVE: return check_derivative(c, b);
    case BUILTIN_KIND_EFFECT: return check_effect(c, b);
    case BUILTIN_KIND_TAPE: break;
    }
    return &check_error_type;
}
