/* kina-bench: measures what Kina's policies and ops cost, each measured run in a process of its
 * own, and how accurate its functions are. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "runtime/context.h"

/* ---- memory ---- */

void *bench_grow(void *p, size_t bytes) {
    void *grown = realloc(p, bytes > 0 ? bytes : 1);
    if (grown == NULL) {
        fputs("kina-bench: out of memory\n", stderr);
        exit(EXIT_FAILED);
    }
    return grown;
}

void *bench_take(size_t bytes) {
    return bench_grow(NULL, bytes);
}

/* ---- numbers ---- */

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *x, int count) {
    qsort(x, (size_t)count, sizeof *x, order);
    return (x[(count - 1) / 2] + x[count / 2]) / 2;
}

double bench_seconds(void) {
    return (double)monotonic_nanoseconds() * 1e-9;
}

/* ---- progress ---- */

progress progress_begin(int total, bool plain) {
    return (progress){.total = total,
                      .plain = plain,
                      .terminal = isatty(STDERR_FILENO) == 1,
                      .start = bench_seconds()};
}

void progress_step(progress *p, const char *what, long long n) {
    double now = bench_seconds();
    bool due = now - p->start > 1 && now - p->last > 0.1 && (p->terminal || p->plain);
    if (due) {
        p->last = now;
        fprintf(stderr, "%srun %d of %d: N = %lld, %s, %.0f s so far%s", p->plain ? "" : "\r\033[K",
                p->done + 1, p->total, n, what, now - p->start, p->plain ? "\n" : "");
        fflush(stderr);
        p->shown = !p->plain;
    }
    p->done++;
}

void progress_end(progress *p) {
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = false;
}

/* ---- errors and the end ---- */

int bench_report(context *c, const source *src) {
    return (int)report_error(c, src, report_style(&(options){.verb = VERB_run}));
}

static int report_as(error_code code, const char *format, va_list list) {
    context c;
    char message[ERROR_TEXT];
    context_init(&c);
    vsnprintf(message, sizeof message, format, list);
    error_set(&c.err, code, (span){0, 0}, "%s", message);
    int exit = bench_report(&c, NULL);
    context_close(&c);
    return exit;
}

int bench_fail(error_code code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int exit = report_as(code, format, list);
    va_end(list);
    return exit;
}

int bench_finish_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    if (errno == EPIPE) return 0;
    return bench_fail(ERROR_K0602, "cannot write standard output: %s", strerror(errno));
}

int main(int argc, char **argv) {
    process_set_signals();
    context c;
    context_init(&c);
    bench_options o;
    int code;
    if (!bench_options_parse(&o, argc, argv, &c.err)) {
        code = bench_report(&c, NULL);
    } else if (o.text[GIVEN_help] != NULL) {
        bench_options_help(&o, stdout);
        code = bench_finish_output();
    } else if (o.text[GIVEN_generate] != NULL) {
        const char *form = o.text[GIVEN_generate];
        code = bench_options_generate(form, stdout)
                   ? bench_finish_output()
                   : bench_fail(ERROR_K0801, "--generate takes man, bash, zsh or fish, not '%s'", form);
    } else {
        static int (*const verbs[BENCH_VERB_COUNT])(const bench_options *) = {
#define VERB(id, word, summary) [BENCH_##id] = bench_##id,
#include "bench/options.def"
        };
        code = verbs[o.verb](&o);
    }
    context_close(&c);
    return code;
}
