/* The context: one interpreter's whole mutable state, passed everywhere. There is no process-wide or
 * thread-local state besides the loaded BLAS; two contexts may be used from two threads. */
#ifndef KINA_CONTEXT_H
#define KINA_CONTEXT_H

#include <signal.h>

#include "runtime/error.h"
#include "runtime/memory.h"

/* How ops compute. FAST: vector math of 1 ulp, BLAS. REFERENCE: F32 transcendentals through F64, sums and
 * products accumulated in F64, one thread. COMPILED: what straightforward compiled code computes, libm and
 * plain loops in index order (docs/numerics.md). */
typedef enum numerics { NUMERICS_FAST, NUMERICS_REFERENCE, NUMERICS_COMPILED } numerics;

/* Memory as a checkpointed loop divides it: bytes of a state, of one more taped iteration, and what is free for them
 * beside the state in hand and a first taped iteration. */
typedef struct loop_room {
    uint64_t state, taped, free;
} loop_room;

/* What a checkpointed loop of the program did, all its runs together. */
typedef struct loop_report {
    span where;
    uint8_t policy;             /* policy_kind of ad/schedule.h */
    uint64_t amount;            /* its k, slots or bytes */
    uint64_t runs;
    uint64_t kept_whole;        /* further runs, in which the policy could not act */
    uint64_t trips;             /* of the longest run */
    uint64_t states;            /* the most kept at once */
    uint64_t state_bytes;       /* of one state */
    uint64_t taped_bytes;       /* what taping one iteration retained, last */
    bool on_disk;               /* the states' tensors are in a file */
    uint64_t peak_tape_bytes;   /* of the longest piece taped at once */
    uint64_t adjoint_bytes;     /* of the carries' adjoints */
    uint64_t total_trips, advanced, taped;      /* of all runs */
    loop_room room;             /* of the longest run */
    uint64_t optimum;           /* executions that such a run needs at least with the same memory; 0: not asked for */
} loop_report;

typedef struct context_stats {
    uint64_t ops;               /* ops performed through the door */
    uint64_t tape_records;      /* records made, all handlers */
    size_t tape_bytes_peak;     /* of records and their side stacks, without saved tensors */
    uint64_t iterations;        /* loop bodies entered, replays included */
    uint64_t advanced, taped;   /* of those of checkpointed loops: without and with recording */
    uint64_t checkpoints;       /* states kept */
    double seconds_backward;    /* inside outermost backward sweeps */
    loop_report *loops;         /* given back by context_forget_loops */
    int loop_count, loop_room;
} context_stats;

/* Somebody who wants to hear of a long run: called when `due` has passed, by whoever asks whether the evaluation may go
 * on; looks and does not change, and gives the next time. */
typedef struct context_report {
    int64_t (*show)(void *self, context *c, int64_t now);
    void *self;
    int64_t due;                /* monotonic nanoseconds; 0: never */
} context_report;

struct context {
    memory mem;
    error err;
    context_stats stats;

    numerics numerics;
    int threads;                            /* worker threads for kernels, >= 1 */
    struct thread_pool *pool;               /* runtime/threads.h; made when first needed */

    struct handler *top;                    /* the innermost handler; NULL outside of any (door.h) */
    struct tape *tape;                      /* owned by ad/; made when first needed */
    bool watched;                           /* each op is looked at (watch.h): none is computed beside the door */
    bool sweeping;                          /* inside an outermost backward sweep */

    const volatile sig_atomic_t *interrupt; /* nonzero asks the evaluation to stop; may be NULL */
    int64_t deadline;                       /* monotonic nanoseconds; 0: none */
    context_report report;
    struct {
        int64_t read;                       /* when the clock was read last */
        uint32_t stride, left;              /* calls between two readings, calls until the next */
    } clock;                                /* for context_may_go_on */
    uint64_t perturb_replay;                /* testing: a replay that reaches this iteration of a loop finds
                                               its first carried number changed; 0: none */
    void (*on_iteration)(void *self, context *c);   /* called where a loop's body is entered, replays included;
                                                       may look and must not change; NULL: nobody looks */
    void *observer;                         /* its self */
    const struct tape_observer *tape_observer;      /* ad/tape_view.h; NULL: nobody looks at tapes */
    const char *stack_end;                  /* lowest address the C stack may reach; NULL: unchecked */
};

/* Ready for use: no limit, fast numerics, one thread. */
void context_init(context *c);
/* Gives everything back. c->mem.live is 0 here unless something leaked. */
void context_close(context *c);

/* False with the error set when the evaluation has to stop: interrupt (K0509) or time limit (K0510). */
bool context_may_go_on_slow(context *c, span where) MUST_CHECK;
MUST_CHECK static inline bool context_may_go_on(context *c, span where) {
    if (c->interrupt == NULL || *c->interrupt == 0) {
        if ((c->deadline | c->report.due) == 0) return true;
        if (c->clock.left > 0) {
            c->clock.left--;
            return true;
        }
    }
    return context_may_go_on_slow(c, where);
}
/* False with K0508 set when the C stack has passed stack_end. */
bool context_stack_left(context *c, span where) MUST_CHECK;

int64_t monotonic_nanoseconds(void);

/* The report of the loop at this place under this policy, made when first asked for; NULL with the error set. */
loop_report *context_loop(context *c, span where, uint8_t policy, uint64_t amount) MUST_CHECK;
void context_forget_loops(context *c);

#endif
