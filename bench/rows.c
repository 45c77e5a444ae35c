/* Results as a table, as comma-separated values and as JSON; all three from the same figures. */
#include "bench/rows.h"

#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "runtime/print.h"

#define MIB (1024.0 * 1024.0)

/* ---- figures ---- */

double row_own(const block *b, const row *r) {
    return measure_own_bytes(&r->m, b->state_bytes);
}

uint64_t row_spacing(const row *r) {
    if (r->p.kind == POLICY_EVERY) return r->p.every;
    return r->p.kind == POLICY_AUTO ? r->first_piece : 0;
}

double row_bound(const block *b, const row *r) {
    double s = (double)b->state_bytes, n = (double)r->m.trips;
    if (b->state_bytes == 0) return 0;
    switch (r->p.kind) {
    case POLICY_ALL: return ((double)b->n + 1) * s;
    case POLICY_EVERY:
    case POLICY_AUTO: {
        double k = fmin((double)row_spacing(r), n);
        return k > 0 ? (k + ceil(n / k)) * s : 0;
    }
    case POLICY_SLOTS: return (double)r->p.slots * s;
    case POLICY_BYTES: return (double)r->p.bytes;
    }
    return 0;
}

double row_executions(const block *b, const row *r) {
    uint64_t plain = b->rows[b->reference].m.iterations;
    if (b->rows[b->reference].p.kind != POLICY_ALL) plain = r->m.trips;
    return plain > 0 ? (double)r->m.iterations / (double)plain : 0;
}

double row_optimum(const row *r) {
    if (r->m.loops != 1 || r->m.runs != 1 || r->m.trips == 0) return 0;
    return (double)r->m.optimum / (double)r->m.trips;
}

/* ---- the table ---- */

/* A number in a column, or a dash where there is none. */
static void column(int width, int digits, double x) {
    if (x > 0) {
        printf(" %*.*f", width, digits, x);
    } else {
        printf(" %*s", width, "-");
    }
}

static int name_width(const block *b) {
    int width = 6;
    for (int i = 0; i < b->count; i++) {
        int length = (int)strlen(b->rows[i].name);
        if (length > width) width = length;
    }
    return width;
}

void rows_table(const block *b, bool first) {
    int width = name_width(b);
    const char *reference = b->rows[b->reference].name;
    if (!first) putchar('\n');
    if (b->n > 0) printf("N = %lld", b->n);
    if (b->state_bytes > 0)
        printf("%sa state of %.1f KiB", b->n > 0 ? ", " : "", (double)b->state_bytes / 1024);
    printf("\n%-*s %7s %10s %11s %7s %7s %9s %7s %9s %9s %7s %8s\n", width, "policy", "states",
           "forward", "backward", "time", "cpu", "bytes", "of", "all live", "RSS", "runs",
           "optimum");
    printf("%-*s %7s %10s %11s %7s %7s %9s %7s %9s %9s %7s %8s\n", width, "", "kept", "ms", "ms",
           "ratio", "ratio", "MiB", "bound", "MiB", "MiB", "an iter", "at best");
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        printf("%-*s", width, r->name);
        if (r->refused) {
            printf(" %s\n", r->why);
            continue;
        }
        double bound = row_bound(b, r), own = row_own(b, r);
        column(7, 0, (double)r->m.states);
        column(10, 2, r->forward * 1e3);
        column(11, 2, r->backward * 1e3);
        column(7, 3, r->ratio);
        column(7, 3, r->processor_ratio);
        column(9, 3, own / MIB);
        column(7, 2, bound > 0 ? own / bound : 0);
        column(9, 3, (double)r->m.peak / MIB);
        column(9, 1, (double)r->m.resident / MIB);
        column(7, 3, row_executions(b, r));
        column(8, 3, row_optimum(r));
        if (!r->same) printf("  other bits than %s", reference);
        putchar('\n');
    }
}

/* ---- for programs ---- */

typedef struct field {
    const char *name;
    double x;
    int digits;
} field;

enum { FIELDS = 26 };

static int list_fields(const block *b, const row *r, field out[FIELDS]) {
    const measure *m = &r->m;
    const field all[FIELDS] = {
        {"n", (double)b->n, 0},
        {"states_kept", (double)m->states, 0},
        {"seconds_forward", r->forward, 9},
        {"seconds_backward", r->backward, 9},
        {"seconds", r->total, 9},
        {"spread", r->spread, 4},
        {"time_ratio", r->ratio, 4},
        {"seconds_processor", r->processor, 9},
        {"processor_ratio", r->processor_ratio, 4},
        {"loop_bytes", row_own(b, r), 0},
        {"bound_bytes", row_bound(b, r), 0},
        {"peak_live_bytes", (double)m->peak, 0},
        {"base_live_bytes", (double)m->base, 0},
        {"result_bytes", (double)m->results, 0},
        {"rss_bytes", (double)m->resident, 0},
        {"state_bytes", (double)b->state_bytes, 0},
        {"taped_bytes", (double)m->taped_bytes, 0},
        {"iterations", (double)m->iterations, 0},
        {"iterations_advanced", (double)m->advanced, 0},
        {"iterations_taped", (double)m->taped, 0},
        {"iterations_scheduled", (double)r->scheduled, 0},
        {"executions_per_iteration", row_executions(b, r), 6},
        {"optimum_per_iteration", row_optimum(r), 6},
        {"spacing", (double)row_spacing(r), 0},
        {"loops", (double)m->loops, 0},
        {"loop_runs", (double)m->runs, 0},
    };
    memcpy(out, all, sizeof all);
    return FIELDS;
}

void rows_csv(const block *b, bool first) {
    field f[FIELDS];
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        int count = list_fields(b, r, f);
        if (first && i == 0) {
            printf("policy,same_bits,refused");
            for (int k = 0; k < count; k++) printf(",%s", f[k].name);
            putchar('\n');
        }
        printf("%s,%d,%d", r->name, r->same, r->refused);
        for (int k = 0; k < count; k++) printf(",%.*f", f[k].digits, f[k].x);
        putchar('\n');
    }
}

static void json_text(const char *s) {
    context c;
    context_init(&c);
    text t;
    text_init(&t, &c);
    json_string(&t, s, strlen(s));
    fputs(text_data(&t), stdout);
    text_close(&t);
    context_close(&c);
}

static void json_row(const block *b, const row *r) {
    field f[FIELDS];
    int count = list_fields(b, r, f);
    printf("{\"policy\":\"%s\",\"n\":%lld", r->name, b->n);
    if (r->refused) {
        fputs(",\"refused\":", stdout);
        json_text(r->why);
        putchar('}');
        return;
    }
    printf(",\"same_bits\":%s", r->same ? "true" : "false");
    for (int k = 1; k < count; k++) printf(",\"%s\":%.*f", f[k].name, f[k].digits, f[k].x);
    putchar('}');
}

void rows_json(const rows_heading *h, const block *b, int count) {
    fputs("{\"schema\":1,\"bench\":\"checkpoint\",\"program\":", stdout);
    json_text(h->program);
    if (h->fn != NULL) fputs(",\"fn\":", stdout);
    if (h->fn != NULL) json_text(h->fn);
    printf(",\"threads\":%d,\"runs\":%d,\"cold\":%s,\"rows\":[", h->threads, h->runs,
           h->cold ? "true" : "false");
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < b[i].count; k++) {
            fputs(i + k > 0 ? ",\n" : "\n", stdout);
            json_row(&b[i], &b[i].rows[k]);
        }
    }
    puts("\n]}");
}
