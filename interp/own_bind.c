/* Names and what they hold: the table of the ownership pass, and the making of identities where a
 * value gets its first name.
 *
 * A symbol that is not in the table (one that an earlier input of a session bound) holds nothing
 * that could end: a loop takes a copy of it. */
#include "interp/own_state.h"
#include "runtime/context.h"

bool own_type_holds(const type *t) {
    if (t == NULL) return false;
    if (t->kind == TYPE_TENSOR) return t->tensor.rank > 0;
    if (t->kind == TYPE_TAPE) return true;
    if (t->kind != TYPE_TUPLE) return false;
    for (int i = 0; i < t->count; i++) {
        if (own_type_holds(t->items[i])) return true;
    }
    return false;
}

/* ---- the table ---- */
static uint32_t place_of(const bound_name *table, uint32_t size, const symbol *s) {
    uint64_t hash = (uint64_t)(uintptr_t)s * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t at = (uint32_t)(hash >> 32) & (size - 1);
    while (table[at].of != NULL && table[at].of != s) at = (at + 1) & (size - 1);
    return at;
}

static bool table_grow(own *o) {
    uint32_t size = o->table_size == 0 ? 64 : o->table_size * 2;
    bound_name *table = take_zeroed(o->c, size * sizeof *table);
    if (table == NULL) return false;
    for (uint32_t i = 0; i < o->table_size; i++) {
        if (o->table[i].of == NULL) continue;
        table[place_of(table, size, o->table[i].of)] = o->table[i];
    }
    give_back(o->c, o->table, o->table_size * sizeof *table);
    o->table = table;
    o->table_size = size;
    return true;
}

void own_bind(own *o, const symbol *s, const holding *holds, use_node *use) {
    if (s == NULL || (holds == NULL && use == NULL)) return;
    if (o->table_count >= o->table_size / 4 * 3 && !table_grow(o)) {
        o->failed = true;
        return;
    }
    bound_name *b = &o->table[place_of(o->table, o->table_size, s)];
    if (b->of == NULL) o->table_count++;
    *b = (bound_name){.of = s, .holds = holds, .use = use};
}

bound_name own_find(const own *o, const symbol *s) {
    if (o->table_size == 0 || s == NULL) return (bound_name){.of = s};
    return o->table[place_of(o->table, o->table_size, s)];
}

/* ---- identities ---- */
held own_item(held v, int i) {
    if (v.of == NULL || i >= v.of->count) return (held){.at = v.at};
    held part = v.of->u.items[i];
    if (part.at.end == 0) part.at = v.at;
    return part;
}

static const holding *settle_tuple(own *o, const type *t, held v, const char *name, span at,
                                   bool *fresh) {
    holding *tuple = ARENA_NEW(&o->a, holding);
    held *items = ARENA_ARRAY(&o->a, held, t->count);
    if (tuple == NULL || items == NULL) {
        o->failed = true;
        return NULL;
    }
    for (int i = 0; i < t->count && !o->failed; i++) {
        held part = own_item(v, i);
        const char *part_name = name;
        if (part.of == NULL && own_type_holds(t->items[i])) {
            part_name = arena_format(&o->a, "%s.%d", name, i);
            if (part_name == NULL) o->failed = true;
        }
        items[i].of = own_settle(o, t->items[i], part, part_name, at, fresh);
    }
    *tuple = (holding){.count = t->count, .settled = true, .u.items = items};
    return tuple;
}

const holding *own_settle(own *o, const type *t, held v, const char *name, span at, bool *fresh) {
    if (o->failed || !own_type_holds(t)) return NULL;
    if (t->kind == TYPE_TUPLE) {
        if (v.of != NULL && v.of->settled) return v.of;
        return settle_tuple(o, t, v, name, at, fresh);
    }
    owned *tensor = v.of != NULL && v.of->count == 0 ? v.of->u.tensor : NULL;
    if (tensor == NULL && t->kind == TYPE_TAPE) {
        tensor = own_tape(o, name, at);
        if (tensor == NULL) return NULL;
    } else if (tensor == NULL) {
        tensor = own_tensor(o, name, at);
        if (tensor == NULL) return NULL;
        *fresh = true;
    } else if (tensor->name == NULL) {
        tensor->name = name;
        tensor->at = at;
        if (tensor->fresh) *fresh = true;
    }
    return &tensor->self;
}
