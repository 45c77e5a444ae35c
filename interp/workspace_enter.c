/* Running an input, and keeping what it defines. */
#include <string.h>

#include "interp/workspace_state.h"
#include "runtime/context.h"
#include "runtime/print.h"

/* What an input gives a meaning to. */
typedef struct found {
    workspace_entry entry;      /* FN, LET: complete; VALUE, DIM: without a value yet */
    const symbol *symbol;
    struct found *next;
} found;

typedef struct entering {
    workspace *w;
    engine *e;
    found *first, **last;
    int values;                 /* how many of them are values and dims */
    bool failed;
} entering;

/* ---- what the input defines ---- */

static found *find_entry(entering *n, workspace_kind kind, const symbol *s) {
    found *f = ARENA_NEW(&n->e->a, found);
    if (f == NULL) {
        n->failed = true;
        return NULL;
    }
    uint32_t column;
    const source_piece *p = source_piece_at(&n->e->src, s->at.begin);
    *f = (found){.entry = {.kind = kind, .name = s->name, .path = p->path, .folder = p->folder}, .symbol = s};
    source_position(&n->e->src, s->at.begin, &f->entry.line, &column);
    for (found **each = &n->first; *each != NULL; each = &(*each)->next) {
        if (strcmp((*each)->entry.name, s->name) != 0) continue;
        if (n->last == &(*each)->next) n->last = each; /* the input itself defines the name again */
        *each = (*each)->next;
        break;
    }
    *n->last = f;
    n->last = &f->next;
    return f;
}

/* The item as a piece of its own that starts in the same column; a let with its semicolon. */
static void keep_text(entering *n, found *f, const item *it) {
    const source *src = &n->e->src;
    text t, shown;
    uint32_t column;
    text_init(&t, n->w->c);
    text_init(&shown, n->w->c);
    source_position(src, it->at.begin, &f->entry.line, &column);
    text_add_repeat(&t, ' ', column - 1);
    text_add_bytes(&t, src->text + it->at.begin, it->at.end - it->at.begin);
    if (it->kind == ITEM_LET && src->text[it->at.end - 1] != ';') text_add_char(&t, ';');
    type_print(n->e->program.dims, f->symbol->type, &shown);
    f->entry.text = arena_text(&n->e->a, text_data(&t), t.length);
    f->entry.type = arena_text(&n->e->a, text_data(&shown), shown.length);
    n->failed |= t.failed || shown.failed || f->entry.text == NULL || f->entry.type == NULL;
    text_close(&t);
    text_close(&shown);
}

static bool holds_function(const type *t) {
    if (t->kind == TYPE_FN) return true;
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++) {
        if (holds_function(t->items[i])) return true;
    }
    return false;
}

static void refuse_function(entering *n, const pattern *p) {
    diag *d = diag_error(&n->e->diags, ERROR_K0704, p->at, "a session keeps `%s`, a function, by its text alone", p->name);
    diag_add_help(&n->e->diags, d, "bind it by a let of its own: `let %s = ...;`", p->name);
    n->failed = true;
}

static void find_pattern(entering *n, const pattern *p, const item *let) {
    for (int i = 0; p->kind == PATTERN_TUPLE && i < p->count && !n->failed; i++) find_pattern(n, p->items[i], let);
    if (p->kind != PATTERN_NAME) return;
    bool as_text = holds_function(p->symbol->type);
    if (as_text && p != let->pattern) {
        refuse_function(n, p);
        return;
    }
    found *f = find_entry(n, as_text ? WORKSPACE_LET : WORKSPACE_VALUE, p->symbol);
    if (as_text && f != NULL) keep_text(n, f, let);
}

static void find_dims(entering *n, const type_expr *t) {
    for (int i = 0; t != NULL && t->kind == TYPE_EXPR_TUPLE && i < t->count; i++) find_dims(n, t->items[i]);
    for (int i = 0; t != NULL && t->kind == TYPE_EXPR_TENSOR && i < t->count; i++) {
        const expr *d = t->dims[i];
        if (d->kind == EXPR_NAME && d->u.name.binds) (void)find_entry(n, WORKSPACE_DIM, d->u.name.symbol);
    }
}

static bool find_all(entering *n) {
    const expr *body = n->e->program.main.body;
    uint32_t begin = workspace_input_begin(n->e);
    for (int i = 0; i < body->u.block.count && !n->failed; i++) {
        const item *it = &body->u.block.items[i];
        if (it->at.begin < begin) continue;
        if (it->kind == ITEM_FN) {
            found *f = find_entry(n, WORKSPACE_FN, it->fn->symbol);
            if (f != NULL) keep_text(n, f, it);
        } else if (it->kind == ITEM_LET) {
            find_dims(n, it->type);
            find_pattern(n, it->pattern, it);
        }
    }
    for (found *f = n->first; f != NULL; f = f->next) n->values += !workspace_text(&f->entry);
    return !n->failed;
}

bool workspace_keepable(workspace *w, engine *e) {
    entering n = {.w = w, .e = e};
    n.last = &n.first;
    return find_all(&n);
}

/* ---- the run ---- */

static const char *type_of(entering *n, const value *v) {
    text t;
    text_init(&t, n->w->c);
    value_print_type(&t, v);
    const char *kept = t.failed ? NULL : arena_text(&n->e->a, text_data(&t), t.length);
    text_close(&t);
    return kept;
}

static bool run(entering *n, value *bound, value *last) {
    const symbol **symbols = ARENA_ARRAY(&n->e->a, const symbol *, n->values + 1);
    if (symbols == NULL) return false;
    int count = 0;
    for (found *f = n->first; f != NULL; f = f->next) {
        if (!workspace_text(&f->entry)) symbols[count++] = f->symbol;
    }
    return engine_keep(n->e, symbols, count, bound, last);
}

static bool can_be_kept(const value *v) {
    if (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) return true;
    for (int i = 0; v->kind == VALUE_TUPLE && i < v->as.tuple->count; i++) {
        if (!can_be_kept(&v->as.tuple->item[i])) return false;
    }
    return v->kind == VALUE_TUPLE;
}

/* ---- the session after it ---- */

static bool put(entering *n, workspace_list *list, const workspace_entry *entry) {
    int old = workspace_list_find(list, entry->name);
    if (!workspace_list_add(n->w->c, list, entry)) return false;
    if (old >= 0) workspace_list_remove(n->w->c, list, old);
    return true;
}

static bool put_it(entering *n, workspace_list *list, const value *last) {
    if (!can_be_kept(last)) return true;
    workspace_entry it = {.kind = WORKSPACE_VALUE, .name = "it", .path = "", .v = *last};
    it.type = type_of(n, last);
    const source_piece *p = &n->e->src.pieces[n->e->src.piece_count - 1];
    it.path = p->path;
    it.line = p->first_line;
    return it.type != NULL && put(n, list, &it);
}

static bool put_all(entering *n, workspace_list *list, value *bound, const value *last) {
    int at = 0;
    for (found *f = n->first; f != NULL; f = f->next) {
        if (!workspace_text(&f->entry)) {
            f->entry.v = bound[at++];
            f->entry.type = type_of(n, &f->entry.v);
            if (f->entry.type == NULL) return false;
        }
        if (!put(n, list, &f->entry)) return false;
    }
    return put_it(n, list, last);
}

static bool tell(entering *n, const workspace_list *list, workspace_outcome *out) {
    int room = 0;
    for (found *f = n->first; f != NULL; f = f->next) room++;
    out->news = ARENA_ARRAY(&n->e->a, workspace_news, room + 1);
    if (out->news == NULL) return false;
    for (found *f = n->first; f != NULL; f = f->next) {
        bool before = workspace_list_find(&n->w->entries, f->entry.name) >= 0;
        const workspace_entry *now = &list->items[workspace_list_find(list, f->entry.name)]->entry;
        out->news[out->news_count++] = (workspace_news){
            .change = before ? CHANGE_REDEFINED : CHANGE_DEFINED, .name = f->entry.name, .entry = now};
    }
    return true;
}

static bool conclude(entering *n, value *bound, workspace_outcome *out) {
    workspace_list list;
    if (!workspace_list_copy(n->w->c, &n->w->entries, &list)) return false;
    bool ok = put_all(n, &list, bound, &out->last) && tell(n, &list, out) &&
              results_flatten(&n->e->a, &out->last, n->e->program.main.body->u.block.tail, &out->results);
    if (ok) {
        workspace_list_clear(n->w->c, &n->w->entries);
        n->w->entries = list;
    } else {
        workspace_list_clear(n->w->c, &list);
    }
    return ok;
}

bool workspace_enter(workspace *w, engine *e, workspace_outcome *out) {
    *out = (workspace_outcome){.last = value_unit()};
    entering n = {.w = w, .e = e};
    n.last = &n.first;
    if (!find_all(&n)) return false;
    value *bound = ARENA_ARRAY(&e->a, value, n.values + 1), last;
    if (bound == NULL || !run(&n, bound, &last)) return false;
    out->last = last;
    const expr *tail = e->program.main.body->u.block.tail;
    out->type = tail != NULL ? tail->type : NULL;
    bool ok = conclude(&n, bound, out);
    for (int i = 0; i < n.values; i++) value_release(w->c, bound[i]);
    if (!ok) workspace_outcome_release(w->c, out);
    return ok;
}

void workspace_outcome_release(context *c, workspace_outcome *out) {
    results_release(c, &out->results);
    value_release(c, out->last);
    *out = (workspace_outcome){.last = value_unit()};
}
