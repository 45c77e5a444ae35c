/* Orders along one axis. The place of an entry is the number of those that come before it, which needs no
 * sorting. */
#include "interp/mlir_emit.h"

static const char *two(emitter *e, op_id op, dtype t, const char *a, const char *b) {
    return mlir_scalar(e, op, NULL, t, (const char *const[]){a, b});
}

/* Whether a is smaller than b, a NaN being larger than all numbers. */
static const char *smaller(emitter *e, dtype t, const char *a, const char *b) {
    const char *less = two(e, OP_lt, t, a, b);
    if (!dtype_floating(t)) return less;
    const char *below = two(e, OP_and, DT_Bool, two(e, OP_eq, t, a, a), two(e, OP_ne, t, b, b));
    return two(e, OP_or, DT_Bool, less, below);
}

/* Whether entry j, of value b, comes before entry i, of value a: of equal ones the first does. */
static const char *before(emitter *e, dtype t, bool falling, const char *a, const char *i, const char *b,
                          const char *j) {
    const char *down = smaller(e, t, a, b), *up = smaller(e, t, b, a);
    const char *earlier = mlir_let(e, "arith.cmpi ult, %s, %s : index", j, i);
    const char *differ = two(e, OP_or, DT_Bool, down, up);
    const char *tie = mlir_scalar(e, OP_not, NULL, DT_Bool, &differ);
    return two(e, OP_or, DT_Bool, falling ? down : up, two(e, OP_and, DT_Bool, tie, earlier));
}

/* For every entry, how many come before it. */
static mlir_value count_before(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0];
    int rank = x->type.rank, axis = s->attrs->axis;
    op_type t = x->type;
    t.dtype = DT_I64;
    mlir_generic g = {.dims = rank + 1, .reduced = 1u << rank};
    mlir_value zeros = mlir_filled(e, &t, mlir_number(e, DT_I64, 0.0), NULL);
    mlir_generic_in(&g, x);
    mlir_generic_in(&g, x);
    g.map[1][axis] = rank;
    mlir_generic_out(&g, &zeros, mlir_fresh(e));
    mlir_generic_open(e, &g);
    const char *i = mlir_coordinate(e, axis), *j = mlir_coordinate(e, rank);
    const char *yes = before(e, (dtype)x->type.dtype, s->op == OP_arg_top_k, g.arg[0], i, g.arg[1], j);
    const char *one = mlir_let(e, "arith.extui %s : i1 to i64", yes);
    const char *count = two(e, OP_add, DT_I64, g.arg[2], one);
    mlir_generic_close(e, &g, &count);
    return mlir_generic_result(&g, 0);
}

/* The entries' places in their order. */
static mlir_value places_in_order(emitter *e, const mlir_site *s) {
    mlir_value count = count_before(e, s), empty = mlir_empty(e, &count.type);
    const char *at[MAX_RANK];
    mlir_nest l;
    mlir_nest_open(e, &l, count.type.rank, count.type.dims, &empty);
    const char *rank = mlir_extract(e, count.name, &count.type, l.index);
    for (int i = 0; i < count.type.rank; i++) at[i] = l.index[i];
    at[s->attrs->axis] = mlir_let(e, "arith.index_cast %s : i64 to index", rank);
    const char *place = mlir_let(e, "arith.index_cast %s : index to i64", l.index[s->attrs->axis]);
    place = mlir_insert(e, place, l.now, &count.type, at);
    return mlir_tensor_value(&count.type, mlir_nest_close(e, &l, place));
}

/* The latest of the largest so far. */
static mlir_value running_largest(emitter *e, const mlir_site *s) {
    const mlir_value *x = &s->in[0];
    dtype t = (dtype)x->type.dtype;
    mlir_nest others;
    mlir_for along;
    int axis = s->attrs->axis, n = 0;
    int64_t rest[MAX_RANK];
    const char *at[MAX_RANK];
    mlir_value out = mlir_empty(e, &s->out);
    for (int i = 0; i < s->out.rank; i++)
        if (i != axis) rest[n++] = s->out.dims[i];
    mlir_nest_open(e, &others, n, rest, &out);
    const char *init[3] = {others.now, mlir_number(e, t, 0.0), mlir_index(e, 0)};
    const char *types[3] = {mlir_type_of(e, &out), mlir_scalar_type(t), "index"};
    mlir_for_open(e, &along, mlir_dim(e, s->out.dims[axis]), 3, init, types);
    for (int i = 0, k = 0; i < s->out.rank; i++) at[i] = i == axis ? along.index : others.index[k++];
    const char *entry = mlir_extract(e, x->name, &x->type, at);
    const char *first = mlir_let(e, "arith.cmpi eq, %s, %s : index", along.index, mlir_index(e, 0));
    const char *less = smaller(e, t, entry, along.now[1]);
    const char *takes = two(e, OP_or, DT_Bool, first, mlir_scalar(e, OP_not, NULL, DT_Bool, &less));
    const char *most = mlir_scalar(e, OP_where, NULL, t, (const char *const[]){takes, entry, along.now[1]});
    const char *where = mlir_let(e, "arith.select %s, %s, %s : index", takes, along.index, along.now[2]);
    const char *place = mlir_let(e, "arith.index_cast %s : index to i64", where);
    place = mlir_insert(e, place, along.now[0], &s->out, at);
    mlir_for_close(e, &along, (const char *const[]){place, most, where});
    return mlir_tensor_value(&s->out, mlir_nest_close(e, &others, along.result[0]));
}

/* argsort, arg_cummax; of arg_top_k the first places alone. */
mlir_value mlir_order(emitter *e, const mlir_site *s) {
    if (s->op == OP_arg_cummax) return running_largest(e, s);
    mlir_value all = places_in_order(e, s);
    if (s->op != OP_arg_top_k) return all;
    op_attrs attrs = {.rank = all.type.rank};
    for (int i = 0; i < all.type.rank; i++) {
        attrs.dims[i] = s->out.dims[i];
        attrs.step[i] = 1;
    }
    mlir_assert_slice(e, s->attrs->axis, all.type.dims[s->attrs->axis], &attrs);
    mlir_site first = {
        .op = OP_slice, .attrs = &attrs, .n = 1, .in = &all, .out = s->out, .result = s->result};
    return mlir_slice(e, &first);
}
