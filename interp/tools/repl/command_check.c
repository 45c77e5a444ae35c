/* Holding a derivative against something else: :check, :certify. */
#include <string.h>

#include "interp/tools/certifier.h"
#include "interp/tools/gradchecker.h"
#include "interp/tools/repl/command.h"
#include "runtime/context.h"

/* ---- :check ---- */

static bool check_drawn(repl *r, engine *e, const char *rest, text *t) {
    const gradchecker_wish w = {.name = rest, .full = r->out->full};
    bool differs = false;
    e->options.repeated = true;
    if (command_function(r, e, COMMAND_check, rest) == NULL) return false;
    return gradchecker_check(e, &w, t, &differs);
}

static bool check_call(repl *r, engine *e, const char *rest, text *t) {
    const fn_decl *fn = command_called(r, e, COMMAND_check);
    (void)rest;
    if (fn == NULL) return false;
    value *args = ARENA_ARRAY(&e->a, value, fn->count);
    if (args == NULL || !engine_arguments(e, args)) return false;
    e->options.repeated = true;
    const gradchecker_wish w = {.name = fn->known_as, .args = args, .full = r->out->full};
    bool differs = false, ok = gradchecker_check(e, &w, t, &differs);
    for (int i = 0; i < fn->count; i++) value_release(r->c, args[i]);
    return ok;
}

void command_check(repl *r, const char *rest) {
    if (rest[0] == '\0') {
        command_misused(r, COMMAND_check);
    } else if (strchr(rest, '(') != NULL) {
        command_run(r, rest, rest, check_call);
    } else {
        command_run(r, "", rest, check_drawn);
    }
}

/* ---- :certify ---- */

static bool answer_certify(repl *r, engine *e, const char *rest, text *t) {
    e->options.repeated = true;
    const certify_wish w = {.inputs = CERTIFIER_INPUTS, .order = 2};
    bool differs = false;
    if (command_function(r, e, COMMAND_certify, rest) == NULL) return false;
    return certifier_check(e, rest, &w, t, &differs);
}

void command_certify(repl *r, const char *rest) {
    if (rest[0] == '\0') {
        command_misused(r, COMMAND_certify);
    } else {
        command_ask(r, "", rest, answer_certify);
    }
}
