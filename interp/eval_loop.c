/* Loops under a checkpoint policy: what the body is, as ad/checkpoint.h asks for it. */
#include <string.h>

#include "ad/checkpoint.h"
#include "ad/performer.h"
#include "interp/eval.h"

/* ---- shapes ---- */

bool eval_shapes(evaluator *ev, const code *n, const value *carries, op_type **out) {
    *out = NULL;
    if (n->u.loop.same_shape == NULL) return true;
    *out = take(ev->c, (size_t)n->u.loop.count * sizeof **out);
    for (int i = 0; *out != NULL && i < n->u.loop.count; i++) {
        if (n->u.loop.same_shape[i]) (*out)[i] = value_type(&carries[i]);
    }
    return *out != NULL;
}

void eval_shapes_close(evaluator *ev, const code *n, op_type *shapes) {
    give_back(ev->c, shapes, (size_t)n->u.loop.count * sizeof *shapes);
}

bool eval_shapes_hold(evaluator *ev, const code *n, const op_type *shapes, const value *next) {
    for (int i = 0; shapes != NULL && i < n->u.loop.count; i++) {
        if (!n->u.loop.same_shape[i]) continue;
        if (shape_same(shapes[i].rank, shapes[i].dims, value_rank(&next[i]), value_dims(&next[i]))) continue;
        char a[96], b[96];
        shape_print(a, sizeof a, shapes[i].rank, shapes[i].dims);
        shape_print(b, sizeof b, value_rank(&next[i]), value_dims(&next[i]));
        return error_set(&ev->c->err, ERROR_K0502, n->where,
                         "the carried `%s` has shape %s, but the body yields shape %s", n->u.loop.names[i], a, b);
    }
    return true;
}

/* ---- the body ---- */

/* A loop's own frame: the captured slots and the body's, alive until the loop has been swept. */
typedef struct own_frame {
    evaluator *ev;
    const code *n;
    value **carry;
    uint32_t tangents;          /* the carries have tangents for these forward handlers */
    op_type *shapes;
    value *next;
    value frame[];
} own_frame;

static size_t frame_bytes(const code *n) {
    size_t count = (size_t)n->u.loop.count;
    return sizeof(own_frame) + (size_t)n->u.loop.function->slots * sizeof(value) + count * sizeof(value *) +
           count * sizeof(value);
}

static void own_close(context *c, void *self) {
    own_frame *own = self;
    values_release(c, own->frame, own->n->u.loop.function->slots);
    eval_shapes_close(own->ev, own->n, own->shapes);
    give_back(c, own, frame_bytes(own->n));
}

static bool own_again(void *self, bool *out) {
    own_frame *own = self;
    return eval_condition(own->ev, own->frame, own->n->u.loop.condition, out);
}

static bool spread_tangents(own_frame *own, value *carries) {
    const code *n = own->n;
    for (int i = 0; ad_pushes(own->ev->c) && i < n->u.loop.count; i++) {
        if (!eval_boundary(own->ev, BOUNDARY_TANGENT, own->tangents, n->where, &carries[i])) return false;
    }
    return true;
}

static bool own_run(void *self) {
    own_frame *own = self;
    const code *n = own->n;
    context *c = own->ev->c;
    c->stats.iterations++;
    if (c->on_iteration != NULL) c->on_iteration(c->observer, c);
    if (!eval_many(own->ev, own->frame, n->u.loop.body, n->u.loop.count, own->next)) return false;
    if (!eval_shapes_hold(own->ev, n, own->shapes, own->next) || !spread_tangents(own, own->next)) {
        values_release(c, own->next, n->u.loop.count);
        return false;
    }
    for (int i = 0; i < n->u.loop.count; i++) {
        value_release(c, *own->carry[i]);
        *own->carry[i] = own->next[i];
    }
    return true;
}

static own_frame *own_new(evaluator *ev, const value *frame, const code *n, value *carries) {
    own_frame *own = take(ev->c, frame_bytes(n));
    if (own == NULL) return NULL;
    if (!eval_shapes(ev, n, carries, &own->shapes)) {
        give_back(ev->c, own, frame_bytes(n));
        return NULL;
    }
    int slots_in_frame = n->u.loop.function->slots;
    own->ev = ev;
    own->n = n;
    own->next = own->frame + slots_in_frame;
    own->carry = (value **)(void *)(own->next + n->u.loop.count);
    for (int i = 0; i < slots_in_frame; i++) own->frame[i] = value_none();
    for (int i = 0; i < n->u.loop.captures.count; i++) {
        int slot = n->u.loop.captures.slot[i];
        own->frame[slot] = value_retain(frame[slot]);
    }
    for (int i = 0; i < n->u.loop.count; i++) {
        own->carry[i] = &own->frame[n->u.loop.carry[i]];
        *own->carry[i] = carries[i];
    }
    return own;
}

/* ---- the policy ---- */

static bool positive(evaluator *ev, value *frame, const code *amount, span where, uint64_t *out) {
    value v;
    if (!eval(ev, frame, amount, &v)) return false;
    int64_t given = value_as_int(&v);
    if (given < 1) {
        return error_set(&ev->c->err, ERROR_K0512, where, "a @checkpoint option is at least 1, not %lld",
                         (long long)given);
    }
    *out = (uint64_t)given;
    return true;
}

static bool known_trips(evaluator *ev, value *frame, const trip_count *t, const value *carries, policy *p) {
    if (t->carry < 0) return true;
    value limit;
    if (!eval(ev, frame, t->limit, &limit)) return false;
    int64_t start = value_as_int(&carries[t->carry]), end, span_length;
    if (__builtin_add_overflow(value_as_int(&limit), (int64_t)t->inclusive, &end)) return true;
    if (__builtin_sub_overflow(end, start, &span_length)) return true;
    int64_t most = carries[t->carry].dtype == DT_I32 ? INT32_MAX : INT64_MAX;
    if (end > most - t->step) return true; /* the counter may wrap */
    p->known = true;
    p->trips = span_length <= 0 ? 0 : (uint64_t)((span_length - 1) / t->step + 1);
    return true;
}

static bool policy_of(evaluator *ev, value *frame, const code *n, const value *carries, policy *p) {
    const loop_policy *own = n->u.loop.policy;
    if (own == NULL) {
        *p = ev->options->checkpoint;
        p->most = UINT64_MAX; /* the whole program's budget: inside another loop only that one's has to hold */
    } else {
        *p = (policy){.kind = (policy_kind)own->kind, .bytes = (uint64_t)own->byte_count, .disk = own->disk};
        if (own->disk != NULL && !eval_files_allowed(ev, own->where, "disk")) return false;
        uint64_t *amount = p->kind == POLICY_SLOTS ? &p->slots : &p->every;
        if (own->amount != NULL && !positive(ev, frame, own->amount, own->where, amount)) return false;
        if (own->bytes != NULL && !positive(ev, frame, own->bytes, own->where, &p->bytes)) return false;
        p->most = p->bytes;
    }
    return p->kind == POLICY_ALL || known_trips(ev, frame, &n->u.loop.trips, carries, p);
}

bool eval_checkpointed(evaluator *ev, value *frame, const code *n, value *carries, uint8_t handlers,
                       uint32_t tangents, const value *const *reads, int count, bool *done, uint64_t *trips) {
    context *c = ev->c;
    *done = false;
    policy p;
    if (!policy_of(ev, frame, n, carries, &p)) {
        values_release(c, carries, n->u.loop.count);
        return false;
    }
    if (p.kind == POLICY_ALL || handlers == 0) return true;
    if (!n->u.loop.plain_carries || !checkpoint_possible(c)) {
        if (checkpoint_kept_whole(c, &p, n->where)) return true;
        values_release(c, carries, n->u.loop.count);
        return false;
    }
    *done = true;
    own_frame *own = own_new(ev, frame, n, carries);
    if (own == NULL) {
        values_release(c, carries, n->u.loop.count);
        return false;
    }
    own->tangents = tangents;
    for (int i = 0; i < n->u.loop.count; i++) {
        if (eval_boundary(ev, BOUNDARY_TANGENT, tangents, n->where, own->carry[i])) continue;
        own_close(c, own);
        return false;
    }
    loop_body body = {
        .self = own,
        .carries = n->u.loop.count,
        .carry = own->carry,
        .names = n->u.loop.names,
        .again = own_again,
        .run = own_run,
        .close = own_close,
    };
    if (!checkpoint_run(c, &p, body, handlers, reads, count, n->where, trips)) return false;
    for (int i = 0; i < n->u.loop.count; i++) {
        carries[i] = *own->carry[i];
        *own->carry[i] = value_none();
    }
    return true;
}
