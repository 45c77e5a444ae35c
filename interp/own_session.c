/* The variables of a session in the ownership pass. Each is there before the program, whatever its type is, so that it
 * has ended behind a drop as all else has. A loop takes a copy of it, and may yield it. */
#include "interp/own_state.h"

static const holding *hold(own *o, const type *t, const char *name) {
    if (o->failed) return NULL;
    if (t->kind != TYPE_TUPLE) {
        owned *variable = own_tensor(o, name, (span){0, 0});
        if (variable == NULL) return NULL;
        variable->session = true;
        return &variable->self;
    }
    holding *tuple = ARENA_NEW(&o->a, holding);
    held *items = ARENA_ARRAY(&o->a, held, t->count);
    if (tuple == NULL || items == NULL) {
        o->failed = true;
        return NULL;
    }
    for (int i = 0; i < t->count; i++) items[i].of = hold(o, t->items[i], name);
    *tuple = (holding){.count = t->count, .settled = true, .u.items = items};
    return tuple;
}

void own_bind_session(own *o) {
    for (int i = 0; i < o->program->global_count && !o->failed; i++) {
        const symbol *s = o->program->global_symbols[i];
        own_bind(o, s, hold(o, s->type, s->name), NULL);
    }
}

static bool is_dropped(const holding *h) {
    if (h->count == 0) return h->u.tensor->end != NULL;
    for (int i = 0; i < h->count; i++) {
        if (!is_dropped(h->u.items[i].of)) return false;
    }
    return true;
}

void own_note_dropped(own *o) {
    for (int i = 0; i < o->program->global_count && !o->failed; i++) {
        symbol *s = o->program->global_symbols[i];
        s->dropped = is_dropped(own_find(o, s).holds);
    }
}

bool own_session_moved(const owned *t, end_kind kind) { return t->session && kind == END_MOVE; }
