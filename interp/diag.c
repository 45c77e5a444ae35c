/* Gathering diagnostics. All of their text lives in the arena; a diagnostic that finds no memory,
 * or comes after DIAG_MOST others, is counted and its parts go to the sink. */
#include "interp/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"

void diagnostics_init(diagnostics *d, arena *a, const source *src) {
    *d = (diagnostics){.a = a, .src = src};
    d->last = &d->first;
}

/* The formatted text in the arena; "" when there is no memory for it. */
static const char *keep_text(diagnostics *d, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int wanted = vsnprintf(NULL, 0, format, arguments);
    size_t room = wanted < 0 ? 1 : (size_t)wanted + 1;
    char *out = arena_take(d->a, room);
    if (out != NULL) vsnprintf(out, room, format, again);
    va_end(again);
    return out != NULL ? out : "";
}

/* `found` counts the diagnostics of the new one's kind, without it. */
static diag *new_diag(diagnostics *d, unsigned *found, error_code code, span at) {
    diag *e = *found < DIAG_MOST ? ARENA_NEW(d->a, diag) : NULL;
    *found += *found < UINT32_MAX;
    if (e == NULL) {
        d->sink = (diag){.code = code, .at = at, .message = "", .label = ""};
        return &d->sink;
    }
    *e = (diag){.code = code, .at = at, .message = "", .label = ""};
    *d->last = e;
    d->last = &e->next;
    return e;
}

diag *diag_error(diagnostics *d, error_code code, span at, const char *format, ...) {
    diag *e = new_diag(d, &d->errors, code, at);
    if (e == &d->sink) return e;
    va_list arguments;
    va_start(arguments, format);
    e->message = keep_text(d, format, arguments);
    va_end(arguments);
    return e;
}

diag *diag_warning(diagnostics *d, error_code code, span at, const char *format, ...) {
    diag *e = new_diag(d, &d->warnings, code, at);
    e->warning = true;
    if (e == &d->sink) return e;
    va_list arguments;
    va_start(arguments, format);
    e->message = keep_text(d, format, arguments);
    va_end(arguments);
    return e;
}

void diag_label_primary(diagnostics *d, diag *e, const char *format, ...) {
    if (e == &d->sink) return;
    va_list arguments;
    va_start(arguments, format);
    e->label = keep_text(d, format, arguments);
    va_end(arguments);
}

void diag_add_help(diagnostics *d, diag *e, const char *format, ...) {
    if (e == &d->sink) return;
    va_list arguments;
    va_start(arguments, format);
    e->help = keep_text(d, format, arguments);
    va_end(arguments);
}

/* Appends to *list, so that labels and notes keep the order in which they were added. */
static void append_label(diagnostics *d, diag_label **list, span at, const char *words) {
    diag_label *label = ARENA_NEW(d->a, diag_label);
    if (label == NULL) return;
    *label = (diag_label){.at = at, .text = words};
    while (*list != NULL) list = &(*list)->next;
    *list = label;
}

void diag_add_label(diagnostics *d, diag *e, span at, const char *format, ...) {
    if (e == &d->sink) return;
    va_list arguments;
    va_start(arguments, format);
    append_label(d, &e->labels, at, keep_text(d, format, arguments));
    va_end(arguments);
}

void diag_add_note(diagnostics *d, diag *e, span at, const char *format, ...) {
    if (e == &d->sink) return;
    va_list arguments;
    va_start(arguments, format);
    append_label(d, &e->notes, at, keep_text(d, format, arguments));
    va_end(arguments);
}

/* A recursion comes by the same place again and again. */
static bool said_before(const error *e, unsigned at) {
    const error_note *n = &e->note[at];
    for (unsigned i = 0; i < at; i++) {
        const error_note *other = &e->note[i];
        bool same = other->where.begin == n->where.begin && other->where.end == n->where.end;
        if (same && strcmp(other->text, n->text) == 0) return true;
    }
    return false;
}

void diag_from_error(diagnostics *d, const error *e) {
    if (e->code == ERROR_NONE) return;
    diag *out = diag_error(d, e->code, e->where, "%s", e->message);
    if (e->help[0] != '\0') diag_add_help(d, out, "%s", e->help);
    unsigned shown = 0;
    for (unsigned i = 0; i < e->note_count && i < ERROR_NOTES; i++) {
        if (said_before(e, i)) continue;
        diag_add_note(d, out, e->note[i].where, "%s", e->note[i].text);
        shown++;
    }
    if (e->note_count > shown) {
        diag_add_note(d, out, (span){0, 0}, "and %u more like %s", e->note_count - shown, shown == 1 ? "this" : "these");
    }
}
