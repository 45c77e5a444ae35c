/* One op on expressions. Most are calls, whose arguments follow from the signature that the op table states; the
 * others have a form of their own here: operators, and what programs say by several builtins. */
#include <ctype.h>
#include <string.h>

#include "interp/writing.h"

/* ---- literals among the operands ---- */

/* Operands that have one element type: a literal among them adopts that of the others. */
static void settle_alike(writing *w, const op_use *u, int from, int to) {
    for (int k = from; k < to; k++)
        if (!write_flexible(u->args[k])) return;
    if (from < to) u->args[from] = write_alone(w, (dtype)u->in[from].dtype, u->args[from]);
}

static void settle_each(writing *w, const op_use *u, int from, int to) {
    for (int k = from; k < to; k++) settle_alike(w, u, k, k + 1);
}

/* Makes sure that every literal operand is read as what it is. */
static void settle_literals(writing *w, const op_use *u) {
    switch ((op_class)op_table[u->op].class) {
    case CLASS_CAST: u->args[0] = write_firm(w, (dtype)u->in[0].dtype, u->args[0]); return;
    case CLASS_WHERE: settle_alike(w, u, 1, 3); return;
    case CLASS_RANDOM: return;
    case CLASS_TAKE:
    case CLASS_TAKE_ALONG: settle_each(w, u, 0, 2); return;
    case CLASS_SCATTER:
    case CLASS_SCATTER_ALONG:
        settle_each(w, u, 1, 2);
        if (write_flexible(u->args[0]) && write_flexible(u->args[2])) settle_each(w, u, 0, 1);
        return;
    case CLASS_FULL_LIKE:
        if (u->in[0].dtype != u->in[1].dtype)
            u->args[1] = write_firm(w, (dtype)u->in[1].dtype, u->args[1]);
        else
            settle_alike(w, u, 0, 2);
        return;
    default: settle_alike(w, u, 0, u->n); return;
    }
}

/* ---- arguments by their roles ---- */

/* The default as the signature states it, or "". */
static const char *default_of(const builtin_param *p) {
    return p->optional ? p->name + p->length + 1 : "";
}

static bool defaults_to(const builtin_param *p, const char *word) {
    return strncmp(default_of(p), word, strlen(word)) == 0;
}

static bool reduces(op_id op) {
    switch ((op_class)op_table[op].class) {
    case CLASS_REDUCE:
    case CLASS_REDUCE_ONE:
    case CLASS_REDUCE_NONEMPTY:
    case CLASS_REDUCE_FLOAT:
    case CLASS_REDUCE_BOOL:
    case CLASS_ARG_REDUCE: return true;
    default: return false;
    }
}

static expr *axes_value(writing *w, unsigned mask) {
    int64_t list[MAX_RANK];
    int count = 0;
    for (int i = 0; i < MAX_RANK; i++)
        if ((mask >> i & 1) != 0) list[count++] = i;
    return count == 1 ? write_integer(w, list[0]) : write_integers(w, count, list);
}

/* NULL: what is left out. */
static expr *axis_value(writing *w, const op_use *u, const builtin_param *p) {
    int rank = u->n > 0 ? u->in[0].rank : 0, axis = u->attrs->axis;
    if (reduces(u->op)) {
        unsigned all = (1u << rank) - 1;
        return u->attrs->axes == all ? NULL : axes_value(w, u->attrs->axes);
    }
    if (defaults_to(p, "-1") && axis == rank - 1) return NULL;
    if (defaults_to(p, "0") && axis == 0) return NULL;
    return write_integer(w, axis);
}

static expr *flag_value(writing *w, bool x, bool usual) {
    return x == usual ? NULL : write_flag(w, x);
}

static expr *perm_value(writing *w, const op_use *u) {
    int64_t list[MAX_RANK];
    for (int i = 0; i < u->in[0].rank; i++) list[i] = u->attrs->perm[i];
    return write_integers(w, u->in[0].rank, list);
}

static expr *dtype_value(writing *w, const op_attrs *attrs) {
    return attrs->dtype == DT_F32 ? NULL : write_name(w, dtype_name((dtype)attrs->dtype));
}

/* Strides and the like: one number where all axes have the same. */
static expr *window_value(writing *w, const op_use *u, const builtin_param *p) {
    const op_attrs *a = u->attrs;
    int axes = u->in[0].rank - 2 < 2 ? 1 : 2;
    const int64_t *list = a->step;
    if (builtin_param_is(p, "padding")) list = a->lo;
    if (builtin_param_is(p, "dilation") || builtin_param_is(p, "window")) list = a->step + 2;
    if (builtin_param_is(p, "groups")) list = a->lo + 2, axes = 1;
    bool same = axes == 1 || list[0] == list[1];
    bool usual = same && ((defaults_to(p, "1") && list[0] == 1) || (defaults_to(p, "0") && list[0] == 0));
    if (defaults_to(p, "window")) usual = list[0] == a->step[2] && list[1] == a->step[3];
    if (usual) return NULL;
    return same ? write_integer(w, list[0]) : write_integers(w, axes, list);
}

static expr *attribute_value(writing *w, const op_use *u, const builtin_param *p) {
    const op_attrs *a = u->attrs;
    switch (p->role) {
    case ROLE_AXIS: return axis_value(w, u, p);
    case ROLE_AXES: return perm_value(w, u);
    case ROLE_FLAG: return flag_value(w, a->keepdims, false);
    case ROLE_REVERSED: return flag_value(w, a->reversed, false);
    case ROLE_LOWER: return flag_value(w, !a->reversed, true);
    case ROLE_STRONG: return flag_value(w, a->strong_zero, false);
    case ROLE_SIZES: return write_dims(w, a->rank, a->dims);
    case ROLE_SIZE: return write_dim(w, a->dims[0]);
    case ROLE_DTYPE: return dtype_value(w, a);
    case ROLE_WINDOW: return window_value(w, u, p);
    case ROLE_INTEGER: return write_integer(w, a->lo[0]);
    default: return NULL;
    }
}

/* What may be left out is named, so that the order does not matter. */
static expr *call(writing *w, const op_use *u) {
    builtin_param params[BUILTIN_PARAMS];
    int count = builtin_params((int)u->op, params), operand = 0;
    expr *e = write_call(w, op_table[u->op].surface);
    for (int i = 0; i < count && !w->failed; i++) {
        const builtin_param *p = &params[i];
        expr *given;
        if (p->role == ROLE_OPERAND || p->role == ROLE_INDICES || p->role == ROLE_KEY)
            given = u->args[operand++];
        else if (p->role == ROLE_PARTS)
            given = write_list(w, EXPR_TUPLE, u->n, u->args);
        else
            given = attribute_value(w, u, p);
        if (given == NULL) continue;
        const char *name = p->optional ? write_word(w, "%.*s", (int)p->length, p->name) : NULL;
        write_argument(w, e, name, given);
    }
    return e;
}

/* ---- several builtins for one op ---- */

/* The adjoint of a broadcast: the axes that it added vanish, those that it stretched stay. */
static expr *sum_to(writing *w, const op_use *u) {
    op_attrs attrs = {.axes = u->attrs->axes | u->attrs->drop, .keepdims = u->attrs->drop != u->attrs->axes};
    op_use sum = {.op = OP_sum, .attrs = &attrs, .n = 1, .in = u->in, .args = u->args};
    expr *e = call(w, &sum);
    for (int i = MAX_RANK - 1; i >= 0 && attrs.keepdims; i--) {
        if ((u->attrs->drop >> i & 1) == 0) continue;
        expr *args[2] = {e, write_integer(w, i)};
        e = write_call_of(w, "squeeze", 2, args);
    }
    return e;
}

static expr *triangle(writing *w, const op_use *u) {
    expr *e = write_call(w, u->attrs->reversed ? "triu" : "tril");
    write_argument(w, e, NULL, u->args[0]);
    if (u->attrs->lo[0] != 0) write_argument(w, e, "k", write_integer(w, u->attrs->lo[0]));
    return e;
}

static expr *permute(writing *w, const op_use *u) {
    int rank = u->in[0].rank;
    bool turned = rank > 1;
    for (int i = 0; i < rank; i++) turned = turned && u->attrs->perm[i] == rank - 1 - i;
    return turned ? write_call_of(w, "transpose", 1, u->args) : call(w, u);
}

/* 0 or 1, of whatever type; else -1. */
static int zero_or_one(const expr *e) {
    if (e->kind == EXPR_CALL && e->u.call.count == 1) e = e->u.call.args[0].value;
    if (e->kind == EXPR_INT && !e->u.integer.negative && e->u.integer.magnitude <= 1)
        return (int)e->u.integer.magnitude;
    if (e->kind != EXPR_FLOAT) return -1;
    return e->u.floating.value == 0.0 ? 0 : e->u.floating.value == 1.0 ? 1 : -1;
}

static expr *full(writing *w, const op_use *u) {
    static const char *const words[] = {"zeros", "ones"};
    int known = zero_or_one(u->args[0]);
    if (u->attrs->rank == 0) return write_alone(w, (dtype)u->in[0].dtype, u->args[0]);
    if (known < 0) return call(w, u);
    expr *e = write_call(w, words[known]);
    write_argument(w, e, NULL, write_dims(w, u->attrs->rank, u->attrs->dims));
    if (u->in[0].dtype != DT_F32)
        write_argument(w, e, "dtype", write_name(w, dtype_name((dtype)u->in[0].dtype)));
    return e;
}

static expr *full_like(writing *w, const op_use *u) {
    static const char *const words[] = {"zeros_like", "ones_like"};
    int known = zero_or_one(u->args[1]);
    bool short_form = known >= 0 && u->in[0].dtype == u->in[1].dtype;
    return short_form ? write_call_of(w, words[known], 1, u->args) : call(w, u);
}

/* A program's arange gives I32s. */
static expr *arange(writing *w, const op_use *u) {
    expr *e = call(w, u);
    return u->attrs->dtype == DT_I32 ? e : write_call_of(w, dtype_name((dtype)u->attrs->dtype), 1, &e);
}

/* ---- dims that are written ---- */

int write_op_dims(const writing *w, const op_use *u, int64_t *out) {
    builtin_param params[BUILTIN_PARAMS];
    int n = 0;
    op_class class = (op_class)op_table[u->op].class;
    if (class == CLASS_SLICE || class == CLASS_SLICE_ADD) return write_slice_dims(w, u, out);
    int count = op_table[u->op].surface[0] != '\0' ? builtin_params((int)u->op, params) : 0;
    for (int i = 0; i < count; i++) {
        if (params[i].role == ROLE_SIZE) out[n++] = u->attrs->dims[0];
        for (int k = 0; params[i].role == ROLE_SIZES && k < u->attrs->rank; k++) out[n++] = u->attrs->dims[k];
    }
    return n;
}

/* ---- all of them ---- */

static expr *operators(writing *w, const op_use *u) {
    const char *surface = op_table[u->op].surface;
    if (u->op == OP_neg || u->op == OP_not) return write_unary(w, u->op, u->args[0]);
    if ((u->op == OP_matmul && !u->attrs->strong_zero) || (surface[0] != '\0' && !isalpha((unsigned char)surface[0])))
        return write_binary(w, u->op, u->args[0], u->args[1]);
    return call(w, u);
}

expr *write_op(writing *w, const op_use *u) {
    settle_literals(w, u);
    switch (u->op) {
    case OP_identity:
    case OP_carry: return u->args[0];
    case OP_cast: return write_call_of(w, dtype_name((dtype)u->attrs->dtype), 1, u->args);
    case OP_sum_to: return sum_to(w, u);
    case OP_triangle: return triangle(w, u);
    case OP_permute: return permute(w, u);
    case OP_full: return full(w, u);
    case OP_full_like: return full_like(w, u);
    case OP_arange: return arange(w, u);
    case OP_concat: return u->n == 1 ? u->args[0] : call(w, u);
    case OP_slice: return write_slice(w, u);
    case OP_slice_add: return write_slice_add(w, u);
    default: return operators(w, u);
    }
}
