/* A workload and one measured run of it, in a process of its own: so that its peak of resident
 * memory is its own and nothing that one policy leaves behind helps or hinders the next. */
#ifndef KINA_BENCH_WORK_H
#define KINA_BENCH_WORK_H

#include "ad/schedule.h"
#include "interp/engine.h"

typedef struct work {
    const char *path; /* as messages show it */
    const char *text;
    size_t length;
    const char *fn; /* NULL: the final expression */
    char *const *args;
    int arg_count;
    bool with_n; /* n is the argument of that name */
    long long n;
    bool as_it_is; /* call fn; else its gradient, where it returns one floating value */
    int threads;
    bool cold;   /* measure the first call; else one goes before */
    bool sample; /* gather live bytes over the run */
} work;

/* Live bytes at one place of the run. */
typedef struct sample {
    double seconds; /* since the first body was entered */
    double bytes;
} sample;

typedef struct measure {
    double forward, backward; /* seconds by the clock on the wall */
    double processor;         /* seconds of all threads */
    uint64_t iterations;      /* bodies entered */
    uint64_t advanced, taped; /* of checkpointed loops */
    uint64_t loops, runs;     /* checkpointed loops and their runs */
    uint64_t trips, states; /* of the loop with the largest state: its longest run, the most kept */
    uint64_t state_bytes, taped_bytes;
    uint64_t optimum;  /* executions that it needs at least with the same memory */
    uint64_t peak;     /* live bytes, everything */
    uint64_t base;     /* of them at the first body's entry: the first state included */
    uint64_t results;  /* bytes of all results */
    uint64_t resident; /* peak of the process */
} measure;

typedef struct answer {
    int exit;      /* 0, or what the program should end with */
    error failure; /* a budget too small (K0514) or no answer (K0901); any other failure of the
                      program has been shown */
    measure m;
    char *bits; /* all results: see bits_differ */
    size_t bit_bytes;
    sample *samples;
    size_t sample_count;
} answer;

/* Runs it once, in a process that is forked for it. */
void work_run(const work *w, const policy *p, answer *out);
void answer_close(answer *a);

/* Names the first place where the results differ, or gives false. NaN equals NaN. */
bool answers_differ(const answer *a, const answer *b, char *where, size_t room);

/* The part of the peak that is loop states, tape and adjoints: without what was live before the
 * loop's first state and without the results beyond one state's gradient (of weights, which the
 * loop does not carry). */
double measure_own_bytes(const measure *m, uint64_t state_bytes);

#endif
