/* Worker threads for kernels. The work is cut into tasks by its shape alone, never by the number of
 * threads, so that results do not depend on it. */
#ifndef KINA_THREADS_H
#define KINA_THREADS_H

#include "runtime/context.h"

/* Calls work(argument, i) for every i in [0, tasks), on up to c->threads threads (the caller's is one of
 * them), and returns when all are done. Falls back to the caller's thread alone when no other can be
 * started. `work` must not touch the context. */
void threads_run(context *c, int tasks, void (*work)(void *argument, int i), void *argument);
void threads_close(context *c);

#endif
