/* Lowering @checkpoint, and recognising loops whose trip count can be known ahead. */
#include <string.h>

#include "ad/schedule.h"
#include "interp/lower_scope.h"

/* ---- the policy ---- */

static void lower_option(fn_scope *s, const decorator_option *o, loop_policy *p) {
    if (strcmp(o->name, "k") == 0) {
        p->kind = o->is_auto ? POLICY_AUTO : POLICY_EVERY;
    } else if (strcmp(o->name, "slots") == 0) {
        p->kind = POLICY_SLOTS;
    } else if (strcmp(o->name, "memory") == 0) {
        p->kind = POLICY_BYTES;
        p->byte_count = o->bytes;
        if (!o->is_bytes) p->bytes = lower_expr(s, o->value);
        return;
    } else {
        if (strcmp(o->name, "disk") == 0) p->disk = o->value->u.string.bytes;
        return;
    }
    if (!o->is_auto) p->amount = lower_expr(s, o->value);
    p->where = o->value != NULL ? o->value->at : o->at;
}

/* ---- the trip count ---- */

static const carry *carry_named(const expr *loop, const expr *e, int *at) {
    if (e->kind != EXPR_NAME || e->u.name.symbol == NULL) return NULL;
    for (int i = 0; i < loop->u.while_.count; i++) {
        if (loop->u.while_.carries[i].symbol != e->u.name.symbol) continue;
        *at = i;
        return &loop->u.while_.carries[i];
    }
    return NULL;
}

/* A limit that no iteration changes: a number, or a name bound outside. */
static bool fixed_limit(const expr *loop, const expr *e) {
    int ignored;
    if (e->kind == EXPR_INT) return true;
    return e->kind == EXPR_NAME && e->u.name.symbol != NULL && e->u.name.symbol->kind != SYMBOL_FN &&
           carry_named(loop, e, &ignored) == NULL;
}

/* The expression that a name stands for where the body binds it by a plain let. */
static const expr *bound_in(const expr *body, const expr *e) {
    if (e->kind != EXPR_NAME || body->kind != EXPR_BLOCK) return e;
    for (int i = 0; i < body->u.block.count; i++) {
        const item *it = &body->u.block.items[i];
        bool binds = it->kind == ITEM_LET && it->pattern->kind == PATTERN_NAME &&
                     it->pattern->symbol == e->u.name.symbol;
        if (binds) return it->value;
    }
    return e;
}

/* i + c with a constant c >= 1, for the carry i. */
static bool counts_up(const expr *loop, int at, const expr *e, int64_t *by) {
    int found;
    if (e->kind != EXPR_BINARY || e->u.binary.op != OP_add) return false;
    const expr *a = e->u.binary.a, *b = e->u.binary.b;
    if (a->kind == EXPR_INT) {
        const expr *swap = a;
        a = b;
        b = swap;
    }
    if (b->kind != EXPR_INT || b->u.integer.negative || b->u.integer.magnitude < 1) return false;
    if (b->u.integer.magnitude > INT32_MAX || carry_named(loop, a, &found) == NULL || found != at) return false;
    *by = (int64_t)b->u.integer.magnitude;
    return true;
}

static const expr *yielded(const expr *loop, int at) {
    const expr *body = loop->u.while_.body;
    const expr *tail = body->kind == EXPR_BLOCK ? body->u.block.tail : body;
    while (tail != NULL && tail->kind == EXPR_BLOCK && tail->u.block.count == 0) tail = tail->u.block.tail;
    if (tail == NULL) return NULL;
    if (loop->u.while_.count == 1) return bound_in(body, tail);
    if (tail->kind != EXPR_TUPLE || at >= tail->u.list.count) return NULL;
    return bound_in(body, tail->u.list.items[at]);
}

static void lower_trips(fn_scope *s, const expr *e, trip_count *t) {
    t->carry = -1;
    const expr *condition = e->u.while_.condition;
    if (condition->kind != EXPR_BINARY) return;
    op_id op = condition->u.binary.op;
    const expr *counter = condition->u.binary.a, *limit = condition->u.binary.b;
    if (op == OP_gt || op == OP_ge) {
        counter = condition->u.binary.b;
        limit = condition->u.binary.a;
        op = op == OP_gt ? OP_lt : OP_le;
    }
    int at;
    if ((op != OP_lt && op != OP_le) || carry_named(e, counter, &at) == NULL || !fixed_limit(e, limit)) return;
    if (!dtype_integer((dtype)counter->type->tensor.dtype)) return;
    const expr *next = yielded(e, at);
    if (next == NULL || !counts_up(e, at, next, &t->step)) return;
    t->carry = at;
    t->inclusive = op == OP_le;
    t->limit = lower_expr(s, limit);
}

void lower_policy(fn_scope *s, const expr *e, code *n) {
    lower_trips(s, e, &n->u.loop.trips);
    const decorator *d = e->u.while_.checkpoint;
    if (d == NULL) return;
    loop_policy *p = LOWER_ARRAY(s->l, loop_policy, 1);
    if (p == NULL) return;
    p->kind = POLICY_AUTO;
    p->where = p->decorator = d->at;
    for (int i = 0; i < d->count; i++) lower_option(s, &d->options[i], p);
    n->u.loop.policy = p;
}
