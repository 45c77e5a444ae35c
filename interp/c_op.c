/* The emission of every op, by its class: a family's function, or a refusal by name. */
#include "interp/c_emit.h"

static void same(c_writer *w, const c_site *s) {
    (void)w;
    (void)s; /* c_live.c: the result is the operand */
}

static void reduce_float(c_writer *w, const c_site *s) {
    (s->op == OP_logsumexp ? c_logsumexp : c_reduce)(w, s);
}

/* A class that is not here cannot be written. */
static c_family *const by_class[] = {
    [CLASS_UNARY] = c_elementwise,
    [CLASS_UNARY_NUMERIC] = c_elementwise,
    [CLASS_UNARY_BOOL] = c_elementwise,
    [CLASS_CAST] = c_elementwise,
    [CLASS_IDENTITY] = same,
    [CLASS_BINARY] = c_elementwise,
    [CLASS_BINARY_NUMERIC] = c_elementwise,
    [CLASS_BINARY_INTEGER] = c_elementwise,
    [CLASS_BINARY_BOOL] = c_elementwise,
    [CLASS_COMPARE] = c_elementwise,
    [CLASS_COMPARE_ORDER] = c_elementwise,
    [CLASS_WHERE] = c_elementwise,
    [CLASS_TERNARY_NUMERIC] = c_elementwise,
    [CLASS_REDUCE] = c_reduce,
    [CLASS_REDUCE_ONE] = c_reduce,
    [CLASS_REDUCE_NONEMPTY] = c_reduce,
    [CLASS_REDUCE_FLOAT] = reduce_float,
    [CLASS_REDUCE_BOOL] = c_reduce,
    [CLASS_ARG_REDUCE] = c_arg_reduce,
    [CLASS_SUM_TO] = c_reduce,
    [CLASS_ALONG] = c_softmax,
    [CLASS_SHIFT] = c_shift,
    [CLASS_SCAN] = c_scan_linear,
    [CLASS_CUMULATE] = c_cumulate,
    [CLASS_CUMULATE_FLOAT] = c_cumulate,
    [CLASS_RESHAPE] = c_reshape,
    [CLASS_PERMUTE] = c_rearrange,
    [CLASS_BROADCAST] = c_rearrange,
    [CLASS_EXPAND] = c_reshape,
    [CLASS_SQUEEZE] = c_reshape,
    [CLASS_CONCAT] = c_concat,
    [CLASS_SLICE] = c_slice,
    [CLASS_SLICE_ADD] = c_slice_add,
    [CLASS_TAKE] = c_gather,
    [CLASS_TAKE_ALONG] = c_gather,
    [CLASS_SCATTER] = c_scatter,
    [CLASS_SCATTER_ALONG] = c_scatter,
    [CLASS_ONE_HOT] = c_one_hot,
    [CLASS_MATMUL] = c_matmul,
    [CLASS_MATMUL_ADD] = c_matmul,
    [CLASS_TRIANGLE] = c_triangle,
    [CLASS_ORDER] = c_order,
    [CLASS_TOP_K] = c_order,
    [CLASS_CONV] = c_conv,
    [CLASS_CONV_INPUT_GRAD] = c_conv_input_grad,
    [CLASS_CONV_WEIGHT_GRAD] = c_conv_weight_grad,
    [CLASS_POOL] = c_pool,
    [CLASS_POOL_PLACE] = c_pool,
    [CLASS_POOL_GRAD] = c_avg_pool_grad,
    [CLASS_FULL] = c_full,
    [CLASS_FULL_LIKE] = c_full,
    [CLASS_ARANGE] = c_count_up,
    [CLASS_EYE] = c_eye,
    [CLASS_RANDOM] = c_random,
    [CLASS_CUSTOM] = NULL,
};

bool c_written(op_id op) {
    c_family *family = by_class[op_table[op].class];
    return family != NULL && (family != c_elementwise || c_scalar_written(op));
}

void c_op(c_writer *w, const region *r, int i) {
    const node *n = r->nodes[i];
    c_value *in = C_ARRAY(w, c_value, n->n);
    c_site s = {.op = (op_id)n->op, .attrs = n->attrs, .n = n->n, .in = in, .r = r, .i = i, .of = n};
    if (in == NULL) return;
    if (!c_written(s.op)) {
        c_refuse(w, "`%s` cannot be written as C", op_table[s.op].name);
        return;
    }
    for (int k = 0; k < n->n; k++) in[k] = c_value_of(w, n->in[k]);
    if (by_class[op_table[s.op].class] != same)
        s.out = (c_value){.name = c_name(w, n->out[0], "t"), .type = *graph_type(w->g, n->out[0])};
    by_class[op_table[s.op].class](w, &s);
}
