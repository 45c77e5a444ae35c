/* The actions of kina-interp: running and checking a program. */
#ifndef KINA_RUN_H
#define KINA_RUN_H

#include <signal.h>

#include "interp/tools/report.h"

/* Does what the options ask for, failures reported, and returns the exit code. c is fresh;
 * `interrupt` is what the signal handler sets. On return nothing of the run is left in c. */
exit_code run_options(const options *o, context *c, volatile sig_atomic_t *interrupt);

#endif
