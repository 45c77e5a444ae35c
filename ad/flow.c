/* Control flow on the tape: call boundaries, joins, carries, branches and loops. */
#include "ad/ad.h"

uint8_t ad_active(const context *c, const value *const *values, int count) {
    if (!ad_recording(c)) return 0;
    uint8_t handlers = 0;
    for (int i = 0; i < count; i++) handlers |= tape_active(c->tape, values[i]->index);
    return handlers;
}

static bool floating_leaf(const value *v) {
    return (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) && dtype_floating(v->dtype);
}

/* Performs identity or carry on v, so that every handler on the stack sees it. */
static bool refresh(context *c, op_id op, span where, value *v) {
    op_call call = {.op = op, .n = 1, .in = v, .where = where};
    value fresh;
    if (!door_perform(c, &call, &fresh)) return false;
    value_release(c, *v);
    *v = fresh;
    return true;
}

bool ad_parameter(context *c, span where, value *v) {
    if (v->index == 0 || !ad_recording(c) || !floating_leaf(v)) return true;
    return refresh(c, OP_identity, where, v);
}

static bool boundary(context *c, op_id op, uint8_t handlers, span where, value *v) {
    if (handlers == 0 || !ad_recording(c) || !floating_leaf(v)) return true;
    uint32_t before = tape_top(c->tape);
    if (v->index != 0 && !refresh(c, op, where, v)) return false;
    if (v->index < before && !tape_fresh(c->tape, (uint8_t)op, v->index, handlers, where, v)) {
        return false;
    }
    tape_record(c->tape, v->index)->handlers |= handlers;
    return true;
}

bool ad_join(context *c, uint8_t handlers, span where, value *v) {
    return boundary(c, OP_identity, handlers, where, v);
}

bool ad_carry(context *c, uint8_t handlers, span where, value *v) {
    return boundary(c, OP_carry, handlers, where, v);
}

bool ad_branch(context *c, const value *const *results, int result_count, uint32_t tag,
               const value *const *reads, int count, span where) {
    if (!ad_recording(c)) return true;
    return tape_note_region(c->tape, RECORD_BRANCH, 0, tag, results, result_count, reads, count, where);
}

bool ad_loop(context *c, uint32_t first, const value *const *results, int result_count, uint64_t trips,
             const value *const *reads, int count, span where) {
    if (!ad_recording(c)) return true;
    return tape_note_region(c->tape, RECORD_LOOP, first, (uint32_t)trips, results, result_count, reads, count,
                            where);
}
