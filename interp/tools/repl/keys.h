/* Keys from a terminal, one at a time: characters out of UTF-8, and the signals that arrive while one is
 * waited for. */
#ifndef KINA_KEYS_H
#define KINA_KEYS_H

#include <signal.h>

#include "runtime/common.h"

typedef enum keys_event {
    KEYS_CHARACTER,
    KEYS_END,           /* of the file; also when the terminal is gone */
    KEYS_INTERRUPTED,   /* Ctrl-C */
    KEYS_RESIZED,
    KEYS_STOPPED,       /* Ctrl-Z: the process is to stop now */
} keys_event;

typedef struct keys {
    int file;
    unsigned char bytes[4096];  /* read and not yet given out: [next, end) */
    unsigned next, end;
    struct sigaction resize, stop; /* as they were before keys_begin */
} keys;

void keys_init(keys *k, int file);
/* From here to keys_end the signals of a change of size and of Ctrl-Z are keys' own. */
void keys_begin(keys *k);
void keys_end(keys *k);
/* Waits for the next event. What is no UTF-8 is passed over, as is the character 0. */
keys_event keys_next(keys *k, uint32_t *character);
/* Stops the process as Ctrl-Z does where nobody catches it; returns when it goes on. */
void keys_stop(void);

#endif
