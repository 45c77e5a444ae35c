/* Expressions: the dispatch by kind, names, operators, tuples and tensor forms. */
#include "interp/check.h"

/* ---- names ---- */

static const type *dim_value(checker *c, const expr *e, symbol *s, int asked) {
    if (!meaning_of(s)->placeless) return check_scalar((dtype)check_adopted(LITERAL_DIM, asked));
    diag *d = diag_error(c->d, ERROR_K0306, e->at,
                         "the dim `%s` has no value here: it stands alone in function types only",
                         s->name);
    diag_add_label(c->d, d, s->at, "`%s` is named here", s->name);
    return &check_error_type;
}

static const type *builtin_as_value(checker *c, expr *e, int builtin, const type *wanted) {
    if (wanted != NULL && wanted->kind == TYPE_FN)
        return check_builtin_value(c, e, builtin, wanted);
    const char *name = e->u.name.name;
    diag *d =
        diag_error(c->d, ERROR_K0108, e->at,
                   "the builtin `%s` can be used as a value only where a function type is asked "
                   "for",
                   name);
    diag_add_help(c->d, d, "wrap it: `fn(x: F32) -> F32 { %s(x) }`", name);
    return &check_error_type;
}

static const type *check_name(checker *c, expr *e, const expect *x) {
    e->u.name.symbol = NULL;
    binding *b = check_read(c, e->u.name.name, e->at);
    if (b == NULL) {
        int builtin = check_builtin_find(c, e->u.name.name);
        if (builtin >= 0) return builtin_as_value(c, e, builtin, x->type);
        check_undefined(c, e->u.name.name, e->at, "name");
        return &check_error_type;
    }
    symbol *s = b->symbol;
    e->u.name.symbol = s;
    if (s->kind == SYMBOL_DIM) return dim_value(c, e, s, check_asked(x));
    if (s->kind == SYMBOL_FN) return check_fn_type(c, b, e->at);
    if (c->flexing && meaning_of(s)->flexible) {
        literal_class class = check_classify(c, e);
        if (class != LITERAL_NONE && check_asked(x) >= 0) {
            op_type adopted = s->type->tensor;
            adopted.dtype = (uint8_t)check_adopted(class, check_asked(x));
            return check_tensor_type(c, &adopted);
        }
    }
    return s->type;
}

/* ---- applying ops ---- */

bool check_operand(checker *c, expr *e, const char *of, op_type *out) {
    if (e->type->kind == TYPE_ERROR) return false;
    if (e->type->kind == TYPE_TENSOR) {
        *out = e->type->tensor;
        return true;
    }
    diag *d = diag_error(c->d, ERROR_K0202, e->at, "`%s` takes tensors, not `%s`", of,
                         check_show(c, e->type));
    if (e->type->kind == TYPE_TUPLE)
        diag_add_help(c->d, d, "take it apart: `let (a, b) = ...`, or project: `t.0`");
    else if (e->type->kind == TYPE_FN)
        diag_add_help(c->d, d, "call the function");
    return false;
}

static void fill_ones(op_attrs *attrs, const op_type *in, int n) {
    for (int k = 0; k < n && k < 3; k++) {
        attrs->ones[k] = 0;
        for (int i = 0; i < in[k].rank; i++)
            if (in[k].dims[i] == 1) attrs->ones[k] |= (uint8_t)(1u << i);
    }
}

const type *check_apply(checker *c, op_id op, const char *name, span mark, op_attrs *attrs,
                        expr *const *operands, int n) {
    op_type few[4], *in = few, out;
    op_attrs none = {0};
    op_fault fault;
    bool good = true;
    if (n > 4 && (in = ARENA_ARRAY(c->a, op_type, n)) == NULL)
        return c->failed = true, &check_error_type;
    for (int k = 0; k < n; k++) good = check_operand(c, operands[k], name, &in[k]) && good;
    if (!good) return &check_error_type;
    if (attrs == NULL) attrs = &none;
    if (op_table[op].class != CLASS_BROADCAST) fill_ones(attrs, in, n);
    if (op_result_type(op, attrs, in, n, &c->algebra, &out, &fault))
        return check_tensor_type(c, &out);
    check_fault(c, name, mark, operands, in, n, &fault);
    return &check_error_type;
}

/* ---- operators ---- */

static const char *operator_name(op_id op) {
    return op == OP_matmul ? "@" : op == OP_neg ? "-" : op_table[op].surface;
}

static const type *check_unary(checker *c, expr *e, int asked) {
    op_id op = e->u.unary.op;
    check_expr(c, e->u.unary.a, (expect){NULL, op == OP_neg ? asked : NO_DTYPE, 1});
    return check_apply(c, op, operator_name(op), e->mark, NULL, &e->u.unary.a, 1);
}

/* a0 op1 b1 op2 b2 ..., as the left-leaning tree of it: node[count - 1] is the innermost. */
typedef struct chain {
    int count;
    expr **node;
    int asked; /* of the operands of nodes before `cut`; nothing is asked of the others */
    int cut;
} chain;

static int asked_at(const chain *s, int i) {
    return i < s->cut ? s->asked : NO_DTYPE;
}

static int tensor_dtype(const type *t) {
    return t->kind == TYPE_TENSOR ? (int)t->tensor.dtype : NO_DTYPE;
}

static void apply_node(checker *c, expr *node) {
    expr *operands[2] = {node->u.binary.a, node->u.binary.b};
    op_id op = node->u.binary.op;
    node->type = check_apply(c, op, operator_name(op), node->mark, NULL, operands, 2);
}

/* Checks the innermost operand with the nodes that are flexible as a whole, down to `*next`, the
 * first that is not; they adopt the type of that one's right operand, which is then checked as
 * well. */
static void check_flexible_start(checker *c, const chain *s, int *next, bool *right_done) {
    expr *leaf = s->node[s->count - 1]->u.binary.a;
    literal_class class = check_classify(c, leaf), right = LITERAL_NONE;
    int i = s->count - 1, adopted = asked_at(s, i);
    *right_done = false;
    *next = i;
    if (class == LITERAL_NONE) {
        check_expr(c, leaf, (expect){NULL, adopted, 1});
        return;
    }
    for (; i >= 0; i--) {
        right = check_classify(c, s->node[i]->u.binary.b);
        literal_class both = right > class ? right : class;
        if (right == LITERAL_NONE || !check_keeps_dtype(s->node[i]->u.binary.op)) break;
        class = both;
    }
    if (i >= 0) {
        expr *b = s->node[i]->u.binary.b;
        if (right > class) class = right;
        adopted = right == LITERAL_NONE ? asked_at(s, i) : check_adopted(class, asked_at(s, i));
        int fixed = tensor_dtype(check_expr(c, b, (expect){NULL, adopted, 1}));
        adopted = check_adopted(class, fixed);
        *right_done = true;
    } else {
        adopted = check_adopted(class, s->asked);
    }
    check_expr(c, leaf, (expect){NULL, adopted, 1});
    for (int k = s->count - 1; k > i; k--) {
        check_expr(c, s->node[k]->u.binary.b, (expect){NULL, adopted, 1});
        apply_node(c, s->node[k]);
    }
    *next = i;
}

static const type *check_binary(checker *c, expr *e, int asked) {
    expr *few[8];
    chain s = {.node = few, .asked = asked};
    for (expr *n = e; n->kind == EXPR_BINARY; n = n->u.binary.a) s.count++;
    if (s.count > (int)COUNT_OF(few) && (s.node = ARENA_ARRAY(c->a, expr *, s.count)) == NULL)
        return c->failed = true, &check_error_type;
    s.count = 0;
    s.cut = -1;
    for (expr *n = e; n->kind == EXPR_BINARY; n = n->u.binary.a) {
        if (s.cut < 0 && !check_keeps_dtype(n->u.binary.op)) s.cut = s.count;
        s.node[s.count++] = n;
    }
    if (s.cut < 0) s.cut = s.count;

    int next;
    bool right_done;
    check_flexible_start(c, &s, &next, &right_done);
    for (int i = next; i >= 0; i--) {
        expr *b = s.node[i]->u.binary.b;
        int hint = asked_at(&s, i);
        if (!right_done) {
            if (check_classify(c, b) != LITERAL_NONE) {
                int left = tensor_dtype(s.node[i]->u.binary.a->type);
                if (left != NO_DTYPE) hint = left;
            }
            check_expr(c, b, (expect){NULL, hint, 1});
        }
        right_done = false;
        apply_node(c, s.node[i]);
    }
    return e->type;
}

/* ---- tuples and projections ---- */

static const type *check_tuple(checker *c, expr *e, const expect *x) {
    int count = e->u.list.count;
    if (count == 0) return &check_unit_type;
    const type **items = ARENA_ARRAY(c->a, const type *, count);
    if (items == NULL) return c->failed = true, &check_error_type;
    bool known = x->type != NULL && x->type->kind == TYPE_TUPLE && x->type->count == count;
    for (int i = 0; i < count; i++) {
        const type *wanted = known ? x->type->items[i] : NULL;
        items[i] =
            check_expr(c, e->u.list.items[i], (expect){wanted, NO_DTYPE, check_take(wanted)});
    }
    return check_tuple_type(c, count, items);
}

static const type *check_project(checker *c, expr *e) {
    expr *base = e->u.project.base;
    const type *t = check_expr(c, base, expect_nothing);
    uint32_t field = e->u.project.field;
    if (t->kind == TYPE_ERROR) return t;
    if (base->kind == EXPR_WHILE) {
        diag *d = diag_error(
            c->d, ERROR_K0215, e->mark,
            "a loop has no position `.%u`: its context says how many values it gives", field);
        diag_add_help(c->d, d, "bind the values: `let (a, b) = while ...`");
    } else if (t->kind != TYPE_TUPLE) {
        diag *d = diag_error(c->d, ERROR_K0215, e->mark, "`.%u` needs a tuple, not `%s`", field,
                             check_show(c, t));
        if (t->kind == TYPE_TENSOR && t->tensor.rank > 0)
            diag_add_help(c->d, d, "an entry of a tensor is `x[%u]`", field);
    } else if (field >= (uint32_t)t->count) {
        diag_error(c->d, ERROR_K0215, e->mark, "`%s` has no position %u: they run from 0 to %d",
                   check_show(c, t), field, t->count - 1);
    } else {
        return t->items[field];
    }
    return &check_error_type;
}

/* ---- tensor<...>, tensor<...>(x), tensor<...>([...]) ---- */

static const type *check_tensor_form(checker *c, expr *e) {
    const type *t = check_type(c, e->u.tensor.form, PLACE_PLAIN, NULL);
    expr *fill = e->u.tensor.fill;
    if (fill == NULL) return t;
    int asked = t->kind == TYPE_TENSOR ? (int)t->tensor.dtype : NO_DTYPE;
    check_expr(c, fill, (expect){fill->kind == EXPR_LIST ? t : NULL, asked, 1});
    reason why = {.at = e->u.tensor.form->at, .text = "the list", .code = ERROR_K0201};
    if (t->kind != TYPE_TENSOR || fill->type->kind == TYPE_ERROR) return t;
    if (fill->kind == EXPR_LIST) {
        check_fits(c, fill, t, &why);
    } else if (fill->type->kind == TYPE_TENSOR && fill->type->tensor.rank > 0) {
        diag *d = diag_error(c->d, ERROR_K0302, fill->at,
                             "a tensor is filled with a number or a written list, not `%s`",
                             check_show(c, fill->type));
        diag_add_help(c->d, d, "`reshape`, `broadcast` and `%s(...)` change a tensor's type",
                      dtype_name((dtype)t->tensor.dtype));
    } else {
        why.text = "the value that fills it";
        check_fits(c, fill, check_scalar((dtype)t->tensor.dtype), &why);
    }
    return t;
}

/* ---- dispatch ---- */

static const type *misplaced_string(checker *c, const expr *e) {
    diag *d = diag_error(c->d, ERROR_K0216, e->at, "a string has no place here");
    diag_add_help(c->d, d,
                  "strings are arguments of `assert`, `print`, `load`, `save` and `einsum` only");
    return &check_error_type;
}

static const type *check_kind(checker *c, expr *e, const expect *x) {
    switch (e->kind) {
    case EXPR_INT: return check_integer(c, e, check_asked(x));
    case EXPR_FLOAT: return check_floating(c, e, check_asked(x));
    case EXPR_BOOL: return check_scalar(DT_Bool);
    case EXPR_STRING: return misplaced_string(c, e);
    case EXPR_NAME: return check_name(c, e, x);
    case EXPR_UNKNOWN_DIM:
        diag_error(c->d, ERROR_K0307, e->at, "`?` stands only inside function types and `tape<>`");
        return &check_error_type;
    case EXPR_LIST: return check_list(c, e, *x);
    case EXPR_TUPLE: return check_tuple(c, e, x);
    case EXPR_UNARY: return check_unary(c, e, check_asked(x));
    case EXPR_BINARY: return check_binary(c, e, check_asked(x));
    case EXPR_CALL: return check_call(c, e, *x);
    case EXPR_INDEX: return check_index(c, e, check_asked(x));
    case EXPR_PROJECT: return check_project(c, e);
    case EXPR_IF: return check_if(c, e, *x);
    case EXPR_WHILE: return check_while(c, e, *x);
    case EXPR_HANDLE: return check_handle(c, e);
    case EXPR_FN: return check_function(c, e->u.fn);
    case EXPR_BLOCK: return check_block(c, e, *x);
    case EXPR_TENSOR: return check_tensor_form(c, e);
    }
    return &check_error_type;
}

const type *check_expr(checker *c, expr *e, expect x) {
    if (c->failed || !context_stack_left(c->c, e->at)) {
        c->failed = true;
        return e->type = &check_error_type;
    }
    return e->type = check_kind(c, e, &x);
}
