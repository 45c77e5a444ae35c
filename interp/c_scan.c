/* Ops that go along one axis step by step, and carry what is known so far. */
#include "interp/c_emit.h"

/* Loops over all other axes, and inside them, once walk_along has opened it, one along the axis. */
typedef struct walk {
    const c_site *s;
    c_nest others;
    const char *at[MAX_RANK];
} walk;

static walk walk_open(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    walk l = {.s = s};
    const char *sizes[MAX_RANK] = {0};
    for (int i = 0; i < x->type.rank; i++) sizes[i] = c_size(w, x, i);
    for (int k = 1; k < s->n; k++)
        for (int i = 0; i < x->type.rank; i++) c_same_size(w, x, i, &s->in[k], i, op_table[s->op].name);
    c_new(w, &s->out, sizes);
    for (int i = 0; i < x->type.rank; i++)
        if (i != s->attrs->axis) l.at[i] = c_loop(w, &l.others, sizes[i]);
    return l;
}

static void walk_along(c_writer *w, walk *l) {
    const char *i = c_string(w, "i%d", l->others.depth), *size = c_size(w, &l->s->in[0], l->s->attrs->axis);
    l->at[l->s->attrs->axis] = i;
    if (l->s->attrs->reversed)
        c_open(w, "for (int64_t %s = %s; %s-- > 0;)", i, size, i);
    else
        c_open(w, "for (int64_t %s = 0; %s < %s; %s++)", i, i, size, i);
}

static void walk_close(c_writer *w, const walk *l) {
    c_close(w);
    c_loops_end(w, &l->others);
}

/* ---- running sums and products ---- */

static void accumulate(c_writer *w, const c_site *s, op_id join, const char *start) {
    dtype t = (dtype)s->out.type.dtype;
    walk l = walk_open(w, s);
    const char *sum = c_named(w, join == OP_add ? "sum" : "product");
    c_line(w, "%s %s = %s;", compiled_c_type(t), sum, start);
    walk_along(w, &l);
    c_line(w, "%s = %s;", sum, c_two(w, join, t, sum, c_entry(w, &s->in[0], l.at)));
    c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), sum);
    walk_close(w, &l);
}

static const char *exp_of(c_writer *w, dtype t, const char *a, const char *b) {
    const char *difference = c_two(w, OP_sub, t, a, b);
    return c_scalar(w, OP_exp, NULL, t, &difference);
}

/* The largest entry so far, and the sum of exponentials relative to it. */
static void log_accumulate(c_writer *w, const c_site *s) {
    dtype t = (dtype)s->out.type.dtype;
    walk l = walk_open(w, s);
    const char *most = c_named(w, "most"), *sum = c_named(w, "sum");
    c_line(w, "%s %s = -INFINITY, %s = 0;", compiled_c_type(t), most, sum);
    walk_along(w, &l);
    const char *x = c_entry(w, &s->in[0], l.at);
    c_open(w, "if (%s > %s)", x, most);
    c_line(w, "%s = %s * %s + 1;", sum, sum, exp_of(w, t, most, x));
    c_line(w, "%s = %s;", most, x);
    w->depth--;
    c_open(w, "} else if (%s == %s)", x, most);
    c_line(w, "%s = %s + (%s == -INFINITY ? 0 : 1);", sum, sum, x);
    w->depth--;
    c_open(w, "} else");
    c_line(w, "%s = %s + %s;", sum, sum, exp_of(w, t, x, most));
    c_close(w);
    c_line(w, "%s = %s + %s;", c_entry(w, &s->out, l.at), most, c_scalar(w, OP_log, NULL, t, &sum));
    walk_close(w, &l);
}

void c_cumulate(c_writer *w, const c_site *s) {
    if (s->op == OP_logcumsumexp)
        log_accumulate(w, s);
    else
        accumulate(w, s, s->op == OP_cumsum ? OP_add : OP_mul, s->op == OP_cumsum ? "0" : "1");
}

/* r[0] = b[0]; r[j] = a[j] * r[j - 1] + b[j] */
void c_scan_linear(c_writer *w, const c_site *s) {
    dtype t = (dtype)s->out.type.dtype;
    walk l = walk_open(w, s);
    const char *state = c_named(w, "state"), *size = c_size(w, &s->in[0], s->attrs->axis);
    c_line(w, "%s %s = 0;", compiled_c_type(t), state);
    walk_along(w, &l);
    const char *i = l.at[s->attrs->axis], *a = c_entry(w, &s->in[0], l.at), *b = c_entry(w, &s->in[1], l.at);
    const char *first = s->attrs->reversed ? c_string(w, "%s == %s - 1", i, size) : c_string(w, "%s == 0", i);
    const char *product = c_two(w, s->attrs->strong_zero ? OP_strong_mul : OP_mul, t, a, state);
    c_line(w, "%s = %s ? %s : %s;", state, first, b, c_two(w, OP_add, t, product, b));
    c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), state);
    walk_close(w, &l);
}

/* Entry j - by, where there is one, else 0. */
void c_shift(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    const char *sizes[MAX_RANK] = {0}, *from[MAX_RANK];
    int axis = s->attrs->axis;
    long long by = (long long)s->attrs->lo[0];
    c_nest l = {0};
    for (int i = 0; i < x->type.rank; i++) sizes[i] = c_size(w, x, i);
    c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    for (int i = 0; i < x->type.rank; i++) from[i] = l.at[i];
    const char *i = l.at[axis];
    const char *inside =
        by >= 0 ? c_string(w, "%s >= %lld", i, by) : c_string(w, "%s < %s - %lld", i, sizes[axis], -by);
    from[axis] = by >= 0 ? c_string(w, "%s - %lld", i, by) : c_string(w, "%s + %lld", i, -by);
    c_line(w, "%s = %s ? %s : 0;", c_entry(w, &s->out, l.at), inside, c_entry(w, x, from));
    c_loops_end(w, &l);
}
