/* Lowering blocks, conditionals, loops and handlers. */
#include <string.h>

#include "interp/lower_scope.h"


/* ---- blocks ---- */

static binding *lower_pattern(fn_scope *s, const pattern *p) {
    binding *b = LOWER_ARRAY(s->l, binding, 1);
    if (b == NULL) return NULL;
    b->slot = -1;
    if (p->kind == PATTERN_NAME) {
        b->name = p->name;
        local_define(s, p->symbol, b);
    } else if (p->kind == PATTERN_TUPLE) {
        b->items = LOWER_ARRAY(s->l, binding, p->count);
        b->count = p->count;
        for (int i = 0; b->items != NULL && i < p->count; i++) {
            binding *part = lower_pattern(s, p->items[i]);
            if (part == NULL) return NULL;
            b->items[i] = *part;
            /* The life has to patch the copy that the code keeps. */
            if (p->items[i]->kind == PATTERN_NAME && p->items[i]->symbol->local != NULL) {
                p->items[i]->symbol->local->bound_by = &b->items[i];
            }
        }
    }
    return b;
}

static bool is_of_earlier_input(const fn_scope *s, const item *it) {
    const program *p = s->l->p;
    bool own = p->session && s->decl == &p->main && s->block->depth == TOP_LEVEL;
    return own && it->at.begin < p->src->pieces[p->src->piece_count - 1].begin;
}

static void lower_item(fn_scope *s, const item *it, step *out) {
    if (it->kind == ITEM_FN) return;
    out->again = is_of_earlier_input(s, it);
    out->value = lower_expr(s, it->value);
    if (it->kind != ITEM_LET) return;
    const char *what = "the value";
    if (it->pattern->kind == PATTERN_NAME) what = arena_format(s->l->a, "`%s`", it->pattern->name);
    out->value = lower_checked(s, out->value, it->value->type, it->type, what, it->at);
    out->to = lower_pattern(s, it->pattern);
}

code *lower_block(fn_scope *s, const expr *e) {
    if (e->kind != EXPR_BLOCK) return lower_expr(s, e);
    code *n = code_new(s, CODE_BLOCK, e->at);
    if (n == NULL) return NULL;
    block_scope scope;
    block_enter(s, &scope, 0);
    int count = e->u.block.count;
    n->u.block.steps = LOWER_ARRAY(s->l, step, count);
    if (n->u.block.steps == NULL) count = 0;
    n->u.block.count = count;
    for (int i = 0; i < count; i++) {
        scope.step = i;
        lower_item(s, &e->u.block.items[i], &n->u.block.steps[i]);
    }
    scope.step = count;
    if (e->u.block.tail != NULL) n->u.block.tail = lower_expr(s, e->u.block.tail);
    block_leave(s, n->u.block.steps, count, &n->u.block.tail_kills);
    return n;
}

/* ---- conditionals ---- */

static code *lower_mask(fn_scope *s, const expr *e) {
    code *args[3];
    args[0] = lower_expr(s, e->u.if_.condition);
    args[1] = lower_block(s, e->u.if_.then);
    args[2] = lower_block(s, e->u.if_.otherwise);
    const type *types[3] = {e->u.if_.condition->type, e->u.if_.then->type, e->u.if_.otherwise->type};
    return op_node(s, OP_where, NULL, 3, args, types, e->type, e->at);
}

code *lower_if(fn_scope *s, const expr *e) {
    if (e->u.if_.mask) return lower_mask(s, e);
    code *n = code_new(s, CODE_IF, e->at);
    if (n == NULL) return NULL;
    n->u.branch.condition = lower_expr(s, e->u.if_.condition);
    region r;
    region_enter(s, &r);
    n->u.branch.then = lower_block(s, e->u.if_.then);
    n->u.branch.otherwise = lower_block(s, e->u.if_.otherwise);
    n->u.branch.reads = region_leave(s);
    return n;
}

/* ---- loops ---- */

/* The condition reads the carries before the body may move them, and when the loop ends they are its
 * result: none of its reads is a last one. */
static code *lower_condition(fn_scope *s, const expr *e, block_scope *body) {
    body->step = -1;
    code *condition = lower_expr(s, e->u.while_.condition);
    for (local *life = body->locals; life != NULL; life = life->next) {
        life->last_step = -1;
        life->last_read = NULL;
    }
    body->step = 0;
    return condition;
}

static code *lower_init(fn_scope *s, const carry *c) {
    code *init = lower_expr(s, c->init);
    const char *what = arena_format(s->l->a, "the carried `%s`", c->name);
    return lower_checked(s, init, c->init->type, c->type, what, c->at);
}

/* The carries, as locals of the loop's body. */
static void lower_carries(fn_scope *s, const expr *e, code *n) {
    n->u.loop.plain_carries = true;
    for (int i = 0; i < e->u.while_.count; i++) {
        const carry *c = &e->u.while_.carries[i];
        local_define(s, c->symbol, NULL);
        n->u.loop.carry[i] = c->symbol->slot;
        n->u.loop.names[i] = c->name;
        n->u.loop.plain_carries &= c->symbol->type->kind == TYPE_TENSOR;
    }
}

/* A carry keeps its type; where its dims are unknown, the run has to see to it. */
static void lower_same_shape(fn_scope *s, const expr *e, code *n) {
    const type *body = e->u.while_.body->type;
    for (int i = 0; i < e->u.while_.count; i++) {
        const type *carried = e->u.while_.carries[i].symbol->type;
        const type *given = e->u.while_.count > 1 && body->kind == TYPE_TUPLE ? body->items[i] : body;
        if (carried->kind != TYPE_TENSOR || carried->tensor.rank == 0) continue;
        if (type_compare(s->l->p->dims, given, carried) == DIM_SAME) continue;
        if (n->u.loop.same_shape == NULL) n->u.loop.same_shape = LOWER_ARRAY(s->l, bool, e->u.while_.count);
        if (n->u.loop.same_shape == NULL) return;
        n->u.loop.same_shape[i] = true;
    }
}

static void lower_loop_body(fn_scope *s, const expr *e, code *n) {
    region r;
    region_enter(s, &r);
    block_scope body;
    block_enter(s, &body, 0);
    lower_carries(s, e, n);
    n->u.loop.condition = lower_condition(s, e, &body);
    r.count = 0; /* what only the condition reads receives no adjoint */
    n->u.loop.body = lower_block(s, e->u.while_.body);
    step whole = {0};
    slots kills = {0};
    block_leave(s, &whole, 1, &kills);
    n->u.loop.captures = (slots){.count = r.all_count, .slot = r.all};
    n->u.loop.reads = region_leave(s);
}

code *lower_while(fn_scope *s, const expr *e) {
    code *n = code_new(s, CODE_WHILE, e->at);
    if (n == NULL) return NULL;
    int count = e->u.while_.count;
    n->u.loop.count = count;
    n->u.loop.take = e->u.while_.take;
    n->u.loop.init = LOWER_ARRAY(s->l, code *, count);
    n->u.loop.carry = LOWER_ARRAY(s->l, int, count);
    n->u.loop.names = LOWER_ARRAY(s->l, const char *, count);
    if (s->l->failed) return NULL;
    for (int i = 0; i < count; i++) n->u.loop.init[i] = lower_init(s, &e->u.while_.carries[i]);
    lower_policy(s, e, n); /* evaluated after the inits */
    lower_loop_body(s, e, n);
    lower_same_shape(s, e, n);
    n->u.loop.function = s->f;
    return n;
}

/* ---- handlers ---- */

/* A builtin under a handler is wrapped: a function whose parameters are the builtin's operands. */
static code_function *wrap_builtin(fn_scope *s, const expr *call, int operands) {
    code_function *f = LOWER_ARRAY(s->l, code_function, 1);
    code **args = LOWER_ARRAY(s->l, code *, operands);
    if (f == NULL || args == NULL) return NULL;
    const builtin_use *use = call->u.call.builtin;
    f->name = use->is_op ? op_table[use->op].surface : "builtin";
    f->params = f->slots = operands + use->sizes;
    f->checks = LOWER_ARRAY(s->l, shape_check, f->params);
    code **sizes = LOWER_ARRAY(s->l, code *, use->sizes);
    fn_scope inner = {.l = s->l, .f = f};
    block_scope outside;
    block_enter(&inner, &outside, 0);
    for (int i = 0; i < f->params && !s->l->failed; i++) {
        code *slot = code_new(&inner, CODE_SLOT, call->at);
        if (slot == NULL) return NULL;
        slot->u.slot = i;
        slot->last = true;
        if (i < operands) {
            args[i] = slot;
        } else {
            sizes[i - operands] = slot;
        }
    }
    f->body = s->l->failed ? NULL : lower_builtin_with(&inner, call, args, sizes);
    return f;
}

static bool differentiated(const expr *handle, const expr *arg) {
    for (int i = 0; i < handle->u.handle.wrt_count; i++) {
        if (handle->u.handle.wrt[i] == arg) return true;
    }
    return false;
}

static void handle_builtin(fn_scope *s, const expr *e, code *n) {
    const expr *call = e->u.handle.call;
    const builtin_use *use = call->u.call.builtin;
    expr **operands = LOWER_ARRAY(s->l, expr *, use->count > 4 ? use->count : 4);
    if (operands == NULL) return;
    int count = builtin_operands(use, operands);
    n->u.handle.callee.known = wrap_builtin(s, call, count);
    n->u.handle.count = count + use->sizes;
    n->u.handle.args = LOWER_ARRAY(s->l, code *, n->u.handle.count);
    n->u.handle.floating = LOWER_ARRAY(s->l, bool, n->u.handle.count);
    if (s->l->failed) return;
    for (int i = 0; i < count; i++) {
        n->u.handle.args[i] = lower_expr(s, operands[i]);
        n->u.handle.floating[i] = differentiated(e, operands[i]);
    }
    for (int i = 0; i < use->sizes; i++) n->u.handle.args[count + i] = lower_extent(s, use->size[i]);
}

static void handle_function(fn_scope *s, const expr *e, code *n) {
    const expr *call = e->u.handle.call;
    n->u.handle.callee = lower_callee(s, call->u.call.callee);
    n->u.handle.count = call->u.call.count;
    n->u.handle.args = LOWER_ARRAY(s->l, code *, call->u.call.count);
    n->u.handle.floating = LOWER_ARRAY(s->l, bool, call->u.call.count);
    if (s->l->failed) return;
    for (int i = 0; i < call->u.call.count; i++) {
        n->u.handle.args[i] = lower_expr(s, call->u.call.ordered[i]);
        n->u.handle.floating[i] = differentiated(e, call->u.call.ordered[i]);
    }
}

code *lower_handle(fn_scope *s, const expr *e) {
    const expr *call = e->u.handle.call;
    code *n = code_new(s, e->u.handle.forward ? CODE_FORWARD : CODE_REVERSE, e->at);
    if (n == NULL) return NULL;
    if (call->u.call.builtin != NULL) {
        handle_builtin(s, e, n);
    } else {
        handle_function(s, e, n);
    }
    n->u.handle.primals = 1;
    n->u.handle.strong_zero = e->u.handle.strong_zero;
    if (e->u.handle.seed != NULL) n->u.handle.seed = lower_expr(s, e->u.handle.seed);
    n->u.handle.tangents = LOWER_ARRAY(s->l, code *, e->u.handle.tangent_count);
    for (int i = 0; !s->l->failed && i < e->u.handle.tangent_count; i++) {
        n->u.handle.tangents[i] = lower_expr(s, e->u.handle.tangents[i]);
    }
    return n;
}
