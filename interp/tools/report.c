/* Errors on standard error, and the exit code that goes with each. */
#include "interp/tools/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/context.h"

static exit_code exit_code_of(error_code code) {
    if (code == ERROR_K0509) return EXIT_INTERRUPTED;
    switch (error_code_phase(code)) {
    case PHASE_none: return EXIT_DONE;
    case PHASE_source:
    case PHASE_warning: return EXIT_SOURCE;
    case PHASE_run: return EXIT_FAILED;
    case PHASE_file: return EXIT_FILE;
    case PHASE_refuse: return EXIT_REFUSED;
    case PHASE_usage: return EXIT_USAGE;
    case PHASE_internal: break;
    }
    return EXIT_INTERNAL;
}

static bool is_set(const char *variable) {
    const char *setting = getenv(variable);
    return setting != NULL && setting[0] != '\0';
}

bool report_terminal(int file) {
    return isatty(file) && is_set("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
}

diag_style report_style(const options *o) {
    bool color = report_terminal(STDERR_FILENO) && !is_set("NO_COLOR");
    if (options_is(o, OPTION_color, "always")) color = true;
    if (options_is(o, OPTION_color, "never")) color = false;
    return (diag_style){.color = color, .json = options_is(o, OPTION_diagnostics, "json")};
}

bool report_diagnostics(context *c, const diagnostics *d, diag_style style) {
    if (d->errors == 0 && d->warnings == 0) return true;
    text out;
    text_init(&out, c);
    diagnostics_render(d, style, &out);
    bool ok = !out.failed && c->err.code == ERROR_NONE;
    if (ok) fwrite(text_data(&out), 1, out.length, stderr);
    text_close(&out);
    return ok;
}

exit_code report_error(context *c, const source *src, diag_style style) {
    const error cause = c->err;
    size_t limit = c->mem.limit;
    c->mem.limit = 0;
    error_clear(&c->err);
    arena a;
    diagnostics d;
    arena_init(&a, c);
    diagnostics_init(&d, &a, src);
    diag_from_error(&d, &cause);
    if (!report_diagnostics(c, &d, style)) {
        fprintf(stderr, "error[%s]: %s\n", error_code_name(cause.code), cause.message);
    }
    arena_close(&a);
    error_clear(&c->err);
    c->mem.limit = limit;
    return exit_code_of(cause.code);
}
