/* The reverse handler: it records what active values go through; leaving it sweeps the tape backward. */
#include "ad/ad.h"

#include <string.h>

#include "ad/custom.h"
#include "ad/sweep.h"
#include "ad/tape_view.h"

/* Elementwise rules are cotangent * partial. Where no other handler sees the op, the partials of an op on
 * numbers are plain numbers already when it is recorded; storing them gives the sweep's bits. */
static bool note_scalar(context *c, reverse_scope *s, const op_call *call, uint8_t handlers, value *out) {
    performer p;
    performer_init(&p, c);
    p.b.strong_zero = s->strong_zero;
    p.at = s->h.outer;
    p.where = call->where;
    term in[3];
    op_type in_type[3], out_type;
    for (int k = 0; k < call->n; k++) {
        in[k] = performer_add(&p, &call->in[k], 0);
        in_type[k].dtype = call->in[k].dtype;
        in_type[k].rank = 0;
    }
    out_type.dtype = out->dtype;
    out_type.rank = 0;
    rule_site site = {
        .attrs = call->attrs,
        .n = call->n,
        .in_type = in_type,
        .out_type = &out_type,
        .in = in,
        .out = performer_add(&p, out, 0),
    };
    double partial[2] = {0, 0};
    for (int k = 0; k < call->n && !p.b.failed; k++) {
        if (call->in[k].index == 0) continue;
        term t = rule_table[call->op].partial(&p.b, &site, k);
        if (t == TERM_ONE) {
            partial[k] = 1;
        } else if (t == TERM_MINUS_ONE) {
            partial[k] = -1;
        } else if (t >= 0) {
            partial[k] = value_as_double(performer_value(&p, t));
        }
    }
    bool ok = !p.b.failed && tape_note_scalar(c->tape, call, handlers, partial, out);
    performer_clear(&p);
    return ok;
}

static bool all_numbers(const op_call *call) {
    for (int k = 0; k < call->n; k++) {
        if (call->in[k].kind != VALUE_NUMBER) return false;
    }
    return true;
}

/* Operands that the rule will read must not be overwritten. */
static uint8_t spendable(const op_call *call) {
    const op_info *info = &op_table[call->op];
    uint32_t needs = 0;
    if (info->arity != ARITY_MANY) {
        for (int k = 0; k < call->n; k++) {
            if (call->in[k].index != 0) needs |= info->needs >> (8 * k);
        }
    }
    return call->spent & (uint8_t)~(needs & 7u);
}

static bool reverse_perform(context *c, handler *h, const op_call *call, value *out) {
    reverse_scope *s = (reverse_scope *)h;
    tape *t = c->tape;
    const op_info *info = &op_table[call->op];
    if (info->rule == OP_RULE_NONE) return door_perform_at(c, h->outer, call, out);
    uint8_t handlers = 0;
    for (int k = 0; k < call->n; k++) handlers |= tape_active(t, call->in[k].index);
    op_call careful = *call;
    if (handlers != 0) careful.spent = spendable(call);
    if (!door_perform_at(c, h->outer, &careful, out)) return false;
    if (!(handlers & s->bit) || !dtype_floating(out->dtype)) return true;
    if (out->index != 0 && tape_record(t, out->index)->op != RECORD_INPUT) return true;
    bool ok;
    bool mine_alone = s->alone && handlers == s->bit;
    if (mine_alone && !c->watched && info->rule == OP_RULE_PARTIAL && call->n <= 2 && all_numbers(call)) {
        ok = note_scalar(c, s, call, handlers, out);
    } else {
        ok = tape_note(t, call, handlers, out);
    }
    if (!ok) value_release(c, *out);
    return ok;
}

static bool reverse_custom(context *c, handler *h, const custom_call *call, value *out) {
    const reverse_scope *s = (const reverse_scope *)h;
    if (!custom_at(c, h->outer, call, out)) return false;
    uint8_t handlers = 0;
    for (int k = 0; k < call->count; k++) {
        if (custom_floating(&call->args[k])) handlers |= tape_active(c->tape, call->args[k].index);
    }
    if (!(handlers & s->bit) || !custom_floating(out)) return true;
    bool noted = out->index != 0 && tape_record(c->tape, out->index)->op != RECORD_INPUT;
    bool ok = true;
    if (call->vjp.kind == VALUE_NONE) {
        ok = custom_refuse(c, call, "reverseMode", "@vjp");
    } else if (!noted) {
        ok = tape_note_custom(c->tape, call, handlers, out);
    }
    if (!ok) value_release(c, *out);
    return ok;
}

bool reverse_enter(context *c, reverse_scope *s) {
    tape *t = tape_of(c);
    if (t == NULL) return false;
    int slot = t->depth < TAPE_HANDLERS ? t->depth : TAPE_HANDLERS - 1;
    *s = (reverse_scope){
        .h = {.outer = c->top, .recorders = c->top->recorders + 1,
              .pushers = c->top->pushers, .perform = reverse_perform,
              .custom = reverse_custom},
        .mark = tape_top(t),
        .body = tape_top(t),
        .bit = (uint8_t)(1u << slot),
        .alone = c->top->outer == NULL,
    };
    if (t->depth == 0) t->share = (budget_share){.left = SIZE_MAX};
    if (t->depth < TAPE_HANDLERS) t->mark[slot] = s->mark;
    t->depth++;
    c->top = &s->h;
    return true;
}

bool reverse_parameter(context *c, reverse_scope *s, span where, value *v) {
    tape *t = c->tape;
    value fresh;
    if (v->index != 0) {
        op_call call = {.op = OP_identity, .n = 1, .in = v, .where = where};
        if (!door_perform_at(c, s->h.outer, &call, &fresh)) return false;
    } else {
        fresh = value_retain(*v);
        fresh.index = 0;
    }
    if (fresh.index < s->mark && !tape_fresh(t, RECORD_INPUT, 0, 0, where, &fresh)) {
        value_release(c, fresh);
        return false;
    }
    tape_record(t, fresh.index)->handlers |= s->bit;
    value_release(c, *v);
    *v = fresh;
    s->body = tape_top(t);
    return true;
}

/* Off the stack; the records stay. */
static void take_off(context *c, reverse_scope *s) {
    c->top = s->h.outer;
    c->tape->depth--;
}

/* With no handler outside nothing can refer to the records any more. */
static void forget(context *c, reverse_scope *s) {
    if (s->alone) tape_truncate(c->tape, s->mark);
}

void reverse_abandon(context *c, reverse_scope *s) {
    take_off(c, s);
    forget(c, s);
}

void reverse_stop(context *c, reverse_scope *s) {
    c->top = s->h.outer;
    s->end = tape_top(c->tape);
}

static bool show(const context *c, const reverse_scope *s, const value *primal) {
    if (c->tape_observer == NULL) return true;
    bool depends = (tape_active(c->tape, primal->index) & s->bit) != 0;
    tape_range range = {.first = s->mark, .body = s->body, .end = s->end, .primal = depends ? primal->index : 0};
    return c->tape_observer->before_sweep(c->tape_observer->self, c->tape, &range);
}

bool reverse_sweep(context *c, reverse_scope *s, const value *primal, const value *seed, const value *parameter,
                   int count, span where, value *gradients) {
    bool outermost = c->tape->depth == 1;
    if (outermost && !show(c, s, primal)) return false;
    int64_t start = outermost ? monotonic_nanoseconds() : 0;
    if (outermost) c->sweeping = true;
    bool ok = sweep_run(c, s, primal, seed, parameter, count, where, gradients);
    if (!outermost) return ok;
    c->sweeping = false;
    c->stats.seconds_backward += (double)(monotonic_nanoseconds() - start) * 1e-9;
    return ok;
}

void reverse_close(context *c, reverse_scope *s) {
    c->tape->depth--;
    forget(c, s);
}

bool reverse_leave(context *c, reverse_scope *s, value *primal, const value *seed, const value *parameter,
                   int count, span where, value *gradients) {
    reverse_stop(c, s);
    bool ok = reverse_sweep(c, s, primal, seed, parameter, count, where, gradients);
    reverse_close(c, s);
    if (s->alone) primal->index = 0;
    return ok;
}
