/* The kept states of a checkpointed loop, in order of iteration. A dropped one leaves a gap, since a state may go
 * from anywhere and mostly goes from the same place again and again; gaps are closed when they are many. */
#include "ad/checkpoint_state.h"

static void release_carries(context *c, checkpointed *l, value *carry, int count) {
    for (int i = 0; i < count; i++) {
        if (carry[i].kind == VALUE_NONE) {
            spill_free(c, &l->disk, carry[i].as.i64, checkpoint_type_bytes(&l->type[i]));
        } else {
            value_release(c, carry[i]);
        }
    }
    give_back(c, carry, (size_t)l->body.carries * sizeof *carry);
}

checkpoint_state *checkpoint_state_number(const checkpointed *l, uint32_t number) {
    return pile_at(&l->states, number);
}

void checkpoint_keep_close(context *c, checkpointed *l) {
    for (uint32_t i = 0; i < l->states.count; i++) {
        checkpoint_state *s = checkpoint_state_number(l, i);
        if (s->carry != NULL) release_carries(c, l, s->carry, l->body.carries);
    }
    pile_close(c, &l->states);
    l->gaps = 0;
}

/* ---- one state ---- */

/* Without a forward handler outside, indices mean records that will be gone. */
static bool keep_one(context *c, checkpointed *l, const value *v, value *out) {
    *out = *v;
    if (!l->dual) out->index = 0;
    /* A view keeps its strides, which may decide how a product of it is computed. */
    if (v->kind != VALUE_TENSOR || !v->as.t->contiguous || !spill_is_open(&l->disk)) {
        (void)value_retain(*v);
        return true;
    }
    out->kind = VALUE_NONE;
    return spill_write(c, &l->disk, v->as.t, l->where, &out->as.i64);
}

bool checkpoint_kept(context *c, checkpointed *l, const checkpoint_state *state, int carry, value *out) {
    const value *v = &state->carry[carry];
    if (v->kind != VALUE_NONE) {
        *out = value_retain(*v);
        return true;
    }
    const op_type *type = &l->type[carry];
    tensor *t = spill_read(c, &l->disk, v->as.i64, (dtype)type->dtype, type->rank, type->dims, l->where);
    if (t == NULL) return false;
    *out = value_tensor(t);
    out->index = v->index;
    return true;
}

bool checkpoint_keep(context *c, checkpointed *l, uint64_t iteration) {
    uint32_t count = l->states.count;
    if (count > 0 && checkpoint_state_number(l, count - 1)->iteration >= iteration) {
        return error_set(&c->err, ERROR_K0901, l->where, "the schedule keeps states out of order");
    }
    value *carry = take(c, (size_t)l->body.carries * sizeof *carry);
    if (carry == NULL) return false;
    for (int i = 0; i < l->body.carries; i++) {
        if (keep_one(c, l, l->body.carry[i], &carry[i])) continue;
        release_carries(c, l, carry, i);
        return false;
    }
    checkpoint_state *s = pile_push(c, &l->states);
    if (s == NULL) {
        release_carries(c, l, carry, l->body.carries);
        return false;
    }
    *s = (checkpoint_state){.iteration = iteration, .mark = checkpoint_place(c, l), .carry = carry};
    l->floor = tape_top(c->tape);
    uint32_t kept = l->states.count - l->gaps;
    if (kept > l->most_states) l->most_states = kept;
    c->stats.checkpoints++;
    return true;
}

/* ---- the list ---- */

checkpoint_state *checkpoint_state_at(checkpointed *l, uint64_t iteration) {
    uint32_t low = 0, high = l->states.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (checkpoint_state_number(l, middle)->iteration < iteration) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == l->states.count) return NULL;
    checkpoint_state *s = checkpoint_state_number(l, low);
    return s->iteration == iteration && s->carry != NULL ? s : NULL;
}

static void close_gaps(context *c, checkpointed *l) {
    uint32_t count = l->states.count, to = 0;
    while (count > 0 && checkpoint_state_number(l, count - 1)->carry == NULL) count--;
    l->gaps -= l->states.count - count;
    if (l->gaps > (count - l->gaps) / STATES_PER_GAP + GAPS_LEAST) {
        for (uint32_t from = 0; from < count; from++) {
            const checkpoint_state *s = checkpoint_state_number(l, from);
            if (s->carry != NULL) *checkpoint_state_number(l, to++) = *s;
        }
        count = to;
        l->gaps = 0;
    }
    pile_truncate(c, &l->states, count);
}

bool checkpoint_drop_unwanted(context *c, checkpointed *l) {
    uint64_t iteration;
    bool any = false;
    while (schedule_next_drop(&l->schedule, &iteration)) {
        checkpoint_state *s = checkpoint_state_at(l, iteration);
        if (s == NULL) continue;
        if (l->dual) checkpoint_dual_drop(c, l, s);
        release_carries(c, l, s->carry, l->body.carries);
        s->carry = NULL;
        l->gaps++;
        close_gaps(c, l);
        any = true;
    }
    return !any || !l->dual || checkpoint_dual_dropped(c, l);
}
