/* Variables and files: :save, :read. */
#include <string.h>

#include "interp/tools/nearest.h"
#include "interp/tools/repl/command.h"
#include "runtime/context.h"
#include "runtime/npy.h"
#include "runtime/print.h"

static const span nowhere = {0, 0};

/* ---- :save ---- */

static bool find_variable(repl *r, const char *name, const workspace_entry **out) {
    error *e = &r->c->err;
    nearest n = nearest_to(name);
    *out = workspace_find(&r->w, name);
    if (*out != NULL && (*out)->v.kind == VALUE_TUPLE) {
        error_set(e, ERROR_K0801, nowhere, "'%s' is a tuple, and a .npy file holds one tensor", name);
        error_help(e, "bind a part of it and save that: let part = %s.0", name);
        return false;
    }
    if (*out != NULL && ((*out)->v.kind == VALUE_TENSOR || (*out)->v.kind == VALUE_NUMBER)) return true;
    if (*out != NULL) return error_set(e, ERROR_K0801, nowhere, "'%s' is a function, not a value", name);
    for (int i = 0; i < workspace_count(&r->w); i++) nearest_try(&n, workspace_at(&r->w, i)->name);
    error_set(e, ERROR_K0801, nowhere, "no variable is called '%.40s'%s%s%s", name, n.found != NULL ? ", did you mean '" : "",
              n.found != NULL ? n.found : "", n.found != NULL ? "'?" : "");
    error_help(e, ":vars lists them");
    return false;
}

static bool save(repl *r, const char *rest, text *t) {
    char name[COMMAND_WORD];
    const workspace_entry *found;
    if (!command_word(&rest, name) || rest[0] == '\0') return commands_misused(COMMAND_save, &r->c->err);
    const char *dot = strrchr(rest, '.');
    if (dot == NULL || strcmp(dot, ".npy") != 0)
        return error_set(&r->c->err, ERROR_K0801, nowhere, ":save writes .npy files, and '%s' is no name of one", rest);
    if (!find_variable(r, name, &found) || !npy_save(r->c, rest, &found->v, -1, nowhere)) return false;
    text_format(t, "%s: %s, saved in %s\n", name, found->type, rest);
    return true;
}

/* ---- :read ---- */

static bool read_variable(repl *r, const char *rest, text *t) {
    char name[COMMAND_WORD];
    value v;
    if (!command_word(&rest, name) || rest[0] == '\0') return commands_misused(COMMAND_read, &r->c->err);
    if (!command_is_name(r->c, name))
        return error_set(&r->c->err, ERROR_K0801, nowhere, "'%.40s' cannot be the name of a variable", name);
    if (!npy_load(r->c, rest, -1, nowhere, &v)) return false;
    text_format(t, "%s: ", name);
    value_print_type(t, &v);
    if (v.kind == VALUE_NUMBER) {
        text_add(t, " = ");
        value_print(t, &v, false);
    }
    text_add_char(t, '\n');
    return workspace_bind(&r->w, name, v, "<repl>", r->line);
}

/* With the path as the file system has it. */
static void say_with_path(repl *r, const char *rest, command_words words) {
    char name[COMMAND_WORD];
    text t;
    text_init(&t, r->c);
    const char *path = rest;
    if (command_word(&path, name)) text_add_bytes(&t, rest, (size_t)(path - rest));
    if (command_path(path, &t)) {
        command_say(r, text_data(&t), words);
    } else {
        repl_report(r, NULL);
    }
    text_close(&t);
}

void command_save(repl *r, const char *rest) {
    if (command_files_allowed(r, COMMAND_save)) say_with_path(r, rest, save);
}

void command_read(repl *r, const char *rest) {
    if (command_files_allowed(r, COMMAND_read)) say_with_path(r, rest, read_variable);
}
