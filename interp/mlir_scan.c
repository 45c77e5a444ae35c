/* Ops that go along one axis step by step: an scf.for that carries what is known so far. */
#include <math.h>

#include "interp/mlir_emit.h"

/* ---- a walk along one axis ---- */

/* Loops over all other axes, and inside them one along the axis that carries the result and up to two states.
 */
typedef struct walk {
    mlir_nest others;
    mlir_for along;
    const char *at[MAX_RANK]; /* of the present entry */
    const char *first;        /* whether it is the first one */
} walk;

static void walk_open(emitter *e, walk *w, const mlir_site *s, int states, const char *const *start) {
    int axis = s->attrs->axis, n = 0;
    int64_t sizes[MAX_RANK];
    mlir_value out = mlir_empty(e, &s->out);
    const char *element = mlir_scalar_type((dtype)s->out.dtype);
    for (int i = 0; i < s->out.rank; i++)
        if (i != axis) sizes[n++] = s->out.dims[i];
    mlir_nest_open(e, &w->others, n, sizes, &out);
    const char *init[MLIR_CARRIED] = {w->others.now, states > 0 ? start[0] : NULL,
                                      states > 1 ? start[1] : NULL};
    const char *types[MLIR_CARRIED] = {mlir_type_of(e, &out), element, element};
    const char *count = mlir_dim(e, s->out.dims[axis]);
    mlir_for_open(e, &w->along, count, 1 + states, init, types);
    w->first = mlir_let(e, "arith.cmpi eq, %s, %s : index", w->along.index, mlir_index(e, 0));
    const char *here = w->along.index;
    if (s->attrs->reversed) {
        const char *left = mlir_let(e, "arith.subi %s, %s : index", count, mlir_index(e, 1));
        here = mlir_let(e, "arith.subi %s, %s : index", left, here);
    }
    for (int i = 0, k = 0; i < s->out.rank; i++) w->at[i] = i == axis ? here : w->others.index[k++];
}

/* The entry's result, and the states for the next one. */
static mlir_value walk_close(emitter *e, walk *w, const mlir_site *s, const char *entry,
                             const char *const *states) {
    const char *next[MLIR_CARRIED] = {mlir_insert(e, entry, w->along.now[0], &s->out, w->at)};
    for (int i = 1; i < w->along.carried; i++) next[i] = states[i - 1];
    mlir_for_close(e, &w->along, next);
    return mlir_tensor_value(&s->out, mlir_nest_close(e, &w->others, w->along.result[0]));
}

/* ---- the ops ---- */

static mlir_value accumulate(emitter *e, const mlir_site *s, op_id join, double start) {
    dtype t = (dtype)s->out.dtype;
    walk w;
    const char *none = mlir_number(e, t, start);
    walk_open(e, &w, s, 1, &none);
    const char *x = mlir_extract(e, s->in[0].name, &s->in[0].type, w.at);
    const char *sum = mlir_scalar(e, join, NULL, t, (const char *const[]){w.along.now[1], x});
    return walk_close(e, &w, s, sum, &sum);
}

static const char *two(emitter *e, op_id op, dtype t, const char *a, const char *b) {
    return mlir_scalar(e, op, NULL, t, (const char *const[]){a, b});
}

static const char *choose(emitter *e, dtype t, const char *condition, const char *a, const char *b) {
    return mlir_scalar(e, OP_where, NULL, t, (const char *const[]){condition, a, b});
}

static const char *exp_of(emitter *e, dtype t, const char *a, const char *b) {
    const char *difference = two(e, OP_sub, t, a, b);
    return mlir_scalar(e, OP_exp, NULL, t, &difference);
}

/* The largest entry so far, and the sum of exponentials relative to it. */
static mlir_value log_accumulate(emitter *e, const mlir_site *s) {
    dtype t = (dtype)s->out.dtype;
    walk w;
    const char *low = mlir_number(e, t, -(double)INFINITY);
    walk_open(e, &w, s, 2, (const char *const[]){low, mlir_number(e, t, 0.0)});
    const char *x = mlir_extract(e, s->in[0].name, &s->in[0].type, w.at);
    const char *m = w.along.now[1], *sum = w.along.now[2], *one = mlir_number(e, t, 1.0);
    const char *above = two(e, OP_gt, t, x, m), *equal = two(e, OP_eq, t, x, m);
    const char *rescaled = two(e, OP_add, t, two(e, OP_mul, t, sum, exp_of(e, t, m, x)), one);
    const char *another = choose(e, t, two(e, OP_eq, t, x, low), mlir_number(e, t, 0.0), one);
    const char *below = two(e, OP_add, t, sum, exp_of(e, t, x, m));
    sum = choose(e, t, above, rescaled, choose(e, t, equal, two(e, OP_add, t, sum, another), below));
    m = choose(e, t, above, x, m);
    const char *log = mlir_scalar(e, OP_log, NULL, t, &sum);
    return walk_close(e, &w, s, two(e, OP_add, t, m, log), (const char *const[]){m, sum});
}

mlir_value mlir_cumulate(emitter *e, const mlir_site *s) {
    if (s->op == OP_logcumsumexp) return log_accumulate(e, s);
    return s->op == OP_cumsum ? accumulate(e, s, OP_add, 0.0) : accumulate(e, s, OP_mul, 1.0);
}

/* r[0] = b[0]; r[j] = a[j] * r[j - 1] + b[j] */
mlir_value mlir_scan_linear(emitter *e, const mlir_site *s) {
    dtype t = (dtype)s->out.dtype;
    walk w;
    const char *none = mlir_number(e, t, 0.0);
    walk_open(e, &w, s, 1, &none);
    const char *a = mlir_extract(e, s->in[0].name, &s->in[0].type, w.at);
    const char *b = mlir_extract(e, s->in[1].name, &s->in[1].type, w.at);
    const char *on =
        two(e, OP_add, t, two(e, s->attrs->strong_zero ? OP_strong_mul : OP_mul, t, a, w.along.now[1]), b);
    const char *r = choose(e, t, w.first, b, on);
    return walk_close(e, &w, s, r, &r);
}
