/* gnuplot scripts: each panel writes its data and then its commands, so that a picture needs no
 * other file. */
#include "bench/plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/trace.h"
#include "interp/tools/gnuplot.h"
#include "runtime/context.h"

#define MIB (1024.0 * 1024.0)
enum { LIVE_POINTS = 240, SHOWN_TRIPS = 100, MIXED_TRIPS = 1024 };

/* ---- (a) memory and time against the spacing ---- */

static bool is_spaced(const row *r) {
    return !r->refused && r->p.kind == POLICY_EVERY;
}

static bool spacing_has(const block *b) {
    int count = 0;
    for (int i = 0; i < b->count; i++) count += is_spaced(&b->rows[i]);
    return count >= 2 && b->n > 0 && b->state_bytes > 0;
}

/* The spaced row with the next larger K; NULL after the last. */
static const row *next_spaced(const block *b, uint64_t after) {
    const row *next = NULL;
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        if (!is_spaced(r) || r->p.every <= after) continue;
        if (next == NULL || r->p.every < next->p.every) next = r;
    }
    return next;
}

static void spacing_draw(FILE *g, const block *b) {
    double s = (double)b->state_bytes, t = b->taped_bytes > 0 ? (double)b->taped_bytes : s;
    fputs("$spacing << EOD\n", g);
    for (const row *r = next_spaced(b, 0); r != NULL; r = next_spaced(b, r->p.every)) {
        fprintf(g, "%llu %.4f %.4f\n", (unsigned long long)r->p.every, row_own(b, r) / MIB,
                r->processor_ratio);
    }
    fprintf(g, "EOD\nset title 'Memory and time against K, N = %lld'\n", b->n);
    fputs("set xlabel 'K: a state is kept every K iterations'\nset ylabel 'MiB of states, tape and "
          "adjoints'\n"
          "set y2label 'processor time, full tape = 1'\nset logscale x 2\nset logscale y\nset "
          "ytics nomirror\n"
          "set y2range [0:3]\nset y2tics\nset key bottom left Left reverse\n",
          g);
    double root = sqrt((double)b->n * s / t);
    fprintf(g, "set arrow 1 from %.3f, graph 0 to %.3f, graph 1 nohead dt 2 lc rgb '#666666'\n",
            root, root);
    fprintf(g, "set label 1 ' √(N·S/T) = %.0f' at %.3f, graph 0.06\n", root, root);
    fprintf(g,
            "set samples 120\nplot [1:%lld] $spacing using 1:2 with points pt 7 lc 1 title "
            "'measured bytes', "
            "(x * %.6f + ceil(%lld / x) * %.6f) lc 1 title 'K·T + (N/K)·S', $spacing using 1:3 "
            "axes x1y2 "
            "with linespoints pt 5 ps 0.6 lc 2 title 'processor time'\n",
            b->n, t / MIB, b->n, s / MIB);
}

/* ---- (b) recomputation against bytes ---- */

static bool pareto_has(const block *b) {
    return b->state_bytes > 0 && b->n > 0 && b->count > 1;
}

/* Each kind of policy has its own mark. */
static void pareto_points(FILE *g, const block *b) {
    for (int kind = POLICY_ALL; kind <= POLICY_BYTES; kind++) {
        fprintf(g, "$kind%d << EOD\n", kind);
        for (int i = 0; i < b->count; i++) {
            const row *r = &b->rows[i];
            if (r->refused || (int)r->p.kind != kind) continue;
            fprintf(g, "%.4f %.4f\n", row_own(b, r) / MIB, row_executions(b, r));
        }
        fputs("EOD\n", g);
    }
}

/* The bytes beside the room that the optimum divides: the gradient that comes in and the one that
 * goes out, and the state in hand. */
static double beside(const block *b) {
    return 3 * (double)b->state_bytes;
}

static void binomial_curve(FILE *g, const block *b) {
    double n = (double)b->n;
    fputs("$binomial << EOD\n", g);
    for (double s = 2; s <= n; s = ceil(s * 1.1)) {
        double bytes = s * (double)b->state_bytes + beside(b);
        fprintf(g, "%.4f %.4f\n", bytes / MIB,
                (double)schedule_optimum((uint64_t)b->n, (uint64_t)s) / n);
    }
    fputs("EOD\n", g);
}

/* False where the table would be too large. */
static bool mixed_curve(FILE *g, const block *b) {
    if (b->n > MIXED_TRIPS || b->taped_bytes == 0) return false;
    uint32_t n = (uint32_t)b->n, units = n < 160 ? n : 160;
    uint32_t *least = bench_take(((size_t)units + 1) * sizeof *least);
    uint32_t taped = (uint32_t)fmax(1, round((double)b->taped_bytes / (double)b->state_bytes));
    trace_mixed_optimum(n, units, taped, least);
    fputs("$mixed << EOD\n", g);
    for (uint32_t m = 1; m <= units; m++) {
        if (least[m] == UINT32_MAX) continue;
        double bytes = m * (double)b->state_bytes + (double)b->taped_bytes + beside(b);
        fprintf(g, "%.4f %.4f\n", bytes / MIB, least[m] / (double)n);
    }
    fputs("EOD\n", g);
    free(least);
    return true;
}

static void pareto_draw(FILE *g, const block *b) {
    static const char *const kinds[] = {"all", "k", "auto", "slots", "memory"};
    pareto_points(g, b);
    binomial_curve(g, b);
    bool mixed = mixed_curve(g, b);
    fprintf(g, "set title 'Recomputation against bytes, N = %lld'\n", b->n);
    fputs("set xlabel 'MiB of states, tape and adjoints'\nset ylabel 'executions of the body an "
          "iteration'\n"
          "set logscale x\nset yrange [0.8:8]\nset key top right\nplot ",
          g);
    if (mixed) fputs("$mixed with lines lw 2 lc rgb '#999999' title 'optimum', ", g);
    fputs("$binomial with lines dt 2 lc rgb '#999999' title 'optimum, states only'", g);
    for (int kind = POLICY_ALL; kind <= POLICY_BYTES; kind++) {
        bool any = false;
        for (int i = 0; i < b->count; i++)
            any |= !b->rows[i].refused && (int)b->rows[i].p.kind == kind;
        if (any)
            fprintf(g, ", $kind%d with points pt %d lc %d title '%s'", kind, 4 + kind, 1 + kind,
                    kinds[kind]);
    }
    putc('\n', g);
}

/* ---- (c) live bytes over the run ---- */

/* One row of each kind, so that lines can be told apart: the first, or of spaced ones that next to
 * the root. */
static const row *representative(const block *b, policy_kind kind, long long n) {
    const row *best = NULL;
    double root = sqrt((double)n), distance = 0;
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        if (r->refused || r->p.kind != kind) continue;
        double d = kind == POLICY_EVERY ? fabs(log((double)r->p.every / root)) : 0;
        if (best == NULL || d < distance) {
            best = r;
            distance = d;
        }
    }
    return best;
}

static bool live_has(const block *b) {
    return b->rows[b->reference].sample_count > 0;
}

static void live_data(FILE *g, int kind, const row *r) {
    size_t each = (r->sample_count + LIVE_POINTS - 1) / LIVE_POINTS;
    fprintf(g, "$live%d << EOD\n", kind);
    for (size_t i = 0; i < r->sample_count; i += each) {
        double most = 0;
        for (size_t k = i; k < i + each && k < r->sample_count; k++)
            most = fmax(most, r->samples[k].bytes);
        fprintf(g, "%.2f %.3f\n", r->samples[i].seconds * 1e3, most / MIB);
    }
    fputs("EOD\n", g);
}

static void live_draw(FILE *g, const block *b) {
    const row *shown[POLICY_BYTES + 1];
    for (int kind = POLICY_ALL; kind <= POLICY_BYTES; kind++) {
        shown[kind] = representative(b, (policy_kind)kind, b->n);
        if (shown[kind] != NULL) live_data(g, kind, shown[kind]);
    }
    fprintf(g, "set title 'Live bytes over the run, N = %lld'\n", b->n);
    fputs("set xlabel 'ms since the loop began (at each entry of its body)'\nset ylabel 'MiB, "
          "everything that is live'\n"
          "set logscale y\nset xrange [0:*]\nset key top right\nplot ",
          g);
    const char *comma = "";
    for (int kind = POLICY_ALL; kind <= POLICY_BYTES; kind++) {
        if (shown[kind] == NULL) continue;
        fprintf(g, "%s$live%d with lines lw 1.5 lc %d title '%s'", comma, kind, 1 + kind,
                shown[kind]->name);
        comma = ", ";
    }
    putc('\n', g);
}

/* ---- (d) the schedule ---- */

enum { SCHEDULE_PARTS = 3 };
static const char *const schedule_parts[SCHEDULE_PARTS][2] = {
    {"taped", "lines lw 3"},
    {"advance", "lines"},
    {"kept", "points pt 7 ps 0.35"},
};

typedef struct drawing {
    FILE *line, *taped, *kept;
} drawing;

static void draw_step(void *self, trace_kind kind, uint64_t time, uint64_t from, uint64_t to) {
    drawing *d = self;
    unsigned long long t = time, a = from, z = to;
    if (kind == TRACE_KEEP) fprintf(d->kept, "%llu %llu\n", t, a);
    if (kind == TRACE_ADVANCE) fprintf(d->line, "%llu %llu\n%llu %llu\n\n", t, a, t + z - a, z);
    if (kind == TRACE_TAPE) fprintf(d->taped, "%llu %llu\n%llu %llu\n\n", t, a, t + z - a, z);
}

static bool schedule_has(const block *b) {
    for (int i = 0; i < b->count; i++) {
        if (b->rows[i].scheduled > 0) return true;
    }
    return false;
}

/* The three parts are gathered in memory, since data blocks cannot be interleaved. Bit i of what is
 * returned: part i is not empty. */
static unsigned schedule_data(FILE *g, const block *b, int at, const row *r, uint64_t trips) {
    char *data[3] = {NULL, NULL, NULL};
    size_t length[3];
    drawing d = {open_memstream(&data[0], &length[0]), open_memstream(&data[1], &length[1]),
                 open_memstream(&data[2], &length[2])};
    context c;
    context_init(&c);
    policy p = r->p;
    uint64_t executions;
    p.known = true;
    p.trips = trips;
    trace_sizes sizes = {b->state_bytes, b->taped_bytes};
    if (d.line != NULL && d.taped != NULL && d.kept != NULL)
        (void)!trace_run(&c, &p, trips, sizes, draw_step, &d, &executions);
    error_clear(&c.err);
    context_close(&c);
    FILE *files[] = {d.taped, d.line, d.kept};
    char **texts[] = {&data[1], &data[0], &data[2]};
    unsigned filled = 0;
    for (int i = 0; i < SCHEDULE_PARTS; i++) {
        if (files[i] != NULL) fclose(files[i]);
        const char *s = *texts[i] != NULL ? *texts[i] : "";
        if (*s != '\0') filled |= 1u << i;
        fprintf(g, "$%s%d << EOD\n%sEOD\n", schedule_parts[i][0], at, s);
        free(*texts[i]);
    }
    return filled;
}

/* The full tape is a line up and nothing more; a fixed spacing looks like auto's. */
static bool schedule_shows(const block *b, policy_kind kind) {
    if (kind == POLICY_ALL) return b->count == 1;
    return kind != POLICY_EVERY || representative(b, POLICY_AUTO, b->n) == NULL;
}

static void schedule_draw(FILE *g, const block *b) {
    uint64_t trips = b->n < SHOWN_TRIPS ? (uint64_t)b->n : SHOWN_TRIPS;
    const row *shown[POLICY_BYTES + 1] = {NULL};
    unsigned filled[POLICY_BYTES + 1] = {0};
    for (int kind = POLICY_ALL; kind <= POLICY_BYTES; kind++) {
        if (!schedule_shows(b, (policy_kind)kind)) continue;
        shown[kind] = representative(b, (policy_kind)kind, (long long)trips);
        if (shown[kind] != NULL) filled[kind] = schedule_data(g, b, kind, shown[kind], trips);
    }
    fprintf(g,
            "set title 'The schedule, N = %llu (thick: taped; dots: states kept)'\n"
            "set xlabel 'time, in executions of the body'\nset ylabel 'iteration'\n"
            "set yrange [0:%llu]\nset key top right\nplot ",
            (unsigned long long)trips, (unsigned long long)trips);
    const char *comma = "";
    for (int kind = POLICY_ALL; kind <= POLICY_BYTES; kind++) {
        for (int i = 0; i < SCHEDULE_PARTS; i++) {
            if ((filled[kind] >> i & 1) == 0) continue;
            fprintf(g, "%s$%s%d with %s lc %d title '%s'", comma, schedule_parts[i][0], kind,
                    schedule_parts[i][1], 1 + kind, i == 0 ? shown[kind]->name : "");
            comma = ", ";
        }
    }
    putc('\n', g);
}

/* ---- the picture ---- */

static const struct panel {
    const char *name;
    bool (*has)(const block *b);
    void (*draw)(FILE *g, const block *b);
} panels[] = {
    {"spacing", spacing_has, spacing_draw},
    {"pareto", pareto_has, pareto_draw},
    {"live", live_has, live_draw},
    {"schedule", schedule_has, schedule_draw},
};

static int fail(const error *e) {
    return bench_fail(e->code, "%s", e->message);
}

int plot_possible(const char *file) {
    error e = {.code = ERROR_NONE};
    return gnuplot_possible("--plot", file, &e) ? 0 : fail(&e);
}

static void reset(FILE *g) {
    fputs("unset logscale\nunset arrow\nunset label\nunset y2tics\nunset y2label\nset key inside "
          "vertical\nset "
          "autoscale\nset ytics mirror\n",
          g);
}

/* Draws the panels first..last that have data. */
static int draw(const char *file, const block *b, size_t first, size_t last) {
    int count = 0;
    for (size_t i = first; i <= last; i++) count += panels[i].has(b);
    if (count == 0) return 0;
    int across = count > 1 ? 2 : 1, down = (count + 1) / 2;
    gnuplot g;
    error e = {.code = ERROR_NONE};
    if (!gnuplot_open(&g, file, count > 1 ? 640 * across : 760, count > 1 ? 440 * down : 480, &e)) return fail(&e);
    if (count > 1) fprintf(g.script, "set multiplot layout %d,%d\n", down, across);
    for (size_t i = first; i <= last; i++) {
        if (!panels[i].has(b)) continue;
        reset(g.script);
        panels[i].draw(g.script, b);
    }
    if (count > 1) fputs("unset multiplot\n", g.script);
    return gnuplot_close(&g, &e) ? 0 : fail(&e);
}

int plot_block(const char *file, bool each, const block *b) {
    if (!each) return draw(file, b, 0, COUNT_OF(panels) - 1);
    const char *end = gnuplot_extension(file);
    int code = 0;
    for (size_t i = 0; i < COUNT_OF(panels) && code == 0; i++) {
        char name[4096];
        if ((size_t)snprintf(name, sizeof name, "%.*s-%s%s", (int)(end - file), file,
                             panels[i].name, end) >= sizeof name)
            return bench_fail(ERROR_K0602, "cannot write '%s': %s", file, strerror(ENAMETOOLONG));
        code = draw(name, b, i, i);
    }
    return code;
}
