/* Performing the ops that rules name. */
#include "ad/performer.h"

#include "ad/batch.h"

#include <string.h>

static term fail(performer *p) {
    p->b.failed = true;
    return TERM_NONE;
}

/* A concat of many parts makes a term for each. */
static bool widen(performer *p) {
    int wider = 4 * p->room;
    performed *grown = take(p->b.c, (size_t)wider * sizeof *grown);
    if (grown == NULL) return false;
    memcpy(grown, p->term, (size_t)p->count * sizeof *grown);
    if (p->term != p->few) give_back(p->b.c, p->term, (size_t)p->room * sizeof *p->term);
    p->term = grown;
    p->room = wider;
    return true;
}

static term place(performer *p, value v, bool owned, uint8_t ones) {
    if (p->count == p->room && !widen(p)) {
        if (owned) value_release(p->b.c, v);
        return fail(p);
    }
    performed *t = &p->term[p->count];
    t->v = v;
    t->owned = owned;
    t->typed = false;
    t->batched = false;
    t->ones = ones;
    return p->count++;
}

term performer_add(performer *p, const value *v, uint8_t ones) {
    return place(p, *v, false, ones);
}

term performer_add_batch(performer *p, const value *v, uint8_t ones) {
    term t = place(p, *v, false, ones);
    if (t >= 0) p->term[t].batched = p->batch != 0;
    return t;
}

bool performer_take_batch(performer *p, term t, value *out) {
    const performed *e = &p->term[t];
    if (p->batch != 0 && !e->batched) return batch_spread(p->b.c, p->at, p->where, p->batch, &e->v, out);
    *out = value_retain(e->v);
    return true;
}

const value *performer_value(const performer *p, term t) { return &p->term[t].v; }

/* Of one entry of a batch. */
static op_type entry_type(const value *v) {
    op_type type = value_type(v);
    type.rank--;
    memmove(type.dims, type.dims + 1, type.rank * sizeof *type.dims);
    return type;
}

static const op_type *term_type(builder *b, term t) {
    performer *p = (performer *)b;
    static const op_type nothing;
    if (t < 0) return &nothing;
    performed *e = &p->term[t];
    if (!e->typed) e->type = e->batched ? entry_type(&e->v) : value_type(&e->v);
    e->typed = true;
    return &e->type;
}

static uint8_t term_ones(builder *b, term t) {
    return t < 0 ? 0 : ((performer *)b)->term[t].ones;
}

/* The literal-one axes of what an op on terms made. */
static uint8_t ones_of(performer *p, op_id op, const op_attrs *attrs, int n, const term *in, const value *out,
                       bool batched) {
    op_type type[3], result = batched ? entry_type(out) : value_type(out);
    uint8_t ones[3];
    for (int k = 0; k < n; k++) {
        type[k] = *term_type(&p->b, in[k]);
        ones[k] = p->term[in[k]].ones;
    }
    return rules_result_ones(op, attrs, n, type, ones, &result);
}

static term perform_op(builder *b, op_id op, const op_attrs *attrs, int n, const term *in) {
    performer *p = (performer *)b;
    if (b->failed) return TERM_NONE;
    value operand[3];
    unsigned batched = 0;
    if (n > (int)COUNT_OF(operand)) {
        error_set(&b->c->err, ERROR_K0901, p->where, "a rule performs an op on too many terms");
        return fail(p);
    }
    for (int k = 0; k < n; k++) {
        if (in[k] < 0) {
            error_set(&b->c->err, ERROR_K0901, p->where, "the rule behind %s reads a term it has not",
                      op_table[op].name);
            return fail(p);
        }
        operand[k] = p->term[in[k]].v;
        batched |= (unsigned)p->term[in[k]].batched << k;
    }
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = operand, .where = p->where};
    value out;
    if (!(batched != 0 ? batch_perform(b->c, p->at, &call, p->batch, batched, &out)
                       : door_perform_at(b->c, p->at, &call, &out)))
        return fail(p);
    uint8_t ones = out.kind == VALUE_NUMBER ? 0 : ones_of(p, op, attrs, n, in, &out, batched != 0);
    term made = place(p, out, true, ones);
    if (made >= 0) p->term[made].batched = batched != 0;
    return made;
}

static term perform_number(builder *b, dtype t, double x) {
    if (b->failed) return TERM_NONE;
    return place((performer *)b, value_number(t, x), false, 0);
}

static term perform_count(builder *b, const op_type *of, uint8_t axes, dtype t) {
    double entries = 1;
    for (int i = 0; i < of->rank; i++) {
        if (axes & (1u << i)) entries *= (double)of->dims[i];
    }
    return perform_number(b, t, entries);
}

static int64_t perform_size(builder *b, op_id op, int64_t x, int64_t y) {
    int64_t size;
    bool over;
    switch (op) {
    case OP_add: over = __builtin_add_overflow(x, y, &size); break;
    case OP_sub: over = __builtin_sub_overflow(x, y, &size); break;
    default: over = __builtin_mul_overflow(x, y, &size); break;
    }
    if (!over) return size;
    error_set(&b->c->err, ERROR_K0511, ((performer *)b)->where, "a dim is beyond 2^63");
    (void)fail((performer *)b);
    return 0;
}

static bool term_known(builder *b, term t, int64_t *x) {
    if (t < 0) return false;
    *x = value_as_int(&((performer *)b)->term[t].v);
    return true;
}

static int64_t size_of_term(builder *b, term t) {
    int64_t size = 0;
    return term_known(b, t, &size) ? size : 0;
}

static void contribute(builder *b, int k, term t) {
    performer *p = (performer *)b;
    if (b->failed || t < 0) return;
    performed *e = &p->term[t];
    bool spread = p->batch != 0 && !e->batched;
    value v = e->v;
    if (spread && !performer_take_batch(p, t, &v)) {
        fail(p);
        return;
    }
    if (!p->sink(p->self, k, &v, e->owned || spread)) fail(p);
    if (spread) value_release(b->c, v);
}

static void contribute_into(builder *b, int k, op_id op, const op_attrs *attrs, int n,
                            const term *rest) {
    performer *p = (performer *)b;
    if (b->failed) return;
    value operand[2];
    unsigned batched = 0;
    for (int i = 0; i < n && i < 2; i++) {
        if (rest[i] < 0) {
            fail(p);
            return;
        }
        operand[i] = p->term[rest[i]].v;
        batched |= (unsigned)p->term[rest[i]].batched << i;
    }
    if (!p->sink_into(p->self, k, op, attrs, n, operand, batched)) fail(p);
}

void performer_init(performer *p, context *c) {
    p->b = (builder){
        .c = c,
        .op = perform_op,
        .number = perform_number,
        .count = perform_count,
        .size = perform_size,
        .known = term_known,
        .size_of = size_of_term,
        .contribute = contribute,
        .contribute_into = contribute_into,
        .type = term_type,
        .ones = term_ones,
    };
    p->at = NULL;
    p->batch = 0;
    p->where = (span){0, 0};
    p->count = 0;
    p->room = PERFORMER_FEW;
    p->term = p->few;
    p->sink = NULL;
    p->sink_into = NULL;
    p->self = NULL;
}

void performer_clear(performer *p) {
    for (int i = 0; i < p->count; i++) {
        if (p->term[i].owned) value_release(p->b.c, p->term[i].v);
    }
    p->count = 0;
    if (p->term != p->few) give_back(p->b.c, p->term, (size_t)p->room * sizeof *p->term);
    p->term = p->few;
    p->room = PERFORMER_FEW;
    p->b.failed = false;
}

bool performer_refresh(context *c, op_id op, span where, value *v) {
    op_call call = {.op = op, .n = 1, .in = v, .where = where};
    value fresh;
    if (!door_perform(c, &call, &fresh)) return false;
    value_release(c, *v);
    *v = fresh;
    return true;
}
