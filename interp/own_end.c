/* Tensors of the ownership pass: their ends, the choices an `if` makes between them, and what a
 * loop body yields.
 *
 * Choices form a graph that may be as deep as the program is long, so nothing here recurses along
 * it. */
#include "interp/own_state.h"

owned *own_tensor(own *o, const char *name, span at) {
    owned *t = ARENA_NEW(&o->a, owned);
    if (t == NULL) {
        o->failed = true;
        return NULL;
    }
    t->self = (holding){.settled = true, .u.tensor = t};
    t->name = name;
    t->at = at;
    t->depth = o->depth;
    t->fresh = true;
    return t;
}

/* ---- choices ---- */
static bool link_to(own *o, owned_link **list, owned *t, span at) {
    owned_link *link = ARENA_NEW(&o->a, owned_link);
    if (link == NULL) {
        o->failed = true;
        return false;
    }
    *link = (owned_link){.tensor = t, .at = at, .next = *list};
    *list = link;
    return true;
}

/* The tensor that is one of the branches' tensors, or a new one where `fresh`. */
static held choose_tensor(own *o, choice_branch *branches, span at) {
    owned *choice = NULL, *only = NULL;
    bool fresh = false, several = false;
    for (choice_branch *b = branches; b != NULL; b = b->next) {
        if (b->value.of == NULL) {
            fresh = true;
            continue;
        }
        owned *t = b->value.of->u.tensor;
        several = several || (only != NULL && only != t);
        only = t;
    }
    if (only == NULL) return (held){.at = at};
    if (!several && !fresh) return (held){.of = &only->self, .at = at};
    choice = own_tensor(o, NULL, at);
    if (choice == NULL) return (held){.at = at};
    choice->fresh = fresh;
    unsigned stamp = ++o->stamp;
    for (choice_branch *b = branches; b != NULL; b = b->next) {
        owned *t = b->value.of == NULL ? NULL : b->value.of->u.tensor;
        if (t == NULL || t->stamp == stamp) continue;
        t->stamp = stamp;
        if (!link_to(o, &choice->members, t, b->value.at)) break;
        if (!link_to(o, &t->choices, choice, at)) break;
    }
    return (held){.of = &choice->self, .at = at};
}

static held choose_tuple(own *o, const type *t, choice_branch *branches, span at) {
    int branch_count = 0;
    for (choice_branch *b = branches; b != NULL; b = b->next) branch_count++;
    holding *tuple = ARENA_NEW(&o->a, holding);
    held *items = ARENA_ARRAY(&o->a, held, t->count);
    choice_branch *parts = ARENA_ARRAY(&o->a, choice_branch, branch_count);
    if (tuple == NULL || items == NULL || parts == NULL) {
        o->failed = true;
        return (held){.at = at};
    }
    for (int i = 0; i < t->count && !o->failed; i++) {
        choice_branch *part = parts;
        for (choice_branch *b = branches; b != NULL; b = b->next, part++) {
            *part = (choice_branch){.value = own_item(b->value, i),
                                    .next = b->next == NULL ? NULL : part + 1};
        }
        items[i] = own_choose(o, t->items[i], parts, at);
    }
    *tuple = (holding){.count = t->count, .u.items = items};
    return (held){.of = tuple, .at = at};
}

held own_choose(own *o, const type *t, choice_branch *branches, span at) {
    /* A branch hands its tapes over: what the `if` gives is a tape of its own. */
    if (branches == NULL || !own_type_holds(t) || t->kind == TYPE_TAPE) return (held){.at = at};
    const holding *same = branches->value.of;
    bool differ = own_type_linear(t);
    for (choice_branch *b = branches; b != NULL; b = b->next) differ |= b->value.of != same;
    if (!differ) return (held){.of = same, .at = at};
    if (t->kind == TYPE_TUPLE) return choose_tuple(o, t, branches, at);
    return choose_tensor(o, branches, at);
}

/* ---- ends ---- */
static void append(own *o, ending *e) {
    e->next = NULL;
    o->last->next = e;
    o->last = e;
    e->tensor->end = e;
}

static bool append_new(own *o, ending like, owned *t) {
    ending *e = ARENA_NEW(&o->a, ending);
    if (e == NULL) {
        o->failed = true;
        return false;
    }
    *e = like;
    e->tensor = t;
    append(o, e);
    return true;
}

/* Where a member of a choice is mentioned: behind the choice's name if it has one, else in the
 * branch. */
static span member_at(const owned *choice, const owned_link *member, span at) {
    return choice->name != NULL || member->at.end == 0 ? at : member->at;
}

/* A closure has a share of its own of what it captures; a loop body has not, for its next iteration
 * needs the tensor again. */
static bool is_outer(const own *o, const owned *t) {
    return t->depth < o->depth && o->function_depth < o->depth;
}

/* Ends t, all that it may be, and with those whatever may be one of them. */
static void end_tensor(own *o, owned *t, ending like) {
    ending *mark = o->last;
    like.cause = t;
    if (!append_new(o, like, t)) return;
    for (ending *e = mark->next; e != NULL; e = e->next) {
        for (owned_link *m = e->tensor->members; m != NULL; m = m->next) {
            if (m->tensor->end != NULL || own_session_moved(m->tensor, like.kind)) continue;
            like.at = member_at(e->tensor, m, e->at);
            like.cause = m->tensor;
            if (is_outer(o, m->tensor)) {
                own_report_outer_end(o, m->tensor, like.kind, like.at);
                continue;
            }
            if (!append_new(o, like, m->tensor)) return;
        }
    }
    for (ending *e = mark->next; e != NULL; e = e->next) {
        like.at = e->at;
        like.cause = e->cause;
        for (owned_link *c = e->tensor->choices; c != NULL; c = c->next) {
            if (c->tensor->end == NULL && !append_new(o, like, c->tensor)) return;
        }
    }
}

void own_end(own *o, held v, end_kind kind, const char *taker) {
    if (v.of == NULL || o->failed) return;
    if (v.of->count > 0) {
        for (int i = 0; i < v.of->count; i++) own_end(o, own_item(v, i), kind, taker);
        return;
    }
    owned *t = v.of->u.tensor;
    if (t->end != NULL) {
        own_report_used(o, t, v.at);
    } else if (own_session_moved(t, kind)) {
        return;
    } else if (is_outer(o, t)) {
        own_report_outer_end(o, t, kind, v.at);
    } else {
        end_tensor(o, t, (ending){.kind = kind, .at = v.at, .taker = taker});
    }
}

void own_take_back(own *o, ending *mark, endings *taken) {
    ending *first = mark->next;
    if (first == NULL) return;
    for (ending *e = first; e != NULL; e = e->next) e->tensor->end = NULL;
    if (taken->first == NULL) {
        taken->first = first;
    } else {
        taken->last->next = first;
    }
    taken->last = o->last;
    o->last = mark;
    mark->next = NULL;
}

void own_put_back(own *o, endings *taken) {
    for (ending *e = taken->first, *next; e != NULL; e = next) {
        next = e->next;
        if (e->tensor->end == NULL) append(o, e);
    }
    *taken = (endings){0};
}

void own_check_alive(own *o, held v) {
    if (v.of == NULL || o->failed) return;
    if (v.of->count == 0) {
        if (v.of->u.tensor->end != NULL) own_report_used(o, v.of->u.tensor, v.at);
        return;
    }
    for (int i = 0; i < v.of->count; i++) own_check_alive(o, own_item(v, i));
}

/* ---- yields ---- */

/* The search for what place number `place` yields has come to t. True when t is new and harmless,
 * so that the search goes on to its members. */
static bool arrive(own *o, const loop_body *loop, owned *t, span at, int place) {
    if (t->session) return false;
    if (t->stamp == o->stamp) {
        if (t->place != place) own_report_twice(o, t, t->place_at, at);
        return false;
    }
    t->stamp = o->stamp;
    t->place = place;
    t->place_at = at;
    if (t->depth >= loop->depth) return true;
    own_report_outer_yield(o, t, at);
    return false;
}

/* All that the carried value number `place` may be: none of it may be yielded elsewhere or come
 * from outside of the loop. */
static void check_yield(own *o, const loop_body *loop, owned *t, span at, int place) {
    if (!arrive(o, loop, t, at, place)) return;
    t->next = NULL;
    for (owned *work = t; work != NULL;) {
        t = work;
        work = t->next;
        for (owned_link *m = t->members; m != NULL; m = m->next) {
            if (!arrive(o, loop, m->tensor, member_at(t, m, t->place_at), place)) continue;
            m->tensor->next = work;
            work = m->tensor;
        }
    }
}

static void check_place(own *o, const loop_body *loop, held v, int place) {
    if (v.of == NULL || o->failed) return;
    if (v.of->count == 0) {
        check_yield(o, loop, v.of->u.tensor, v.at, place);
        return;
    }
    for (int i = 0; i < v.of->count; i++) check_place(o, loop, own_item(v, i), place);
}

void own_check_yields(own *o, const loop_body *loop, held v) {
    int count = loop->loop->u.while_.count;
    o->stamp++;
    for (int i = 0; i < count; i++) check_place(o, loop, count == 1 ? v : own_item(v, i), i);
}
