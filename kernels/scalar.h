/* Each elementwise op on one element, once: numbers, tails and vector loops are all made from
 * these, which is why their bits agree. Names are type_op; the lists at the end say which ops a
 * type has. */
#ifndef KINA_KERNELS_SCALAR_H
#define KINA_KERNELS_SCALAR_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* P prefix, T type, F suffix of the math functions. Only correctly rounded operations appear here.
 */
#define FLOAT_SCALARS(P, T, F)                                                                     \
    static inline T P##_neg(T x) {                                                                 \
        return -x;                                                                                 \
    }                                                                                              \
    static inline T P##_abs(T x) {                                                                 \
        return fabs##F(x);                                                                         \
    }                                                                                              \
    static inline T P##_sign(T x) {                                                                \
        return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? (T)0 : x;                          \
    }                                                                                              \
    static inline T P##_square(T x) {                                                              \
        return x * x;                                                                              \
    }                                                                                              \
    static inline T P##_reciprocal(T x) {                                                          \
        return (T)1 / x;                                                                           \
    }                                                                                              \
    static inline T P##_relu(T x) {                                                                \
        return x > (T)0 ? x : x <= (T)0 ? (T)0 : x;                                                \
    }                                                                                              \
    static inline T P##_floor(T x) {                                                               \
        return floor##F(x);                                                                        \
    }                                                                                              \
    static inline T P##_ceil(T x) {                                                                \
        return ceil##F(x);                                                                         \
    }                                                                                              \
    static inline T P##_round(T x) {                                                               \
        return rint##F(x);                                                                         \
    }                                                                                              \
    static inline T P##_step(T x) {                                                                \
        return x > (T)0 ? (T)1 : x <= (T)0 ? (T)0 : x;                                             \
    }                                                                                              \
    static inline T P##_add(T x, T y) {                                                            \
        return x + y;                                                                              \
    }                                                                                              \
    static inline T P##_sub(T x, T y) {                                                            \
        return x - y;                                                                              \
    }                                                                                              \
    static inline T P##_mul(T x, T y) {                                                            \
        return x * y;                                                                              \
    }                                                                                              \
    static inline T P##_strong_mul(T x, T y) {                                                     \
        T r = x * y;                                                                               \
        return (r != r) & ((x == (T)0) | (y == (T)0)) ? (T)0 : r;                                  \
    }                                                                                              \
    static inline T P##_div(T x, T y) {                                                            \
        return x / y;                                                                              \
    }                                                                                              \
    /* The remainder with y's sign, exact as fmod's is. */                                         \
    static inline T P##_mod(T x, T y) {                                                            \
        T r = fmod##F(x, y);                                                                       \
        if (r == (T)0) return copysign##F(r, y);                                                   \
        return (r < (T)0) != (y < (T)0) ? r + y : r;                                               \
    }                                                                                              \
    static inline T P##_maximum(T x, T y) {                                                        \
        return ((x > y) | (x != x)) ? x : y; /* both comparisons: no branch */                     \
    }                                                                                              \
    static inline T P##_minimum(T x, T y) {                                                        \
        return ((x < y) | (x != x)) ? x : y;                                                       \
    }
FLOAT_SCALARS(f32, float, f)
FLOAT_SCALARS(f64, double, )
#undef FLOAT_SCALARS

/* U the unsigned type, in which overflow wraps. Callers have excluded y = 0 from div, rem and mod;
 * should it come all the same the result is 0 and not a trap. */
#define INTEGER_SCALARS(P, T, U)                                                                   \
    static inline T P##_neg(T x) {                                                                 \
        return (T)((U)0 - (U)x);                                                                   \
    }                                                                                              \
    static inline T P##_abs(T x) {                                                                 \
        return x < 0 ? P##_neg(x) : x;                                                             \
    }                                                                                              \
    static inline T P##_sign(T x) {                                                                \
        return (T)((x > 0) - (x < 0));                                                             \
    }                                                                                              \
    static inline T P##_relu(T x) {                                                                \
        return x > 0 ? x : 0;                                                                      \
    }                                                                                              \
    static inline T P##_add(T x, T y) {                                                            \
        return (T)((U)x + (U)y);                                                                   \
    }                                                                                              \
    static inline T P##_sub(T x, T y) {                                                            \
        return (T)((U)x - (U)y);                                                                   \
    }                                                                                              \
    static inline T P##_mul(T x, T y) {                                                            \
        return (T)((U)x * (U)y);                                                                   \
    }                                                                                              \
    static inline T P##_square(T x) {                                                              \
        return P##_mul(x, x);                                                                      \
    }                                                                                              \
    static inline T P##_div(T x, T y) {                                                            \
        return y == -1 ? P##_neg(x) : y == 0 ? 0 : x / y;                                          \
    }                                                                                              \
    static inline T P##_rem(T x, T y) {                                                            \
        return y == -1 || y == 0 ? 0 : x % y;                                                      \
    }                                                                                              \
    static inline T P##_mod(T x, T y) {                                                            \
        T r = P##_rem(x, y);                                                                       \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                           \
    }                                                                                              \
    static inline T P##_maximum(T x, T y) {                                                        \
        return x > y ? x : y;                                                                      \
    }                                                                                              \
    static inline T P##_minimum(T x, T y) {                                                        \
        return x < y ? x : y;                                                                      \
    }
INTEGER_SCALARS(i32, int32_t, uint32_t)
INTEGER_SCALARS(i64, int64_t, uint64_t)
#undef INTEGER_SCALARS

#define NUMERIC_SCALARS(P, T)                                                                      \
    static inline bool P##_lt(T x, T y) {                                                          \
        return x < y;                                                                              \
    }                                                                                              \
    static inline bool P##_le(T x, T y) {                                                          \
        return x <= y;                                                                             \
    }                                                                                              \
    static inline bool P##_gt(T x, T y) {                                                          \
        return x > y;                                                                              \
    }                                                                                              \
    static inline bool P##_ge(T x, T y) {                                                          \
        return x >= y;                                                                             \
    }                                                                                              \
    static inline bool P##_eq(T x, T y) {                                                          \
        return x == y;                                                                             \
    }                                                                                              \
    static inline bool P##_ne(T x, T y) {                                                          \
        return x != y;                                                                             \
    }                                                                                              \
    static inline T P##_clamp(T x, T lo, T hi) {                                                   \
        return P##_minimum(P##_maximum(x, lo), hi);                                                \
    }                                                                                              \
    static inline bool P##_to_b8(T x) {                                                            \
        return x != 0;                                                                             \
    }
NUMERIC_SCALARS(f32, float)
NUMERIC_SCALARS(f64, double)
NUMERIC_SCALARS(i32, int32_t)
NUMERIC_SCALARS(i64, int64_t)
#undef NUMERIC_SCALARS

static inline bool b8_not(bool x) {
    return !x;
}
static inline bool b8_and(bool x, bool y) {
    return x & y;
}
static inline bool b8_or(bool x, bool y) {
    return x | y;
}
static inline bool b8_eq(bool x, bool y) {
    return x == y;
}
static inline bool b8_ne(bool x, bool y) {
    return x != y;
}
static inline bool b8_to_b8(bool x) {
    return x;
}

/* Conversions: to a float rounds, float to integer saturates with NaN as 0, integer to integer
 * wraps. */
#define SATURATE(P, T, Q, I, LOW, HIGH)                                                            \
    static inline I P##_to_##Q(T x) {                                                              \
        return x != x ? 0 : x >= -(T)LOW ? HIGH : x < (T)LOW ? LOW : (I)x;                         \
    }
SATURATE(f32, float, i32, int32_t, INT32_MIN, INT32_MAX)
SATURATE(f32, float, i64, int64_t, INT64_MIN, INT64_MAX)
SATURATE(f64, double, i32, int32_t, INT32_MIN, INT32_MAX)
SATURATE(f64, double, i64, int64_t, INT64_MIN, INT64_MAX)
#undef SATURATE

#define CONVERT(P, T, Q, R)                                                                        \
    static inline R P##_to_##Q(T x) {                                                              \
        return (R)x;                                                                               \
    }
CONVERT(f32, float, f32, float)
CONVERT(f32, float, f64, double)
CONVERT(f64, double, f32, float)
CONVERT(f64, double, f64, double)
CONVERT(i32, int32_t, f32, float)
CONVERT(i32, int32_t, f64, double)
CONVERT(i32, int32_t, i32, int32_t)
CONVERT(i32, int32_t, i64, int64_t)
CONVERT(i64, int64_t, f32, float)
CONVERT(i64, int64_t, f64, double)
CONVERT(i64, int64_t, i32, int32_t)
CONVERT(i64, int64_t, i64, int64_t)
CONVERT(b8, bool, f32, float)
CONVERT(b8, bool, f64, double)
CONVERT(b8, bool, i32, int32_t)
CONVERT(b8, bool, i64, int64_t)
#undef CONVERT

/* The lists: X(op, …) for each op, with the caller's further arguments passed through. */
#define FLOAT_UNARY_OPS(X, ...)                                                                    \
    X(neg, __VA_ARGS__)                                                                            \
    X(abs, __VA_ARGS__)                                                                            \
    X(sign, __VA_ARGS__)                                                                           \
    X(square, __VA_ARGS__)                                                                         \
    X(reciprocal, __VA_ARGS__)                                                                     \
    X(relu, __VA_ARGS__)                                                                           \
    X(floor, __VA_ARGS__)                                                                          \
    X(ceil, __VA_ARGS__)                                                                           \
    X(round, __VA_ARGS__)                                                                          \
    X(step, __VA_ARGS__)
#define INTEGER_UNARY_OPS(X, ...)                                                                  \
    X(neg, __VA_ARGS__)                                                                            \
    X(abs, __VA_ARGS__)                                                                            \
    X(sign, __VA_ARGS__)                                                                           \
    X(square, __VA_ARGS__)                                                                         \
    X(relu, __VA_ARGS__)
/* Vectorised everywhere. */
#define NUMERIC_BINARY_OPS(X, ...)                                                                 \
    X(add, __VA_ARGS__)                                                                            \
    X(sub, __VA_ARGS__)                                                                            \
    X(mul, __VA_ARGS__)                                                                            \
    X(maximum, __VA_ARGS__)                                                                        \
    X(minimum, __VA_ARGS__)
#define INTEGER_DIVISION_OPS(X, ...)                                                               \
    X(div, __VA_ARGS__)                                                                            \
    X(rem, __VA_ARGS__)                                                                            \
    X(mod, __VA_ARGS__)
#define ORDER_OPS(X, ...)                                                                          \
    X(lt, __VA_ARGS__)                                                                             \
    X(le, __VA_ARGS__)                                                                             \
    X(gt, __VA_ARGS__)                                                                             \
    X(ge, __VA_ARGS__)
#define EQUALITY_OPS(X, ...)                                                                       \
    X(eq, __VA_ARGS__)                                                                             \
    X(ne, __VA_ARGS__)

#endif
