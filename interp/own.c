/* The ownership pass (language reference, "Ownership"): leaks of loop bodies, tensors yielded twice
 * or from outside, and uses after a drop or a move, all found before anything runs.
 *
 * This file walks the program in the order in which it runs; own_state.h describes what it keeps.
 */
#include "interp/own_state.h"
#include "runtime/context.h"

static held walk(own *o, const expr *e);
static void walk_function(own *o, const fn_decl *f);

static held nothing(span at) {
    return (held){.at = at};
}

/* A name in the text, as a value. `whole`: all that it holds must still be there. */
static held mention(own *o, const expr *name, bool whole) {
    bound_name b = own_find(o, name->u.name.symbol);
    own_use_read(o, b.use, name->at);
    held v = {.of = b.holds, .at = name->at};
    own_check_home(o, v);
    if (whole) own_check_alive(o, v);
    return v;
}

/* A name, or the part of a tuple that projections lead to; other parts of it may have ended. */
static held walk_path(own *o, const expr *e) {
    if (e->kind == EXPR_NAME) return mention(o, e, false);
    if (e->kind != EXPR_PROJECT) return walk(o, e);
    held base = walk_path(o, e->u.project.base);
    if (base.of == NULL) own_unused(o, e->u.project.base->type, base, e->u.project.base->at);
    held v = own_item(base, (int)e->u.project.field);
    v.at = e->at;
    return v;
}

static held walk_project(own *o, const expr *e) {
    held v = walk_path(o, e);
    own_check_alive(o, v);
    return v;
}

static held walk_tuple(own *o, const expr *e) {
    int count = e->u.list.count;
    held *items = NULL;
    for (int i = 0; i < count && !o->failed; i++) {
        held v = walk(o, e->u.list.items[i]);
        if (items == NULL && v.of != NULL) {
            items = ARENA_ARRAY(&o->a, held, count);
            if (items == NULL) o->failed = true;
        }
        if (items != NULL) items[i] = v;
    }
    if (items == NULL || o->failed) return nothing(e->at);
    holding *tuple = ARENA_NEW(&o->a, holding);
    if (tuple == NULL) {
        o->failed = true;
        return nothing(e->at);
    }
    *tuple = (holding){.count = count, .u.items = items};
    return (held){.of = tuple, .at = e->at};
}

/* ---- operators and calls: they read ---- */

/* Long sums and the like nest to the left as deep as they are long; the frame of this is small. */
static void walk_operators(own *o, const expr *e) {
    while (e->kind == EXPR_UNARY || e->kind == EXPR_BINARY) {
        if (e->kind == EXPR_UNARY) {
            e = e->u.unary.a;
            continue;
        }
        if (o->failed) return;
        if (!context_stack_left(o->c, e->at)) {
            o->failed = true;
            return;
        }
        walk_operators(o, e->u.binary.a);
        e = e->u.binary.b;
    }
    (void)walk(o, e);
}

static void walk_list(own *o, const expr *e) {
    for (int i = 0; i < e->u.list.count; i++) walk_operators(o, e->u.list.items[i]);
}

static void walk_index(own *o, const expr *e) {
    (void)walk(o, e->u.index.base);
    for (int i = 0; i < e->u.index.count; i++) {
        const subscript *s = &e->u.index.subscripts[i];
        (void)walk(o, s->lo);
        (void)walk(o, s->hi);
        (void)walk(o, s->step);
    }
}

/* Builtins that something outside of the program sees, so that a read by them always counts. */
static bool has_effect(const builtin_use *b) {
    if (b == NULL || b->is_op) return false;
    return b->builtin == BUILTIN_drop || b->builtin == BUILTIN_print ||
           b->builtin == BUILTIN_assert || b->builtin == BUILTIN_save;
}

/* Builtins after which a tape is still there. */
static bool only_looks(const builtin_use *b) {
    return b != NULL && !b->is_op && (b->builtin == BUILTIN_is_empty || b->builtin == BUILTIN_print);
}

static const char *taker_name(own *o, const expr *callee) {
    if (callee->kind != EXPR_NAME) return "the call";
    const char *name = arena_format(&o->a, "`%s`", callee->u.name.name);
    if (name == NULL) o->failed = true;
    return name;
}

/* A call's result is fresh: the callee gives a share away. */
static void walk_call(own *o, const expr *e) {
    const builtin_use *b = e->u.call.builtin;
    use_node *reader = o->reader;
    if (b == NULL) (void)walk(o, e->u.call.callee);
    if (has_effect(b)) o->reader = &o->program_use;
    for (int i = 0; i < e->u.call.count; i++) {
        const expr *arg = e->u.call.args[i].value;
        held v = walk(o, arg);
        if (b != NULL && !b->is_op && b->builtin == BUILTIN_drop) {
            own_end(o, v, END_DROP, NULL);
        } else if (only_looks(b)) {
            if (v.of == NULL) own_unused(o, arg->type, v, arg->at);
        } else {
            if (own_type_linear(arg->type)) own_take(o, v, taker_name(o, e->u.call.callee));
        }
    }
    o->reader = reader;
}

static void walk_handle(own *o, const expr *e) {
    (void)walk(o, e->u.handle.call);
    if (e->u.handle.seed != NULL) (void)walk(o, e->u.handle.seed);
    for (int i = 0; i < e->u.handle.tangent_count; i++) (void)walk(o, e->u.handle.tangents[i]);
}

static void walk_form(own *o, const expr *e) {
    const type_expr *form = e->u.tensor.form;
    for (int i = 0; form != NULL && i < form->count && form->dims != NULL; i++) {
        walk_operators(o, form->dims[i]);
    }
    (void)walk(o, e->u.tensor.fill);
}

/* ---- blocks ---- */
static bool discards(const pattern *p) {
    if (p->kind == PATTERN_IGNORE) return true;
    for (int i = 0; p->kind == PATTERN_TUPLE && i < p->count; i++) {
        if (discards(p->items[i])) return true;
    }
    return false;
}

static void add_candidate(own *o, loop_body *loop, const symbol *s, use_node *use) {
    candidate *c = ARENA_NEW(&o->a, candidate);
    if (c == NULL) {
        o->failed = true;
        return;
    }
    *c = (candidate){.of = s, .use = use};
    *loop->last = c;
    loop->last = &c->next;
}

/* `let_use` is the let's node, NULL outside of loops and where `_` takes a part of the value. */
static void bind_name(own *o, const pattern *p, held v, use_node *let_use, bool only) {
    bool fresh = false;
    use_node *use = only ? let_use : NULL;
    if (use == NULL && o->depth > 0) {
        use = own_use_new(o, p->name);
        if (use == NULL) return;
        use_node *reader = o->reader;
        o->reader = use;
        own_use_read(o, let_use, p->at);
        o->reader = reader;
    }
    const holding *holds = own_settle(o, p->symbol->type, v, p->name, p->at, &fresh);
    own_bind(o, p->symbol, holds, use);
    if (fresh && o->loop != NULL && !o->failed) add_candidate(o, o->loop, p->symbol, use);
}

static void bind_pattern(own *o, const pattern *p, held v, use_node *let_use, bool only) {
    if (p->kind == PATTERN_IGNORE) own_take(o, v, "a `_`");
    if (p->kind == PATTERN_NAME && p->symbol != NULL) bind_name(o, p, v, let_use, only);
    if (p->kind != PATTERN_TUPLE) return;
    for (int i = 0; i < p->count && !o->failed; i++) {
        bind_pattern(o, p->items[i], own_item(v, i), let_use, false);
    }
}

/* In a loop the value is read for the let's names. A `_` drops what it takes, and so needs it. */
static void walk_let(own *o, const item *let) {
    const pattern *p = let->pattern;
    bool unit = let->value->type != NULL && let->value->type->kind == TYPE_UNIT;
    use_node *let_use = NULL, *reader = o->reader;
    if (o->depth > 0 && !unit && !discards(p)) {
        let_use = own_use_new(o, p->kind == PATTERN_NAME ? p->name : NULL);
        if (let_use == NULL) return;
        o->reader = let_use;
    }
    held v = walk(o, let->value);
    o->reader = reader;
    if (!o->failed) bind_pattern(o, p, v, let_use, p->kind == PATTERN_NAME);
}

/* The functions of a block may be called above their text, so they get their nodes first. */
static void announce_functions(own *o, const expr *block) {
    for (int i = 0; i < block->u.block.count && !o->failed; i++) {
        const item *each = &block->u.block.items[i];
        if (each->kind != ITEM_FN || each->fn->symbol == NULL) continue;
        own_bind(o, each->fn->symbol, NULL, own_use_new(o, each->fn->name));
    }
}

static void walk_function_item(own *o, const fn_decl *f) {
    use_node *reader = o->reader, *use = own_find(o, f->symbol).use;
    if (use != NULL) o->reader = use;
    walk_function(o, f);
    o->reader = reader;
}

static void walk_items(own *o, const expr *block) {
    if (o->depth > 0) announce_functions(o, block);
    for (int i = 0; i < block->u.block.count && !o->failed; i++) {
        const item *each = &block->u.block.items[i];
        switch (each->kind) {
        case ITEM_LET: walk_let(o, each); break;
        case ITEM_FN: walk_function_item(o, each->fn); break;
        case ITEM_EXPR: {
            held v = walk(o, each->value);
            if (v.of == NULL) own_unused(o, each->value->type, v, each->value->at);
            break;
        }
        }
    }
}

static held walk_block(own *o, const expr *e) {
    span at = e->at;
    while (e != NULL && e->kind == EXPR_BLOCK) {
        walk_items(o, e);
        e = e->u.block.tail;
    }
    return e == NULL ? nothing(at) : walk(o, e);
}

/* A closure has its own share of what it captures: what it ends is there again for the next call
 * and for the code around it. What has ended before cannot be captured. */
static void walk_function(own *o, const fn_decl *f) {
    loop_body *loop = o->loop;
    int function_depth = o->function_depth;
    bool in_condition = o->in_condition;
    ending *mark = o->last;
    endings taken = {0};
    owned *tapes = o->tapes;
    const fn_decl *around = o->function;
    o->function = f;
    o->loop = NULL;
    o->function_depth = o->depth;
    o->in_condition = false;
    own_use_read(o, own_find(o, f->vjp).use, f->at);
    own_use_read(o, own_find(o, f->jvp).use, f->at);
    for (int i = 0; i < f->count && !o->failed; i++) {
        const param *p = &f->params[i];
        bool fresh = false;
        if (p->symbol == NULL) continue;
        const holding *holds =
            own_settle(o, p->symbol->type, nothing(p->at), p->name, p->at, &fresh);
        own_bind(o, p->symbol, holds, NULL);
    }
    if (f->body != NULL) own_take(o, walk(o, f->body), "the result");
    own_check_left(o, tapes);
    own_take_back(o, mark, &taken);
    o->function = around;
    o->loop = loop;
    o->function_depth = function_depth;
    o->in_condition = in_condition;
}

/* ---- conditionals ---- */
static void walk_yields(own *o, const loop_body *loop, const expr *e);

/* The elementwise form evaluates both sides. */
static void walk_mask(own *o, const expr *e) {
    for (;;) {
        (void)walk(o, e->u.if_.condition);
        (void)walk(o, e->u.if_.then);
        const expr *otherwise = e->u.if_.otherwise;
        if (otherwise == NULL || otherwise->kind != EXPR_IF || !otherwise->u.if_.mask) break;
        e = otherwise;
    }
    (void)walk(o, e->u.if_.otherwise);
}

static choice_branch *walk_branch(own *o, const loop_body *yields, const expr *e) {
    choice_branch *branch = ARENA_NEW(&o->a, choice_branch);
    owned *tapes = o->tapes;
    if (branch == NULL) {
        o->failed = true;
        return NULL;
    }
    if (yields != NULL) {
        walk_yields(o, yields, e);
    } else {
        branch->value = walk(o, e);
        own_take(o, branch->value, "the `if`");
    }
    own_check_left(o, tapes);
    return branch;
}

/* What one branch ends is there in the others, and has ended behind the `if`. With `yields` the
 * branches are that loop's yields, each checked by itself, and the value means nothing. */
static held walk_choice(own *o, const loop_body *yields, const expr *e) {
    const expr *first = e;
    choice_branch *branches = NULL, **last = &branches;
    endings taken = {0};
    unsigned tapes = o->tape_count;
    int count = 1;
    while (!o->failed) {
        (void)walk(o, e->u.if_.condition);
        ending *mark = o->last;
        *last = walk_branch(o, yields, e->u.if_.then);
        own_take_back(o, mark, &taken);
        e = e->u.if_.otherwise;
        if (*last == NULL || e == NULL) break;
        last = &(*last)->next;
        count++;
        if (e->kind == EXPR_IF && !e->u.if_.mask) continue;
        mark = o->last;
        *last = walk_branch(o, yields, e);
        own_take_back(o, mark, &taken);
        break;
    }
    own_check_paths(o, &taken, count, tapes, first->mark);
    own_put_back(o, &taken);
    if (o->failed || yields != NULL) return nothing(first->at);
    return own_choose(o, first->type, branches, first->at);
}

/* ---- loops ---- */
static void walk_yields(own *o, const loop_body *loop, const expr *e) {
    while (e != NULL && e->kind == EXPR_BLOCK) {
        walk_items(o, e);
        e = e->u.block.tail;
    }
    if (e == NULL || o->failed) return;
    if (e->kind == EXPR_IF && !e->u.if_.mask) {
        (void)walk_choice(o, loop, e);
    } else {
        held v = walk(o, e);
        own_check_yields(o, loop, v);
        own_take(o, v, "the loop");
    }
}

static bool is_path(const expr *e) {
    while (e->kind == EXPR_PROJECT) e = e->u.project.base;
    return e->kind == EXPR_NAME;
}

/* All inits are evaluated before the loop takes any of them. An init that is a tensor's name hands
 * that tensor over, which accounts for it whatever becomes of the loop's value. */
static void walk_inits(own *o, const expr *loop) {
    int count = loop->u.while_.count;
    const carry *carries = loop->u.while_.carries;
    held *inits = ARENA_ARRAY(&o->a, held, count);
    if (inits == NULL) {
        o->failed = true;
        return;
    }
    use_node *reader = o->reader;
    for (int i = 0; i < count && !o->failed; i++) {
        if (is_path(carries[i].init)) o->reader = &o->program_use;
        inits[i] = walk(o, carries[i].init);
        o->reader = reader;
    }
    for (int i = 0; i < count; i++) own_end(o, inits[i], END_MOVE, carries[i].name);
}

static void bind_carry(own *o, const carry *c, loop_body *loop) {
    bool fresh = false;
    use_node *use = own_use_new(o, c->name);
    if (use == NULL || c->symbol == NULL) return;
    const holding *holds = own_settle(o, c->symbol->type, nothing(c->at), c->name, c->at, &fresh);
    own_bind(o, c->symbol, holds, use);
    if (fresh && !o->failed) add_candidate(o, loop, c->symbol, use);
}

static void walk_loop_parts(own *o, const expr *e, loop_body *body) {
    o->depth = body->depth;
    for (int i = 0; i < e->u.while_.count && !o->failed; i++) {
        bind_carry(o, &e->u.while_.carries[i], body);
    }
    /* The condition runs once more than the body and its carried tensors are the loop's value, so
     * to it they are as from outside. */
    o->depth = body->depth + 1;
    o->loop = NULL;
    o->in_condition = true;
    (void)walk(o, e->u.while_.condition);
    o->depth = body->depth;
    o->loop = body;
    o->in_condition = false;
    walk_yields(o, body, e->u.while_.body);
}

static void walk_while(own *o, const expr *e) {
    const decorator *checkpoint = e->u.while_.checkpoint;
    for (int i = 0; checkpoint != NULL && i < checkpoint->count; i++) {
        (void)walk(o, checkpoint->options[i].value);
    }
    walk_inits(o, e);
    use_node *reader = o->reader, *use = own_use_new(o, NULL);
    if (use == NULL || o->failed) return;
    loop_body *loop = o->loop, body = {.loop = e, .depth = o->depth + 1};
    int depth = o->depth;
    bool in_condition = o->in_condition;
    owned *tapes = o->tapes;
    body.last = &body.first;
    use->level = body.depth;
    own_use_read(o, use, e->at);
    o->reader = use;
    walk_loop_parts(o, e, &body);
    own_check_left(o, tapes);
    for (int i = e->u.while_.take; i < e->u.while_.count; i++) {
        const carry *untaken = &e->u.while_.carries[i];
        if (untaken->symbol != NULL) own_unused(o, untaken->symbol->type, nothing(untaken->at), untaken->at);
    }
    if (!o->failed) own_use_check(o, &body);
    o->reader = reader;
    o->depth = depth;
    o->loop = loop;
    o->in_condition = in_condition;
}

/* ---- expressions ---- */
static held walk(own *o, const expr *e) {
    if (e == NULL || o->failed) return nothing((span){0});
    if (!context_stack_left(o->c, e->at)) {
        o->failed = true;
        return nothing(e->at);
    }
    switch (e->kind) {
    case EXPR_NAME: return mention(o, e, true);
    case EXPR_PROJECT: return walk_project(o, e);
    case EXPR_TUPLE: return walk_tuple(o, e);
    case EXPR_BLOCK: return walk_block(o, e);
    case EXPR_IF:
        if (!e->u.if_.mask) return walk_choice(o, NULL, e);
        walk_mask(o, e);
        break;
    case EXPR_LIST: walk_list(o, e); break;
    case EXPR_UNARY:
    case EXPR_BINARY: walk_operators(o, e); break;
    case EXPR_CALL: walk_call(o, e); break;
    case EXPR_INDEX: walk_index(o, e); break;
    case EXPR_WHILE: walk_while(o, e); break;
    case EXPR_HANDLE: walk_handle(o, e); break;
    case EXPR_FN: walk_function(o, e->u.fn); break;
    case EXPR_TENSOR: walk_form(o, e); break;
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_BOOL:
    case EXPR_STRING:
    case EXPR_UNKNOWN_DIM: break;
    }
    return nothing(e->at);
}

bool own_program(program *p, diagnostics *d) {
    context *c = p->a->c;
    unsigned errors = d->errors;
    own o = {.c = c, .program = p, .diags = d};
    arena_init(&o.a, c);
    o.last = &o.start;
    o.reader = &o.program_use;
    o.function = &p->main;
    own_bind_session(&o);
    if (p->main.body != NULL) own_take(&o, walk(&o, p->main.body), "the result");
    own_check_left(&o, NULL);
    own_note_dropped(&o);
    give_back(c, o.table, o.table_size * sizeof *o.table);
    arena_close(&o.a);
    return !o.failed && d->errors == errors && c->err.code == ERROR_NONE;
}
