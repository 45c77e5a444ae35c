/* The watching handler. */
#include "runtime/watch.h"

/* No operand is spent: its buffer would become the result's, and who looks wants to see both. */
static bool perform(context *c, handler *h, const op_call *call, value *out) {
    watch *w = (watch *)h;
    op_call kept = *call;
    kept.spent = 0;
    if (!w->beneath->perform(c, w->beneath, &kept, out)) return false;
    if (w->look(w->self, c, &kept, out)) return true;
    value_release(c, *out);
    return false;
}

void watch_open(watch *w, context *c, bool (*look)(void *, context *, const op_call *, const value *), void *self) {
    *w = (watch){.h = {.perform = perform}, .beneath = c->top, .look = look, .self = self};
    c->top = &w->h;
    c->watched = true;
}

void watch_close(watch *w, context *c) {
    c->top = w->beneath;
    c->watched = false;
}
