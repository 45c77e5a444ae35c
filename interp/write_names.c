/* Names for the variables of a written function.
 *
 * The tree is there, its variables are symbols. A walk over it finds where each is bound, where its scope ends and
 * where it is read. A variable has the name that it wishes for unless another of that name is still read in its
 * scope: a new `d_h` may shadow an old one that nothing reads any more, as people write it. */
#include <string.h>

#include "interp/writing.h"

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
} scoped;

typedef struct naming {
    writing *w;
    uint32_t place;
    int count, room;
    scoped *list;               /* in the order of their bindings */
    int fixed_count;
    const char **fixed;         /* dim names and the like, which no variable may have */
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
    return check_builtin_named(name) >= 0;
}

static bool is_fixed(const naming *n, const char *name) {
    for (int i = 0; i < n->fixed_count; i++)
        if (n->fixed[i] == name) return true;
    return false;
}

/* Whether a variable other than the first `before` wishes for the name. */
static bool is_wished(const naming *n, int before, const char *name) {
    for (int i = before; i < n->count; i++)
        if (n->list[i].of->wish == name) return true;
    return false;
}

/* Whether a variable that is bound before number i, and has the name, is read in the scope of number i. */
static bool is_read_in(const naming *n, int i, const char *name) {
    const scoped *s = &n->list[i];
    for (int k = 0; k < i; k++) {
        if (n->list[k].of->symbol.name != name) continue;
        for (const name_read *r = n->list[k].reads; r != NULL; r = r->next)
            if (r->place > s->from && r->place <= s->to) return true;
    }
    return false;
}

static bool is_free(const naming *n, int i, const char *name) {
    return !is_reserved(name) && !is_fixed(n, name) && !is_read_in(n, i, name);
}

/* ---- naming ---- */

static const char *wish_of(naming *n, const scoped *s) {
    const written *of = s->of;
    if (of->wish != NULL) return of->wish;
    if (of->of == NULL || of->of->symbol.name == NULL) return NULL;
    return write_word(n->w, "%s%s", of->prefix, of->of->symbol.name);
}

/* The wish, or the wish with a number, or t and a number; never what the user has for another variable. */
static const char *name_of(naming *n, int i) {
    const char *wish = wish_of(n, &n->list[i]);
    if (wish != NULL && is_free(n, i, wish)) return wish;
    for (int number = 2; !n->w->failed; number++) {
        const char *name = wish == NULL ? write_word(n->w, "t%d", ++n->fresh)
                                        : write_word(n->w, "%s%d", wish, number);
        if (is_free(n, i, name) && !is_wished(n, 0, name)) return name;
    }
    return "";
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
    naming n = {.w = w, .fixed_count = fixed_count, .fixed = fixed};
    for (int i = 0; i < f->count; i++) bind(&n, f->params[i].symbol);
    walk(&n, f->body);
    for (int i = 0; i < n.count && !w->failed; i++) {
        n.list[i].of->symbol.name = name_of(&n, i);
        for (const name_read *r = n.list[i].reads; r != NULL; r = r->next)
            r->at->u.name.name = n.list[i].of->symbol.name;
    }
    if (w->failed) return;
    for (int i = 0; i < f->count; i++) f->params[i].name = f->params[i].symbol->name;
    put(f->body);
}
