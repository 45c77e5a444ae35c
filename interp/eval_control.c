/* Blocks, conditionals and loops. */
#include "interp/eval.h"

#include <string.h>

#include "runtime/stack.h"

/* ---- blocks ---- */

void eval_bind(evaluator *ev, value *frame, const binding *to, value v) {
    if (to->count > 0) {
        for (int i = 0; i < to->count; i++) {
            eval_bind(ev, frame, &to->items[i], value_retain(v.as.tuple->item[i]));
        }
        value_release(ev->c, v);
    } else if (to->slot >= 0) {
        value_release(ev->c, frame[to->slot]);
        frame[to->slot] = v;
    } else {
        value_release(ev->c, v);
    }
}

static void end_lives(evaluator *ev, value *frame, const slots *kills) {
    for (int i = 0; i < kills->count; i++) {
        value *slot = &frame[kills->slot[i]];
        value_release(ev->c, *slot);
        *slot = value_none();
    }
}

enum { FEW_ITEMS = 16 };

/* let (a, b) = e: the items go to their places without a tuple in between. */
static bool eval_destructured(evaluator *ev, value *frame, const step *s) {
    value items[FEW_ITEMS];
    if (!eval_many(ev, frame, s->value, s->to->count, items)) return false;
    for (int i = 0; i < s->to->count; i++) eval_bind(ev, frame, &s->to->items[i], items[i]);
    return true;
}

static bool eval_value(evaluator *ev, value *frame, const step *s) {
    if (s->to != NULL && s->to->count > 1 && s->to->count <= FEW_ITEMS) {
        if (!eval_destructured(ev, frame, s)) return false;
    } else {
        value v;
        if (!eval(ev, frame, s->value, &v)) return false;
        if (s->to != NULL) {
            eval_bind(ev, frame, s->to, v);
        } else {
            value_release(ev->c, v);
        }
    }
    return true;
}

static bool eval_step(evaluator *ev, value *frame, const step *s) {
    if (s->value == NULL) return true;
    ev->again |= s->again;
    bool ok = eval_value(ev, frame, s);
    if (s->again) ev->again = false;
    if (ok) end_lives(ev, frame, &s->kills);
    return ok;
}

bool eval_steps(evaluator *ev, value *frame, const code *n) {
    for (int i = 0; i < n->u.block.count; i++) {
        if (!eval_step(ev, frame, &n->u.block.steps[i])) return false;
    }
    return true;
}

bool eval_block(evaluator *ev, value *frame, const code *n, int count, value *out) {
    if (!eval_steps(ev, frame, n)) return false;
    if (n->u.block.tail == NULL) {
        *out = value_unit();
        return true;
    }
    if (!eval_many(ev, frame, n->u.block.tail, count, out)) return false;
    end_lives(ev, frame, &n->u.block.tail_kills);
    return true;
}

/* ---- what the tape is told ---- */

void value_list_add(value_list *list, const value *v) {
    if (v->kind == VALUE_TUPLE) {
        for (int i = 0; i < v->as.tuple->count; i++) value_list_add(list, &v->as.tuple->item[i]);
        return;
    }
    if (v->kind == VALUE_FUNCTION) {
        const closure *f = (const closure *)v->as.fn;
        for (int i = 0; i < f->count; i++) value_list_add(list, &f->captured[i]);
        return;
    }
    if (v->kind == VALUE_TAPE) {
        list->tapes = true;
        list->held |= (uint8_t)v->handlers;
    }
    if (v->index == 0 || list->failed) return;
    if (list->count == list->capacity) {
        int wider = list->capacity ? 2 * list->capacity : 16;
        const value **grown = resize(list->c, list->item, (size_t)list->capacity * sizeof *grown,
                                     (size_t)wider * sizeof *grown);
        if (grown == NULL) {
            list->failed = true;
            return;
        }
        list->item = grown;
        list->capacity = wider;
    }
    list->item[list->count++] = v;
}

uint8_t value_list_active(const value_list *list) {
    if (!ad_recording(list->c)) return 0;
    return ad_active(list->c, list->item, list->count) | list->held;
}

uint32_t value_list_tangents(const value_list *list) {
    return list->tapes ? ad_pushing(list->c) : ad_tangents(list->c, list->item, list->count);
}

void value_list_close(value_list *list) {
    give_back(list->c, list->item, (size_t)list->capacity * sizeof *list->item);
}

static value_list reads_of(evaluator *ev, value *frame, const slots *reads) {
    value_list list = {.c = ev->c};
    for (int i = 0; i < reads->count; i++) value_list_add(&list, &frame[reads->slot[i]]);
    return list;
}

static bool leaf_boundary(evaluator *ev, boundary kind, uint32_t handlers, span where, value *v) {
    switch (kind) {
    case BOUNDARY_PARAMETER: return ad_parameter(ev->c, where, v);
    case BOUNDARY_POPPED: return ad_popped(ev->c, (uint8_t)handlers, where, v);
    case BOUNDARY_JOIN: return ad_join(ev->c, (uint8_t)handlers, where, v);
    case BOUNDARY_CARRY: return ad_carry(ev->c, (uint8_t)handlers, where, v);
    case BOUNDARY_TANGENT: return ad_spread(ev->c, handlers, where, v);
    }
    return true;
}

/* A tuple is shared: its fresh leaves go into a tuple of their own. */
static bool tuple_boundary(evaluator *ev, boundary kind, uint32_t handlers, span where, value *v) {
    const tuple *old = v->as.tuple;
    tuple *t = tuple_new(ev->c, old->count);
    if (t == NULL) return false;
    value fresh = {.kind = VALUE_TUPLE, .as = {.tuple = t}};
    for (int i = 0; i < old->count; i++) {
        t->item[i] = value_retain(old->item[i]);
        if (!eval_boundary(ev, kind, handlers, where, &t->item[i])) {
            value_release(ev->c, fresh);
            return false;
        }
    }
    value_release(ev->c, *v);
    *v = fresh;
    return true;
}

bool eval_boundary(evaluator *ev, boundary kind, uint32_t handlers, span where, value *v) {
    if (v->kind == VALUE_TUPLE) return tuple_boundary(ev, kind, handlers, where, v);
    if (v->kind == VALUE_TAPE && kind != BOUNDARY_TANGENT) v->handlers |= (uint8_t)handlers;
    bool leaf = (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) && dtype_floating((dtype)v->dtype);
    return !leaf || leaf_boundary(ev, kind, handlers, where, v);
}

static bool all_boundaries(evaluator *ev, boundary kind, uint32_t handlers, span where, value *v, int count) {
    for (int i = 0; i < count; i++) {
        if (!eval_boundary(ev, kind, handlers, where, &v[i])) return false;
    }
    return true;
}

/* The floating leaves of what a region gives, as the tape knows them. */
static void add_results(value_list *list, const value *v) {
    if (v->kind == VALUE_TUPLE) {
        for (int i = 0; i < v->as.tuple->count; i++) add_results(list, &v->as.tuple->item[i]);
    } else if (v->kind != VALUE_FUNCTION) {
        value_list_add(list, v);
    }
}

/* True when a tape is among them. */
static bool any_tape(const value *v, int count) {
    for (int i = 0; i < count; i++) {
        if (v[i].kind == VALUE_TAPE) return true;
        if (v[i].kind == VALUE_TUPLE && any_tape(v[i].as.tuple->item, v[i].as.tuple->count)) return true;
    }
    return false;
}

static value_list results_of(evaluator *ev, const value *v, int count) {
    value_list list = {.c = ev->c};
    for (int i = 0; i < count; i++) add_results(&list, &v[i]);
    return list;
}

/* ---- conditionals ---- */

static bool note_branch(evaluator *ev, value *frame, const code *n, bool taken, uint32_t first, int count,
                        value *out) {
    value_list reads = reads_of(ev, frame, &n->u.branch.reads);
    uint8_t handlers = reads.failed ? 0 : value_list_active(&reads);
    bool ok = !reads.failed;
    uint32_t tangents = ok ? value_list_tangents(&reads) : 0;
    if (ok && ad_pushes(ev->c)) ok = all_boundaries(ev, BOUNDARY_TANGENT, tangents, n->where, out, count);
    if (ok && handlers != 0) {
        ok = all_boundaries(ev, BOUNDARY_JOIN, handlers, n->where, out, count);
        value_list joins = results_of(ev, out, ok ? count : 0);
        ok = ok && !joins.failed &&
             ad_branch(ev->c, first, joins.item, joins.count, any_tape(out, count), taken ? 0 : 1, reads.item, reads.count, n->where);
        value_list_close(&joins);
    }
    value_list_close(&reads);
    if (!ok) values_release(ev->c, out, count);
    return ok;
}

/* A replay obeys what the run decided. */
static bool decide(evaluator *ev, value *frame, const code *n, bool *taken) {
    trail_mode mode = ad_trail(ev->c);
    if (mode == TRAIL_READ) {
        *taken = !ad_past_tag(ev->c);
        return true;
    }
    if (!eval_condition(ev, frame, n->u.branch.condition, taken)) return false;
    return mode != TRAIL_WRITE || ad_keep_tag(ev->c, !*taken);
}

bool eval_if(evaluator *ev, value *frame, const code *n, int count, value *out) {
    bool taken;
    if (!decide(ev, frame, n, &taken)) return false;
    uint32_t first = ad_handling(ev->c) ? tape_top(ev->c->tape) : 0;
    const code *branch = taken ? n->u.branch.then : n->u.branch.otherwise;
    if (!eval_many(ev, frame, branch, count, out)) return false;
    return !ad_handling(ev->c) || note_branch(ev, frame, n, taken, first, count, out);
}

/* ---- loops ---- */

typedef struct looping {
    evaluator *ev;
    value *frame;
    const code *n;
    value *next;                /* the values of the coming iteration */
    op_type *shapes;            /* of the carries, where the run has to hold them to it */
    value_list reads;
    uint8_t handlers;           /* the loop is recorded for these */
    uint32_t tangents;          /* its carries have tangents for these forward handlers */
    uint32_t first;             /* the tape before the first carry */
    uint64_t trips;
} looping;

static bool carry_over(looping *l) {
    const code *n = l->n;
    bool ok = !ad_pushes(l->ev->c) || all_boundaries(l->ev, BOUNDARY_TANGENT, l->tangents, n->where, l->next, n->u.loop.count);
    if (ok && l->handlers != 0)
        ok = all_boundaries(l->ev, BOUNDARY_CARRY, l->handlers, n->where, l->next, n->u.loop.count);
    if (!ok) {
        values_release(l->ev->c, l->next, n->u.loop.count);
        return false;
    }
    for (int i = 0; i < n->u.loop.count; i++) {
        value *slot = &l->frame[n->u.loop.carry[i]];
        value_release(l->ev->c, *slot);
        *slot = l->next[i];
    }
    return true;
}

static void reclaim_carries(looping *l, uint32_t mark) {
    const code *n = l->n;
    if (!ad_handling(l->ev->c) || ad_recording(l->ev->c)) return;
    for (int i = 0; i < n->u.loop.count; i++) l->next[i] = l->frame[n->u.loop.carry[i]];
    eval_reclaim(l->ev, mark, l->next, n->u.loop.count);
    for (int i = 0; i < n->u.loop.count; i++) l->frame[n->u.loop.carry[i]] = l->next[i];
}

static bool iterate_once(looping *l, uint32_t mark) {
    evaluator *ev = l->ev;
    ev->c->stats.iterations++;
    if (ev->c->on_iteration != NULL) ev->c->on_iteration(ev->c->observer, ev->c);
    if (!eval_many(ev, l->frame, l->n->u.loop.body, l->n->u.loop.count, l->next)) return false;
    if (!eval_shapes_hold(ev, l->n, l->shapes, l->next)) {
        values_release(ev->c, l->next, l->n->u.loop.count);
        return false;
    }
    if (!carry_over(l)) return false;
    reclaim_carries(l, mark);
    l->trips++;
    return true;
}

static bool iterate(looping *l) {
    evaluator *ev = l->ev;
    uint32_t mark = ad_handling(ev->c) ? tape_top(ev->c->tape) : 0;
    for (;;) {
        bool again;
        if (!context_may_go_on(ev->c, l->n->where)) return false;
        if (!eval_condition(ev, l->frame, l->n->u.loop.condition, &again)) return false;
        if (!again) return true;
        if (!iterate_once(l, mark)) return false;
    }
}

/* A replay knows how often: the condition is not asked. */
static bool iterate_again(looping *l) {
    context *c = l->ev->c;
    uint32_t mark = tape_top(c->tape);
    for (uint64_t left = ad_past_trips(c); left > 0; left--) {
        if (!context_may_go_on(c, l->n->where) || !iterate_once(l, mark)) return false;
    }
    return true;
}

static bool iterate_kept(looping *l) {
    context *c = l->ev->c;
    uint32_t place;
    return ad_hold_trips(c, &place) && iterate(l) && ad_keep_trips(c, place, l->trips);
}

static bool note_loop(looping *l) {
    const code *n = l->n;
    value_list last = {.c = l->ev->c};
    bool tapes = false;
    for (int i = 0; i < n->u.loop.count; i++) {
        const value *carried = &l->frame[n->u.loop.carry[i]];
        add_results(&last, carried);
        tapes |= any_tape(carried, 1);
    }
    bool ok = !last.failed && ad_loop(l->ev->c, l->first, last.item, last.count, tapes, l->trips, l->reads.item,
                                      l->reads.count, n->where);
    value_list_close(&last);
    return ok;
}

static bool run_loop(looping *l) {
    bool ok;
    switch (ad_trail(l->ev->c)) {
    case TRAIL_READ: ok = iterate_again(l); break;
    case TRAIL_WRITE: ok = iterate_kept(l); break;
    default: ok = iterate(l); break;
    }
    return ok && (l->handlers == 0 || note_loop(l));
}

/* The inits, and what the text says may be active: everything floating that the body reads or that comes in. */
static bool loop_open(looping *l) {
    evaluator *ev = l->ev;
    const code *n = l->n;
    l->reads = reads_of(ev, l->frame, &n->u.loop.reads);
    if (!eval_args(ev, l->frame, n->u.loop.init, n->u.loop.count, l->next)) return false;
    if (ad_handling(ev->c)) {
        value_list inits = {.c = ev->c};
        for (int i = 0; i < n->u.loop.count; i++) value_list_add(&inits, &l->next[i]);
        l->handlers = value_list_active(&l->reads) | value_list_active(&inits);
        l->tangents = value_list_tangents(&l->reads) | value_list_tangents(&inits);
        l->reads.failed |= inits.failed;
        value_list_close(&inits);
        l->first = tape_top(ev->c->tape);
    }
    if (l->reads.failed) values_release(ev->c, l->next, n->u.loop.count);
    return !l->reads.failed;
}

/* The carried values that the context takes; the others end here. l->next holds them all. */
static bool loop_results(looping *l, int count, value *out) {
    const code *n = l->n;
    int taken = n->u.loop.take;
    values_release(l->ev->c, l->next + taken, n->u.loop.count - taken);
    if (count == taken) {
        memcpy(out, l->next, (size_t)count * sizeof *out);
        return true;
    }
    return eval_pack(l->ev, l->next, taken, out);
}

static bool plain_loop(looping *l) {
    const code *n = l->n;
    if (!eval_shapes(l->ev, n, l->next, &l->shapes)) {
        values_release(l->ev->c, l->next, n->u.loop.count);
        return false;
    }
    bool ok = carry_over(l) && run_loop(l);
    eval_shapes_close(l->ev, n, l->shapes);
    if (!ok) return false;
    for (int i = 0; i < n->u.loop.count; i++) {
        l->next[i] = l->frame[n->u.loop.carry[i]];
        l->frame[n->u.loop.carry[i]] = value_none();
    }
    return true;
}

static bool either_loop(looping *l) {
    bool done;
    if (!eval_checkpointed(l->ev, l->frame, l->n, l->next, l->handlers, l->tangents, l->reads.item, l->reads.count, &done,
                           &l->trips)) {
        return false;
    }
    return done || plain_loop(l);
}

bool eval_while(evaluator *ev, value *frame, const code *n, int count, value *out) {
    value few[FEW_ITEMS];
    looping l = {.ev = ev, .frame = frame, .n = n, .next = few};
    size_t bytes = (size_t)n->u.loop.count * sizeof *l.next;
    if (n->u.loop.count > FEW_ITEMS && (l.next = take(ev->c, bytes)) == NULL) return false;
    bool ok = loop_open(&l);
    if (ok && !either_loop(&l)) {
        error_add_note(&ev->c->err, n->where, "in iteration %llu of this loop",
                       (unsigned long long)l.trips);
        ok = false;
    }
    ok = ok && loop_results(&l, count, out);
    value_list_close(&l.reads);
    if (l.next != few) give_back(ev->c, l.next, bytes);
    return ok;
}
