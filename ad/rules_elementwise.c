/* Rules of the elementwise ops: the partial derivative by each operand, as a term.
 *
 * A partial reads what ops.def grants it and no more. At kinks and edges it has the value that the
 * language fixes, and where a formula would meet 0 * inf there, the argument is guarded rather than
 * the result, so that the partial can be differentiated again without a NaN. */
#include "ad/rules.h"

/* Most ops have one operand and do not ask which. */
#define PARTIAL(id) term partial_##id(builder *b, const rule_site *s, __attribute__((unused)) int k)
/* The partial is a constant. */
#define CONSTANT_PARTIAL(id)                                                                       \
    term partial_##id(__attribute__((unused)) builder *b,                                          \
                      __attribute__((unused)) const rule_site *s, __attribute__((unused)) int k)

static term one_minus(builder *b, term x) {
    return b_sub(b, b_number(b, x, 1.0), x);
}

static term one_plus(builder *b, term x) {
    return b_add(b, b_number(b, x, 1.0), x);
}

static term scaled(builder *b, term x, double factor) {
    return b_mul(b, x, b_number(b, x, factor));
}

static term square(builder *b, term x) {
    return b_unary(b, OP_square, x);
}

static term reciprocal(builder *b, term x) {
    return b_unary(b, OP_reciprocal, x);
}

/* (1 - x) * (1 + x): 1 - x^2 without its cancellation near the ends. */
static term one_minus_square(builder *b, term x) {
    return b_mul(b, one_minus(b, x), one_plus(b, x));
}

/* exp(-x^2), the density of erf up to a factor. */
static term bell(builder *b, term x) {
    return b_unary(b, OP_exp, b_neg(b, square(b, x)));
}

/* ---- one operand: algebra ---- */

CONSTANT_PARTIAL(neg) {
    return TERM_MINUS_ONE;
}

PARTIAL(abs) {
    return b_unary(b, OP_sign, s->in[0]);
}

PARTIAL(square) {
    return scaled(b, s->in[0], 2.0);
}

PARTIAL(sqrt) {
    return b_div(b, b_number(b, s->out, 0.5), s->out);
}

PARTIAL(rsqrt) {
    return b_div(b, scaled(b, s->out, -0.5), s->in[0]);
}

PARTIAL(cbrt) {
    return b_div(b, b_div(b, b_number(b, s->out, 1.0 / 3.0), s->out), s->out);
}

PARTIAL(reciprocal) {
    return b_neg(b, square(b, s->out));
}

/* ---- exponentials and logarithms ---- */

PARTIAL(exp) {
    (void)b;
    return s->out;
}

PARTIAL(exp2) {
    return scaled(b, s->out, 0.69314718055994530942);
}

PARTIAL(expm1) {
    return one_plus(b, s->out);
}

PARTIAL(log) {
    return reciprocal(b, s->in[0]);
}

PARTIAL(log2) {
    return b_div(b, b_number(b, s->in[0], 1.44269504088896340736), s->in[0]);
}

PARTIAL(log1p) {
    return reciprocal(b, one_plus(b, s->in[0]));
}

/* ---- circular and hyperbolic functions ---- */

PARTIAL(sin) {
    return b_unary(b, OP_cos, s->in[0]);
}

PARTIAL(cos) {
    return b_neg(b, b_unary(b, OP_sin, s->in[0]));
}

PARTIAL(tan) {
    return one_plus(b, square(b, s->out));
}

PARTIAL(asin) {
    return b_unary(b, OP_rsqrt, one_minus_square(b, s->in[0]));
}

PARTIAL(acos) {
    return b_neg(b, b_unary(b, OP_rsqrt, one_minus_square(b, s->in[0])));
}

PARTIAL(atan) {
    return reciprocal(b, one_plus(b, square(b, s->in[0])));
}

PARTIAL(sinh) {
    return b_unary(b, OP_cosh, s->in[0]);
}

PARTIAL(cosh) {
    return b_unary(b, OP_sinh, s->in[0]);
}

PARTIAL(tanh) {
    return one_minus(b, square(b, s->out));
}

PARTIAL(asinh) {
    return b_unary(b, OP_rsqrt, one_plus(b, square(b, s->in[0])));
}

PARTIAL(acosh) {
    term x = s->in[0], one = b_number(b, x, 1.0);
    return b_unary(b, OP_rsqrt, b_mul(b, b_sub(b, x, one), b_add(b, x, one)));
}

PARTIAL(atanh) {
    return reciprocal(b, one_minus_square(b, s->in[0]));
}

/* ---- activations ---- */

PARTIAL(sigmoid) {
    return b_mul(b, s->out, one_minus(b, s->out));
}

PARTIAL(softplus) {
    return b_unary(b, OP_sigmoid, s->in[0]);
}

PARTIAL(relu) {
    return b_unary(b, OP_step, s->out);
}

/* Phi(x) + x * phi(x) of the normal distribution; erfc keeps the left tail's digits. */
PARTIAL(gelu) {
    term x = s->in[0], y = scaled(b, x, 0.70710678118654752440);
    term below = scaled(b, b_unary(b, OP_erfc, b_neg(b, y)), 0.5);
    term density = scaled(b, bell(b, y), 0.39894228040143267794);
    return b_add(b, below, b_mul(b, x, density));
}

PARTIAL(silu) {
    term x = s->in[0], y = b_unary(b, OP_sigmoid, x);
    return b_mul(b, y, one_plus(b, b_mul(b, x, one_minus(b, y))));
}

/* ---- special functions ---- */

PARTIAL(erf) {
    return scaled(b, bell(b, s->in[0]), 1.12837916709551257390);
}

PARTIAL(erfc) {
    return scaled(b, bell(b, s->in[0]), -1.12837916709551257390);
}

static term polygamma(builder *b, term x, int64_t order) {
    return b_perform(b, OP_polygamma, &(op_attrs){.lo = {order}}, 1, &x);
}

PARTIAL(lgamma) {
    return b_unary(b, OP_digamma, s->in[0]);
}

PARTIAL(digamma) {
    return polygamma(b, s->in[0], 1);
}

PARTIAL(polygamma) {
    return polygamma(b, s->in[0], s->attrs->lo[0] + 1);
}

/* ---- two operands ---- */

CONSTANT_PARTIAL(add) {
    return TERM_ONE;
}

CONSTANT_PARTIAL(sub) {
    return k == 0 ? TERM_ONE : TERM_MINUS_ONE;
}

PARTIAL(mul) {
    (void)b;
    return s->in[1 - k];
}

PARTIAL(div) {
    if (k == 0) return reciprocal(b, s->in[1]);
    return b_neg(b, b_div(b, s->out, s->in[1]));
}

PARTIAL(mod) {
    if (k == 0) return TERM_ONE;
    return b_neg(b, b_unary(b, OP_floor, b_div(b, s->in[0], s->in[1])));
}

/* The least normal number: its reciprocal is finite. */
static double least_normal(builder *b, term like) {
    if (!b_alive(b, 1, &like)) return 0.0;
    return b->type(b, like)->dtype == DT_F32 ? 0x1p-126 : 0x1p-1022;
}

/* By the base: y * x^(y-1). Where y = 0 that is 0 * x^-1, so there a base whose reciprocal is no
 * number counts as 1. The factor y stays, as the derivative by y of this partial is not 0. */
static term pow_by_base(builder *b, term x, term y) {
    term safe =
        b_binary(b, OP_or, b_binary(b, OP_ne, y, b_number(b, y, 0.0)),
                 b_binary(b, OP_ge, b_unary(b, OP_abs, x), b_number(b, x, least_normal(b, x))));
    term base = b_where(b, safe, x, b_number(b, x, 1.0));
    return b_mul(b, y, b_binary(b, OP_pow, base, b_sub(b, y, b_number(b, y, 1.0))));
}

/* By the exponent: x^y * log(x). Where x = 0 and y >= 0 the logarithm counts as 0. */
static term pow_by_exponent(builder *b, term x, term y, term out) {
    term edge = b_binary(b, OP_and, b_binary(b, OP_eq, x, b_number(b, x, 0.0)),
                         b_binary(b, OP_ge, y, b_number(b, y, 0.0)));
    term base = b_where(b, edge, b_number(b, x, 1.0), x);
    return b_mul(b, out, b_unary(b, OP_log, base));
}

PARTIAL(pow) {
    return k == 0 ? pow_by_base(b, s->in[0], s->in[1])
                  : pow_by_exponent(b, s->in[0], s->in[1], s->out);
}

/* x / (x^2 + y^2) and -y / (x^2 + y^2), both 0 at the origin. */
PARTIAL(atan2) {
    term y = s->in[0], x = s->in[1];
    term r2 = b_add(b, square(b, x), square(b, y));
    term origin = b_binary(b, OP_eq, r2, b_number(b, r2, 0.0));
    term safe = b_where(b, origin, b_number(b, r2, 1.0), r2);
    term slope = b_div(b, k == 0 ? x : b_neg(b, y), safe);
    return b_where(b, origin, b_number(b, slope, 0.0), slope);
}

/* 1 where the comparison op says that x is taken over y, 1/2 where they are equal, else 0. */
static term taken(builder *b, op_id op, term x, term y) {
    term tie = b_where(b, b_binary(b, OP_eq, x, y), b_number(b, x, 0.5), b_number(b, x, 0.0));
    return b_where(b, b_binary(b, op, x, y), b_number(b, x, 1.0), tie);
}

PARTIAL(maximum) {
    return taken(b, OP_gt, s->in[k], s->in[1 - k]);
}

PARTIAL(minimum) {
    return taken(b, OP_lt, s->in[k], s->in[1 - k]);
}

/* b_mul is strong where this op's rule is asked for. */
void vjp_strong_mul(builder *b, const rule_site *s) {
    for (int k = 0; k < 2; k++)
        if (s->wants[k]) b_contribute(b, k, b_unbroadcast(b, s, k, b_mul(b, s->d, s->in[1 - k])));
}

term jvp_strong_mul(builder *b, const rule_site *s) {
    term sum = TERM_NONE;
    for (int k = 0; k < 2; k++) {
        if (s->tangent[k] == TERM_NONE) continue;
        term t = b_mul(b, s->tangent[k], s->in[1 - k]);
        sum = sum == TERM_NONE ? t : b_add(b, sum, t);
    }
    return sum;
}

/* ---- three operands ---- */

/* At a bound the slope is x's; a bound has it where x lies strictly beyond. */
PARTIAL(clamp) {
    term x = s->in[0], condition;
    if (k == 0)
        condition =
            b_binary(b, OP_and, b_binary(b, OP_ge, x, s->in[1]), b_binary(b, OP_le, x, s->in[2]));
    else
        condition = b_binary(b, k == 1 ? OP_lt : OP_gt, x, s->in[k]);
    return b_where(b, condition, b_number(b, x, 1.0), b_number(b, x, 0.0));
}

/* Selected, not multiplied: the side not taken receives exact zeros whatever the cotangent holds.
 */
void vjp_where(builder *b, const rule_site *s) {
    for (int k = 1; k <= 2; k++) {
        if (!s->wants[k]) continue;
        term zero = b_number(b, s->d, 0.0);
        term t = b_where(b, s->in[0], k == 1 ? s->d : zero, k == 1 ? zero : s->d);
        t = b_unbroadcast(b, s, k, t);
        b_contribute(b, k, t);
    }
}

term jvp_where(builder *b, const rule_site *s) {
    term x = s->tangent[1], y = s->tangent[2];
    if (x == TERM_NONE && y == TERM_NONE) return TERM_NONE;
    if (x == TERM_NONE) x = b_number(b, y, 0.0);
    if (y == TERM_NONE) y = b_number(b, x, 0.0);
    return b_where(b, s->in[0], x, y);
}
