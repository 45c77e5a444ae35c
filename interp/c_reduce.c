/* Reductions: from the op's neutral element on, entry by entry in index order. */
#include "interp/c_emit.h"

#include <math.h>
#include <string.h>

/* ---- what a reduction is made of ---- */

static const char *least(dtype t, bool largest) {
    if (t == DT_I32) return largest ? "INT32_MAX" : "INT32_MIN";
    if (t == DT_I64) return largest ? "INT64_MAX" : "INT64_MIN";
    return largest ? "INFINITY" : "-INFINITY";
}

static const char *neutral(op_id op, dtype t) {
    if (op == OP_max || op == OP_min) return least(t, op == OP_min);
    if (t == DT_Bool) return op == OP_all ? "true" : "false";
    return op == OP_prod ? "1" : "0";
}

static unsigned reduced_axes(const c_site *s) {
    return s->op == OP_sum_to ? (unsigned)(s->attrs->axes | s->attrs->drop) : s->attrs->axes;
}

static bool is_in(unsigned axes, int i) {
    return ((axes >> i) & 1) != 0;
}

/* A reduction while it is written: loops over what remains, in which one goes through what is reduced. */
typedef struct folding {
    const c_site *s;
    unsigned axes;
    c_nest kept;
    const char *at[MAX_RANK];    /* of the entry, its reduced axes as the inner loops count */
    const char *place[MAX_RANK]; /* of the result */
} folding;

/* Nothing to reduce is an error where there is no neutral result. */
static void check_entries(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    for (int i = 0; i < x->type.rank; i++)
        if (is_in(reduced_axes(s), i) && x->type.dims[i] < 0)
            c_check(w, c_string(w, "%s != 0", c_size(w, x, i)), "%s of an empty axis", op_table[s->op].name);
}

/* The result's place, and the loops over the axes that remain. */
static folding fold_open(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    folding f = {.s = s, .axes = reduced_axes(s)};
    unsigned gone = s->op == OP_sum_to ? s->attrs->drop : s->attrs->keepdims ? 0 : f.axes;
    const char *sizes[MAX_RANK] = {0};
    for (int i = 0, out = 0; i < x->type.rank; i++)
        if (!is_in(gone, i)) sizes[out++] = is_in(f.axes, i) ? "1" : c_size(w, x, i);
    if (s->out.type.rank > 0) c_new(w, &s->out, sizes);
    for (int i = 0, out = 0; i < x->type.rank; i++) {
        if (!is_in(f.axes, i)) f.at[i] = c_loop(w, &f.kept, c_size(w, x, i));
        if (!is_in(gone, i)) f.place[out++] = f.at[i];
    }
    return f;
}

/* Loops over the reduced axes; the entry. */
static const char *inner_open(c_writer *w, folding *f, c_nest *l) {
    *l = (c_nest){.depth = f->kept.depth};
    for (int i = 0; i < f->s->in[0].type.rank; i++)
        if (is_in(f->axes, i)) f->at[i] = c_loop(w, l, c_size(w, &f->s->in[0], i));
    return c_entry(w, &f->s->in[0], f->at);
}

static void inner_close(c_writer *w, const folding *f, const c_nest *l) {
    for (int i = f->kept.depth; i < l->depth; i++) c_close(w);
}

/* The result, which a number has from its declaration on. */
static void fold_close(c_writer *w, const folding *f, const char *y) {
    if (f->s->out.type.rank > 0)
        c_line(w, "%s = %s;", c_entry(w, &f->s->out, f->place), y);
    else
        c_line(w, "const %s %s = %s;", compiled_c_type((dtype)f->s->out.type.dtype), f->s->out.name, y);
    c_loops_end(w, &f->kept);
}

/* "T name = start; for ...: name = join(name, entry)" */
static const char *accumulate(c_writer *w, folding *f, const char *name, op_id op) {
    dtype t = (dtype)f->s->in[0].type.dtype;
    c_nest l;
    c_line(w, "%s %s = %s;", compiled_c_type(t), name, neutral(op, t));
    const char *entry = inner_open(w, f, &l);
    c_line(w, "%s = %s;", name, c_two(w, compiled_join(op), t, name, entry));
    inner_close(w, f, &l);
    return name;
}

/* ---- sums and the like ---- */

/* How many entries a result is made of, as a number of type t. */
static const char *count_of(c_writer *w, const folding *f, dtype t) {
    const char *count = NULL;
    const c_value *x = &f->s->in[0];
    for (int i = 0; i < x->type.rank; i++)
        if (is_in(f->axes, i))
            count = count == NULL ? c_size(w, x, i) : c_string(w, "%s * %s", count, c_size(w, x, i));
    return c_string(w, "(%s)%s", compiled_c_type(t), c_factor(w, count != NULL ? count : "1"));
}

static const char *name_of(op_id op) {
    return op == OP_prod ? "product" : op == OP_max ? "most" : op == OP_min ? "least" : "sum";
}

void c_reduce(c_writer *w, const c_site *s) {
    dtype t = (dtype)s->in[0].type.dtype;
    if (op_table[s->op].class == CLASS_REDUCE_NONEMPTY) check_entries(w, s);
    folding f = fold_open(w, s);
    bool itself = s->out.type.rank == 0 && s->op != OP_mean;
    const char *y = itself ? s->out.name : c_named(w, t == DT_Bool ? "is_true" : name_of(s->op));
    (void)accumulate(w, &f, y, s->op);
    if (itself) {
        c_loops_end(w, &f.kept);
        return;
    }
    if (s->op == OP_mean) y = c_two(w, OP_div, t, y, count_of(w, &f, t));
    fold_close(w, &f, y);
}

/* ---- logsumexp, softmax, log_softmax ---- */

/* "sum of exp(x - most)" */
static const char *exponentials(c_writer *w, folding *f, const char *most) {
    dtype t = (dtype)f->s->in[0].type.dtype;
    const char *sum = c_named(w, "sum");
    c_nest l;
    c_line(w, "%s %s = 0;", compiled_c_type(t), sum);
    const char *entry = c_two(w, OP_sub, t, inner_open(w, f, &l), most);
    c_line(w, "%s = %s;", sum, c_two(w, OP_add, t, sum, c_scalar(w, OP_exp, NULL, t, &entry)));
    inner_close(w, f, &l);
    return sum;
}

void c_logsumexp(c_writer *w, const c_site *s) {
    dtype t = (dtype)s->in[0].type.dtype;
    folding f = fold_open(w, s);
    const char *most = accumulate(w, &f, c_named(w, "most"), OP_max), *sum = exponentials(w, &f, most);
    const char *log = c_two(w, OP_add, t, most, c_scalar(w, OP_log, NULL, t, &sum));
    fold_close(w, &f, c_string(w, "isinf(%s) ? %s : %s", most, most, log));
}

void c_softmax(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    dtype t = (dtype)x->type.dtype;
    const char *sizes[MAX_RANK] = {0};
    folding f = {.s = s, .axes = 1u << s->attrs->axis};
    c_nest l;
    for (int i = 0; i < x->type.rank; i++) sizes[i] = c_size(w, x, i);
    c_new(w, &s->out, sizes);
    for (int i = 0; i < x->type.rank; i++)
        if (!is_in(f.axes, i)) f.at[i] = c_loop(w, &f.kept, sizes[i]);
    const char *most = accumulate(w, &f, c_named(w, "most"), OP_max), *sum = exponentials(w, &f, most);
    if (s->op == OP_log_softmax) {
        const char *log = c_named(w, "log_sum");
        c_line(w, "const %s %s = %s;", compiled_c_type(t), log, c_scalar(w, OP_log, NULL, t, &sum));
        sum = log;
    }
    const char *y = c_two(w, OP_sub, t, inner_open(w, &f, &l), most);
    y = s->op == OP_softmax ? c_two(w, OP_div, t, c_scalar(w, OP_exp, NULL, t, &y), sum)
                            : c_two(w, OP_sub, t, c_factor(w, y), sum);
    c_line(w, "%s = %s;", c_entry(w, &s->out, f.at), y);
    inner_close(w, &f, &l);
    c_loops_end(w, &f.kept);
}

/* ---- argmax, argmin ---- */

void c_arg_reduce(c_writer *w, const c_site *s) {
    dtype t = (dtype)s->in[0].type.dtype;
    const char *beyond = s->op == OP_argmax ? ">" : "<";
    c_nest l;
    check_entries(w, s);
    folding f = fold_open(w, s);
    const char *best = c_named(w, "best"), *place = c_named(w, "place"), *count = c_named(w, "count");
    c_line(w, "%s %s = %s;", compiled_c_type(t), best, least(t, s->op == OP_argmin));
    c_line(w, "int64_t %s = 0, %s = 0;", place, count);
    const char *entry = inner_open(w, &f, &l);
    if (dtype_floating(t))
        c_open(w, "if ((%s %s %s || %s != %s) && %s == %s)", entry, beyond, best, entry, entry, best, best);
    else
        c_open(w, "if (%s %s %s)", entry, beyond, best);
    c_line(w, "%s = %s;", best, entry);
    c_line(w, "%s = %s;", place, count);
    c_close(w);
    c_line(w, "%s++;", count);
    inner_close(w, &f, &l);
    fold_close(w, &f, place);
}
