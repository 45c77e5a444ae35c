/* Tapes in the ownership pass. A tape is linear: whatever takes it uses it up, each is used up once on every
 * path, and none is left over. It is followed as a tensor is, but belongs to the function that it was made in. */
#include "interp/own_state.h"

bool own_type_linear(const type *t) {
    if (t == NULL) return false;
    if (t->kind == TYPE_TAPE) return true;
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++) {
        if (own_type_linear(t->items[i])) return true;
    }
    return false;
}

owned *own_tape(own *o, const char *name, span at) {
    owned *t = own_tensor(o, name, at);
    if (t == NULL) return NULL;
    t->linear = true;
    t->home = o->function;
    t->number = o->tape_count++;
    t->older = o->tapes;
    o->tapes = t;
    return t;
}

void own_take(own *o, held v, const char *taker) {
    if (v.of == NULL || o->failed) return;
    for (int i = 0; i < v.of->count; i++) own_take(o, own_item(v, i), taker);
    if (v.of->count == 0 && v.of->u.tensor->linear) own_end(o, v, END_TAKE, taker);
}

void own_unused(own *o, const type *t, held v, span at) {
    if (v.of == NULL && own_type_linear(t)) own_report_unnamed(o, at);
}

void own_check_home(own *o, held v) {
    if (v.of == NULL || o->failed) return;
    for (int i = 0; i < v.of->count; i++) own_check_home(o, own_item(v, i));
    if (v.of->count > 0 || !v.of->u.tensor->linear) return;
    if (v.of->u.tensor->home != o->function) own_report_captured(o, v.of->u.tensor, v.at);
}

void own_check_left(own *o, owned *mark) {
    for (owned *t = o->tapes; t != mark && !o->failed; t = t->older) {
        if (t->end == NULL) own_report_left(o, t);
    }
    o->tapes = mark;
}

void own_check_paths(own *o, const endings *taken, int count, unsigned first, span at) {
    o->stamp++;
    for (const ending *e = taken->first; e != NULL; e = e->next) {
        owned *t = e->tensor;
        if (t->stamp != o->stamp) t->place = 0;
        t->stamp = o->stamp;
        t->place++;
    }
    for (const ending *e = taken->first; e != NULL && !o->failed; e = e->next) {
        owned *t = e->tensor;
        if (t->place == count) continue;
        if (t->linear && t->number < first) own_report_path(o, t, e, at);
        if (t->session && o->function == &o->program->main) own_report_maybe(o, t, e, at);
    }
}
