/* One program from its bytes to its results, as the options have it. */
#include "ad/checkpoint.h"
#include "interp/tools/run.h"

#include <errno.h>

#include "interp/nan_check.h"
#include "interp/tools/arguments.h"
#include "interp/tools/compile.h"
#include "interp/tools/explain.h"
#include "interp/tools/format.h"
#include "interp/tools/certifier.h"
#include "interp/tools/grad.h"
#include "interp/tools/gradchecker.h"
#include "interp/tools/oracle.h"
#include "interp/tools/output.h"
#include "interp/tools/session.h"
#include "interp/tools/settings.h"
#include "interp/tools/tape.h"
#include "interp/tools/repl/repl.h"
#include "interp/tools/version.h"
#include "kernels/kernel.h"
#include "runtime/context.h"
#include "runtime/npy.h"
#include "runtime/threads.h"

typedef struct job {
    const options *o;
    context *c;
    session s;
    value seed;
    output out;
    diag_style style;
    bool differs;        /* a comparison was made, and failed */
    exit_code reported;  /* of fmt and repl, which report by themselves */
} job;

static const span nowhere = {0, 0};

/* ---- the phases ---- */

static bool read_seed(job *j) {
    const char *given = j->o->value[OPTION_seed_cotangent].text;
    if (given == NULL || npy_load(j->c, given + 1, -1, nowhere, &j->seed)) return true;
    error_add_note(&j->c->err, nowhere, "read for --seed-cotangent");
    return false;
}

/* Errors and warnings of the source, all at once. */
static bool load_program(job *j) {
    engine_options with = {
        .print = j->o->verb == VERB_run ? output_print : NULL,
        .print_self = &j->out,
        .seed = j->seed.kind != VALUE_NONE ? &j->seed : NULL,
    };
    if (!settings_engine(j->o, j->c, &with)) return false;
    bool ok = session_load(&j->s, j->o->value[OPTION_eval].text, with,
                           options_given(j->o, OPTION_deny_warnings));
    /* What the context's error says comes by itself, and would be in the way here. */
    return j->c->err.code == ERROR_NONE && report_diagnostics(j->c, &j->s.e.diags, j->style) && ok;
}

static bool evaluate(job *j, results *out) {
    const char *name = j->o->value[OPTION_fn].text;
    if (name == NULL) return engine_run(&j->s.e, out);
    fn_decl *fn = arguments_function(j->c, &j->s.e.program, name);
    arguments a;
    if (fn == NULL || !arguments_read(j->c, &j->s.e.program, fn, j->o->args, j->o->arg_count, &a))
        return false;
    bool ok = engine_call(&j->s.e, fn, a.values, a.count, out);
    arguments_release(j->c, &a);
    return ok;
}

/* Nobody who does not watch a terminal is told how far a run is, unless they ask. */
static bool evaluate_and_report(job *j, results *out) {
    bool plain = options_is(j->o, OPTION_progress, "plain");
    if (options_is(j->o, OPTION_progress, "never") || !(plain || report_terminal(STDERR_FILENO))) return evaluate(j, out);
    progress_line line;
    progress_open(&line, j->c, !plain);
    j->out.progress = &line;
    bool ok = evaluate(j, out);
    j->out.progress = NULL;
    progress_close(&line, j->c);
    return ok;
}

static bool run_program(job *j) {
    results r = {.count = 0};
    watch looking;
    bool checked = options_given(j->o, OPTION_nan_check);
    int64_t start = monotonic_nanoseconds();
    if (checked) nan_check_open(&looking, j->c);
    bool ok = evaluate_and_report(j, &r);
    if (checked) nan_check_close(&looking, j->c);
    if (!ok) return false;
    checkpoint_optima(j->c);
    run_counts counts = {.ops = j->c->stats, .peak = j->c->mem.peak, .source = &j->s.e.src};
    counts.seconds = (double)(monotonic_nanoseconds() - start) * 1e-9;
    const char *folder = j->o->value[OPTION_out].text;
    ok = j->c->err.code == ERROR_NONE && (folder == NULL || output_save(j->c, folder, &r));
    ok = ok && output_results(&j->out, &r, options_given(j->o, OPTION_stats) ? &counts : NULL);
    results_release(j->c, &r);
    return ok;
}

/* One comparison, of the command line. */
static bool run_oracle(job *j) {
    oracle_case k;
    oracle_report r;
    text t;
    if (!oracle_case_of(j->o, j->c, &k) || !oracle_compare(j->c, &j->s.e, &k, &r)) return false;
    text_init(&t, j->c);
    if (j->out.json) {
        text_add(&t, "{\"schema\":1,");
        oracle_print_json(&t, &r);
        text_add(&t, "}\n");
    } else {
        oracle_print(&t, &r);
        oracle_print_verdict(&t, &r);
    }
    bool ok = !t.failed;
    if (ok) output_text(&j->out, &t);
    j->differs = !r.passed;
    text_close(&t);
    oracle_close(&r);
    return ok;
}

static bool explain(job *j) {
    error_code code = ERROR_NONE;
    text t;
    if (j->o->program != NULL && !explain_find(j->o->program, &code, &j->c->err)) return false;
    text_init(&t, j->c);
    if (j->out.json) {
        explain_json(&t, code);
    } else if (code != ERROR_NONE) {
        explain_page(&t, code);
    } else {
        explain_list(&t);
    }
    bool ok = !t.failed;
    if (ok) output_text(&j->out, &t);
    text_close(&t);
    return ok;
}

static bool run_prompt(job *j) {
    const session *s = &j->s;
    engine_options with = {.print = output_print, .print_self = &j->out};
    if (!settings_engine(j->o, j->c, &with)) return false;
    if (j->o->program != NULL && !session_read(&j->s, j->o->program)) return false;
    source_text first = {.path = s->path, .folder = s->folder, .text = s->text, .length = s->length, .first_line = 1};
    j->reported = repl_run(j->o, j->c, &j->out, with, j->o->program != NULL ? &first : NULL);
    return true;
}

static bool do_job(job *j) {
    if (j->o->verb == VERB_fmt) {
        j->reported = format_files(j->o, &j->out, j->style);
        return true;
    }
    if (j->o->verb == VERB_explain) return explain(j);
    if (j->o->verb == VERB_repl) return run_prompt(j);
    if (options_given(j->o, OPTION_manifest)) return oracle_manifest(j->o, &j->out, &j->differs);
    if (!options_given(j->o, OPTION_eval) && !session_read(&j->s, j->o->program)) return false;
    if (!read_seed(j)) return false;
    if (!load_program(j)) return false;
    switch (j->o->verb) {
    case VERB_run: return run_program(j);
    case VERB_grad: return grad_print(j->o, &j->s.e, &j->out);
    case VERB_gradcheck: return gradchecker_run(j->o, &j->s.e, &j->out, &j->differs);
    case VERB_certify: return certifier_run(j->o, &j->s.e, &j->out, &j->differs);
    case VERB_tape: return tape_run(j->o, &j->s.e, &j->out);
    case VERB_oracle: return run_oracle(j);
    case VERB_mlir: return compile_to_mlir(&j->s.e, j->o, &j->out);
    case VERB_build: return compile_to_library(&j->s.e, j->o);
    case VERB_check:
    case VERB_repl:
    case VERB_explain:
    case VERB_fmt:
    case VERB_COUNT: break;
    }
    return true;
}

/* ---- the end ---- */

/* What the program printed comes before what is said about it. */
static exit_code conclude(job *j, bool ok) {
    /* An evaluation that stopped because its output cannot be written is not an interrupted one. */
    if (j->out.failure != 0) error_clear(&j->c->err);
    if (!output_finish(&j->out)) ok = false;
    if (!ok && j->c->err.code == ERROR_NONE && j->out.failure == 0 && j->s.e.diags.errors == 0) {
        error_set(&j->c->err, ERROR_K0901, nowhere, "something failed without saying what");
    }
    if (j->c->err.code != ERROR_NONE) {
        return report_error(j->c, j->s.e.src.text != NULL ? &j->s.e.src : NULL, j->style);
    }
    if (ok && j->differs) return EXIT_DIFFERS;
    return ok || j->out.failure == EPIPE ? EXIT_DONE : EXIT_SOURCE;
}

static void close_job(job *j) {
    session_close(&j->s);
    value_release(j->c, j->seed);
    threads_close(j->c);
}

#if defined(__SANITIZE_ADDRESS__)
#define KINA_LEAK_CHECK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KINA_LEAK_CHECK 1
#endif
#endif

/* In builds for testing, a byte that nobody gave back is an error of its own. */
static exit_code check_leaks(const context *c, exit_code code) {
#ifdef KINA_LEAK_CHECK
    if (c->mem.live != 0) {
        fprintf(stderr, "internal error: %zu bytes are still in use at the end\n", c->mem.live);
        return EXIT_INTERNAL;
    }
#endif
    (void)c;
    return code;
}

exit_code run_options(const options *o, context *c, volatile sig_atomic_t *interrupt) {
    job j = {.o = o, .c = c, .seed = value_none(), .style = report_style(o)};
    j.out = (output){.c = c, .stop = interrupt};
    j.out.json = options_is(o, OPTION_format, "json");
    j.out.full = options_given(o, OPTION_full);
    c->interrupt = interrupt;
    settings_apply(o, c);
    settings_start(o, c);
    kernel_install(c);
    session_init(&j.s, c);
    bool ok = true;
    if (options_given(o, OPTION_help)) {
        options_help(o->verb, stdout);
    } else if (options_given(o, OPTION_generate)) {
        options_generate(o->value[OPTION_generate].text, stdout);
    } else if (options_given(o, OPTION_version)) {
        version_print(c, stdout);
    } else {
        ok = do_job(&j);
    }
    exit_code code = conclude(&j, ok);
    if (code == EXIT_DONE) code = j.reported;
    close_job(&j);
    return check_leaks(c, code);
}
