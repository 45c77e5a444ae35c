/* Writing and reading the decisions of a run. */
#include "ad/trail.h"

enum { TRIPS_LONG = UINT16_MAX };

typedef struct long_trip {
    uint32_t place;
    uint64_t trips;
} long_trip;

void trail_init(trail *t) {
    *t = (trail){
        .words = {.element = sizeof(uint64_t)},
        .trips = {.element = sizeof(uint16_t)},
        .longs = {.element = sizeof(long_trip)},
        .values = {.element = sizeof(value)},
    };
}

void trail_close(context *c, trail *t) {
    for (uint32_t i = 0; i < t->values.count; i++) value_release(c, *(value *)pile_at(&t->values, i));
    pile_close(c, &t->words);
    pile_close(c, &t->trips);
    pile_close(c, &t->longs);
    pile_close(c, &t->values);
}

bool trail_write_tag(context *c, trail *t, bool tag) {
    uint32_t word = (uint32_t)(t->end.bits / 64), bit = (uint32_t)(t->end.bits % 64);
    if (bit == 0) {
        uint64_t *fresh = pile_push(c, &t->words);
        if (fresh == NULL) return false;
        *fresh = 0;
    }
    *(uint64_t *)pile_at(&t->words, word) |= (uint64_t)tag << bit;
    t->end.bits++;
    return true;
}

bool trail_read_tag(const trail *t, trail_mark *at) {
    uint64_t word = *(uint64_t *)pile_at(&t->words, (uint32_t)(at->bits / 64));
    bool tag = (word >> (at->bits % 64)) & 1;
    at->bits++;
    return tag;
}

bool trail_hold_trips(context *c, trail *t, uint32_t *place) {
    uint16_t *held = pile_push(c, &t->trips);
    if (held == NULL) return false;
    *held = 0;
    *place = t->end.trips++;
    return true;
}

bool trail_fill_trips(context *c, trail *t, uint32_t place, uint64_t trips) {
    uint16_t *held = pile_at(&t->trips, place);
    *held = (uint16_t)(trips < TRIPS_LONG ? trips : TRIPS_LONG);
    if (trips < TRIPS_LONG) return true;
    long_trip *entry = pile_push(c, &t->longs);
    if (entry == NULL) return false;
    *entry = (long_trip){place, trips};
    return true;
}

uint64_t trail_read_trips(const trail *t, trail_mark *at) {
    uint32_t place = at->trips++;
    uint16_t trips = *(uint16_t *)pile_at(&t->trips, place);
    if (trips < TRIPS_LONG) return trips;
    /* Long loops are few; a nested one is filled in before the one around it, so places are not sorted. */
    for (uint32_t i = 0; i < t->longs.count; i++) {
        const long_trip *entry = pile_at(&t->longs, i);
        if (entry->place == place) return entry->trips;
    }
    return trips;
}

bool trail_write_value(context *c, trail *t, const value *v) {
    value *place = pile_push(c, &t->values);
    if (place == NULL) return false;
    *place = value_retain(*v);
    place->index = 0;
    t->end.values++;
    return true;
}

const value *trail_read_value(const trail *t, trail_mark *at) { return pile_at(&t->values, at->values++); }
