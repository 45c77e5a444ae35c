/* Making and dropping records. */
#include "ad/tape.h"

#include <string.h>

#include "ad/ad.h"
#include "ad/checkpoint.h"
#include "ad/performer.h"

/* ---- interned shapes ---- */

static uint32_t shape_hash(const op_type *s) {
    uint64_t h = (uint64_t)s->dtype * 31 + s->rank + 1;
    for (int i = 0; i < s->rank; i++) {
        h = (h ^ (uint64_t)s->dims[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    return (uint32_t)(h ^ (h >> 32));
}

static bool shape_equal(const op_type *a, const op_type *b) {
    return a->dtype == b->dtype &&
           shape_same(a->rank, a->dims, b->rank, b->dims);
}

static bool shapes_grow(tape *t) {
    uint32_t capacity = t->shape_capacity ? 2 * t->shape_capacity : 32;
    uint32_t *slot = take_zeroed(t->c, 2 * capacity * sizeof *slot);
    if (slot == NULL) return false;
    op_type *shapes = resize(t->c, t->shapes, t->shape_capacity * sizeof *shapes,
                             capacity * sizeof *shapes);
    if (shapes == NULL) {
        give_back(t->c, slot, 2 * capacity * sizeof *slot);
        return false;
    }
    give_back(t->c, t->shape_slot, 2 * t->shape_capacity * sizeof *slot);
    t->shapes = shapes;
    t->shape_slot = slot;
    t->shape_capacity = capacity;
    for (uint32_t i = 0; i < t->shape_count; i++) {
        uint32_t at = shape_hash(&shapes[i]) % (2 * capacity);
        while (slot[at] != 0) at = (at + 1) % (2 * capacity);
        slot[at] = i + 1;
    }
    return true;
}

/* Finds or adds the shape of v; false with the error set. */
static bool shape_intern(tape *t, const value *v, uint32_t *out) {
    if (v->kind == VALUE_NUMBER) {
        *out = v->dtype;
        return true;
    }
    op_type s = {.dtype = v->dtype, .rank = v->as.t->rank};
    memcpy(s.dims, v->as.t->dims, sizeof s.dims);
    if (shape_equal(&s, &t->shapes[t->last_shape])) {
        *out = t->last_shape;
        return true;
    }
    uint32_t room = 2 * t->shape_capacity;
    uint32_t at = shape_hash(&s) % room;
    while (t->shape_slot[at] != 0) {
        uint32_t id = t->shape_slot[at] - 1;
        if (shape_equal(&s, &t->shapes[id])) {
            *out = t->last_shape = id;
            return true;
        }
        at = (at + 1) % room;
    }
    if (t->shape_count == (1u << 24) - 1) {
        return error_set(&t->c->err, ERROR_K0511, (span){0, 0},
                         "the tape holds more than 2^24 different shapes");
    }
    if (t->shape_count == t->shape_capacity) {
        if (!shapes_grow(t)) return false;
        return shape_intern(t, v, out);
    }
    t->shape_slot[at] = t->shape_count + 1;
    t->shapes[t->shape_count] = s;
    *out = t->last_shape = t->shape_count++;
    return true;
}

/* ---- the tape itself ---- */

static void tape_free(context *c, tape *t) {
    pile_close(c, &t->records);
    pile_close(c, &t->saved);
    pile_close(c, &t->operands);
    pile_close(c, &t->loops);
    give_back(c, t->shapes, t->shape_capacity * sizeof *t->shapes);
    give_back(c, t->shape_slot, 2 * t->shape_capacity * sizeof *t->shape_slot);
    give_back(c, t, sizeof *t);
}

tape *tape_of(context *c) {
    if (c->tape != NULL) return c->tape;
    tape *t = take_zeroed(c, sizeof *t);
    if (t == NULL) return NULL;
    t->c = c;
    t->share.left = SIZE_MAX;
    t->records.element = sizeof(record);
    t->saved.element = sizeof(value);
    t->operands.element = sizeof(uint32_t);
    t->loops.element = sizeof(struct checkpointed *);
    bool ok = shapes_grow(t);
    if (ok) {
        for (int i = 0; i < DTYPE_COUNT; i++) t->shapes[i] = (op_type){.dtype = (uint8_t)i};
        t->shape_count = DTYPE_COUNT;
        record *unused = pile_push(c, &t->records);
        ok = unused != NULL;
        if (ok) memset(unused, 0, sizeof *unused);
    }
    if (!ok) {
        tape_free(c, t);
        return NULL;
    }
    return c->tape = t;
}

void tape_close(context *c) {
    if (c->tape == NULL) return;
    tape_truncate(c->tape, 1);
    tape_free(c, c->tape);
    c->tape = NULL;
}

uint32_t record_operand(const tape *t, const record *r, int k) {
    if (r->op == OP_custom || (r->op < OP_COUNT && r->n > 3)) return tape_operand(t, r->in[0] + (uint32_t)k);
    return k < 2 ? r->in[k] : r->u.op.in2;
}

uint8_t tape_active(const tape *t, uint32_t index) {
    if (index == 0) return 0;
    uint8_t handlers = (uint8_t)tape_record(t, index)->handlers;
    uint8_t live = 0;
    for (int i = 0; i < TAPE_HANDLERS && i < t->depth; i++) {
        if (index >= t->mark[i]) live |= (uint8_t)(1u << i);
    }
    return handlers & live;
}

/* ---- records ---- */

/* Room for one more on one of the tape's piles; the peak of their bytes moves only when a chunk is added. */
static void *push(tape *t, pile *p) {
    uint32_t chunks = p->chunks;
    void *place = pile_push(t->c, p);
    if (p->chunks == chunks) return place;
    context_stats *stats = &t->c->stats;
    size_t bytes = pile_bytes(&t->records) + pile_bytes(&t->saved) + pile_bytes(&t->operands);
    if (bytes > stats->tape_bytes_peak) stats->tape_bytes_peak = bytes;
    return place;
}

static record *push_record(tape *t, uint8_t op, uint8_t handlers, span where, const value *result) {
    uint32_t shape = DT_F32;
    if (result != NULL && !shape_intern(t, result, &shape)) return NULL;
    record *r = push(t, &t->records);
    if (r == NULL) return NULL;
    *r = (record){.op = op, .shape = shape & 0xFFFFFF, .handlers = handlers, .where = where};
    t->c->stats.tape_records++;
    return r;
}

static void pop_record(tape *t) {
    pile_truncate(t->c, &t->records, t->records.count - 1);
}

static bool push_saved(tape *t, value v) {
    value *place = push(t, &t->saved);
    if (place == NULL) return false;
    *place = value_retain(v);
    return true;
}

static void drop_saved(tape *t, uint32_t count) {
    for (uint32_t i = t->saved.count; i > count; i--) value_release(t->c, *tape_saved(t, i - 1));
    pile_truncate(t->c, &t->saved, count);
}

static bool push_operand(tape *t, uint32_t index) {
    uint32_t *place = push(t, &t->operands);
    if (place == NULL) return false;
    *place = index;
    return true;
}

bool tape_fresh(tape *t, uint8_t op, uint32_t from, uint8_t handlers, span where, value *v) {
    record *r = push_record(t, op, handlers, where, v);
    if (r == NULL) return false;
    r->n = from != 0 || op < OP_COUNT;
    r->in[0] = from;
    r->u.op.saved = t->saved.count;
    r->u.op.in2 = t->operands.count;
    v->index = tape_top(t) - 1;
    return true;
}

static bool place_operands(tape *t, record *r, const op_call *call) {
    r->n = call->n;
    if (call->n <= 3) {
        if (call->n > 0) r->in[0] = call->in[0].index;
        if (call->n > 1) r->in[1] = call->in[1].index;
        if (call->n > 2) r->u.op.in2 = call->in[2].index;
        return true;
    }
    r->in[0] = t->operands.count;
    for (int k = 0; k < call->n; k++) {
        if (!push_operand(t, call->in[k].index)) return false;
    }
    return true;
}

static int64_t size_along(const value *v, int axis) {
    return v->kind == VALUE_TENSOR ? v->as.t->dims[axis] : 1;
}

static bool place_saved(tape *t, record *r, const op_call *call, const value *out) {
    for (int k = 0; k < 3; k++) {
        if ((r->saves & (NEED_IN0 << k)) && !push_saved(t, call->in[k])) return false;
    }
    if (r->saves & NEED_OUT) {
        if (!push_saved(t, *out)) return false;
    }
    if (r->saves & NEED_SIZES) {
        for (int k = 0; k < call->n; k++) {
            value size = value_i64(size_along(&call->in[k], call->attrs->axis));
            if (!push_saved(t, size)) return false;
        }
    }
    return true;
}

/* Attributes that belong to the program's code stay; those made for one call are copied. */
static bool place_attrs(tape *t, record *r, const op_attrs *attrs) {
    r->u.op.attrs = attrs;
    if (attrs == NULL || attrs->stays) return true;
    op_attrs *own = take(t->c, sizeof *own);
    if (own == NULL) {
        r->u.op.attrs = NULL;
        return false;
    }
    *own = *attrs;
    r->u.op.attrs = own;
    r->saves |= SAVED_ATTRS;
    return true;
}

/* Which axes of the result are literal ones follows from the text alone, passive operands included. */
static uint8_t result_ones(const op_call *call, const value *out) {
    if (call->attrs == NULL || call->n > 3) return 0;
    op_type in[3], result = value_type(out);
    for (int k = 0; k < call->n; k++) in[k] = value_type(&call->in[k]);
    return rules_result_ones(call->op, call->attrs, call->n, in, call->attrs->ones, &result);
}

static uint8_t needed(const op_call *call) {
    uint32_t needs = op_table[call->op].needs;
    if (op_table[call->op].arity == ARITY_MANY) return (uint8_t)needs;
    uint8_t saves = 0;
    for (int k = 0; k < call->n; k++) {
        if (call->in[k].index != 0) saves |= (uint8_t)(needs >> (8 * k));
    }
    return saves;
}

/* Takes back what a record that cannot be finished has pushed; it stays as a bare input. */
static void unwind(tape *t, record *r, uint32_t operands, uint32_t saved) {
    if (r->saves & SAVED_ATTRS) give_back(t->c, (void *)(uintptr_t)r->u.op.attrs, sizeof(op_attrs));
    drop_saved(t, saved);
    pile_truncate(t->c, &t->operands, operands);
    r->op = RECORD_INPUT;
    r->saves = r->n = 0;
}

/* The record for an op's result: a new one, or the bare input by which a forward handler outside keeps the
 * result's tangent, which takes the op up under the same index. */
static record *record_for(tape *t, const op_call *call, uint8_t handlers, value *out) {
    if (out->index == 0) {
        record *fresh = push_record(t, (uint8_t)call->op, handlers, call->where, out);
        if (fresh != NULL) out->index = tape_top(t) - 1;
        return fresh;
    }
    record *r = tape_record(t, out->index);
    r->op = (uint8_t)call->op;
    r->handlers |= handlers;
    r->where = call->where;
    return r;
}

bool tape_note(tape *t, const op_call *call, uint8_t handlers, value *out) {
    record *r = record_for(t, call, handlers, out);
    if (r == NULL) return false;
    uint32_t operands = t->operands.count, saved = t->saved.count;
    r->saves = needed(call);
    r->ones = result_ones(call, out);
    r->u.op.saved = saved;
    r->u.op.in2 = operands;
    if (!place_operands(t, r, call) || !place_saved(t, r, call, out) ||
        !place_attrs(t, r, call->attrs)) {
        unwind(t, r, operands, saved);
        return false;
    }
    return true;
}

bool tape_note_scalar(tape *t, const op_call *call, uint8_t handlers, const double *partial, value *out) {
    record *r = push_record(t, RECORD_SCALAR, handlers, call->where, out);
    if (r == NULL) return false;
    r->n = call->n;
    for (int k = 0; k < call->n; k++) {
        r->in[k] = call->in[k].index;
        r->u.partial[k] = partial[k];
    }
    out->index = tape_top(t) - 1;
    return true;
}

/* Pushes the indices of those values that have one; *pushed: how many. */
static bool push_indices(tape *t, const value *const *values, int count, uint32_t *pushed) {
    *pushed = 0;
    for (int i = 0; i < count; i++) {
        if (values[i]->index == 0) continue;
        if (!push_operand(t, values[i]->index)) return false;
        ++*pushed;
    }
    return true;
}

bool tape_note_region(tape *t, uint8_t kind, uint32_t first, uint32_t tag, const value *const *results,
                      int result_count, const value *const *reads, int count, span where) {
    uint32_t place = t->operands.count, result_indices, read_indices;
    record *r = NULL;
    if (push_indices(t, results, result_count, &result_indices) &&
        push_indices(t, reads, count, &read_indices)) {
        r = push_record(t, kind, 0, where, NULL);
    }
    if (r == NULL) {
        pile_truncate(t->c, &t->operands, place);
        return false;
    }
    r->in[0] = first;
    r->u.region.place = place;
    r->u.region.results = result_indices;
    r->u.region.reads = read_indices;
    r->u.region.tag = tag;
    return true;
}

bool tape_note_custom(tape *t, const custom_call *call, uint8_t handlers, value *out) {
    op_call plain = {.op = OP_custom, .n = (uint8_t)call->count, .in = call->args, .where = call->where};
    record *r = record_for(t, &plain, handlers, out);
    if (r == NULL) return false;
    uint32_t operands = t->operands.count, saved = t->saved.count;
    r->n = plain.n;
    r->in[0] = operands;
    r->u.op.saved = saved;
    bool ok = true;
    for (int k = 0; k < call->count && ok; k++) {
        ok = push_operand(t, call->args[k].index) && push_saved(t, call->args[k]);
    }
    if (!ok || !push_saved(t, *out) || !push_saved(t, call->vjp)) {
        unwind(t, r, operands, saved);
        return false;
    }
    t->applier = call->applier;
    return true;
}

uint32_t tape_saved_count(const record *r) {
    if (r->op >= OP_COUNT) return 0;
    if (r->op == OP_custom) return (uint32_t)r->n + 2;
    uint32_t count = 0;
    for (int bit = 0; bit < 4; bit++) count += (r->saves >> bit) & 1u;
    if (r->saves & NEED_SIZES) count += r->n;
    return count;
}

void tape_unsave(tape *t, record *r) {
    if (r->op == RECORD_CHECKPOINT) {
        struct checkpointed **loop = pile_at(&t->loops, r->u.region.tag);
        checkpoint_close(t->c, *loop);
        *loop = NULL;
    }
    uint32_t count = tape_saved_count(r);
    for (uint32_t i = 0; i < count; i++) {
        if (pile_is_hollow(&t->saved, r->u.op.saved + i)) continue; /* unsaved before */
        value *v = tape_saved(t, r->u.op.saved + i);
        value_release(t->c, *v);
        *v = value_none();
    }
    if (r->op < OP_COUNT && (r->saves & SAVED_ATTRS)) {
        give_back(t->c, (void *)(uintptr_t)r->u.op.attrs, sizeof(op_attrs));
        r->u.op.attrs = NULL;
        r->saves &= (uint8_t)~SAVED_ATTRS;
    }
}

static void lower(tape *t, pile *p, uint32_t count) {
    if (p->count > count) pile_truncate(t->c, p, count);
}

/* Takes the side stacks back to where they were before the newest record; a carry also for the hollow records that
 * were behind it. */
static void pop_sides(tape *t, const record *r) {
    if (tape_saved_count(r) > 0 || r->op == OP_carry) lower(t, &t->saved, r->u.op.saved);
    if (r->op == OP_carry) {
        lower(t, &t->operands, r->u.op.in2);
    } else if (r->op == RECORD_BRANCH || r->op == RECORD_LOOP || r->op == RECORD_CHECKPOINT) {
        lower(t, &t->operands, r->u.region.place);
    } else if (r->op < OP_COUNT && (r->n > 3 || r->op == OP_custom)) {
        lower(t, &t->operands, r->in[0]);
    }
    if (r->op == RECORD_CHECKPOINT) lower(t, &t->loops, r->u.region.tag);
}

void tape_truncate(tape *t, uint32_t index) {
    while (tape_top(t) > index) {
        uint32_t newest = tape_top(t) - 1;
        if (pile_is_hollow(&t->records, newest)) {
            uint32_t start = pile_chunk_start(newest);
            pile_truncate(t->c, &t->records, start > index ? start : index);
            continue;
        }
        record *r = tape_record(t, newest);
        tape_unsave(t, r);
        pop_sides(t, r);
        pop_record(t);
    }
    if (index <= 1 && t->shape_count > 64) {
        memset(t->shape_slot, 0, 2 * t->shape_capacity * sizeof *t->shape_slot);
        t->shape_count = DTYPE_COUNT;
        t->last_shape = 0;
    }
}

void tape_forget(tape *t, uint32_t floor, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        if (!pile_is_hollow(&t->records, i)) tape_unsave(t, tape_record(t, i));
    }
    const record *first = tape_record(t, floor), *begin = tape_record(t, from), *end = tape_record(t, to);
    pile_hollow(t->c, &t->saved, first->u.op.saved, begin->u.op.saved, end->u.op.saved);
    pile_hollow(t->c, &t->operands, first->u.op.in2, begin->u.op.in2, end->u.op.in2);
    pile_hollow(t->c, &t->records, floor + 1, from, to);
}

void tape_compact(tape *t, uint32_t mark, uint32_t count) {
    tape_truncate(t, mark + count);
    for (uint32_t i = mark + count; i-- > mark;) {
        record *r = tape_record(t, i);
        tape_unsave(t, r);
        pop_sides(t, r);
        *r = (record){.op = RECORD_INPUT, .shape = r->shape};
    }
}
