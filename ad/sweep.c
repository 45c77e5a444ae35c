/* The backward sweep: from the last record to the handler's mark, one adjoint per active value. With no
 * handler outside it frees each record, what it saved and its adjoint as it passes. */
#include "ad/sweep.h"

#include <string.h>

#include "ad/batch.h"
#include "ad/checkpoint_state.h"
#include "kernels/scalar.h"

/* ---- adjoints ---- */

value *sweep_adjoint(sweep *s, uint32_t index) {
    return pile_at(&s->adjoint, index - s->base);
}

bool sweep_wants(const sweep *s, uint32_t index) {
    return index >= s->scope->mark && index != 0 && (tape_record(s->t, index)->handlers & s->scope->bit);
}

static bool perform(sweep *s, op_id op, const op_attrs *attrs, int n, const value *in, uint8_t spent,
                    value *out) {
    op_call call = {.op = op, .n = (uint8_t)n, .spent = spent, .attrs = attrs, .in = in, .where = s->p.where};
    return door_perform(s->c, &call, out);
}

/* A number or tensor of one value, of a record's shape, or a batch of them. */
static bool filled(sweep *s, const op_type *shape, double x, value *out) {
    value number = value_number((dtype)shape->dtype, x), one = number, several;
    if (shape->rank > 0) {
        op_attrs attrs = {.rank = shape->rank, .dtype = shape->dtype};
        memcpy(attrs.dims, shape->dims, sizeof attrs.dims);
        if (!perform(s, OP_full, &attrs, 1, &number, 0, &one)) return false;
    }
    if (s->p.batch == 0) {
        *out = one;
        return true;
    }
    bool ok = batch_spread(s->c, s->c->top, s->p.where, s->p.batch, &one, &several);
    value_release(s->c, one);
    if (ok) *out = several;
    return ok;
}

static bool zeros_for(sweep *s, uint32_t index, value *out) {
    return filled(s, tape_shape(s->t, tape_record(s->t, index)), 0.0, out);
}

bool sweep_zero_if_absent(sweep *s, uint32_t index) {
    if (!sweep_wants(s, index)) return true;
    value *slot = sweep_adjoint(s, index);
    return slot->kind != VALUE_NONE || zeros_for(s, index, slot);
}

bool sweep_accumulate(sweep *s, uint32_t index, const value *v, bool spent) {
    value *slot = sweep_adjoint(s, index);
    if (slot->kind == VALUE_NONE) {
        *slot = value_retain(*v);
        return true;
    }
    value in[2] = {*slot, *v}, sum;
    if (!perform(s, OP_add, NULL, 2, in, (uint8_t)(1 | (spent ? 2 : 0)), &sum)) return false;
    value_release(s->c, *slot);
    *slot = sum;
    return true;
}

/* The first operand is spent, bit k of `batched` says that operand k is a batch. */
static bool perform_batch(sweep *s, op_id op, const op_attrs *attrs, int n, const value *in, unsigned batched,
                          value *out) {
    if (batched == 0) return perform(s, op, attrs, n, in, 1, out);
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in, .where = s->p.where};
    return batch_perform(s->c, s->c->top, &call, s->p.batch, batched, out);
}

/* Of batches, products and their sum are two ops. */
static bool add_products(sweep *s, uint32_t index, const op_attrs *attrs, const value *rest, unsigned batched) {
    op_attrs own = {.strong_zero = attrs->strong_zero, .ones = {attrs->ones[1], attrs->ones[2]}};
    value made;
    if (!perform_batch(s, OP_matmul, &own, 2, rest, batched, &made)) return false;
    bool ok = sweep_accumulate(s, index, &made, true);
    value_release(s->c, made);
    return ok;
}

/* Adds by an op whose first operand is the accumulator. */
static bool accumulate_into(sweep *s, uint32_t index, op_id op, const op_attrs *attrs, int n,
                            const value *rest, unsigned batched) {
    value *slot = sweep_adjoint(s, index);
    value sum;
    if (batched != 0 && op == OP_matmul_add) return add_products(s, index, attrs, rest, batched);
    if (slot->kind == VALUE_NONE && op == OP_matmul_add) {
        op_attrs product = {.strong_zero = attrs != NULL && attrs->strong_zero};
        if (attrs != NULL) memcpy(product.ones, attrs->ones + 1, 2);
        return perform(s, OP_matmul, &product, n, rest, 0, slot);
    }
    if (slot->kind == VALUE_NONE && !zeros_for(s, index, slot)) return false;
    value in[3] = {*slot};
    for (int i = 0; i < n && i < 2; i++) in[i + 1] = rest[i];
    if (!perform_batch(s, op, attrs, n + 1, in, s->p.batch != 0 ? batched << 1 | 1 : 0, &sum)) return false;
    value_release(s->c, *slot);
    *slot = sum;
    return true;
}

/* ---- one record ---- */

static bool sink(void *self, int k, const value *v, bool spent) {
    sweep *s = self;
    return sweep_accumulate(s, record_operand(s->t, tape_record(s->t, s->at), k), v, spent);
}

static bool sink_into(void *self, int k, op_id op, const op_attrs *attrs, int n, const value *rest,
                      unsigned batched) {
    sweep *s = self;
    return accumulate_into(s, record_operand(s->t, tape_record(s->t, s->at), k), op, attrs, n, rest, batched);
}

enum { FEW = 8 };

/* Operands' types, wishes and sizes of a record; on the stack when few. */
typedef struct operands {
    op_type *type, few_types[FEW];
    bool *wants, few_wants[FEW];
    int64_t *sizes, few_sizes[FEW];
    int n;
} operands;

static bool operands_read(sweep *s, const record *r, operands *o) {
    o->n = r->n;
    o->type = o->few_types;
    o->wants = o->few_wants;
    o->sizes = o->few_sizes;
    if (o->n > FEW) {
        size_t each = sizeof *o->type + sizeof *o->sizes + sizeof *o->wants;
        char *block = take(s->c, each * (size_t)o->n);
        if (block == NULL) return false;
        o->type = (op_type *)(void *)block;
        o->sizes = (int64_t *)(void *)(o->type + o->n);
        o->wants = (bool *)(o->sizes + o->n);
    }
    for (int k = 0; k < o->n; k++) {
        uint32_t index = record_operand(s->t, r, k);
        o->wants[k] = sweep_wants(s, index);
        o->type[k] = index != 0 ? *tape_shape(s->t, tape_record(s->t, index)) : (op_type){0};
    }
    return true;
}

static void operands_close(sweep *s, operands *o) {
    if (o->n > FEW) {
        give_back(s->c, o->type,
                  (sizeof *o->type + sizeof *o->sizes + sizeof *o->wants) * (size_t)o->n);
    }
}

/* The saved values as terms: operands in[0..2], the result, and the sizes of a concat. */
static term read_saved(sweep *s, const record *r, term in[3], operands *o) {
    uint32_t place = r->u.op.saved;
    for (int k = 0; k < 3; k++) {
        in[k] = TERM_NONE;
        if (!(r->saves & (NEED_IN0 << k))) continue;
        in[k] = performer_add(&s->p, tape_saved(s->t, place++), r->u.op.attrs ? r->u.op.attrs->ones[k] : 0);
    }
    term out = TERM_NONE;
    if (r->saves & NEED_OUT) out = performer_add(&s->p, tape_saved(s->t, place++), 0);
    if (r->saves & NEED_SIZES) {
        for (int k = 0; k < r->n; k++) o->sizes[k] = tape_saved(s->t, place++)->as.i64;
    }
    return out;
}

static bool sweep_op(sweep *s, const record *r, const value *d) {
    operands o;
    if (!operands_read(s, r, &o)) return false;
    op_type out_type = *tape_shape(s->t, r); /* a rule under another handler may move the shapes */
    term in[3];
    rule_site site = {
        .attrs = r->u.op.attrs,
        .n = r->n,
        .in_type = o.type,
        .out_type = &out_type,
        .out_ones = r->ones,
        .in = in,
        .wants = o.wants,
        .sizes = o.sizes,
    };
    site.out = read_saved(s, r, in, &o);
    if (site.out >= 0) s->p.term[site.out].ones = site.out_ones;
    site.d = performer_add_batch(&s->p, d, site.out_ones);
    rules_vjp(&s->p.b, (op_id)r->op, &site);
    bool ok = !s->p.b.failed;
    performer_clear(&s->p);
    operands_close(s, &o);
    return ok;
}

/* The cotangents of a batch, times the partial. */
static bool sweep_scalars(sweep *s, const record *r, const value *d) {
    for (int k = 0; k < r->n; k++) {
        if (!sweep_wants(s, r->in[k])) continue;
        value in[2] = {*d, value_number((dtype)d->dtype, r->u.partial[k])}, made;
        if (!perform(s, s->scope->strong_zero ? OP_strong_mul : OP_mul, NULL, 2, in, 0, &made)) return false;
        bool ok = sweep_accumulate(s, r->in[k], &made, true);
        value_release(s->c, made);
        if (!ok) return false;
    }
    return true;
}

static bool sweep_scalar(sweep *s, const record *r, const value *d) {
    bool strong = s->scope->strong_zero;
    if (s->p.batch != 0) return sweep_scalars(s, r, d);
    for (int k = 0; k < r->n; k++) {
        if (!sweep_wants(s, r->in[k])) continue;
        value v = *d;
        v.index = 0;
        if (d->dtype == DT_F64) {
            v.as.f64 = (strong ? f64_strong_mul : f64_mul)(d->as.f64, r->u.partial[k]);
        } else {
            v.as.f32 = (strong ? f32_strong_mul : f32_mul)(d->as.f32, (float)r->u.partial[k]);
        }
        value *slot = sweep_adjoint(s, r->in[k]);
        if (slot->kind == VALUE_NONE) {
            *slot = v;
        } else if (d->dtype == DT_F64) {
            slot->as.f64 += v.as.f64;
        } else {
            slot->as.f32 += v.as.f32;
        }
    }
    return true;
}

bool sweep_live(sweep *s, const record *r) {
    if (r->saves != 0 && s->at < s->dead_from) return true;
    for (uint32_t i = 0; i < r->u.region.results; i++) {
        uint32_t index = tape_operand(s->t, r->u.region.place + i);
        if (sweep_wants(s, index) && sweep_adjoint(s, index)->kind != VALUE_NONE) return true;
    }
    return false;
}

bool sweep_zero_region(sweep *s, const record *r, bool results) {
    uint32_t first = r->u.region.place + (results ? 0 : r->u.region.results);
    uint32_t end = r->u.region.place + r->u.region.results + r->u.region.reads;
    for (uint32_t place = first; place < end; place++) {
        if (!sweep_zero_if_absent(s, tape_operand(s->t, place))) return false;
    }
    return true;
}

static bool sweep_region(sweep *s, const record *r) {
    bool branch = r->op == RECORD_BRANCH;
    if (!sweep_live(s, r)) {
        if (r->in[0] < s->dead_from) s->dead_from = r->in[0];
        return true;
    }
    if (!sweep_zero_region(s, r, !branch)) return false;
    return r->op != RECORD_CHECKPOINT || checkpoint_sweep(s, r);
}

static bool sweep_record(sweep *s) {
    const record *r = tape_record(s->t, s->at);
    s->p.where = r->where;
    if (r->op >= RECORD_BRANCH) return sweep_region(s, r);
    if (r->op == OP_carry && s->at < s->dead_from && !sweep_zero_if_absent(s, s->at)) return false;
    value *slot = sweep_adjoint(s, s->at);
    if (slot->kind == VALUE_NONE) return true;
    value d = *slot;
    *slot = value_none();
    bool ok = true;
    if (r->op == RECORD_SCALAR) {
        ok = sweep_scalar(s, r, &d);
    } else if (r->op == OP_identity || r->op == OP_carry) {
        ok = !sweep_wants(s, r->in[0]) || sweep_accumulate(s, r->in[0], &d, false);
    } else if (r->op == OP_custom) {
        ok = sweep_custom(s, r, &d);
    } else if (r->op < OP_COUNT) {
        ok = sweep_op(s, r, &d);
    }
    value_release(s->c, d);
    return ok;
}

/* ---- the whole ---- */

bool sweep_extend(sweep *s, uint32_t top) {
    uint32_t records = top - s->base;
    while (s->adjoint.count < records) {
        uint32_t next = s->adjoint.count;
        if (next % PILE_CHUNK == 0 && pile_is_hollow(&s->t->records, s->base + next)) {
            if (!pile_push_hollow(s->c, &s->adjoint)) return false;
            continue;
        }
        value *slot = pile_push(s->c, &s->adjoint);
        if (slot == NULL) return false;
        *slot = value_none();
    }
    return true;
}

static void release_adjoints(sweep *s, uint32_t from) {
    for (uint32_t i = s->adjoint.count; i > from; i--) {
        if (pile_is_hollow(&s->adjoint, i - 1)) {
            i = pile_chunk_start(i - 1) + 1;
        } else {
            value_release(s->c, *(value *)pile_at(&s->adjoint, i - 1));
        }
    }
}

void sweep_forget(sweep *s, uint32_t index) {
    uint32_t count = index - s->base;
    if (s->adjoint.count <= count) return;
    release_adjoints(s, count);
    pile_truncate(s->c, &s->adjoint, count);
}

void sweep_cut(sweep *s, uint32_t index) {
    if (!s->frees_records) return;
    tape_truncate(s->t, index);
    sweep_forget(s, index);
}

static void sweep_close(sweep *s) {
    release_adjoints(s, 0);
    pile_close(s->c, &s->adjoint);
}

static bool sweep_seed(sweep *s, const value *primal, const value *seed) {
    value *slot = sweep_adjoint(s, primal->index);
    if (seed != NULL) {
        *slot = value_retain(*seed);
        return true;
    }
    op_type shape = value_type(primal);
    return filled(s, &shape, 1.0, slot);
}

bool sweep_down(sweep *s, uint32_t top, uint32_t floor) {
    while (top > floor) {
        if (pile_is_hollow(&s->t->records, top - 1)) { /* a loop inside forgot them */
            top = pile_chunk_start(top - 1);
            continue;
        }
        s->at = s->next = --top;
        if ((top & 63) == 0 && !context_may_go_on(s->c, tape_record(s->t, top)->where)) return false;
        if (top < s->dead_from) s->dead_from = UINT32_MAX;
        if (!sweep_record(s)) return false;
        if (s->frees_records) {
            sweep_cut(s, s->next);
        } else if (s->frees_saved) {
            tape_unsave(s->t, tape_record(s->t, top));
        }
        top = s->next;
    }
    return true;
}

static bool take_gradients(sweep *s, const value *parameter, int count, value *gradients) {
    for (int i = 0; i < count; i++) {
        value *slot = sweep_adjoint(s, parameter[i].index);
        gradients[i] = *slot;
        *slot = value_none();
        if (gradients[i].kind == VALUE_NONE && !zeros_for(s, parameter[i].index, &gradients[i])) {
            while (i > 0) value_release(s->c, gradients[--i]);
            return false;
        }
    }
    return true;
}

bool sweep_run(context *c, reverse_scope *scope, const value *primal, const value *seed,
               const value *parameter, int count, span where, value *gradients) {
    sweep s = {
        .c = c,
        .t = c->tape,
        .scope = scope,
        .adjoint = {.element = sizeof(value)},
        .base = pile_chunk_start(scope->mark),
        .frees_records = scope->alone && !scope->keep,
        .frees_saved = c->tape->depth == 1 && !scope->keep,
        .dead_from = UINT32_MAX,
    };
    performer_init(&s.p, c);
    s.p.b.strong_zero = scope->strong_zero;
    s.p.at = scope->h.outer;
    s.p.where = where;
    s.p.sink = sink;
    s.p.sink_into = sink_into;
    s.p.self = &s;
    s.p.batch = scope->batch;
    bool ok = sweep_extend(&s, scope->end);
    if (ok && sweep_wants(&s, primal->index)) {
        ok = sweep_seed(&s, primal, seed) && sweep_down(&s, scope->end, scope->body);
    }
    ok = ok && take_gradients(&s, parameter, count, gradients);
    sweep_close(&s);
    return ok;
}
