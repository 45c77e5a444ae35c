/* sigmoid, silu and softplus on one element, to within one unit in the last place.
 *
 * Each ends in a quotient of exponentials that have been rounded, and a library's exp already
 * spends the unit. So the exponential is made here, in two parts whose sum has some bits to spare,
 * and quotients keep their remainder. Plain arithmetic without branches, which compilers turn into
 * vectors of any instruction set with equal bits. */
#ifndef KINA_KERNELS_LOGISTIC_H
#define KINA_KERNELS_LOGISTIC_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* A call would keep a loop from becoming vectors. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* exp(r) is 1 + r + r^2 times this, for |r| <= ln(2) / 2: its series. */
ALWAYS_INLINE float f32_exp_tail(float r) {
    float p = 2.48015873e-5f;
    p = p * r + 1.98412698e-4f;
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    return p;
}
ALWAYS_INLINE double f64_exp_tail(double r) {
    double p = 1.60590438368216146e-10;
    p = p * r + 2.08767569878680990e-9;
    p = p * r + 2.50521083854417188e-8;
    p = p * r + 2.75573192239858907e-7;
    p = p * r + 2.75573192239858907e-6;
    p = p * r + 2.48015873015873016e-5;
    p = p * r + 1.98412698412698413e-4;
    p = p * r + 1.38888888888888889e-3;
    p = p * r + 8.33333333333333333e-3;
    p = p * r + 4.16666666666666667e-2;
    p = p * r + 1.66666666666666667e-1;
    p = p * r + 0.5;
    return p;
}
/* atanh(t) is t + t times this, for w = t^2 <= 1/9. */
ALWAYS_INLINE float f32_atanh_tail(float w) {
    float p = 1.0f / 15;
    p = p * w + 1.0f / 13;
    p = p * w + 1.0f / 11;
    p = p * w + 1.0f / 9;
    p = p * w + 1.0f / 7;
    p = p * w + 1.0f / 5;
    p = p * w + 1.0f / 3;
    return p * w;
}
ALWAYS_INLINE double f64_atanh_tail(double w) {
    double p = 1.0 / 33;
    p = p * w + 1.0 / 31;
    p = p * w + 1.0 / 29;
    p = p * w + 1.0 / 27;
    p = p * w + 1.0 / 25;
    p = p * w + 1.0 / 23;
    p = p * w + 1.0 / 21;
    p = p * w + 1.0 / 19;
    p = p * w + 1.0 / 17;
    p = p * w + 1.0 / 15;
    p = p * w + 1.0 / 13;
    p = p * w + 1.0 / 11;
    p = p * w + 1.0 / 9;
    p = p * w + 1.0 / 7;
    p = p * w + 1.0 / 5;
    p = p * w + 1.0 / 3;
    return p * w;
}

/* P, T, F as in scalar.h; U the unsigned type of T's size; DIGITS of the stored mantissa; LOWEST:
 * below it exp(x) is 0; LEAST: the exponent of a small normal number; LN2_HIGH * k is exact for
 * every exponent k. */
#define LOGISTIC_SCALARS(P, T, F, U, DIGITS, BIAS, LOWEST, LEAST, MOST, LN2_HIGH, LN2_LOW)         \
    /* Adding it rounds to a whole number, which then stands in the lowest bits. */                \
    static const T P##_to_whole = (T)3 * (T)((U)1 << (DIGITS - 1));                                \
    /* (high + low) * 2^k, k whole. */                                                             \
    typedef struct P##_parts {                                                                     \
        T high, low, k;                                                                            \
    } P##_parts;                                                                                   \
    ALWAYS_INLINE T P##_power_of_two(T k) {                                                        \
        T shifted = k + P##_to_whole;                                                              \
        U bits;                                                                                    \
        memcpy(&bits, &shifted, sizeof bits);                                                      \
        bits = (bits + BIAS) << DIGITS;                                                            \
        memcpy(&shifted, &bits, sizeof bits);                                                      \
        return shifted;                                                                            \
    }                                                                                              \
    /* exp(x) for finite x of moderate size; off by a tenth of a unit. */                          \
    ALWAYS_INLINE P##_parts P##_exp_parts(T x) {                                                   \
        T k = (x * (T)1.44269504088896340736 + P##_to_whole) - P##_to_whole;                       \
        T most = x - k * (T)LN2_HIGH, less = k * (T)LN2_LOW;                                       \
        T r = most - less, rest = (most - r) - less;                                               \
        T tail = r * r * P##_exp_tail(r) + (rest + rest * r);                                      \
        T high = (T)1 + r, low = ((T)1 - high) + r + tail, sum = high + low;                       \
        return (P##_parts){sum, low - (sum - high), k};                                            \
    }                                                                                              \
    ALWAYS_INLINE P##_parts P##_exp_minus_abs(T x) {                                               \
        T y = -fabs##F(x);                                                                         \
        return P##_exp_parts(y > (T)LOWEST ? y : (T)LOWEST);                                       \
    }                                                                                              \
    /* 2^k in two factors, the first of which a number in [1/2, 2) survives without rounding. */   \
    ALWAYS_INLINE T P##_near_power(T k) {                                                          \
        return P##_power_of_two(k > (T)LEAST ? k : (T)LEAST);                                      \
    }                                                                                              \
    ALWAYS_INLINE T P##_far_power(T k) {                                                           \
        return P##_power_of_two(k > (T)LEAST ? (T)0 : k - (T)LEAST);                               \
    }                                                                                              \
    /* (n.high + n.low) / (whole + y), y = (e.high + e.low) * 2^e.k at most 1. */                  \
    ALWAYS_INLINE P##_parts P##_quotient(P##_parts n, T whole, P##_parts e) {                      \
        T power = P##_near_power(e.k), y = e.high * power, d = whole + y;                          \
        T d_low = (whole - d) + y + e.low * power;                                                 \
        T q = n.high / d;                                                                          \
        T rest = __builtin_fma##F(-q, d, n.high) + (n.low - q * d_low);                            \
        return (P##_parts){q, rest / d, n.k};                                                      \
    }                                                                                              \
    ALWAYS_INLINE P##_parts P##_sigmoid_parts(T x) {                                               \
        P##_parts e = P##_exp_minus_abs(x), n;                                                     \
        n.high = x >= (T)0 ? (T)1 : e.high;                                                        \
        n.low = x >= (T)0 ? (T)0 : e.low;                                                          \
        n.k = x >= (T)0 ? (T)0 : e.k;                                                              \
        return P##_quotient(n, (T)1, e);                                                           \
    }                                                                                              \
    ALWAYS_INLINE T P##_sigmoid(T x) {                                                             \
        P##_parts q = P##_sigmoid_parts(x);                                                        \
        T y = (q.high + q.low) * P##_near_power(q.k) * P##_far_power(q.k);                         \
        return x == x ? y : x;                                                                     \
    }                                                                                              \
    ALWAYS_INLINE T P##_silu(T x) {                                                                \
        P##_parts q = P##_sigmoid_parts(x);                                                        \
        T z = x > (T)LOWEST ? x : (T)LOWEST; /* as far as the exponential goes */                  \
        T y = z * q.high, low = __builtin_fma##F(z, q.high, -y) + z * q.low;                       \
        T near = (y + low) * P##_near_power(q.k) * P##_far_power(q.k);                             \
        T far = x * (x > (T)0 ? (T)1 : (T)0);                                                      \
        return fabs##F(x) <= (T)MOST && x != (T)0 ? near : far;                                    \
    }                                                                                              \
    /* max(x, 0) + log(1 + y), which is 2 atanh(t) with t = y / (2 + y) <= 1/3. */                 \
    ALWAYS_INLINE T P##_softplus(T x) {                                                            \
        P##_parts e = P##_exp_minus_abs(x), q = P##_quotient(e, (T)2, e);                          \
        T power = P##_near_power(e.k), t = q.high * power, square = t * t;                         \
        T high = (T)2 * q.high, low = (T)2 * q.low + high * P##_atanh_tail(square);                \
        T below = (high + low) * power * P##_far_power(e.k);                                       \
        T added = high * power, sum = x + added, moved = sum - x;                                  \
        T rest = (x - (sum - moved)) + (added - moved);                                            \
        T above = sum + (rest + low * power);                                                      \
        T y = x >= (T)0 ? above : below;                                                           \
        return fabs##F(x) <= (T)MOST ? y : x > (T)0 || x != x ? x : (T)0;                          \
    }
LOGISTIC_SCALARS(f32, float, f, uint32_t, 23, 127, -120, -100, FLT_MAX, 0x1.62e4p-1,
                 0x1.7f7d1cf79abcap-20)
LOGISTIC_SCALARS(f64, double, , uint64_t, 52, 1023, -800, -1000, DBL_MAX, 0x1.62e42fefa38p-1,
                 0x1.ef35793c76730p-45)
#undef LOGISTIC_SCALARS
#undef ALWAYS_INLINE

#define LOGISTIC_OPS(X, ...)                                                                       \
    X(sigmoid, __VA_ARGS__)                                                                        \
    X(silu, __VA_ARGS__)                                                                           \
    X(softplus, __VA_ARGS__)

#endif
