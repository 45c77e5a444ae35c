/* What there is and what it means: :help, :doc, :explain. */
#include <string.h>

#include "interp/builtin.h"
#include "interp/tools/arguments.h"
#include "interp/tools/explain.h"
#include "interp/tools/nearest.h"
#include "interp/tools/repl/command.h"
#include "interp/tools/repl/keyword.h"
#include "runtime/context.h"

enum { BUILTINS = (int)OP_COUNT + (int)BUILTIN_COUNT };

/* ---- :doc ---- */

/* "softmax(x, axis=-1)" and what it is; of an operator only what it is. */
static void add_builtin(text *t, int builtin) {
    const char *name = builtin_name(builtin), *signature = builtin_signature(builtin);
    bool called = signature[0] != '\0' || (name[0] >= 'A' && name[0] <= 'z');
    text_format(t, called ? "%s(%s)\n\n" : "%s%s\n\n", name, signature);
    text_add_filled(t, builtin_doc(builtin), SHOW_COLUMNS);
}

/* The comment lines that its text begins with, if any. */
static const char *add_comment(text *t, const char *words, uint32_t *lines) {
    for (*lines = 0;; ++*lines) {
        const char *p = words + strspn(words, " \t");
        size_t length = strcspn(p, "\n");
        if (p[0] != '/' || p[1] != '/') return words;
        text_add_bytes(t, p, length);
        text_add_char(t, '\n');
        words = p + length + (p[length] == '\n');
    }
}

static void add_signature(text *t, const program *p, const fn_decl *fn) {
    text flat;
    text_init(&flat, t->c);
    arguments_signature(p, fn, false, &flat);
    arguments_signature(p, fn, flat.length > SHOW_COLUMNS, t);
    text_close(&flat);
}

static void add_entry(text *t, const engine *e, const workspace_entry *d) {
    const fn_decl *fn = d->kind == WORKSPACE_FN ? program_find(&e->program, d->name) : NULL;
    uint32_t above = 0;
    if (d->text != NULL) (void)add_comment(t, d->text, &above);
    if (fn != NULL) {
        add_signature(t, &e->program, fn);
    } else {
        text_format(t, "%s: %s", d->name, d->type);
    }
    text_format(t, "\n\ndefined at %s:%u\n", d->path, d->line + above);
    if (d->aside != NULL) text_format(t, "set aside: %s\n", d->aside);
}

static bool is_unknown(repl *r, const char *name) {
    nearest n = nearest_to(name);
    for (int i = 0; i < BUILTINS; i++) nearest_try(&n, builtin_name(i));
    for (int i = 0; keyword_at(i) != NULL; i++) nearest_try(&n, keyword_at(i));
    for (int i = 0; i < workspace_count(&r->w); i++) nearest_try(&n, workspace_at(&r->w, i)->name);
    error_set(&r->c->err, ERROR_K0801, (span){0, 0}, "nothing is called '%.40s'%s%s%s", name,
              n.found != NULL ? ", did you mean '" : "", n.found != NULL ? n.found : "", n.found != NULL ? "'?" : "");
    return false;
}

static bool answer_doc(repl *r, engine *e, const char *rest, text *t) {
    const workspace_entry *own = workspace_find(&r->w, rest);
    int builtin = builtin_named(rest);
    if (own != NULL) {
        add_entry(t, e, own);
    } else if (builtin >= 0) {
        add_builtin(t, builtin);
    } else if (!keyword_print(rest, t)) {
        return is_unknown(r, rest);
    }
    return true;
}

void command_doc(repl *r, const char *rest) {
    if (rest[0] == '\0') {
        command_misused(r, COMMAND_doc);
    } else {
        command_ask(r, "", rest, answer_doc);
    }
}

/* ---- :explain ---- */

static bool answer_explain(repl *r, const char *rest, text *t) {
    error_code code = ERROR_NONE;
    if (rest[0] != '\0' && !explain_find(rest, &code, &r->c->err)) return false;
    if (code != ERROR_NONE) {
        explain_page(t, code);
    } else {
        explain_list(t);
    }
    return true;
}

void command_explain(repl *r, const char *rest) { command_say(r, rest, answer_explain); }

/* ---- :help ---- */

static bool answer_help(repl *r, const char *rest, text *t) {
    command_id id;
    if (rest[0] == ':') rest++;
    if (rest[0] == '\0') {
        commands_list(t);
        return true;
    }
    if (strpbrk(rest, " \t") != NULL) return commands_misused(COMMAND_help, &r->c->err);
    if (!commands_find(rest, strlen(rest), &id, &r->c->err)) return false;
    commands_help(t, id);
    return true;
}

static bool is_keyword(const char *word) {
    int i = 0;
    while (keyword_at(i) != NULL && strcmp(keyword_at(i), word) != 0) i++;
    return keyword_at(i) != NULL;
}

void command_help(repl *r, const char *rest) {
    command_id id;
    error unknown = {.code = ERROR_NONE};
    bool known = rest[0] != '\0' && (builtin_named(rest) >= 0 || is_keyword(rest));
    bool builtin = known && !commands_find(rest, strlen(rest), &id, &unknown);
    if (builtin) {
        command_doc(r, rest);
    } else {
        command_say(r, rest, answer_help);
    }
}
