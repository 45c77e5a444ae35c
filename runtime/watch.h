/* Looking at every op that is computed: a bottom handler in front of the kernels. A run that nobody watches pays
 * nothing for it. */
#ifndef KINA_WATCH_H
#define KINA_WATCH_H

#include "runtime/door.h"

typedef struct watch watch;
struct watch {
    handler h;                  /* first: the door sees this */
    handler *beneath;           /* what computes */
    /* Called after each op that went well, in the order of the run; call->in is intact. False with the error set
     * ends the run. */
    bool (*look)(void *self, context *c, const op_call *call, const value *out);
    void *self;
};

/* Between runs only: while no handler of a program is on the stack. w stays until it is closed. */
void watch_open(watch *w, context *c, bool (*look)(void *, context *, const op_call *, const value *), void *self);
void watch_close(watch *w, context *c);

#endif
