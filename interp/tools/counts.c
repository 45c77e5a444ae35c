/* Counts as a table and as JSON. */
#include "interp/tools/counts.h"

#include <string.h>

#include "interp/policy.h"

enum { COUNT_LINES = 10 };

/* One line of --stats: seconds where `count` is negative. */
typedef struct count_line {
    const char *name;
    int64_t count;
    double seconds;
} count_line;

static void list_counts(const run_counts *n, count_line out[COUNT_LINES]) {
    const context_stats *s = &n->ops;
    const count_line lines[COUNT_LINES] = {
        {"ops", (int64_t)s->ops, 0},
        {"tape_records", (int64_t)s->tape_records, 0},
        {"tape_bytes", (int64_t)s->tape_bytes_peak, 0},
        {"peak_live_bytes", (int64_t)n->peak, 0},
        {"checkpoints_stored", (int64_t)s->checkpoints, 0},
        {"iterations", (int64_t)s->iterations, 0},
        {"iterations_advanced", (int64_t)s->advanced, 0},
        {"iterations_taped", (int64_t)s->taped, 0},
        {"seconds_forward", -1, n->seconds - s->seconds_backward},
        {"seconds_backward", -1, s->seconds_backward},
    };
    memcpy(out, lines, sizeof lines);
}

static void add_count(text *t, const count_line *line) {
    if (line->count < 0) {
        text_format(t, "%.6f", line->seconds > 0 ? line->seconds : 0.0);
    } else {
        text_format(t, "%lld", (long long)line->count);
    }
}

static uint32_t line_of(const run_counts *n, const loop_report *r) {
    uint32_t line, column;
    source_position(n->source, r->where.begin, &line, &column);
    return line;
}

static double executions_per_trip(const loop_report *r) {
    return r->total_trips == 0 ? 0 : (double)(r->advanced + r->taped) / (double)r->total_trips;
}

static double optimum_per_trip(const loop_report *r) {
    return r->trips == 0 ? 0 : (double)r->optimum / (double)r->trips;
}

static void add_loops_json(text *t, const run_counts *n) {
    text_add(t, ",\"loops\":[");
    for (int i = 0; i < n->ops.loop_count; i++) {
        const loop_report *r = &n->ops.loops[i];
        text_format(t, "%s{\"line\":%u,\"policy\":\"", i > 0 ? "," : "", line_of(n, r));
        policy_print(t, (policy_kind)r->policy, r->amount);
        text_format(t, "\",\"runs\":%llu,\"trips\":%llu,\"states\":%llu,\"state_bytes\":%llu,"
                       "\"taped_bytes\":%llu,\"peak_state_bytes\":%llu,\"peak_tape_bytes\":%llu,"
                       "\"adjoint_bytes\":%llu,\"on_disk\":%s,\"kept_whole\":%llu,\"iterations_advanced\":%llu,\"iterations_taped\":%llu,"
                       "\"executions_per_iteration\":%.6g,\"optimum_per_iteration\":%.6g}",
                    (unsigned long long)r->runs, (unsigned long long)r->trips, (unsigned long long)r->states,
                    (unsigned long long)r->state_bytes, (unsigned long long)r->taped_bytes,
                    (unsigned long long)r->states * r->state_bytes, (unsigned long long)r->peak_tape_bytes,
                    (unsigned long long)r->adjoint_bytes, r->on_disk ? "true" : "false",
                    (unsigned long long)r->kept_whole, (unsigned long long)r->advanced,
                    (unsigned long long)r->taped, executions_per_trip(r),
                    optimum_per_trip(r));
    }
    text_add_char(t, ']');
}

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

static void add_runs(text *t, const loop_report *r) {
    text_format(t, ": %llu run%s of up to %llu iterations\n", (unsigned long long)r->runs, plural(r->runs),
                (unsigned long long)r->trips);
    text_format(t, "  executions an iteration: %.3g", executions_per_trip(r));
    if (optimum_per_trip(r) > 0) text_format(t, "; the optimum for the same memory: %.3g", optimum_per_trip(r));
    text_format(t, "\n  bytes at the peak: %llu state%s %llu%s, tape %llu, adjoints %llu\n", (unsigned long long)r->states,
                plural(r->states), (unsigned long long)r->states * r->state_bytes, r->on_disk ? " on disk" : "",
                (unsigned long long)r->peak_tape_bytes, (unsigned long long)r->adjoint_bytes);
}

static void add_loops_table(text *t, const run_counts *n) {
    for (int i = 0; i < n->ops.loop_count; i++) {
        const loop_report *r = &n->ops.loops[i];
        text_format(t, "loop at line %u", line_of(n, r));
        const char *file = source_elsewhere(n->source, r->where.begin);
        if (file != NULL) text_format(t, " of %s", file);
        text_add(t, ", ");
        policy_print(t, (policy_kind)r->policy, r->amount);
        if (r->runs > 0) add_runs(t, r);
        if (r->kept_whole > 0) {
            text_format(t, "%s %llu run%s kept everything: another handler records\n  them, or a carry is no tensor\n",
                        r->runs > 0 ? " " : ":", (unsigned long long)r->kept_whole, plural(r->kept_whole));
        }
    }
}

void counts_json(text *t, const run_counts *n) {
    count_line lines[COUNT_LINES];
    list_counts(n, lines);
    text_add(t, ",\"stats\":{");
    for (int i = 0; i < COUNT_LINES; i++) {
        text_format(t, "%s\"%s\":", i > 0 ? "," : "", lines[i].name);
        add_count(t, &lines[i]);
    }
    add_loops_json(t, n);
    text_add_char(t, '}');
}

void counts_print(text *t, const run_counts *n) {
    count_line lines[COUNT_LINES];
    list_counts(n, lines);
    for (int i = 0; i < COUNT_LINES; i++) {
        text_format(t, "%-20s ", lines[i].name);
        add_count(t, &lines[i]);
        text_add_char(t, '\n');
    }
    add_loops_table(t, n);
}
