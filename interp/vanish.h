/* Why a gradient is all zeros: the program is run once more, and its tape and its sweep are looked at. */
#ifndef KINA_VANISH_H
#define KINA_VANISH_H

#include "interp/engine.h"
#include "runtime/text.h"

typedef enum vanish_cause {
    VANISH_UNKNOWN,
    VANISH_STOPPED,             /* no derivative leads from it to the result, and `where` is a stop_gradient */
    VANISH_CUT,                 /* none does, and what depends on it goes into `op`, which has no derivative */
    VANISH_APART,               /* none does, and nothing is known of why */
    VANISH_ZERO,                /* on the way back there are nothing but zeros behind what is at `where` */
} vanish_cause;

typedef struct vanish {
    vanish_cause cause;
    const char *op;
    span where;
} vanish;

/* Of the gradient number `which` that the final expression of a loaded program gives, a handle with reverseMode; 0 is the
 * first behind the primal. False with the context's error set when the run fails. */
bool vanish_find(engine *e, int which, vanish *out) MUST_CHECK;
/* A sentence without its end, of at most 76 columns; nothing for UNKNOWN. */
void vanish_print(text *t, const source *src, const vanish *v);

#endif
