/* Carries out schedules on iteration numbers alone, in the order that ad/schedule.h states for the
 * executor. */
#include "bench/trace.h"

#include <stdlib.h>

#include "bench/bench.h"

typedef struct taped_run {
    uint64_t start, end;
} taped_run;

typedef struct tracer {
    schedule s;
    trace_sizes sizes;
    trace_step *step;
    void *self;
    uint64_t time;
    taped_run *runs; /* a stack; the last ends latest */
    size_t count, room;
} tracer;

static void tell(const tracer *t, trace_kind kind, uint64_t from, uint64_t to) {
    if (t->step != NULL) t->step(t->self, kind, t->time, from, to);
}

static void drop_unwanted(tracer *t) {
    uint64_t state;
    while (schedule_next_drop(&t->s, &state)) continue;
}

static void push(tracer *t, uint64_t start, uint64_t end) {
    if (t->count == t->room) {
        t->room = t->room == 0 ? 16 : 2 * t->room;
        t->runs = bench_grow(t->runs, t->room * sizeof *t->runs);
    }
    t->runs[t->count++] = (taped_run){start, end};
}

static void forward_one(tracer *t, uint64_t i, const forward_order *order) {
    if (order->keep) tell(t, TRACE_KEEP, i, i);
    tell(t, order->tape ? TRACE_TAPE : TRACE_ADVANCE, i, i + 1);
    t->time++;
    uint64_t demoted = order->tape ? order->demote : i;
    if (t->count > 0 && demoted >= t->runs[0].end) t->count = 0;
    if (t->count > 0 && demoted > t->runs[0].start) t->runs[0].start = demoted;
    if (!order->tape) return;
    if (t->count == 0) push(t, i, i);
    t->runs[0].end = i + 1;
    schedule_measure(&t->s, t->sizes.state, t->sizes.taped, 2 * t->sizes.state, 0);
}

static bool backward_one(tracer *t, uint64_t *left) {
    if (t->count > 0 && t->runs[t->count - 1].end == *left) {
        taped_run last = t->runs[--t->count];
        tell(t, TRACE_SWEEP, last.start, last.end);
        *left = last.start;
        return true;
    }
    backward_order order;
    if (!schedule_backward(&t->s, *left, &order)) return false;
    drop_unwanted(t);
    tell(t, order.kind == BACKWARD_TAPE ? TRACE_TAPE : TRACE_ADVANCE, order.from, order.to);
    t->time += order.to - order.from;
    if (order.kind == BACKWARD_TAPE) push(t, order.from, order.to);
    if (order.kind == BACKWARD_ADVANCE && order.keep) tell(t, TRACE_KEEP, order.to, order.to);
    return true;
}

static bool run(tracer *t, uint64_t trips) {
    for (uint64_t i = 0; i < trips; i++) {
        forward_order order;
        if (!schedule_forward(&t->s, i, &order)) return false;
        drop_unwanted(t);
        forward_one(t, i, &order);
    }
    uint64_t left = trips;
    while (left > 0) {
        if (!backward_one(t, &left)) return false;
    }
    return true;
}

bool trace_run(context *c, const policy *p, uint64_t trips, trace_sizes sizes, trace_step *step,
               void *self, uint64_t *executions) {
    tracer t = {.sizes = sizes, .step = step, .self = self};
    if (!schedule_open(&t.s, c, p)) return false;
    bool ok = run(&t, trips);
    schedule_close(&t.s);
    free(t.runs);
    *executions = t.time;
    return ok;
}

/* ---- the optimum for states and tapes that share the room ---- */

static uint32_t sum(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* E(n, m) = min(1 + E(n-1, m-taped), min over i of i + E(n-i, m-1) + E(i, m)): tape this iteration
 * and keep its tape, or keep its state, go i further, and come back to it. */
void trace_mixed_optimum(uint32_t n, uint32_t units, uint32_t taped, uint32_t *out) {
    size_t row = (size_t)n + 1;
    uint32_t *table = bench_take(row * ((size_t)units + 1) * sizeof *table);
    for (uint32_t m = 0; m <= units; m++) {
        uint32_t *e = table + m * row;
        e[0] = 0;
        for (uint32_t k = 1; k <= n; k++) {
            uint32_t best = k == 1 ? 1 : UINT32_MAX;
            if (k > 1 && m >= taped) best = sum(1, table[(m - taped) * row + k - 1]);
            const uint32_t *less = e - row; /* of m - 1; not read for m = 0 */
            for (uint32_t i = 1; m > 0 && i < k; i++) {
                uint32_t cost = sum(sum(i, less[k - i]), e[i]);
                if (cost < best) best = cost;
            }
            e[k] = best;
        }
        out[m] = e[n];
    }
    free(table);
}
