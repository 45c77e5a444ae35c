/* The loop of the prompt: reads an input, is it a command or text, evaluates, shows. */
#include "interp/tools/repl/repl.h"

#include <string.h>
#include <unistd.h>

#include "interp/tools/process.h"
#include "interp/tools/repl/evaluation.h"
#include "interp/tools/repl/rc.h"
#include "interp/tools/repl/terminal.h"
#include "interp/tools/settings.h"
#include "runtime/context.h"

/* ---- showing ---- */

void repl_print(repl *r, text *t) {
    if (!t->failed) output_text(r->out, t);
    text_clear(t);
}

void repl_report(repl *r, const engine *e) {
    fflush(stdout);
    bool loaded = e != NULL && e->src.text != NULL;
    bool known = r->c->err.code != ERROR_NONE;
    if (known || (loaded && e->diags.errors > 0)) r->failed = true;
    if (loaded && !known) known = !report_diagnostics(r->c, &e->diags, r->style);
    if (known) (void)report_error(r->c, loaded ? &e->src : NULL, r->style);
}

/* ---- one input ---- */

void repl_begin(repl *r) {
    context *c = r->c;
    c->stats = (context_stats){.loops = c->stats.loops, .loop_count = c->stats.loop_count, .loop_room = c->stats.loop_room};
    c->mem.peak = c->mem.live;
    settings_start(r->o, c);
}

static bool enter_loaded(repl *r, engine *e) {
    workspace_outcome out;
    evaluation run;
    text t;
    evaluation_begin(r, &run);
    bool ok = workspace_enter(&r->w, e, &out);
    evaluation_end(r, &run, e);
    if (!ok) return false;
    text_init(&t, r->c);
    show_outcome(r, &out, &t);
    ok = !t.failed;
    repl_print(r, &t);
    text_close(&t);
    workspace_outcome_release(r->c, &out);
    return ok;
}

/* Words of other prompts that someone new to this one tries. */
static void help_newcomer(const source_text *given, engine *e) {
    static const char *const words[][2] = {
        {"quit", "`:quit` leaves"}, {"exit", "`:quit` leaves"}, {"help", "`:help` lists the commands"}};
    diag *d = e->diags.first;
    if (d == NULL || d->code != ERROR_K0101) return;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t length = strlen(words[i][0]);
        if (given->length < length || memcmp(given->text, words[i][0], length) != 0) continue;
        bool alone = given->length == length;
        bool called = given->length == length + 2 && memcmp(given->text + length, "()", 2) == 0;
        if (alone || called) diag_add_help(&e->diags, d, "%s", words[i][1]);
    }
}

bool repl_enter(repl *r, const source_text *given) {
    engine e;
    repl_begin(r);
    bool ok = workspace_load(&r->w, given, &e);
    if (!ok) help_newcomer(given, &e);
    if (ok) repl_report(r, &e); /* warnings */
    if (!ok || !enter_loaded(r, &e)) {
        repl_report(r, &e);
        ok = false;
    }
    engine_close(&e);
    return ok;
}

source_text repl_typed(const repl *r, const char *words, size_t length) {
    return (source_text){.path = r->path, .text = words, .length = length, .first_line = r->line};
}

bool repl_load(repl *r, const char *words, engine *e) {
    source_text typed = repl_typed(r, words, strlen(words));
    repl_begin(r);
    bool ok = workspace_load(&r->w, &typed, e);
    repl_report(r, e);
    return ok;
}

/* ---- the loop ---- */

void repl_answer(repl *r) {
    input *in = &r->typed;
    while (in->text.length > 0 && strchr(" \t\n", in->text.data[in->text.length - 1]) != NULL)
        in->text.data[--in->text.length] = '\0';
    const char *words = text_data(&in->text);
    if (in->text.length == 0) return;
    if (r->in->remember != NULL) {
        r->in->remember(r->in, words, in->text.length);
        repl_report(r, NULL);
    }
    if (words[strspn(words, " \t\n")] == ':') {
        command_do(r, words + strspn(words, " \t\n"));
    } else {
        source_text typed = repl_typed(r, words, in->text.length);
        typed.first_line = r->line + 1 - (uint32_t)in->lines;
        (void)repl_enter(r, &typed);
    }
    settings_rest(r->c);
}

/* Reads lines until the input is whole. */
reader_result repl_read(repl *r) {
    input *in = &r->typed;
    const char *line;
    size_t length;
    input_clear(in);
    reader_result found = r->in->line(r->in, REPL_PROMPT, &line, &length);
    while (found == READER_LINE) {
        r->line++;
        bool whole = input_add(in, line, length);
        bool command = in->lines == 1 && line[strspn(line, " \t")] == ':';
        if (whole || command) break;
        found = r->in->line(r->in, REPL_MORE, &line, &length);
    }
    /* At its end a pipe may break off: what is there then is all. */
    return found == READER_END && in->lines > 0 ? READER_LINE : found;
}

/* It was for what was being evaluated. But who no longer reads has left for good. */
static void forget_interrupt(const repl *r) {
    if (r->out->failure == 0) *r->out->stop = 0;
}

static exit_code run_loop(repl *r) {
    context *c = r->c;
    exit_code code = EXIT_DONE;
    while (!r->leaving && r->out->failure == 0) {
        reader_result found = repl_read(r);
        if (found == READER_CANCEL && !r->in->terminal) code = EXIT_INTERRUPTED;
        if (found == READER_FAILED) code = report_error(c, NULL, r->style);
        if (found == READER_CANCEL && r->in->terminal) {
            forget_interrupt(r);
            continue;
        }
        if (found != READER_LINE) break;
        /* What was pressed while the line was read was for the line. */
        if (r->in->terminal) forget_interrupt(r);
        if (c->err.code == ERROR_NONE) {
            repl_answer(r);
        } else {
            repl_report(r, NULL);
        }
        if (r->out->failure == 0 && *r->out->stop != 0 && !r->in->terminal) {
            code = EXIT_INTERRUPTED; /* nobody is there to type on */
            break;
        }
        forget_interrupt(r);
    }
    return code;
}

/* A terminal without line editing is a terminal still; why there is none is said. */
static void open_reader(repl *r) {
    if (terminal_present() && !options_given(r->o, OPTION_echo)) r->in = terminal_open(r->c, &r->scope);
    if (r->in != NULL && !terminal_use_history(r->in)) repl_report(r, NULL);
    if (r->in != NULL) return;
    repl_report(r, NULL);
    r->in = reader_plain(r->c, options_given(r->o, OPTION_echo));
}

exit_code repl_run(const options *o, context *c, output *out, engine_options with, const source_text *p) {
    repl r = {.path = "<repl>", .o = &r.set, .c = c, .out = out, .style = report_style(o), .set = *o};
    arena_init(&r.kept, c);
    text_init(&r.counts, c);
    text_init(&r.loaded, c);
    workspace_init(&r.w, c, with);
    settings_rest(c);
    exit_code code = EXIT_DONE;
    input_init(&r.typed, c);
    r.scope = (complete_scope){&r.w, &r.typed};
    open_reader(&r);
    process_stays = r.in != NULL && r.in->terminal;
    if (r.in == NULL) {
        code = report_error(c, NULL, r.style);
    } else {
        if (r.in->terminal && !options_given(o, OPTION_no_rc)) rc_enter(&r);
        if (p != NULL) (void)repl_enter(&r, p);
        settings_rest(c);
        forget_interrupt(&r);
        code = run_loop(&r);
        r.in->close(r.in);
    }
    input_close(&r.typed);
    workspace_close(&r.w);
    text_close(&r.loaded);
    arena_close(&r.kept);
    text_close(&r.counts);
    return code;
}
