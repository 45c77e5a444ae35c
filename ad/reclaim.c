/* Forward mode: records and tangents of values that died are forgotten, and the places of those that live move down. */
#include <stdlib.h>

#include "ad/ad.h"

/* A live record: where it is, where it goes is its number in the list; its shape. */
typedef struct live_record {
    uint32_t index, shape;
} live_record;

typedef struct live_records {
    context *c;
    uint32_t mark;
    size_t count, room;
    bool failed;
    live_record *list, few[32];
} live_records;

static void grow(live_records *live) {
    size_t wider = 2 * live->room;
    bool heap = live->list != live->few;
    live_record *grown = memory_resize(&live->c->mem, heap ? live->list : NULL, heap ? live->room * sizeof *grown : 0,
                                       wider * sizeof *grown);
    live->failed = grown == NULL;
    if (live->failed) return;
    for (size_t i = 0; !heap && i < live->count; i++) grown[i] = live->few[i];
    live->list = grown;
    live->room = wider;
}

/* A value and, with several forward handlers, the tangents that the inner ones keep of it, which have places too. */
static void collect(live_records *live, uint32_t index) {
    if (index == 0 || index < live->mark) return;
    if (live->count == live->room) grow(live);
    if (live->failed) return;
    live->list[live->count++] = (live_record){index, tape_record(live->c->tape, index)->shape};
    for (handler *h = live->c->top; h != NULL; h = h->outer) {
        const forward_scope *s = forward_of(h);
        const value *tangent = s != NULL ? forward_tangent(s, index) : NULL;
        if (tangent != NULL) collect(live, tangent->index);
    }
}

static int by_index(const void *a, const void *b) {
    uint32_t left = ((const live_record *)a)->index, right = ((const live_record *)b)->index;
    return (left > right) - (left < right);
}

static void sort(live_records *live) {
    qsort(live->list, live->count, sizeof *live->list, by_index);
    size_t kept = 0;
    for (size_t i = 0; i < live->count; i++) {
        if (kept == 0 || live->list[kept - 1].index != live->list[i].index) live->list[kept++] = live->list[i];
    }
    live->count = kept;
}

static void renumber(const live_records *live, value *v) {
    if (v->index == 0 || v->index < live->mark) return;
    const live_record wanted = {.index = v->index};
    const live_record *found = bsearch(&wanted, live->list, live->count, sizeof wanted, by_index);
    if (found != NULL) v->index = live->mark + (uint32_t)(found - live->list);
}

static void drop_tangents(context *c, forward_scope *s, uint32_t from, uint32_t top) {
    for (uint32_t i = from < s->base ? s->base : from; i < top && i - s->base < s->capacity; i++) {
        value_release(c, s->tangent[i - s->base]);
        s->tangent[i - s->base] = value_none();
    }
}

/* Places only move down, so that in rising order none is overwritten before it has moved. */
static void move_tangents(const live_records *live, forward_scope *s) {
    uint32_t top = tape_top(live->c->tape), from = live->mark;
    for (size_t i = 0; i < live->count; i++) {
        uint32_t index = live->list[i].index, to = live->mark + (uint32_t)i;
        drop_tangents(live->c, s, from, index);
        from = index + 1;
        if (forward_tangent(s, index) == NULL) continue;
        value tangent = s->tangent[index - s->base];
        s->tangent[index - s->base] = value_none();
        renumber(live, &tangent);
        s->tangent[to - s->base] = tangent;
    }
    drop_tangents(live->c, s, from, top);
}

void ad_reclaim(context *c, uint32_t mark, value *const *values, size_t count) {
    if (c->top->pushers == 0 || ad_recording(c)) return;
    live_records live = {.c = c, .mark = mark, .room = COUNT_OF(live.few)};
    live.list = live.few;
    for (size_t i = 0; i < count; i++) collect(&live, values[i]->index);
    if (!live.failed) {
        sort(&live);
        for (size_t i = 0; i < count; i++) renumber(&live, values[i]);
        for (handler *h = c->top; h != NULL; h = h->outer) {
            if (forward_of(h) != NULL) move_tangents(&live, forward_of(h));
        }
        tape_compact(c->tape, mark, (uint32_t)live.count);
        for (size_t i = 0; i < live.count; i++) {
            tape_record(c->tape, mark + (uint32_t)i)->shape = live.list[i].shape & 0xFFFFFF;
        }
    }
    if (live.list != live.few) memory_free(&c->mem, live.list, live.room * sizeof *live.list);
}

void ad_forget_tangents(context *c, uint32_t index) {
    for (handler *h = c->top; h != NULL; h = h->outer) {
        if (forward_of(h) != NULL) drop_tangents(c, forward_of(h), index, index + 1);
    }
}
