/* The one door: every primitive op is performed through it, and the handlers on the context's stack decide
 * what performing means. The bottom handler runs the kernel; a reverse handler also records; a forward
 * handler also computes a tangent. Each performs the call at its outer neighbour first, so handlers nest in
 * any order and none sees what an inner one does on its own account.
 * (Effects and handlers as in Plotkin & Pretnar 2013; the stack of interpreters as in JAX's autodidax.) */
#ifndef KINA_DOOR_H
#define KINA_DOOR_H

#include "runtime/context.h"
#include "runtime/op.h"
#include "runtime/value.h"

typedef struct op_call {
    op_id op;
    uint8_t n;              /* operands; n <= 255 */
    uint8_t spent;          /* bit k (k < 8): operand k dies with this call, its buffer may become the result */
    const op_attrs *attrs;  /* NULL when the op has none; must outlive the call only */
    const value *in;        /* borrowed, spent ones too */
    span where;
} op_call;

typedef struct handler handler;
struct custom_call;         /* ad/ad.h */
struct handler {
    handler *outer;         /* NULL for the bottom */
    int recorders;          /* reverse handlers among this one and those outside it */
    int pushers;            /* forward handlers among them */
    /* Performs the call, with c->top set to h by the door. *out is owned by the caller on success. */
    bool (*perform)(context *c, handler *h, const op_call *call, value *out);
    /* The same for a call of a function with rules of its own (ad/ad.h); NULL for the bottom. */
    bool (*custom)(context *c, handler *h, const struct custom_call *call, value *out);
};

/* Performs at the innermost handler. Passive calls (all indices 0) go straight to the bottom. */
bool door_perform(context *c, const op_call *call, value *out) MUST_CHECK;
/* Performs at handler h, as h's inner neighbour sees it. */
bool door_perform_at(context *c, handler *h, const op_call *call, value *out) MUST_CHECK;

#endif
