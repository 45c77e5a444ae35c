/* What both programs settle with the system they run in: signals, and the stack. */
#ifndef KINA_PROCESS_H
#define KINA_PROCESS_H

#include <signal.h>

/* Set by the first Ctrl-C, which asks what is running to stop. */
extern volatile sig_atomic_t process_interrupted;
/* Set by who has more to lose than what is running: then Ctrl-C only asks, however often. */
extern volatile sig_atomic_t process_stays;

/* From here on Ctrl-C sets process_interrupted, and while that is set ends the program; a closed pipe and a file that
 * may not grow are errors of the write that meets them. */
void process_set_signals(void);

/* The lowest address that the calling thread's stack may reach, with a margin; NULL when unknown. */
const char *process_stack_end(void);

#endif
