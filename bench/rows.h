/* What kina-bench checkpoint found, policy by policy, and how it is shown. */
#ifndef KINA_BENCH_ROWS_H
#define KINA_BENCH_ROWS_H

#include "bench/work.h"

typedef struct row {
    char name[40]; /* the policy in words */
    policy p;
    bool refused; /* the budget cannot hold one iteration: `why` says so, the rest is 0 */
    char why[ERROR_TEXT];
    bool same;                              /* the bits of the reference */
    double forward, backward, total, ratio; /* medians; ratio to the reference of the same round */
    double processor, processor_ratio;      /* the same of processor time */
    double spread;                          /* (largest - least total) / median */
    measure m;
    uint64_t scheduled;   /* executions by the schedule alone; 0: not one plain loop */
    uint64_t first_piece; /* iterations of the piece that the schedule tapes last; 0: not known */
    sample *samples;
    size_t sample_count;
} row;

/* All policies at one trip count. */
typedef struct block {
    long long n;
    int count;
    row *rows;
    int reference;                     /* the row that the others are compared with */
    uint64_t state_bytes, taped_bytes; /* of the loop with the largest state; 0: nothing told */
} block;

/* What a row's own bytes are held against, and how that is called; 0 where there is nothing. */
double row_bound(const block *b, const row *r);
double row_own(const block *b, const row *r);
double row_executions(const block *b, const row *r); /* per iteration of the reference */
/* The least executions per iteration with the same memory; 0: unknown. */
double row_optimum(const row *r);
/* The distance of states that a spaced policy came to; 0 for others. */
uint64_t row_spacing(const row *r);

void rows_table(const block *b, bool first);
void rows_csv(const block *b, bool first);

typedef struct rows_heading {
    const char *program, *fn;
    int threads, runs;
    bool cold;
} rows_heading;
void rows_json(const rows_heading *h, const block *b, int count);

#endif
