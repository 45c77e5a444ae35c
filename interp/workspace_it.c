/* `it` is another value with each input that has one. What a session keeps as text would see each of them in turn, so
 * it may not use `it`. */
#include <string.h>

#include "interp/lower.h"
#include "interp/workspace_state.h"

static const symbol *symbol_of_it(const program *p) {
    for (int i = 0; i < p->global_count; i++) {
        if (strcmp(p->globals[i].name, "it") == 0) return p->global_symbols[i];
    }
    return NULL;
}

static bool kept_as_text(const item *it) {
    if (it->kind == ITEM_FN) return true;
    return it->kind == ITEM_LET && it->pattern->kind == PATTERN_NAME && it->pattern->symbol->type->kind == TYPE_FN;
}

bool workspace_free_of_it(engine *e) {
    const symbol *s = symbol_of_it(&e->program);
    const expr *body = e->program.main.body;
    for (int i = 0; s != NULL && i < body->u.block.count; i++) {
        const item *each = &body->u.block.items[i];
        bool reads = false;
        if (each->at.begin < workspace_input_begin(e) || !kept_as_text(each)) continue;
        if (!captures_item_reads(&e->program, each, s, &reads)) return false;
        if (!reads) continue;
        bool fn = each->kind == ITEM_FN;
        diag *d = diag_error(&e->diags, ERROR_K0704, fn ? each->fn->symbol->at : each->pattern->at,
                             "`%s` uses `it`, which each input changes", fn ? each->fn->name : each->pattern->name);
        diag_add_help(&e->diags, d, "`let k = it;` first, and use `k`");
    }
    return e->diags.errors == 0;
}
