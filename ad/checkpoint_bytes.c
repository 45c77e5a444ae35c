/* What a checkpointed loop holds, split as its schedule wants it: a state, one more taped iteration, and the rest,
 * which grows with neither. Each is what the allocator counts or a bound on it, so that a budget holds. */
#include "ad/checkpoint_state.h"

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t tensor_bytes(const tensor *t) { return t->base != NULL ? t->block + t->base->block : t->block; }

/* ---- states ---- */

static size_t state_books(const checkpointed *l) {
    return sizeof(checkpoint_state) + (size_t)l->body.carries * sizeof(value);
}

size_t checkpoint_carried_bytes(const checkpointed *l) {
    size_t bytes = state_books(l);
    for (int i = 0; i < l->body.carries; i++) {
        const value *v = l->body.carry[i];
        if (v->kind == VALUE_TENSOR) bytes += tensor_bytes(v->as.t);
    }
    return bytes << l->forward_depth; /* with their tangents, and those of tangents */
}

/* A kept state whose tensors are in a file, views apart. */
static size_t carried_on_disk(const checkpointed *l) {
    size_t bytes = state_books(l) + 3 * (size_t)l->body.carries * sizeof(spill_hole);
    for (int i = 0; i < l->body.carries; i++) {
        const value *v = l->body.carry[i];
        if (v->kind == VALUE_TENSOR && !v->as.t->contiguous) bytes += tensor_bytes(v->as.t);
    }
    return bytes;
}

/* ---- piles ---- */

/* A chunk that is not full, one that is empty, and one that holds a few elements of use among forgotten ones. */
enum { LOOSE_CHUNKS = 3 };

/* What a pile takes beyond its elements: loose chunks, and a small table of chunks. */
static size_t loose_bytes(size_t element) { return LOOSE_CHUNKS * PILE_CHUNK * element + 16 * sizeof(char *); }

/* A table of chunks doubles, and while it does the old one is there too. */
enum { TABLE_BYTES = 3 * sizeof(char *) };

/* What the tables take for one element of a pile whose forgotten ones have entries too. */
static size_t tables_share(size_t elements) { return elements * (1 + DEAD_PER_RECORD) * TABLE_BYTES / PILE_CHUNK + 1; }

static size_t pile_used(const pile *p) { return (p->count - p->hollow * PILE_CHUNK) * p->element; }

static size_t trail_bytes(const trail *w) {
    return pile_held(&w->words) + pile_held(&w->trips) + pile_held(&w->longs) + pile_held(&w->values);
}

/* Until the next measurement each pile of the trail may grow by a chunk or double its table. */
static size_t trail_growth(const trail *w) {
    const pile *all[] = {&w->words, &w->trips, &w->longs, &w->values};
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        bytes += PILE_CHUNK * all[i]->element + 2 * (all[i]->capacity + 16) * sizeof(char *);
    }
    return bytes;
}

/* What is alive, the piles of the tape counted by what is used of them and the trail left out. */
static size_t held_bytes(const context *c) {
    const tape *t = c->tape;
    const pile *by_use[] = {&t->records, &t->saved, &t->operands, &t->loops};
    size_t bytes = c->mem.live - (t->trail != NULL ? trail_bytes(t->trail) : 0);
    for (size_t i = 0; i < COUNT_OF(by_use); i++) bytes = bytes - pile_held(by_use[i]) + pile_used(by_use[i]);
    return bytes;
}

size_t checkpoint_held_bytes(const context *c, const checkpointed *l) {
    return held_bytes(c) - pile_held(&l->starts) - pile_held(&l->hashes) - pile_held(&l->states) +
           pile_used(&l->states);
}

static tape_counts counts_of(const tape *t) {
    return (tape_counts){tape_top(t), t->saved.count, t->operands.count};
}

/* What taping since then needs beside what is held: in the sweep each record has an adjoint, and there are tables. */
static size_t beside_tape(const tape *t, const tape_counts *since) {
    uint32_t records = tape_top(t) - since->records;
    return records * sizeof(value) + 2 * tables_share(records) + tables_share(t->saved.count - since->saved) +
           tables_share(t->operands.count - since->operands);
}

/* ---- the sweep of one iteration ---- */

static size_t result_bytes(const tape *t, const record *r) {
    const op_type *type = tape_shape(t, r);
    return type->rank == 0 ? 0 : tensor_block((dtype)type->dtype, type->rank, type->dims);
}

/* Adjoints of records from `begin` on, as the sweep makes and frees them. */
typedef struct adjoints {
    const tape *t;
    uint32_t begin;
    bool *present;
    size_t live, most;
} adjoints;

/* Of this iteration, and not forgotten by a loop inside it. */
static bool within(const adjoints *a, uint32_t index) {
    return index >= a->begin && !pile_is_hollow(&a->t->records, index);
}

static void meet(adjoints *a, uint32_t index) {
    if (!within(a, index) || a->present[index - a->begin]) return;
    const record *r = tape_record(a->t, index);
    a->present[index - a->begin] = true;
    if (r->handlers != 0) a->live += result_bytes(a->t, r);
}

static void meet_region(adjoints *a, const record *r) {
    uint32_t end = r->u.region.place + r->u.region.results + r->u.region.reads;
    for (uint32_t place = r->u.region.place; place < end; place++) {
        /* A forgotten record may stand in a piece that is still there. */
        if (!pile_is_hollow(&a->t->operands, place)) meet(a, tape_operand(a->t, place));
    }
    a->most = larger(a->most, a->live);
}

/* A rule holds what it makes until it is done: about three values of the size of its largest one. */
static void pass_op(adjoints *a, uint32_t index) {
    const record *r = tape_record(a->t, index);
    size_t own = result_bytes(a->t, r), largest = own;
    for (int k = 0; k < r->n; k++) {
        bool listed = r->n > 3 || r->op == OP_custom;
        if (listed && pile_is_hollow(&a->t->operands, r->in[0] + (uint32_t)k)) continue;
        uint32_t operand = record_operand(a->t, r, k);
        if (operand == 0) continue;
        meet(a, operand);
        if (within(a, operand)) largest = larger(largest, result_bytes(a->t, tape_record(a->t, operand)));
    }
    a->most = larger(a->most, a->live + 3 * largest);
    a->live -= own;
}

/* The most that adjoints take while records from `begin` on are swept, those of earlier records apart. What calls
 * with rules of their own and loops inside take is not known here: *more. */
static bool sweep_bytes(context *c, const checkpointed *l, uint32_t begin, size_t *out, bool *more) {
    const tape *t = c->tape;
    uint32_t top = tape_top(t);
    bool *present = take_zeroed(c, (top - begin) * sizeof *present);
    if (present == NULL) return false;
    adjoints a = {.t = t, .begin = begin, .present = present};
    for (int j = 0; j < l->floats; j++) meet(&a, l->body.carry[l->floating[j]]->index);
    a.most = a.live;
    *more = false;
    for (uint32_t i = top; i-- > begin;) {
        if (!within(&a, i)) continue;
        const record *r = tape_record(t, i);
        *more = *more || r->op == RECORD_CHECKPOINT || r->op == OP_custom;
        if (r->op >= RECORD_BRANCH) {
            meet_region(&a, r);
        } else if (a.present[i - begin] && r->op != RECORD_INPUT) {
            pass_op(&a, i);
        }
    }
    give_back(c, present, (top - begin) * sizeof *present);
    *out = a.most;
    return true;
}

/* ---- measuring ---- */

void checkpoint_measure_begin(context *c, checkpointed *l) {
    measurement *m = &l->measured;
    m->held = checkpoint_held_bytes(c, l);
    m->live = c->mem.live;
    m->high = c->mem.high;
    m->counts = counts_of(c->tape);
    c->mem.high = c->mem.live;
}

/* What an iteration needed for a while; who measures further out wants to know the peak too. */
static void note_work(context *c, checkpointed *l) {
    const measurement *m = &l->measured;
    size_t floor = larger(c->mem.live, m->live);
    if (c->mem.high > floor) l->work_bytes = larger(l->work_bytes, c->mem.high - floor);
    c->mem.high = larger(c->mem.high, m->high);
}

static size_t adjoint_bytes(const checkpointed *l) {
    size_t bytes = 0;
    for (int j = 0; j < l->floats; j++) {
        const op_type *type = &l->type[l->floating[j]];
        if (type->rank > 0) bytes += tensor_block((dtype)type->dtype, type->rank, type->dims);
    }
    return bytes;
}

/* What neither states nor taped iterations make more: the loop's own books, loose chunks, the trail, and what an
 * iteration needs for a while, running or swept. */
static size_t fixed_bytes(const checkpointed *l) {
    size_t loose = loose_bytes(sizeof(record)) + 2 * loose_bytes(sizeof(value)) + 2 * loose_bytes(sizeof(uint32_t)) +
                   loose_bytes(sizeof(checkpointed *)) + loose_bytes(sizeof(checkpoint_state));
    size_t carries = (size_t)l->body.carries;
    size_t later = 4 * sizeof(checkpoint_taped) + 6 * carries * sizeof(value);
    size_t decisions = l->trail == &l->own ? trail_bytes(&l->own) + trail_growth(&l->own) : 0;
    size_t running = l->work_bytes + adjoint_bytes(l), swept = l->sweep_bytes + (l->sweep_more ? l->work_bytes : 0);
    size_t on_disk = spill_is_open(&l->disk) ? checkpoint_carried_bytes(l) : 0;
    return l->own_bytes + later + loose + checkpoint_hash_bytes(l) + decisions + larger(running, swept) + on_disk;
}

/* What loops inside an iteration may take together beyond the least that all would do with: half of what the budget
 * leaves, the other half being for states and tape; as long as they fit, no more than they took or, since some may not
 * have run yet, than so many loops need for their books. */
static size_t share_inside(const checkpointed *l, size_t beyond, size_t fixed) {
    size_t wanted = larger(l->inside_held + l->inside_extra, l->inside_loops * fixed);
    return l->inside_over || wanted > beyond / 2 ? beyond / 2 : wanted;
}

/* What loops inside hold is held by each taped iteration; what is left of their share only one of them takes at a time,
 * while it runs or is swept. */
static void divide_budget(checkpointed *l, size_t state) {
    size_t least = l->inside_least, taped = l->taped_most, fixed = fixed_bytes(l);
    size_t share = share_inside(l, schedule_beyond(&l->schedule, state, taped + least, fixed), fixed);
    size_t most = share + least, held = l->inside_held < most ? l->inside_held : most;
    l->share = (budget_share){.left = most, .unclaimed = least, .parts = l->inside_loops};
    schedule_measure(&l->schedule, state, taped + held, fixed + most - held, share);
}

static bool note_sweep(context *c, checkpointed *l, uint32_t records) {
    size_t swept;
    bool more;
    if (!sweep_bytes(c, l, l->measured.counts.records, &swept, &more)) return false;
    l->sweep_bytes = larger(l->sweep_bytes, swept);
    l->sweep_more = l->sweep_more || more;
    l->swept_records = records;
    return true;
}

/* What loops with budgets inside took is no part of *taped. */
static void note_inside(checkpointed *l, const budget_share *share, size_t *taped) {
    size_t held = share->held < *taped ? share->held : *taped;
    *taped -= held;
    if (share->loops > l->inside_loops) l->inside_loops = share->loops;
    l->inside_over = l->inside_over || share->over;
    l->inside_held = larger(l->inside_held, held);
    l->inside_least = larger(l->inside_least, share->least + share->least_extra);
    l->inside_extra = larger(l->inside_extra, share->extra);
}

bool checkpoint_measure_end(context *c, checkpointed *l) {
    const tape *t = c->tape;
    const measurement *m = &l->measured;
    note_work(c, l);
    size_t held = checkpoint_held_bytes(c, l), grown = held > m->held ? held - m->held : 0;
    uint32_t records = tape_top(t) - m->counts.records;
    l->taped_bytes = grown + records * sizeof(value);
    if (l->schedule.policy.kind != POLICY_BYTES) {
        schedule_measure(&l->schedule, checkpoint_carried_bytes(l), l->taped_bytes, 0, 0);
        return true;
    }
    if (records != l->swept_records && !note_sweep(c, l, records)) return false;
    size_t taped = grown + beside_tape(t, &m->counts) + sizeof(uint32_t) + sizeof(checkpoint_state) / STATES_PER_GAP;
    note_inside(l, &t->share, &taped);
    /* The dearest so far counts: any iteration may have to be taped together with its like. */
    l->taped_most = larger(l->taped_most, taped);
    size_t state = spill_is_open(&l->disk) ? carried_on_disk(l) : checkpoint_carried_bytes(l);
    state += sizeof(checkpoint_state) / STATES_PER_GAP + SCHEDULE_STATE_BYTES;
    divide_budget(l, state);
    return true;
}

/* What an iteration takes here when it is taped and swept is seen only on the way back; it is dear, for each op of the
 * rules has tangents. Until then it is guessed to be so many states. */
enum { DUAL_GUESS = 8 };

void checkpoint_measure_dual(checkpointed *l) {
    size_t state = checkpoint_carried_bytes(l), taped = l->taped_most > 0 ? l->taped_most : DUAL_GUESS * state;
    schedule_measure(&l->schedule, state + SCHEDULE_STATE_BYTES, taped, fixed_bytes(l) + 4 * state, 0);
}

void checkpoint_dual_begin(context *c, checkpointed *l) {
    l->measured.live = c->mem.live;
    c->mem.high = c->mem.live;
}

void checkpoint_dual_end(const context *c, checkpointed *l, uint64_t iterations) {
    if (l->schedule.policy.kind != POLICY_BYTES) return;
    l->taped_most = larger(l->taped_most, (c->mem.high - l->measured.live) / iterations);
    checkpoint_measure_dual(l);
}

void checkpoint_account_begin(context *c, checkpointed *l) {
    l->outside = c->tape->share;
    l->held_before = held_bytes(c);
    l->before = counts_of(c->tape);
}

size_t checkpoint_margin(const checkpointed *l) { return l->inside_loops > 0 ? schedule_smallest(&l->schedule) / 32 : 0; }

static budget_share taken(const context *c, const checkpointed *l) {
    const schedule *s = &l->schedule;
    size_t now = held_bytes(c), held = beside_tape(c->tape, &l->before);
    if (now > l->held_before) held += now - l->held_before;
    size_t smallest = schedule_smallest(s), budget = schedule_budget(s), extra = budget > held ? budget - held : 0;
    /* A loop that fits holds as much with any budget, and takes no more in its sweep than one with the smallest. */
    size_t least = schedule_fits(s) && held < smallest ? held : smallest;
    if (schedule_fits(s) && extra > smallest) extra = smallest;
    return (budget_share){.loops = 1,
                          .over = !schedule_fits(s),
                          .held = held,
                          .extra = extra,
                          .least = least,
                          .least_extra = smallest - least};
}

void checkpoint_account(context *c, const checkpointed *l) {
    budget_share *outside = &c->tape->share;
    budget_share inside = *outside;
    *outside = l->outside;
    if (outside->left == SIZE_MAX) return;
    if (l->schedule.policy.kind == POLICY_BYTES) inside = taken(c, l);
    outside->loops += inside.loops;
    outside->held += inside.held;
    outside->least += inside.least;
    outside->extra = larger(outside->extra, inside.extra);
    outside->least_extra = larger(outside->least_extra, inside.least_extra);
    outside->over = outside->over || inside.over;
    outside->left -= inside.held < outside->left ? inside.held : outside->left;
    outside->unclaimed -= inside.least < outside->unclaimed ? inside.least : outside->unclaimed;
    outside->parts -= inside.loops < outside->parts ? inside.loops : outside->parts;
}
