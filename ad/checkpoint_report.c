/* What --stats tells of checkpointed loops, and the least that so much memory allows. */
#include "ad/checkpoint_state.h"

uint64_t checkpoint_amount(const policy *p) {
    return p->kind == POLICY_EVERY   ? p->every
           : p->kind == POLICY_SLOTS ? p->slots
           : p->kind == POLICY_BYTES ? p->bytes
                                     : 0;
}

static loop_report *report_of(context *c, const policy *p, span where) {
    return context_loop(c, where, (uint8_t)p->kind, checkpoint_amount(p));
}

bool checkpoint_kept_whole(context *c, const policy *p, span where) {
    loop_report *r = report_of(c, p, where);
    if (r != NULL) r->kept_whole++;
    return r != NULL;
}

/* What the loop had for states and tapes: with a budget what that leaves for them, else what they took. */
static loop_room room_of(const checkpointed *l) {
    if (l->schedule.policy.kind == POLICY_BYTES) return schedule_room(&l->schedule);
    size_t taken = l->most_states * l->state_bytes + l->peak_tape_bytes;
    return (loop_room){
        .state = l->state_bytes,
        .taped = l->taped_bytes,
        .free = taken > l->taped_bytes ? taken - l->taped_bytes : 0,
    };
}

bool checkpoint_report(context *c, const checkpointed *l) {
    loop_report *r = report_of(c, &l->schedule.policy, l->where);
    if (r == NULL) return false;
    if (l->trips >= r->trips) r->room = room_of(l);
    if (l->trips > r->trips) r->trips = l->trips;
    if (l->most_states > r->states) r->states = l->most_states;
    if (l->peak_tape_bytes > r->peak_tape_bytes) r->peak_tape_bytes = l->peak_tape_bytes;
    r->runs++;
    r->state_bytes = l->state_bytes;
    r->taped_bytes = l->taped_bytes;
    r->on_disk = spill_is_open(&l->disk);
    r->adjoint_bytes = 0;
    for (int j = 0; j < l->floats; j++) r->adjoint_bytes += (uint64_t)checkpoint_type_bytes(&l->type[l->floating[j]]);
    r->total_trips += l->trips;
    r->advanced += l->advanced;
    r->taped += l->taped_again;
    return true;
}

/* States on disk take no memory to speak of, so their number is what they are held to. */
static uint64_t optimum_of(context *c, const loop_report *r) {
    uint64_t optimum = 0;
    if (r->policy == POLICY_SLOTS || r->on_disk) return schedule_optimum(r->trips, r->states);
    /* Only the table of costs may fail to find room, and then nothing is said. */
    if (!schedule_optimum_of_room(c, r->trips, &r->room, &optimum)) error_clear(&c->err);
    return optimum;
}

void checkpoint_optima(context *c) {
    for (int i = 0; i < c->stats.loop_count; i++) {
        loop_report *r = &c->stats.loops[i];
        if (r->trips > 0 && r->states > 0) r->optimum = optimum_of(c, r);
    }
}
