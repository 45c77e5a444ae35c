/* The reference numerics of the transcendental functions: libm in the next wider type, rounded
 * once. Slow, nearly correctly rounded, and independent of SLEEF. Processors without AVX2 and FMA,
 * which SLEEF's deterministic family needs, compute with these too. */
#include "kernels/functions.h"
#include "kernels/lines.h"

/* P, W the wide type, F its math suffix: every function in the wide type, as type_wide_op. */
#define WIDE_UNARY(op, unused, P, W, F)                                                            \
    static W P##_wide_##op(W x) {                                                                  \
        return op##F(x);                                                                           \
    }
#define WIDE_BINARY(op, unused, P, W, F)                                                           \
    static W P##_wide_##op(W x, W y) {                                                             \
        return op##F(x, y);                                                                        \
    }
#define WIDE_PATCHED(X, ...)                                                                       \
    X(log1p, , __VA_ARGS__)                                                                        \
    X(sinh, , __VA_ARGS__)                                                                         \
    X(cosh, , __VA_ARGS__)                                                                         \
    X(asinh, , __VA_ARGS__)                                                                        \
    X(acosh, , __VA_ARGS__)                                                                        \
    X(sqrt, , __VA_ARGS__)
#define WIDE_FUNCTIONS(P, W, F)                                                                    \
    PLAIN_FUNCTIONS(WIDE_UNARY, P, W, F)                                                           \
    WIDE_PATCHED(WIDE_UNARY, P, W, F)                                                              \
    BINARY_FUNCTIONS(WIDE_BINARY, P, W, F)                                                         \
    /* The plain lgamma writes a global sign. */                                                   \
    static W P##_wide_lgamma(W x) {                                                                \
        int sign;                                                                                  \
        return lgamma##F##_r(x, &sign);                                                            \
    }                                                                                              \
    static W P##_wide_rsqrt(W x) {                                                                 \
        return (W)1 / sqrt##F(x);                                                                  \
    }                                                                                              \
    static W P##_wide_sigmoid(W x) {                                                               \
        W y = exp##F(-fabs##F(x));                                                                 \
        return (x >= (W)0 ? (W)1 : y) / ((W)1 + y);                                                \
    }                                                                                              \
    static W P##_wide_silu(W x) {                                                                  \
        return x * P##_wide_sigmoid(x);                                                            \
    }                                                                                              \
    static W P##_wide_softplus(W x) {                                                              \
        return (x > (W)0 ? x : x <= (W)0 ? (W)0 : x) + log1p##F(exp##F(-fabs##F(x)));              \
    }                                                                                              \
    static W P##_wide_gelu(W x) {                                                                  \
        return (W)0.5 * x * erfc##F(x * (W)-0.70710678118654752440084436210484904L);               \
    }
WIDE_FUNCTIONS(f32, double, )
WIDE_FUNCTIONS(f64, long double, l)

static double f32_wide_digamma(double x) {
    return special_digamma(x);
}
static long double f64_wide_digamma(long double x) {
    return (long double)special_digamma((double)x);
}

#define UNARY(op, unused, P, T, W)                                                                 \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_##P((T)P##_wide_##op((W)in[0].as.P));                                         \
    }                                                                                              \
    static void P##_line_##op(void *const *p, const ptrdiff_t *s, size_t n,                        \
                              const op_attrs *attrs) {                                             \
        (void)attrs;                                                                               \
        T *out = p[0];                                                                             \
        const T *x = p[1];                                                                         \
        for (size_t i = 0; i < n; i++, x += s[1]) out[i] = (T)P##_wide_##op((W)*x);                \
    }
#define BINARY(op, unused, P, T, W)                                                                \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_##P((T)P##_wide_##op((W)in[0].as.P, (W)in[1].as.P));                          \
    }                                                                                              \
    static void P##_line_##op(void *const *p, const ptrdiff_t *s, size_t n,                        \
                              const op_attrs *attrs) {                                             \
        (void)attrs;                                                                               \
        T *out = p[0];                                                                             \
        const T *x = p[1], *y = p[2];                                                              \
        for (size_t i = 0; i < n; i++, x += s[1], y += s[2])                                       \
            out[i] = (T)P##_wide_##op((W)*x, (W)*y);                                               \
    }
#define COMPOSITE_FUNCTIONS(X, ...)                                                                \
    X(sqrt, , __VA_ARGS__)                                                                         \
    X(rsqrt, , __VA_ARGS__)                                                                        \
    X(sigmoid, , __VA_ARGS__)                                                                      \
    X(silu, , __VA_ARGS__)                                                                         \
    X(softplus, , __VA_ARGS__)                                                                     \
    X(gelu, , __VA_ARGS__)                                                                         \
    X(digamma, , __VA_ARGS__)
#define ALL_FUNCTIONS(X1, X2, ...)                                                                 \
    PLAIN_FUNCTIONS(X1, __VA_ARGS__)                                                               \
    PATCHED_FUNCTIONS(X1, __VA_ARGS__)                                                             \
    COMPOSITE_FUNCTIONS(X1, __VA_ARGS__)                                                           \
    BINARY_FUNCTIONS(X2, __VA_ARGS__)
ALL_FUNCTIONS(UNARY, BINARY, f32, float, double)
ALL_FUNCTIONS(UNARY, BINARY, f64, double, long double)

/* polygamma's order is an attribute. */
#define POLYGAMMA(P, T)                                                                            \
    static value P##_number_polygamma(const value *in, const op_attrs *attrs) {                    \
        return value_##P((T)special_polygamma(attrs->axis, (double)in[0].as.P));                   \
    }                                                                                              \
    static void P##_line_polygamma(void *const *p, const ptrdiff_t *s, size_t n,                   \
                                   const op_attrs *attrs) {                                        \
        T *out = p[0];                                                                             \
        const T *x = p[1];                                                                         \
        for (size_t i = 0; i < n; i++, x += s[1])                                                  \
            out[i] = (T)special_polygamma(attrs->axis, (double)*x);                                \
    }
POLYGAMMA(f32, float)
POLYGAMMA(f64, double)

#define NUMBER_ENTRY(op, unused, P, D) [OP_##op][DT_##D] = P##_number_##op,
#define LINE_ENTRY(op, unused, P, D)   [OP_##op][DT_##D] = P##_line_##op,

/* clang-format off */
number_fn *const number_reference[OP_COUNT][DTYPE_COUNT] = {
    ALL_FUNCTIONS(NUMBER_ENTRY, NUMBER_ENTRY, f32, F32)
    ALL_FUNCTIONS(NUMBER_ENTRY, NUMBER_ENTRY, f64, F64)
    NUMBER_ENTRY(polygamma, , f32, F32)
    NUMBER_ENTRY(polygamma, , f64, F64)
};

line_fn *const line_reference[OP_COUNT][DTYPE_COUNT] = {
    ALL_FUNCTIONS(LINE_ENTRY, LINE_ENTRY, f32, F32)
    ALL_FUNCTIONS(LINE_ENTRY, LINE_ENTRY, f64, F64)
    LINE_ENTRY(polygamma, , f32, F32)
    LINE_ENTRY(polygamma, , f64, F64)
};
/* clang-format on */
