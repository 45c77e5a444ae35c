/* Derivatives of first to third order against closed forms, for every op that has any, through every nesting of
 * reverse and forward handlers.
 *
 * An op is followed along a line: its operands depend on a number t, the entries of its result are added up with
 * weights, and that number is differentiated by t. Two tables say what comes out. Most ops are homogeneous: the
 * operands scaled by 1 + t scale the result by a power of it, which holds for all of the rules' own cases
 * (rule_cases.c). For the others, and where scaling says too little, there are lines with closed forms. An op in
 * neither table fails. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "kernels/kernel.h"
#include "tests/unit/rule_check.h"

enum { ORDERS = 3, LINE_ENTRIES = 18 };

static const span nowhere;
static int covered[OP_COUNT];

/* ---- a function of t ---- */

/* Operand k is fixed[k] + t * along[k]; along[k] is NONE where it does not depend on t. */
typedef struct curve {
    context c;
    op_id op;
    op_attrs attrs;
    int n;
    value fixed[CASE_OPERANDS], along[CASE_OPERANDS];
    value weight;               /* of the result's entries; NONE: 1 each */
} curve;

static void curve_open(curve *f) {
    memset(f, 0, sizeof *f);
    context_init(&f->c);
    kernel_install(&f->c);
}

/* False when something has leaked. */
static bool curve_close(curve *f) {
    for (int k = 0; k < CASE_OPERANDS; k++) {
        value_release(&f->c, f->fixed[k]);
        value_release(&f->c, f->along[k]);
    }
    value_release(&f->c, f->weight);
    tape_close(&f->c);
    size_t live = f->c.mem.live;
    if (live != 0) fprintf(stderr, "%s: %zu bytes leaked\n", op_table[f->op].name, live);
    context_close(&f->c);
    return live == 0;
}

static bool perform(context *c, op_id op, const op_attrs *attrs, int n, const value *in, value *out) {
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in};
    return door_perform(c, &call, out);
}

/* in[0] op in[1], which are released. */
static bool combine(context *c, op_id op, value *in, value *out) {
    op_attrs plain = {0};
    bool ok = perform(c, op, &plain, 2, in, out);
    value_release(c, in[0]);
    value_release(c, in[1]);
    return ok;
}

static bool operand_at(curve *f, int k, value t, value *out) {
    value product[2] = {value_retain(f->along[k]), t}, sum[2] = {value_retain(f->fixed[k])};
    *out = sum[0];
    if (f->along[k].kind == VALUE_NONE) return true;
    if (combine(&f->c, OP_mul, product, &sum[1])) return combine(&f->c, OP_add, sum, out);
    value_release(&f->c, sum[0]);
    return false;
}

static bool curve_value(curve *f, value t, value *out) {
    context *c = &f->c;
    value in[CASE_OPERANDS], y[2];
    int made = 0;
    while (made < f->n && operand_at(f, made, t, &in[made])) made++;
    bool ok = made == f->n && perform(c, f->op, &f->attrs, f->n, in, &y[0]);
    for (int k = 0; k < made; k++) value_release(c, in[k]);
    if (!ok) return false;
    if (f->weight.kind != VALUE_NONE) {
        value weighed;
        y[1] = value_retain(f->weight);
        if (!combine(c, OP_mul, y, &weighed)) return false;
        y[0] = weighed;
    }
    op_attrs all = {.axes = (uint8_t)((1u << value_rank(&y[0])) - 1)};
    ok = perform(c, OP_sum, &all, 1, y, out);
    value_release(c, y[0]);
    return ok;
}

/* The derivative of the given order at t; bit i of modes: the handler of level i from the outside is in reverse. */
static bool derivative(curve *f, int order, unsigned modes, value t, value *out) {
    context *c = &f->c;
    value y;
    if (order == 0) return curve_value(f, t, out);
    if ((modes & 1) != 0) {
        reverse_scope s;
        if (!reverse_enter(c, &s)) return false;
        if (!reverse_parameter(c, &s, nowhere, &t) || !derivative(f, order - 1, modes >> 1, t, &y))
            return reverse_abandon(c, &s), false;
        return reverse_leave(c, &s, &y, NULL, &t, 1, nowhere, out);
    }
    forward_scope s;
    value one = value_f64(1.0);
    if (!forward_enter(c, &s)) return false;
    if (!forward_parameter(c, &s, &one, nowhere, &t) || !derivative(f, order - 1, modes >> 1, t, &y))
        return forward_abandon(c, &s), false;
    return forward_leave(c, &s, &y, 1, nowhere, out);
}

/* All nestings up to the third order against what is expected[order]. */
static bool curve_holds(curve *f, double t, const double *expected, const char *name) {
    bool holds = true;
    covered[f->op]++;
    for (int order = 1; order <= ORDERS; order++)
        for (unsigned modes = 0; modes < 1u << order; modes++) {
            value made;
            bool ok = derivative(f, order, modes, value_f64(t), &made);
            double is = ok ? value_as_double(&made) : nan("");
            if (fabs(is - expected[order]) <= 1e-10 * (1.0 + fabs(expected[order]))) continue;
            fprintf(stderr, "%s: derivative %d (modes %x) is %.17g, not %.17g%s%s\n", name, order, modes, is,
                    expected[order], ok ? "" : ": ", ok ? "" : f->c.err.message);
            holds = false;
        }
    return holds;
}

/* ---- homogeneous ops ---- */

typedef enum scaling {
    SEPARATELY,                 /* each operand has a degree of its own */
    TOGETHER,                   /* all of them scaled at once */
    BY_MATRIX,                  /* degree 0 of the table, plus the size of the matrices */
    BY_COUNT,                   /* the number of entries that become one */
} scaling;

typedef struct homogeneous {
    op_id op;
    scaling how;
    double degree[CASE_OPERANDS];
} homogeneous;

static const homogeneous homogeneous_ops[] = {
    {OP_neg, TOGETHER, {1}}, {OP_abs, TOGETHER, {1}}, {OP_square, TOGETHER, {2}}, {OP_sqrt, TOGETHER, {0.5}},
    {OP_rsqrt, TOGETHER, {-0.5}}, {OP_cbrt, TOGETHER, {1.0 / 3}}, {OP_reciprocal, TOGETHER, {-1}},
    {OP_relu, TOGETHER, {1}}, {OP_add, TOGETHER, {1}}, {OP_sub, TOGETHER, {1}}, {OP_mod, TOGETHER, {1}},
    {OP_maximum, TOGETHER, {1}}, {OP_minimum, TOGETHER, {1}}, {OP_clamp, TOGETHER, {1}}, {OP_where, TOGETHER, {1}},
    {OP_mul, SEPARATELY, {1, 1}}, {OP_strong_mul, SEPARATELY, {1, 1}}, {OP_div, SEPARATELY, {1, -1}},
    {OP_max, TOGETHER, {1}}, {OP_min, TOGETHER, {1}}, {OP_prod, BY_COUNT, {0}}, {OP_take, TOGETHER, {1}},
    {OP_take_along_axis, TOGETHER, {1}}, {OP_scatter_add, TOGETHER, {1}}, {OP_scatter_along_axis, TOGETHER, {1}},
    {OP_matmul, SEPARATELY, {1, 1}}, {OP_inv, TOGETHER, {-1}}, {OP_solve, SEPARATELY, {-1, 1}},
    {OP_solve_triangular, SEPARATELY, {-1, 1}}, {OP_cholesky, TOGETHER, {0.5}}, {OP_det, BY_MATRIX, {0}},
    {OP_cofactor, BY_MATRIX, {-1}}, {OP_cofactor_slope, BY_MATRIX, {-2, 1}}, {OP_conv1d, SEPARATELY, {1, 1}},
    {OP_conv2d, SEPARATELY, {1, 1}}, {OP_conv_input_grad, SEPARATELY, {1, 1}},
    {OP_conv_weight_grad, SEPARATELY, {1, 1}}, {OP_max_pool2d, TOGETHER, {1}}, {OP_full_like, SEPARATELY, {0, 1}},
};

/* Linear ops need no row. */
static bool find_homogeneous(op_id op, homogeneous *out) {
    *out = (homogeneous){op, TOGETHER, {1}};
    for (size_t i = 0; i < COUNT_OF(homogeneous_ops); i++)
        if (homogeneous_ops[i].op == op) return *out = homogeneous_ops[i], true;
    return op_table[op].rule == OP_RULE_LINEAR;
}

static double degree_of(const homogeneous *h, const curve *f, unsigned scaled) {
    const value *x = &f->fixed[0];
    double degree = 0, entries = 1;
    if (h->how == TOGETHER) return h->degree[0];
    for (int k = 0; k < f->n; k++)
        if ((scaled >> k & 1) != 0) degree += h->degree[k];
    for (int i = 0; h->how == BY_COUNT && i < value_rank(x); i++)
        if ((f->attrs.axes >> i & 1) != 0) entries *= (double)value_dims(x)[i];
    if (h->how == BY_COUNT) degree += entries;
    if (h->how == BY_MATRIX && (scaled & 1) != 0) degree += (double)value_dims(x)[value_rank(x) - 1];
    return degree;
}

static bool scaled_case_holds(const rule_case *rc, const homogeneous *h, unsigned scaled, bool *none) {
    curve f;
    char name[100];
    double expected[ORDERS + 1];
    curve_open(&f);
    f.op = rc->op;
    f.n = rc->n;
    bool ok = rule_operands(rc, &f.c, f.fixed, &f.attrs);
    unsigned floats = 0;
    for (int k = 0; ok && k < f.n; k++) {
        if (!dtype_floating((dtype)f.fixed[k].dtype)) continue;
        floats |= 1u << k;
        if ((scaled >> k & 1) != 0) f.along[k] = value_retain(f.fixed[k]);
    }
    *none = (scaled & ~floats) != 0 || (h->how == TOGETHER && scaled != floats);
    rule_case_name(rc, name, sizeof name);
    if (ok && !*none) {
        value y = value_f64(0);
        ok = curve_value(&f, value_f64(0.0), &y);
        double degree = degree_of(h, &f, scaled);
        expected[0] = value_as_double(&y);
        for (int i = 0; i < ORDERS; i++) expected[i + 1] = expected[i] * (degree - i);
        ok = ok && curve_holds(&f, 0.0, expected, name);
    }
    return curve_close(&f) && ok;
}

static void check_scaled(void *self, const rule_case *rc) {
    int *failed = self;
    homogeneous h;
    if (!find_homogeneous(rc->op, &h)) return;
    for (unsigned scaled = 1; scaled < 1u << rc->n; scaled++) {
        bool none;
        if (!scaled_case_holds(rc, &h, scaled, &none)) ++*failed;
    }
}

START_TEST(homogeneous_ops_scale_to_third_order) {
    int failed = 0;
    rule_cases_walk(check_scaled, &failed);
    ck_assert_msg(failed == 0, "%d cases failed", failed);
}
END_TEST

/* ---- lines ---- */

typedef struct line_operand {
    const char *shape;          /* "2 3"; "" is a number */
    double fixed[LINE_ENTRIES], along[LINE_ENTRIES];
} line_operand;

typedef struct line {
    op_id op;
    op_attrs attrs;
    int n;
    line_operand in[CASE_OPERANDS];
    const char *weight_shape;   /* of the result; NULL: 1 each */
    double weight[LINE_ENTRIES];
    double t;
    void (*closed)(double t, double *d);    /* fills in d[1] to d[3] */
} line;

#define CLOSED(name, first, second, third)                                                         \
    static void name(double t, double *d) {                                                        \
        d[1] = first;                                                                              \
        d[2] = second;                                                                             \
        d[3] = third;                                                                              \
        (void)t;                                                                                   \
    }

static double logistic(double t) { return 1 / (1 + exp(-t)); }
static double bell(double t) { return exp(-t * t / 2) / sqrt(2 * acos(-1.0)); }
static double below(double t) { return erfc(-t / sqrt(2.0)) / 2; }

#define LN2 0.69314718055994530942
#define PI 3.14159265358979323846
#define ZETA3 1.2020569031595942854
#define ZETA5 1.0369277551433699263
#define EULER 0.57721566490153286061

CLOSED(of_exp, exp(t), exp(t), exp(t))
CLOSED(of_exp2, LN2 * exp2(t), LN2 * LN2 * exp2(t), LN2 * LN2 * LN2 * exp2(t))
CLOSED(of_log, 1 / t, -1 / (t * t), 2 / (t * t * t))
CLOSED(of_log2, 1 / t / LN2, -1 / (t * t) / LN2, 2 / (t * t * t) / LN2)
CLOSED(of_log1p, 1 / (1 + t), -pow(1 + t, -2), 2 * pow(1 + t, -3))
CLOSED(of_sin, cos(t), -sin(t), -cos(t))
CLOSED(of_cos, -sin(t), -cos(t), sin(t))
CLOSED(of_tan, 1 + tan(t) * tan(t), 2 * tan(t) * (1 + tan(t) * tan(t)),
       2 * (1 + tan(t) * tan(t)) * (1 + 3 * tan(t) * tan(t)))
CLOSED(of_asin, pow(1 - t * t, -0.5), t * pow(1 - t * t, -1.5), (1 + 2 * t * t) * pow(1 - t * t, -2.5))
CLOSED(of_acos, -pow(1 - t * t, -0.5), -t * pow(1 - t * t, -1.5), -(1 + 2 * t * t) * pow(1 - t * t, -2.5))
CLOSED(of_atan, 1 / (1 + t * t), -2 * t * pow(1 + t * t, -2), (6 * t * t - 2) * pow(1 + t * t, -3))
CLOSED(of_sinh, cosh(t), sinh(t), cosh(t))
CLOSED(of_cosh, sinh(t), cosh(t), sinh(t))
CLOSED(of_tanh, 1 - tanh(t) * tanh(t), -2 * tanh(t) * (1 - tanh(t) * tanh(t)),
       (1 - tanh(t) * tanh(t)) * (6 * tanh(t) * tanh(t) - 2))
CLOSED(of_asinh, pow(1 + t * t, -0.5), -t * pow(1 + t * t, -1.5), (2 * t * t - 1) * pow(1 + t * t, -2.5))
CLOSED(of_acosh, pow(t * t - 1, -0.5), -t * pow(t * t - 1, -1.5), (2 * t * t + 1) * pow(t * t - 1, -2.5))
CLOSED(of_atanh, 1 / (1 - t * t), 2 * t * pow(1 - t * t, -2), (2 + 6 * t * t) * pow(1 - t * t, -3))
CLOSED(of_sigmoid, logistic(t) * logistic(-t), logistic(t) * logistic(-t) * (1 - 2 * logistic(t)),
       logistic(t) * logistic(-t) * (1 - 6 * logistic(t) * logistic(-t)))
CLOSED(of_softplus, logistic(t), logistic(t) * logistic(-t), logistic(t) * logistic(-t) * (1 - 2 * logistic(t)))
CLOSED(of_minus_softplus, -logistic(t), -logistic(t) * logistic(-t),
       -logistic(t) * logistic(-t) * (1 - 2 * logistic(t)))
CLOSED(of_gelu, below(t) + t * bell(t), (2 - t * t) * bell(t), t * (t * t - 4) * bell(t))
/* t * s(t): s + t s', 2 s' + t s'', 3 s'' + t s''' */
static void of_silu(double t, double *d) {
    double s[ORDERS + 1] = {logistic(t)};
    of_sigmoid(t, s);
    for (int i = 1; i <= ORDERS; i++) d[i] = i * s[i - 1] + t * s[i];
}
CLOSED(of_erf, 2 / sqrt(PI) * exp(-t * t), -4 * t / sqrt(PI) * exp(-t * t), (8 * t * t - 4) / sqrt(PI) * exp(-t * t))
CLOSED(of_erfc, -2 / sqrt(PI) * exp(-t * t), 4 * t / sqrt(PI) * exp(-t * t), (4 - 8 * t * t) / sqrt(PI) * exp(-t * t))
/* At 1. */
CLOSED(of_lgamma, -EULER, PI * PI / 6, -2 * ZETA3)
CLOSED(of_digamma, PI * PI / 6, -2 * ZETA3, PI * PI * PI * PI / 15)
CLOSED(of_polygamma, -2 * ZETA3, PI * PI * PI * PI / 15, -24 * ZETA5)
CLOSED(of_cube, 3 * t * t, 6 * t, 6)
CLOSED(of_three_to, log(3) * pow(3, t), log(3) * log(3) * pow(3, t), log(3) * log(3) * log(3) * pow(3, t))
/* t^t = e^(t log t), with l = 1 + log t. */
CLOSED(of_self_power, pow(t, t) * (1 + log(t)), pow(t, t) * (pow(1 + log(t), 2) + 1 / t),
       pow(t, t) * (pow(1 + log(t), 3) + 3 * (1 + log(t)) / t - 1 / (t * t)))
CLOSED(of_turned_atan, -1 / (1 + t * t), 2 * t * pow(1 + t * t, -2), (2 - 6 * t * t) * pow(1 + t * t, -3))
CLOSED(of_square, 2 * t, 2, 0)
CLOSED(of_square_and_self, 2 * t + 1, 2, 0)
/* t / (2t - 1) = 1/2 + 1/2 / (2t - 1) */
CLOSED(of_inverse, -pow(2 * t - 1, -2), 4 * pow(2 * t - 1, -3), -24 * pow(2 * t - 1, -4))
CLOSED(of_log_determinant, 2 / (2 * t - 1), -4 * pow(2 * t - 1, -2), 16 * pow(2 * t - 1, -3))
CLOSED(of_inverse_root, -0.5 * pow(t, -1.5), 0.75 * pow(t, -2.5), -1.875 * pow(t, -3.5))

#define LINE1(op, at, form) {OP_##op, {.axis = 0}, 1, {{"", {0}, {1}}}, NULL, {0}, at, form}

static const line lines[] = {
    LINE1(exp, 0.7, of_exp), LINE1(exp2, -0.4, of_exp2), LINE1(expm1, 0.3, of_exp), LINE1(log, 1.7, of_log),
    LINE1(log2, 0.6, of_log2), LINE1(log1p, 0.4, of_log1p), LINE1(sin, 0.9, of_sin), LINE1(cos, 0.9, of_cos),
    LINE1(tan, 0.8, of_tan), LINE1(asin, 0.4, of_asin), LINE1(acos, -0.3, of_acos), LINE1(atan, 1.3, of_atan),
    LINE1(sinh, 0.6, of_sinh), LINE1(cosh, 0.6, of_cosh), LINE1(tanh, 0.6, of_tanh), LINE1(asinh, 0.8, of_asinh),
    LINE1(acosh, 1.9, of_acosh), LINE1(atanh, 0.3, of_atanh), LINE1(sigmoid, 0.8, of_sigmoid),
    LINE1(softplus, -0.6, of_softplus), LINE1(gelu, 0.7, of_gelu), LINE1(silu, -1.1, of_silu),
    LINE1(erf, 0.6, of_erf), LINE1(erfc, 0.6, of_erfc), LINE1(lgamma, 1, of_lgamma), LINE1(digamma, 1, of_digamma),
    {OP_polygamma, {.lo = {1}}, 1, {{"", {0}, {1}}}, NULL, {0}, 1, of_polygamma},
    /* A tensor whose entries follow t: twice and minus the numbers' derivatives. */
    {OP_tanh, {.axis = 0}, 1, {{"3", {0}, {1, 1, 1}}}, "3", {3, -1, -1}, 0.4, of_tanh},

    {OP_pow, {.axis = 0}, 2, {{"", {0}, {1}}, {"", {3}, {0}}}, NULL, {0}, 1.3, of_cube},
    {OP_pow, {.axis = 0}, 2, {{"", {0}, {1}}, {"", {3}, {0}}}, NULL, {0}, -0.7, of_cube},
    {OP_pow, {.axis = 0}, 2, {{"", {3}, {0}}, {"", {0}, {1}}}, NULL, {0}, 0.6, of_three_to},
    {OP_pow, {.axis = 0}, 2, {{"", {0}, {1}}, {"", {0}, {1}}}, NULL, {0}, 1.4, of_self_power},
    {OP_atan2, {.axis = 0}, 2, {{"", {0}, {1}}, {"", {1}, {0}}}, NULL, {0}, 0.7, of_atan},
    {OP_atan2, {.axis = 0}, 2, {{"", {1}, {0}}, {"", {0}, {1}}}, NULL, {0}, 0.7, of_turned_atan},
    {OP_atan2, {.axis = 0}, 2, {{"", {0}, {2}}, {"", {2}, {0}}}, NULL, {0}, 0.7, of_atan},

    {OP_prod, {.axes = 1}, 1, {{"3", {0}, {1, 1, 1}}}, NULL, {0}, 0.0, of_cube},
    {OP_logsumexp, {.axes = 1}, 1, {{"2", {0}, {1, 0}}}, NULL, {0}, 0.4, of_softplus},
    {OP_softmax, {.axis = 0}, 1, {{"2", {0}, {1, 0}}}, "2", {1, 0}, 0.4, of_sigmoid},
    {OP_log_softmax, {.axis = 0}, 1, {{"2", {0}, {1, 0}}}, "2", {0, 1}, 0.4, of_minus_softplus},
    {OP_cumprod, {.axis = 0}, 1, {{"3", {0}, {1, 1, 1}}}, "3", {0, 0, 1}, 0.0, of_cube},
    {OP_cumprod, {.axis = 0}, 1, {{"3", {0}, {1, 1, 1}}}, "3", {0, 0, 1}, 1.2, of_cube},
    {OP_logcumsumexp, {.axis = 0}, 1, {{"3", {0}, {0, 1, 0}}}, "3", {1, 1, 0}, 0.4, of_softplus},
    {OP_scan_linear, {.axis = 0}, 2, {{"3", {0}, {0, 1, 1}}, {"3", {0}, {1, 0, 0}}}, "3", {0, 0, 1}, 0.7, of_cube},
    {OP_scan_linear, {.axis = 0, .reversed = true}, 2, {{"2", {0}, {1, 0}}, {"2", {0}, {1, 1}}}, "2", {1, 0}, 0.7,
     of_square_and_self},

    {OP_matmul, {.axis = 0}, 2, {{"1 2", {0, 1}, {1, 0}}, {"2", {0}, {1, 1}}}, NULL, {0}, 0.7, of_square_and_self},
    {OP_matmul_add, {.axis = 0}, 3, {{"1 1", {0}, {1}}, {"1 2", {0}, {1, 0}}, {"2 1", {0}, {1, 1}}}, NULL, {0}, 0.7,
     of_square_and_self},
    {OP_inv, {.axis = 0}, 1, {{"2 2", {2, 1, 1, 0}, {0, 0, 0, 1}}}, "2 2", {1, 0, 0, 0}, 1.6, of_inverse},
    {OP_solve, {.axis = 0}, 2, {{"2 2", {2, 1, 1, 0}, {0, 0, 0, 1}}, {"2", {1, 0}, {0}}}, "2", {1, 0}, 1.6, of_inverse},
    {OP_solve_triangular, {.axis = 0}, 2, {{"2 2", {2, 9, 1, -1}, {0, 0, 0, 2}}, {"2", {0, 0}, {0, 1}}}, "2", {0, 1}, 1.6,
     of_inverse},
    {OP_solve_triangular, {.reversed = true}, 2, {{"2 2", {-1, 1, 9, 2}, {2, 0, 0, 0}}, {"2", {0, 0}, {1, 0}}}, "2",
     {1, 0}, 1.6, of_inverse},
    {OP_det, {.axis = 0}, 1, {{"2 2", {0, 1, 2, 0}, {1, 0, 0, 1}}}, NULL, {0}, 0.8, of_square},
    {OP_det, {.axis = 0}, 1, {{"3 3", {0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}}, NULL, {0}, 0.8, of_cube},
    {OP_logdet, {.axis = 0}, 1, {{"2 2", {2, 1, 1, 0}, {0, 0, 0, 1}}}, NULL, {0}, 1.6, of_log_determinant},
    {OP_cholesky, {.axis = 0}, 1, {{"2 2", {0, 1, 1, 3}, {1, 0, 0, 0}}}, "2 2", {0, 0, 1, 0}, 1.6, of_inverse_root},
    {OP_cofactor, {.axis = 0}, 1, {{"3 3", {0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}}, "3 3", {1}, 0.8, of_square},
    {OP_conv1d, {.step = {1, 0, 1}, .lo = {0, 0, 1}}, 2, {{"1 1 2", {0, 1}, {1, 0}}, {"1 1 2", {0}, {1, 1}}}, NULL,
     {0}, 0.7, of_square_and_self},
};

static bool make_value(context *c, const char *shape, const double *entries, value *out) {
    int64_t dims[MAX_RANK];
    int rank = 0;
    *out = value_f64(entries[0]);
    for (char *end; *shape != '\0'; shape = end) dims[rank++] = strtol(shape, &end, 10);
    if (rank == 0) return true;
    tensor *t = tensor_new(c, DT_F64, rank, dims);
    if (t == NULL) return false;
    memcpy(t->data, entries, (size_t)t->size * sizeof *entries);
    *out = value_tensor(t);
    return true;
}

static bool moves(const line_operand *x) {
    for (int i = 0; i < LINE_ENTRIES; i++)
        if (x->along[i] != 0) return true;
    return false;
}

static bool line_holds(const line *l) {
    curve f;
    double expected[ORDERS + 1] = {0};
    curve_open(&f);
    f.op = l->op;
    f.attrs = l->attrs;
    f.n = l->n;
    bool ok = true;
    for (int k = 0; ok && k < l->n; k++)
        ok = make_value(&f.c, l->in[k].shape, l->in[k].fixed, &f.fixed[k]) &&
             (!moves(&l->in[k]) || make_value(&f.c, l->in[k].shape, l->in[k].along, &f.along[k]));
    if (ok && l->weight_shape != NULL) ok = make_value(&f.c, l->weight_shape, l->weight, &f.weight);
    l->closed(l->t, expected);
    ok = ok && curve_holds(&f, l->t, expected, op_table[l->op].name);
    return curve_close(&f) && ok;
}

START_TEST(lines_have_their_closed_forms) {
    int failed = 0;
    for (size_t i = 0; i < COUNT_OF(lines); i++) failed += !line_holds(&lines[i]);
    ck_assert_msg(failed == 0, "%d lines failed", failed);
}
END_TEST

START_TEST(every_op_is_in_a_table) {
    int ignored = 0;
    memset(covered, 0, sizeof covered);
    rule_cases_walk(check_scaled, &ignored);
    for (size_t i = 0; i < COUNT_OF(lines); i++) covered[lines[i].op]++;
    for (int op = 0; op < OP_COUNT; op++)
        ck_assert_msg(op_table[op].rule == OP_RULE_NONE || covered[op] > 0,
                      "the derivatives of %s are held against no closed form", op_table[op].name);
}
END_TEST

Suite *suite_derivatives(void) {
    Suite *s = suite_create("derivatives");
    TCase *t = tcase_create("derivatives");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, homogeneous_ops_scale_to_third_order);
    tcase_add_test(t, lines_have_their_closed_forms);
    tcase_add_test(t, every_op_is_in_a_table);
    suite_add_tcase(s, t);
    return s;
}
