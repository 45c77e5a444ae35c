/* A session's definitions and variables, and loading an input behind them. */
#include "interp/workspace.h"

#include <string.h>

#include "interp/workspace_state.h"
#include "runtime/context.h"
#include "runtime/print.h"

void workspace_init(workspace *w, context *c, engine_options with) {
    *w = (workspace){.c = c, .with = with};
    w->with.session = true;
}

void workspace_clear(workspace *w) { workspace_list_clear(w->c, &w->entries); }

void workspace_close(workspace *w) { workspace_clear(w); }

int workspace_count(const workspace *w) { return w->entries.count; }

const workspace_entry *workspace_at(const workspace *w, int i) { return &w->entries.items[i]->entry; }

const workspace_entry *workspace_find(const workspace *w, const char *name) {
    int i = workspace_list_find(&w->entries, name);
    return i < 0 ? NULL : workspace_at(w, i);
}

bool workspace_bind(workspace *w, const char *name, value v, const char *path, uint32_t line) {
    text shown;
    text_init(&shown, w->c);
    value_print_type(&shown, &v);
    workspace_entry like = {.kind = WORKSPACE_VALUE, .name = name, .path = path, .line = line, .v = v};
    like.type = text_data(&shown);
    bool ok = !shown.failed && workspace_list_add(w->c, &w->entries, &like);
    text_close(&shown);
    value_release(w->c, v);
    if (!ok) return false;
    int old = workspace_list_find(&w->entries, name);
    if (old < w->entries.count - 1) workspace_list_remove(w->c, &w->entries, old);
    return true;
}

/* ---- the program of an input ---- */

bool workspace_text(const workspace_entry *e) { return e->kind == WORKSPACE_FN || e->kind == WORKSPACE_LET; }

bool workspace_assemble(const workspace_list *list, const bool *out, const source_text *input, engine *e) {
    int room = list->count + 1, pieces = 0, globals = 0;
    source_text *piece = ARENA_ARRAY(&e->a, source_text, room);
    global *variable = ARENA_ARRAY(&e->a, global, room);
    if (piece == NULL || variable == NULL) return false;
    for (int i = 0; i < list->count; i++) {
        const workspace_entry *d = &list->items[i]->entry;
        if (!workspace_text(d)) {
            variable[globals++] = (global){.name = d->name, .v = &d->v};
        } else if (!out[i]) {
            piece[pieces++] = (source_text){d->path, d->folder, d->text, strlen(d->text), d->line};
        }
    }
    if (input != NULL) piece[pieces++] = *input;
    if (pieces == 0) piece[pieces++] = (source_text){.path = "", .text = "", .first_line = 1};
    e->options.globals = variable;
    e->options.global_count = globals;
    return engine_load_pieces(e, piece, pieces);
}

/* Functions that the input defines stand in for those of the session. */
static void leave_out_defined(const workspace_list *list, const program *input, bool *out) {
    const expr *body = input->main.body;
    for (int i = 0; i < body->u.block.count; i++) {
        const item *it = &body->u.block.items[i];
        int at = it->kind == ITEM_FN ? workspace_list_find(list, it->fn->name) : -1;
        if (at >= 0) out[at] = true;
    }
}

uint32_t workspace_input_begin(const engine *e) { return e->src.pieces[e->src.piece_count - 1].begin; }

/* The definitions were warned of when they were new. */
static void forget_old_warnings(engine *e) {
    diagnostics *d = &e->diags;
    uint32_t begin = workspace_input_begin(e);
    diag **link = &d->first;
    while (*link != NULL) {
        if ((*link)->warning && (*link)->at.begin < begin) {
            *link = (*link)->next;
            d->warnings--;
        } else {
            link = &(*link)->next;
        }
    }
    d->last = link;
}

/* What the input defines anew may be another thing to the definitions that use it: those that are wrong then are left
 * out too. If the input is wrong without them, it is loaded once more with them, so that all errors are shown. */
static bool load_sound(const workspace_list *list, const bool *out, const source_text *input, engine *e) {
    bool *less = ARENA_ARRAY(&e->a, bool, list->count + 1);
    const char **why = ARENA_ARRAY(&e->a, const char *, list->count + 1);
    if (less == NULL || why == NULL) return false;
    memcpy(less, out, (size_t)list->count * sizeof *less);
    int found = 0, all = 0;
    do {
        if (workspace_assemble(list, less, input, e)) return true;
        if (e->c->err.code != ERROR_NONE || !workspace_exclude(list, e, &e->a, less, why, &found)) return false;
        all += found;
    } while (found > 0);
    return all > 0 && workspace_assemble(list, out, input, e);
}

/* A name that is not defined because its definition was set aside. */
static void explain_aside(const workspace *w, engine *e) {
    for (diag *d = e->diags.first; d != NULL; d = d->next) {
        if (d->code != ERROR_K0101) continue;
        for (int i = 0; i < w->entries.count; i++) {
            const workspace_entry *x = workspace_at(w, i);
            size_t length = strlen(x->name);
            if (x->aside == NULL || d->at.end - d->at.begin != length) continue;
            if (memcmp(e->src.text + d->at.begin, x->name, length) != 0) continue;
            diag_add_note(&e->diags, d, (span){0, 0}, "`%s` does not check any more and is set aside", x->name);
            diag_add_note(&e->diags, d, (span){0, 0}, "%s", x->aside);
            diag_add_help(&e->diags, d, "define `%s` again", x->name);
        }
    }
}

bool workspace_load(workspace *w, const source_text *input, engine *e) {
    engine_init(e, w->c, w->with);
    if (!engine_parse(e, input, 1)) return false;
    bool *out = ARENA_ARRAY(&e->a, bool, w->entries.count + 1);
    if (out == NULL) return false;
    for (int i = 0; i < w->entries.count; i++) out[i] = workspace_at(w, i)->aside != NULL;
    leave_out_defined(&w->entries, &e->program, out);
    bool ok = load_sound(&w->entries, out, input, e) && workspace_keepable(e) && workspace_free_of_it(e) &&
              workspace_warn_of_old(e);
    if (w->c->err.code != ERROR_NONE) return false;
    if (!ok) explain_aside(w, e);
    forget_old_warnings(e);
    return ok;
}
