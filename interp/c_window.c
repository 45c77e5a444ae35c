/* Convolutions and pooling: loops over the result, in which others go through what is added up, in the order of
 * docs/numerics.md. What a window covers beside the entries adds nothing. */
#include "interp/c_emit.h"

enum { SPATIAL = 2 }; /* the first spatial axis of images and of results */

static const char *integer(c_writer *w, int64_t n) {
    return c_string(w, "%lld", (long long)n);
}

static int64_t groups_of(const c_site *s) {
    return s->attrs->lo[2] > 1 ? s->attrs->lo[2] : 1;
}

/* ---- sizes ---- */

/* How many windows there are along spatial axis i, checked to be some. */
static const char *windows(c_writer *w, const c_site *s, int i, const char *size, const char *window,
                           int64_t dilation) {
    const char *name = c_named(w, "windows");
    c_helper(w, "windows", DT_I64, false);
    c_line(w, "const int64_t %s = kina_windows(%s, %s, %lld, %lld, %lld);", name, size, window,
           (long long)s->attrs->step[i], (long long)s->attrs->lo[i], (long long)dilation);
    c_check(w, c_string(w, "%s > 0", name), "%s: no window fits", op_table[s->op].name);
    return name;
}

/* That x, filters k and the result y of a convolution fit, whichever of them is being made. */
static void check_conv(c_writer *w, const c_site *s, const c_value *x, const c_value *k, const c_value *y,
                       const char **sizes) {
    const char *name = op_table[s->op].name, *groups = integer(w, groups_of(s));
    bool known = x->type.dims[1] >= 0 && k->type.dims[0] >= 0 && k->type.dims[1] >= 0;
    if (!known) {
        c_check(w, c_string(w, "%s == %s * %s", c_size(w, x, 1), c_size(w, k, 1), groups), "%s: channels differ",
                name);
        c_check(w, c_string(w, "%s %% %s == 0", c_size(w, k, 0), groups), "%s: filters differ between groups", name);
    }
    sizes[0] = c_size(w, x, 0);
    sizes[1] = c_size(w, k, 0);
    for (int i = SPATIAL; i < x->type.rank; i++)
        sizes[i] = windows(w, s, i - SPATIAL, c_size(w, x, i), c_size(w, k, i), s->attrs->step[i]);
    if (y == NULL) return;
    for (int i = 0; i < y->type.rank; i++)
        c_check(w, c_string(w, "%s == %s", c_size(w, y, i), sizes[i]), "%s: sizes differ", name);
}

/* ---- places ---- */

/* Of spatial axis i: the entry that place k of the window at `at` covers; the loop goes on where it is none. */
static const char *covered(c_writer *w, const c_site *s, int i, const char *at, const char *k, int64_t dilation,
                           const char *size) {
    const char *name = c_named(w, "at");
    c_line(w, "const int64_t %s = %s * %lld + %s * %lld - %lld;", name, at, (long long)s->attrs->step[i], k,
           (long long)dilation, (long long)s->attrs->lo[i]);
    if (s->attrs->lo[i] != 0) c_line(w, "if (%s < 0 || %s >= %s) continue;", name, name, size);
    return name;
}

/* The other way: the window whose place k covers the entry. */
static const char *covering(c_writer *w, const c_site *s, int i, const char *entry, const char *k,
                            const char *count) {
    const char *name = c_named(w, "from");
    long long stride = (long long)s->attrs->step[i];
    c_line(w, "const int64_t %s = %s + %lld - %s * %lld;", name, entry, (long long)s->attrs->lo[i], k,
           (long long)s->attrs->step[2 + i]);
    const char *at = stride == 1 ? name : c_string(w, "%s / %lld", name, stride);
    const char *skewed = stride == 1 ? "" : c_string(w, " || %s %% %lld != 0", name, stride);
    c_line(w, "if (%s < 0%s || %s >= %s) continue;", name, skewed, at, count);
    return at;
}

/* The channel c of the group's own, the group being that of filter o. */
static const char *channel(c_writer *w, const c_site *s, const char *o, const char *filters, const char *c,
                           const char *channels) {
    if (groups_of(s) == 1) return c;
    return c_string(w, "%s / (%s / %lld) * %s + %s", o, filters, (long long)groups_of(s), channels, c);
}

/* ---- sums ---- */

static const char *sum_open(c_writer *w, const c_site *s) {
    const char *sum = c_named(w, "sum");
    c_line(w, "%s %s = 0;", compiled_c_type((dtype)s->out.type.dtype), sum);
    return sum;
}

static void sum_close(c_writer *w, const c_site *s, const c_nest *l, int outer, const char *sum, const char *term) {
    c_line(w, "%s = %s;", sum, c_two(w, OP_add, (dtype)s->out.type.dtype, sum, term));
    for (int i = outer; i < l->depth; i++) c_close(w);
}

static const char *product(c_writer *w, const c_site *s, const char *a, const char *b) {
    return c_two(w, s->attrs->strong_zero ? OP_strong_mul : OP_mul, (dtype)s->out.type.dtype, a, b);
}

static void store(c_writer *w, const c_site *s, const c_nest *l, int outer, const char *y) {
    c_line(w, "%s = %s;", c_entry(w, &s->out, l->at), y);
    for (int i = 0; i < outer; i++) c_close(w);
}

/* ---- convolutions ---- */

void c_conv(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0], *k = &s->in[1];
    const char *sizes[MAX_RANK] = {0}, *at[MAX_RANK] = {0}, *tap[MAX_RANK] = {0};
    c_nest l = {0};
    check_conv(w, s, x, k, NULL, sizes);
    c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    int outer = l.depth;
    const char *sum = sum_open(w, s);
    tap[0] = l.at[1];
    for (int i = 1; i < k->type.rank; i++) tap[i] = c_loop(w, &l, c_size(w, k, i));
    at[0] = l.at[0];
    at[1] = channel(w, s, l.at[1], c_size(w, k, 0), tap[1], c_size(w, k, 1));
    for (int i = SPATIAL; i < x->type.rank; i++)
        at[i] = covered(w, s, i - SPATIAL, l.at[i], tap[i], s->attrs->step[i], c_size(w, x, i));
    sum_close(w, s, &l, outer, sum, product(w, s, c_entry(w, x, at), c_entry(w, k, tap)));
    store(w, s, &l, outer, sum);
}

void c_conv_input_grad(c_writer *w, const c_site *s) {
    const c_value *d = &s->in[0], *k = &s->in[1];
    const char *sizes[MAX_RANK] = {0}, *at[MAX_RANK] = {0}, *tap[MAX_RANK] = {0};
    long long groups = (long long)groups_of(s);
    c_nest l = {0};
    for (int i = 0; i < s->out.type.rank; i++) sizes[i] = c_dim(w, s->attrs->dims[i]);
    c_new(w, &s->out, sizes);
    check_conv(w, s, &s->out, k, d, sizes);
    c_loops(w, &l, &s->out);
    int outer = l.depth;
    const char *sum = sum_open(w, s), *filters = c_size(w, k, 0), *channels = c_size(w, k, 1);
    const char *filter = c_loop(w, &l, groups == 1 ? filters : c_string(w, "%s / %lld", filters, groups));
    for (int i = SPATIAL; i < k->type.rank; i++) tap[i] = c_loop(w, &l, c_size(w, k, i));
    at[0] = l.at[0];
    tap[1] = groups == 1 ? l.at[1] : c_string(w, "%s %% %s", l.at[1], channels);
    tap[0] = at[1] =
        groups == 1 ? filter : c_string(w, "%s / %s * (%s / %lld) + %s", l.at[1], channels, filters, groups, filter);
    for (int i = SPATIAL; i < d->type.rank; i++)
        at[i] = covering(w, s, i - SPATIAL, l.at[i], tap[i], c_size(w, d, i));
    sum_close(w, s, &l, outer, sum, product(w, s, c_entry(w, d, at), c_entry(w, k, tap)));
    store(w, s, &l, outer, sum);
}

void c_conv_weight_grad(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0], *d = &s->in[1], *k = &s->out;
    const char *sizes[MAX_RANK] = {0}, *at[MAX_RANK] = {0}, *of[MAX_RANK] = {0};
    c_nest l = {0};
    for (int i = 0; i < k->type.rank; i++) sizes[i] = c_dim(w, s->attrs->dims[i]);
    c_new(w, k, sizes);
    check_conv(w, s, x, k, d, sizes);
    c_loops(w, &l, k);
    int outer = l.depth;
    const char *sum = sum_open(w, s);
    at[0] = of[0] = c_loop(w, &l, c_size(w, d, 0));
    of[1] = l.at[0];
    at[1] = channel(w, s, l.at[0], c_size(w, k, 0), l.at[1], c_size(w, k, 1));
    for (int i = SPATIAL; i < d->type.rank; i++) of[i] = c_loop(w, &l, c_size(w, d, i));
    for (int i = SPATIAL; i < d->type.rank; i++)
        at[i] = covered(w, s, i - SPATIAL, of[i], l.at[i], s->attrs->step[i], c_size(w, x, i));
    sum_close(w, s, &l, outer, sum, product(w, s, c_entry(w, d, of), c_entry(w, x, at)));
    store(w, s, &l, outer, sum);
}

/* ---- pooling ---- */

static void pooled_sizes(c_writer *w, const c_site *s, const c_value *x, const char **sizes) {
    for (int i = 0; i < SPATIAL; i++) {
        sizes[i] = c_size(w, x, i);
        sizes[SPATIAL + i] = windows(w, s, i, c_size(w, x, SPATIAL + i), integer(w, s->attrs->step[2 + i]), 1);
    }
}

/* Loops over the places of a window, and the entry there. */
static void window_open(c_writer *w, const c_site *s, const c_value *x, const char *const *window, c_nest *l,
                        const char **at) {
    const char *k[SPATIAL];
    for (int i = 0; i < SPATIAL; i++) k[i] = c_loop(w, l, integer(w, s->attrs->step[2 + i]));
    for (int i = 0; i < SPATIAL; i++) {
        at[i] = window[i];
        at[SPATIAL + i] = covered(w, s, i, window[SPATIAL + i], k[i], 1, c_size(w, x, SPATIAL + i));
    }
}

static const char *window_size(c_writer *w, const c_site *s) {
    const int64_t *sizes = s->attrs->step + 2;
    return c_number(w, (dtype)s->out.type.dtype, (double)sizes[0] * (double)sizes[1]);
}

static void avg_pool(c_writer *w, const c_site *s, c_nest *l) {
    const char *at[MAX_RANK], *sum = sum_open(w, s);
    int outer = l->depth;
    window_open(w, s, &s->in[0], l->at, l, at);
    sum_close(w, s, l, outer, sum, c_entry(w, &s->in[0], at));
    store(w, s, l, outer, c_two(w, OP_div, (dtype)s->out.type.dtype, sum, window_size(w, s)));
}

/* The largest entry and its place in the plane, -1 while there is none. */
static void max_pool(c_writer *w, const c_site *s, c_nest *l) {
    const c_value *x = &s->in[0];
    const char *at[MAX_RANK], *most = c_named(w, "most"), *place = c_named(w, "place");
    int outer = l->depth;
    c_line(w, "%s %s = -INFINITY;", compiled_c_type((dtype)x->type.dtype), most);
    c_line(w, "int64_t %s = -1;", place);
    window_open(w, s, x, l->at, l, at);
    const char *entry = c_entry(w, x, at);
    c_open(w, "if (%s < 0 || ((%s > %s || %s != %s) && %s == %s))", place, entry, most, entry, entry, most, most);
    c_line(w, "%s = %s;", most, entry);
    c_line(w, "%s = %s * %s + %s;", place, at[SPATIAL], c_size(w, x, SPATIAL + 1), at[SPATIAL + 1]);
    c_close(w);
    for (int i = outer; i < l->depth; i++) c_close(w);
    store(w, s, l, outer, s->op == OP_max_pool_place ? place : most);
}

void c_pool(c_writer *w, const c_site *s) {
    const char *sizes[MAX_RANK] = {0};
    c_nest l = {0};
    pooled_sizes(w, s, &s->in[0], sizes);
    c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    (s->op == OP_avg_pool2d ? avg_pool : max_pool)(w, s, &l);
}

/* Windows in row-major order, each adding to the entries that it covers. */
void c_avg_pool_grad(c_writer *w, const c_site *s) {
    const c_value *d = &s->in[0];
    const char *sizes[MAX_RANK] = {0}, *at[MAX_RANK];
    dtype t = (dtype)s->out.type.dtype;
    c_nest zeros = {0}, l = {0};
    for (int i = 0; i < s->out.type.rank; i++) sizes[i] = c_dim(w, s->attrs->dims[i]);
    c_new(w, &s->out, sizes);
    pooled_sizes(w, s, &s->out, sizes);
    for (int i = 0; i < d->type.rank; i++)
        c_check(w, c_string(w, "%s == %s", c_size(w, d, i), sizes[i]), "avg_pool_grad: sizes differ");
    const char *i = c_loop(w, &zeros, c_count(w, &s->out));
    c_line(w, "%s.data[%s] = 0;", s->out.name, i);
    c_loops_end(w, &zeros);
    c_loops(w, &l, d);
    const char *part = c_two(w, OP_div, t, c_entry(w, d, l.at), window_size(w, s)), *each = c_named(w, "part");
    c_line(w, "const %s %s = %s;", compiled_c_type(t), each, part);
    window_open(w, s, &s->out, l.at, &l, at);
    const char *entry = c_entry(w, &s->out, at);
    c_line(w, "%s = %s;", entry, c_two(w, OP_add, t, entry, each));
    c_loops_end(w, &l);
}
