/* The door: finds the handler that performs an op, and keeps c->top at it while it does. */
#include "runtime/door.h"

/* Every op that is not taken apart on the way ends at the bottom, so this is where ops are counted.
 */
static bool perform_bottom(context *c, handler *bottom, const op_call *call, value *out) {
    c->stats.ops++;
    handler *saved = c->top;
    c->top = bottom;
    bool ok = bottom->perform(c, bottom, call, out);
    c->top = saved;
    /* Only where it matters: who reads the whole value next would wait for the write. */
    if (ok && out->index != 0) out->index = 0;
    return ok;
}

bool door_perform_at(context *c, handler *h, const op_call *call, value *out) {
    if (h == NULL) {
        return error_set(&c->err, ERROR_K0901, call->where, "no handler performs ops");
    }
    if (h->outer == NULL) return perform_bottom(c, h, call, out);
    handler *saved = c->top;
    c->top = h;
    bool ok = h->perform(c, h, call, out);
    c->top = saved;
    return ok;
}

bool door_perform(context *c, const op_call *call, value *out) {
    handler *h = c->top;
    if (h != NULL && h->outer != NULL) {
        uint32_t active = 0;
        for (int i = 0; i < call->n; i++) active |= call->in[i].index;
        if (active == 0) {
            while (h->outer != NULL) h = h->outer;
        }
    }
    return door_perform_at(c, h, call, out);
}
