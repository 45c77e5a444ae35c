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
static bool time_left(context *c) {
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
    return now < c->deadline;
}

bool context_may_go_on_slow(context *c, span where) {
    if (c->interrupt != NULL && *c->interrupt != 0) {
        return error_set(&c->err, ERROR_K0509, where, "interrupted");
    }
    if (c->deadline != 0 && !time_left(c)) {
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
