/* What evaluations cost: :time, :stats. */
#include <stdlib.h>

#include "interp/tools/repl/command.h"
#include "runtime/context.h"

/* ---- :stats ---- */

static bool answer_stats(repl *r, const char *rest, text *t) {
    (void)rest;
    text_add(t, r->counts.length > 0 ? text_data(&r->counts) : "nothing has been evaluated yet\n");
    return true;
}

void command_stats(repl *r, const char *rest) { command_say(r, rest, answer_stats); }

/* ---- :time ---- */

enum { RUNS_MOST = 1000, RUNS_LEAST = 3 };
static const double enough = 1; /* seconds of runs in all */

typedef struct timings {
    int count;
    double forward[RUNS_MOST], backward[RUNS_MOST], total[RUNS_MOST];
} timings;

static bool run_once(engine *e, timings *n) {
    context *c = e->c;
    results found = {.count = 0};
    double before = c->stats.seconds_backward;
    int64_t start = monotonic_nanoseconds();
    bool ok = engine_run(e, &found);
    double total = (double)(monotonic_nanoseconds() - start) * 1e-9, backward = c->stats.seconds_backward - before;
    results_release(c, &found);
    n->total[n->count] = total;
    n->backward[n->count] = backward;
    n->forward[n->count++] = total - backward;
    return ok;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add_seconds(text *t, double seconds) {
    static const struct {
        double size;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    while (i + 1 < COUNT_OF(units) && seconds < units[i].size) i++;
    text_format(t, "%8.3g %-2s", seconds / units[i].size, units[i].name);
}

/* Sorts the seconds. */
static void add_line(text *t, const char *name, double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof *seconds, by_size);
    double median = count % 2 == 1 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
    text_format(t, "%-9s", name);
    add_seconds(t, median);
    add_seconds(t, seconds[0]);
    text_add_char(t, '\n');
}

static bool answer_time(repl *r, engine *e, const char *rest, text *t) {
    timings n = {.count = 0};
    (void)rest;
    if (command_expression(e) == NULL) return commands_misused(COMMAND_time, &r->c->err);
    e->options.repeated = true;
    int64_t start = monotonic_nanoseconds();
    double spent = 0;
    while (n.count < RUNS_MOST && (n.count < RUNS_LEAST || spent < enough)) {
        if (!context_may_go_on(e->c, (span){0, 0}) || !run_once(e, &n)) return false;
        spent = (double)(monotonic_nanoseconds() - start) * 1e-9;
    }
    text_format(t, "%-9s%11s%11s   of %d runs\n", "", "median", "least", n.count);
    if (r->c->stats.seconds_backward > 0) {
        add_line(t, "forward", n.forward, n.count);
        add_line(t, "backward", n.backward, n.count);
    }
    add_line(t, "total", n.total, n.count);
    return true;
}

void command_time(repl *r, const char *rest) {
    if (rest[0] == '\0') {
        command_misused(r, COMMAND_time);
    } else {
        command_run(r, rest, rest, answer_time);
    }
}
