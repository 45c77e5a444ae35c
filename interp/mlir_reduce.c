/* Reductions: a linalg.generic that starts from the op's neutral element and takes the entries in index
 * order. */
#include <math.h>

#include "interp/mlir_emit.h"

/* ---- what a reduction is made of ---- */

static const char *least(emitter *e, dtype t, bool largest) {
    double infinite = largest ? (double)INFINITY : -(double)INFINITY;
    value i32 = value_i32(largest ? INT32_MAX : INT32_MIN), i64 = value_i64(largest ? INT64_MAX : INT64_MIN);
    if (t == DT_I32) return mlir_constant(e, &i32).name;
    if (t == DT_I64) return mlir_constant(e, &i64).name;
    return mlir_number(e, t, infinite);
}

static const char *neutral(emitter *e, op_id op, dtype t) {
    if (op == OP_max || op == OP_min) return least(e, t, op == OP_min);
    return mlir_number(e, t, op == OP_prod || op == OP_all ? 1.0 : 0.0);
}

static op_type without(const op_type *x, unsigned axes) {
    op_type t = {.dtype = x->dtype};
    for (int i = 0; i < x->rank; i++)
        if (((axes >> i) & 1) == 0) t.dims[t.rank++] = x->dims[i];
    return t;
}

static unsigned reduced_axes(const mlir_site *s) {
    return s->op == OP_sum_to ? (unsigned)(s->attrs->axes | s->attrs->drop) : s->attrs->axes;
}

/* Nothing to reduce is an error where there is no neutral result. */
static void assert_entries(emitter *e, const mlir_site *s) {
    const op_type *x = &s->in[0].type;
    for (int i = 0; i < x->rank; i++) {
        if (((reduced_axes(s) >> i) & 1) == 0 || x->dims[i] >= 0) continue;
        const char *some =
            mlir_let(e, "arith.cmpi ne, %s, %s : index", mlir_dim(e, x->dims[i]), mlir_index(e, 0));
        mlir_assert(e, some, "%s of an empty axis", op_table[s->op].name);
    }
}

/* ---- folding ---- */

/* The entries of x along the axes joined by op; with a companion m, of the remaining shape, those of
 * exp(x - m). */
static mlir_value fold(emitter *e, op_id op, const mlir_value *x, unsigned axes, const mlir_value *m,
                       const char *named) {
    dtype t = (dtype)x->type.dtype;
    op_type kept = without(&x->type, axes);
    mlir_generic g = {.dims = x->type.rank, .reduced = axes};
    mlir_value start = mlir_filled(e, &kept, neutral(e, op, t), NULL);
    mlir_generic_in(&g, x);
    if (m != NULL) {
        int axis = 0;
        for (int i = 0; i < g.dims; i++)
            if (((axes >> i) & 1) == 0) g.map[1][axis++] = i;
        g.in[g.ins++] = *m;
    }
    mlir_generic_out(&g, &start, named != NULL ? named : mlir_fresh(e));
    mlir_generic_open(e, &g);
    const char *entry = g.arg[0];
    if (m != NULL) {
        entry = mlir_scalar(e, OP_sub, NULL, t, (const char *const[]){entry, g.arg[1]});
        entry = mlir_scalar(e, OP_exp, NULL, t, &entry);
    }
    entry = mlir_scalar(e, compiled_join(op), NULL, t, (const char *const[]){g.arg[g.ins], entry});
    mlir_generic_close(e, &g, &entry);
    return mlir_generic_result(&g, 0);
}

/* What remains, in the op's result type: as a number, or with the axes that stay at size 1. */
static mlir_value finish(emitter *e, const mlir_site *s, const mlir_value *kept, unsigned axes) {
    int map[MAX_RANK], axis = 0;
    unsigned gone = s->op == OP_sum_to ? s->attrs->drop : s->attrs->keepdims ? 0 : axes;
    if (s->out.rank == 0) return mlir_unboxed(e, kept);
    if (kept->type.rank == s->out.rank) return *kept;
    for (int i = 0, out = 0; i < s->in[0].type.rank; i++) {
        if (((axes >> i) & 1) == 0) map[axis++] = out;
        if (((gone >> i) & 1) == 0) out++;
    }
    return mlir_mapped(e, kept, map, &s->out, s->result);
}

/* The name that the last step is to have. */
static const char *name_of(const mlir_site *s, const op_type *kept) {
    return kept->rank == s->out.rank && kept->rank > 0 ? s->result : NULL;
}

static mlir_value divided(emitter *e, const mlir_site *s, const mlir_value *sum, unsigned axes,
                          const char *named) {
    int64_t count = 1;
    for (int i = 0; i < s->in[0].type.rank; i++)
        if (((axes >> i) & 1) != 0) count = mlir_dim_mul(e, count, s->in[0].type.dims[i]);
    mlir_value over[2] = {*sum, mlir_dim_number(e, count, (dtype)sum->type.dtype)};
    op_attrs none = {0};
    mlir_site div = {.op = OP_div, .attrs = &none, .n = 2, .in = over, .out = sum->type};
    div.result = named != NULL ? named : mlir_fresh(e);
    return mlir_elementwise(e, &div);
}

/* Of one number, as of a tensor with one entry. */
static mlir_value of_number(emitter *e, const mlir_site *s) {
    dtype t = (dtype)s->in[0].type.dtype;
    const char *x[2] = {neutral(e, s->op, t), mlir_ssa(e, &s->in[0])};
    const char *joined = mlir_scalar(e, compiled_join(s->op), NULL, t, x);
    return mlir_number_value(e, t, joined);
}

mlir_value mlir_reduce(emitter *e, const mlir_site *s) {
    unsigned axes = reduced_axes(s);
    if (s->in[0].kind != MLIR_TENSOR) return of_number(e, s);
    if (op_table[s->op].class == CLASS_REDUCE_NONEMPTY) assert_entries(e, s);
    op_type kept = without(&s->in[0].type, axes);
    const char *last = name_of(s, &kept);
    mlir_value v = fold(e, s->op, &s->in[0], axes, NULL, s->op == OP_mean ? NULL : last);
    if (s->op == OP_mean) v = divided(e, s, &v, axes, last);
    return finish(e, s, &v, axes);
}

/* ---- logsumexp, softmax, log_softmax ---- */

/* m where it is infinite, else m + log(s). */
static const char *log_of_sum(emitter *e, dtype t, const char *m, const char *sum) {
    const char *size = mlir_scalar(e, OP_abs, NULL, t, &m), *log = mlir_scalar(e, OP_log, NULL, t, &sum);
    const char *infinite = mlir_number(e, t, (double)INFINITY);
    const char *far = mlir_scalar(e, OP_eq, NULL, t, (const char *const[]){size, infinite});
    log = mlir_scalar(e, OP_add, NULL, t, (const char *const[]){m, log});
    return mlir_scalar(e, OP_where, NULL, t, (const char *const[]){far, m, log});
}

mlir_value mlir_logsumexp(emitter *e, const mlir_site *s) {
    unsigned axes = reduced_axes(s);
    dtype t = (dtype)s->in[0].type.dtype;
    mlir_value x = s->in[0].kind == MLIR_TENSOR ? s->in[0] : mlir_boxed(e, &s->in[0]);
    op_type kept = without(&x.type, axes);
    const char *last = name_of(s, &kept);
    mlir_value m = fold(e, OP_max, &x, axes, NULL, NULL), sum = fold(e, OP_sum, &x, axes, &m, NULL);
    mlir_generic g = {.dims = kept.rank};
    mlir_value empty = mlir_empty(e, &kept);
    mlir_generic_in(&g, &m);
    mlir_generic_in(&g, &sum);
    mlir_generic_out(&g, &empty, last != NULL ? last : mlir_fresh(e));
    mlir_generic_open(e, &g);
    mlir_generic_close(e, &g, (const char *const[]){log_of_sum(e, t, g.arg[0], g.arg[1])});
    mlir_value v = mlir_generic_result(&g, 0);
    return finish(e, s, &v, axes);
}

/* Reads v, which lacks one axis of the space. */
static void in_without(mlir_generic *g, const mlir_value *v, int axis) {
    int *map = g->map[g->ins];
    mlir_generic_in(g, v);
    for (int i = axis; i < v->type.rank; i++) map[i] = i + 1;
}

mlir_value mlir_softmax(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0];
    dtype t = (dtype)x->type.dtype;
    int axis = s->attrs->axis;
    mlir_value m = fold(e, OP_max, x, 1u << axis, NULL, NULL);
    mlir_value sum = fold(e, OP_sum, x, 1u << axis, &m, NULL);
    mlir_generic g = {.dims = x->type.rank};
    if (s->op == OP_log_softmax) {
        op_attrs none = {0};
        mlir_site log = {.op = OP_log, .attrs = &none, .n = 1, .in = &sum, .out = sum.type};
        log.result = mlir_fresh(e);
        sum = mlir_elementwise(e, &log);
    }
    mlir_value empty = mlir_empty(e, &s->out);
    mlir_generic_in(&g, x);
    in_without(&g, &m, axis);
    in_without(&g, &sum, axis);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    const char *y = mlir_scalar(e, OP_sub, NULL, t, g.arg);
    if (s->op == OP_softmax) y = mlir_scalar(e, OP_exp, NULL, t, &y);
    y = mlir_scalar(e, s->op == OP_softmax ? OP_div : OP_sub, NULL, t, (const char *const[]){y, g.arg[2]});
    mlir_generic_close(e, &g, &y);
    return mlir_generic_result(&g, 0);
}

/* ---- argmax, argmin ---- */

/* In the body: the place among the reduced entries, in row-major order, as an I64. */
static const char *place(emitter *e, const op_type *x, unsigned axes) {
    const char *at = NULL;
    for (int i = 0; i < x->rank; i++) {
        if (((axes >> i) & 1) == 0) continue;
        const char *here = mlir_coordinate(e, i);
        if (at != NULL) {
            at = mlir_let(e, "arith.muli %s, %s : index", at, mlir_dim(e, x->dims[i]));
            here = mlir_let(e, "arith.addi %s, %s : index", at, here);
        }
        at = here;
    }
    return at != NULL ? mlir_let(e, "arith.index_cast %s : index to i64", at) : mlir_number(e, DT_I64, 0.0);
}

const char *mlir_better(emitter *e, op_id op, dtype t, const char *y, const char *best) {
    op_id beyond = op == OP_argmax ? OP_gt : OP_lt;
    const char *yes = mlir_scalar(e, beyond, NULL, t, (const char *const[]){y, best});
    if (!dtype_floating(t)) return yes;
    const char *nan = mlir_scalar(e, OP_ne, NULL, t, (const char *const[]){y, y});
    const char *open = mlir_scalar(e, OP_eq, NULL, t, (const char *const[]){best, best});
    yes = mlir_scalar(e, OP_or, NULL, DT_Bool, (const char *const[]){yes, nan});
    return mlir_scalar(e, OP_and, NULL, DT_Bool, (const char *const[]){yes, open});
}

mlir_value mlir_arg_reduce(emitter *e, const mlir_site *s) {
    unsigned axes = reduced_axes(s);
    const mlir_value *x = &s->in[0];
    dtype t = (dtype)x->type.dtype;
    if (x->kind != MLIR_TENSOR) return mlir_number_value(e, DT_I64, mlir_number(e, DT_I64, 0.0));
    assert_entries(e, s);
    op_type best = without(&x->type, axes), at = best;
    at.dtype = DT_I64;
    mlir_generic g = {.dims = x->type.rank, .reduced = axes};
    mlir_value bests = mlir_filled(e, &best, least(e, t, s->op == OP_argmin), NULL);
    mlir_value places = mlir_filled(e, &at, mlir_number(e, DT_I64, 0.0), NULL);
    const char *last = name_of(s, &at);
    mlir_generic_in(&g, x);
    mlir_generic_out(&g, &bests, mlir_fresh(e));
    mlir_generic_out(&g, &places, last != NULL ? last : mlir_fresh(e));
    mlir_generic_open(e, &g);
    const char *yes = mlir_better(e, s->op, t, g.arg[0], g.arg[1]);
    const char *where = place(e, &x->type, axes);
    const char *picked = mlir_scalar(e, OP_where, NULL, t, (const char *const[]){yes, g.arg[0], g.arg[1]});
    where = mlir_scalar(e, OP_where, NULL, DT_I64, (const char *const[]){yes, where, g.arg[2]});
    mlir_generic_close(e, &g, (const char *const[]){picked, where});
    mlir_value v = mlir_generic_result(&g, 1);
    return finish(e, s, &v, axes);
}
