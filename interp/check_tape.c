/* Tapes: what they may hold, and the builtins that make and use them. That each is used up once is the ownership
 * pass's business. */
#include "interp/check.h"

bool check_tape_element(checker *c, const type *t, span at) {
    if (t->kind == TYPE_ERROR) return false;
    if (t->kind == TYPE_TENSOR || t->kind == TYPE_TAPE) return true;
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++)
        if (!check_tape_element(c, t->items[i], at)) return false;
    if (t->kind == TYPE_TUPLE) return true;
    diag *d = diag_error(c->d, ERROR_K0202, at, "a tape cannot hold `%s`", check_show(c, t));
    diag_add_help(c->d, d, "it holds tensors, numbers, tapes, and tuples of them");
    return false;
}

static const type *tape_of(checker *c, const type *element) {
    type *t = ARENA_NEW(c->a, type);
    const type **items = ARENA_ARRAY(c->a, const type *, 1);
    if (t == NULL || items == NULL) return c->failed = true, &check_error_type;
    items[0] = element;
    *t = (type){.kind = TYPE_TAPE, .count = 1, .items = items};
    return t;
}

/* tape(): of the type that is asked for. */
static const type *check_new(checker *c, const builtin_call *b) {
    const type *wanted = b->x.type;
    if (wanted != NULL && (wanted->kind == TYPE_TAPE || wanted->kind == TYPE_ERROR)) return wanted;
    diag *d = diag_error(c->d, ERROR_K0213, b->e->at, "what this tape is to hold is unknown here");
    diag_add_help(c->d, d, "say it: `let t: tape<F32> = tape();`, or `[t: tape<F32> = tape()]` of a loop");
    return &check_error_type;
}

/* A tape that is given to a builtin; NULL when it is none (reported). */
static const type *given_tape(checker *c, const builtin_call *b, expr *e, const type *asked) {
    const type *t = check_expr(c, e, (expect){asked, NO_DTYPE, 1});
    if (t->kind == TYPE_TAPE) return t;
    if (t->kind == TYPE_ERROR) return NULL;
    diag *d = diag_error(c->d, ERROR_K0202, e->at, "`%s` takes a tape, not `%s`", b->name,
                         check_show(c, t));
    if (b->use->builtin == BUILTIN_push)
        diag_add_help(c->d, d, "`push(t, x)` gives the tape `t` with `x` on top");
    return NULL;
}

static bool calls_tape(checker *c, const expr *e) {
    if (e->kind != EXPR_CALL || e->u.call.callee->kind != EXPR_NAME) return false;
    const char *name = e->u.call.callee->u.name.name;
    return check_lookup(c, name) == NULL &&
           check_builtin_find(c, name) == (int)OP_COUNT + (int)BUILTIN_tape;
}

/* push(tape(), x): a tape of such values as x is, unless the context asks for another. */
static const type *check_first_push(checker *c, builtin_call *b) {
    expr *x = b->use->args[1];
    const type *t = check_expr(c, x, expect_one);
    if (!check_tape_element(c, t, x->at)) return &check_error_type;
    const type *tape = given_tape(c, b, b->use->args[0], tape_of(c, t));
    return tape != NULL ? tape : &check_error_type;
}

static const type *check_push(checker *c, builtin_call *b) {
    expr *x = b->use->args[1];
    bool asked = b->x.type != NULL && b->x.type->kind == TYPE_TAPE;
    if (!asked && calls_tape(c, b->use->args[0])) return check_first_push(c, b);
    const type *tape = given_tape(c, b, b->use->args[0], asked ? b->x.type : NULL);
    if (tape == NULL) {
        check_expr(c, x, expect_one);
        return &check_error_type;
    }
    const type *element = tape->items[0];
    int dt = element->kind == TYPE_TENSOR ? (int)element->tensor.dtype : NO_DTYPE;
    check_expr(c, x, (expect){element, dt, check_take(element)});
    reason why = {.text = "what is pushed", .code = ERROR_K0201, .note_at = b->use->args[0]->at};
    why.note = arena_format(c->a, "the tape is `%s`", check_show(c, tape));
    return check_fits(c, x, element, &why) ? tape : &check_error_type;
}

static const type *check_pop(checker *c, const builtin_call *b) {
    const type *tape = given_tape(c, b, b->use->args[0], NULL);
    const type **items = ARENA_ARRAY(c->a, const type *, 2);
    if (items == NULL) return c->failed = true, &check_error_type;
    if (tape == NULL) return &check_error_type;
    items[0] = tape;
    items[1] = check_opened_anew(c, tape->items[0]);
    return check_tuple_type(c, 2, items);
}

const type *check_tape_call(checker *c, builtin_call *b) {
    expr *const *args = b->use->args;
    switch (b->use->builtin) {
    case BUILTIN_tape: return check_new(c, b);
    case BUILTIN_push: return check_push(c, b);
    case BUILTIN_pop: return check_pop(c, b);
    case BUILTIN_is_empty:
        return given_tape(c, b, args[0], NULL) != NULL ? check_scalar(DT_Bool) : &check_error_type;
    case BUILTIN_drop:
        if (check_expr(c, args[0], expect_one)->kind == TYPE_TAPE) return &check_unit_type;
        return check_operand(c, args[0], b->name, &(op_type){0}) ? &check_unit_type : &check_error_type;
    default: return NULL;
    }
}
