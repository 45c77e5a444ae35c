/* Calls of builtins: arguments by the signatures of the tables, static attributes, operands, and
 * the op's type rule. Builtins that are not one op are in check_making.c. */
#include <stdio.h>
#include <string.h>

#include "interp/check.h"

/* Whether an argument of this name is the parameter's. */
static bool goes_by(const builtin_param *p, const char *name) {
    return p->role != ROLE_PARTS && p->role != ROLE_REST && builtin_param_is(p, name);
}

int check_builtin_argument(const builtin_use *use, const char *name) {
    builtin_param params[BUILTIN_PARAMS];
    int builtin = use->is_op ? (int)use->op : (int)OP_COUNT + (int)use->builtin;
    int count = builtin_params(builtin, params);
    for (int i = 0; i < count && i < use->count; i++)
        if (goes_by(&params[i], name)) return i;
    return -1;
}

/* ---- arguments ---- */

void check_help_signature(checker *c, diag *d, const builtin_call *b) {
    diag_add_help(c->d, d, "`%s(%s)`", b->name, builtin_signature(b->builtin));
}

static bool place_named(checker *c, builtin_call *b, const argument *a) {
    for (int i = 0; i < b->count; i++) {
        const builtin_param *p = &b->params[i];
        if (!goes_by(p, a->name)) continue;
        if (b->use->args[i] != NULL) {
            diag_error(c->d, ERROR_K0106, a->name_at, "`%s` is given twice", a->name);
            return false;
        }
        b->use->args[i] = a->value;
        return true;
    }
    diag *d =
        diag_error(c->d, ERROR_K0105, a->name_at, "`%s` has no parameter `%s`", b->name, a->name);
    check_help_signature(c, d, b);
    return false;
}

static bool place_arguments(checker *c, builtin_call *b) {
    const expr *e = b->e;
    bool good = true, named = false;
    for (int i = 0; i < e->u.call.count; i++) {
        const argument *a = &e->u.call.args[i];
        if (a->name != NULL) {
            named = true;
            good = place_named(c, b, a) && good;
        } else if (i >= b->count || named || b->use->args[i] != NULL) {
            diag *d = diag_error(c->d, ERROR_K0106, a->value->at,
                                 named ? "an argument by position follows a named one"
                                       : "`%s` has too many arguments",
                                 b->name);
            check_help_signature(c, d, b);
            return false;
        } else {
            b->use->args[i] = a->value;
        }
    }
    for (int i = 0; i < b->count; i++) {
        if (b->params[i].optional || b->use->args[i] != NULL) continue;
        diag *d = diag_error(c->d, ERROR_K0106, e->at, "`%s` needs `%.*s`", b->name,
                             (int)b->params[i].length, b->params[i].name);
        check_help_signature(c, d, b);
        return false;
    }
    return good;
}

/* print(...): every argument as it stands. */
static bool place_rest(checker *c, builtin_call *b) {
    const expr *e = b->e;
    b->use->count = e->u.call.count;
    b->use->args = ARENA_ARRAY(c->a, expr *, e->u.call.count);
    if (b->use->args == NULL) return c->failed = true, false;
    for (int i = 0; i < e->u.call.count; i++) {
        const argument *a = &e->u.call.args[i];
        b->use->args[i] = a->value;
        if (a->name == NULL) continue;
        diag_error(c->d, ERROR_K0105, a->name_at, "`%s` has no parameter `%s`", b->name, a->name);
        return false;
    }
    return true;
}

/* concat((a, b), ...), stack((a, b), ...): the parts become the operands. */
static bool place_parts(checker *c, builtin_call *b) {
    expr *parts = b->use->args[0];
    if (parts->kind != EXPR_TUPLE || parts->u.list.count == 0) {
        diag *d = diag_error(c->d, ERROR_K0202, parts->at, "`%s` takes a written tuple of tensors",
                             b->name);
        diag_add_help(c->d, d, "`%s((a, b), axis=0)`", b->name);
        check_expr(c, parts, expect_one);
        return false;
    }
    check_adopting(c, parts->u.list.items, parts->u.list.count, b->asked);
    const type **types = ARENA_ARRAY(c->a, const type *, parts->u.list.count);
    if (types == NULL) return c->failed = true, false;
    for (int i = 0; i < parts->u.list.count; i++) types[i] = parts->u.list.items[i]->type;
    parts->type = check_tuple_type(c, parts->u.list.count, types);
    return true;
}

/* ---- static attributes ---- */

static bool check_dtype(checker *c, builtin_call *b, expr *e) {
    b->use->attrs.dtype = b->builtin == (int)OP_arange ? DT_I32 : DT_F32;
    if (e == NULL) return true;
    dtype t;
    if (e->kind == EXPR_NAME && check_lookup(c, e->u.name.name) == NULL &&
        dtype_find(e->u.name.name, strlen(e->u.name.name), &t)) {
        e->type = &check_unit_type;
        b->use->attrs.dtype = (uint8_t)t;
        bool floats_only =
            b->builtin == (int)OP_random_uniform || b->builtin == (int)OP_random_normal;
        if (!floats_only || dtype_floating(t)) return true;
        diag_error(c->d, ERROR_K0202, e->at, "`%s` draws F32 or F64, not %s", b->name,
                   dtype_name(t));
        return false;
    }
    if (e->kind == EXPR_NAME || check_expr(c, e, expect_one)->kind != TYPE_ERROR) {
        diag *d = diag_error(c->d, ERROR_K0214, e->at, "an element type is asked for here");
        diag_add_help(c->d, d, "one of F32, F64, I32, I64, Bool");
    }
    return false;
}

static bool check_string(checker *c, const builtin_call *b, expr *e) {
    if (e == NULL) return true;
    if (e->kind == EXPR_STRING) {
        e->type = &check_string_type;
        return true;
    }
    if (check_expr(c, e, expect_one)->kind != TYPE_ERROR)
        diag_error(c->d, ERROR_K0216, e->at, "`%s` takes a written string here", b->name);
    return false;
}

/* A written integer that is no axis: kept in lo[0]. */
static bool check_number(checker *c, builtin_call *b, const builtin_param *p, expr *e) {
    char what[40];
    int64_t *out = &b->use->attrs.lo[0];
    if (e == NULL) return true;
    snprintf(what, sizeof what, "`%.*s`", (int)p->length, p->name);
    if (!check_static_integer(c, e, out, what)) return false;
    if (b->builtin != (int)OP_polygamma || (*out >= 1 && *out <= POLYGAMMA_MOST)) return true;
    diag_error(c->d, ERROR_K0310, e->at, "`order` of `polygamma` is 1 to %d, not %lld",
               POLYGAMMA_MOST, (long long)*out);
    return false;
}

/* Which triangle is meant: the lower one unless said otherwise. */
static bool check_lower(checker *c, builtin_call *b, expr *e) {
    bool lower = true, good = e == NULL || check_static_flag(c, e, &lower, "`lower`");
    b->use->attrs.reversed = !lower;
    return good;
}

/* Everything but the operands, which are checked by now. */
static bool check_attributes(checker *c, builtin_call *b) {
    bool good = true;
    b->use->attrs.dtype = b->builtin == (int)OP_arange ? DT_I32 : DT_F32;
    for (int i = 0; i < b->count; i++) {
        expr *e = b->use->args[i];
        switch (b->params[i].role) {
        case ROLE_AXIS: good = check_axis(c, b, &b->params[i], e) && good; break;
        case ROLE_AXES: good = check_axes(c, b, e) && good; break;
        case ROLE_FLAG:
            if (e != NULL)
                good = check_static_flag(c, e, &b->use->attrs.keepdims, "`keepdims`") && good;
            break;
        case ROLE_REVERSED:
            if (e != NULL)
                good = check_static_flag(c, e, &b->use->attrs.reversed, "`reversed`") && good;
            break;
        case ROLE_STRONG:
            if (e != NULL)
                good = check_static_flag(c, e, &b->use->attrs.strong_zero, "`strong_zero`") && good;
            break;
        case ROLE_SIZES: good = check_sizes(c, b, e) && good; break;
        case ROLE_SIZE: good = check_size_alone(c, b, e) && good; break;
        case ROLE_DTYPE: good = check_dtype(c, b, e) && good; break;
        case ROLE_STRING: good = check_string(c, b, e) && good; break;
        case ROLE_WINDOW: good = check_window(c, b, &b->params[i], e) && good; break;
        case ROLE_LOWER: good = check_lower(c, b, e) && good; break;
        case ROLE_INTEGER: good = check_number(c, b, &b->params[i], e) && good; break;
        default: break;
        }
    }
    return good;
}

/* ---- operands ---- */

/* What an op's floating or equal operands adopt when the result is asked to be of a type. */
static int asked_of_operands(const builtin_call *b) {
    if (!b->use->is_op && builtin_kind_of(b->use->builtin) == BUILTIN_KIND_CAST) {
        dtype t = builtin_dtype(b->use->builtin);
        return t == DT_Bool ? NO_DTYPE : (int)t;
    }
    if (!b->use->is_op && builtin_literals(b->builtin) == LITERAL_FLOAT)
        return b->asked >= 0 && dtype_floating((dtype)b->asked) ? b->asked : DT_F32;
    if (!b->use->is_op) return b->asked;
    switch ((op_class)op_table[b->use->op].class) {
    case CLASS_UNARY:
    case CLASS_BINARY:
    case CLASS_REDUCE_FLOAT:
    case CLASS_CUMULATE_FLOAT:
    case CLASS_SCAN:
    case CLASS_MATRIX:
    case CLASS_MATRIX_PAIR:
    case CLASS_DETERMINANT:
    case CLASS_CONV:
    case CLASS_CONV_INPUT_GRAD:
    case CLASS_CONV_WEIGHT_GRAD:
    case CLASS_POOL:
    case CLASS_POOL_GRAD:
    case CLASS_SOLVE:
    case CLASS_ALONG: return b->asked >= 0 && dtype_floating((dtype)b->asked) ? b->asked : DT_F32;
    case CLASS_POOL_PLACE: return DT_F32;
    case CLASS_REDUCE_BOOL:
    case CLASS_ORDER:
    case CLASS_TOP_K:
    case CLASS_ARG_REDUCE: return NO_DTYPE;
    default: return b->asked;
    }
}

/* False when one of them is in error or no tensor (reported). */
static bool check_operands(checker *c, builtin_call *b) {
    expr *alike[3];
    int count = 0, asked = asked_of_operands(b);
    bool where = b->use->is_op && op_table[b->use->op].class == CLASS_WHERE;
    for (int i = 0; i < b->count; i++) {
        param_role role = b->params[i].role;
        expr *e = b->use->args[i];
        if (role != ROLE_OPERAND && role != ROLE_INDICES && role != ROLE_KEY) continue;
        if (e == NULL) continue;
        if (role == ROLE_OPERAND && !(where && i == 0))
            alike[count++] = e;
        else
            check_expr(c, e, (expect){NULL, role == ROLE_KEY ? DT_I64 : NO_DTYPE, 1});
        b->operands[b->operand_count++] = e;
    }
    check_adopting(c, alike, count, asked);
    bool good = true;
    for (int i = 0; i < b->operand_count; i++) {
        op_type ignored;
        good = check_operand(c, b->operands[i], b->name, &ignored) && good;
    }
    return good;
}

static void broadcast_ones(builtin_call *b) {
    op_attrs *attrs = &b->use->attrs;
    const op_type *in = &b->operands[0]->type->tensor;
    attrs->ones[0] = attrs->ones[1] = 0;
    for (int i = 0; i < in->rank; i++)
        if (in->dims[i] == 1) attrs->ones[0] |= (uint8_t)(1u << i);
    for (int i = 0; i < attrs->rank; i++)
        if (attrs->dims[i] == 1) attrs->ones[1] |= (uint8_t)(1u << i);
}

static int64_t element_count(checker *c, int rank, const int64_t *list) {
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count = dims_mul(c->dims, count, list[i]);
    return count;
}

/* The type rule would say so too, but without the numbers. */
static bool reshape_fits(checker *c, const builtin_call *b) {
    const op_type *in = &b->operands[0]->type->tensor;
    int64_t from = element_count(c, in->rank, in->dims);
    int64_t to = element_count(c, b->use->attrs.rank, b->use->attrs.dims);
    if (dims_compare(c->dims, from, to) != DIM_DIFFERENT) return true;
    diag *d =
        diag_error(c->d, ERROR_K0305, b->e->u.call.callee->at,
                   "`reshape` keeps the number of elements: it is `%s`, and the new shape has `%s`",
                   check_show_dim(c, from), check_show_dim(c, to));
    diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    check_note_dims(c, d, (int64_t[]){from, to}, 2);
    return false;
}

static const type *check_concat(checker *c, builtin_call *b) {
    expr *parts = b->use->args[0];
    if (!place_parts(c, b)) return &check_error_type;
    b->operands[0] = parts->u.list.items[0];
    b->operand_count = 1;
    if (b->operands[0]->type->kind != TYPE_TENSOR || !check_attributes(c, b)) {
        for (int i = 0; i < parts->u.list.count; i++)
            if (!check_operand(c, parts->u.list.items[i], b->name, &(op_type){0})) break;
        return &check_error_type;
    }
    b->use->args = parts->u.list.items;
    b->use->count = parts->u.list.count;
    if (!b->use->is_op) return check_special(c, b);
    return check_apply(c, b->use->op, b->name, b->e->u.call.callee->at, &b->use->attrs,
                       b->use->args, b->use->count);
}

static uint8_t last_axis(const builtin_call *b) {
    int rank = b->operands[0]->type->tensor.rank;
    return (uint8_t)(rank > 0 ? rank - 1 : 0);
}

static const type *check_op(checker *c, builtin_call *b) {
    bool good = check_operands(c, b);
    if (!good) {
        /* The axes of an operand in error are not known; everything else is still checked. */
        for (int i = 0; i < b->count; i++) {
            expr *e = b->use->args[i];
            param_role role = b->params[i].role;
            if (e != NULL && role == ROLE_SIZES) check_sizes(c, b, e);
            if (e != NULL && role == ROLE_SIZE) check_size_alone(c, b, e);
            if (e != NULL && role == ROLE_DTYPE) check_dtype(c, b, e);
        }
        return &check_error_type;
    }
    op_class class = (op_class)op_table[b->use->op].class;
    if (class == CLASS_SLICE || class == CLASS_SLICE_ADD) return check_slice(c, b);
    if (class == CLASS_TOP_K) b->use->attrs.axis = last_axis(b);
    if (!check_attributes(c, b)) return &check_error_type;
    if (b->operand_count == 1 && b->operands[0] != NULL) {
        if (b->use->op == OP_broadcast) broadcast_ones(b);
        if (b->use->op == OP_reshape && !reshape_fits(c, b)) return &check_error_type;
    }
    const type *t = check_apply(c, b->use->op, b->name, b->e->u.call.callee->at, &b->use->attrs,
                                b->operands, b->operand_count);
    /* Dims of the checker mean nothing to a run, which evaluates the sizes. */
    memset(b->use->attrs.dims, 0, sizeof b->use->attrs.dims);
    return t;
}

/* ---- entry points ---- */

static void mark_callee(expr *callee, int builtin) {
    bool is_op = builtin < (int)OP_COUNT;
    callee->type = &check_unit_type;
    callee->u.name.symbol = NULL;
    callee->u.name.is_builtin = true;
    callee->u.name.is_op = is_op;
    if (is_op)
        callee->u.name.op = (op_id)builtin;
    else
        callee->u.name.builtin = (builtin_id)(builtin - (int)OP_COUNT);
}

static void check_loose(checker *c, const expr *e) {
    for (int i = 0; i < e->u.call.count; i++) {
        expr *value = e->u.call.args[i].value;
        storage unused;
        bool dtype_word = value->kind == EXPR_NAME && (check_builtin_find(c, value->u.name.name) >= 0 ||
                                                       check_storage_word(c, value, &unused));
        if (value->kind != EXPR_STRING && value->kind != EXPR_LIST && !dtype_word &&
            value->type == NULL)
            check_expr(c, value, expect_one);
    }
}

const type *check_builtin_call(checker *c, expr *e, int builtin, expect x) {
    builtin_call b = {.e = e, .builtin = builtin, .name = builtin_name(builtin), .x = x};
    b.asked = check_asked(&x);
    mark_callee(e->u.call.callee, builtin);
    b.use = ARENA_NEW(c->a, builtin_use);
    if (b.use == NULL) return c->failed = true, &check_error_type;
    b.count = builtin_params(builtin, b.params);
    b.use->is_op = builtin < (int)OP_COUNT;
    if (b.use->is_op)
        b.use->op = (op_id)builtin;
    else
        b.use->builtin = (builtin_id)(builtin - (int)OP_COUNT);
    e->u.call.builtin = b.use;
    e->u.call.ordered = NULL;
    if (b.count > 0 && b.params[0].role == ROLE_REST)
        return place_rest(c, &b) ? check_special(c, &b) : &check_error_type;
    if (!b.use->is_op && b.use->builtin == BUILTIN_einsum) return check_einsum(c, &b);
    b.use->count = b.count;
    b.use->args = ARENA_ARRAY(c->a, expr *, b.count);
    if (b.use->args == NULL) return c->failed = true, &check_error_type;
    if (!place_arguments(c, &b)) return check_loose(c, e), &check_error_type;
    if (b.count > 0 && b.params[0].role == ROLE_PARTS) return check_concat(c, &b);
    if (b.use->is_op) return check_op(c, &b);
    const type *tape = check_tape_call(c, &b);
    if (tape != NULL) return tape;
    bool good = check_operands(c, &b);
    return check_attributes(c, &b) && good ? check_special(c, &b) : &check_error_type;
}

/* Whether a builtin without attributes of its own choice can be passed as a function. */
static bool passable(op_id op) {
    switch ((op_class)op_table[op].class) {
    case CLASS_UNARY:
    case CLASS_UNARY_NUMERIC:
    case CLASS_BINARY:
    case CLASS_BINARY_NUMERIC:
    case CLASS_WHERE:
    case CLASS_TERNARY_NUMERIC:
    case CLASS_REDUCE:
    case CLASS_REDUCE_ONE:
    case CLASS_REDUCE_NONEMPTY:
    case CLASS_REDUCE_FLOAT:
    case CLASS_REDUCE_BOOL:
    case CLASS_MATRIX:
    case CLASS_DETERMINANT:
    case CLASS_SOLVE:
    case CLASS_MATMUL: return true;
    default: return false;
    }
}

static const type *value_type(checker *c, const type *wanted, const op_type *result) {
    type *t = ARENA_NEW(c->a, type);
    if (t == NULL) return c->failed = true, &check_error_type;
    *t = *wanted;
    t->result = check_tensor_type(c, result);
    return t;
}

const type *check_builtin_value(checker *c, expr *e, int builtin, const type *wanted) {
    const char *name = builtin_name(builtin);
    op_type in[3] = {0}, out;
    op_attrs attrs = {0};
    op_fault fault = {0};
    bool good = builtin < (int)OP_COUNT && passable((op_id)builtin) &&
                op_table[builtin].arity == wanted->count && wanted->count <= 3;
    for (int i = 0; good && i < wanted->count; i++) {
        good = wanted->items[i]->kind == TYPE_TENSOR;
        if (!good) break;
        in[i] = wanted->items[i]->tensor;
        for (int k = 0; k < in[i].rank; k++)
            if (in[i].dims[k] == 1) attrs.ones[i] |= (uint8_t)(1u << k);
    }
    mark_callee(e, builtin);
    if (good) attrs.axes = (uint8_t)((1u << in[0].rank) - 1);
    if (good &&
        op_result_type((op_id)builtin, &attrs, in, wanted->count, &c->algebra, &out, &fault))
        return value_type(c, wanted, &out);
    diag *d = diag_error(c->d, ERROR_K0108, e->at, "the builtin `%s` cannot be used as `%s`", name,
                         check_show(c, wanted));
    if (good && fault.kind != FAULT_NONE && fault.kind != FAULT_DIMS)
        diag_add_note(c->d, d, (span){0, 0}, "it takes %s", fault.expects);
    diag_add_help(c->d, d, "wrap it in a function: `fn(x: F32) -> F32 { ... }`");
    return &check_error_type;
}
