/* Which function a command is about: the one that it names, or the call that it is given. */
#include <string.h>

#include "interp/builtin.h"
#include "interp/lexer.h"
#include "interp/tools/arguments.h"
#include "interp/tools/nearest.h"
#include "interp/tools/repl/command.h"
#include "runtime/context.h"

static const span nowhere = {0, 0};

/* ---- a name ---- */

bool command_is_name(context *c, const char *word) {
    arena a;
    source src;
    lexer l;
    arena_init(&a, c);
    bool ok = source_init(&src, &a, "", word, strlen(word));
    if (ok) {
        lexer_init(&l, &src);
        ok = lexer_next(&l).kind == TOKEN_NAME && lexer_next(&l).kind == TOKEN_END;
    }
    arena_close(&a);
    return ok;
}

static void help_wrap(error *e, const char *name) {
    error_help(e, "wrap it in a function: fn f(x: F64) -> F64 { %.30s(x) }", name);
}

/* What the session or the language has under this name is no function of the session's. */
static void say_what_it_is(repl *r, const char *name) {
    error *e = &r->c->err;
    const workspace_entry *own = workspace_find(&r->w, name);
    nearest n = nearest_to(name);
    if (own != NULL && own->aside != NULL) {
        error_set(e, ERROR_K0802, nowhere, "`%s` does not check any more and is set aside", name);
        error_add_note(e, nowhere, "%s", own->aside);
        error_help(e, "define `%s` again", name);
    } else if (own != NULL && own->kind == WORKSPACE_VALUE) {
        error_set(e, ERROR_K0802, nowhere, "`%s` is a variable, not a function", name);
    } else if (own != NULL) {
        error_set(e, ERROR_K0802, nowhere, "`%s` is a let that binds a function, not an `fn`", name);
        help_wrap(e, name);
    } else if (builtin_named(name) >= 0) {
        error_set(e, ERROR_K0802, nowhere, "`%s` is a builtin, not a function of the session", name);
        help_wrap(e, name);
    } else {
        for (int i = 0; i < workspace_count(&r->w); i++) {
            if (workspace_at(&r->w, i)->kind != WORKSPACE_VALUE) nearest_try(&n, workspace_at(&r->w, i)->name);
        }
        error_set(e, ERROR_K0802, nowhere, "no function is called '%.40s'%s%s%s", name,
                  n.found != NULL ? ", did you mean '" : "", n.found != NULL ? n.found : "", n.found != NULL ? "'?" : "");
    }
}

fn_decl *command_function(repl *r, engine *e, command_id id, const char *name) {
    if (!command_is_name(r->c, name)) {
        if (r->c->err.code != ERROR_NONE) return NULL;
        error_set(&r->c->err, ERROR_K0801, nowhere, ":%s wants the name of a function, and '%.40s' is none",
                  command_table[id].word, name);
        error_help(&r->c->err, ":%s is written :%s %s", command_table[id].word, command_table[id].word,
                   command_table[id].arguments);
        return NULL;
    }
    fn_decl *found = program_find(&e->program, name);
    if (found == NULL) say_what_it_is(r, name);
    return found;
}

fn_decl *command_called(repl *r, engine *e, command_id id) {
    const expr *call = command_expression(e);
    bool named = call != NULL && call->kind == EXPR_CALL && call->u.call.callee->kind == EXPR_NAME;
    const symbol *s = named ? call->u.call.callee->u.name.symbol : NULL;
    if (s != NULL && s->fn != NULL) return s->fn;
    if (named) {
        say_what_it_is(r, call->u.call.callee->u.name.name);
    } else {
        (void)commands_misused(id, &r->c->err);
    }
    return NULL;
}

/* ---- a call ---- */

/* The one expression that the words are; NULL with the reason reported, where there is one. */
static const expr *only_expression(repl *r, const char *words, engine *e) {
    const source_text typed = repl_typed(r, words, strlen(words));
    engine_init(e, r->c, r->w.with);
    if (!engine_parse(e, &typed, 1)) {
        repl_report(r, e);
        return NULL;
    }
    return e->program.main.body->u.block.count == 0 ? command_expression(e) : NULL;
}

/* A name is given, and no call: it may be that of a function, whose parameters are shown. */
static void want_call(repl *r, command_id id, const char *name) {
    const char *word = command_table[id].word;
    engine e;
    text t;
    text_init(&t, r->c);
    if (repl_load(r, "", &e)) {
        const fn_decl *fn = program_find(&e.program, name);
        if (fn != NULL) arguments_signature(&e.program, fn, false, &t);
        error_set(&r->c->err, ERROR_K0801, nowhere, ":%s wants a call, with arguments", word);
        if (fn != NULL) error_help(&r->c->err, "write :%s %s(...) for %s", word, name, text_data(&t));
        if (fn == NULL) error_help(&r->c->err, ":help %s shows an example", word);
        repl_report(r, NULL);
    }
    text_close(&t);
    engine_close(&e);
}

void command_run_handle(repl *r, command_id id, const char *rest, command_answer answer) {
    engine e;
    text t;
    text_init(&t, r->c);
    const expr *given = only_expression(r, rest, &e);
    bool handle = given != NULL && given->kind == EXPR_HANDLE, call = given != NULL && given->kind == EXPR_CALL;
    bool name = given != NULL && given->kind == EXPR_NAME, wrong = !call && !handle && !name && e.diags.errors == 0;
    /* Without comments, and what else stands around it. */
    if (given != NULL) text_add_bytes(&t, e.src.text + given->at.begin, given->at.end - given->at.begin);
    engine_close(&e);
    text whole;
    text_init(&whole, r->c);
    text_format(&whole, handle ? "%s" : "handle %s with reverseMode", text_data(&t));
    if (t.failed || whole.failed) {
        repl_report(r, NULL);
    } else if (wrong) {
        command_misused(r, id);
    } else if (name) {
        want_call(r, id, text_data(&t));
    } else if (call || handle) {
        command_run(r, text_data(&whole), rest, answer);
    }
    text_close(&whole);
    text_close(&t);
}
