/* The context: making and closing it, and the two questions that keep an evaluation within bounds.
 */
#include "runtime/context.h"

#include <string.h>
#include <time.h>

#include "runtime/threads.h"

void context_init(context *c) {
    memset(c, 0, sizeof *c);
    memory_init(&c->mem);
    error_clear(&c->err);
    c->numerics = NUMERICS_FAST;
    c->threads = 1;
}

void context_close(context *c) {
    threads_close(c);
    memory_close(&c->mem);
}

int64_t monotonic_nanoseconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Reads the clock, and sets the stride to the next reading so that readings stand about a
 * millisecond apart whether the calls come every ten nanoseconds or every second. */
static int64_t read_clock(context *c) {
    const int64_t interval = 1000000;
    const uint32_t longest = 4096;
    int64_t now = monotonic_nanoseconds();
    int64_t passed = now - c->clock.read;
    if (passed > interval) {
        c->clock.stride /= 2;
        if (passed > 4 * interval) c->clock.stride = 0;
    } else if (passed < interval / 2 && c->clock.stride < longest) {
        c->clock.stride = 2 * c->clock.stride + 1;
    }
    c->clock.left = c->clock.stride;
    c->clock.read = now;
    return now;
}

static bool time_left(context *c) {
    int64_t now = read_clock(c);
    context_report *r = &c->report;
    if (r->due != 0 && now >= r->due) r->due = r->show(r->self, c, now);
    return c->deadline == 0 || now < c->deadline;
}

bool context_may_go_on_slow(context *c, span where) {
    if (c->interrupt != NULL && *c->interrupt != 0) {
        return error_set(&c->err, ERROR_K0509, where, "interrupted");
    }
    if ((c->deadline | c->report.due) != 0 && !time_left(c)) {
        error_set(&c->err, ERROR_K0510, where, "the time limit is reached");
        error_help(&c->err, "raise the limit with --time-limit");
        return false;
    }
    return true;
}

bool context_stack_left(context *c, span where) {
    if (c->stack_end == NULL) return true;
    if ((uintptr_t)__builtin_frame_address(0) >= (uintptr_t)c->stack_end) return true;
    error_set(&c->err, ERROR_K0508, where, "the recursion is too deep for the stack");
    error_help(&c->err, "write the recursion as a `while` loop, which takes no stack");
    return false;
}

loop_report *context_loop(context *c, span where, uint8_t policy, uint64_t amount) {
    context_stats *s = &c->stats;
    for (int i = 0; i < s->loop_count; i++) {
        loop_report *r = &s->loops[i];
        if (r->where.begin == where.begin && r->where.end == where.end && r->policy == policy &&
            r->amount == amount) {
            return r;
        }
    }
    if (s->loop_count == s->loop_room) {
        int wider = s->loop_room ? 2 * s->loop_room : 4;
        loop_report *grown = resize(c, s->loops, (size_t)s->loop_room * sizeof *grown,
                                    (size_t)wider * sizeof *grown);
        if (grown == NULL) return NULL;
        s->loops = grown;
        s->loop_room = wider;
    }
    s->loops[s->loop_count] = (loop_report){.where = where, .policy = policy, .amount = amount};
    return &s->loops[s->loop_count++];
}

void context_forget_loops(context *c) {
    give_back(c, c->stats.loops, (size_t)c->stats.loop_room * sizeof *c->stats.loops);
    c->stats.loops = NULL;
    c->stats.loop_count = c->stats.loop_room = 0;
}
