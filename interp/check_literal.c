/* Literals, and how they adopt the type that their context asks for.
 *
 * An operand is flexible when literals alone make it: its element type is then that of the other
 * operand, or what the whole tree of operators is asked for, or the default. So operands are first
 * classified, without checking, then the others are checked, and the flexible ones last. */
#include <float.h>
#include <math.h>

#include "interp/check.h"

/* ---- classes ---- */

static literal_class joined(literal_class a, literal_class b) {
    if (a == LITERAL_NONE || b == LITERAL_NONE) return LITERAL_NONE;
    return a > b ? a : b;
}

/* Whether an operator's operands have the element type of its result. */
bool check_keeps_dtype(op_id op) {
    return op == OP_add || op == OP_sub || op == OP_mul || op == OP_div || op == OP_rem ||
           op == OP_matmul;
}

static literal_class classify_name(checker *c, const expr *e) {
    if (check_veiled(c, e->u.name.name)) return LITERAL_NONE;
    const binding *b = check_lookup(c, e->u.name.name);
    if (b == NULL) return LITERAL_NONE;
    if (b->symbol->kind == SYMBOL_DIM) return LITERAL_DIM;
    if (!c->flexing || !meaning_of(b->symbol)->flexible || b->symbol->type->kind != TYPE_TENSOR)
        return LITERAL_NONE;
    return type_is_floating(b->symbol->type) ? LITERAL_FLOAT : LITERAL_INT;
}

static literal_class classify_binary(checker *c, expr *e) {
    literal_class class = LITERAL_INT;
    for (; e->kind == EXPR_BINARY && class != LITERAL_NONE; e = e->u.binary.a) {
        if (!check_keeps_dtype(e->u.binary.op)) return LITERAL_NONE;
        class = joined(class, check_classify(c, e->u.binary.b));
    }
    return class == LITERAL_NONE ? class : joined(class, check_classify(c, e));
}

static literal_class classify_if(checker *c, expr *e) {
    literal_class class = LITERAL_INT;
    for (; e->kind == EXPR_IF && class != LITERAL_NONE; e = e->u.if_.otherwise)
        class = joined(class, check_classify(c, e->u.if_.then));
    return class == LITERAL_NONE ? class : joined(class, check_classify(c, e));
}

static literal_class classify_items(checker *c, int count, expr *const *items) {
    literal_class class = LITERAL_INT;
    for (int i = 0; i < count && class != LITERAL_NONE; i++)
        class = joined(class, check_classify(c, items[i]));
    return class;
}

/* Its names have no meaning yet: they stand for whatever their values will be. */
static literal_class classify_block(checker *c, const expr *e) {
    if (e->u.block.tail == NULL || !check_veil(c, e, true)) return LITERAL_NONE;
    literal_class class = check_classify(c, e->u.block.tail);
    return check_veil(c, e, false) ? class : LITERAL_NONE;
}

/* A builtin that hands its operands' element type on gives what an operator of them would. */
static literal_class classify_call(checker *c, const expr *e) {
    enum { CALLS_MOST = 16 };
    const expr *callee = e->u.call.callee;
    if (callee->kind != EXPR_NAME || check_veiled(c, callee->u.name.name) ||
        check_lookup(c, callee->u.name.name) != NULL)
        return LITERAL_NONE;
    int builtin = check_builtin_find(c, callee->u.name.name);
    literal_class class = builtin < 0 ? LITERAL_NONE : builtin_literals(builtin);
    if (class == LITERAL_NONE || (c->flexing && c->classified_calls >= CALLS_MOST))
        return LITERAL_NONE;
    c->classified_calls++;
    for (int i = 0; i < e->u.call.count && class != LITERAL_NONE; i++) {
        const argument *a = &e->u.call.args[i];
        switch (builtin_place(builtin, a->name, i)) {
        case ROLE_OPERAND: class = joined(class, check_classify(c, a->value)); break;
        case ROLE_PARTS:
            if (a->value->kind != EXPR_TUPLE)
                class = LITERAL_NONE;
            else
                class = joined(class,
                               classify_items(c, a->value->u.list.count, a->value->u.list.items));
            break;
        default: break;
        }
    }
    c->classified_calls--;
    return class;
}

static literal_class classify_kind(checker *c, expr *e) {
    switch (e->kind) {
    case EXPR_INT: return LITERAL_INT;
    case EXPR_FLOAT: return LITERAL_FLOAT;
    case EXPR_NAME: return classify_name(c, e);
    case EXPR_UNARY:
        return e->u.unary.op == OP_neg ? check_classify(c, e->u.unary.a) : LITERAL_NONE;
    case EXPR_BINARY: return classify_binary(c, e);
    case EXPR_LIST: return classify_items(c, e->u.list.count, e->u.list.items);
    case EXPR_INDEX: return check_classify(c, e->u.index.base);
    case EXPR_IF: return classify_if(c, e);
    case EXPR_BLOCK: return classify_block(c, e);
    case EXPR_CALL: return classify_call(c, e);
    default: return LITERAL_NONE;
    }
}

/* Every call in a chain of calls asks this of all that is inside of it, so the answer is kept:
 * unless the names of lets stand for something on trial, or an answer of none may come from a name
 * whose meaning is still to be found. */
literal_class check_classify(checker *c, expr *e) {
    if (!c->flexing && e->literal != 0) return (literal_class)(e->literal - 1);
    if (c->failed || !context_stack_left(c->c, e->at)) {
        c->failed = true;
        return LITERAL_NONE;
    }
    literal_class class = classify_kind(c, e);
    if (!c->flexing && (c->veils == 0 || class != LITERAL_NONE)) e->literal = (uint8_t)(class + 1);
    return class;
}

int check_adopted(literal_class class, int asked) {
    bool floating = asked >= 0 && dtype_floating((dtype)asked);
    bool integer = asked >= 0 && dtype_integer((dtype)asked);
    switch (class) {
    case LITERAL_FLOAT: return floating ? asked : DT_F32;
    case LITERAL_DIM: return integer ? asked : DT_I64;
    default: return floating || integer ? asked : DT_I32;
    }
}

int check_asked(const expect *x) {
    return x->type != NULL && x->type->kind == TYPE_TENSOR ? x->type->tensor.dtype : x->dtype;
}

/* Checks operands that must agree in their element type. */
void check_adopting(checker *c, expr *const *operands, int n, int asked) {
    literal_class class = LITERAL_INT;
    int fixed = NO_DTYPE;
    for (int i = 0; i < n; i++) {
        literal_class own = check_classify(c, operands[i]);
        operands[i]->type = NULL;
        if (own != LITERAL_NONE) {
            class = joined(class, own);
            continue;
        }
        const type *t = check_expr(c, operands[i], (expect){NULL, asked, 1});
        if (fixed == NO_DTYPE && t->kind == TYPE_TENSOR) fixed = t->tensor.dtype;
    }
    int adopted = check_adopted(class, fixed != NO_DTYPE ? fixed : asked);
    for (int i = 0; i < n; i++)
        if (operands[i]->type == NULL) check_expr(c, operands[i], (expect){NULL, adopted, 1});
}

/* ---- numbers ---- */

const type *check_integer(checker *c, expr *e, int asked) {
    dtype t = (dtype)check_adopted(LITERAL_INT, asked);
    uint64_t most = t == DT_I32 ? INT32_MAX : INT64_MAX;
    if (e->u.integer.negative) most++;
    if (dtype_integer(t) && e->u.integer.magnitude > most) {
        diag *d = diag_error(c->d, ERROR_K0203, e->at, "%s%llu does not fit %s",
                             e->u.integer.negative ? "-" : "",
                             (unsigned long long)e->u.integer.magnitude, dtype_name(t));
        if (t == DT_I32 && e->u.integer.magnitude <= INT64_MAX)
            diag_add_help(c->d, d,
                          "integer literals are I32 unless something asks for another type; "
                          "`I64(...)` does");
    }
    return check_scalar(t);
}

/* A literal that rounds to infinity, though it was not written as `inf`. */
static bool overflows(const expr *e, dtype t) {
    const double half_past_greatest = 0x1.ffffffp127;
    double value = fabs(e->u.floating.value);
    if (isnan(value) || e->u.floating.digits == NULL) return false;
    if (isinf(value)) {
        char first = e->u.floating.digits[0];
        return (first >= '0' && first <= '9') || first == '.';
    }
    return t == DT_F32 && value >= half_past_greatest;
}

const type *check_floating(checker *c, expr *e, int asked) {
    dtype t = (dtype)check_adopted(LITERAL_FLOAT, asked);
    if (overflows(e, t)) {
        diag *d = diag_error(c->d, ERROR_K0203, e->at, "%s does not fit %s", e->u.floating.digits,
                             dtype_name(t));
        if (t == DT_F32 && !isinf(e->u.floating.value))
            diag_add_help(c->d, d, "`F64(%s)` is an F64; infinity is written `inf`",
                          e->u.floating.digits);
        else
            diag_add_help(c->d, d, "infinity is written `inf`");
    }
    return check_scalar(t);
}

/* ---- lists ---- */

typedef struct list_shape {
    op_type t;
    expr **leaves;
    int64_t count, room;
    const type *types[MAX_RANK + 1]; /* of the lists at each depth */
} list_shape;

/* The shape that the first items show; false when too deep. */
static bool measure(checker *c, const expr *e, list_shape *s) {
    s->room = 1;
    for (const expr *level = e; level->kind == EXPR_LIST; level = level->u.list.items[0]) {
        if (s->t.rank == MAX_RANK) {
            diag_error(c->d, ERROR_K0302, level->at, "a list nests to at most %d levels", MAX_RANK);
            return false;
        }
        s->t.dims[s->t.rank++] = level->u.list.count;
        if (__builtin_mul_overflow(s->room, level->u.list.count, &s->room)) s->room = INT32_MAX;
        if (level->u.list.count == 0) break;
    }
    if (s->room < INT32_MAX) return true;
    diag_error(c->d, ERROR_K0310, e->at, "this list has too many elements");
    return false;
}

/* Gathers the elements; false when a list has another length than its neighbours. */
static bool gather(checker *c, expr *e, int depth, list_shape *s) {
    bool leaf = depth == s->t.rank;
    bool fits =
        leaf ? e->kind != EXPR_LIST : e->kind == EXPR_LIST && e->u.list.count == s->t.dims[depth];
    if (!fits) {
        diag *d = diag_error(c->d, ERROR_K0308, e->at, "the lists in a list must have one shape");
        if (!leaf)
            diag_label_primary(c->d, d, "the first one here has %lld entries",
                               (long long)s->t.dims[depth]);
        return false;
    }
    if (leaf) {
        if (s->count < s->room) s->leaves[s->count++] = e;
        return true;
    }
    for (int i = 0; i < e->u.list.count; i++)
        if (!gather(c, e->u.list.items[i], depth + 1, s)) return false;
    return true;
}

static void set_types(expr *e, int depth, const list_shape *s) {
    if (depth == s->t.rank) return;
    e->type = s->types[depth];
    for (int i = 0; i < e->u.list.count; i++) set_types(e->u.list.items[i], depth + 1, s);
}

/* The element type of the checked leaves, or NO_DTYPE after an error. */
static int element_type(checker *c, const list_shape *s) {
    int found = NO_DTYPE;
    bool good = true;
    for (int64_t i = 0; i < s->count; i++) {
        const type *t = s->leaves[i]->type;
        if (t->kind == TYPE_ERROR) {
            good = false;
        } else if (!type_is_scalar(t)) {
            diag *d = diag_error(c->d, ERROR_K0302, s->leaves[i]->at,
                                 "the elements of a list are 0-D, not `%s`", check_show(c, t));
            diag_add_help(c->d, d, "`stack((a, b), axis=0)` makes a tensor of tensors");
            return NO_DTYPE;
        } else if (found == NO_DTYPE) {
            found = t->tensor.dtype;
        } else if (found != t->tensor.dtype) {
            diag *d = diag_error(c->d, ERROR_K0201, s->leaves[i]->at,
                                 "the elements of a list have different types: %s and %s",
                                 dtype_name((dtype)found), dtype_name((dtype)t->tensor.dtype));
            diag_add_label(c->d, d, s->leaves[0]->at, "%s", dtype_name((dtype)found));
            return NO_DTYPE;
        }
    }
    return good ? found : NO_DTYPE;
}

static void mark_failed(expr *e) {
    e->type = &check_error_type;
    if (e->kind != EXPR_LIST) return;
    for (int i = 0; i < e->u.list.count; i++)
        if (e->u.list.items[i]->kind == EXPR_LIST) mark_failed(e->u.list.items[i]);
}

const type *check_list(checker *c, expr *e, expect x) {
    list_shape s = {0};
    int asked = check_asked(&x), found;
    if (!measure(c, e, &s)) return mark_failed(e), &check_error_type;
    s.leaves = ARENA_ARRAY(c->a, expr *, s.room);
    if (s.leaves == NULL) return c->failed = true, &check_error_type;
    if (!gather(c, e, 0, &s)) return mark_failed(e), &check_error_type;
    if (s.count > 0) {
        check_adopting(c, s.leaves, (int)s.count, asked);
        found = element_type(c, &s);
    } else if ((found = asked) == NO_DTYPE) {
        diag *d = diag_error(c->d, ERROR_K0213, e->at, "the type of an empty list is unknown here");
        diag_add_help(c->d, d, "say it: `tensor<F32, [0]>([])`, or annotate the let");
    }
    if (found == NO_DTYPE) return mark_failed(e), &check_error_type;
    s.t.dtype = (uint8_t)found;
    for (int depth = 0; depth < s.t.rank; depth++) {
        op_type part = {.dtype = s.t.dtype, .rank = (uint8_t)(s.t.rank - depth)};
        for (int i = 0; i < part.rank; i++) part.dims[i] = s.t.dims[depth + i];
        s.types[depth] = check_tensor_type(c, &part);
    }
    set_types(e, 0, &s);
    return s.types[0];
}

/* ---- what must stand in the text ---- */

bool check_static_integer(checker *c, expr *e, int64_t *out, const char *what) {
    if (e->kind == EXPR_INT) {
        unsigned errors = c->d->errors;
        e->type = check_integer(c, e, DT_I64);
        uint64_t magnitude = e->u.integer.magnitude;
        if (c->d->errors > errors) return false;
        if (magnitude > INT64_MAX)
            *out = INT64_MIN;
        else
            *out = e->u.integer.negative ? -(int64_t)magnitude : (int64_t)magnitude;
        return true;
    }
    if (check_expr(c, e, expect_one)->kind != TYPE_ERROR)
        diag_error(c->d, ERROR_K0214, e->at, "%s must be an integer written here", what);
    return false;
}

bool check_static_flag(checker *c, expr *e, bool *out, const char *what) {
    if (e->kind == EXPR_BOOL) {
        e->type = check_scalar(DT_Bool);
        *out = e->u.boolean;
        return true;
    }
    if (check_expr(c, e, expect_one)->kind != TYPE_ERROR)
        diag_error(c->d, ERROR_K0214, e->at, "%s must be `true` or `false`, written here", what);
    return false;
}
