/* What a run reports of itself, at the context's clock. */
#include "interp/tools/progress.h"

#include <stdio.h>

#define SECOND ((int64_t)1000000000)

static void begin_part(progress_line *p, const context *c, int64_t now) {
    p->backward = c->sweeping;
    p->start = p->last = now;
    p->iterations = c->stats.iterations;
    p->ops = c->stats.ops;
    p->last_count = 0;
}

/* Iterations where the part has any; a sweep over a whole tape has none, and counts ops. */
static void show(progress_line *p, const context *c, int64_t now) {
    uint64_t iterations = c->stats.iterations - p->iterations, ops = c->stats.ops - p->ops;
    uint64_t count = iterations > 0 ? iterations : ops;
    double seconds = (double)(now - p->start) * 1e-9, passed = (double)(now - p->last) * 1e-9;
    double rate = passed > 0 && count >= p->last_count ? (double)(count - p->last_count) / passed : 0;
    fprintf(stderr, "%s%s: %.0f s, %llu %s, %.3g/s, %.1f MiB live%s", p->terminal ? "\r\033[K" : "",
            p->backward ? "backward" : "forward", seconds, (unsigned long long)count, iterations > 0 ? "iterations" : "ops", rate,
            (double)c->mem.live * 0x1p-20, p->terminal ? "" : "\n");
    fflush(stderr);
    p->shown = p->terminal;
    p->last = now;
    p->last_count = count;
}

static int64_t report(void *self, context *c, int64_t now) {
    progress_line *p = self;
    if (c->sweeping != p->backward) {
        begin_part(p, c, now);
    } else {
        show(p, c, now);
    }
    return now + (p->terminal ? SECOND / 5 : SECOND);
}

void progress_open(progress_line *p, context *c, bool terminal) {
    int64_t now = monotonic_nanoseconds();
    *p = (progress_line){.terminal = terminal};
    begin_part(p, c, now);
    c->report = (context_report){.show = report, .self = p, .due = now + SECOND};
}

void progress_hide(progress_line *p) {
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = false;
}

void progress_close(progress_line *p, context *c) {
    c->report = (context_report){.due = 0};
    progress_hide(p);
}
