/* The transcendental functions: which SLEEF has, and where its range falls short.
 *
 * SLEEF's header declares each variant only under its target's macro, so the few that are used are
 * declared here: the scalar `purecfma` ones, and in lines_body.inc the vector ones. All belong to
 * the `finz` family, which gives the same bits in every variant. */
#ifndef KINA_KERNELS_FUNCTIONS_H
#define KINA_KERNELS_FUNCTIONS_H

#include <stdbool.h>

#include "kernels/logistic.h"
#include "kernels/scalar.h"

/* X(op, accuracy suffix, …): functions of one argument that need no patch. */
#define PLAIN_FUNCTIONS(X, ...)                                                                    \
    X(cbrt, u10, __VA_ARGS__)                                                                      \
    X(exp, u10, __VA_ARGS__)                                                                       \
    X(exp2, u10, __VA_ARGS__)                                                                      \
    X(expm1, u10, __VA_ARGS__)                                                                     \
    X(log, u10, __VA_ARGS__)                                                                       \
    X(log2, u10, __VA_ARGS__)                                                                      \
    X(sin, u10, __VA_ARGS__)                                                                       \
    X(cos, u10, __VA_ARGS__)                                                                       \
    X(asin, u10, __VA_ARGS__)                                                                      \
    X(acos, u10, __VA_ARGS__)                                                                      \
    X(atan, u10, __VA_ARGS__)
/* Those that SLEEF lets overflow early, or that it rounds away from an argument which is so small
 * that it is the result: where type_op_far holds, the function type_op_patch takes over. */
#define PATCHED_FUNCTIONS(X, ...)                                                                  \
    X(log1p, u10, __VA_ARGS__)                                                                     \
    X(sinh, u10, __VA_ARGS__)                                                                      \
    X(cosh, u10, __VA_ARGS__)                                                                      \
    X(tanh, u10, __VA_ARGS__)                                                                      \
    X(tan, u10, __VA_ARGS__)                                                                       \
    X(erf, u10, __VA_ARGS__)                                                                       \
    X(asinh, u10, __VA_ARGS__)                                                                     \
    X(acosh, u10, __VA_ARGS__)                                                                     \
    X(atanh, u10, __VA_ARGS__)
/* Likewise in F64 alone. What these lose is more than F32 has to spare: it computes them in F64. */
#define PATCHED_F64(X, ...)                                                                        \
    X(erfc, u15, __VA_ARGS__)                                                                      \
    X(lgamma, u10, __VA_ARGS__)
#define WIDENED_F32(X, ...)                                                                        \
    X(rsqrt, __VA_ARGS__)                                                                          \
    X(erfc, __VA_ARGS__)                                                                           \
    X(gelu, __VA_ARGS__)                                                                           \
    X(lgamma, __VA_ARGS__)
#define BINARY_FUNCTIONS(X, ...)                                                                   \
    X(pow, u10, __VA_ARGS__)                                                                       \
    X(atan2, u10, __VA_ARGS__)

#define DECLARE_UNARY(op, accuracy, P, T, L) T Sleef_finz_##op##L##1_##accuracy##purecfma(T x);
#define DECLARE_BINARY(op, accuracy, P, T, L)                                                      \
    T Sleef_finz_##op##L##1_##accuracy##purecfma(T x, T y);
PLAIN_FUNCTIONS(DECLARE_UNARY, f32, float, f)
PLAIN_FUNCTIONS(DECLARE_UNARY, f64, double, d)
PATCHED_FUNCTIONS(DECLARE_UNARY, f32, float, f)
PATCHED_FUNCTIONS(DECLARE_UNARY, f64, double, d)
PATCHED_F64(DECLARE_UNARY, f64, double, d)
BINARY_FUNCTIONS(DECLARE_BINARY, f32, float, f)
BINARY_FUNCTIONS(DECLARE_BINARY, f64, double, d)
#undef DECLARE_UNARY
#undef DECLARE_BINARY

/* Without a vector form: computed in extended precision, one element at a time (special.c). */
double special_pow(double x, double y);
double special_erfc(double x);
double special_gelu(double x);
double special_lgamma(double x);
double special_digamma(double x);
/* The n-th derivative of digamma, n >= 1. */
double special_polygamma(int n, double x);
double special_erfinv(double x);

#define FUNCTION_SCALARS(P, T, F, L, EDGE, FAR, CUBE_LOST, SQUARE_LOST)                            \
    static inline bool P##_small(T x, T bound) {                                                   \
        return fabs##F(x) < bound && x != (T)0;                                                    \
    }                                                                                              \
    /* Whether SLEEF's result r of two finite operands is to be replaced: it overflows a little    \
     * early. */                                                                                   \
    static inline bool P##_pow_far(T x, T r) {                                                     \
        return isinf(r) && x != (T)0;                                                              \
    }                                                                                              \
    static inline T P##_pow_patch(T x, T y) {                                                      \
        return (T)special_pow((double)x, (double)y);                                               \
    }                                                                                              \
    static inline bool P##_atan2_far(T x, T r) {                                                   \
        (void)x, (void)r;                                                                          \
        return false;                                                                              \
    }                                                                                              \
    static inline T P##_atan2_patch(T y, T x) {                                                    \
        (void)x;                                                                                   \
        return y;                                                                                  \
    }                                                                                              \
    static inline bool P##_log1p_far(T x) {                                                        \
        return x > (T)FAR || P##_small(x, (T)SQUARE_LOST);                                         \
    }                                                                                              \
    static inline T P##_log1p_patch(T x) {                                                         \
        return x > (T)1 ? Sleef_finz_log##L##1_u10purecfma(x) : x;                                 \
    }                                                                                              \
    /* exp(|x|) / 2, where that is all that is left of it. */                                      \
    static inline T P##_half_exp(T x) {                                                            \
        T size = fabs##F(x);                                                                       \
        P##_parts e = P##_exp_parts(size < (T)1000 ? size : (T)1000);                              \
        return x == x ? ldexp##F(e.high + e.low, (int)e.k - 1) : x;                                \
    }                                                                                              \
    static inline bool P##_sinh_far(T x) {                                                         \
        return fabs##F(x) > (T)EDGE || P##_small(x, (T)CUBE_LOST);                                 \
    }                                                                                              \
    static inline T P##_sinh_patch(T x) {                                                          \
        return fabs##F(x) < (T)1 ? x : copysign##F(P##_half_exp(x), x);                            \
    }                                                                                              \
    static inline bool P##_cosh_far(T x) {                                                         \
        return fabs##F(x) > (T)EDGE;                                                               \
    }                                                                                              \
    static inline T P##_cosh_patch(T x) {                                                          \
        return P##_half_exp(x);                                                                    \
    }                                                                                              \
    static inline bool P##_tanh_far(T x) {                                                         \
        return P##_small(x, (T)CUBE_LOST);                                                         \
    }                                                                                              \
    static inline T P##_tanh_patch(T x) {                                                          \
        return x;                                                                                  \
    }                                                                                              \
    static inline bool P##_tan_far(T x) {                                                          \
        return P##_small(x, (T)CUBE_LOST);                                                         \
    }                                                                                              \
    static inline T P##_tan_patch(T x) {                                                           \
        return x;                                                                                  \
    }                                                                                              \
    /* 2 / sqrt(pi) - 1 */                                                                         \
    static inline bool P##_erf_far(T x) {                                                          \
        return P##_small(x, (T)CUBE_LOST);                                                         \
    }                                                                                              \
    static inline T P##_erf_patch(T x) {                                                           \
        return __builtin_fma##F(x, (T)0.12837916709551257390, x);                                  \
    }                                                                                              \
    static inline bool P##_atanh_far(T x) {                                                        \
        return P##_small(x, (T)CUBE_LOST);                                                         \
    }                                                                                              \
    static inline T P##_atanh_patch(T x) {                                                         \
        return x;                                                                                  \
    }                                                                                              \
    static inline T P##_log_twice(T x) {                                                           \
        return Sleef_finz_log##L##1_u10purecfma(fabs##F(x)) + (T)0.69314718055994530942;           \
    }                                                                                              \
    static inline bool P##_asinh_far(T x) {                                                        \
        return fabs##F(x) > (T)1e10 || P##_small(x, (T)CUBE_LOST);                                 \
    }                                                                                              \
    static inline T P##_asinh_patch(T x) {                                                         \
        return fabs##F(x) < (T)1 ? x : copysign##F(P##_log_twice(x), x);                           \
    }                                                                                              \
    static inline bool P##_acosh_far(T x) {                                                        \
        return x > (T)1e10;                                                                        \
    }                                                                                              \
    static inline T P##_acosh_patch(T x) {                                                         \
        return P##_log_twice(x);                                                                   \
    }
FUNCTION_SCALARS(f32, float, f, f, 88, 1e30, 0x1p-13, 0x1p-25)
FUNCTION_SCALARS(f64, double, , d, 709, 1e300, 0x1p-27, 0x1p-54)
#undef FUNCTION_SCALARS

/* 1 / sqrt(x) from s, the root: what rounding took from s and from the quotient is put back to
 * first order. The remainder of x is exact where x is not very small; that is brought up by a power
 * of 4 before. */
static inline double f64_rsqrt_scale(double x) {
    return x < 0x1p-900 ? 0x1p108 : 1.0;
}
static inline double f64_rsqrt_last(double x, double s) {
    double y = 1.0 / s, rest = __builtin_fma(-s, s, x);
    double better = y + y * (__builtin_fma(-y, s, 1.0) - rest * 0.5 * y * y);
    return x > 0.0 && x <= DBL_MAX ? better : y;
}

/* gelu of an F32 in F64: erfc's argument, and the result from erfc's y. */
static inline double f64_gelu_first(double x) {
    return x * -0.70710678118654752440;
}
static inline double f64_gelu_last(double x, double y) {
    return 0.5 * x * y;
}

static inline bool f64_erfc_far(double x) {
    return x > 26.0;
}
static inline double f64_erfc_patch(double x) {
    return special_erfc(x);
}
static inline bool f64_lgamma_far(double x) {
    return x < 0.5 || x > 1e300;
}
static inline double f64_lgamma_patch(double x) {
    return x > 1.0 ? x * (Sleef_finz_logd1_u10purecfma(x) - 1.0) : special_lgamma(x);
}

#endif
