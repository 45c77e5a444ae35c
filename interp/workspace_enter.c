/* Running an input, and keeping what it defines. */
#include <string.h>

#include "interp/lower.h"
#include "interp/workspace_state.h"
#include "runtime/context.h"
#include "runtime/print.h"

/* What an input gives a meaning to. */
typedef struct found {
    workspace_entry entry;      /* FN, LET: complete; VALUE: without a value yet */
    const symbol *symbol;
    struct found *next;
} found;

typedef struct entering {
    workspace *w;
    engine *e;
    found *first, **last;
    int values;                 /* how many of them are values */
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

/* The start of the line before the one that starts there; there itself for the first of the input. */
static uint32_t line_before(const source *src, uint32_t start, uint32_t lowest) {
    if (start <= lowest) return start;
    for (start--; start > lowest && src->text[start - 1] != '\n';) start--;
    return start;
}

/* Where the comment directly above an item begins, which stays with it; where the item does if there is none. */
static uint32_t begin_of(const engine *e, uint32_t begin) {
    const char *all = e->src.text;
    uint32_t lowest = workspace_input_begin(e), start = begin, above;
    while (start > lowest && strchr(" \t", all[start - 1]) != NULL) start--;
    if (start > lowest && all[start - 1] != '\n') return begin;
    uint32_t first = start;
    while ((above = line_before(&e->src, first, lowest)) < first) {
        const char *words = all + above + strspn(all + above, " \t");
        if (words[0] != '/' || words[1] != '/') break;
        first = above;
    }
    return first < start ? first : begin;
}

/* The item, with the comment above it, as a piece of its own that starts in the same column; a let with its
 * semicolon. */
static void keep_text(entering *n, found *f, const item *it) {
    const source *src = &n->e->src;
    text t, shown;
    uint32_t column;
    text_init(&t, n->e->c);
    text_init(&shown, n->e->c);
    uint32_t begin = begin_of(n->e, it->at.begin);
    source_position(src, begin, &f->entry.line, &column);
    text_add_repeat(&t, ' ', column - 1);
    text_add_bytes(&t, src->text + begin, it->at.end - begin);
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
    diag *d =
        diag_error(&n->e->diags, ERROR_K0704, p->at, "a session keeps `%s`, a function, by its text alone", p->name);
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
            find_pattern(n, it->pattern, it);
        }
    }
    for (found *f = n->first; f != NULL; f = f->next) n->values += !workspace_text(&f->entry);
    return !n->failed;
}

/* The text of a let is all that is kept of it, so it cannot use what its name meant before. */
static bool check_own_name(entering *n, const found *f) {
    const expr *body = n->e->program.main.body;
    const item *own = NULL;
    const symbol *before = NULL;
    for (int i = 0; i < body->u.block.count && own == NULL; i++) {
        const item *it = &body->u.block.items[i];
        if (it->kind == ITEM_FN && strcmp(it->fn->name, f->entry.name) == 0) before = it->fn->symbol;
        if (it->kind != ITEM_LET || it->pattern->kind != PATTERN_NAME) continue;
        if (it->pattern->symbol == f->symbol) {
            own = it;
        } else if (it->pattern->symbol->name == f->symbol->name) {
            before = it->pattern->symbol;
        }
    }
    bool reads = false;
    if (own == NULL || before == NULL) return true;
    if (!captures_item_reads(&n->e->program, own, before, &reads)) return false;
    if (!reads) return true;
    const char *name = f->entry.name;
    diag *d =
        diag_error(&n->e->diags, ERROR_K0704, f->symbol->at, "a session cannot keep what `%s` was before it", name);
    diag_add_help(&n->e->diags, d, "give the new function another name, such as `%s2`", name);
    return false;
}

bool workspace_keepable(engine *e) {
    entering n = {.e = e};
    n.last = &n.first;
    bool ok = find_all(&n);
    for (found *f = n.first; ok && f != NULL; f = f->next) {
        if (f->entry.kind == WORKSPACE_LET) ok = check_own_name(&n, f);
    }
    return ok;
}

/* ---- the run ---- */

static const char *type_of(entering *n, const value *v) {
    text t;
    text_init(&t, n->e->c);
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
    if (!workspace_list_add(n->e->c, list, entry)) return false;
    if (old >= 0) workspace_list_remove(n->e->c, list, old);
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

/* ---- what has changed ---- */

static bool news_add(entering *n, workspace_outcome *out, workspace_news news) {
    for (int i = 0; i < out->news_count; i++) {
        const workspace_news *other = &out->news[i];
        if (other->change == news.change && strcmp(other->name, news.name) == 0) return true;
    }
    workspace_news *more = ARENA_ARRAY(&n->e->a, workspace_news, out->news_count + 1);
    if (more == NULL) return false;
    if (out->news_count > 0) memcpy(more, out->news, (size_t)out->news_count * sizeof *more);
    more[out->news_count++] = news;
    out->news = more;
    return true;
}

static const workspace_entry *entry_in(const workspace_list *list, const char *name) {
    int i = workspace_list_find(list, name);
    return i < 0 ? NULL : &list->items[i]->entry;
}

static bool tell_defined(entering *n, const workspace_list *list, workspace_outcome *out) {
    for (found *f = n->first; f != NULL; f = f->next) {
        workspace_news news = {.change = CHANGE_DEFINED, .name = f->entry.name};
        if (entry_in(&n->w->entries, news.name) != NULL) news.change = CHANGE_REDEFINED;
        news.entry = entry_in(list, news.name);
        if (!news_add(n, out, news)) return false;
    }
    for (int i = 0; i < n->e->program.global_count; i++) {
        const symbol *s = n->e->program.global_symbols[i];
        if (s->dropped && entry_in(list, s->name) == NULL &&
            !news_add(n, out, (workspace_news){.change = CHANGE_DROPPED, .name = s->name}))
            return false;
    }
    return true;
}

/* Whether a name is to other definitions what it was: a value of the same type. */
static bool is_same(const workspace_entry *before, const workspace_entry *now) {
    if (before == NULL || now == NULL) return before == now;
    return !workspace_text(before) && before->kind == now->kind && strcmp(before->type, now->type) == 0;
}

static bool is_new(const workspace_outcome *out, const char *name) {
    for (int i = 0; i < out->news_count; i++) {
        if (strcmp(out->news[i].name, name) == 0) return true;
    }
    return false;
}

typedef struct telling {
    entering *n;
    const workspace_list *list;
    workspace_outcome *out;
    const char *of;
} telling;

static bool tell_user(void *self, const char *name) {
    const telling *t = self;
    if (is_new(t->out, name)) return true;
    workspace_news news = {.change = CHANGE_CHECKED, .of = t->of, .entry = entry_in(t->list, name)};
    if (news.entry == NULL) return true;
    news.name = news.entry->name;
    return news_add(t->n, t->out, news);
}

static bool tell_checked(entering *n, const workspace_list *list, engine *checked, workspace_outcome *out) {
    for (int i = 0; i < list->count; i++) {
        const workspace_entry *now = &list->items[i]->entry, *before = entry_in(&n->w->entries, now->name);
        bool was = before != NULL && before->aside != NULL, is = now->aside != NULL;
        workspace_news news = {.change = is ? CHANGE_ASIDE : CHANGE_BACK, .name = now->name, .why = now->aside};
        news.entry = now;
        bool own = !is && is_new(out, now->name);
        if (was != is && before != NULL && !own && !news_add(n, out, news)) return false;
    }
    int changed = out->news_count;
    for (int i = 0; i < changed; i++) {
        telling t = {n, list, out, out->news[i].name};
        bool other = out->news[i].change == CHANGE_REDEFINED;
        if (!other || is_same(entry_in(&n->w->entries, t.of), out->news[i].entry)) continue;
        if (!workspace_users(checked, t.of, tell_user, &t)) return false;
    }
    return true;
}

/* The definitions are checked again when a name that they might use is another thing. */
static bool needs_check(const entering *n, const workspace_list *list) {
    bool texts = false, other = false;
    for (int i = 0; i < list->count; i++) {
        const workspace_entry *now = &list->items[i]->entry, *before = entry_in(&n->w->entries, now->name);
        texts |= workspace_text(now);
        other |= now != before && !is_same(before, now);
    }
    for (int i = 0; i < n->w->entries.count; i++)
        other |= workspace_list_find(list, workspace_at(n->w, i)->name) < 0;
    return texts && other;
}

static bool check_again(entering *n, workspace_list *list, workspace_outcome *out) {
    if (!needs_check(n, list)) return true;
    engine checked;
    context *c = n->e->c;
    /* What is known of the run's loops is the input's engine's, and stays. */
    const context_stats stats = c->stats;
    c->stats.loops = NULL;
    c->stats.loop_count = c->stats.loop_room = 0;
    bool ok = workspace_check(n->w, list, &checked, &n->e->a) && tell_checked(n, list, &checked, out);
    engine_close(&checked);
    c->stats = stats;
    return ok;
}

/* ---- all of it ---- */

static bool show_type(entering *n, workspace_outcome *out) {
    const expr *tail = n->e->program.main.body->u.block.tail;
    if (tail == NULL) return true;
    text t;
    text_init(&t, n->e->c);
    type_print(n->e->program.dims, tail->type, &t);
    if (!t.failed) out->type = arena_text(&n->e->a, text_data(&t), t.length);
    text_close(&t);
    return out->type != NULL;
}

static void drop_variables(entering *n, workspace_list *list) {
    for (int i = 0; i < n->e->program.global_count; i++) {
        const symbol *s = n->e->program.global_symbols[i];
        int at = s->dropped ? workspace_list_find(list, s->name) : -1;
        if (at >= 0) workspace_list_remove(n->e->c, list, at);
    }
}

static bool conclude(entering *n, value *bound, workspace_outcome *out) {
    workspace_list list;
    if (!workspace_list_copy(n->e->c, &n->w->entries, &list)) return false;
    drop_variables(n, &list);
    bool ok = put_all(n, &list, bound, &out->last) && tell_defined(n, &list, out) && check_again(n, &list, out) &&
              results_flatten(&n->e->a, &out->last, n->e->program.main.body->u.block.tail, &out->results);
    if (ok) {
        workspace_list_clear(n->e->c, &n->w->entries);
        n->w->entries = list;
    } else {
        workspace_list_clear(n->e->c, &list);
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
    bool ok = show_type(&n, out) && conclude(&n, bound, out);
    for (int i = 0; i < n.values; i++) value_release(w->c, bound[i]);
    if (!ok) workspace_outcome_release(w->c, out);
    return ok;
}

void workspace_outcome_release(context *c, workspace_outcome *out) {
    results_release(c, &out->results);
    value_release(c, out->last);
    *out = (workspace_outcome){.last = value_unit()};
}
