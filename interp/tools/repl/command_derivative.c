/* Looking at a function's derivative: :grad, :source, :tape. */
#include <string.h>

#include "interp/nan_check.h"
#include "interp/tools/grad.h"
#include "interp/tools/repl/command.h"
#include "interp/tools/repl/summary.h"
#include "interp/tools/tape.h"
#include "interp/vanish.h"
#include "runtime/context.h"
#include "runtime/print.h"

/* ---- :grad ---- */

enum { SHOWN = 64 };    /* elements of a tensor that is shown beside its summary */

/* "grad w: tensor<F64, [3]>, norm 1.5, largest -1.2 at [1]", on two lines where one is too short. */
static void add_head(const repl *r, text *t, const result *one, const summary *s) {
    text shown, numbers;
    text_init(&shown, t->c);
    text_init(&numbers, t->c);
    value_print_type(&shown, &one->v);
    summary_print(&numbers, &one->v, s);
    size_t width = strlen(one->name) + shown.length + numbers.length + strlen(": , ");
    show_name(r, t, one->name, text_data(&shown));
    if (numbers.length > 0) text_format(t, "%s%s", width > SHOW_COLUMNS ? "\n  " : ", ", text_data(&numbers));
    t->failed |= shown.failed || numbers.failed;
    text_close(&shown);
    text_close(&numbers);
}

static void add_result(const repl *r, text *t, const result *one, const summary *s) {
    add_head(r, t, one, s);
    bool whole = r->out->full || value_size(&one->v) <= SHOWN;
    if (whole) {
        text_add(t, one->v.kind == VALUE_TENSOR ? "\n" : " = ");
        show_elements(r, t, &one->v);
    }
    text_add_char(t, '\n');
}

/* Runs it once more with a look at each op. */
static bool note_special(engine *e, const char *name, text *t) {
    watch looking;
    results again = {.count = 0};
    context *c = e->c;
    nan_check_open(&looking, c);
    bool ok = engine_run(e, &again);
    nan_check_close(&looking, c);
    results_release(c, &again);
    if (!ok && c->err.code != ERROR_K0516) return false;
    text_format(t, "  note: %s is not finite", name);
    if (!ok) {
        uint32_t line, column;
        source_position(&e->src, c->err.where.begin, &line, &column);
        text_format(t, ":\n    %s\n    at line %u, column %u", c->err.message, line, column);
        const char *file = source_elsewhere(&e->src, c->err.where.begin);
        if (file != NULL) text_format(t, " of %s", file);
        text_add_char(t, '\n');
        for (unsigned i = 0; i < c->err.note_count && i < ERROR_NOTES; i++) text_format(t, "    %s\n", c->err.note[i].text);
        error_clear(&c->err);
    } else {
        text_add(t, ", since what it is computed from is not\n");
    }
    return true;
}

static bool note_zeros(engine *e, const char *name, int which, text *t) {
    vanish why;
    if (!vanish_find(e, which, &why)) return false;
    text_format(t, "  note: %s is all zeros", name);
    if (why.cause != VANISH_UNKNOWN) text_add(t, ":\n    ");
    vanish_print(t, &e->src, &why);
    text_add_char(t, '\n');
    return true;
}

static bool answer_grad(repl *r, engine *e, const char *rest, text *t) {
    (void)rest;
    results found = {.count = 0};
    bool noted = false, ok = engine_run(e, &found);
    e->options.repeated = true; /* for the notes */
    for (int i = 0; ok && i < found.count; i++) {
        const result *one = &found.items[i];
        summary s = summary_of(&one->v);
        add_result(r, t, one, &s);
        if (!s.finite && !noted) {
            ok = note_special(e, one->name, t);
            noted = true;
        } else if (i > 0 && s.zeros) {
            ok = note_zeros(e, one->name, i - 1, t);
        }
    }
    results_release(r->c, &found);
    return ok;
}

void command_grad(repl *r, const char *rest) { command_run_handle(r, COMMAND_grad, rest, answer_grad); }

/* ---- :tape ---- */

static bool answer_tape(repl *r, engine *e, const char *rest, text *t) {
    (void)rest;
    const tape_wish wish = {.full = r->out->full};
    return tape_show(e, &wish, t);
}

void command_tape(repl *r, const char *rest) { command_run_handle(r, COMMAND_tape, rest, answer_tape); }

/* ---- :source ---- */

/* As the verb grad has it. */
static bool answer_source(repl *r, engine *e, const char *rest, text *t) {
    char name[COMMAND_WORD], mode[COMMAND_WORD];
    options wanted = {.verb = VERB_grad};
    derivative_wish wish;
    derivative made;
    if (!command_word(&rest, name)) return commands_misused(COMMAND_source, &r->c->err);
    if (command_function(r, e, COMMAND_source, name) == NULL) return false;
    wanted.value[OPTION_fn].text = name;
    if (command_word(&rest, mode) && !options_set(&wanted, OPTION_mode, mode, &r->c->err)) return false;
    if (rest[0] != '\0') return commands_misused(COMMAND_source, &r->c->err);
    return grad_wish(&wanted, e, &wish) && derive_program(e, &wish, t, &made);
}

void command_source(repl *r, const char *rest) { command_ask(r, "", rest, answer_source); }
