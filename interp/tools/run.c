/* One program from its bytes to its results, as the options have it. */
#include "interp/tools/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "interp/engine.h"
#include "interp/policy.h"
#include "interp/tools/arguments.h"
#include "interp/tools/output.h"
#include "interp/tools/version.h"
#include "kernels/kernel.h"
#include "runtime/context.h"
#include "runtime/npy.h"
#include "runtime/threads.h"

typedef struct job {
    const options *o;
    context *c;
    const char *path; /* as messages show it */
    char *text;       /* the program, when it was read from a file */
    size_t length, room;
    char *folder; /* the program file's, with its NUL; NULL: the working directory */
    size_t folder_room;
    value seed;
    engine e;
    output out;
    diag_style style;
} job;

static const span nowhere = {0, 0};

/* ---- the program's text ---- */

/* path NULL: standard input, here and below. */
static bool cannot_read(job *j, const char *path) {
    error *e = &j->c->err;
    if (path == NULL) {
        return error_set(e, ERROR_K0601, nowhere, "cannot read standard input: %s",
                         strerror(errno));
    }
    return error_set(e, ERROR_K0601, nowhere, "cannot read '%s': %s", path, strerror(errno));
}

static bool read_all(job *j, int file, const char *path) {
    for (;;) {
        if (j->length == j->room) {
            size_t room = j->room < 8192 ? 8192 : 2 * j->room;
            char *grown = resize(j->c, j->text, j->room, room);
            if (grown == NULL) return false;
            j->text = grown;
            j->room = room;
        }
        ssize_t n = read(file, j->text + j->length, j->room - j->length);
        if (n == 0) return true;
        if (n < 0 && errno != EINTR) return cannot_read(j, path);
        if (n > 0) j->length += (size_t)n;
        /* Longer than any program may be: the parser says so. */
        if (j->length > UINT32_MAX) return true;
        if (!context_may_go_on(j->c, nowhere)) return false;
    }
}

/* `load` starts at the program's folder. */
static bool find_folder(job *j, const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return true;
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    j->folder = take(j->c, length + 1);
    if (j->folder == NULL) return false;
    j->folder_room = length + 1;
    memcpy(j->folder, path, length);
    j->folder[length] = '\0';
    return true;
}

static bool read_program(job *j) {
    const char *path = j->o->program;
    if (path != NULL && strcmp(path, "-") != 0) {
        j->path = path;
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return cannot_read(j, path);
        bool ok = find_folder(j, path) && read_all(j, file, path);
        close(file);
        return ok;
    }
    j->path = "<stdin>";
    if (path == NULL && isatty(STDIN_FILENO)) {
        error_set(&j->c->err, ERROR_K0801, nowhere, "no program is named");
        error_help(
            &j->c->err,
            "kina-interp prog.kina, or kina-interp -e '1.0 + 2.0'; kina-interp --help shows more");
        return false;
    }
    return read_all(j, STDIN_FILENO, NULL);
}

/* ---- the phases ---- */

static int processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}

static void set_up_context(job *j, volatile sig_atomic_t *interrupt) {
    context *c = j->c;
    const option_value *given = j->o->value;
    c->interrupt = interrupt;
    c->mem.limit = (size_t)given[OPTION_max_memory].number;
    if (options_is(j->o, OPTION_numerics, "reference")) c->numerics = NUMERICS_REFERENCE;
    if (options_is(j->o, OPTION_numerics, "compiled")) c->numerics = NUMERICS_COMPILED;
    c->threads =
        options_given(j->o, OPTION_threads) ? (int)given[OPTION_threads].number : processors();
    if (options_given(j->o, OPTION_time_limit)) {
        int64_t now = monotonic_nanoseconds(), limit = given[OPTION_time_limit].number;
        c->deadline = limit > INT64_MAX - now ? INT64_MAX : now + limit;
    }
    kernel_install(c);
}

static bool read_seed(job *j) {
    const char *given = j->o->value[OPTION_seed_cotangent].text;
    if (given == NULL || npy_load(j->c, given + 1, -1, nowhere, &j->seed)) return true;
    error_add_note(&j->c->err, nowhere, "read for --seed-cotangent");
    return false;
}

static bool read_policy(job *j, policy *out) {
    const char *given = j->o->value[OPTION_checkpoint].text;
    if (given == NULL || policy_read(given, out)) return true;
    error_set(&j->c->err, ERROR_K0801, nowhere, "`%s` is no checkpoint policy", given);
    error_help(&j->c->err, "--checkpoint takes all, auto, k=4, slots=20 or memory=64MiB");
    return false;
}

static bool open_engine(job *j) {
    engine_options with = {
        .load_folder = j->folder,
        .no_files = options_given(j->o, OPTION_no_files),
        .print_full = options_given(j->o, OPTION_full),
        .print = output_print,
        .print_self = &j->out,
        .seed = j->seed.kind != VALUE_NONE ? &j->seed : NULL,
    };
    bool ok = read_policy(j, &with.checkpoint);
    engine_init(&j->e, j->c, with);
    return ok;
}

/* Errors and warnings of the source, all at once. */
static bool load_program(job *j) {
    const char *expression = j->o->value[OPTION_eval].text;
    bool ok = expression != NULL ? engine_load(&j->e, "<-e>", expression, strlen(expression))
                                 : engine_load(&j->e, j->path, j->text, j->length);
    diagnostics *d = &j->e.diags;
    if (options_given(j->o, OPTION_deny_warnings) && d->warnings > 0) {
        for (diag *e = d->first; e != NULL; e = e->next) e->warning = false;
        d->errors += d->warnings;
        d->warnings = 0;
        ok = false;
    }
    /* What the context's error says comes by itself, and would be in the way here. */
    return j->c->err.code == ERROR_NONE && report_diagnostics(j->c, d, j->style) && ok;
}

static bool evaluate(job *j, results *out) {
    const char *name = j->o->value[OPTION_fn].text;
    if (name == NULL) return engine_run(&j->e, out);
    fn_decl *fn = arguments_function(j->c, &j->e.program, name);
    arguments a;
    if (fn == NULL || !arguments_read(j->c, &j->e.program, fn, j->o->args, j->o->arg_count, &a))
        return false;
    bool ok = engine_call(&j->e, fn, a.values, a.count, out);
    arguments_release(j->c, &a);
    return ok;
}

static bool run_program(job *j) {
    results r = {.count = 0};
    int64_t start = monotonic_nanoseconds();
    if (!evaluate(j, &r)) return false;
    run_counts counts = {.ops = j->c->stats, .peak = j->c->mem.peak, .source = &j->e.src};
    counts.seconds = (double)(monotonic_nanoseconds() - start) * 1e-9;
    const char *folder = j->o->value[OPTION_out].text;
    bool ok = j->c->err.code == ERROR_NONE && (folder == NULL || output_save(j->c, folder, &r));
    ok = ok && output_results(&j->out, &r, options_given(j->o, OPTION_stats) ? &counts : NULL);
    results_release(j->c, &r);
    return ok;
}

static bool do_job(job *j) {
    if (!options_given(j->o, OPTION_eval) && !read_program(j)) return false;
    if (!read_seed(j)) return false;
    return open_engine(j) && load_program(j) && (j->o->verb == VERB_check || run_program(j));
}

/* ---- the end ---- */

/* What the program printed comes before what is said about it. */
static exit_code conclude(job *j, bool ok) {
    /* An evaluation that stopped because its output cannot be written is not an interrupted one. */
    if (j->out.failure != 0) error_clear(&j->c->err);
    if (!output_finish(&j->out)) ok = false;
    if (!ok && j->c->err.code == ERROR_NONE && j->out.failure == 0 && j->e.diags.errors == 0) {
        error_set(&j->c->err, ERROR_K0901, nowhere, "something failed without saying what");
    }
    if (j->c->err.code != ERROR_NONE) {
        return report_error(j->c, j->e.src.text != NULL ? &j->e.src : NULL, j->style);
    }
    return ok || j->out.failure == EPIPE ? EXIT_DONE : EXIT_SOURCE;
}

static void close_job(job *j) {
    if (j->e.c != NULL) engine_close(&j->e);
    value_release(j->c, j->seed);
    give_back(j->c, j->folder, j->folder_room);
    give_back(j->c, j->text, j->room);
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
    set_up_context(&j, interrupt);
    bool ok = true;
    if (options_given(o, OPTION_help)) {
        options_help(o->verb, stdout);
    } else if (options_given(o, OPTION_version)) {
        version_print(c, stdout);
    } else {
        ok = do_job(&j);
    }
    exit_code code = conclude(&j, ok);
    close_job(&j);
    return check_leaks(c, code);
}
