/* What the session has: :type, :vars, :load, :reload, :reset, :quit. */
#include <string.h>

#include "interp/tools/repl/command.h"
#include "interp/tools/session.h"
#include "runtime/context.h"
#include "runtime/print.h"

/* ---- :type ---- */

static bool answer_type(repl *r, engine *e, const char *rest, text *t) {
    const expr *found = command_expression(e);
    (void)rest;
    if (found == NULL) return commands_misused(COMMAND_type, &r->c->err);
    type_print(e->program.dims, found->type, t);
    text_add_char(t, '\n');
    return true;
}

void command_type(repl *r, const char *rest) {
    if (rest[0] == '\0') {
        command_misused(r, COMMAND_type);
    } else {
        command_ask(r, rest, rest, answer_type);
    }
}

/* ---- :vars ---- */

static bool answer_vars(repl *r, const char *rest, text *t) {
    (void)rest;
    for (int i = 0; i < workspace_count(&r->w); i++) {
        const workspace_entry *e = workspace_at(&r->w, i);
        text_format(t, "%s: %s", e->name, e->type);
        if (e->v.kind == VALUE_NUMBER) {
            text_add(t, " = ");
            value_print(t, &e->v, false);
        }
        text_add_char(t, '\n');
        if (e->aside != NULL) text_format(t, "  set aside: %s\n", e->aside);
    }
    if (workspace_count(&r->w) == 0) text_add(t, "nothing has been defined yet\n");
    return true;
}

void command_vars(repl *r, const char *rest) { command_say(r, rest, answer_vars); }

/* ---- files ---- */

/* Where there is no memory for it, :load works and :reload does not know of it. */
static void remember(repl *r, const char *path) {
    for (size_t at = 0; at < r->loaded.length; at += strlen(r->loaded.data + at) + 1) {
        if (strcmp(r->loaded.data + at, path) == 0) return;
    }
    text_add_bytes(&r->loaded, path, strlen(path) + 1);
}

/* A file that can be read is remembered, whatever is wrong in it: it may be mended and reloaded. */
static void enter_file(repl *r, const char *path) {
    session s;
    session_init(&s, r->c);
    if (session_read(&s, path)) {
        remember(r, path);
        source_text given = {.path = path, .folder = s.folder, .text = s.text, .length = s.length, .first_line = 1};
        (void)repl_enter(r, &given);
    } else {
        repl_report(r, NULL);
    }
    session_close(&s);
}

void command_load(repl *r, const char *rest) {
    if (rest[0] == '\0') {
        command_misused(r, COMMAND_load);
    } else if (command_files_allowed(r, COMMAND_load)) {
        text path;
        text_init(&path, r->c);
        if (command_path(rest, &path)) {
            enter_file(r, text_data(&path));
        } else {
            repl_report(r, NULL);
        }
        text_close(&path);
    }
}

/* One that fails does not keep the others from it. */
void command_reload(repl *r, const char *rest) {
    (void)rest;
    if (r->loaded.length == 0) {
        error_set(&r->c->err, ERROR_K0801, (span){0, 0}, "no file has been loaded");
        error_help(&r->c->err, ":load FILE reads one");
        repl_report(r, NULL);
    }
    for (size_t at = 0; at < r->loaded.length; at += strlen(r->loaded.data + at) + 1) enter_file(r, r->loaded.data + at);
}

/* ---- the whole ---- */

void command_reset(repl *r, const char *rest) {
    (void)rest;
    workspace_clear(&r->w);
    text_clear(&r->loaded);
    text_clear(&r->counts);
}

void command_quit(repl *r, const char *rest) {
    (void)rest;
    r->leaving = true;
}
