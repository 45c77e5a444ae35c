/* What the files of kina-bench share: small services of a program that measures others. */
#ifndef KINA_BENCH_H
#define KINA_BENCH_H

#include <stdio.h>

#include "bench/options.h"
#include "interp/tools/process.h"
#include "interp/tools/report.h"

/* Memory of the measuring process itself; the measured ones have the context's. When there is none
 * the program ends with a message. */
void *bench_take(size_t bytes);
void *bench_grow(void *p, size_t bytes);

double bench_median(double *x, int count); /* sorts x; count >= 1 */
double bench_seconds(void);

/* A line on standard error that says where a long measurement stands; nothing for the first second,
 * and nothing at all where standard error is no terminal, unless `plain` asks for lines. */
typedef struct progress {
    bool shown, plain, terminal;
    double start, last;
    int done, total;
} progress;

progress progress_begin(int total, bool plain);
void progress_step(progress *p, const char *what, long long n); /* before each run */
void progress_end(progress *p);

int bench_checkpoint(const bench_options *o);
int bench_ops(const bench_options *o);
int bench_printed(const bench_options *o);
int bench_accuracy(const bench_options *o);

/* Shows an error and returns its exit code; bench_report shows the one that is set in c. */
int bench_fail(error_code code, const char *format, ...) PRINTF_LIKE(2, 3);
int bench_report(context *c, const source *src);
/* Standard output is complete: 0, or EXIT_FILE with a message; a reader who has left is no fault.
 */
int bench_finish_output(void);

#endif
