/* The sweep over a call of a function with a reverse rule of its own, which knows of no batches: it is called once for
 * each entry of one. */
#include "ad/batch.h"
#include "ad/custom.h"
#include "ad/sweep.h"

/* Adds to entry i of the batch of adjoints. */
static bool accumulate_entry(sweep *s, uint32_t index, const value *v, int64_t i) {
    if (!sweep_zero_if_absent(s, index)) return false;
    value *slot = sweep_adjoint(s, index);
    op_attrs attrs = {.lo = {i}, .dims = {1}, .step = {1}, .drop = 1};
    for (int axis = 0; axis < value_rank(v); axis++) {
        attrs.dims[axis + 1] = v->as.t->dims[axis];
        attrs.step[axis + 1] = 1;
    }
    value in[2] = {*slot, *v}, sum;
    op_call call = {.op = OP_slice_add, .n = 2, .spent = 1, .attrs = &attrs, .in = in, .where = s->p.where};
    if (!door_perform(s->c, &call, &sum)) return false;
    value_release(s->c, *slot);
    *slot = sum;
    return true;
}

/* Hands the cotangents that a custom rule returned for entry i to the floating operands that want them. */
static bool custom_contributions(sweep *s, const record *r, const value *answer, int64_t i) {
    int next = 0;
    for (int k = 0; k < r->n; k++) {
        const value *arg = tape_saved(s->t, r->u.op.saved + (uint32_t)k);
        if (!custom_floating(arg)) continue;
        const value *v = answer->kind == VALUE_TUPLE ? &answer->as.tuple->item[next] : answer;
        next++;
        if (!custom_same_shape(s->c, v, arg, "cotangent", r->where)) return false;
        uint32_t index = record_operand(s->t, r, k);
        if (!sweep_wants(s, index)) continue;
        if (!(s->p.batch != 0 ? accumulate_entry(s, index, v, i) : sweep_accumulate(s, index, v, false))) return false;
    }
    return true;
}

/* args: the operands, the result, and room for the cotangent. */
static bool call_rule(sweep *s, const record *r, value *args, const value *d, int64_t i) {
    const value *rule = tape_saved(s->t, r->u.op.saved + (uint32_t)r->n + 1);
    const ad_applier *applier = s->t->applier;
    value answer, *own = &args[r->n + 1];
    *own = value_retain(*d);
    if (s->p.batch != 0) {
        value_release(s->c, *own);
        if (!batch_entry(s->c, s->c->top, r->where, d, i, own)) return false;
    }
    bool ok = applier->apply(applier->self, rule, args, r->n + 2, &answer);
    value_release(s->c, *own);
    if (!ok) return false;
    ok = custom_contributions(s, r, &answer, i);
    value_release(s->c, answer);
    return ok;
}

bool sweep_custom(sweep *s, const record *r, const value *d) {
    size_t bytes = ((size_t)r->n + 2) * sizeof(value);
    value *args = take(s->c, bytes);
    if (args == NULL) return false;
    for (int k = 0; k <= r->n; k++) args[k] = *tape_saved(s->t, r->u.op.saved + (uint32_t)k);
    int64_t count = s->p.batch != 0 ? s->p.batch : 1;
    bool ok = true;
    for (int64_t i = 0; ok && i < count; i++) ok = call_rule(s, r, args, d, i);
    give_back(s->c, args, bytes);
    return ok;
}
