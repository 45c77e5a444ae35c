/* Names: scopes, look-up, suggestions, and what runs before what.
 *
 * Every spelling has an entry with a chain of its meanings, innermost first, so that binding,
 * look-up and leaving a scope take time in proportion to what they touch, however long the block. A
 * function whose result type is inferred is checked where it is first mentioned; the scopes between
 * are then hidden. */
#include <string.h>

#include "interp/check.h"

/* ---- the table of names ---- */

static uint32_t start_of(const checker *c, const char *name) {
    uint64_t hash = (uint64_t)(uintptr_t)name * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32) & (c->name_capacity - 1);
}

static name_entry *entry_find(const checker *c, const char *name) {
    for (uint32_t i = start_of(c, name); c->names[i] != NULL; i = (i + 1) & (c->name_capacity - 1))
        if (c->names[i]->name == name) return c->names[i];
    return NULL;
}

static void entry_place(checker *c, name_entry *entry) {
    uint32_t i = start_of(c, entry->name);
    while (c->names[i] != NULL) i = (i + 1) & (c->name_capacity - 1);
    c->names[i] = entry;
}

static bool table_grow(checker *c) {
    name_entry **old = c->names;
    uint32_t old_capacity = c->name_capacity, capacity = old_capacity == 0 ? 512 : old_capacity * 2;
    name_entry **table = ARENA_ARRAY(c->a, name_entry *, capacity);
    if (table == NULL) return false;
    c->names = table;
    c->name_capacity = capacity;
    for (uint32_t i = 0; i < old_capacity; i++)
        if (old[i] != NULL) entry_place(c, old[i]);
    return true;
}

/* The entry of a spelling, made when new; NULL when out of memory. */
static name_entry *entry_of(checker *c, const char *name) {
    name_entry *entry = c->name_capacity == 0 ? NULL : entry_find(c, name);
    if (entry != NULL) return entry;
    if (c->name_count * 2 >= c->name_capacity && !table_grow(c)) return NULL;
    entry = ARENA_NEW(c->a, name_entry);
    if (entry == NULL) return NULL;
    *entry = (name_entry){.name = name, .builtin = -1};
    entry_place(c, entry);
    c->name_count++;
    return entry;
}

bool check_names_init(checker *c) {
    for (int i = 0; i < (int)OP_COUNT + (int)BUILTIN_COUNT; i++) {
        const char *surface = builtin_name(i);
        bool word =
            (surface[0] >= 'a' && surface[0] <= 'z') || (surface[0] >= 'A' && surface[0] <= 'Z');
        if (!word) continue;
        const char *name = names_intern(c->p->names, surface, strlen(surface));
        name_entry *entry = name == NULL ? NULL : entry_of(c, name);
        if (entry == NULL) return false;
        entry->builtin = i;
    }
    return true;
}

/* ---- scopes ---- */

void check_scope_open(checker *c, scope *s) {
    *s = (scope){.parent = c->scope, .owner = c->fn, .inside = NO_FN};
    c->scope = s;
}

static bool worth_a_warning(const meaning *m) {
    if (m->symbol.kind != SYMBOL_LET || m->symbol.read || m->pending || m->symbol.name[0] == '_')
        return false;
    for (const meaning *other = m->bundle; other != NULL && other != m; other = other->bundle)
        if (other->symbol.read) return false;
    return true;
}

void check_scope_close(checker *c) {
    for (binding *b = c->scope->bindings; b != NULL; b = b->next) {
        b->entry->top = b->outer;
        if (!c->scope->warns || !worth_a_warning(meaning_of(b->symbol))) continue;
        diag *w =
            diag_warning(c->d, ERROR_W0101, b->symbol->at, "`%s` is never used", b->symbol->name);
        diag_add_help(c->d, w, "write `_` where a value is not needed, or `_%s`", b->symbol->name);
    }
    c->scope = c->scope->parent;
}

symbol *check_symbol(checker *c, symbol_kind kind, const char *name, span at, const type *t) {
    meaning *m = ARENA_NEW(c->a, meaning);
    if (m == NULL) {
        c->failed = true;
        return NULL;
    }
    m->symbol = (symbol){.kind = kind,
                         .name = name,
                         .at = at,
                         .type = t,
                         .owner = c->fn,
                         .order = c->scope->now,
                         .slot = -1};
    m->fn_index = NO_FN;
    return &m->symbol;
}

static void warn_shadowed(checker *c, const symbol *s, const binding *old) {
    if (old == NULL || old->in != c->scope || !c->scope->warns || s->kind != SYMBOL_LET) return;
    if (!worth_a_warning(meaning_of(old->symbol))) return;
    diag *w = diag_warning(c->d, ERROR_W0102, s->at, "`%s` is shadowed before anything reads it",
                           s->name);
    diag_add_label(c->d, w, old->symbol->at, "this value is lost");
    old->symbol->read = true;
}

void check_bind(checker *c, symbol *s) {
    if (s == NULL) return;
    name_entry *entry = entry_of(c, s->name);
    binding *b = ARENA_NEW(c->a, binding);
    if (entry == NULL || b == NULL) {
        c->failed = true;
        return;
    }
    warn_shadowed(c, s, entry->top);
    *b = (binding){.symbol = s,
                   .in = c->scope,
                   .entry = entry,
                   .outer = entry->top,
                   .next = c->scope->bindings};
    entry->top = b;
    c->scope->bindings = b;
}

binding *check_lookup(checker *c, const char *name) {
    name_entry *entry = entry_find(c, name);
    binding *b = entry == NULL ? NULL : entry->top;
    while (b != NULL && b->in->hidden) b = b->outer;
    return b;
}

int check_builtin_find(checker *c, const char *name) {
    name_entry *entry = entry_find(c, name);
    return entry == NULL ? -1 : entry->builtin;
}

/* ---- names without a meaning yet ---- */

static bool veil_name(checker *c, const char *name, int by) {
    name_entry *entry = entry_of(c, name);
    if (entry == NULL) return c->failed = true, false;
    entry->veils += by;
    return true;
}

static bool veil_pattern(checker *c, const pattern *p, int by) {
    if (p->kind == PATTERN_NAME) return veil_name(c, p->name, by);
    for (int i = 0; i < p->count; i++)
        if (!veil_pattern(c, p->items[i], by)) return false;
    return true;
}

bool check_veil(checker *c, const expr *block, bool on) {
    int by = on ? 1 : -1;
    if (block->u.block.count > 0) c->veils += by;
    for (int i = 0; i < block->u.block.count; i++) {
        const item *it = &block->u.block.items[i];
        if (it->kind == ITEM_LET && !veil_pattern(c, it->pattern, by)) return false;
        if (it->kind == ITEM_FN && !veil_name(c, it->fn->name, by)) return false;
    }
    return true;
}

bool check_veiled(const checker *c, const char *name) {
    if (c->veils == 0) return false;
    const name_entry *entry = entry_find(c, name);
    return entry != NULL && entry->veils > 0;
}

/* ---- reading a name ---- */

static void note_mention(checker *c, binding *b, span at) {
    scope *s = b->in;
    int to = meaning_of(b->symbol)->fn_index;
    mention *m = ARENA_NEW(c->a, mention);
    if (m == NULL) {
        c->failed = true;
        return;
    }
    mention **list = s->inside == NO_FN ? &s->mentions : &s->fns[to].callers;
    *m = (mention){.next = *list, .from = s->inside, .to = to, .at_item = s->now, .at = at};
    *list = m;
}

/* A let below the function that is being checked on demand: the function was asked for above that
 * let. */
static void report_pending(checker *c, const binding *b, span at) {
    const symbol *s = b->symbol;
    diag *e = diag_error(c->d, ERROR_K0103, b->in->asked_at,
                         "`%s` may run before `let %s`, which it uses", b->in->asked_for, s->name);
    diag_add_label(c->d, e, at, "`%s` is used here", s->name);
    diag_add_label(c->d, e, s->at, "`%s` gets its value here", s->name);
    diag_add_help(c->d, e, "move `let %s` above this place", s->name);
}

binding *check_read(checker *c, const char *name, span at) {
    binding *b = check_lookup(c, name);
    if (b == NULL) return NULL;
    symbol *s = b->symbol;
    s->read = true;
    if (meaning_of(s)->pending) {
        report_pending(c, b, at);
    } else if (s->kind == SYMBOL_FN) {
        note_mention(c, b, at);
    } else if (b->in->block != NULL && b->in->inside != NO_FN) {
        block_fn *f = &b->in->fns[b->in->inside];
        if (f->latest == NULL || f->latest->order < s->order) f->latest = s;
    }
    return b;
}

/* ---- suggestions ---- */

/* Of two names as near, the program's own one, else the alphabet's first: the table is in no order. */
static bool preferred(const name_entry *entry, const name_entry *to) {
    bool own = entry->top != NULL, other = to->top != NULL;
    return own != other ? own : strcmp(entry->name, to->name) < 0;
}

void check_undefined(checker *c, const char *name, span at, const char *what) {
    diag *e = diag_error(c->d, ERROR_K0101, at, "%s `%s` is not defined", what, name);
    if (c->d->errors > DIAG_MOST) return;
    size_t length = strlen(name);
    unsigned best = length < 3 ? 1 : length < 8 ? 2 : 3;
    const name_entry *nearest = NULL;
    for (uint32_t i = 0; i < c->name_capacity; i++) {
        const name_entry *entry = c->names[i];
        if (entry == NULL || entry->name == name) continue;
        if (entry->builtin < 0 && check_lookup(c, entry->name) == NULL) continue;
        unsigned distance = names_distance(name, entry->name, best);
        if (distance > best || distance >= length) continue;
        if (distance == best && nearest != NULL && !preferred(entry, nearest)) continue;
        best = distance;
        nearest = entry;
    }
    if (nearest == NULL) return;
    binding *b = check_lookup(c, nearest->name);
    if (b != NULL && b->symbol->kind != SYMBOL_DIM) b->symbol->read = true;
    diag_add_help(c->d, e, "did you mean `%s`?", nearest->name);
}

/* ---- what runs before what ---- */

/* The function just settled may read a let; so may all that mention it. */
static void spread(scope *s, int first, int *stack) {
    int depth = 0;
    stack[depth++] = first;
    while (depth > 0) {
        block_fn *f = &s->fns[stack[--depth]];
        for (mention *m = f->callers; m != NULL; m = m->next) {
            block_fn *caller = &s->fns[m->from];
            if (caller->settled) continue;
            caller->settled = true;
            caller->latest = f->latest;
            stack[depth++] = m->from;
        }
    }
}

/* Gives every function the lowest let that a call of it may read, its own or that of one it
 * mentions. Starts from the lowest lets, so that each function is settled once. */
static bool settle(checker *c, scope *s) {
    uint32_t items = (uint32_t)s->block->u.block.count;
    int *head = ARENA_ARRAY(c->a, int, items + 1), *stack = ARENA_ARRAY(c->a, int, s->fn_count);
    if (head == NULL || stack == NULL) return false;
    for (uint32_t i = 0; i <= items; i++) head[i] = NO_FN;
    for (int i = 0; i < s->fn_count; i++) {
        if (s->fns[i].latest == NULL) continue;
        int *list = &head[s->fns[i].latest->order];
        s->fns[i].next = *list;
        *list = i;
    }
    for (uint32_t order = items + 1; order-- > 0;) {
        for (int i = head[order]; i != NO_FN; i = s->fns[i].next) {
            if (s->fns[i].settled) continue;
            s->fns[i].settled = true;
            spread(s, i, stack);
        }
    }
    return true;
}

void check_block_order(checker *c, scope *s) {
    bool reads = false;
    for (int i = 0; i < s->fn_count && !reads; i++) reads = s->fns[i].latest != NULL;
    if (!reads || s->mentions == NULL) return;
    if (!settle(c, s)) {
        c->failed = true;
        return;
    }
    for (mention *m = s->mentions; m != NULL; m = m->next) {
        const block_fn *f = &s->fns[m->to];
        if (!f->settled || f->latest->order < m->at_item) continue;
        diag *e =
            diag_error(c->d, ERROR_K0103, m->at, "`%s` may run before `let %s`, which it uses",
                       f->symbol->name, f->latest->name);
        diag_add_label(c->d, e, f->latest->at, "`%s` gets its value here", f->latest->name);
        diag_add_help(c->d, e, "move `let %s` above this place", f->latest->name);
    }
}

/* ---- checking a function where it is mentioned ---- */

static void bind_pending(checker *c, const pattern *p) {
    if (p->kind == PATTERN_NAME) {
        symbol *s = check_symbol(c, SYMBOL_LET, p->name, p->at, &check_error_type);
        if (s != NULL) meaning_of(s)->pending = true;
        check_bind(c, s);
    } else {
        for (int i = 0; i < p->count; i++) bind_pending(c, p->items[i]);
    }
}

void check_switch_to(checker *c, scope_switch *s, scope *home, meaning *fn, bool body,
                     span asked_at) {
    s->back = c->scope;
    s->fn = c->fn;
    s->inside = home->inside;
    for (scope *between = c->scope; between != home; between = between->parent)
        between->hidden = true;
    c->scope = home;
    c->fn = home->owner;
    check_scope_open(c, &s->pending);
    s->pending.asked_at = asked_at;
    s->pending.asked_for = fn->symbol.name;
    for (uint32_t i = home->now; body && i < fn->symbol.order; i++) {
        const item *it = &home->block->u.block.items[i];
        if (it->kind == ITEM_LET) bind_pending(c, it->pattern);
    }
    home->inside = fn->fn_index;
}

void check_switch_back(checker *c, scope_switch *s, scope *home) {
    check_scope_close(c);
    home->inside = s->inside;
    c->scope = s->back;
    c->fn = s->fn;
    for (scope *between = c->scope; between != home; between = between->parent)
        between->hidden = false;
}
