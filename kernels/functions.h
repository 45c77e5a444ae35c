/* The transcendental functions: which SLEEF has, and where its range falls short.
 *
 * SLEEF's header declares each variant only under its target's macro, so the few that are used are
 * declared here: the scalar `purecfma` ones, and in lines_body.inc the vector ones. All belong to
 * the `finz` family, which gives the same bits in every variant. */
#ifndef KINA_KERNELS_FUNCTIONS_H
#define KINA_KERNELS_FUNCTIONS_H

#include <stdbool.h>

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
    X(tan, u10, __VA_ARGS__)                                                                       \
    X(asin, u10, __VA_ARGS__)                                                                      \
    X(acos, u10, __VA_ARGS__)                                                                      \
    X(atan, u10, __VA_ARGS__)                                                                      \
    X(tanh, u10, __VA_ARGS__)                                                                      \
    X(atanh, u10, __VA_ARGS__)                                                                     \
    X(erf, u10, __VA_ARGS__)                                                                       \
    X(erfc, u15, __VA_ARGS__)
/* Those that SLEEF lets overflow early; beyond type_op_far the function type_op_patch takes over.
 */
#define PATCHED_FUNCTIONS(X, ...)                                                                  \
    X(log1p, u10, __VA_ARGS__)                                                                     \
    X(sinh, u10, __VA_ARGS__)                                                                      \
    X(cosh, u10, __VA_ARGS__)                                                                      \
    X(asinh, u10, __VA_ARGS__)                                                                     \
    X(acosh, u10, __VA_ARGS__)                                                                     \
    X(lgamma, u10, __VA_ARGS__)
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
BINARY_FUNCTIONS(DECLARE_BINARY, f32, float, f)
BINARY_FUNCTIONS(DECLARE_BINARY, f64, double, d)
#undef DECLARE_UNARY
#undef DECLARE_BINARY

#define FUNCTION_SCALARS(P, T, F, L, EDGE, FAR)                                                    \
    static inline bool P##_log1p_far(T x) {                                                        \
        return x > (T)FAR;                                                                         \
    }                                                                                              \
    static inline T P##_log1p_patch(T x) {                                                         \
        return Sleef_finz_log##L##1_u10purecfma(x);                                                \
    }                                                                                              \
    /* exp(|x|) / 2 in two halves, neither of which overflows before the result does. */           \
    static inline T P##_half_exp(T x) {                                                            \
        T half = Sleef_finz_exp##L##1_u10purecfma((T)0.5 * fabs##F(x));                            \
        return (T)0.5 * half * half;                                                               \
    }                                                                                              \
    static inline bool P##_sinh_far(T x) {                                                         \
        return fabs##F(x) > (T)EDGE;                                                               \
    }                                                                                              \
    static inline T P##_sinh_patch(T x) {                                                          \
        return copysign##F(P##_half_exp(x), x);                                                    \
    }                                                                                              \
    static inline bool P##_cosh_far(T x) {                                                         \
        return fabs##F(x) > (T)EDGE;                                                               \
    }                                                                                              \
    static inline T P##_cosh_patch(T x) {                                                          \
        return P##_half_exp(x);                                                                    \
    }                                                                                              \
    static inline T P##_log_twice(T x) {                                                           \
        return Sleef_finz_log##L##1_u10purecfma(fabs##F(x)) + (T)0.69314718055994530942;           \
    }                                                                                              \
    static inline bool P##_asinh_far(T x) {                                                        \
        return fabs##F(x) > (T)1e10;                                                               \
    }                                                                                              \
    static inline T P##_asinh_patch(T x) {                                                         \
        return copysign##F(P##_log_twice(x), x);                                                   \
    }                                                                                              \
    static inline bool P##_acosh_far(T x) {                                                        \
        return x > (T)1e10;                                                                        \
    }                                                                                              \
    static inline T P##_acosh_patch(T x) {                                                         \
        return P##_log_twice(x);                                                                   \
    }                                                                                              \
    static inline bool P##_lgamma_far(T x) {                                                       \
        return x > (T)FAR;                                                                         \
    }                                                                                              \
    static inline T P##_lgamma_patch(T x) {                                                        \
        return x * (Sleef_finz_log##L##1_u10purecfma(x) - (T)1);                                   \
    }
FUNCTION_SCALARS(f32, float, f, f, 88, 1e30)
FUNCTION_SCALARS(f64, double, , d, 709, 1e300)
#undef FUNCTION_SCALARS

/* Without a vector form: computed in extended precision, one element at a time (special.c). */
double special_digamma(double x);
/* The n-th derivative of digamma, n >= 1. */
double special_polygamma(int n, double x);
double special_erfinv(double x);

#endif
