/* An input that binds a variable anew and calls what sees the old one: that is what the text says, since the functions
 * of earlier inputs stand above this let, but seldom what is meant, so there is a warning. */
#include "interp/lower.h"
#include "interp/workspace_state.h"

typedef struct looking {
    engine *e;
    capture_set *captures;      /* of all functions, those of what they call included */
    symbol **seers;             /* functions, and lets that hold them, that see the variable of before */
    int count;
    bool failed;
} looking;

static bool reads(looking *l, const item *it, const symbol *s) {
    bool found = false;
    l->failed |= !captures_item_reads(&l->e->program, it, s, &found);
    return found;
}

/* The first function that this item reads and that sees the old variable. */
static const symbol *seer_in(looking *l, const item *it) {
    for (int i = 0; i < l->count && !l->failed; i++) {
        if (reads(l, it, l->seers[i])) return l->seers[i];
    }
    return NULL;
}

static bool captures(const looking *l, const fn_decl *fn, const symbol *variable) {
    const capture_set *set = captures_of(l->captures, fn);
    for (int i = 0; set != NULL && i < set->count; i++) {
        if (set->symbols[i] == variable) return true;
    }
    return false;
}

static void find_seers(looking *l, const symbol *variable) {
    const expr *body = l->e->program.main.body;
    uint32_t begin = workspace_input_begin(l->e);
    l->count = 0;
    for (int i = 0; i < body->u.block.count; i++) {
        const item *it = &body->u.block.items[i];
        if (it->kind == ITEM_FN && captures(l, it->fn, variable)) l->seers[l->count++] = it->fn->symbol;
    }
    for (int i = 0; i < body->u.block.count; i++) {
        const item *it = &body->u.block.items[i];
        if (it->kind != ITEM_LET || it->at.begin >= begin) continue;
        if (reads(l, it, variable) || seer_in(l, it) != NULL) l->seers[l->count++] = it->pattern->symbol;
    }
}

static void warn(looking *l, const symbol *seer, const pattern *let, span at) {
    diagnostics *d = &l->e->diags;
    diag *w = diag_warning(d, ERROR_W0104, at, "`%s` sees `%s` as it was before this input", seer->name, let->name);
    diag_add_label(d, w, let->at, "new to functions from the next input on");
    diag_add_help(d, w, "bind `%s` by an input of its own", let->name);
}

/* What stands behind item number `at`, which binds the variable anew. */
static void look_behind(looking *l, const pattern *let, int at) {
    const expr *body = l->e->program.main.body;
    for (int i = at + 1; i <= body->u.block.count; i++) {
        bool last = i == body->u.block.count;
        if (last && body->u.block.tail == NULL) return;
        const item tail = {.kind = ITEM_EXPR, .value = body->u.block.tail};
        const item *it = last ? &tail : &body->u.block.items[i];
        const symbol *seer = it->kind == ITEM_FN ? NULL : seer_in(l, it);
        if (seer == NULL) continue;
        warn(l, seer, let, it->value->at);
        return;
    }
}

static void look(looking *l, const pattern *p, int at) {
    const program *from = &l->e->program;
    for (int i = 0; p->kind == PATTERN_TUPLE && i < p->count; i++) look(l, p->items[i], at);
    for (int i = 0; p->kind == PATTERN_NAME && i < from->global_count; i++) {
        if (from->global_symbols[i]->name != p->name) continue;
        find_seers(l, from->global_symbols[i]);
        if (l->count > 0) look_behind(l, p, at);
    }
}

bool workspace_warn_of_old(engine *e) {
    const expr *body = e->program.main.body;
    uint32_t begin = workspace_input_begin(e);
    looking l = {.e = e};
    int count = body->u.block.count;
    for (int i = 0; i < count && !l.failed; i++) {
        const item *it = &body->u.block.items[i];
        bool alone = i == count - 1 && body->u.block.tail == NULL;
        if (it->kind != ITEM_LET || it->at.begin < begin || alone || e->program.global_count == 0) continue;
        if (l.captures == NULL) {
            l.captures = captures_find(&e->program);
            l.seers = ARENA_ARRAY(&e->a, symbol *, count);
            if (l.captures == NULL || l.seers == NULL) return false;
        }
        look(&l, it->pattern, i);
    }
    return !l.failed;
}
