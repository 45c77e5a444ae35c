/* Lowering functions and plain expressions. */
#include "interp/lower.h"

#include <string.h>

#include "interp/lower_scope.h"

/* ---- dims as written ---- */

static shape_check *check_tensor(fn_scope *s, const type_expr *t, shape_check *check) {
    check->rank = t->count;
    for (int i = 0; i < MAX_RANK; i++) check->bind[i] = -1;
    for (int i = 0; i < t->count; i++) {
        const expr *d = t->dims[i];
        if (d->kind == EXPR_NAME && d->u.name.binds) {
            local_define(s, d->u.name.symbol, NULL);
            check->bind[i] = d->u.name.symbol->slot;
        }
    }
    return check;
}

static void check_fill(fn_scope *s, const type_expr *t, shape_check *check) {
    if (t->kind == TYPE_EXPR_TUPLE) {
        check->items = LOWER_ARRAY(s->l, shape_check, t->count);
        if (check->items == NULL) return;
        check->count = t->count;
        for (int i = 0; i < t->count; i++) check_fill(s, t->items[i], &check->items[i]);
    } else if (t->kind == TYPE_EXPR_TENSOR) {
        check_tensor(s, t, check);
    }
}

code *lower_extent(fn_scope *s, const expr *e) {
    if (e->kind != EXPR_BINARY) return lower_expr(s, e);
    op_id op = e->u.binary.op;
    if (op != OP_add && op != OP_sub && op != OP_mul) return lower_expr(s, e);
    code *n = code_new(s, CODE_EXTENT, e->at);
    if (n == NULL) return NULL;
    n->u.extent.op = (uint16_t)op;
    n->u.extent.a = lower_extent(s, e->u.binary.a);
    n->u.extent.b = lower_extent(s, e->u.binary.b);
    return n;
}

static void check_equalities(fn_scope *s, const type_expr *t, shape_check *check) {
    for (int i = 0; i < check->count; i++) check_equalities(s, t->items[i], &check->items[i]);
    for (int i = 0; t->kind == TYPE_EXPR_TENSOR && i < t->count; i++) {
        const expr *d = t->dims[i];
        if (check->bind[i] < 0 && d->kind != EXPR_UNKNOWN_DIM) check->equals[i] = lower_extent(s, d);
    }
}

shape_check *lower_check(fn_scope *s, const type_expr *t) {
    shape_check *check = LOWER_ARRAY(s->l, shape_check, 1);
    if (check == NULL) return NULL;
    check_fill(s, t, check);
    check_equalities(s, t, check);
    return check;
}

static bool binds_anything(const type_expr *t) {
    if (t->kind == TYPE_EXPR_TUPLE) {
        for (int i = 0; i < t->count; i++) {
            if (binds_anything(t->items[i])) return true;
        }
    }
    for (int i = 0; t->kind == TYPE_EXPR_TENSOR && i < t->count; i++) {
        if (t->dims[i]->kind == EXPR_NAME && t->dims[i]->u.name.binds) return true;
    }
    return false;
}

/* A value held against what the text says of its dims, where the checker could not be certain. */
code *lower_checked(fn_scope *s, code *v, const type *given, const type_expr *t, const char *what,
                    span where) {
    if (t == NULL || v == NULL) return v;
    if (!binds_anything(t) && type_compare(s->l->p->dims, t->type, given) == DIM_SAME) return v;
    code *n = code_new(s, CODE_CHECK, where);
    if (n == NULL) return NULL;
    n->u.check.value = v;
    n->u.check.check = lower_check(s, t);
    n->u.check.what = what;
    return n;
}

/* ---- functions ---- */

static code_function *function_new(lowering *l, const fn_decl *decl) {
    code_function *f = LOWER_ARRAY(l, code_function, 1);
    if (f == NULL) return NULL;
    code_program *out = l->out;
    if (out->function_count == l->function_capacity) {
        int wider = l->function_capacity ? 2 * l->function_capacity : 16;
        code_function **list = LOWER_ARRAY(l, code_function *, wider);
        if (list == NULL) return NULL;
        if (out->function_count > 0) {
            memcpy(list, out->functions, (size_t)out->function_count * sizeof *list);
        }
        out->functions = list;
        l->function_capacity = wider;
    }
    out->functions[out->function_count++] = f;
    f->decl = decl;
    f->name = decl != NULL && decl->name != NULL ? decl->name : "fn";
    return f;
}

code_function *code_find(const code_program *p, const fn_decl *decl) {
    for (int i = 0; i < p->function_count; i++) {
        if (p->functions[i]->decl == decl) return p->functions[i];
    }
    return NULL;
}

/* The rule's captures are among the function's own (captures.c closes over the rules too). */
static void lower_rule(lowering *l, const fn_decl *decl, const symbol *rule, struct custom_rule *out) {
    if (rule == NULL) return;
    out->function = lower_function(l, rule->fn);
    const capture_set *set = captures_of(l->captures, rule->fn);
    const capture_set *own = captures_of(l->captures, decl);
    if (set == NULL || set->count == 0) return;
    out->captures.slot = LOWER_ARRAY(l, int, set->count);
    if (out->captures.slot == NULL) return;
    out->captures.count = set->count;
    for (int i = 0; i < set->count; i++) {
        for (int k = 0; k < own->count; k++) {
            if (own->symbols[k] == set->symbols[i]) out->captures.slot[i] = k;
        }
    }
}

static void lower_params(fn_scope *s) {
    code_function *f = s->f;
    f->checks = LOWER_ARRAY(s->l, shape_check, f->params);
    if (f->checks == NULL) return;
    for (int i = 0; i < f->params; i++) {
        symbol *sym = s->decl->params[i].symbol;
        int after = f->slots;
        f->slots = i;
        local_define(s, sym, NULL);
        f->slots = after;
        check_fill(s, s->decl->params[i].type, &f->checks[i]);
    }
    for (int i = 0; i < f->params; i++) check_equalities(s, s->decl->params[i].type, &f->checks[i]);
}

/* They are in the frame before anything runs. */
static void lower_globals(fn_scope *s) {
    const program *p = s->l->p;
    for (int i = 0; i < p->global_count; i++) local_define(s, p->global_symbols[i], NULL);
}

static void lower_body(lowering *l, code_function *f, const fn_decl *decl) {
    const capture_set *captures = captures_of(l->captures, decl);
    f->params = decl->count;
    f->captures = captures != NULL ? captures->count : 0;
    f->captured = captures != NULL ? (const symbol **)captures->symbols : NULL;
    f->slots = f->params + f->captures;
    fn_scope s = {.l = l, .decl = decl, .f = f, .captures = captures};
    block_scope outside;
    block_enter(&s, &outside, 0);
    lower_params(&s);
    if (decl == &l->p->main) lower_globals(&s);
    code *body = lower_block(&s, decl->body);
    if (decl->result != NULL) {
        body = lower_checked(&s, body, decl->body->type, decl->result,
                             arena_format(l->a, "the result of `%s`", f->name), decl->body->at);
    }
    slots kills = {0};
    step whole = {0};
    block_leave(&s, &whole, 1, &kills);
    f->body = body;
}

code_function *lower_function(lowering *l, const fn_decl *decl) {
    code_function *f = code_find(l->out, decl);
    if (f != NULL) return f;
    f = function_new(l, decl);
    if (f == NULL) return NULL;
    lower_body(l, f, decl);
    lower_rule(l, decl, decl->vjp, &f->vjp);
    lower_rule(l, decl, decl->jvp, &f->jvp);
    return f;
}

/* ---- names and calls ---- */

static code *lower_closure(fn_scope *s, const fn_decl *decl, span where) {
    code *n = code_new(s, CODE_CLOSURE, where);
    if (n == NULL) return NULL;
    n->u.closure.function = lower_function(s->l, decl);
    n->u.closure.captures = slots_of_captures(s, captures_of(s->l->captures, decl));
    return n;
}

static code *lower_name(fn_scope *s, const expr *e) {
    const symbol *sym = e->u.name.symbol;
    if (sym == NULL) return lower_builtin_value(s, e);
    if (sym->kind == SYMBOL_FN) return lower_closure(s, sym->fn, e->at);
    if (sym->kind == SYMBOL_DIM) {
        code *n = code_new(s, CODE_DIM, e->at);
        if (n == NULL) return NULL;
        n->dtype = e->type != NULL && e->type->kind == TYPE_TENSOR ? e->type->tensor.dtype : DT_I64;
        n->u.slot = local_read(s, sym, NULL);
        return n;
    }
    code *n = code_new(s, CODE_SLOT, e->at);
    if (n == NULL) return NULL;
    n->u.slot = local_read(s, sym, n);
    return n;
}

callee lower_callee(fn_scope *s, const expr *e) {
    callee c = {0};
    if (e->kind == EXPR_NAME && e->u.name.symbol != NULL && e->u.name.symbol->kind == SYMBOL_FN) {
        const fn_decl *decl = e->u.name.symbol->fn;
        c.known = lower_function(s->l, decl);
        c.captures = slots_of_captures(s, captures_of(s->l->captures, decl));
    } else {
        c.value = lower_expr(s, e);
    }
    return c;
}

static code *lower_call(fn_scope *s, const expr *e) {
    if (e->u.call.builtin != NULL) return lower_builtin(s, e);
    code *n = code_new(s, CODE_CALL, e->at);
    if (n == NULL) return NULL;
    n->u.call.callee = lower_callee(s, e->u.call.callee);
    n->u.call.count = e->u.call.count;
    n->u.call.args = LOWER_ARRAY(s->l, code *, e->u.call.count);
    for (int i = 0; n->u.call.args != NULL && i < e->u.call.count; i++) {
        n->u.call.args[i] = lower_expr(s, e->u.call.ordered[i]);
    }
    return n;
}

/* ---- operators ---- */

static bool is_number(const type *t) { return t != NULL && t->kind == TYPE_TENSOR && t->tensor.rank == 0; }

static code *lower_unary(fn_scope *s, const expr *e) {
    code *a = lower_expr(s, e->u.unary.a);
    if (a == NULL) return NULL;
    if (e->u.unary.op == OP_neg && a->kind == CODE_CONSTANT && a->u.constant.kind == VALUE_NUMBER) {
        value *v = &a->u.constant;
        a->where = e->at;
        if (v->dtype == DT_F32) v->as.f32 = -v->as.f32;
        if (v->dtype == DT_F64) v->as.f64 = -v->as.f64;
        if (dtype_floating((dtype)v->dtype)) return a;
    }
    const type *types[1] = {e->u.unary.a->type};
    return op_node(s, e->u.unary.op, NULL, 1, &a, types, e->type, e->at);
}

static code *lower_binary(fn_scope *s, const expr *e) {
    op_id op = e->u.binary.op;
    const expr *ea = e->u.binary.a, *eb = e->u.binary.b;
    if ((op == OP_and || op == OP_or) && is_number(ea->type) && is_number(eb->type)) {
        code *n = code_new(s, op == OP_and ? CODE_AND : CODE_OR, e->at);
        if (n == NULL) return NULL;
        n->u.two.a = lower_expr(s, ea);
        s->nest++;
        n->u.two.b = lower_expr(s, eb);
        s->nest--;
        return n;
    }
    code *args[2];
    args[0] = lower_expr(s, ea);
    args[1] = lower_expr(s, eb);
    const type *types[2] = {ea->type, eb->type};
    return op_node(s, op, NULL, 2, args, types, e->type, e->at);
}

static code *lower_tuple(fn_scope *s, const expr *e) {
    code *n = code_new(s, CODE_TUPLE, e->at);
    if (n == NULL) return NULL;
    n->u.tuple.count = e->u.list.count;
    n->u.tuple.items = LOWER_ARRAY(s->l, code *, e->u.list.count);
    for (int i = 0; n->u.tuple.items != NULL && i < e->u.list.count; i++) {
        n->u.tuple.items[i] = lower_expr(s, e->u.list.items[i]);
    }
    return n;
}

static code *lower_project(fn_scope *s, const expr *e) {
    code *n = code_new(s, CODE_PROJECT, e->at);
    if (n == NULL) return NULL;
    n->u.project.base = lower_expr(s, e->u.project.base);
    n->u.project.field = e->u.project.field;
    return n;
}

static code *lower_string(fn_scope *s, const expr *e) {
    code *n = code_new(s, CODE_CONSTANT, e->at);
    if (n == NULL) return NULL;
    n->u.constant = value_unit();
    return n;
}

code *lower_expr(fn_scope *s, const expr *e) {
    if (s->l->failed || e == NULL) return NULL;
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_BOOL: return lower_number(s, e);
    case EXPR_STRING:
    case EXPR_UNKNOWN_DIM: return lower_string(s, e);
    case EXPR_NAME: return lower_name(s, e);
    case EXPR_LIST: return lower_list(s, e);
    case EXPR_TUPLE: return lower_tuple(s, e);
    case EXPR_UNARY: return lower_unary(s, e);
    case EXPR_BINARY: return lower_binary(s, e);
    case EXPR_CALL: return lower_call(s, e);
    case EXPR_INDEX: return lower_index(s, e);
    case EXPR_PROJECT: return lower_project(s, e);
    case EXPR_IF: return lower_if(s, e);
    case EXPR_WHILE: return lower_while(s, e);
    case EXPR_HANDLE: return lower_handle(s, e);
    case EXPR_FN: return lower_closure(s, e->u.fn, e->at);
    case EXPR_BLOCK: return lower_block(s, e);
    case EXPR_TENSOR: return lower_tensor(s, e);
    }
    return NULL;
}

/* ---- programs ---- */

code_program *lower_program(const program *p) {
    lowering l = {.p = p, .a = p->a};
    l.captures = captures_find(p);
    if (l.captures == NULL) return NULL;
    l.out = LOWER_ARRAY(&l, code_program, 1);
    if (l.out == NULL) return NULL;
    l.out->main.decl = &p->main;
    l.out->main.name = "main";
    lower_body(&l, &l.out->main, &p->main);
    for (int i = 0; i < p->main.body->u.block.count && !l.failed; i++) {
        const item *it = &p->main.body->u.block.items[i];
        if (it->kind == ITEM_FN) (void)lower_function(&l, it->fn);
    }
    if (!l.failed) return l.out;
    code_release(p->a->c, l.out);
    return NULL;
}

void code_release(context *c, code_program *p) {
    if (p == NULL) return;
    for (int i = 0; i < p->constant_count; i++) value_release(c, p->constants[i]->u.constant);
    p->constant_count = 0;
}
