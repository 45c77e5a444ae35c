/* Records as plain facts. */
#include "ad/tape_view.h"

#include "ad/checkpoint_state.h"

static uint64_t bytes_of(const value *v) {
    if (v->kind != VALUE_NUMBER && v->kind != VALUE_TENSOR) return 0;
    uint64_t elements = v->kind == VALUE_TENSOR ? (uint64_t)v->as.t->size : 1;
    return elements * dtype_size((dtype)v->dtype);
}

static void add_saved(const tape *t, const record *r, tape_entry *out) {
    uint32_t count = tape_saved_count(r);
    for (uint32_t i = 0; i < count; i++) out->saved_bytes += bytes_of(tape_saved(t, r->u.op.saved + i));
}

static tape_entry op_entry(const tape *t, const record *r) {
    tape_entry e = {
        .kind = ENTRY_OP,
        .name = op_table[r->op].name,
        .operands = r->n,
        .saves = r->saves & (NEED_IN0 | NEED_IN1 | NEED_IN2 | NEED_OUT | NEED_SIZES),
        .custom = r->op == OP_custom,
    };
    add_saved(t, r, &e);
    return e;
}

static const checkpointed *loop_of(const tape *t, const record *r) {
    return *(checkpointed *const *)pile_at(&t->loops, r->u.region.tag);
}

static tape_entry region_entry(const tape *t, const record *r) {
    tape_entry e = {.operands = r->u.region.reads};
    if (r->op == RECORD_BRANCH) {
        e.kind = ENTRY_BRANCH;
        e.name = "branch";
        e.tag = r->u.region.tag;
    } else if (r->op == RECORD_LOOP) {
        e.kind = ENTRY_LOOP;
        e.name = "loop";
        e.trips = r->u.region.tag;
    } else {
        e.kind = ENTRY_CHECKPOINT;
        e.name = "checkpoint";
        e.trips = loop_of(t, r)->trips;
    }
    return e;
}

/* The first record behind those that were forgotten here; the record itself where it was not. */
static uint32_t behind_forgotten(const tape *t, uint32_t index) {
    for (uint32_t i = 0; i < t->loops.count; i++) {
        const checkpointed *l = *(checkpointed *const *)pile_at(&t->loops, i);
        if (l == NULL || l->tapes == 0) continue;
        if (index >= l->taped[0].first && index < l->taped[0].dead) return l->taped[0].dead;
    }
    return index;
}

tape_entry tape_view_entry(const tape *t, uint32_t index) {
    uint32_t behind = behind_forgotten(t, index);
    if (behind > index) return (tape_entry){.kind = ENTRY_FORGOTTEN, .name = "forgotten", .next = behind};
    const record *r = tape_record(t, index);
    tape_entry e;
    if (r->op >= RECORD_BRANCH) {
        e = region_entry(t, r);
    } else if (r->op == RECORD_SCALAR) {
        e = (tape_entry){.kind = ENTRY_SCALAR, .name = "scalar", .operands = r->n};
        for (int k = 0; k < r->n; k++) e.partial[k] = r->u.partial[k];
    } else if (r->op == RECORD_INPUT) {
        e = (tape_entry){.kind = ENTRY_INPUT, .name = "input"};
    } else {
        e = op_entry(t, r);
    }
    e.next = index + 1;
    e.type = *tape_shape(t, r);
    e.where = r->where;
    return e;
}

uint32_t tape_view_operand(const tape *t, uint32_t index, uint32_t k) {
    const record *r = tape_record(t, index);
    if (r->op < RECORD_BRANCH) return record_operand(t, r, (int)k);
    return tape_operand(t, r->u.region.place + r->u.region.results + k);
}

checkpoint_facts tape_view_checkpoint(const tape *t, uint32_t index) {
    const checkpointed *l = loop_of(t, tape_record(t, index));
    checkpoint_facts f = {
        .policy = l->schedule.policy.kind,
        .amount = checkpoint_amount(&l->schedule.policy),
        .states = l->states.count - l->gaps,
        .state_bytes = l->state_bytes,
    };
    if (l->tapes > 0) {
        f.taped_from = l->taped[0].start;
        f.taped_to = l->taped[l->tapes - 1].end;
    }
    return f;
}

bool tape_view_state(const tape *t, uint32_t index, uint32_t *at, uint64_t *iteration) {
    const checkpointed *l = loop_of(t, tape_record(t, index));
    while (*at < l->states.count) {
        const checkpoint_state *s = checkpoint_state_number(l, (*at)++);
        if (s->carry == NULL) continue;
        *iteration = s->iteration;
        return true;
    }
    return false;
}
