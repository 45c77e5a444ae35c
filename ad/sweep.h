/* The backward sweep over one reverse handler's records. Internal to ad/. */
#ifndef KINA_SWEEP_H
#define KINA_SWEEP_H

#include "ad/ad.h"
#include "ad/performer.h"

/* As reverse_leave; c->top is already the handler outside, the handler's mark is still live. */
bool sweep_run(context *c, reverse_scope *s, const value *primal, const value *seed,
               const value *parameter, int count, span where, value *gradients) MUST_CHECK;

#endif
