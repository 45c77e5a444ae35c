/* The cases of every differentiable op: where its operands live and the shapes and layouts that it
 * is tried on. Domains keep clear of kinks, where differences mean nothing; kinks have tests of
 * their own. */
#include "tests/unit/rule_check.h"

/* ---- elementwise: domains here, shapes below ---- */

typedef struct domain {
    op_id op;
    struct {
        double low, high;
        bool either_sign;
    } in[CASE_OPERANDS];
    uint8_t order; /* polygamma */
} domain;

static const domain unary[] = {
    {OP_neg, {{-2, 2, false}}, 0},        {OP_abs, {{0.2, 2, true}}, 0},
    {OP_square, {{-2, 2, false}}, 0},     {OP_sqrt, {{0.3, 3, false}}, 0},
    {OP_rsqrt, {{0.3, 3, false}}, 0},     {OP_cbrt, {{0.3, 2, true}}, 0},
    {OP_reciprocal, {{0.4, 2, true}}, 0}, {OP_exp, {{-2, 2, false}}, 0},
    {OP_exp2, {{-2, 2, false}}, 0},       {OP_expm1, {{-2, 2, false}}, 0},
    {OP_log, {{0.3, 3, false}}, 0},       {OP_log2, {{0.3, 3, false}}, 0},
    {OP_log1p, {{-0.6, 2, false}}, 0},    {OP_sin, {{-3, 3, false}}, 0},
    {OP_cos, {{-3, 3, false}}, 0},        {OP_tan, {{-1.2, 1.2, false}}, 0},
    {OP_asin, {{-0.8, 0.8, false}}, 0},   {OP_acos, {{-0.8, 0.8, false}}, 0},
    {OP_atan, {{-3, 3, false}}, 0},       {OP_sinh, {{-2, 2, false}}, 0},
    {OP_cosh, {{-2, 2, false}}, 0},       {OP_tanh, {{-2, 2, false}}, 0},
    {OP_asinh, {{-2, 2, false}}, 0},      {OP_acosh, {{1.3, 3, false}}, 0},
    {OP_atanh, {{-0.8, 0.8, false}}, 0},  {OP_sigmoid, {{-4, 4, false}}, 0},
    {OP_softplus, {{-4, 4, false}}, 0},   {OP_relu, {{0.2, 2, true}}, 0},
    {OP_gelu, {{-3, 3, false}}, 0},       {OP_silu, {{-4, 4, false}}, 0},
    {OP_erf, {{-2, 2, false}}, 0},        {OP_erfc, {{-2, 2, false}}, 0},
    {OP_lgamma, {{0.6, 4, false}}, 0},    {OP_lgamma, {{-0.7, -0.3, false}}, 0},
    {OP_digamma, {{0.6, 4, false}}, 0},   {OP_digamma, {{-0.7, -0.3, false}}, 0},
    {OP_polygamma, {{0.6, 4, false}}, 1}, {OP_polygamma, {{0.6, 4, false}}, 2},
    {OP_identity, {{-2, 2, false}}, 0},   {OP_carry, {{-2, 2, false}}, 0},
};

static const domain binary[] = {
    {OP_add, {{-2, 2, false}, {-2, 2, false}}, 0},
    {OP_sub, {{-2, 2, false}, {-2, 2, false}}, 0},
    {OP_mul, {{-2, 2, false}, {-2, 2, false}}, 0},
    {OP_strong_mul, {{-2, 2, false}, {-2, 2, false}}, 0},
    {OP_div, {{-2, 2, false}, {0.5, 2, true}}, 0},
    {OP_mod, {{2.1, 2.3, false}, {0.9, 1.0, false}}, 0},
    {OP_mod, {{-2.3, -2.1, false}, {0.9, 1.0, false}}, 0},
    {OP_pow, {{0.4, 2, false}, {-2, 2, false}}, 0},
    {OP_atan2, {{0.4, 2, true}, {0.4, 2, true}}, 0},
    {OP_maximum, {{-2, 2, false}, {-2, 2, false}}, 0},
    {OP_minimum, {{-2, 2, false}, {-2, 2, false}}, 0},
};

static const domain clamp = {OP_clamp, {{-3, 3, false}, {-1.2, -0.8, false}, {0.8, 1.2, false}}, 0};

typedef struct shapes {
    const char *shape[CASE_OPERANDS];
    layout layout[CASE_OPERANDS];
} shapes;

static const shapes one_shape[] = {
    {{""}, {0}},
    {{"3"}, {0}},
    {{"1"}, {0}},
    {{"2 3"}, {LAYOUT_PERMUTED}},
    {{"2 0 3"}, {0}},
    {{"3 5"}, {LAYOUT_STRIDED}},
    {{"2 1* 3"}, {LAYOUT_REVERSED}},
};

static const shapes two_shapes[] = {
    {{"", ""}, {0}},
    {{"3", ""}, {0}},
    {{"", "2 2"}, {0, LAYOUT_PERMUTED}},
    {{"2 3", "2 3"}, {LAYOUT_PERMUTED, 0}},
    {{"2 3", "3"}, {0, LAYOUT_STRIDED}},
    {{"3", "2 3"}, {LAYOUT_REVERSED, LAYOUT_PERMUTED}},
    {{"2 1*", "1* 3"}, {0}},
    {{"1* 3", "2 3"}, {0, LAYOUT_STRIDED}},
    {{"2 3", "2 1*"}, {0}},
    {{"1* 1*", "1* 3"}, {0}},
    {{"1*", "1"}, {0}},
    {{"2 1* 3", "4 1*"}, {LAYOUT_PERMUTED, 0}},
    {{"0 3", "3"}, {0}},
    {{"1* 3", "0 3"}, {0}},
};

static const shapes three_shapes[] = {
    {{"", "", ""}, {0}},
    {{"7", "", ""}, {0}},
    {{"", "3", ""}, {0}},
    {{"2 3", "3", "2 1*"}, {LAYOUT_PERMUTED, LAYOUT_STRIDED, 0}},
    {{"1* 3", "2 3", "2 3"}, {LAYOUT_REVERSED, 0, 0}},
    {{"0 3", "3", ""}, {0}},
};

typedef struct walk {
    void (*visit)(void *self, const rule_case *rc);
    void *self;
} walk;

static void walk_domain(const walk *w, const domain *d, const shapes *s, size_t count, int n) {
    for (size_t i = 0; i < count; i++) {
        rule_case rc = {.op = d->op, .n = n, .attrs = {.lo = {d->order}}};
        for (int k = 0; k < n; k++)
            rc.in[k] = (operand_spec){.shape = s[i].shape[k],
                                      .low = d->in[k].low,
                                      .high = d->in[k].high,
                                      .either_sign = d->in[k].either_sign,
                                      .layout = s[i].layout[k]};
        w->visit(w->self, &rc);
    }
}

/* ---- all others ---- */

#define IN(...)                                                                                    \
    { __VA_ARGS__, .low = -2, .high = 2 }
#define INDICES(dims, list)                                                                        \
    { .shape = dims, .entries = list }
#define MASK(dims, list)                                                                           \
    { .shape = dims, .entries = list, .condition = true }

/* Stride and dilation 1, no padding, one group. */
#define PLAIN_CONV                                                                                 \
    {                                                                                              \
        .step = {1, 1, 1, 1}, .lo = { 0, 0, 1 }                                                    \
    }

static const rule_case cases[] = {
    {OP_cast, {.dtype = DT_F64}, 1, {IN("2 3")}},
    {OP_cast, {.dtype = DT_F64}, 1, {IN("")}},

    {OP_where, {.axis = 0}, 3, {MASK("", "1"), IN(""), IN("")}},
    {OP_where, {.axis = 0}, 3, {MASK("4", "1 0 0 1"), IN("4"), IN("4")}},
    {OP_where, {.axis = 0}, 3, {MASK("2 3", "1 0 0 1 1 0"), IN("3"), IN("2 1*")}},
    {OP_where, {.axis = 0}, 3, {MASK("2 1*", "1 0"), IN("1* 3"), IN("")}},
    {OP_where, {.axis = 0}, 3, {MASK("", "0"), IN("1* 3"), IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_where, {.axis = 0}, 3, {MASK("0", ""), IN("0"), IN("")}},

    {OP_sum, {.axis = 0}, 1, {IN("")}},
    {OP_sum, {.axes = 1}, 1, {IN("4")}},
    {OP_sum, {.axes = 1}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_sum, {.axes = 2, .keepdims = true}, 1, {IN("2 3")}},
    {OP_sum, {.axes = 5}, 1, {IN("2 3 2", .layout = LAYOUT_STRIDED)}},
    {OP_sum, {.axes = 3, .keepdims = true}, 1, {IN("1* 3")}},
    {OP_sum, {.axes = 1}, 1, {IN("0 3")}},
    {OP_sum, {.axes = 2}, 1, {IN("0 3")}},
    {OP_mean, {.axis = 0}, 1, {IN("")}},
    {OP_mean, {.axes = 3}, 1, {IN("2 3", .layout = LAYOUT_REVERSED)}},
    {OP_mean, {.axes = 2}, 1, {IN("2 3")}},
    {OP_mean, {.axes = 1, .keepdims = true}, 1, {IN("2 1* 3")}},
    {OP_mean, {.axes = 2}, 1, {IN("0 3")}},
    {OP_prod, {.axis = 0}, 1, {IN("")}},
    {OP_prod, {.axes = 1}, 1, {IN("4")}},
    {OP_prod, {.axes = 1}, 1, {IN("1")}},
    {OP_prod, {.axes = 2, .keepdims = true}, 1, {IN("2 3")}},
    {OP_prod, {.axes = 2}, 1, {IN("2 3 2", .layout = LAYOUT_PERMUTED)}},
    {OP_prod, {.axes = 1}, 1, {IN("0 3")}},
    {OP_prod, {.axes = 2}, 1, {IN("0 3")}},
    {OP_max, {.axis = 0}, 1, {IN("")}},
    {OP_max, {.axes = 1}, 1, {IN("5")}},
    {OP_max, {.axes = 2}, 1, {IN("2 3", .layout = LAYOUT_STRIDED)}},
    {OP_max, {.axes = 5, .keepdims = true}, 1, {IN("2 3 2", .layout = LAYOUT_PERMUTED)}},
    {OP_max, {.axes = 2}, 1, {IN("0 3")}},
    {OP_min, {.axis = 0}, 1, {IN("")}},
    {OP_min, {.axes = 1}, 1, {IN("5")}},
    {OP_min, {.axes = 1, .keepdims = true}, 1, {IN("2 3")}},
    {OP_min, {.axes = 3}, 1, {IN("2 3 2", .layout = LAYOUT_REVERSED)}},
    {OP_logsumexp, {.axis = 0}, 1, {IN("")}},
    {OP_logsumexp, {.axes = 1}, 1, {IN("4")}},
    {OP_logsumexp, {.axes = 2, .keepdims = true}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_logsumexp, {.axes = 5}, 1, {IN("2 3 2")}},
    {OP_logsumexp, {.axes = 2}, 1, {IN("0 3")}},
    {OP_sum_to, {.axes = 1, .drop = 1}, 1, {IN("2 3")}},
    {OP_sum_to, {.axes = 2}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_sum_to, {.axes = 7, .drop = 3}, 1, {IN("2 3 2")}},
    {OP_sum_to, {.axes = 3, .drop = 3}, 1, {IN("2 3")}},
    {OP_sum_to, {.axes = 1}, 1, {IN("0 2")}},

    {OP_softmax, {.axis = 0}, 1, {IN("4")}},
    {OP_softmax, {.axis = 1}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_softmax, {.axis = 1}, 1, {IN("2 3 2", .layout = LAYOUT_STRIDED)}},
    {OP_softmax, {.axis = 1}, 1, {IN("0 3")}},
    {OP_log_softmax, {.axis = 0}, 1, {IN("4")}},
    {OP_log_softmax, {.axis = 1}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_log_softmax, {.axis = 0}, 1, {IN("2 3 2")}},
    {OP_log_softmax, {.axis = 1}, 1, {IN("0 3")}},
    {OP_cumsum, {.axis = 0}, 1, {IN("4")}},
    {OP_cumsum, {.axis = 0, .reversed = true}, 1, {IN("4", .layout = LAYOUT_REVERSED)}},
    {OP_cumsum, {.axis = 1}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_cumsum, {.axis = 1}, 1, {IN("2 3 2", .layout = LAYOUT_STRIDED)}},
    {OP_cumsum, {.axis = 0}, 1, {IN("1* 3")}},
    {OP_cumsum, {.axis = 1}, 1, {IN("2 0 3")}},
    {OP_cumprod, {.axis = 0}, 1, {IN("4")}},
    {OP_cumprod, {.axis = 0}, 1, {IN("1", .layout = LAYOUT_REVERSED)}},
    {OP_cumprod, {.axis = 1}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_cumprod, {.axis = 1}, 1, {IN("2 3 2", .layout = LAYOUT_STRIDED)}},
    {OP_cumprod, {.axis = 0}, 1, {IN("1* 3")}},
    {OP_cumprod, {.axis = 1}, 1, {IN("2 0 3")}},
    {OP_logcumsumexp, {.axis = 0}, 1, {IN("4")}},
    {OP_logcumsumexp, {.axis = 0}, 1, {IN("1", .layout = LAYOUT_REVERSED)}},
    {OP_logcumsumexp, {.axis = 1}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_logcumsumexp, {.axis = 1}, 1, {IN("2 3 2", .layout = LAYOUT_STRIDED)}},
    {OP_logcumsumexp, {.axis = 0}, 1, {IN("1* 3")}},
    {OP_logcumsumexp, {.axis = 1}, 1, {IN("2 0 3")}},
    {OP_shift, {.axis = 0, .lo = {1}}, 1, {IN("4")}},
    {OP_shift, {.axis = 0, .lo = {-2}}, 1, {IN("4", .layout = LAYOUT_REVERSED)}},
    {OP_shift, {.axis = 1, .lo = {5}}, 1, {IN("2 3")}},
    {OP_shift, {.axis = 1, .lo = {-1}}, 1, {IN("2 3 2", .layout = LAYOUT_PERMUTED)}},
    {OP_shift, {.axis = 0, .lo = {1}}, 1, {IN("0 2")}},
    {OP_scan_linear, {.axis = 0}, 2, {IN("4"), IN("4")}},
    {OP_scan_linear, {.axis = 0, .reversed = true}, 2, {IN("4"), IN("4")}},
    {OP_scan_linear, {.axis = 1}, 2, {IN("2 3", .layout = LAYOUT_PERMUTED), IN("2 3")}},
    {OP_scan_linear,
     {.axis = 1, .reversed = true},
     2,
     {IN("2 3 2"), IN("2 3 2", .layout = LAYOUT_STRIDED)}},
    {OP_scan_linear, {.axis = 0}, 2, {IN("0 2"), IN("0 2")}},

    {OP_reshape, {.rank = 1, .dims = {6}}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_reshape, {.rank = 2, .dims = {3, 2}}, 1, {IN("6", .layout = LAYOUT_STRIDED)}},
    {OP_reshape, {.rank = 2, .dims = {1, 1}, .ones = {0, 3}}, 1, {IN("")}},
    {OP_reshape, {.rank = 0}, 1, {IN("1* 1")}},
    {OP_reshape, {.rank = 2, .dims = {3, 0}}, 1, {IN("0 3")}},
    {OP_permute, {.perm = {1, 0}}, 1, {IN("2 3")}},
    {OP_permute, {.perm = {2, 0, 1}}, 1, {IN("2 3 4", .layout = LAYOUT_STRIDED)}},
    {OP_permute, {.perm = {1, 2, 0}}, 1, {IN("1* 3 0")}},
    {OP_broadcast, {.rank = 2, .dims = {2, 3}}, 1, {IN("")}},
    {OP_broadcast, {.rank = 2, .dims = {2, 3}}, 1, {IN("3", .layout = LAYOUT_REVERSED)}},
    {OP_broadcast, {.rank = 3, .dims = {4, 2, 3}}, 1, {IN("1* 3")}},
    {OP_broadcast, {.rank = 2, .dims = {1, 3}, .ones = {0, 1}}, 1, {IN("1* 3")}},
    {OP_broadcast, {.rank = 2, .dims = {1, 3}}, 1, {IN("1* 1*")}},
    {OP_broadcast, {.rank = 2, .dims = {0, 3}}, 1, {IN("1* 3")}},
    {OP_expand_dims, {.axis = 0}, 1, {IN("")}},
    {OP_expand_dims, {.axis = 1}, 1, {IN("2 3", .layout = LAYOUT_PERMUTED)}},
    {OP_expand_dims, {.axis = 2}, 1, {IN("0 3")}},
    {OP_squeeze, {.axis = 0}, 1, {IN("1")}},
    {OP_squeeze, {.axis = 1}, 1, {IN("2 1* 3", .layout = LAYOUT_PERMUTED)}},
    {OP_concat, {.axis = 0}, 1, {IN("3")}},
    {OP_concat, {.axis = 0}, 2, {IN("2"), IN("3", .layout = LAYOUT_REVERSED)}},
    {OP_concat, {.axis = 1}, 3, {IN("2 1*"), IN("2 3", .layout = LAYOUT_PERMUTED), IN("2 0")}},
    {OP_concat, {.axis = 0}, 3, {IN("1 2"), IN("2 2"), IN("1 2", .layout = LAYOUT_STRIDED)}},
    {OP_slice, {.lo = {1}, .dims = {3}, .step = {1}}, 1, {IN("5")}},
    {OP_slice, {.lo = {4}, .dims = {3}, .step = {-2}}, 1, {IN("5", .layout = LAYOUT_STRIDED)}},
    {OP_slice, {.lo = {2}, .dims = {1}, .step = {1}, .drop = 1}, 1, {IN("5")}},
    {OP_slice,
     {.lo = {1, 0}, .dims = {1, 2}, .step = {1, 2}, .drop = 1},
     1,
     {IN("2 4", .layout = LAYOUT_PERMUTED)}},
    {OP_slice, {.lo = {0, 2}, .dims = {1, 2}, .step = {1, -1}}, 1, {IN("1* 4")}},
    {OP_slice, {.lo = {1}, .dims = {0}, .step = {1}}, 1, {IN("3")}},
    {OP_slice_add, {.lo = {0}, .dims = {2}, .step = {2}}, 2, {IN("4"), IN("2")}},
    {OP_slice_add, {.lo = {3}, .dims = {1}, .step = {1}, .drop = 1}, 2, {IN("4"), IN("")}},
    {OP_slice_add,
     {.lo = {1, 3}, .dims = {1, 4}, .step = {1, -1}, .drop = 1},
     2,
     {IN("2 4", .layout = LAYOUT_PERMUTED), IN("4", .layout = LAYOUT_STRIDED)}},

    {OP_take, {.axis = 0}, 2, {IN("3"), INDICES("", "1")}},
    {OP_take, {.axis = 0}, 2, {IN("4 2"), INDICES("3", "2 0 2")}},
    {OP_take, {.axis = 1}, 2, {IN("2 3", .layout = LAYOUT_PERMUTED), INDICES("2 2", "1 1 0 2")}},
    {OP_take, {.axis = 1}, 2, {IN("2 3 2", .layout = LAYOUT_STRIDED), INDICES("", "2")}},
    {OP_take, {.axis = 0}, 2, {IN("3 2"), INDICES("0", "")}},
    {OP_take_along_axis, {.axis = 0}, 2, {IN("4"), INDICES("3", "3 0 3")}},
    {OP_take_along_axis,
     {.axis = 1},
     2,
     {IN("2 3", .layout = LAYOUT_PERMUTED), INDICES("2 2", "1 1 0 2")}},
    {OP_take_along_axis,
     {.axis = 0},
     2,
     {IN("3 2", .layout = LAYOUT_REVERSED), INDICES("1 2", "2 0")}},
    {OP_scatter_add, {.axis = 0}, 3, {IN("3"), INDICES("", "1"), IN("")}},
    {OP_scatter_add,
     {.axis = 0},
     3,
     {IN("4 2"), INDICES("3", "2 0 2"), IN("3 2", .layout = LAYOUT_PERMUTED)}},
    {OP_scatter_add,
     {.axis = 1},
     3,
     {IN("2 3", .layout = LAYOUT_STRIDED), INDICES("2 2", "1 1 0 2"), IN("2 2 2")}},
    {OP_scatter_along_axis, {.axis = 0}, 3, {IN("4"), INDICES("3", "3 0 3"), IN("3")}},
    {OP_scatter_along_axis,
     {.axis = 1},
     3,
     {IN("2 3", .layout = LAYOUT_PERMUTED), INDICES("2 2", "1 1 0 2"),
      IN("2 2", .layout = LAYOUT_REVERSED)}},

    {OP_matmul, {.axis = 0}, 2, {IN("3"), IN("3", .layout = LAYOUT_STRIDED)}},
    {OP_matmul, {.axis = 0}, 2, {IN("3"), IN("3 2", .layout = LAYOUT_PERMUTED)}},
    {OP_matmul, {.axis = 0}, 2, {IN("3"), IN("2 3 4")}},
    {OP_matmul, {.axis = 0}, 2, {IN("3"), IN("2 1* 3 2")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 3", .layout = LAYOUT_PERMUTED), IN("3")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 2 3"), IN("3", .layout = LAYOUT_REVERSED)}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 3"), IN("3 4", .layout = LAYOUT_PERMUTED)}},
    {OP_matmul, {.axis = 0}, 2, {IN("1* 3", .layout = LAYOUT_STRIDED), IN("3 1*")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 2 3"), IN("2 3 2", .layout = LAYOUT_PERMUTED)}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 2 3", .layout = LAYOUT_REVERSED), IN("3 2")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 3"), IN("2 3 2")}},
    {OP_matmul, {.axis = 0}, 2, {IN("1* 2 3"), IN("3 3 2")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 2 3"), IN("1* 3 2")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 1* 2 2"), IN("1* 3 2 1")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 1* 2 2"), IN("3 2 1")}},
    {OP_matmul, {.axis = 0}, 2, {IN("2 0"), IN("0 3")}},
    {OP_matmul, {.axis = 0}, 2, {IN("0 2"), IN("2 3")}},
    {OP_matmul, {.axis = 0}, 2, {IN("0"), IN("0")}},
    {OP_matmul_add, {.axis = 0}, 3, {IN("2 4"), IN("2 3"), IN("3 4", .layout = LAYOUT_PERMUTED)}},
    {OP_matmul_add,
     {.axis = 0},
     3,
     {IN("2 2 2", .layout = LAYOUT_PERMUTED), IN("2 2 3", .layout = LAYOUT_STRIDED), IN("3 2")}},
    {OP_matmul_add, {.axis = 0}, 3, {IN("3 2 2"), IN("1* 2 3"), IN("3 3 2")}},
    {OP_matmul_add, {.axis = 0}, 3, {IN("3 2 2"), IN("3 2 3"), IN("1* 3 2")}},
    {OP_matmul_add, {.axis = 0}, 3, {IN("2 3"), IN("2 0"), IN("0 3")}},

    {OP_inv, {.axis = 0}, 1, {IN("3 3", .diagonal = 6)}},
    {OP_inv, {.axis = 0}, 1, {IN("1* 1*", .diagonal = 6)}},
    {OP_inv, {.axis = 0}, 1, {IN("2 3 3", .diagonal = 6, .layout = LAYOUT_PERMUTED)}},
    {OP_inv, {.axis = 0}, 1, {IN("2 1* 2 2", .diagonal = 6, .layout = LAYOUT_STRIDED)}},
    {OP_inv, {.axis = 0}, 1, {IN("0 2 2")}},
    {OP_inv, {.axis = 0}, 1, {IN("2 0 0")}},
    {OP_solve, {.axis = 0}, 2, {IN("3 3", .diagonal = 6), IN("3", .layout = LAYOUT_STRIDED)}},
    {OP_solve,
     {.axis = 0},
     2,
     {IN("3 3", .diagonal = 6, .layout = LAYOUT_PERMUTED), IN("3 2", .layout = LAYOUT_PERMUTED)}},
    {OP_solve, {.axis = 0}, 2, {IN("2 3 3", .diagonal = 6), IN("3", .layout = LAYOUT_REVERSED)}},
    {OP_solve, {.axis = 0}, 2, {IN("1* 2 2", .diagonal = 6), IN("3 2 1*")}},
    {OP_solve, {.axis = 0}, 2, {IN("2 2", .diagonal = 6), IN("2 2 3")}},
    {OP_solve, {.axis = 0}, 2, {IN("2 1* 2 2", .diagonal = 6), IN("1* 3 2 2")}},
    {OP_solve, {.axis = 0}, 2, {IN("2 3 2 2", .diagonal = 6), IN("1* 2 2")}},
    {OP_solve,
     {.axis = 0},
     2,
     {IN("2 2 2", .diagonal = 6, .layout = LAYOUT_REVERSED), IN("2 2 0")}},
    {OP_solve_triangular, {.axis = 0}, 2, {IN("3 3", .diagonal = 6), IN("3")}},
    {OP_solve_triangular,
     {.reversed = true},
     2,
     {IN("3 3", .diagonal = 6, .layout = LAYOUT_PERMUTED), IN("3 2", .layout = LAYOUT_STRIDED)}},
    {OP_solve_triangular, {.axis = 0}, 2, {IN("2 1* 2 2", .diagonal = 6), IN("1* 3 2 2")}},
    {OP_solve_triangular, {.reversed = true}, 2, {IN("2 3 3", .diagonal = 6), IN("3")}},
    {OP_solve_triangular, {.axis = 0}, 2, {IN("0 2 2"), IN("2 3")}},
    {OP_triangle, {.axis = 0}, 1, {IN("3 4", .layout = LAYOUT_PERMUTED)}},
    {OP_triangle, {.lo = {-1}}, 1, {IN("2 3 3")}},
    {OP_triangle, {.lo = {1}, .reversed = true}, 1, {IN("4 3", .layout = LAYOUT_STRIDED)}},
    {OP_triangle, {.axis = 0}, 1, {IN("0 3")}},
    {OP_cholesky, {.axis = 0}, 1, {IN("3 3", .diagonal = 7, .symmetric = true)}},
    {OP_cholesky, {.axis = 0}, 1, {IN("1* 1*", .diagonal = 7)}},
    {OP_cholesky,
     {.axis = 0},
     1,
     {IN("2 3 3", .diagonal = 7, .symmetric = true, .layout = LAYOUT_PERMUTED)}},
    {OP_cholesky, {.axis = 0}, 1, {IN("2 0 0")}},
    {OP_det, {.axis = 0}, 1, {IN("3 3")}},
    {OP_det, {.axis = 0}, 1, {IN("1* 1*")}},
    {OP_det, {.axis = 0}, 1, {IN("2 1* 3 3", .layout = LAYOUT_PERMUTED)}},
    {OP_det, {.axis = 0}, 1, {IN("0 0")}},
    {OP_det, {.axis = 0}, 1, {IN("0 2 2")}},
    {OP_logdet, {.axis = 0}, 1, {IN("3 3", .diagonal = 6)}},
    {OP_logdet, {.axis = 0}, 1, {IN("2 2 2", .diagonal = 6, .layout = LAYOUT_STRIDED)}},
    {OP_logdet, {.axis = 0}, 1, {IN("2 0 0")}},
    {OP_cofactor, {.axis = 0}, 1, {IN("4 4")}},
    {OP_cofactor, {.axis = 0}, 1, {IN("2 2 2", .layout = LAYOUT_PERMUTED)}},
    {OP_cofactor, {.axis = 0}, 1, {IN("2 1 1")}},
    {OP_cofactor, {.axis = 0}, 1, {IN("0 0")}},
    {OP_cofactor_slope,
     {.axis = 0},
     2,
     {IN("4 4", .diagonal = 6), IN("4 4", .layout = LAYOUT_STRIDED)}},
    {OP_cofactor_slope,
     {.axis = 0},
     2,
     {IN("2 3 3", .diagonal = 6, .layout = LAYOUT_REVERSED),
      IN("2 3 3", .layout = LAYOUT_PERMUTED)}},
    {OP_cofactor_slope, {.axis = 0}, 2, {IN("1 1", .diagonal = 6), IN("1 1")}},
    {OP_solve, {.axis = 0}, 2, {IN("0 0"), IN("0")}},
    {OP_solve, {.axis = 0}, 2, {IN("0 2 2"), IN("2 3")}},

    {OP_conv1d, PLAIN_CONV, 2, {IN("2 2 5", .layout = LAYOUT_PERMUTED), IN("3 2 3")}},
    {OP_conv1d,
     {.step = {2, 0, 2}, .lo = {3, 0, 2}},
     2,
     {IN("1* 4 6"), IN("2 2 2", .layout = LAYOUT_STRIDED)}},
    {OP_conv1d, PLAIN_CONV, 2, {IN("0 2 3"), IN("2 2 1")}},
    {OP_conv1d, PLAIN_CONV, 2, {IN("2 0 3"), IN("2 0 2")}},
    {OP_conv1d, PLAIN_CONV, 2, {IN("2 2 3"), IN("0 2 2")}},
    {OP_conv2d, PLAIN_CONV, 2, {IN("2 2 3 3"), IN("2 2 2 2", .layout = LAYOUT_PERMUTED)}},
    {OP_conv2d,
     {.step = {2, 1, 1, 2}, .lo = {1, 2, 1}},
     2,
     {IN("1 2 4 5", .layout = LAYOUT_REVERSED), IN("2 2 3 2")}},
    {OP_conv2d, {.step = {1, 2, 2, 1}, .lo = {0, 1, 2}}, 2, {IN("1* 2 5 3"), IN("4 1* 2 3")}},
    {OP_conv2d, PLAIN_CONV, 2, {IN("2 3 2 2"), IN("2 3 1 1")}},
    {OP_conv_input_grad,
     {.step = {1, 1, 1, 1}, .lo = {0, 0, 1}, .rank = 4, .dims = {1, 2, 4, 4}},
     2,
     {IN("1 2 3 2"), IN("2 2 2 3", .layout = LAYOUT_STRIDED)}},
    {OP_conv_input_grad,
     {.step = {2, 0, 1}, .lo = {1, 0, 2}, .rank = 3, .dims = {2, 4, 6}},
     2,
     {IN("2 2 3", .layout = LAYOUT_PERMUTED), IN("2 2 3")}},
    {OP_conv_weight_grad,
     {.step = {2, 1, 1, 1}, .lo = {1, 0, 1}, .rank = 4, .dims = {2, 2, 2, 2}},
     2,
     {IN("2 2 3 3", .layout = LAYOUT_PERMUTED), IN("2 2 2 2")}},
    {OP_conv_weight_grad,
     {.step = {1, 0, 2}, .lo = {0, 0, 2}, .rank = 3, .dims = {2, 1, 2}},
     2,
     {IN("3 2 4"), IN("3 2 2", .layout = LAYOUT_STRIDED)}},

    {OP_max_pool2d, {.step = {2, 2, 2, 2}}, 1, {IN("2 1* 4 4", .layout = LAYOUT_PERMUTED)}},
    {OP_max_pool2d, {.step = {1, 2, 3, 2}, .lo = {1, 1}}, 1, {IN("1 2 4 5")}},
    {OP_max_pool2d, {.step = {2, 2, 2, 2}}, 1, {IN("2 0 4 4")}},
    {OP_avg_pool2d, {.step = {2, 2, 2, 2}}, 1, {IN("2 1* 4 4", .layout = LAYOUT_PERMUTED)}},
    {OP_avg_pool2d, {.step = {1, 2, 3, 2}, .lo = {1, 1}}, 1, {IN("1 2 4 5")}},
    {OP_avg_pool2d, {.step = {2, 2, 2, 2}}, 1, {IN("0 2 4 4")}},
    {OP_avg_pool_grad,
     {.step = {1, 2, 3, 2}, .lo = {1, 1}, .rank = 4, .dims = {1, 2, 4, 5}},
     1,
     {IN("1 2 4 3", .layout = LAYOUT_STRIDED)}},

    {OP_full, {.rank = 0}, 1, {IN("")}},
    {OP_full, {.rank = 2, .dims = {2, 3}}, 1, {IN("")}},
    {OP_full, {.rank = 1, .dims = {0}}, 1, {IN("")}},
    {OP_full_like, {.axis = 0}, 2, {IN(""), IN("")}},
    {OP_full_like, {.axis = 0}, 2, {IN("2 3", .layout = LAYOUT_PERMUTED), IN("")}},
    {OP_full_like, {.axis = 0}, 2, {IN("0"), IN("")}},
};

void rule_cases_walk(void (*visit)(void *self, const rule_case *rc), void *self) {
    walk w = {visit, self};
    for (size_t i = 0; i < COUNT_OF(unary); i++)
        walk_domain(&w, &unary[i], one_shape, COUNT_OF(one_shape), 1);
    for (size_t i = 0; i < COUNT_OF(binary); i++)
        walk_domain(&w, &binary[i], two_shapes, COUNT_OF(two_shapes), 2);
    walk_domain(&w, &clamp, three_shapes, COUNT_OF(three_shapes), 3);
    for (size_t i = 0; i < COUNT_OF(cases); i++) visit(self, &cases[i]);
}
