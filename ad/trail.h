/* The trail: the decisions of a run that will be run again. A replay obeys it and asks no condition anew.
 *
 * A bit for each two-way branch (0 then, 1 else), two bytes for each loop's trip count (more for one of 2^16
 * or beyond), and the values that `load` read. Written while a checkpointed loop first runs, by everything
 * inside it, in order; a mark is a place in it, kept with each checkpoint. */
#ifndef KINA_TRAIL_H
#define KINA_TRAIL_H

#include "ad/pile.h"
#include "runtime/value.h"

typedef struct trail_mark {
    uint64_t bits;
    uint32_t trips, values;
} trail_mark;

typedef struct trail {
    pile words;                 /* uint64_t: 64 branch tags */
    pile trips;                 /* uint16_t; TRIPS_LONG: the count is among the long ones */
    pile longs;                 /* long_trip */
    pile values;                /* value, owned */
    trail_mark end;
} trail;

typedef enum trail_mode { TRAIL_OFF, TRAIL_WRITE, TRAIL_READ } trail_mode;

void trail_init(trail *t);
void trail_close(context *c, trail *t);

bool trail_write_tag(context *c, trail *t, bool tag) MUST_CHECK;
bool trail_read_tag(const trail *t, trail_mark *at);
/* A loop's trip count is known at its end, but read at its start: a place is held for it. */
bool trail_hold_trips(context *c, trail *t, uint32_t *place) MUST_CHECK;
bool trail_fill_trips(context *c, trail *t, uint32_t place, uint64_t trips) MUST_CHECK;
uint64_t trail_read_trips(const trail *t, trail_mark *at);
bool trail_write_value(context *c, trail *t, const value *v) MUST_CHECK;
/* Borrowed. */
const value *trail_read_value(const trail *t, trail_mark *at);

#endif
