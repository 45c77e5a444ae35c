/* What evaluation.h promises. */
#include "interp/tools/repl/evaluation.h"

#include <unistd.h>

#include "ad/checkpoint.h"
#include "interp/nan_check.h"

void evaluation_begin(repl *r, evaluation *x) {
    bool plain = options_is(r->o, OPTION_progress, "plain"), never = options_is(r->o, OPTION_progress, "never");
    x->reporting = !never && (plain || report_terminal(STDERR_FILENO));
    x->checking = options_given(r->o, OPTION_nan_check);
    if (x->reporting) {
        progress_open(&x->line, r->c, !plain);
        r->out->progress = &x->line;
    }
    if (x->checking) nan_check_open(&x->looking, r->c);
    x->start = monotonic_nanoseconds();
}

/* Kept as text, since the program that the places of its loops are in goes. */
static void keep_counts(repl *r, const engine *e, double seconds) {
    checkpoint_optima(r->c);
    const run_counts n = {.ops = r->c->stats, .peak = r->c->mem.peak, .seconds = seconds, .source = &e->src};
    text_clear(&r->counts);
    counts_print(&r->counts, &n);
}

void evaluation_end(repl *r, evaluation *x, const engine *e) {
    double seconds = (double)(monotonic_nanoseconds() - x->start) * 1e-9;
    if (x->checking) nan_check_close(&x->looking, r->c);
    if (x->reporting) {
        r->out->progress = NULL;
        progress_close(&x->line, r->c);
    }
    if (r->c->err.code == ERROR_NONE) keep_counts(r, e, seconds);
}
