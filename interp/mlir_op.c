/* The lowering of every op, by its class: a family's function, or a refusal by name. */
#include "interp/mlir_emit.h"

typedef mlir_value lowering_fn(emitter *e, const mlir_site *s);

/* The value itself: what only the tape, or ownership, sees a difference in. */
static mlir_value same(emitter *e, const mlir_site *s) {
    (void)e;
    return s->in[0];
}

static mlir_value cast(emitter *e, const mlir_site *s) {
    return s->in[0].type.dtype == s->attrs->dtype ? s->in[0] : mlir_elementwise(e, s);
}

static mlir_value reduce_float(emitter *e, const mlir_site *s) {
    return s->op == OP_logsumexp ? mlir_logsumexp(e, s) : mlir_reduce(e, s);
}

/* A class that is not here has no lowering. */
static lowering_fn *const by_class[] = {
    [CLASS_UNARY] = mlir_elementwise,
    [CLASS_UNARY_NUMERIC] = mlir_elementwise,
    [CLASS_UNARY_BOOL] = mlir_elementwise,
    [CLASS_CAST] = cast,
    [CLASS_IDENTITY] = same,
    [CLASS_BINARY] = mlir_elementwise,
    [CLASS_BINARY_NUMERIC] = mlir_elementwise,
    [CLASS_BINARY_INTEGER] = mlir_elementwise,
    [CLASS_BINARY_BOOL] = mlir_elementwise,
    [CLASS_COMPARE] = mlir_elementwise,
    [CLASS_COMPARE_ORDER] = mlir_elementwise,
    [CLASS_WHERE] = mlir_elementwise,
    [CLASS_TERNARY_NUMERIC] = mlir_elementwise,
    [CLASS_REDUCE] = mlir_reduce,
    [CLASS_REDUCE_ONE] = mlir_reduce,
    [CLASS_REDUCE_NONEMPTY] = mlir_reduce,
    [CLASS_REDUCE_FLOAT] = reduce_float,
    [CLASS_REDUCE_BOOL] = mlir_reduce,
    [CLASS_ARG_REDUCE] = mlir_arg_reduce,
    [CLASS_SUM_TO] = mlir_reduce,
    [CLASS_ALONG] = mlir_softmax,
    [CLASS_SHIFT] = mlir_shift,
    [CLASS_SCAN] = mlir_scan_linear,
    [CLASS_CUMULATE] = mlir_cumulate,
    [CLASS_CUMULATE_FLOAT] = mlir_cumulate,
    [CLASS_RESHAPE] = mlir_reshape,
    [CLASS_PERMUTE] = mlir_rearrange,
    [CLASS_BROADCAST] = mlir_rearrange,
    [CLASS_EXPAND] = mlir_rearrange,
    [CLASS_SQUEEZE] = mlir_rearrange,
    [CLASS_CONCAT] = mlir_concat,
    [CLASS_SLICE] = mlir_slice,
    [CLASS_SLICE_ADD] = mlir_slice_add,
    [CLASS_TAKE] = mlir_gather,
    [CLASS_TAKE_ALONG] = mlir_gather,
    [CLASS_SCATTER] = mlir_scatter,
    [CLASS_SCATTER_ALONG] = mlir_scatter,
    [CLASS_ONE_HOT] = mlir_one_hot,
    [CLASS_MATMUL] = mlir_matmul,
    [CLASS_MATMUL_ADD] = mlir_matmul,
    [CLASS_TRIANGLE] = mlir_triangle,
    [CLASS_ORDER] = mlir_order,
    [CLASS_TOP_K] = mlir_order,
    [CLASS_CONV] = mlir_conv,
    [CLASS_CONV_INPUT_GRAD] = mlir_conv_input_grad,
    [CLASS_CONV_WEIGHT_GRAD] = mlir_conv_weight_grad,
    [CLASS_POOL] = mlir_pool,
    [CLASS_POOL_PLACE] = mlir_pool,
    [CLASS_POOL_GRAD] = mlir_avg_pool_grad,
    [CLASS_FULL] = mlir_full,
    [CLASS_FULL_LIKE] = mlir_full,
    [CLASS_ARANGE] = mlir_count_up,
    [CLASS_EYE] = mlir_eye,
    [CLASS_CUSTOM] = NULL,
};

static bool is_elementwise(op_id op) {
    unsigned class = op_table[op].class;
    return by_class[class] == mlir_elementwise || by_class[class] == cast;
}

bool mlir_lowered(op_id op) {
    return by_class[op_table[op].class] != NULL && (!is_elementwise(op) || mlir_scalar_lowered(op));
}

/* On numbers alone, without a tensor around. */
static mlir_value on_numbers(emitter *e, const mlir_site *s) {
    const char *x[3] = {0};
    dtype t = (dtype)s->in[s->op == OP_where ? 1 : 0].type.dtype;
    for (int k = 0; k < s->n; k++) x[k] = mlir_ssa(e, &s->in[k]);
    return mlir_number_value(e, (dtype)s->out.dtype, mlir_scalar(e, s->op, s->attrs, t, x));
}

static bool result_type(emitter *e, mlir_site *s) {
    op_fault fault;
    dim_algebra algebra = mlir_algebra(e);
    op_type *in = MLIR_ARRAY(e, op_type, s->n);
    for (int k = 0; in != NULL && k < s->n; k++) in[k] = s->in[k].type;
    if (in == NULL) return false;
    if (op_result_type(s->op, s->attrs, in, s->n, &algebra, &s->out, &fault)) return true;
    mlir_refuse(e, "the operands of `%s` do not fit: %s is expected", op_table[s->op].name, fault.expects);
    return false;
}

mlir_value mlir_op(emitter *e, op_id op, const op_attrs *attrs, int n, const mlir_value *in, mlir_hint hint) {
    static const op_attrs no_attrs;
    mlir_site s = {.op = op, .attrs = attrs != NULL ? attrs : &no_attrs, .n = n, .in = in};
    const mlir_value none = {.kind = MLIR_NONE};
    if (e->failed) return none;
    if (!mlir_lowered(op)) {
        mlir_refuse(e, "`%s` cannot be lowered to MLIR", op_table[op].name);
        return none;
    }
    if (!result_type(e, &s)) return none;
    if (is_elementwise(op) && s.out.rank == 0) return on_numbers(e, &s);
    s.result = s.out.rank > 0 ? mlir_result_name(e, &hint, 0) : "";
    return by_class[op_table[op].class](e, &s);
}
