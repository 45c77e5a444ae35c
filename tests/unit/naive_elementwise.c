/* The elementwise ops, naively (naive.h). */
#include <math.h>

#include "tests/unit/naive.h"

static cell operand(const application *a, int k, const int64_t *at) {
    int64_t own[MAX_RANK] = {0};
    naive_meet(a, k, at, own);
    return naive_cell(a, k, own);
}

static bool floating(const application *a) {
    return dtype_floating(naive_dtype(a, a->n - 1));
}

/* ---- arithmetic: F32 in F64 and rounded, which for one operation is the same ---- */

#define UNARY(op, ON_FLOATS, ON_INTEGERS)                                                          \
    cell naive_op_##op(const application *a, const int64_t *at) {                                  \
        cell c = operand(a, 0, at);                                                                \
        double x = (double)c.f;                                                                    \
        int64_t i = c.i;                                                                           \
        (void)x, (void)i;                                                                          \
        return floating(a) ? cell_float(ON_FLOATS) : cell_int(naive_wrap(a, (ON_INTEGERS)));       \
    }
#define WRAPPED(sign, i, j) (int64_t)((uint64_t)(i)sign(uint64_t)(j))

UNARY(neg, copysign(x, signbit(x) ? 1.0 : -1.0), WRAPPED(-, 0, i))
UNARY(abs, fabs(x), i < 0 ? WRAPPED(-, 0, i) : i)
UNARY(sign, isnan(x) ? x : x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0, i > 0 ? 1 : i < 0 ? -1 : 0)
UNARY(square, x *x, WRAPPED(*, i, i))
UNARY(reciprocal, 1.0 / x, 0)
UNARY(relu, isnan(x) ? x : x > 0.0 ? x : 0.0, i > 0 ? i : 0)
UNARY(floor, floor(x), 0)
UNARY(ceil, ceil(x), 0)
UNARY(round, nearbyint(x), 0)
UNARY(step, isnan(x) ? x : x > 0.0 ? 1.0 : 0.0, 0)
UNARY(not, 0.0, !i)
UNARY(identity, x, i)
UNARY(carry, x, i)

static double modulo(double x, double y) {
    double r = fmod(x, y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r == 0.0 ? copysign(0.0, y) : r;
}

static int64_t remainder_of(int64_t x, int64_t y) {
    return y == -1 ? 0 : x % y;
}

static int64_t floor_modulo(int64_t x, int64_t y) {
    int64_t r = remainder_of(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

#define BINARY(op, ON_FLOATS, ON_INTEGERS)                                                         \
    cell naive_op_##op(const application *a, const int64_t *at) {                                  \
        cell p = operand(a, 0, at), q = operand(a, 1, at);                                         \
        double x = (double)p.f, y = (double)q.f;                                                   \
        int64_t i = p.i, j = q.i;                                                                  \
        (void)x, (void)y, (void)i, (void)j;                                                        \
        return floating(a) ? cell_float(ON_FLOATS) : cell_int(naive_wrap(a, (ON_INTEGERS)));       \
    }
BINARY(add, x + y, WRAPPED(+, i, j))
BINARY(sub, x - y, WRAPPED(-, i, j))
BINARY(mul, x *y, WRAPPED(*, i, j))
BINARY(strong_mul, isnan(x *y) && (x == 0.0 || y == 0.0) ? 0.0 : x * y, 0)
BINARY(div, x / y, j == -1 ? WRAPPED(-, 0, i) : i / j)
BINARY(rem, 0.0, remainder_of(i, j))
BINARY(mod, modulo(x, y), floor_modulo(i, j))
BINARY(maximum, isnan(x) ? x : x > y ? x : y, i > j ? i : j)
BINARY(minimum, isnan(x) ? x : x < y ? x : y, i < j ? i : j)
BINARY(and, 0.0, i &&j)
BINARY(or, 0.0, i || j)

#define COMPARE(op, relation)                                                                      \
    cell naive_op_##op(const application *a, const int64_t *at) {                                  \
        cell p = operand(a, 0, at), q = operand(a, 1, at);                                         \
        return cell_int(floating(a) ? p.f relation q.f : p.i relation q.i);                        \
    }
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)
COMPARE(eq, ==)
COMPARE(ne, !=)

cell naive_op_where(const application *a, const int64_t *at) {
    return operand(a, 0, at).i != 0 ? operand(a, 1, at) : operand(a, 2, at);
}

cell naive_op_clamp(const application *a, const int64_t *at) {
    cell x = operand(a, 0, at), lo = operand(a, 1, at), hi = operand(a, 2, at);
    if (!floating(a)) {
        x = x.i > lo.i ? x : lo;
        return x.i < hi.i ? x : hi;
    }
    x = x.f > lo.f || x.f != x.f ? x : lo;
    return x.f < hi.f || x.f != x.f ? x : hi;
}

/* Saturating, NaN as 0. */
static int64_t whole(double x, int64_t least, int64_t most) {
    if (isnan(x)) return 0;
    if (x <= (double)least) return least;
    return x >= (double)most ? most : (int64_t)x;
}

cell naive_op_cast(const application *a, const int64_t *at) {
    cell c = operand(a, 0, at);
    bool from = floating(a);
    switch ((dtype)a->attrs.dtype) {
    case DT_I32:
        return from ? cell_int(whole((double)c.f, INT32_MIN, INT32_MAX)) : cell_int((int32_t)c.i);
    case DT_I64: return from ? cell_int(whole((double)c.f, INT64_MIN, INT64_MAX)) : c;
    case DT_Bool: return cell_int(from ? c.f != (quad)0 : c.i != 0);
    default: return (cell){.f = from ? c.f : (quad)c.i};
    }
}

/* ---- functions ---- */

static cell function(const application *a, const int64_t *at) {
    dtype t = naive_dtype(a, 0);
    double x[2] = {0, 0};
    for (int k = 0; k < a->n; k++) x[k] = (double)operand(a, k, at).f;
    int order = (int)a->attrs.lo[0];
    /* A derivative of digamma is known where shifting reaches 1 soon enough. The compiled numerics
     * are libm's, whose accuracy is not ours to promise. */
    if ((a->op == OP_polygamma && x[0] < -300.0) || a->how == NUMERICS_COMPILED)
        return (cell){.any = true};
    double allowed = exact_allowed(a->op, t, a->how == NUMERICS_REFERENCE);
    return (cell){.f = exact_value(a->op, x, order), .ulps = allowed};
}

#define FUNCTION(op)                                                                               \
    cell naive_op_##op(const application *a, const int64_t *at) {                                  \
        return function(a, at);                                                                    \
    }
FUNCTION(sqrt)
FUNCTION(rsqrt)
FUNCTION(cbrt)
FUNCTION(exp)
FUNCTION(exp2)
FUNCTION(expm1)
FUNCTION(log)
FUNCTION(log2)
FUNCTION(log1p)
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(tan)
FUNCTION(asin)
FUNCTION(acos)
FUNCTION(atan)
FUNCTION(sinh)
FUNCTION(cosh)
FUNCTION(tanh)
FUNCTION(asinh)
FUNCTION(acosh)
FUNCTION(atanh)
FUNCTION(sigmoid)
FUNCTION(softplus)
FUNCTION(gelu)
FUNCTION(silu)
FUNCTION(erf)
FUNCTION(erfc)
FUNCTION(lgamma)
FUNCTION(digamma)
FUNCTION(polygamma)
FUNCTION(pow)
FUNCTION(atan2)
