/* The errors of the ownership pass: what is said, and where.
 *
 * After the first error about a tensor nothing more is said about it. */
#include "interp/own_state.h"

#include <string.h>

static bool is_name_byte(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_';
}

/* How the text at `at` names a tensor, where it is a name or a projection of one; else `otherwise`.
 */
static const char *name_at(own *o, span at, const char *otherwise) {
    const source *src = o->program->src;
    if (otherwise == NULL) otherwise = "tensor";
    if (at.end <= at.begin || at.end > src->length) return otherwise;
    for (uint32_t i = at.begin; i < at.end; i++) {
        if (!is_name_byte(src->text[i]) && src->text[i] != '.') return otherwise;
    }
    const char *name = arena_text(&o->a, src->text + at.begin, at.end - at.begin);
    if (name != NULL) return name;
    o->failed = true;
    return otherwise;
}

static const char *end_word(end_kind kind) {
    static const char *const words[] = {"dropped", "moved into the loop", "taken"};
    return words[kind];
}

/* Says which tensor it is where the text uses another name for it. */
static void add_other_name(own *o, diag *e, const char *said, const owned *t, const owned *cause) {
    if (cause->name == NULL || cause->session || strcmp(said, cause->name) == 0) return;
    const char *how = cause == t ? "is" : "may be";
    diag_add_label(o->diags, e, cause->at, "this tensor, `%s`, %s what `%s` names", cause->name,
                   how, said);
}

static diag *used_after(own *o, const ending *end, const char *name, span at) {
    switch (end->kind) {
    case END_DROP: return diag_error(o->diags, ERROR_K0405, at, "`%s` is used after drop", name);
    case END_MOVE:
        return diag_error(o->diags, ERROR_K0406, at, "`%s` is used after a loop took it", name);
    case END_TAKE: break;
    }
    return diag_error(o->diags, ERROR_K0408, at, "the tape `%s` is used after %s took it", name,
                      end->taker);
}

/* What to write instead of a use of what `then` names. */
static void help_used(own *o, diag *e, const owned *t, const ending *end, const char *then) {
    if (end->kind == END_DROP) {
        diag_add_help(o->diags, e, "move `drop(%s)` behind the last use", then);
    } else if (!t->linear) {
        diag_add_help(o->diags, e, "give the loop a tensor of its own: `[%s = copy(%s)]`",
                      end->taker, then);
    } else if (end->kind == END_TAKE && strcmp(end->taker, "`push`") == 0) {
        diag_add_help(o->diags, e, "go on with the tape that `push` gives: `let %s = push(%s, ...);`",
                      then, then);
    } else if (end->kind == END_TAKE && strcmp(end->taker, "`pop`") == 0) {
        diag_add_help(o->diags, e, "go on with the tape that `pop` gives: `let (%s, x) = pop(%s);`",
                      then, then);
    } else {
        diag_add_help(o->diags, e, "a tape is used up once; go on with the one that comes of it");
    }
}

void own_report_used(own *o, owned *t, span at) {
    if (t->quiet || t->end->cause->quiet) return;
    const ending *end = t->end;
    t->quiet = end->cause->quiet = true;
    const char *name = name_at(o, at, t->name);
    diag *e = used_after(o, end, name, at);
    diag_label_primary(o->diags, e, "used again here");
    const char *then = name_at(o, end->at, end->cause->name);
    if (strcmp(then, name) == 0) {
        diag_add_label(o->diags, e, end->at, "%s here", end_word(end->kind));
    } else {
        diag_add_label(o->diags, e, end->at, "%s here, as `%s`", end_word(end->kind), then);
    }
    add_other_name(o, e, name, t, end->cause);
    help_used(o, e, t, end, then);
}

/* Labels the primary place, and says there by which other name the tensor goes. */
static void label_as(own *o, diag *e, const char *what, const char *said, const char *name) {
    if (strcmp(said, name) == 0) {
        diag_label_primary(o->diags, e, "%s here", what);
    } else {
        diag_label_primary(o->diags, e, "%s here: `%s` is, or may be, `%s`", what, said, name);
    }
}

void own_report_outer_end(own *o, owned *t, end_kind kind, span at) {
    if (t->quiet) return;
    t->quiet = true;
    const char *said = name_at(o, at, t->name), *name = t->name != NULL ? t->name : said;
    const char *where = o->in_condition ? "condition" : "body";
    static const char *const does[] = {"drops it", "moves it into another loop", "uses it up"};
    const char *what = does[kind];
    diag *e = diag_error(o->diags, ERROR_K0407, at, "`%s` is bound outside of the loop %s that %s",
                         name, where, what);
    label_as(o, e, end_word(kind), said, name);
    if (t->name != NULL && !t->session) diag_add_label(o->diags, e, t->at, "bound here");
    if (t->linear) {
        diag_add_help(o->diags, e, "let the loop carry the tape: `[%s = %s]`", said, said);
    } else if (kind == END_DROP) {
        diag_add_help(o->diags, e, "drop it behind the loop, or not at all: it ends by itself");
    } else {
        diag_add_help(o->diags, e, "give the inner loop a tensor of its own: `copy(%s)`", said);
    }
}

void own_report_outer_yield(own *o, owned *t, span at) {
    if (t->quiet) return;
    t->quiet = true;
    const char *said = name_at(o, at, t->name), *name = t->name != NULL ? t->name : said;
    diag *e = diag_error(o->diags, ERROR_K0404, at,
                         "`%s` is bound outside of the loop and yielded as it is", name);
    label_as(o, e, "yielded", said, name);
    diag_add_label(o->diags, e, t->at, "bound here");
    if (t->linear) {
        diag_add_help(o->diags, e, "let the loop carry the tape: `[%s = %s]`", said, said);
    } else {
        diag_add_help(o->diags, e, "yield a tensor of its own: `copy(%s)`", said);
    }
}

void own_report_twice(own *o, owned *t, span first, span again) {
    if (t->quiet) return;
    t->quiet = true;
    const char *before = name_at(o, first, t->name), *name = name_at(o, again, t->name);
    const char *tensor = t->name != NULL ? t->name : name;
    diag *e = diag_error(o->diags, ERROR_K0403, again, "`%s` is yielded in two places", tensor);
    label_as(o, e, "yielded again", name, tensor);
    if (strcmp(before, tensor) == 0) {
        diag_add_label(o->diags, e, first, "yielded here");
    } else {
        diag_add_label(o->diags, e, first, "yielded here: `%s` is, or may be, `%s`", before,
                       tensor);
    }
    if (t->linear) {
        diag_add_help(o->diags, e, "a tape is in one place only; `tape()` makes another");
    } else {
        diag_add_help(o->diags, e, "give one of the places a tensor of its own: `copy(%s)`", name);
    }
}

/* The checker's warning that a name is never used, where the error says so too and helps better. */
static void remove_warning(own *o, span at) {
    diag **link = &o->diags->first;
    for (; *link != NULL; link = &(*link)->next) {
        diag *w = *link;
        if (w->code != ERROR_W0101 || w->at.begin != at.begin || w->at.end != at.end) continue;
        *link = w->next;
        if (w->next == NULL) o->diags->last = link;
        o->diags->warnings--;
        return;
    }
}

/* ---- tapes ---- */

void own_report_left(own *o, owned *t) {
    if (t->quiet) return;
    t->quiet = true;
    remove_warning(o, t->at);
    const char *name = t->name != NULL ? t->name : "tape";
    diag *e = diag_error(o->diags, ERROR_K0409, t->at, "the tape `%s` is left over", name);
    diag_label_primary(o->diags, e, "nothing uses it up");
    if (o->program->session && t->home == &o->program->main) {
        diag_add_help(o->diags, e, "a session keeps no tape: go on with it in the same input, or `drop(%s)`", name);
    } else {
        diag_add_help(o->diags, e, "return it or end it: `drop(%s)`, or `_` where it is bound", name);
    }
}

void own_report_unnamed(own *o, span at) {
    diag *e = diag_error(o->diags, ERROR_K0409, at, "a tape is left over here");
    diag_label_primary(o->diags, e, "this gives a tape, which nothing can use up");
    diag_add_help(o->diags, e, "take it with a name, `let t = ...;` or `let (t, x) = ...;`, and go on with it; "
                               "`_` or `drop` ends it");
}

void own_report_path(own *o, owned *t, const ending *end, span at) {
    if (t->quiet) return;
    t->quiet = true;
    const char *name = name_at(o, end->at, t->name);
    diag *e = diag_error(o->diags, ERROR_K0410, at, "the tape `%s` is used up on one path only", name);
    diag_label_primary(o->diags, e, "not by every branch of this `if`");
    diag_add_label(o->diags, e, end->at, "%s here", end_word(end->kind));
    diag_add_help(o->diags, e, "let the `if` give the tape, from every branch: "
                               "`let %s = if (c) { push(%s, x) } else { %s };`", name, name, name);
}

void own_report_maybe(own *o, owned *t, const ending *end, span at) {
    if (t->quiet) return;
    t->quiet = true;
    diag *e = diag_error(o->diags, ERROR_K0704, at, "the session's `%s` is dropped on one path only", t->name);
    diag_label_primary(o->diags, e, "not by every branch of this `if`");
    diag_add_label(o->diags, e, end->at, "%s here", end_word(end->kind));
    diag_add_help(o->diags, e, "drop it in every branch, or by an input of its own");
}

void own_report_captured(own *o, owned *t, span at) {
    if (t->quiet) return;
    t->quiet = true;
    const char *name = name_at(o, at, t->name);
    diag *e = diag_error(o->diags, ERROR_K0411, at, "the tape `%s` belongs to another function", name);
    diag_label_primary(o->diags, e, "used here");
    diag_add_label(o->diags, e, t->at, "bound here");
    diag_add_help(o->diags, e, "pass it as a parameter, and return it if it is used afterwards");
}

/* ---- leaks ---- */

/* Points at the one read of n that does not count, and keeps quiet about the bindings it was for.
 */
static void add_vain_reader(own *o, diag *e, use_node *n) {
    const char *reader = NULL;
    for (use_node *r = n->read_by; r != NULL && !r->quiet; r = r->read_by) {
        r->quiet = true;
        if (reader == NULL) reader = r->name;
    }
    if (reader == NULL) return;
    diag_add_label(o->diags, e, n->read_at, "read here only for `%s`, which nothing uses", reader);
}

void own_report_leak(own *o, const symbol *carried, use_node *n) {
    n->quiet = true;
    diag *e = diag_error(
        o->diags, ERROR_K0401, carried->at,
        "the carried tensor `%s` leaks: the loop body neither yields, reads nor drops it",
        carried->name);
    diag_label_primary(o->diags, e, "carried here");
    add_vain_reader(o, e, n);
    diag_add_help(o->diags, e, "end it in the body with `drop(%s)`, or do not carry it",
                  carried->name);
}

void own_report_unused(own *o, const symbol *let, use_node *n) {
    n->quiet = true;
    remove_warning(o, let->at);
    diag *e = diag_error(o->diags, ERROR_K0402, let->at,
                         "the tensor `%s` is made in a loop body and nothing uses it", let->name);
    diag_label_primary(o->diags, e, "bound here, in every iteration");
    add_vain_reader(o, e, n);
    diag_add_help(o->diags, e,
                  "write `_` for the name where the value is not wanted, or `drop(%s)`", let->name);
}
