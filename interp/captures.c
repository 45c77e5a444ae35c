/* Which outer values each function reads, closed over the functions that it names. */
#include <string.h>

#include "interp/lower.h"

typedef struct finder {
    arena *a;
    capture_set *all;
    bool failed;
} finder;

static void visit(finder *f, capture_set *in, const expr *e);

static bool set_has(const capture_set *s, const symbol *sym) {
    for (int i = 0; i < s->count; i++) {
        if (s->symbols[i] == sym) return true;
    }
    return false;
}

static void *grow(finder *f, void *old, int count, int *capacity, size_t element) {
    if (count < *capacity) return old;
    int wider = *capacity ? 2 * *capacity : 4;
    void *fresh = arena_take(f->a, (size_t)wider * element);
    if (fresh == NULL) {
        f->failed = true;
        return NULL;
    }
    if (count > 0) memcpy(fresh, old, (size_t)count * element);
    *capacity = wider;
    return fresh;
}

static void add_symbol(finder *f, capture_set *s, symbol *sym) {
    if (set_has(s, sym)) return;
    symbol **list = grow(f, s->symbols, s->count, &s->capacity, sizeof *list);
    if (list == NULL) return;
    s->symbols = list;
    list[s->count++] = sym;
}

static void add_callee(finder *f, capture_set *s, const fn_decl *fn) {
    for (int i = 0; i < s->callee_count; i++) {
        if (s->callees[i] == fn) return;
    }
    const fn_decl **list = grow(f, s->callees, s->callee_count, &s->callee_capacity, sizeof *list);
    if (list == NULL) return;
    s->callees = list;
    list[s->callee_count++] = fn;
}

static void visit_fn(finder *f, const fn_decl *fn) {
    capture_set *s = ARENA_NEW(f->a, capture_set);
    if (s == NULL) {
        f->failed = true;
        return;
    }
    s->fn = fn;
    s->next = f->all;
    f->all = s;
    if (fn->vjp != NULL) add_callee(f, s, fn->vjp->fn);
    if (fn->jvp != NULL) add_callee(f, s, fn->jvp->fn);
    for (int i = 0; i < fn->count; i++) {
        const type_expr *t = fn->params[i].type;
        for (int k = 0; t != NULL && t->kind == TYPE_EXPR_TENSOR && k < t->count; k++) visit(f, s, t->dims[k]);
    }
    if (fn->result != NULL && fn->result->kind == TYPE_EXPR_TENSOR) {
        for (int k = 0; k < fn->result->count; k++) visit(f, s, fn->result->dims[k]);
    }
    visit(f, s, fn->body);
}

static void visit_name(finder *f, capture_set *in, const expr *e) {
    symbol *s = e->u.name.symbol;
    if (s == NULL) return;
    if (s->kind == SYMBOL_FN) {
        add_callee(f, in, s->fn);
    } else if (s->owner != in->fn) {
        add_symbol(f, in, s);
    }
}

static void visit_type(finder *f, capture_set *in, const type_expr *t) {
    if (t == NULL) return;
    for (int i = 0; t->kind == TYPE_EXPR_TENSOR && i < t->count; i++) visit(f, in, t->dims[i]);
    for (int i = 0; t->items != NULL && t->kind == TYPE_EXPR_TUPLE && i < t->count; i++) {
        visit_type(f, in, t->items[i]);
    }
}

static void visit_block(finder *f, capture_set *in, const expr *e) {
    for (int i = 0; i < e->u.block.count; i++) {
        const item *it = &e->u.block.items[i];
        if (it->kind == ITEM_FN) {
            visit_fn(f, it->fn);
        } else {
            visit_type(f, in, it->type);
            visit(f, in, it->value);
        }
    }
    visit(f, in, e->u.block.tail);
}

static void visit_call(finder *f, capture_set *in, const expr *e) {
    if (e->u.call.builtin == NULL) visit(f, in, e->u.call.callee);
    for (int i = 0; i < e->u.call.count; i++) visit(f, in, e->u.call.args[i].value);
}

static void visit_while(finder *f, capture_set *in, const expr *e) {
    for (int i = 0; i < e->u.while_.count; i++) {
        visit_type(f, in, e->u.while_.carries[i].type);
        visit(f, in, e->u.while_.carries[i].init);
    }
    visit(f, in, e->u.while_.condition);
    visit(f, in, e->u.while_.body);
    const decorator *d = e->u.while_.checkpoint;
    for (int i = 0; d != NULL && i < d->count; i++) visit(f, in, d->options[i].value);
}

static void visit(finder *f, capture_set *in, const expr *e) {
    if (e == NULL || f->failed) return;
    switch (e->kind) {
    case EXPR_NAME: visit_name(f, in, e); break;
    case EXPR_LIST:
    case EXPR_TUPLE:
        for (int i = 0; i < e->u.list.count; i++) visit(f, in, e->u.list.items[i]);
        break;
    case EXPR_UNARY: visit(f, in, e->u.unary.a); break;
    case EXPR_BINARY:
        visit(f, in, e->u.binary.a);
        visit(f, in, e->u.binary.b);
        break;
    case EXPR_CALL: visit_call(f, in, e); break;
    case EXPR_INDEX:
        visit(f, in, e->u.index.base);
        for (int i = 0; i < e->u.index.count; i++) {
            visit(f, in, e->u.index.subscripts[i].lo);
            visit(f, in, e->u.index.subscripts[i].hi);
            visit(f, in, e->u.index.subscripts[i].step);
        }
        break;
    case EXPR_PROJECT: visit(f, in, e->u.project.base); break;
    case EXPR_IF:
        visit(f, in, e->u.if_.condition);
        visit(f, in, e->u.if_.then);
        visit(f, in, e->u.if_.otherwise);
        break;
    case EXPR_WHILE: visit_while(f, in, e); break;
    case EXPR_HANDLE:
        visit(f, in, e->u.handle.call);
        if (e->u.handle.seed != NULL) visit(f, in, e->u.handle.seed);
        for (int i = 0; i < e->u.handle.tangent_count; i++) visit(f, in, e->u.handle.tangents[i]);
        break;
    case EXPR_FN:
        visit_fn(f, e->u.fn);
        add_callee(f, in, e->u.fn);
        break;
    case EXPR_BLOCK: visit_block(f, in, e); break;
    case EXPR_TENSOR:
        visit_type(f, in, e->u.tensor.form);
        visit(f, in, e->u.tensor.fill);
        break;
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_BOOL:
    case EXPR_STRING:
    case EXPR_UNKNOWN_DIM: break;
    }
}

const capture_set *captures_of(const capture_set *all, const fn_decl *fn) {
    for (; all != NULL; all = all->next) {
        if (all->fn == fn) return all;
    }
    return NULL;
}

static bool set_reads(const capture_set *set, const symbol *s) {
    for (int i = 0; s->fn != NULL && i < set->callee_count; i++) {
        if (set->callees[i] == s->fn) return true;
    }
    return set_has(set, s);
}

bool captures_item_reads(const program *p, const item *it, const symbol *s, bool *reads) {
    finder f = {.a = p->a};
    fn_decl outside = {.body = it->value}; /* no symbol is its own */
    capture_set own = {.fn = &outside};
    if (it->kind == ITEM_FN) {
        visit_fn(&f, it->fn);
    } else {
        visit_type(&f, &own, it->type);
        visit(&f, &own, it->value);
    }
    *reads = set_reads(&own, s);
    for (const capture_set *set = f.all; set != NULL && !*reads; set = set->next) *reads = set_reads(set, s);
    return !f.failed;
}

/* Passes captures from callees to callers until nothing changes. */
static void close_over_callees(finder *f) {
    bool changed = true;
    while (changed && !f->failed) {
        changed = false;
        for (capture_set *s = f->all; s != NULL; s = s->next) {
            int before = s->count;
            for (int i = 0; i < s->callee_count; i++) {
                const capture_set *called = captures_of(f->all, s->callees[i]);
                for (int k = 0; called != NULL && k < called->count; k++) {
                    if (called->symbols[k]->owner != s->fn) add_symbol(f, s, called->symbols[k]);
                }
            }
            changed |= s->count != before;
        }
    }
}

capture_set *captures_find(const program *p) {
    finder f = {.a = p->a};
    visit_fn(&f, &p->main);
    close_over_callees(&f);
    return f.failed ? NULL : f.all;
}
