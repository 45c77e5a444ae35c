/* The arguments axis and axes of builtins: a written integer, counted from the end when negative, the name of a dim
 * that one axis has, or a list of these. */
#include <string.h>

#include "interp/check.h"

/* An axis counted from the front; false when it is out of range (reported). rank axes are allowed.
 */
static bool settle_axis(checker *c, const builtin_call *b, const expr *at, int64_t *axis,
                        int rank) {
    int64_t said = *axis;
    if (*axis < 0) *axis += rank;
    if (*axis >= 0 && *axis < rank) return true;
    diag *d = diag_error(c->d, ERROR_K0303, at->at, "axis %lld is out of range for `%s`",
                         (long long)said, b->name);
    if (b->operand_count > 0)
        diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    if (rank > 0)
        diag_add_help(c->d, d, "axes run from 0 to %d here, or from -%d to -1", rank - 1, rank);
    return false;
}

/* Builtins whose axis is one that the result has and the operand lacks. */
static bool makes_axis(const builtin_call *b) {
    return b->builtin == (int)OP_expand_dims || b->builtin == (int)OP_COUNT + (int)BUILTIN_stack;
}

/* The dim that e names, if it is the name of one. */
static const symbol *dim_named(checker *c, const expr *e) {
    if (e->kind != EXPR_NAME) return NULL;
    const binding *found = check_lookup(c, e->u.name.name);
    return found != NULL && found->symbol->kind == SYMBOL_DIM ? found->symbol : NULL;
}

static diag *name_fault(checker *c, const builtin_call *b, const expr *e, const char *why) {
    diag *d = diag_error(c->d, ERROR_K0303, e->at, "`%s` is no axis of `%s` here: %s", e->u.name.name, b->name, why);
    if (b->operand_count > 0)
        diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    return d;
}

/* axis=B: the one axis whose dim is B. */
static bool named_axis(checker *c, const builtin_call *b, expr *e, const symbol *dim, int *out) {
    const op_type *t = &b->operands[0]->type->tensor;
    int found = -1, count = 0;
    e->type = &check_unit_type;
    if (makes_axis(b)) {
        diag *d = name_fault(c, b, e, "the axis is a new one");
        diag_add_help(c->d, d, "write the place that it has in the result, as a number");
        return false;
    }
    for (int i = t->rank - 1; i >= 0; i--) {
        if (dims_compare(c->dims, t->dims[i], dim->dim) != DIM_SAME) continue;
        found = i;
        count++;
    }
    if (count > 1) {
        const char *why = arena_format(c->a, "%d axes have that dim", count);
        diag *d = name_fault(c, b, e, why != NULL ? why : "several axes have that dim");
        diag_add_help(c->d, d, "write the number of the axis that is meant");
        return false;
    }
    if (count == 0) {
        name_fault(c, b, e, "no axis has that dim");
        return false;
    }
    *out = found;
    return true;
}

static bool one_axis(checker *c, const builtin_call *b, expr *e, int rank, int *out) {
    int64_t axis;
    const symbol *dim = dim_named(c, e);
    if (dim != NULL && b->operand_count > 0) return named_axis(c, b, e, dim, out);
    if (!check_static_integer(c, e, &axis, "an axis") || !settle_axis(c, b, e, &axis, rank))
        return false;
    *out = (int)axis;
    return true;
}

/* A written list of axes. */
static bool axis_list(checker *c, const builtin_call *b, expr *e, int rank, uint8_t *out,
                      int *count) {
    unsigned seen = 0;
    *count = e->u.list.count;
    op_type t = {.dtype = DT_I64, .rank = 1, .dims = {e->u.list.count}};
    e->type = check_tensor_type(c, &t);
    for (int i = 0; i < e->u.list.count; i++) {
        int axis;
        expr *entry = e->u.list.items[i];
        if (!one_axis(c, b, entry, rank, &axis)) return false;
        if ((seen >> axis & 1) != 0) {
            if (entry->kind == EXPR_NAME)
                diag_error(c->d, ERROR_K0303, entry->at, "the axis `%s` is named twice", entry->u.name.name);
            else
                diag_error(c->d, ERROR_K0303, entry->at, "axis %d is named twice", axis);
            return false;
        }
        seen |= 1u << axis;
        out[i] = (uint8_t)axis;
    }
    return true;
}

/* The axes of a reduction: one, a list, or all. */
static bool reduced_axes(checker *c, builtin_call *b, expr *e, int rank) {
    uint8_t axes[MAX_RANK];
    int axis, count;
    b->use->attrs.axes = (uint8_t)((1u << rank) - 1);
    if (e == NULL) return true;
    if (e->kind == EXPR_NAME && strcmp(e->u.name.name, "all") == 0 &&
        check_lookup(c, e->u.name.name) == NULL) {
        e->type = &check_unit_type;
        return true;
    }
    if (e->kind != EXPR_LIST) {
        if (!one_axis(c, b, e, rank, &axis)) return false;
        b->use->attrs.axes = (uint8_t)(1u << axis);
        return true;
    }
    b->use->attrs.axes = 0;
    if (!axis_list(c, b, e, rank, axes, &count)) return false;
    for (int i = 0; i < count; i++) b->use->attrs.axes |= (uint8_t)(1u << axes[i]);
    if (b->use->is_op && op_table[b->use->op].class == CLASS_ARG_REDUCE && count != 1 &&
        count != rank) {
        diag *d = diag_error(c->d, ERROR_K0303, e->at, "`%s` takes one axis, or all", b->name);
        check_help_signature(c, d, b);
        return false;
    }
    return true;
}

static bool is_reduction(const builtin_call *b) {
    if (!b->use->is_op)
        return b->use->builtin == BUILTIN_var || b->use->builtin == BUILTIN_std ||
               b->use->builtin == BUILTIN_norm || b->use->builtin == BUILTIN_flip;
    op_class class = (op_class)op_table[b->use->op].class;
    return class == CLASS_REDUCE || class == CLASS_REDUCE_ONE || class == CLASS_REDUCE_NONEMPTY ||
           class == CLASS_REDUCE_FLOAT || class == CLASS_REDUCE_BOOL || class == CLASS_ARG_REDUCE;
}

bool check_axis(checker *c, builtin_call *b, const builtin_param *p, expr *e) {
    int rank = b->operand_count > 0 && b->operands[0]->type->kind == TYPE_TENSOR
                   ? b->operands[0]->type->tensor.rank
                   : 0;
    int axis = 0;
    /* The axes of an operand in error are not known. */
    if (b->operand_count > 0 && b->operands[0]->type->kind != TYPE_TENSOR) return false;
    if (is_reduction(b)) return reduced_axes(c, b, e, rank);
    if (makes_axis(b)) rank++;
    if (e == NULL) {
        bool last = p->name[p->length] == '=' && p->name[p->length + 1] == '-';
        b->use->attrs.axis = (uint8_t)(last && rank > 0 ? rank - 1 : 0);
        return true;
    }
    if (rank == 0 && dim_named(c, e) == NULL) return check_static_integer(c, e, &(int64_t){0}, "an axis");
    if (!one_axis(c, b, e, rank, &axis)) return false;
    b->use->attrs.axis = (uint8_t)axis;
    return true;
}

bool check_axes(checker *c, builtin_call *b, expr *e) {
    int count, rank = b->operand_count > 0 ? b->operands[0]->type->tensor.rank : 0;
    if (e->kind != EXPR_LIST) {
        if (check_expr(c, e, expect_one)->kind != TYPE_ERROR)
            diag_error(c->d, ERROR_K0214, e->at, "the axes must be a written list of integers or dims");
        return false;
    }
    if (e->u.list.count != rank) {
        diag *d =
            diag_error(c->d, ERROR_K0303, e->at, "`%s` names every axis once: %d axes, not %d",
                       b->name, rank, e->u.list.count);
        diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
        return false;
    }
    return axis_list(c, b, e, rank, b->use->attrs.perm, &count);
}
