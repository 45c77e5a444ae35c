/* kina-interp: options to actions, signals, and the stack that a program runs on. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/tools/run.h"
#include "runtime/context.h"

#define MIB ((size_t)1024 * 1024)
/* A program's recursion is the evaluator's, so it gets far more stack than the system's default. */
#define STACK_MOST  (512 * MIB)
#define STACK_LEAST (MIB)
/* What functions may need below the last point where they ask whether there is stack left. */
#define STACK_MARGIN ((size_t)256 * 1024)

/* The first Ctrl-C asks the evaluation to stop; the second does not ask. */
static volatile sig_atomic_t interrupted;

static void take_interrupt(int number) {
    (void)number;
    if (interrupted) _exit(EXIT_INTERRUPTED);
    interrupted = 1;
}

static void set_signals(void) {
    struct sigaction action = {0}, before;
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL); /* a file that may not grow is an ordinary error */
    /* A program in the background of a shell script is started with interrupts ignored, and stays
     * so. */
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return;
    action.sa_handler = take_interrupt;
    sigaction(SIGINT, &action, NULL);
}

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

/* The lowest address that the calling thread's stack may reach, with a margin; NULL when unknown.
 */
static const char *find_stack_end(void) {
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
    bool known = pthread_attr_getstack(&attributes, &low, &size) == 0 && size > 2 * STACK_MARGIN;
    pthread_attr_destroy(&attributes);
    return known ? (const char *)low + STACK_MARGIN : NULL;
}

static void *do_job(void *argument) {
    job *j = argument;
    j->c->stack_end = find_stack_end();
    j->code = run_options(j->o, j->c, &interrupted);
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
        /* Interrupts go to the thread that works, so that they end a read it waits in. */
        sigset_t interrupts;
        sigemptyset(&interrupts);
        sigaddset(&interrupts, SIGINT);
        pthread_sigmask(SIG_BLOCK, &interrupts, NULL);
        pthread_join(thread, NULL);
    } else {
        do_job(j);
    }
}

int main(int argc, char **argv) {
    fill_descriptors();
    set_signals();
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
