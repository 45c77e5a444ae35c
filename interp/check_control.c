/* if and while. */
#include <string.h>

#include "interp/check.h"

/* ---- conditions ---- */

static bool is_bool(const type *t) {
    return t->kind == TYPE_TENSOR && t->tensor.dtype == DT_Bool;
}

static void report_not_bool(checker *c, const expr *e, const char *of) {
    diag *d = diag_error(c->d, ERROR_K0206, e->at, "the condition of %s is a Bool, not `%s`", of,
                         check_show(c, e->type));
    if (type_is_scalar(e->type)) diag_add_help(c->d, d, "compare it: `... != 0`");
}

/* ---- if ---- */

static bool has_shape(checker *c, const type *t, const op_type *mask) {
    if (t->kind == TYPE_ERROR) return true;
    if (t->kind != TYPE_TENSOR || t->tensor.rank != mask->rank) return false;
    for (int i = 0; i < mask->rank; i++)
        if (dims_compare(c->dims, t->tensor.dims[i], mask->dims[i]) == DIM_DIFFERENT) return false;
    return true;
}

static void check_if_condition(checker *c, expr *e) {
    const expr *condition = e->u.if_.condition;
    const type *then = e->u.if_.then->type, *otherwise = e->u.if_.otherwise->type;
    e->u.if_.mask = false;
    if (condition->type->kind == TYPE_ERROR ||
        type_compare(c->dims, condition->type, check_scalar(DT_Bool)) == DIM_SAME)
        return;
    if (!is_bool(condition->type)) {
        report_not_bool(c, condition, "`if`");
        return;
    }
    const op_type *mask = &condition->type->tensor;
    e->u.if_.mask = true;
    if (has_shape(c, then, mask) && has_shape(c, otherwise, mask)) return;
    diag *d = diag_error(c->d, ERROR_K0206, condition->at,
                         "the condition of `if` has a shape, `%s`, that its branches do not have",
                         check_show(c, condition->type));
    diag_add_label(c->d, d, e->u.if_.then->at, "`%s`", check_show(c, then));
    diag_add_label(c->d, d, e->u.if_.otherwise->at, "`%s`", check_show(c, otherwise));
    diag_add_help(c->d, d,
                  "`any(...)` or `all(...)` makes it one Bool; `where(mask, a, b)` chooses entry "
                  "by entry");
}

/* The type of either of two values that fit each other: where only a run can tell whether their
 * dims are equal, it has a dim of its own. */
static const type *either(checker *c, const type *a, const type *b) {
    if (a == b || b->kind == TYPE_ERROR) return a;
    if (a->kind == TYPE_ERROR) return b;
    if (a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR) {
        op_type t = a->tensor;
        for (int i = 0; i < t.rank; i++)
            if (dims_compare(c->dims, t.dims[i], b->tensor.dims[i]) == DIM_LATER)
                t.dims[i] = dims_symbol(c->dims, DIM_UNKNOWN, NULL, (span){0, 0});
        return check_tensor_type(c, &t);
    }
    if (a->kind != TYPE_TUPLE || b->kind != TYPE_TUPLE) return a;
    const type **items = ARENA_ARRAY(c->a, const type *, a->count);
    if (items == NULL) return c->failed = true, a;
    for (int i = 0; i < a->count; i++) items[i] = either(c, a->items[i], b->items[i]);
    return check_tuple_type(c, a->count, items);
}

static const type *join_branches(checker *c, expr *e) {
    const expr *then = e->u.if_.then, *otherwise = e->u.if_.otherwise;
    if (check_conversion(c, otherwise->type, then->type) != DIM_DIFFERENT)
        return either(c, then->type, otherwise->type);
    diag *d = diag_error(c->d, ERROR_K0207, e->mark, "the branches of `if` have different types");
    diag_add_label(c->d, d, then->at, "`%s`", check_show(c, then->type));
    diag_add_label(c->d, d, otherwise->at, "`%s`", check_show(c, otherwise->type));
    check_note_types(c, d, then->type, otherwise->type);
    return &check_error_type;
}

/* The branches of a chain of `else if`, first to last, the last `else` included. */
typedef struct branches {
    int count;
    expr **item;
} branches;

/* Literal branches take the element type of the others, as operands of an operator do. */
static void check_branches(checker *c, const branches *b, expect x) {
    int fixed = NO_DTYPE;
    literal_class all = LITERAL_INT;
    for (int i = 0; i < b->count; i++) {
        literal_class class = check_classify(c, b->item[i]);
        b->item[i]->type = NULL;
        if (class != LITERAL_NONE) {
            if (class > all) all = class;
            continue;
        }
        const type *t = check_expr(c, b->item[i], x);
        if (fixed == NO_DTYPE && t->kind == TYPE_TENSOR) fixed = t->tensor.dtype;
    }
    int asked = check_asked(&x), adopted = check_adopted(all, asked != NO_DTYPE ? asked : fixed);
    for (int i = 0; i < b->count; i++)
        if (b->item[i]->type == NULL) check_expr(c, b->item[i], (expect){x.type, adopted, x.take});
}

const type *check_if(checker *c, expr *e, expect x) {
    expr *few[9];
    branches b = {.count = 1, .item = few};
    for (expr *n = e; n->kind == EXPR_IF; n = n->u.if_.otherwise) b.count++;
    if (b.count > (int)COUNT_OF(few)) b.item = ARENA_ARRAY(c->a, expr *, b.count);
    expr **node = ARENA_ARRAY(c->a, expr *, b.count);
    if (b.item == NULL || node == NULL) return c->failed = true, &check_error_type;
    int count = 0;
    expr *last = e;
    for (; last->kind == EXPR_IF; last = last->u.if_.otherwise) {
        check_expr(c, last->u.if_.condition, expect_one);
        node[count] = last;
        b.item[count++] = last->u.if_.then;
    }
    b.item[count] = last;
    check_branches(c, &b, x);
    while (count-- > 0) {
        check_if_condition(c, node[count]);
        node[count]->type = join_branches(c, node[count]);
    }
    return e->type;
}

/* ---- while ---- */

/* A loop whose carries may start from bare literals, and what they are taken to be. */
typedef struct loop {
    expr *e;
    int count;
    literal_class *class; /* of a carry without annotation whose init literals make; else NONE */
    int *chosen;          /* its element type, or NO_DTYPE for the default */
    const type **types;   /* of the carries */
} loop;

static bool loop_open(checker *c, loop *l, expr *e) {
    int n = e->u.while_.count;
    *l = (loop){.e = e,
                .count = n,
                .class = ARENA_ARRAY(c->a, literal_class, n),
                .chosen = ARENA_ARRAY(c->a, int, n),
                .types = ARENA_ARRAY(c->a, const type *, n)};
    if (l->class == NULL || l->chosen == NULL || l->types == NULL) return false;
    for (int i = 0; i < n; i++) {
        const carry *y = &e->u.while_.carries[i];
        l->chosen[i] = NO_DTYPE;
        if (y->type == NULL) l->class[i] = check_classify(c, y->init);
        if (l->class[i] == LITERAL_DIM) l->class[i] = LITERAL_NONE;
    }
    return true;
}

static const type *check_init(checker *c, const loop *l, int i) {
    carry *y = &l->e->u.while_.carries[i];
    const type *wanted = y->type == NULL ? NULL : check_type(c, y->type, PLACE_PLAIN, NULL);
    const type *t = check_expr(c, y->init, (expect){wanted, l->chosen[i], check_take(wanted)});
    if (wanted == NULL) return t;
    check_measurable(c, y->init, t, wanted);
    reason why = {.at = y->type->at, .text = "the init of this carry", .code = ERROR_K0201};
    if (check_conversion(c, t, wanted) == DIM_DIFFERENT) {
        const char *words = arena_format(c->a, "the init of `%s`", y->name);
        if (words != NULL) why.text = words;
        check_fits(c, y->init, wanted, &why);
    }
    return wanted;
}

static void bind_carry(checker *c, loop *l, int i) {
    carry *y = &l->e->u.while_.carries[i];
    binding *b = check_lookup(c, y->name);
    if (b != NULL && b->in == c->scope) {
        diag *d = diag_error(c->d, ERROR_K0102, y->at, "the loop carries `%s` twice", y->name);
        diag_add_label(c->d, d, b->symbol->at, "the first time");
    }
    y->symbol = check_symbol(c, SYMBOL_CARRY, y->name, y->at, l->types[i]);
    if (y->symbol == NULL) return;
    meaning_of(y->symbol)->flexible = c->flexing && l->class[i] != LITERAL_NONE;
    check_bind(c, y->symbol);
}

static void check_loop_condition(checker *c, expr *condition) {
    const type *t = check_expr(c, condition, expect_one);
    if (t->kind == TYPE_ERROR || (is_bool(t) && t->tensor.rank == 0)) return;
    if (!is_bool(t)) {
        report_not_bool(c, condition, "`while`");
        return;
    }
    diag *d = diag_error(c->d, ERROR_K0206, condition->at,
                         "the condition of `while` is one Bool, not `%s`", check_show(c, t));
    diag_add_help(c->d, d, "`any(...)` or `all(...)` makes it one Bool");
}

/* Inits, condition and body; returns the body's type, which is not yet held against the carries. */
static const type *run_loop(checker *c, loop *l) {
    scope s;
    expr *body = l->e->u.while_.body;
    for (int i = 0; i < l->count; i++) l->types[i] = check_init(c, l, i);
    check_scope_open(c, &s);
    for (int i = 0; i < l->count; i++) bind_carry(c, l, i);
    check_loop_condition(c, l->e->u.while_.condition);
    const type *wanted = check_tuple_type(c, l->count, l->types);
    int take = l->count == 1 ? check_take(wanted) : l->count;
    const type *t = check_expr(c, body, (expect){wanted, NO_DTYPE, take});
    check_scope_close(c);
    return t;
}

static bool yields_fit(checker *c, const loop *l, const type *t) {
    if (t->kind == TYPE_ERROR) return false;
    return check_conversion(c, t, check_tuple_type(c, l->count, l->types)) != DIM_DIFFERENT;
}

/* Takes the types that the body yields for carries whose literals can have them. */
static bool choose(checker *c, loop *l, const type *t) {
    bool changed = false;
    if (l->count > 1 && (t->kind != TYPE_TUPLE || t->count != l->count)) return false;
    for (int i = 0; i < l->count; i++) {
        const type *yield = l->count == 1 ? t : t->items[i];
        if (l->class[i] == LITERAL_NONE || yield->kind != TYPE_TENSOR) continue;
        if (l->types[i]->kind != TYPE_TENSOR || yield->tensor.rank != l->types[i]->tensor.rank)
            continue;
        int found = yield->tensor.dtype;
        bool fits = check_adopted(l->class[i], found) == found && found != DT_Bool;
        if (!fits || found == l->types[i]->tensor.dtype || found == l->chosen[i]) continue;
        l->chosen[i] = found;
        changed = true;
    }
    (void)c;
    return changed;
}

enum { TRIALS_MOST = 4 };

/* Literal inits have their default type first; when the body does not agree, they take the type
 * that it yields, and where it cannot be checked for want of that type, the carries adopt types as
 * literals do to find it. Only the last run's messages are kept. */
static const type *settle_loop(checker *c, loop *l) {
    check_mark mark = check_mark_set(c);
    bool open = false, flexed = c->flexing;
    for (int i = 0; i < l->count; i++) open = open || l->class[i] != LITERAL_NONE;
    const type *t = run_loop(c, l);
    for (int trial = 0; open && trial < TRIALS_MOST; trial++) {
        if (c->failed || (c->d->errors == mark.errors && yields_fit(c, l, t))) break;
        bool changed = choose(c, l, t);
        if ((!changed && flexed) || (c->attempts > 0 && c->trials_left-- <= 0)) break;
        check_mark_return(c, &mark);
        c->attempts++;
        if (!changed) {
            c->flexing = flexed = true;
            t = run_loop(c, l);
            c->flexing = false;
            choose(c, l, t);
            check_mark_return(c, &mark);
        }
        t = run_loop(c, l);
        c->attempts--;
    }
    return t;
}

static void report_count(checker *c, const loop *l, const expr *tail, const type *t) {
    int yields = t->kind == TYPE_TUPLE ? t->count : t->kind == TYPE_UNIT ? 0 : 1;
    span at = tail->at;
    if (tail->kind == EXPR_BLOCK && at.end > at.begin) at.begin = at.end - 1;
    diag *d = diag_error(c->d, ERROR_K0208, at, "the body yields %d value%s for %d carried name%s",
                         yields, yields == 1 ? "" : "s", l->count, l->count == 1 ? "" : "s");
    for (int i = 0; i < l->count && i < 8; i++)
        diag_add_label(c->d, d, l->e->u.while_.carries[i].at, "`%s`", check_show(c, l->types[i]));
    if (yields == 0)
        diag_add_help(
            c->d, d,
            "end the body in an expression: the next value of each carried name, in order");
    else
        diag_add_help(c->d, d, "yield one value for each carried name, in order, as a tuple");
}

static void check_yield(checker *c, const loop *l, int i, expr *value, const type *t) {
    const carry *y = &l->e->u.while_.carries[i];
    if (check_conversion(c, t, l->types[i]) != DIM_DIFFERENT) return;
    const char *words = arena_format(c->a, "the next `%s`", y->name);
    reason why = {
        .at = y->at, .text = words != NULL ? words : "the next value", .code = ERROR_K0208};
    if (value != NULL) {
        check_fits(c, value, l->types[i], &why);
        return;
    }
    diag *d = diag_error(c->d, ERROR_K0208, l->e->u.while_.body->at, "%s must be `%s`, not `%s`",
                         why.text, check_show(c, l->types[i]), check_show(c, t));
    diag_add_label(c->d, d, y->at, "carried here");
}

static void check_yields(checker *c, const loop *l, const type *t) {
    expr *tail = l->e->u.while_.body;
    while (tail->kind == EXPR_BLOCK && tail->u.block.tail != NULL) tail = tail->u.block.tail;
    if (t->kind == TYPE_ERROR) return;
    if (l->count == 1) {
        if (l->types[0]->kind != TYPE_TUPLE && (t->kind == TYPE_UNIT || t->kind == TYPE_TUPLE))
            report_count(c, l, tail, t);
        else
            check_yield(c, l, 0, tail, t);
    } else if (t->kind != TYPE_TUPLE || t->count != l->count) {
        report_count(c, l, tail, t);
    } else {
        for (int i = 0; i < l->count; i++)
            check_yield(c, l, i, tail->kind == EXPR_TUPLE ? tail->u.list.items[i] : NULL,
                        t->items[i]);
    }
}

const type *check_while(checker *c, expr *e, expect x) {
    loop l;
    for (decorator *d = e->u.while_.decorators; d != NULL; d = d->next) check_checkpoint(c, d, e);
    if (!loop_open(c, &l, e)) return c->failed = true, &check_error_type;
    check_yields(c, &l, settle_loop(c, &l));
    int take = x.take == 0 || x.take > l.count ? l.count : x.take;
    e->u.while_.take = take == 0 ? 1 : take;
    return check_tuple_type(c, take, l.types);
}
