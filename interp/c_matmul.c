/* Matrix products: loops over the batch, the rows, the columns and, innermost, what is summed. */
#include "interp/c_emit.h"

/* The roles of a product's operands. */
typedef struct product {
    const c_value *a, *b;
    const uint8_t *ones;
    int batch; /* leading axes of the result */
} product;

/* An operand's batch axis that is the result's, or -1. */
static int batch_axis(const product *p, const c_value *v, uint8_t ones, int axis) {
    int own = axis - (p->batch - (v->type.rank - (v->type.rank > 1 ? 2 : 1)));
    return own < 0 || ((ones >> own) & 1) != 0 ? -1 : own;
}

static int inner_axis(const c_value *v, bool first) {
    return first ? v->type.rank - 1 : v->type.rank > 1 ? v->type.rank - 2 : 0;
}

static void find_sizes(c_writer *w, const product *p, const char **sizes) {
    const c_value *a = p->a, *b = p->b;
    int n = 0;
    for (; n < p->batch; n++) {
        int in_a = batch_axis(p, a, p->ones[0], n), in_b = batch_axis(p, b, p->ones[1], n);
        sizes[n] = in_a >= 0 ? c_size(w, a, in_a) : in_b >= 0 ? c_size(w, b, in_b) : "1";
        if (in_a >= 0 && in_b >= 0) c_same_size(w, a, in_a, b, in_b, "matmul");
    }
    if (a->type.rank > 1) sizes[n++] = c_size(w, a, a->type.rank - 2);
    if (b->type.rank > 1) sizes[n++] = c_size(w, b, b->type.rank - 1);
    c_same_size(w, a, inner_axis(a, true), b, inner_axis(b, false), "matmul");
}

/* The entry of an operand: batch axes aligned at their end, then its own one or two. */
static const char *entry_of(c_writer *w, const product *p, const c_value *v, uint8_t ones, const c_nest *l,
                            const char *outer, bool first, const char *inner) {
    const char *at[MAX_RANK] = {0};
    int own = v->type.rank > 1 ? 2 : 1, batch = v->type.rank - own;
    for (int i = 0; i < batch; i++) {
        int axis = p->batch - batch + i;
        at[i] = ((ones >> i) & 1) != 0 && batch_axis(p, v, ones, axis) < 0 ? NULL : l->at[axis];
    }
    if (own == 2) at[batch + (first ? 0 : 1)] = outer;
    at[inner_axis(v, first)] = inner;
    return c_entry(w, v, at);
}

/* That acc, from which the sums start, has the result's shape. */
static void hold_acc(c_writer *w, const c_site *s, const product *p) {
    const c_value *acc = &s->in[0];
    int rank = acc->type.rank;
    for (int i = 0; i < p->batch; i++) {
        int in_a = batch_axis(p, p->a, p->ones[0], i), in_b = batch_axis(p, p->b, p->ones[1], i);
        if (in_a >= 0) c_same_size(w, acc, i, p->a, in_a, "matmul_add");
        if (in_a < 0 && in_b >= 0) c_same_size(w, acc, i, p->b, in_b, "matmul_add");
    }
    c_same_size(w, acc, rank - 2, p->a, p->a->type.rank - 2, "matmul_add");
    c_same_size(w, acc, rank - 1, p->b, p->b->type.rank - 1, "matmul_add");
}

void c_matmul(c_writer *w, const c_site *s) {
    bool adds = s->op == OP_matmul_add;
    product p = {.a = &s->in[adds], .b = &s->in[adds + 1], .ones = s->attrs->ones + adds};
    dtype t = (dtype)p.a->type.dtype;
    const char *sizes[MAX_RANK] = {0}, *row = NULL, *column = NULL;
    c_nest l = {0};
    p.batch = s->out.type.rank - (p.a->type.rank > 1) - (p.b->type.rank > 1);
    find_sizes(w, &p, sizes);
    if (adds) hold_acc(w, s, &p);
    if (s->out.type.rank > 0) c_new(w, &s->out, sizes);
    for (int i = 0; i < p.batch; i++) (void)c_loop(w, &l, c_size(w, &s->out, i));
    if (p.a->type.rank > 1) row = c_loop(w, &l, c_size(w, &s->out, l.depth));
    if (p.b->type.rank > 1) column = c_loop(w, &l, c_size(w, &s->out, l.depth));
    int outer = l.depth;
    const char *sum = s->out.type.rank > 0 ? c_named(w, "sum") : s->out.name;
    c_line(w, "%s %s = %s;", compiled_c_type(t), sum, adds ? c_entry(w, &s->in[0], l.at) : "0");
    const char *inner = c_loop(w, &l, c_size(w, p.a, p.a->type.rank - 1));
    const char *x = entry_of(w, &p, p.a, p.ones[0], &l, row, true, inner);
    const char *y = entry_of(w, &p, p.b, p.ones[1], &l, column, false, inner);
    const char *term = c_two(w, s->attrs->strong_zero ? OP_strong_mul : OP_mul, t, x, y);
    c_line(w, "%s = %s;", sum, c_two(w, OP_add, t, sum, term));
    c_close(w);
    if (s->out.type.rank > 0) c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), sum);
    for (int i = 0; i < outer; i++) c_close(w);
}
