/* The checker's frame: the program, blocks, lets and patterns. */
#include "interp/check.h"

#include <string.h>

#include "runtime/value.h"

/* ---- trials ---- */

check_mark check_mark_set(const checker *c) {
    return (check_mark){c->d->last, c->d->errors, c->d->warnings, c->handles};
}

void check_mark_return(checker *c, const check_mark *m) {
    c->d->last = m->last;
    *c->d->last = NULL;
    c->d->errors = m->errors;
    c->d->warnings = m->warnings;
    c->handles = m->handles;
}

/* ---- patterns ---- */

/* The names that one pattern binds, for the warning about unused ones. */
static meaning *bind_pattern(checker *c, pattern *p, const type *t, span value_at, meaning *bundle);

static meaning *bind_tuple(checker *c, pattern *p, const type *t, span value_at, meaning *bundle) {
    bool known = t->kind == TYPE_TUPLE && t->count == p->count;
    if (!known && t->kind != TYPE_ERROR) {
        diag *d = diag_error(c->d, ERROR_K0212, p->at, "a pattern of %d names does not fit `%s`",
                             p->count, check_show(c, t));
        diag_add_label(c->d, d, value_at, "`%s`", check_show(c, t));
        if (t->kind == TYPE_TUPLE)
            diag_add_help(c->d, d, "it has %d positions; `_` stands for one that is not needed",
                          t->count);
    }
    for (int i = 0; i < p->count; i++)
        bundle =
            bind_pattern(c, p->items[i], known ? t->items[i] : &check_error_type, value_at, bundle);
    return bundle;
}

static bool bound_by_pattern(const checker *c, const binding *b, const meaning *bundle) {
    if (b == NULL || b->in != c->scope) return false;
    for (const meaning *m = bundle; m != NULL; m = m->bundle)
        if (&m->symbol == b->symbol) return true;
    return false;
}

static meaning *bind_pattern(checker *c, pattern *p, const type *t, span value_at,
                             meaning *bundle) {
    if (p->kind == PATTERN_TUPLE) return bind_tuple(c, p, t, value_at, bundle);
    if (p->kind == PATTERN_IGNORE) return bundle;
    binding *b = check_lookup(c, p->name);
    if (bound_by_pattern(c, b, bundle)) {
        diag *d = diag_error(c->d, ERROR_K0102, p->at, "the pattern binds `%s` twice", p->name);
        diag_add_label(c->d, d, b->symbol->at, "the first time");
        b->symbol->read = true;
    }
    p->symbol = check_symbol(c, SYMBOL_LET, p->name, p->at, t);
    if (p->symbol == NULL) return bundle;
    if (t->kind == TYPE_ERROR) p->symbol->read = true;
    check_bind(c, p->symbol);
    meaning_of(p->symbol)->bundle = bundle;
    return meaning_of(p->symbol);
}

/* ---- lets ---- */

static const type *check_value(checker *c, item *it, dim_list *opened) {
    pattern *p = it->pattern;
    const type *wanted = it->type == NULL ? NULL : check_type(c, it->type, PLACE_LET, opened);
    int take = p->kind == PATTERN_TUPLE ? p->count : check_take(wanted);
    for (decorator *d = it->decorators; d != NULL; d = d->next) check_checkpoint(c, d, it->value);
    const type *t = check_expr(c, it->value, (expect){wanted, NO_DTYPE, take});
    if (wanted == NULL) return t;
    reason why = {.at = it->type->at, .text = "the value of this let", .code = ERROR_K0201};
    if (p->kind == PATTERN_NAME) {
        why.text = arena_format(c->a, "the value of `%s`", p->name);
        if (why.text == NULL) why.text = "the value";
    }
    if (check_fits(c, it->value, wanted, &why)) check_measurable(c, it->value, t, wanted);
    return wanted;
}

static void check_let(checker *c, item *it) {
    dim_list opened = {0};
    literal_class class = LITERAL_NONE;
    if (c->flexing && it->type == NULL) class = check_classify(c, it->value);
    const type *t = check_value(c, it, &opened);
    check_bind_dims(c, &opened);
    meaning *bundle = bind_pattern(c, it->pattern, t, it->value->at, NULL);
    if (bundle == NULL || it->pattern->kind != PATTERN_NAME) {
        /* Closed to a ring, so that each name finds all the others. */
        meaning *end = bundle;
        while (end != NULL && end->bundle != NULL) end = end->bundle;
        if (end != NULL) end->bundle = bundle;
        return;
    }
    if (it->value->kind == EXPR_FN) it->pattern->symbol->fn = it->value->u.fn;
    bundle->flexible = class != LITERAL_NONE && t->kind == TYPE_TENSOR;
}

/* ---- blocks ---- */

static void declare_fn(checker *c, scope *s, item *it, int index) {
    binding *b = check_lookup(c, it->fn->name);
    if (b != NULL && b->in == s && b->symbol->kind == SYMBOL_FN) {
        diag *d =
            diag_error(c->d, ERROR_K0102, it->fn->at, "the block defines `%s` twice", it->fn->name);
        diag_add_label(c->d, d, b->symbol->at, "the first time");
    }
    it->fn->symbol = check_symbol(c, SYMBOL_FN, it->fn->name, it->fn->at, NULL);
    it->fn->type = NULL;
    it->fn->outer = c->fn;
    if (it->fn->symbol == NULL) return;
    it->fn->symbol->fn = it->fn;
    it->fn->symbol->order = (uint32_t)(it - s->block->u.block.items);
    meaning_of(it->fn->symbol)->fn_index = index;
    s->fns[index].symbol = it->fn->symbol;
    s->fns[index].next = NO_FN;
    check_bind(c, it->fn->symbol);
}

static void declare_fns(checker *c, scope *s) {
    const expr *block = s->block;
    int count = 0;
    for (int i = 0; i < block->u.block.count; i++) count += block->u.block.items[i].kind == ITEM_FN;
    if (count == 0) return;
    s->fns = ARENA_ARRAY(c->a, block_fn, count);
    if (s->fns == NULL) {
        c->failed = true;
        return;
    }
    for (int i = 0; i < block->u.block.count; i++)
        if (block->u.block.items[i].kind == ITEM_FN)
            declare_fn(c, s, &block->u.block.items[i], s->fn_count++);
}

/* A value that is not () may not vanish without a mark: what follows may be meant to go on with it,
 * as in `if (a) { x } else { y } - 3.0`. */
static void check_discarded(checker *c, const item *it) {
    const type *t = check_expr(c, it->value, expect_nothing);
    if (it->semicolon || t->kind == TYPE_UNIT || t->kind == TYPE_ERROR) return;
    uint32_t end = it->value->at.end;
    diag *d = diag_error(c->d, ERROR_K0014, (span){end, end},
                         "expected `;`: this statement ends here, and its value is not `()`");
    diag_add_label(c->d, d, it->value->at, "`%s`", check_show(c, t));
    diag_add_help(c->d, d,
                  "write `;` or `let _ = ...` to drop the value, or put the statement in "
                  "parentheses to go on with an operator");
}

static void check_item(checker *c, item *it) {
    switch (it->kind) {
    case ITEM_LET: check_let(c, it); return;
    case ITEM_FN:
        if (it->fn->symbol != NULL) check_fn_item(c, it);
        return;
    case ITEM_EXPR: check_discarded(c, it); return;
    }
}

const type *check_block(checker *c, expr *e, expect x) {
    scope s;
    const type *t = &check_unit_type;
    check_scope_open(c, &s);
    s.block = e;
    s.warns = c->fn != &c->p->main;
    declare_fns(c, &s);
    for (int i = 0; i < e->u.block.count && !c->failed; i++) {
        s.now = (uint32_t)i;
        check_item(c, &e->u.block.items[i]);
    }
    s.now = (uint32_t)e->u.block.count;
    if (e->u.block.tail != NULL) t = check_expr(c, e->u.block.tail, x);
    check_block_order(c, &s);
    check_scope_close(c);
    return t;
}

/* ---- what is there before the program ---- */

static const type *type_of_value(checker *c, const value *v) {
    if (v->kind == VALUE_UNIT) return &check_unit_type;
    if (v->kind != VALUE_TUPLE) {
        op_type t = {.dtype = v->dtype, .rank = (uint8_t)value_rank(v)};
        if (t.rank > 0) memcpy(t.dims, value_dims(v), t.rank * sizeof *t.dims);
        return check_tensor_type(c, &t);
    }
    int count = v->as.tuple->count;
    const type **items = ARENA_ARRAY(c->a, const type *, count);
    if (items == NULL) {
        c->failed = true;
        return &check_error_type;
    }
    for (int i = 0; i < count; i++) items[i] = type_of_value(c, &v->as.tuple->item[i]);
    return check_tuple_type(c, count, items);
}

static symbol *global_symbol(checker *c, const global *g) {
    const char *name = names_intern(c->p->names, g->name, strlen(g->name));
    if (name == NULL) {
        c->failed = true;
        return NULL;
    }
    return check_symbol(c, SYMBOL_LET, name, (span){0, 0}, type_of_value(c, g->v));
}

static void bind_globals(checker *c) {
    program *p = c->p;
    if (p->global_count == 0) return;
    p->global_symbols = ARENA_ARRAY(c->a, symbol *, p->global_count);
    if (p->global_symbols == NULL) {
        c->failed = true;
        return;
    }
    for (int i = 0; i < p->global_count && !c->failed; i++) {
        p->global_symbols[i] = global_symbol(c, &p->globals[i]);
        check_bind(c, p->global_symbols[i]);
    }
}

/* ---- the program ---- */

static void check_main(checker *c) {
    fn_decl *main = &c->p->main;
    type *t = ARENA_NEW(c->a, type);
    scope outermost;
    c->fn = main;
    check_scope_open(c, &outermost);
    bind_globals(c);
    const type *result = c->failed ? &check_error_type : check_expr(c, main->body, expect_nothing);
    check_scope_close(c);
    if (t == NULL) {
        c->failed = true;
        return;
    }
    *t = (type){.kind = TYPE_FN, .result = result};
    main->type = t;
}

/* Loops in loops whose bodies are checked again would take exponential time without a bound. */
enum { NESTED_TRIALS = 2000 };

bool check_program(program *p, diagnostics *d) {
    checker c = {.p = p, .d = d, .a = p->a, .c = p->a->c, .trials_left = NESTED_TRIALS};
    unsigned before = d->errors;
    if (p->dims == NULL && (p->dims = dims_new(p->a)) == NULL) return false;
    c.dims = p->dims;
    c.algebra = dims_algebra(p->dims);
    if (!check_names_init(&c)) return false;
    check_main(&c);
    if (!c.failed) check_handled_warnings(&c);
    return !c.failed && c.c->err.code == ERROR_NONE && d->errors == before;
}

const expr *program_goes_on(const expr *block) {
    const expr *tail = block->u.block.tail;
    return tail != NULL && tail->kind == EXPR_BLOCK && !tail->u.block.braces ? tail : NULL;
}

fn_decl *item_function(const item *it) {
    if (it->kind == ITEM_FN) return it->fn;
    bool bound = it->kind == ITEM_LET && it->pattern->kind == PATTERN_NAME && it->value->kind == EXPR_FN;
    return bound ? it->value->u.fn : NULL;
}

fn_decl *program_find(const program *p, const char *name) {
    fn_decl *found = NULL;
    for (const expr *e = p->main.body; e != NULL; e = program_goes_on(e)) {
        for (int i = 0; i < e->u.block.count; i++) {
            fn_decl *f = item_function(&e->u.block.items[i]);
            if (f != NULL && strcmp(f->known_as, name) == 0) found = f;
        }
    }
    return found;
}
