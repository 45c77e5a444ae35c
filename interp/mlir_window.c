/* Convolutions and pooling: one linalg.generic each, whose reduced dims go through what is added up in the
 * order of docs/numerics.md. What a window covers beside the entries adds nothing. */
#include <math.h>

#include "interp/mlir_emit.h"

enum { SPATIAL = 2 }; /* the first spatial axis of images and of results */

/* A reduction over windows while it is written. */
typedef struct window {
    emitter *e;
    const mlir_site *s;
    mlir_generic g;
    int spatial;        /* how many axes */
    const char *inside; /* that all places so far are entries; NULL: they always are */
} window;

static const char *index2(emitter *e, const char *op, const char *a, const char *b) {
    return mlir_let(e, "arith.%s %s, %s : index", op, a, b);
}

static const char *times(emitter *e, const char *a, int64_t by) {
    return by == 1 ? a : index2(e, "muli", a, mlir_index(e, by));
}

/* Both conditions; NULL is always true. */
static const char *both(emitter *e, const char *a, const char *b) {
    return a == NULL ? b : mlir_let(e, "arith.andi %s, %s : i1", a, b);
}

/* ---- the iteration space ---- */

/* A tensor that is not read: its dims are those that go through the reduction. */
static void add_shape(window *w, int rank, const int64_t *sizes) {
    op_type t = {.dtype = w->s->out.dtype, .rank = (uint8_t)rank};
    for (int i = 0; i < rank; i++) t.dims[i] = sizes[i];
    mlir_value shape = mlir_empty(w->e, &t);
    int at = w->g.ins;
    mlir_generic_in(&w->g, &shape);
    for (int i = 0; i < rank; i++) w->g.map[at][i] = w->s->out.rank + i;
}

static void window_open(window *w, emitter *e, const mlir_site *s, int rank, const int64_t *sizes) {
    *w = (window){.e = e, .s = s, .spatial = s->out.rank - SPATIAL};
    w->g.dims = s->out.rank + rank;
    for (int i = 0; i < rank; i++) w->g.reduced |= 1u << (s->out.rank + i);
    add_shape(w, rank, sizes);
}

static void window_start(window *w) {
    dtype t = (dtype)w->s->out.dtype;
    mlir_value zeros = mlir_filled(w->e, &w->s->out, mlir_number(w->e, t, 0.0), NULL);
    mlir_generic_out(&w->g, &zeros, w->s->result);
    mlir_generic_open(w->e, &w->g);
}

/* One term more, where it is one. */
static mlir_value window_close(window *w, const char *term) {
    dtype t = (dtype)w->s->out.dtype;
    const char *before = w->g.arg[w->g.ins];
    const char *sum = mlir_scalar(w->e, OP_add, NULL, t, (const char *const[]){before, term});
    if (w->inside != NULL)
        sum = mlir_scalar(w->e, OP_where, NULL, t, (const char *const[]){w->inside, sum, before});
    mlir_generic_close(w->e, &w->g, &sum);
    return mlir_generic_result(&w->g, 0);
}

/* An index that is only read where it is within [0, size). */
static const char *guarded(window *w, const char *at, int64_t size) {
    const char *within = index2(w->e, "cmpi ult,", at, mlir_dim(w->e, size));
    w->inside = both(w->e, w->inside, within);
    return mlir_let(w->e, "arith.select %s, %s, %s : index", within, at, mlir_index(w->e, 0));
}

/* Of spatial axis i: the entry that place k of the window at `at` covers. */
static const char *covered(window *w, int i, const char *at, const char *k, int64_t dilation, int64_t size) {
    const op_attrs *a = w->s->attrs;
    const char *entry = index2(w->e, "addi", times(w->e, at, a->step[i]), times(w->e, k, dilation));
    if (a->lo[i] == 0) return entry;
    return guarded(w, index2(w->e, "subi", entry, mlir_index(w->e, a->lo[i])), size);
}

/* The other way: the window whose place k covers the entry. */
static const char *covering(window *w, int i, const char *entry, const char *k, int64_t windows) {
    const op_attrs *a = w->s->attrs;
    emitter *e = w->e;
    const char *from = index2(e, "addi", entry, mlir_index(e, a->lo[i]));
    from = index2(e, "subi", from, times(e, k, a->step[2 + i]));
    const char *behind = index2(e, "cmpi sge,", from, mlir_index(e, 0));
    w->inside = both(e, w->inside, behind);
    if (a->step[i] != 1) {
        const char *stride = mlir_index(e, a->step[i]);
        const char *rest = index2(e, "remsi", from, stride);
        w->inside = both(e, w->inside, index2(e, "cmpi eq,", rest, mlir_index(e, 0)));
        from = index2(e, "divsi", from, stride);
    }
    return guarded(w, from, windows);
}

static const char *product(window *w, const char *a, const char *b) {
    op_id mul = w->s->attrs->strong_zero ? OP_strong_mul : OP_mul;
    return mlir_scalar(w->e, mul, NULL, (dtype)w->s->out.dtype, (const char *const[]){a, b});
}

static const char *at_dim(window *w, int i) {
    return mlir_coordinate(w->e, i);
}

/* ---- convolutions ---- */

static int64_t per_group(emitter *e, const mlir_site *s, int64_t filters) {
    int64_t groups = s->attrs->lo[2] > 1 ? s->attrs->lo[2] : 1;
    if (filters >= 0) return filters / groups;
    return mlir_dim_new(e, index2(e, "divsi", mlir_dim(e, filters), mlir_index(e, groups)));
}

/* The channel c of a group's own, the group being that of filter o. */
static const char *channel(window *w, const char *o, const char *c, int64_t filters, int64_t channels) {
    if (w->s->attrs->lo[2] <= 1) return c;
    const char *group = index2(w->e, "divsi", o, mlir_dim(w->e, filters));
    return index2(w->e, "addi", index2(w->e, "muli", group, mlir_dim(w->e, channels)), c);
}

mlir_value mlir_conv(emitter *e, const mlir_site *s) {
    const op_type *x = &s->in[0].type, *k = &s->in[1].type;
    const char *at[MAX_RANK] = {0}, *tap[MAX_RANK] = {0};
    window w;
    int64_t filters = per_group(e, s, k->dims[0]);
    window_open(&w, e, s, k->rank - 1, k->dims + 1);
    window_start(&w);
    int reduced = s->out.rank;
    at[0] = at_dim(&w, 0);
    tap[0] = at_dim(&w, 1);
    for (int i = 1; i < k->rank; i++) tap[i] = at_dim(&w, reduced + i - 1);
    at[1] = channel(&w, tap[0], tap[1], filters, k->dims[1]);
    for (int i = 0; i < w.spatial; i++)
        at[SPATIAL + i] = covered(&w, i, at_dim(&w, SPATIAL + i), tap[SPATIAL + i], s->attrs->step[2 + i],
                                  x->dims[SPATIAL + i]);
    return window_close(
        &w, product(&w, mlir_extract(e, s->in[0].name, x, at), mlir_extract(e, s->in[1].name, k, tap)));
}

mlir_value mlir_conv_input_grad(emitter *e, const mlir_site *s) {
    const op_type *d = &s->in[0].type, *k = &s->in[1].type;
    const char *at[MAX_RANK] = {0}, *tap[MAX_RANK] = {0};
    int64_t sizes[MAX_RANK], filters = per_group(e, s, k->dims[0]);
    window w;
    sizes[0] = filters;
    for (int i = 0; i < s->out.rank - SPATIAL; i++) sizes[1 + i] = k->dims[SPATIAL + i];
    window_open(&w, e, s, s->out.rank - 1, sizes);
    window_start(&w);
    int reduced = s->out.rank;
    const char *c = at_dim(&w, 1), *filter = at_dim(&w, reduced);
    at[0] = at_dim(&w, 0);
    tap[1] = s->attrs->lo[2] > 1 ? index2(e, "remsi", c, mlir_dim(e, k->dims[1])) : c;
    tap[0] = at[1] = channel(&w, c, filter, k->dims[1], filters);
    for (int i = 0; i < w.spatial; i++) {
        tap[SPATIAL + i] = at_dim(&w, reduced + 1 + i);
        at[SPATIAL + i] = covering(&w, i, at_dim(&w, SPATIAL + i), tap[SPATIAL + i], d->dims[SPATIAL + i]);
    }
    return window_close(
        &w, product(&w, mlir_extract(e, s->in[0].name, d, at), mlir_extract(e, s->in[1].name, k, tap)));
}

mlir_value mlir_conv_weight_grad(emitter *e, const mlir_site *s) {
    const op_type *x = &s->in[0].type, *d = &s->in[1].type;
    const char *at[MAX_RANK] = {0}, *of[MAX_RANK] = {0};
    int64_t sizes[MAX_RANK], filters = per_group(e, s, s->out.dims[0]);
    window w;
    sizes[0] = d->dims[0];
    for (int i = SPATIAL; i < d->rank; i++) sizes[i - 1] = d->dims[i];
    window_open(&w, e, s, d->rank - 1, sizes);
    window_start(&w);
    int reduced = s->out.rank;
    of[0] = at[0] = at_dim(&w, reduced);
    of[1] = at_dim(&w, 0);
    at[1] = channel(&w, of[1], at_dim(&w, 1), filters, s->out.dims[1]);
    for (int i = 0; i < w.spatial; i++) {
        of[SPATIAL + i] = at_dim(&w, reduced + 1 + i);
        at[SPATIAL + i] = covered(&w, i, of[SPATIAL + i], at_dim(&w, SPATIAL + i), s->attrs->step[2 + i],
                                  x->dims[SPATIAL + i]);
    }
    return window_close(
        &w, product(&w, mlir_extract(e, s->in[1].name, d, of), mlir_extract(e, s->in[0].name, x, at)));
}

/* ---- pooling ---- */

static void entry_of_window(window *w, const op_type *x, const char **at) {
    at[0] = at_dim(w, 0);
    at[1] = at_dim(w, 1);
    for (int i = 0; i < w->spatial; i++)
        at[SPATIAL + i] =
            covered(w, i, at_dim(w, SPATIAL + i), at_dim(w, w->s->out.rank + i), 1, x->dims[SPATIAL + i]);
}

static const char *window_size(window *w) {
    const int64_t *window_sizes = w->s->attrs->step + 2;
    return mlir_number(w->e, (dtype)w->s->out.dtype, (double)window_sizes[0] * (double)window_sizes[1]);
}

static mlir_value avg_pool(emitter *e, const mlir_site *s) {
    const op_type *x = &s->in[0].type;
    const char *at[MAX_RANK] = {0};
    op_attrs none = {0};
    window w;
    mlir_site sums = *s;
    sums.result = mlir_fresh(e);
    window_open(&w, e, &sums, 2, s->attrs->step + 2);
    window_start(&w);
    entry_of_window(&w, x, at);
    mlir_value sum = window_close(&w, mlir_extract(e, s->in[0].name, x, at));
    mlir_value over[2] = {sum, mlir_number_value(e, (dtype)s->out.dtype, window_size(&w))};
    mlir_site mean = {.op = OP_div, .attrs = &none, .n = 2, .in = over, .out = s->out, .result = s->result};
    return mlir_elementwise(e, &mean);
}

/* Windows in row-major order, each adding to the entries that it covers. */
mlir_value mlir_avg_pool_grad(emitter *e, const mlir_site *s) {
    const op_type *d = &s->in[0].type;
    const char *at[MAX_RANK] = {0};
    window w;
    window_open(&w, e, s, 2, d->dims + SPATIAL);
    window_start(&w);
    at[0] = at_dim(&w, 0);
    at[1] = at_dim(&w, 1);
    for (int i = 0; i < w.spatial; i++) {
        at[SPATIAL + i] = at_dim(&w, s->out.rank + i);
        const char *from = index2(e, "addi", at_dim(&w, SPATIAL + i), mlir_index(e, s->attrs->lo[i]));
        from = index2(e, "subi", from, times(e, at[SPATIAL + i], s->attrs->step[i]));
        w.inside = both(e, w.inside, index2(e, "cmpi ult,", from, mlir_index(e, s->attrs->step[2 + i])));
    }
    const char *part = mlir_extract(e, s->in[0].name, d, at);
    const char *divided[2] = {part, window_size(&w)};
    return window_close(&w, mlir_scalar(e, OP_div, NULL, (dtype)s->out.dtype, divided));
}

/* The place among its plane's entries, as an I64. */
static const char *plane_place(window *w, const op_type *x, const char *const *at) {
    const char *row = index2(w->e, "muli", at[SPATIAL], mlir_dim(w->e, x->dims[SPATIAL + 1]));
    const char *place = index2(w->e, "addi", row, at[SPATIAL + 1]);
    return mlir_let(w->e, "arith.index_cast %s : index to i64", place);
}

/* The largest entry and its place, -1 while there is none. */
static mlir_value max_pool(emitter *e, const mlir_site *s) {
    const op_type *x = &s->in[0].type;
    dtype t = (dtype)x->dtype;
    const char *at[MAX_RANK], *none = mlir_number(e, DT_I64, -1.0);
    op_type value_type = s->out, place_type = s->out;
    value_type.dtype = x->dtype;
    place_type.dtype = DT_I64;
    window w;
    window_open(&w, e, s, 2, s->attrs->step + 2);
    bool place = s->op == OP_max_pool_place;
    mlir_value values = mlir_filled(e, &value_type, mlir_number(e, t, -(double)INFINITY), NULL);
    mlir_value places = mlir_filled(e, &place_type, none, NULL);
    mlir_generic_out(&w.g, &values, place ? mlir_fresh(e) : s->result);
    mlir_generic_out(&w.g, &places, place ? s->result : mlir_fresh(e));
    mlir_generic_open(e, &w.g);
    entry_of_window(&w, x, at);
    const char *entry = mlir_extract(e, s->in[0].name, x, at), *here = plane_place(&w, x, at);
    const char *first = mlir_scalar(e, OP_eq, NULL, DT_I64, (const char *const[]){w.g.arg[2], none});
    const char *better = mlir_better(e, OP_argmax, t, entry, w.g.arg[1]);
    const char *yes = mlir_let(e, "arith.ori %s, %s : i1", first, better);
    if (w.inside != NULL) yes = both(e, w.inside, yes);
    const char *most = mlir_scalar(e, OP_where, NULL, t, (const char *const[]){yes, entry, w.g.arg[1]});
    here = mlir_scalar(e, OP_where, NULL, DT_I64, (const char *const[]){yes, here, w.g.arg[2]});
    mlir_generic_close(e, &w.g, (const char *const[]){most, here});
    return mlir_generic_result(&w.g, place);
}

mlir_value mlir_pool(emitter *e, const mlir_site *s) {
    return s->op == OP_avg_pool2d ? avg_pool(e, s) : max_pool(e, s);
}
