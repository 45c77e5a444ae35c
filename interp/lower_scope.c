/* Slots, lives and regions while lowering. */
#include "interp/lower_scope.h"

#include <string.h>

void *lower_take(lowering *l, size_t bytes) {
    void *p = arena_take(l->a, bytes == 0 ? 1 : bytes);
    if (p == NULL) l->failed = true;
    return p;
}

code *code_new(fn_scope *s, code_kind kind, span where) {
    code *n = lower_take(s->l, sizeof *n);
    if (n == NULL) return NULL;
    n->kind = (uint8_t)kind;
    n->where = where;
    return n;
}

/* Doubles an arena array when it is full. */
static bool widen(lowering *l, void **list, int count, int *capacity, size_t element) {
    if (count < *capacity) return true;
    int wider = *capacity ? 2 * *capacity : 8;
    void *fresh = lower_take(l, (size_t)wider * element);
    if (fresh == NULL) return false;
    if (count > 0) memcpy(fresh, *list, (size_t)count * element);
    *list = fresh;
    *capacity = wider;
    return true;
}

code *code_constant(fn_scope *s, value v, span where) {
    code *n = code_new(s, CODE_CONSTANT, where);
    lowering *l = s->l;
    code_program *out = l->out;
    void *list = out->constants;
    if (n == NULL || !widen(l, &list, out->constant_count, &l->constant_capacity, sizeof(code *))) {
        value_release(l->a->c, v);
        return NULL;
    }
    out->constants = list;
    n->u.constant = v;
    if (v.kind > VALUE_NUMBER) out->constants[out->constant_count++] = n;
    return n;
}

int slot_new(fn_scope *s) { return s->f->slots++; }

int slot_of(const fn_scope *s, const symbol *sym) {
    if (sym->owner == s->decl) return sym->slot;
    for (int i = 0; s->captures != NULL && i < s->captures->count; i++) {
        if (s->captures->symbols[i] == sym) return s->f->params + i;
    }
    return -1;
}

static bool captured_by_any(const capture_set *all, const symbol *sym) {
    for (; all != NULL; all = all->next) {
        for (int i = 0; i < all->count; i++) {
            if (all->symbols[i] == sym) return true;
        }
    }
    return false;
}

/* Of a value of the program's own frame: something may read it when the text's last read is over. */
static bool outlives_reads(const fn_scope *s, const symbol *sym) {
    return (s->l->p->session && s->block->depth <= TOP_LEVEL) || captured_by_any(s->l->captures, sym);
}

void local_define(fn_scope *s, symbol *sym, binding *to) {
    local *life = lower_take(s->l, sizeof *life);
    if (life == NULL) return;
    sym->slot = slot_new(s);
    *life = (local){.symbol = sym, .home = s->block, .bound_by = to, .last_step = -1};
    life->pinned = sym->kind == SYMBOL_DIM || (s->decl == &s->l->p->main && outlives_reads(s, sym));
    life->next = s->block->locals;
    s->block->locals = life;
    sym->local = life;
    if (to != NULL) to->slot = sym->slot;
}

static void slot_add(fn_scope *s, int **slot, int *count, int *capacity, int added) {
    for (int i = 0; i < *count; i++) {
        if ((*slot)[i] == added) return;
    }
    void *list = *slot;
    if (!widen(s->l, &list, *count, capacity, sizeof(int))) return;
    *slot = list;
    (*slot)[(*count)++] = added;
}

static bool may_be_active(const type *t) {
    if (t == NULL) return false;
    if (t->kind == TYPE_FN) return true;
    if (t->kind == TYPE_TENSOR) return dtype_floating((dtype)t->tensor.dtype);
    bool parts = t->kind == TYPE_TUPLE || t->kind == TYPE_TAPE;
    for (int i = 0; parts && i < t->count; i++) {
        if (may_be_active(t->items[i])) return true;
    }
    return false;
}

int local_read(fn_scope *s, const symbol *sym, code *reader) {
    int slot = slot_of(s, sym);
    local *life = sym->owner == s->decl ? sym->local : NULL;
    int depth = life != NULL ? life->home->depth : 0;
    for (region *r = s->region; r != NULL; r = r->outer) {
        if (depth >= r->depth) continue;
        slot_add(s, &r->all, &r->all_count, &r->all_capacity, slot);
        if (may_be_active(sym->type)) slot_add(s, &r->slot, &r->count, &r->capacity, slot);
    }
    if (life != NULL) {
        life->last_step = life->home->step;
        life->last_read = s->nest == life->home->nest && life->home->step >= 0 ? reader : NULL;
    }
    return slot;
}

void block_enter(fn_scope *s, block_scope *b, int first_step) {
    *b = (block_scope){
        .outer = s->block,
        .depth = s->block != NULL ? s->block->depth + 1 : 1,
        .step = first_step,
        .nest = s->nest,
    };
    s->block = b;
}

static void kill(fn_scope *s, slots *kills, int slot) {
    int *list = LOWER_ARRAY(s->l, int, kills->count + 1);
    if (list == NULL) return;
    if (kills->count > 0) memcpy(list, kills->slot, (size_t)kills->count * sizeof *list);
    list[kills->count] = slot;
    kills->slot = list;
    kills->count++;
}

void block_leave(fn_scope *s, step *steps, int count, slots *tail_kills) {
    for (local *life = s->block->locals; life != NULL; life = life->next) {
        if (life->pinned) continue;
        if (life->last_step < 0) {
            if (life->bound_by != NULL) life->bound_by->slot = -1;
        } else if (life->last_read != NULL) {
            life->last_read->last = true;
        } else {
            kill(s, life->last_step < count ? &steps[life->last_step].kills : tail_kills,
                 life->symbol->slot);
        }
    }
    s->block = s->block->outer;
}

void region_enter(fn_scope *s, region *r) {
    *r = (region){.outer = s->region, .depth = s->block->depth + 1};
    s->region = r;
    s->nest++;
}

slots region_leave(fn_scope *s) {
    region *r = s->region;
    s->region = r->outer;
    s->nest--;
    return (slots){.count = r->count, .slot = r->slot};
}

slots slots_of_captures(fn_scope *s, const capture_set *set) {
    slots list = {0};
    if (set == NULL || set->count == 0) return list;
    list.slot = LOWER_ARRAY(s->l, int, set->count);
    if (list.slot == NULL) return list;
    list.count = set->count;
    for (int i = 0; i < set->count; i++) list.slot[i] = local_read(s, set->symbols[i], NULL);
    return list;
}
