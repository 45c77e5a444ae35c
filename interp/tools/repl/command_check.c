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
    return gradchecker_check(e, &w, t, &differs);
}

/* The function that the final expression calls; NULL: it is no such call. */
static const fn_decl *called(const engine *e) {
    const expr *call = command_expression(e);
    if (call == NULL || call->kind != EXPR_CALL || call->u.call.builtin != NULL) return NULL;
    const expr *callee = call->u.call.callee;
    const symbol *s = callee->kind == EXPR_NAME ? callee->u.name.symbol : NULL;
    return s != NULL ? s->fn : NULL;
}

static bool check_call(repl *r, engine *e, const char *rest, text *t) {
    const fn_decl *fn = called(e);
    (void)rest;
    if (fn == NULL) return commands_misused(COMMAND_check, &r->c->err);
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
    (void)r;
    return certifier_check(e, rest, &w, t, &differs);
}

void command_certify(repl *r, const char *rest) {
    if (rest[0] == '\0') {
        command_misused(r, COMMAND_certify);
    } else {
        command_ask(r, "", rest, answer_certify);
    }
}
