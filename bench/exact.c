/* The transcendental functions in quadruple precision (exact.h). */
#include "bench/exact.h"

#include <math.h>

#define LIBM_ONE(X)                                                                                \
    X(cbrt)                                                                                        \
    X(exp)                                                                                         \
    X(exp2)                                                                                        \
    X(expm1)                                                                                       \
    X(log)                                                                                         \
    X(log2)                                                                                        \
    X(log1p)                                                                                       \
    X(sin)                                                                                         \
    X(cos)                                                                                         \
    X(tan)                                                                                         \
    X(asin)                                                                                        \
    X(acos)                                                                                        \
    X(atan)                                                                                        \
    X(sinh)                                                                                        \
    X(cosh)                                                                                        \
    X(tanh)                                                                                        \
    X(asinh)                                                                                       \
    X(acosh)                                                                                       \
    X(atanh)                                                                                       \
    X(erf)                                                                                         \
    X(erfc)                                                                                        \
    X(sqrt)
#define LIBM_TWO(X)                                                                                \
    X(pow)                                                                                         \
    X(atan2)

/* clang does not see glibc's declarations of these. */
#define DECLARE_ONE(op) quad op##f128(quad x);
#define DECLARE_TWO(op) quad op##f128(quad x, quad y);
LIBM_ONE(DECLARE_ONE)
LIBM_TWO(DECLARE_TWO)
quad lgammaf128_r(quad x, int *sign);
quad rintf128(quad x);
quad fabsf128(quad x);

#define DEFINE_ONE(op)                                                                             \
    static quad value_##op(const quad *x) {                                                        \
        return op##f128(x[0]);                                                                     \
    }
#define DEFINE_TWO(op)                                                                             \
    static quad value_##op(const quad *x) {                                                        \
        return op##f128(x[0], x[1]);                                                               \
    }
LIBM_ONE(DEFINE_ONE)
LIBM_TWO(DEFINE_TWO)

static quad value_rsqrt(const quad *x) {
    return (quad)1 / sqrtf128(x[0]);
}

static quad value_sigmoid(const quad *x) {
    return (quad)1 / ((quad)1 + expf128(-x[0]));
}

static quad value_silu(const quad *x) {
    /* The limit, where the quotient would be inf / inf. */
    return x[0] < (quad)-11000 && x[0] * (quad)2 != x[0] ? x[0] * expf128(x[0])
                                                         : x[0] / ((quad)1 + expf128(-x[0]));
}

static quad value_softplus(const quad *x) {
    return (x[0] > (quad)0 ? x[0] : (quad)0) + log1pf128(expf128(-fabsf128(x[0])));
}

static quad value_gelu(const quad *x) {
    return (quad)0.5 * x[0] * erfcf128(-x[0] / sqrtf128((quad)2));
}

static quad value_lgamma(const quad *x) {
    int sign;
    return lgammaf128_r(x[0], &sign);
}

/* ---- digamma and its derivatives ---- */

/* Bernoulli's numbers B2, B4, … B20, as quotients. */
static const double bernoulli[][2] = {{1, 6},       {-1, 30},      {1, 42}, {-1, 30},
                                      {5, 66},      {-691, 2730},  {7, 6},  {-3617, 510},
                                      {43867, 798}, {-174611, 330}};
enum { TERMS = COUNT_OF(bernoulli) };

/* By the asymptotic series, once x has been shifted up to where it holds. */
static quad shifted_digamma(quad x) {
    quad sum = (quad)0, power = (quad)1;
    for (; x < (quad)60; x += (quad)1) sum -= (quad)1 / x;
    for (int k = 0; k < TERMS; k++) {
        power /= x * x;
        sum -= (quad)bernoulli[k][0] / (quad)bernoulli[k][1] * power / (quad)(2 * k + 2);
    }
    return sum + logf128(x) - (quad)0.5 / x;
}

/* Below 0 by shifting too while that is not too far, which no reflection has a part in. */
static quad digamma(quad x) {
    const quad pi = (quad)4 * atanf128((quad)1);
    if (x != x || x > (quad)DBL_MAX) return x;
    quad turn = x - rintf128(x);
    if (x <= (quad)0 && (turn == (quad)0 || x < -(quad)DBL_MAX)) return (quad)NAN;
    if (x > (quad)-2000) return shifted_digamma(x);
    return shifted_digamma((quad)1 - x) - pi / tanf128(pi * turn);
}

/* n! times Hurwitz's zeta(n + 1, x), by Euler and Maclaurin; below 0 by shifting too, so not far
 * below. */
quad exact_polygamma(int order, quad x) {
    if (order == 0) return digamma(x);
    quad n = (quad)order, sum = (quad)0, factorial = (quad)1;
    if (x != x) return x;
    if (x > (quad)DBL_MAX) return (quad)0;
    for (int k = 2; k <= order; k++) factorial *= (quad)k;
    for (; x < (quad)(60 + order); x += (quad)1) {
        if (x == (quad)0) return (order & 1) != 0 ? (quad)INFINITY : (quad)NAN;
        sum += powf128(x, -n - (quad)1);
    }
    sum += powf128(x, -n) / n + powf128(x, -n - (quad)1) / (quad)2;
    quad term = powf128(x, -n - (quad)1) * (n + (quad)1) / (quad)2; /* without Bernoulli's number */
    for (int k = 0; k < TERMS; k++) {
        term /= x;
        sum += (quad)bernoulli[k][0] / (quad)bernoulli[k][1] * term;
        quad m = (quad)(2 * k + 2);
        term *= (n + m) / (m + (quad)1) * (n + m + (quad)1) / (m + (quad)2) / x;
    }
    return ((order & 1) != 0 ? factorial : -factorial) * sum;
}

/* ---- the table ---- */

typedef quad value_fn(const quad *x);

#define ENTRY(op) [OP_##op] = value_##op,
/* clang-format off */
static value_fn *const values[OP_COUNT] = {
    LIBM_ONE(ENTRY) LIBM_TWO(ENTRY)
    ENTRY(rsqrt) ENTRY(sigmoid) ENTRY(silu) ENTRY(softplus) ENTRY(gelu) ENTRY(lgamma)
};
/* clang-format on */

bool exact_knows(op_id op) {
    return values[op] != NULL || op == OP_digamma || op == OP_polygamma;
}

quad exact_value(op_id op, const double *x, int order) {
    if (op == OP_digamma) return exact_polygamma(0, (quad)x[0]);
    if (op == OP_polygamma) return exact_polygamma(order, (quad)x[0]);
    return values[op]((quad[]){(quad)x[0], op_table[op].arity > 1 ? (quad)x[1] : (quad)0});
}

/* ---- distances ---- */

/* The first number that is too large for t. */
static quad beyond(dtype t) {
    return t == DT_F32 ? (quad)0x1p127 * (quad)2 : (quad)0x1p1023 * (quad)2;
}

/* The distance between numbers of t about x. */
static quad spacing(dtype t, quad x) {
    const quad least = t == DT_F32 ? (quad)0x1p-126 : (quad)0x1p-1022;
    quad most = beyond(t) / (quad)2, size = x < (quad)0 ? -x : x;
    int exponent;
    if (size < least) size = least;
    if (size > most) size = most;
    /* Within the range of long double, which may round the size up to the next power of two. */
    (void)frexpl((long double)size, &exponent);
    quad power = (quad)ldexpl(1.0L, exponent - 1);
    if (power > size) power /= (quad)2;
    return power * (t == DT_F32 ? (quad)FLT_EPSILON : (quad)DBL_EPSILON);
}

double exact_ulps(dtype t, double got, quad want) {
    quad most = beyond(t);
    bool lost = got != got;
    if (lost || want != want) return lost && want != want ? 0.0 : (double)INFINITY;
    if (want == (quad)0 && got == 0.0)
        return signbit((double)want) == signbit(got) ? 0.0 : (double)INFINITY;
    quad away = isinf(got) ? (got > 0 ? most : -most) : (quad)got;
    if (want > most) want = most;
    if (want < -most) want = -most;
    quad off = away > want ? away - want : want - away;
    return (double)(off / spacing(t, want));
}

double exact_allowed(op_id op, dtype t, bool reference) {
    if (reference && t == DT_F32) return 0.51;
    return op == OP_lgamma || op == OP_digamma || op == OP_polygamma ? 4.0 : 1.0;
}
