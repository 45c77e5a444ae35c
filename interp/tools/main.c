/* kina-interp: options to actions, and the stack that a program runs on. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "interp/tools/process.h"
#include "interp/tools/run.h"
#include "runtime/context.h"

#define MIB ((size_t)1024 * 1024)
/* A program's recursion is the evaluator's, so it gets far more stack than the system's default. */
#define STACK_MOST  (512 * MIB)
#define STACK_LEAST (MIB)

/* A closed standard descriptor must not become that of a file which is opened later. */
static void fill_descriptors(void) {
    for (int i = 0; i <= 2; i++) {
        if (fcntl(i, F_GETFD) != -1 || errno != EBADF) continue;
        /* Reading from output and writing to input fail as on a closed one. */
        if (open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY) != i) _exit(EXIT_FILE);
    }
}

typedef struct job {
    const options *o;
    context *c;
    exit_code code;
} job;

static void *do_job(void *argument) {
    job *j = argument;
    j->c->stack_end = process_stack_end();
    j->code = run_options(j->o, j->c, &process_interrupted);
    return NULL;
}

/* On a thread with as large a stack as the system gives; on this one if it gives none. */
static void do_job_on_large_stack(job *j) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        do_job(j);
        return;
    }
    pthread_t thread;
    bool started = false;
    for (size_t size = STACK_MOST; !started && size >= STACK_LEAST; size /= 2) {
        started = pthread_attr_setstacksize(&attributes, size) == 0 &&
                  pthread_create(&thread, &attributes, do_job, j) == 0;
    }
    pthread_attr_destroy(&attributes);
    if (started) {
        /* Signals go to the thread that works, so that they end what it waits for. */
        sigset_t signals;
        sigfillset(&signals);
        pthread_sigmask(SIG_BLOCK, &signals, NULL);
        pthread_join(thread, NULL);
    } else {
        do_job(j);
    }
}

int main(int argc, char **argv) {
    fill_descriptors();
    process_set_signals();
    context c;
    context_init(&c);
    options o;
    job j = {.o = &o, .c = &c};
    if (options_parse(&o, argc, argv, &c.err)) {
        do_job_on_large_stack(&j);
    } else {
        j.code = report_error(&c, NULL, report_style(&o));
    }
    context_close(&c);
    return (int)j.code;
}
