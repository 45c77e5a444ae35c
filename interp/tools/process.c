/* Signals and the stack. */
#include "interp/tools/process.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "interp/tools/report.h"

/* What functions may need below the last point where they ask whether there is stack left. */
#define STACK_MARGIN ((size_t)256 * 1024)

volatile sig_atomic_t process_interrupted, process_stays;

/* The first Ctrl-C asks, the second does not. */
static void take_interrupt(int number) {
    (void)number;
    if (process_interrupted && !process_stays) _exit(EXIT_INTERRUPTED);
    process_interrupted = 1;
}

void process_set_signals(void) {
    struct sigaction action = {0}, before;
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    /* A program in the background of a shell script is started with interrupts ignored, and stays
     * so. */
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return;
    action.sa_handler = take_interrupt;
    sigaction(SIGINT, &action, NULL);
}

const char *process_stack_end(void) {
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
    bool known = pthread_attr_getstack(&attributes, &low, &size) == 0 && size > 2 * STACK_MARGIN;
    pthread_attr_destroy(&attributes);
    return known ? (const char *)low + STACK_MARGIN : NULL;
}
