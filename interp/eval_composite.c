/* Builtins made of several ops, performed: their operands and sizes are evaluated, and each op goes to the handlers
 * that are there. */
#include "ad/performer.h"
#include "interp/composite.h"
#include "interp/eval.h"

/* ---- the builder ---- */

typedef struct composite_performer {
    performer p;                /* first: its builder is the composite's */
    term (*perform)(builder *b, op_id op, const op_attrs *attrs, int n, const term *in);
} composite_performer;

/* Passive ops concern no handler and go straight to the bottom, as through the door. */
static term perform_where_active(builder *b, op_id op, const op_attrs *attrs, int n,
                                 const term *in) {
    performer *p = (performer *)b;
    uint32_t active = 0;
    if (b->failed) return TERM_NONE;
    for (int k = 0; k < n; k++)
        if (in[k] >= 0) active |= performer_value(p, in[k])->index;
    p->at = b->c->top;
    while (active == 0 && p->at->outer != NULL) p->at = p->at->outer;
    return ((composite_performer *)b)->perform(b, op, attrs, n, in);
}

static void performer_open(composite_performer *c, evaluator *ev, const code *n) {
    performer_init(&c->p, ev->c);
    c->perform = c->p.b.op;
    c->p.b.op = perform_where_active;
    c->p.where = n->where;
}

static term stopped(composite *m, term t) {
    performer *p = (performer *)m->b;
    if (!b_alive(m->b, 1, &t)) return TERM_NONE;
    value v = *performer_value(p, t);
    v.index = 0;
    return performer_add(p, &v, m->b->ones(m->b, t));
}

/* ---- einsum ---- */

/* An index has one size, whatever the checker could not see. */
static bool sizes_agree(context *c, const code *n, const einsum_plan *plan, const value *in) {
    int64_t size[EINSUM_INDICES];
    int holder[EINSUM_INDICES];
    char room[4];
    for (int i = 0; i < EINSUM_INDICES; i++) size[i] = -1;
    for (int k = 0; k < plan->count; k++) {
        const einsum_operand *x = &plan->operand[k];
        for (int i = 0; i < x->rank; i++) {
            int index = x->index[i];
            int64_t dim = value_dims(&in[k])[i];
            if (((x->stretched >> i) & 1) != 0) continue;
            if (size[index] >= 0 && size[index] != dim)
                return error_set(&c->err, ERROR_K0502, n->where,
                                 "einsum: the index `%s` is %lld in operand %d and %lld in "
                                 "operand %d",
                                 einsum_index_name(plan, index, room), (long long)size[index],
                                 holder[index] + 1, (long long)dim, k + 1);
            size[index] = dim;
            holder[index] = k;
        }
    }
    return true;
}

/* What is made of the operands so far is all that lives from one to the next. */
static bool eval_einsum(evaluator *ev, const code *n, const value *in, value *out) {
    const einsum_plan *plan = n->u.composite.use->einsum;
    value made = value_none();
    indexed so_far = {0};
    uint8_t ones = 0;
    bool ok = sizes_agree(ev->c, n, plan, in);
    for (int k = 0; ok && k < plan->count; k++) {
        composite_performer c;
        performer_open(&c, ev, n);
        if (k > 0) so_far.t = performer_add(&c.p, &made, ones);
        term next = performer_add(&c.p, &in[k], n->u.composite.ones[k]);
        so_far = composite_einsum_take(&c.p.b, plan, k, so_far, next);
        ok = b_alive(&c.p.b, 1, &so_far.t);
        value latest = ok ? value_retain(*performer_value(&c.p, so_far.t)) : value_none();
        if (ok) ones = c.p.b.ones(&c.p.b, so_far.t);
        performer_clear(&c.p);
        value_release(ev->c, made);
        made = latest;
    }
    *out = made;
    return ok;
}

/* ---- all others ---- */

static bool perform_terms(evaluator *ev, const code *n, const value *in, const int64_t *size, int count,
                          term *made, value *out) {
    composite_performer c;
    performer_open(&c, ev, n);
    composite m = composite_of(&c.p.b, n, stopped);
    m.count = n->u.composite.count;
    m.size = size;
    m.sizes = n->u.composite.use->sizes;
    for (int k = 0; k < m.count && k < (int)COUNT_OF(m.in); k++)
        m.in[k] = performer_add(&c.p, &in[k], n->u.composite.ones[k]);
    bool ok = composite_make(&m, made);
    for (int i = 0; ok && i < count; i++) out[i] = value_retain(*performer_value(&c.p, made[i]));
    performer_clear(&c.p);
    return ok;
}

/* The composite's result, the operands being evaluated (borrowed). */
static bool perform_with(evaluator *ev, const code *n, const value *in, const int64_t *size,
                         value *out) {
    if (n->u.composite.use->builtin == BUILTIN_einsum) return eval_einsum(ev, n, in, out);
    int count = composite_results(n);
    size_t bytes = (sizeof(value) + sizeof(term)) * (size_t)count;
    value *made = take(ev->c, bytes);
    if (made == NULL) return false;
    bool ok = perform_terms(ev, n, in, size, count, (term *)(made + count), made) &&
              eval_pack(ev, made, count, out);
    give_back(ev->c, made, bytes);
    return ok;
}

static bool eval_sizes(evaluator *ev, value *frame, const code *n, int64_t *out) {
    for (int i = 0; i < n->u.composite.use->sizes; i++) {
        value v;
        const code *size = n->u.composite.size[i];
        if (!eval(ev, frame, size, &v)) return false;
        out[i] = value_as_int(&v);
        if (out[i] < 0)
            return error_set(&ev->c->err, ERROR_K0511, size->where,
                             "a size cannot be negative: %lld", (long long)out[i]);
    }
    return true;
}

bool eval_composite(evaluator *ev, value *frame, const code *n, value *out) {
    int count = n->u.composite.count, sizes = n->u.composite.use->sizes;
    size_t bytes = sizeof(value) * (size_t)count, size_bytes = sizeof(int64_t) * (size_t)sizes;
    value *in = take(ev->c, bytes + size_bytes);
    if (in == NULL) return false;
    int64_t *size = (int64_t *)(in + count);
    bool ok = eval_args(ev, frame, n->u.composite.args, count, in);
    if (ok) {
        ok = eval_sizes(ev, frame, n, size) && perform_with(ev, n, in, size, out);
        values_release(ev->c, in, count);
    }
    give_back(ev->c, in, bytes + size_bytes);
    return ok;
}
