/* Checking a session's definitions together: which of them are right at present, and which have to be set aside. */
#include <string.h>

#include "interp/lower.h"
#include "interp/workspace_state.h"
#include "runtime/context.h"

/* ---- where an error is ---- */

/* The place in the list of the definition that is the n-th piece of a program assembled of it. */
static int entry_of_piece(const workspace_list *list, const bool *out, long piece) {
    for (int i = 0; i < list->count; i++) {
        if (!out[i] && workspace_text(&list->items[i]->entry) && piece-- == 0) return i;
    }
    return -1;
}

static const char *describe(engine *e, arena *a, const diag *d) {
    uint32_t line, column;
    source_position(&e->src, d->at.begin, &line, &column);
    return arena_format(a, "%s (%s:%u:%u)", d->message, source_piece_at(&e->src, d->at.begin)->path, line, column);
}

bool workspace_exclude(const workspace_list *list, engine *e, arena *a, bool *out, const char **why, int *found) {
    *found = 0;
    int *entry = ARENA_ARRAY(a, int, e->src.piece_count);
    if (entry == NULL) return false;
    for (int k = 0; k < e->src.piece_count; k++) entry[k] = entry_of_piece(list, out, k);
    for (const diag *d = e->diags.first; d != NULL; d = d->next) {
        int i = d->warning ? -1 : entry[source_piece_at(&e->src, d->at.begin) - e->src.pieces];
        if (i < 0 || out[i]) continue;
        out[i] = true;
        why[i] = describe(e, a, d);
        if (why[i] == NULL) return false;
        ++*found;
    }
    return true;
}

/* ---- all of them ---- */

/* Marks those that are not right, until the others are. Leaves e loaded with these. */
static bool settle(const workspace_list *list, engine *e, arena *a, bool *out, const char **why) {
    for (;;) {
        if (workspace_assemble(list, out, NULL, e)) return true;
        int found = 0;
        if (e->c->err.code != ERROR_NONE || !workspace_exclude(list, e, a, out, why, &found)) return false;
        if (found == 0)
            return error_set(&e->c->err, ERROR_K0901, (span){0, 0}, "no definition of the session has its error");
    }
}

/* Those that are marked go behind the others, in their order. */
static bool move_back(workspace_list *list, arena *a, bool *out, const char **why) {
    workspace_held **items = ARENA_ARRAY(a, workspace_held *, list->count + 1);
    const char **reasons = ARENA_ARRAY(a, const char *, list->count + 1);
    if (items == NULL || reasons == NULL) return false;
    int count = 0, last = 0;
    for (int late = 0; late <= 1; late++) {
        for (int i = 0; i < list->count; i++) {
            if (out[i] != (late == 1)) continue;
            reasons[count] = why[i];
            items[count++] = list->items[i];
        }
        if (late == 0) last = count;
    }
    for (int i = 0; i < count; i++) {
        list->items[i] = items[i];
        why[i] = reasons[i];
        out[i] = i >= last;
    }
    return true;
}

static bool set_aside(context *c, workspace_list *list, int i, const char *why) {
    workspace_entry changed = list->items[i]->entry;
    changed.aside = why;
    workspace_list one = {0};
    if (!workspace_list_add(c, &one, &changed)) return false;
    workspace_held *before = list->items[i];
    list->items[i] = one.items[0];
    one.items[0] = before;
    workspace_list_clear(c, &one);
    return true;
}

static bool check_in(workspace_list *list, engine *e, arena *a) {
    bool *out = ARENA_ARRAY(a, bool, list->count + 1);
    const char **why = ARENA_ARRAY(a, const char *, list->count + 1);
    if (out == NULL || why == NULL) return false;
    for (int i = 0; i < list->count; i++) out[i] = list->items[i]->entry.aside != NULL;
    if (!move_back(list, a, out, why)) return false;
    memset(out, 0, (size_t)list->count * sizeof *out);
    if (!settle(list, e, a, out, why)) return false;
    /* A let that stands above what it uses now is right behind it. */
    bool any = memchr(out, true, (size_t)list->count) != NULL;
    if (any) {
        if (!move_back(list, a, out, why)) return false;
        memset(out, 0, (size_t)list->count * sizeof *out);
        if (!settle(list, e, a, out, why)) return false;
    }
    for (int i = 0; i < list->count; i++) {
        const char *aside = out[i] ? why[i] : NULL, *before = list->items[i]->entry.aside;
        if (aside == before || (aside != NULL && before != NULL && strcmp(aside, before) == 0)) continue;
        if (!set_aside(e->c, list, i, aside)) return false;
    }
    return true;
}

/* ---- who uses what ---- */

static bool pattern_binds(const pattern *p, const char *name) {
    return p->kind == PATTERN_NAME && strcmp(p->name, name) == 0;
}

/* What a name of the session is in a program that was assembled of it; NULL: nothing. */
static const symbol *symbol_of(const program *p, const char *name) {
    const expr *body = p->main.body;
    for (int i = 0; i < body->u.block.count; i++) {
        const item *it = &body->u.block.items[i];
        if (it->kind == ITEM_FN && strcmp(it->fn->name, name) == 0) return it->fn->symbol;
        if (it->kind == ITEM_LET && pattern_binds(it->pattern, name)) return it->pattern->symbol;
    }
    for (int i = 0; i < p->global_count; i++) {
        if (strcmp(p->globals[i].name, name) == 0) return p->global_symbols[i];
    }
    return NULL;
}

bool workspace_users(const engine *e, const char *of, workspace_user seen, void *self) {
    const symbol *s = symbol_of(&e->program, of);
    const expr *body = e->program.main.body;
    for (int i = 0; s != NULL && i < body->u.block.count; i++) {
        const item *it = &body->u.block.items[i];
        const char *name = it->kind == ITEM_FN ? it->fn->name : it->kind == ITEM_LET ? it->pattern->name : NULL;
        if (name == NULL || strcmp(name, of) == 0) continue;
        bool reads;
        if (!captures_item_reads(&e->program, it, s, &reads)) return false;
        if (reads && !seen(self, name)) return false;
    }
    return true;
}

bool workspace_check(workspace *w, workspace_list *list, engine *e, arena *a) {
    engine_init(e, w->c, w->with);
    return check_in(list, e, a);
}
