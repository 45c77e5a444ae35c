/* Names for the variables of a written function.
 *
 * The tree is there, its variables are symbols. A walk over it finds where each is bound, where its scope ends and
 * where it is read. A variable has the name that it wishes for unless another of that name is still read in its
 * scope: a new `d_h` may shadow an old one that nothing reads any more, as people write it. */
#include <string.h>

#include "interp/writing.h"
#include "runtime/storage.h"

typedef struct name_read {
    expr *at;
    uint32_t place;
    struct name_read *next;
} name_read;

/* A variable as far as names matter. */
typedef struct scoped {
    written *of;
    uint32_t from, to;
    name_read *reads;
    int before;                 /* the last variable of the same name that is bound before it; -1 */
} scoped;

/* What is known of a name. */
typedef struct name_use {
    const char *name;           /* NULL: a free place in the table */
    bool taken;                 /* a reserved word, a builtin, a dim or a function */
    bool wished;                /* the user has it for a variable */
    int last;                   /* the last variable that has it; -1 */
    int number;                 /* the last that was put behind it */
} name_use;

typedef struct naming {
    writing *w;
    uint32_t place;
    int count, room;
    scoped *list;               /* in the order of their bindings */
    uint32_t used, size;        /* of the table, whose size is a power of two */
    name_use *table;
    name_use nothing;           /* after a failure */
    int fresh;
} naming;

/* ---- the walk ---- */

static void bind(naming *n, symbol *s) {
    if (n->count == n->room) {
        int wider = n->room > 0 ? 2 * n->room : 64;
        scoped *list = WRITE_ARRAY(n->w, scoped, wider);
        if (list == NULL) return;
        if (n->count > 0) memcpy(list, n->list, (size_t)n->count * sizeof *list);
        n->list = list;
        n->room = wider;
    }
    s->slot = n->count;
    n->list[n->count++] = (scoped){.of = (written *)s, .from = ++n->place, .to = UINT32_MAX};
}

/* The scopes of what was bound since there were `from` end here. */
static void unbind(naming *n, int from) {
    n->place++;
    for (int i = from; i < n->count; i++)
        if (n->list[i].to == UINT32_MAX) n->list[i].to = n->place;
}

static void note_read(naming *n, expr *e) {
    name_read *r = WRITE_ARRAY(n->w, name_read, 1);
    const symbol *s = e->u.name.symbol;
    if (r == NULL || s->slot >= n->count) return;
    scoped *of = &n->list[s->slot];
    *r = (name_read){.at = e, .place = ++n->place, .next = of->reads};
    of->reads = r;
}

static void walk(naming *n, expr *e);

static void walk_pattern(naming *n, pattern *p) {
    if (p->kind == PATTERN_NAME) bind(n, p->symbol);
    for (int i = 0; p->kind == PATTERN_TUPLE && i < p->count; i++) walk_pattern(n, p->items[i]);
}

static void walk_block(naming *n, expr *e) {
    int from = n->count;
    for (int i = 0; i < e->u.block.count && !n->w->failed; i++) {
        item *it = &e->u.block.items[i];
        walk(n, it->value);
        if (it->kind == ITEM_LET) walk_pattern(n, it->pattern);
    }
    walk(n, e->u.block.tail);
    unbind(n, from);
}

static void walk_while(naming *n, expr *e) {
    for (int i = 0; i < e->u.while_.count; i++) walk(n, e->u.while_.carries[i].init);
    int from = n->count;
    for (int i = 0; i < e->u.while_.count && !n->w->failed; i++) bind(n, e->u.while_.carries[i].symbol);
    walk(n, e->u.while_.condition);
    walk(n, e->u.while_.body);
    unbind(n, from);
}

static void walk_index(naming *n, expr *e) {
    walk(n, e->u.index.base);
    for (int i = 0; i < e->u.index.count; i++) {
        walk(n, e->u.index.subscripts[i].lo);
        walk(n, e->u.index.subscripts[i].hi);
        walk(n, e->u.index.subscripts[i].step);
    }
}

static void walk(naming *n, expr *e) {
    if (e == NULL || n->w->failed) return;
    switch (e->kind) {
    case EXPR_NAME:
        if (e->u.name.symbol != NULL) note_read(n, e);
        return;
    case EXPR_LIST:
    case EXPR_TUPLE:
        for (int i = 0; i < e->u.list.count; i++) walk(n, e->u.list.items[i]);
        return;
    case EXPR_UNARY: walk(n, e->u.unary.a); return;
    case EXPR_BINARY:
        walk(n, e->u.binary.a);
        walk(n, e->u.binary.b);
        return;
    case EXPR_CALL:
        for (int i = 0; i < e->u.call.count; i++) walk(n, e->u.call.args[i].value);
        return;
    case EXPR_INDEX: walk_index(n, e); return;
    case EXPR_IF:
        walk(n, e->u.if_.condition);
        walk(n, e->u.if_.then);
        walk(n, e->u.if_.otherwise);
        return;
    case EXPR_WHILE: walk_while(n, e); return;
    case EXPR_BLOCK: walk_block(n, e); return;
    default: return;
    }
}

/* ---- which names are free ---- */

static bool is_reserved(const char *name) {
    static const char *const words[] = {
#define TOKEN(id, spelling)
#define KIND(id, description)
#define WORD(id, spelling) spelling,
#include "interp/token.def"
#undef TOKEN
#undef KIND
#undef WORD
    };
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i], name) == 0) return true;
    storage unused;
    return builtin_named(name) >= 0 || storage_find(name, strlen(name), &unused);
}

static name_use *place_of(const naming *n, const char *name) {
    uint32_t i = (uint32_t)(((uintptr_t)name >> 4) * UINT32_C(2654435761));
    while (n->table[i & (n->size - 1)].name != NULL && n->table[i & (n->size - 1)].name != name) i++;
    return &n->table[i & (n->size - 1)];
}

static bool widen(naming *n) {
    naming old = *n;
    n->size = old.size > 0 ? 2 * old.size : 64;
    n->table = WRITE_ARRAY(n->w, name_use, n->size);
    if (n->table == NULL) return false;
    for (uint32_t i = 0; i < old.size; i++)
        if (old.table[i].name != NULL) *place_of(n, old.table[i].name) = old.table[i];
    return true;
}

/* What is known of an interned name; valid until the next call. */
static name_use *use_of(naming *n, const char *name) {
    if (2 * n->used >= n->size && !widen(n)) return &n->nothing;
    name_use *use = place_of(n, name);
    if (use->name == NULL) {
        n->used++;
        *use = (name_use){.name = name, .taken = is_reserved(name), .last = -1, .number = 1};
    }
    return use;
}

/* Whether a variable of the same name, the last of which is number `earlier`, is read in the scope of number i.
 * Nothing before a variable whose scope holds this one is: else it would have another name. */
static bool is_read_in(const naming *n, int i, int earlier) {
    const scoped *s = &n->list[i];
    for (; earlier >= 0; earlier = n->list[earlier].before) {
        const scoped *other = &n->list[earlier];
        for (const name_read *r = other->reads; r != NULL; r = r->next)
            if (r->place > s->from && r->place <= s->to) return true;
        if (other->to >= s->to) return false;
    }
    return false;
}

static bool is_free(naming *n, int i, const char *name) {
    const name_use *use = use_of(n, name);
    return !use->taken && !is_read_in(n, i, use->last);
}

/* ---- naming ---- */

static const char *wish_of(naming *n, const scoped *s) {
    const written *of = s->of;
    if (of->wish != NULL) return of->wish;
    if (of->of == NULL || of->of->symbol.name == NULL) return NULL;
    return write_word(n->w, "%s%s", of->prefix, of->of->symbol.name);
}

enum { FEW_NUMBERS = 9 };       /* up to which numbers are used again */

/* The wish, or the wish with a number, or t and a number; never what the user has for another variable. */
static const char *name_of(naming *n, int i) {
    const char *wish = wish_of(n, &n->list[i]);
    if (wish != NULL && is_free(n, i, wish)) return wish;
    for (int number = 2; !n->w->failed; number++) {
        const char *name;
        if (wish == NULL) {
            name = write_word(n->w, "t%d", ++n->fresh);
        } else {
            name_use *use = use_of(n, wish);
            if (number > FEW_NUMBERS) number = use->number > number ? use->number + 1 : number;
            if (number > FEW_NUMBERS) use->number = number;
            name = write_word(n->w, "%s%d", wish, number);
        }
        if (is_free(n, i, name) && !use_of(n, name)->wished) return name;
    }
    return "";
}

/* Gives the i-th variable its name, everywhere it is read. */
static void give_name(naming *n, int i) {
    scoped *s = &n->list[i];
    const char *name = name_of(n, i);
    name_use *use = use_of(n, name);
    s->of->symbol.name = name;
    s->before = use->last;
    use->last = i;
    for (const name_read *r = s->reads; r != NULL; r = r->next) r->at->u.name.name = name;
}

static void put_pattern(pattern *p) {
    if (p->kind == PATTERN_NAME) p->name = p->symbol->name;
    for (int i = 0; p->kind == PATTERN_TUPLE && i < p->count; i++) put_pattern(p->items[i]);
}

/* Names of binding places; reads are put by the list of them. */
static void put(expr *e) {
    if (e == NULL) return;
    switch (e->kind) {
    case EXPR_IF:
        put(e->u.if_.then);
        put(e->u.if_.otherwise);
        return;
    case EXPR_WHILE:
        for (int i = 0; i < e->u.while_.count; i++)
            e->u.while_.carries[i].name = e->u.while_.carries[i].symbol->name;
        put(e->u.while_.condition);
        put(e->u.while_.body);
        return;
    case EXPR_BLOCK:
        for (int i = 0; i < e->u.block.count; i++) {
            item *it = &e->u.block.items[i];
            if (it->kind == ITEM_LET) put_pattern(it->pattern);
            put(it->value);
        }
        put(e->u.block.tail);
        return;
    default: return;
    }
}

void write_names(writing *w, fn_decl *f, int fixed_count, const char **fixed) {
    naming n = {.w = w};
    for (int i = 0; i < f->count; i++) bind(&n, f->params[i].symbol);
    walk(&n, f->body);
    for (int i = 0; i < fixed_count && !w->failed; i++) use_of(&n, fixed[i])->taken = true;
    for (int i = 0; i < n.count && !w->failed; i++)
        if (n.list[i].of->wish != NULL) use_of(&n, n.list[i].of->wish)->wished = true;
    for (int i = 0; i < n.count && !w->failed; i++) give_name(&n, i);
    if (w->failed) return;
    for (int i = 0; i < f->count; i++) f->params[i].name = f->params[i].symbol->name;
    put(f->body);
}
