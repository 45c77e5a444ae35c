/* Schedules without tensors: what a policy would do to a loop, step by step, and the least that any
 * schedule does. */
#ifndef KINA_BENCH_TRACE_H
#define KINA_BENCH_TRACE_H

#include "ad/schedule.h"

typedef enum trace_kind { TRACE_ADVANCE, TRACE_TAPE, TRACE_KEEP, TRACE_SWEEP } trace_kind;
/* Advanced, taped or swept [from, to) (a sweep goes down from `to`), or kept `from`; `time` is in
 * executions so far. */
typedef void trace_step(void *self, trace_kind kind, uint64_t time, uint64_t from, uint64_t to);

typedef struct trace_sizes {
    uint64_t state, taped; /* bytes: of a state, and of one more taped iteration */
} trace_sizes;

/* Asks the policy as the executor does. False with c's error set. step may be NULL. */
bool trace_run(context *c, const policy *p, uint64_t trips, trace_sizes sizes, trace_step *step,
               void *self, uint64_t *executions) MUST_CHECK;

/* The least executions when states (1 unit each) and taped iterations (`taped` units each) share
 * the room: out[m] for m = 0..units units beside the state in hand and the iteration being taped;
 * UINT32_MAX where n iterations do not fit. */
void trace_mixed_optimum(uint32_t n, uint32_t units, uint32_t taped, uint32_t *out);

#endif
