/* Control flow on the tape: call boundaries, joins, carries, branches and loops. */
#include "ad/ad.h"
#include "ad/performer.h"

uint8_t ad_active(const context *c, const value *const *values, int count) {
    if (!ad_recording(c)) return 0;
    uint8_t handlers = 0;
    for (int i = 0; i < count; i++) handlers |= tape_active(c->tape, values[i]->index);
    return handlers;
}

static bool floating_leaf(const value *v) {
    return (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) && dtype_floating(v->dtype);
}

bool ad_parameter(context *c, span where, value *v) {
    if (v->index == 0 || !ad_recording(c) || !floating_leaf(v)) return true;
    return performer_refresh(c, OP_identity, where, v);
}

static bool boundary(context *c, op_id op, uint8_t handlers, span where, value *v) {
    if (handlers == 0 || !ad_recording(c) || !floating_leaf(v)) return true;
    uint32_t before = tape_top(c->tape);
    if (v->index != 0 && !performer_refresh(c, op, where, v)) return false;
    if (v->index < before && !tape_fresh(c->tape, (uint8_t)op, v->index, handlers, where, v)) {
        return false;
    }
    tape_record(c->tape, v->index)->handlers |= handlers;
    return true;
}

bool ad_popped(context *c, uint8_t handlers, span where, value *v) {
    const value *popped = v;
    return (handlers & ~ad_active(c, &popped, 1)) == 0 || boundary(c, OP_identity, handlers, where, v);
}

bool ad_join(context *c, uint8_t handlers, span where, value *v) {
    return boundary(c, OP_identity, handlers, where, v);
}

bool ad_carry(context *c, uint8_t handlers, span where, value *v) {
    return boundary(c, OP_carry, handlers, where, v);
}

bool ad_branch(context *c, uint32_t first, const value *const *results, int result_count, bool tapes, uint32_t tag,
               const value *const *reads, int count, span where) {
    if (!ad_recording(c)) return true;
    if (!tape_note_region(c->tape, RECORD_BRANCH, first, tag, results, result_count, reads, count, where)) return false;
    tape_record(c->tape, tape_top(c->tape) - 1)->saves = tapes;
    return true;
}

bool ad_loop(context *c, uint32_t first, const value *const *results, int result_count, bool tapes, uint64_t trips,
             const value *const *reads, int count, span where) {
    if (!ad_recording(c)) return true;
    if (!tape_note_region(c->tape, RECORD_LOOP, first, (uint32_t)trips, results, result_count, reads, count, where))
        return false;
    tape_record(c->tape, tape_top(c->tape) - 1)->saves = tapes;
    return true;
}

/* ---- decisions ---- */

bool ad_keep_tag(context *c, bool tag) { return trail_write_tag(c, c->tape->trail, tag); }

bool ad_past_tag(context *c) { return trail_read_tag(c->tape->trail, &c->tape->trail_at); }

bool ad_hold_trips(context *c, uint32_t *place) { return trail_hold_trips(c, c->tape->trail, place); }

bool ad_keep_trips(context *c, uint32_t place, uint64_t trips) {
    return trail_fill_trips(c, c->tape->trail, place, trips);
}

uint64_t ad_past_trips(context *c) { return trail_read_trips(c->tape->trail, &c->tape->trail_at); }

bool ad_keep_value(context *c, const value *v) { return trail_write_value(c, c->tape->trail, v); }

value ad_past_value(context *c) {
    return value_retain(*trail_read_value(c->tape->trail, &c->tape->trail_at));
}

trail_mode ad_trail_pause(context *c) {
    trail_mode mode = ad_trail(c);
    if (mode != TRAIL_OFF) c->tape->trail_mode = TRAIL_OFF;
    return mode;
}

void ad_trail_resume(context *c, trail_mode mode) {
    if (mode != TRAIL_OFF) c->tape->trail_mode = mode;
}
