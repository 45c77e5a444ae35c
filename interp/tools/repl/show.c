/* What an input has given, as text: definitions with their types, results under their names. */
#include <string.h>

#include "interp/tools/repl/repl.h"
#include "runtime/print.h"

void show_name(const repl *r, text *t, const char *name, const char *shown) {
    const char *on = r->style.color ? "\033[1m" : "", *off = r->style.color ? "\033[0m" : "";
    text_format(t, "%s%s%s: %s", on, name, off, shown);
}

void show_elements(const repl *r, text *t, const value *v) {
    if (r->out->full) {
        value_print(t, v, true);
    } else {
        value_print_fitted(t, v, SHOW_COLUMNS);
    }
}

/* "x: F32 = 2.5" for a number; a header line and the elements for a tensor. */
static void add_value(const repl *r, text *t, const char *name, const char *shown, const value *v) {
    show_name(r, t, name, shown);
    if (v == NULL || v->kind == VALUE_NONE) return;
    text_add(t, v->kind == VALUE_TENSOR ? "\n" : " = ");
    show_elements(r, t, v);
}

static void add_definition(const repl *r, text *t, const workspace_news *n) {
    const workspace_entry *e = n->entry;
    add_value(r, t, e->name, e->type, e->v.kind == VALUE_NUMBER ? &e->v : NULL);
    text_add(t, n->change == CHANGE_REDEFINED && e->text != NULL ? " (redefined)\n" : "\n");
}

/* "g, h, which use f, were checked again": from news[i] on; returns the first that is about something else. */
static int add_checked(text *t, const workspace_news *news, int count, int i) {
    int first = i;
    for (; i < count && news[i].change == CHANGE_CHECKED && strcmp(news[i].of, news[first].of) == 0; i++)
        text_format(t, "%s, ", news[i].name);
    bool one = i == first + 1;
    text_format(t, "which %s %s, %s checked again\n", one ? "uses" : "use", news[first].of, one ? "was" : "were");
    return i;
}

static void add_news(const repl *r, text *t, const workspace_news *news, int count) {
    for (int i = 0; i < count;) {
        const workspace_news *n = &news[i];
        switch (n->change) {
        case CHANGE_DEFINED:
        case CHANGE_REDEFINED: add_definition(r, t, n); break;
        case CHANGE_ASIDE: text_format(t, "%s does not check any more and is set aside:\n  %s\n", n->name, n->why); break;
        case CHANGE_BACK: text_format(t, "%s checks again: it is back\n", n->name); break;
        case CHANGE_DROPPED: text_format(t, "%s is dropped\n", n->name); break;
        case CHANGE_CHECKED: i = add_checked(t, news, count, i); continue;
        }
        i++;
    }
}

static void add_result(const repl *r, text *t, const char *name, const value *v) {
    text shown;
    text_init(&shown, t->c);
    value_print_type(&shown, v);
    add_value(r, t, name, text_data(&shown), v);
    text_add_char(t, '\n');
    t->failed |= shown.failed;
    text_close(&shown);
}

/* Where nothing better is known, a result's name is how it is reached from `it`. */
static int add_parts(const repl *r, text *t, const char *name, const value *v, const results *named, int at) {
    if (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) {
        const char *own = named->items[at].name;
        bool known = own[0] < '0' || own[0] > '9';
        add_result(r, t, known ? own : name, v);
        return at + 1;
    }
    for (int i = 0; v->kind == VALUE_TUPLE && i < v->as.tuple->count; i++) {
        text part;
        text_init(&part, t->c);
        text_format(&part, "%s.%d", name, i);
        at = add_parts(r, t, text_data(&part), &v->as.tuple->item[i], named, at);
        t->failed |= part.failed;
        text_close(&part);
    }
    return at;
}

void show_outcome(const repl *r, const workspace_outcome *o, text *t) {
    add_news(r, t, o->news, o->news_count);
    /* A function is shown by its type; () not at all. */
    if (o->last.kind == VALUE_FUNCTION) text_format(t, "%s\n", o->type);
    (void)add_parts(r, t, "it", &o->last, &o->results, 0);
}
