/* The forward handler: each op's result gets a tangent, kept in a table by the value's tape index. */
#include "ad/ad.h"

#include <string.h>

#include "ad/batch.h"
#include "ad/custom.h"
#include "ad/performer.h"

static bool forward_perform(context *c, handler *h, const op_call *call, value *out);
static bool forward_custom(context *c, handler *h, const custom_call *call, value *out);

const value *forward_tangent(const forward_scope *s, uint32_t index) {
    if (index < s->base || index - s->base >= s->capacity) return NULL;
    const value *t = &s->tangent[index - s->base];
    return t->kind == VALUE_NONE ? NULL : t;
}

/* Takes over v. */
static bool set_tangent(context *c, forward_scope *s, uint32_t index, value v) {
    uint32_t place = index - s->base;
    if (place >= s->capacity) {
        uint32_t capacity = s->capacity ? s->capacity : 64;
        while (capacity <= place) capacity *= 2;
        value *grown = resize(c, s->tangent, s->capacity * sizeof *grown, capacity * sizeof *grown);
        if (grown == NULL) {
            value_release(c, v);
            return false;
        }
        for (uint32_t i = s->capacity; i < capacity; i++) grown[i] = value_none();
        s->tangent = grown;
        s->capacity = capacity;
    }
    value_release(c, s->tangent[place]);
    s->tangent[place] = v;
    return true;
}

bool forward_enter(context *c, forward_scope *s) {
    tape *t = tape_of(c);
    if (t == NULL) return false;
    *s = (forward_scope){
        .h = {.outer = c->top, .recorders = c->top->recorders,
              .pushers = c->top->pushers + 1, .perform = forward_perform,
              .custom = forward_custom},
        .base = tape_top(t),
    };
    t->forward_depth++;
    c->top = &s->h;
    return true;
}

bool forward_parameter(context *c, forward_scope *s, const value *tangent, span where, value *v) {
    value fresh = value_none();
    if (v->index != 0) {
        op_call call = {.op = OP_identity, .n = 1, .in = v, .where = where};
        if (!door_perform_at(c, s->h.outer, &call, &fresh)) return false;
    } else {
        fresh = value_retain(*v);
    }
    if (fresh.index < s->base && !tape_fresh(c->tape, RECORD_INPUT, 0, 0, where, &fresh)) {
        value_release(c, fresh);
        return false;
    }
    value_release(c, *v);
    *v = fresh;
    return set_tangent(c, s, fresh.index, value_retain(*tangent));
}

/* Zeros of v's shape, made at the handler outside. */
static bool zeros_like(context *c, const forward_scope *s, const value *v, span where, value *out) {
    value zero = value_number((dtype)v->dtype, 0.0);
    *out = zero;
    if (v->kind == VALUE_TENSOR) {
        op_attrs attrs = {.rank = v->as.t->rank, .dtype = v->dtype};
        memcpy(attrs.dims, v->as.t->dims, sizeof attrs.dims);
        op_call full = {.op = OP_full, .n = 1, .attrs = &attrs, .in = &zero, .where = where};
        if (!door_perform_at(c, s->h.outer, &full, out)) return false;
    }
    if (s->batch == 0) return true;
    value one = *out;
    bool ok = batch_spread(c, s->h.outer, where, s->batch, &one, out);
    value_release(c, one);
    return ok;
}

/* v's tangent, or zeros; owned by the caller. */
static bool tangent_or_zeros(context *c, const forward_scope *s, const value *v, span where, value *out) {
    const value *t = forward_tangent(s, v->index);
    if (t == NULL) return zeros_like(c, s, v, where, out);
    *out = value_retain(*t);
    return true;
}

/* Keeps the tangent (taken over) of the result of an op or call. */
static bool keep_tangent(context *c, forward_scope *s, value tangent, span where, value *out) {
    if (out->index < s->base && !tape_fresh(c->tape, RECORD_INPUT, 0, 0, where, out)) {
        value_release(c, tangent);
        return false;
    }
    return set_tangent(c, s, out->index, tangent);
}

/* ---- one op ---- */

typedef struct pushed {
    forward_scope *s;
    const op_call *call;
    const value *out;
    term in[ARITY_MANY], tangent[ARITY_MANY];
    op_type in_type[ARITY_MANY];
    int64_t sizes[ARITY_MANY];
    performer p;
} pushed;

static void read_operands(pushed *u) {
    const op_attrs *attrs = u->call->attrs;
    for (int k = 0; k < u->call->n; k++) {
        const value *v = &u->call->in[k];
        uint8_t ones = attrs != NULL && k < 3 ? attrs->ones[k] : 0;
        u->in[k] = u->call->n <= 3 ? performer_add(&u->p, v, ones) : TERM_NONE;
        u->in_type[k] = value_type(v);
        const value *t = forward_tangent(u->s, v->index);
        u->tangent[k] = t == NULL ? TERM_NONE : performer_add_batch(&u->p, t, ones);
    }
}

/* The result's tangent; NONE where the rule gives none. */
static bool push_forward(context *c, pushed *u, value *out) {
    performer_init(&u->p, c);
    u->p.at = u->s->h.outer;
    u->p.batch = u->s->batch;
    u->p.where = u->call->where;
    read_operands(u);
    op_type out_type = value_type(u->out);
    rule_site site = {
        .attrs = u->call->attrs,
        .n = u->call->n,
        .in_type = u->in_type,
        .out_type = &out_type,
        .in = u->in,
        .tangent = u->tangent,
        .sizes = u->sizes,
    };
    if (site.n <= 3) {
        static const uint8_t no_ones[3];
        const uint8_t *ones = site.attrs != NULL ? site.attrs->ones : no_ones;
        site.out_ones = rules_result_ones(u->call->op, site.attrs, site.n, u->in_type, ones, &out_type);
    }
    site.out = performer_add(&u->p, u->out, site.out_ones);
    term t = rules_jvp(&u->p.b, u->call->op, &site);
    bool ok = !u->p.b.failed;
    *out = value_none();
    if (ok && t >= 0) ok = performer_take_batch(&u->p, t, out);
    performer_clear(&u->p);
    return ok;
}

/* A concat of many operands: the tangents are joined as the operands are, zeros for those without. */
static bool push_concat(context *c, forward_scope *s, const op_call *call, value *out) {
    value *in = take(c, call->n * sizeof *in);
    if (in == NULL) return false;
    int made = 0;
    while (made < call->n && tangent_or_zeros(c, s, &call->in[made], call->where, &in[made])) made++;
    op_attrs attrs = *call->attrs;
    attrs.axis = (uint8_t)(attrs.axis + (s->batch != 0));
    attrs.stays = false;
    op_call joined = {.op = call->op, .n = call->n, .attrs = &attrs, .in = in, .where = call->where};
    bool ok = made == call->n && door_perform_at(c, s->h.outer, &joined, out);
    for (int k = 0; k < made; k++) value_release(c, in[k]);
    give_back(c, in, call->n * sizeof *in);
    return ok;
}

static bool has_tangent(const forward_scope *s, const op_call *call) {
    for (int k = 0; k < call->n; k++) {
        if (forward_tangent(s, call->in[k].index) != NULL) return true;
    }
    return false;
}

static bool forward_perform(context *c, handler *h, const op_call *call, value *out) {
    forward_scope *s = (forward_scope *)h;
    if (op_table[call->op].rule == OP_RULE_NONE || !has_tangent(s, call)) {
        return door_perform_at(c, h->outer, call, out);
    }
    op_call careful = *call;
    careful.spent = 0;
    if (!door_perform_at(c, h->outer, &careful, out)) return false;
    if (!dtype_floating(out->dtype)) return true;
    value tangent = value_none();
    bool ok;
    if (op_table[call->op].arity == ARITY_MANY) {
        ok = push_concat(c, s, call, &tangent);
    } else {
        pushed u;
        u.s = s;
        u.call = call;
        u.out = out;
        ok = push_forward(c, &u, &tangent);
    }
    if (ok && tangent.kind != VALUE_NONE) ok = keep_tangent(c, s, tangent, call->where, out);
    if (!ok) value_release(c, *out);
    return ok;
}

/* ---- calls with rules of their own ---- */

/* args: the arguments, then the tangents of the floating ones, of which the rule gets entry i. */
static bool apply_entry(context *c, forward_scope *s, const custom_call *call, const value *args, int count, int64_t i,
                        value *out) {
    value *own = take(c, (size_t)count * sizeof *own);
    if (own == NULL) return false;
    memcpy(own, args, (size_t)count * sizeof *own);
    int made = call->count;
    bool ok = true;
    for (; ok && made < count; made += ok) {
        if (s->batch == 0)
            own[made] = value_retain(args[made]);
        else
            ok = batch_entry(c, s->h.outer, call->where, &args[made], i, &own[made]);
    }
    c->top = s->h.outer;
    ok = ok && call->applier->apply(call->applier->self, &call->jvp, own, count, out);
    for (int k = call->count; k < made; k++) value_release(c, own[k]);
    give_back(c, own, (size_t)count * sizeof *own);
    return ok;
}

/* The tangent as the rule gives it, for a batch once for each entry. */
static bool apply_entries(context *c, forward_scope *s, const custom_call *call, const value *args, int count,
                          const value *primal, value *out) {
    value entry[BATCH_MOST];
    int64_t many = s->batch != 0 ? s->batch : 1, made = 0;
    bool ok = true;
    for (; ok && made < many; made += ok) {
        ok = apply_entry(c, s, call, args, count, made, &entry[made]);
        if (ok && !custom_same_shape(c, &entry[made], primal, "tangent", call->where)) {
            value_release(c, entry[made]);
            ok = false;
        }
    }
    if (ok && s->batch == 0) {
        *out = entry[0];
        return true;
    }
    ok = ok && batch_join(c, s->h.outer, call->where, many, entry, out);
    while (made > 0) value_release(c, entry[--made]);
    return ok;
}

/* The rule takes the arguments, then the tangents of the floating ones. */
static bool apply_rule(context *c, forward_scope *s, const custom_call *call, const value *primal, value *out) {
    size_t bytes = 2 * (size_t)call->count * sizeof(value);
    value *args = take(c, bytes);
    if (args == NULL) return false;
    int count = call->count;
    memcpy(args, call->args, (size_t)count * sizeof *args);
    bool ok = true;
    for (int k = 0; k < call->count && ok; k++) {
        if (!custom_floating(&call->args[k])) continue;
        ok = tangent_or_zeros(c, s, &call->args[k], call->where, &args[count]);
        count += ok;
    }
    ok = ok && apply_entries(c, s, call, args, count, primal, out);
    for (int k = call->count; k < count; k++) value_release(c, args[k]);
    give_back(c, args, bytes);
    return ok;
}

static bool forward_custom(context *c, handler *h, const custom_call *call, value *out) {
    forward_scope *s = (forward_scope *)h;
    if (!custom_at(c, h->outer, call, out)) return false;
    bool active = false;
    for (int k = 0; k < call->count; k++) active |= forward_tangent(s, call->args[k].index) != NULL;
    if (!active || !custom_floating(out)) return true;
    value tangent;
    bool ok;
    if (call->jvp.kind == VALUE_NONE) {
        ok = custom_refuse(c, call, "forwardMode", "@jvp");
    } else {
        ok = apply_rule(c, s, call, out, &tangent);
        ok = ok && keep_tangent(c, s, tangent, call->where, out);
    }
    if (!ok) value_release(c, *out);
    return ok;
}

/* ---- branches and loops ---- */

/* Which handler this is among the forward ones, from the outside in; those beyond share the last bit. */
static uint32_t bit_of(const handler *h) {
    int depth = h->pushers - 1;
    return 1u << (depth < 31 ? depth : 31);
}

uint32_t ad_tangents(const context *c, const value *const *values, int count) {
    uint32_t have = 0;
    for (const handler *h = c->top; h != NULL && h->pushers > 0; h = h->outer) {
        if (h->perform != forward_perform) continue;
        for (int i = 0; i < count; i++) {
            if (forward_tangent((const forward_scope *)h, values[i]->index) != NULL) have |= bit_of(h);
        }
    }
    return have;
}

uint32_t ad_pushing(const context *c) {
    uint32_t all = 0;
    for (const handler *h = c->top; h != NULL && h->pushers > 0; h = h->outer) {
        if (h->perform == forward_perform) all |= bit_of(h);
    }
    return all;
}

/* Whether v has a tangent for this handler is changed: zeros, or none. */
static bool turn_tangent(context *c, forward_scope *s, bool wanted, span where, value *v) {
    value zeros = value_none();
    if (!wanted) return set_tangent(c, s, v->index, zeros);
    return zeros_like(c, s, v, where, &zeros) && keep_tangent(c, s, zeros, where, v);
}

/* From the outside in. */
static bool spread_at(context *c, handler *h, uint32_t handlers, span where, value *v, bool *fresh) {
    if (h == NULL || h->pushers == 0) return true;
    if (!spread_at(c, h->outer, handlers, where, v, fresh)) return false;
    forward_scope *s = (forward_scope *)h;
    bool wanted = (bit_of(h) & handlers) != 0;
    if (h->perform != forward_perform || wanted == (forward_tangent(s, v->index) != NULL)) return true;
    if (!*fresh && v->index != 0 && !performer_refresh(c, OP_identity, where, v)) return false;
    *fresh = true;
    return wanted == (forward_tangent(s, v->index) != NULL) || turn_tangent(c, s, wanted, where, v);
}

bool ad_spread(context *c, uint32_t handlers, span where, value *v) {
    bool fresh = false;
    return spread_at(c, c->top, handlers, where, v, &fresh);
}

/* ---- leaving ---- */

void forward_abandon(context *c, forward_scope *s) {
    c->top = s->h.outer;
    c->tape->forward_depth--;
    for (uint32_t i = 0; i < s->capacity; i++) value_release(c, s->tangent[i]);
    give_back(c, s->tangent, s->capacity * sizeof *s->tangent);
    s->tangent = NULL;
    s->capacity = 0;
    if (s->h.outer->outer == NULL) tape_truncate(c->tape, s->base);
}

bool forward_leave(context *c, forward_scope *s, value *primal, int count, span where, value *tangent) {
    int made = 0;
    while (made < count && tangent_or_zeros(c, s, &primal[made], where, &tangent[made])) made++;
    forward_abandon(c, s);
    bool alone = s->h.outer->outer == NULL;
    for (int i = 0; i < count && alone; i++) primal[i].index = 0;
    for (int i = 0; i < made && made < count; i++) value_release(c, tangent[i]);
    return made == count;
}

forward_scope *forward_of(handler *h) { return h->perform == forward_perform ? (forward_scope *)h : NULL; }
