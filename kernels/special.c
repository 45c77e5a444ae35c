/* gelu in F64, erfc in its tail, lgamma of small and negative numbers, digamma, its derivatives and
 * the inverse error function, in extended precision: rare enough that speed matters less than
 * having every digit. */
#include <math.h>

#include "kernels/functions.h"
#include "kernels/quad.h"

quad atanf128(quad x);
quad logf128(quad x);
quad tanf128(quad x);

static const long double pi = 3.14159265358979323846264338327950288L;

double special_erfc(double x) {
    return (double)erfcl((long double)x);
}

/* Exact to the last place where SLEEF's pow has overflowed already. */
double special_pow(double x, double y) {
    return (double)powl((long double)x, (long double)y);
}

/* In its tail erfc(z) changes by 2 z^2 times what z is off, relative to each. So the factor of z =
 * -x / sqrt(2) comes in two parts, of which the first times x is exact, and what rounding z loses
 * is put back to first order. */
double special_gelu(double x) {
    const long double first = -0.70703125L, second = -0.00007553118654752440084436210484903928L;
    long double most = first * (long double)x, less = second * (long double)x, z = most + less;
    long double rest = (most - z) + less, y = erfcl(z);
    if (z > 0.0L && z < 200.0L) y -= y * 2.0L * z * rest;
    return (double)(0.5L * (long double)x * y);
}

/* The plain lgamma writes a global sign. */
double special_lgamma(double x) {
    int sign;
    return (double)lgammal_r((long double)x, &sign);
}

/* Bernoulli numbers B2, B4, … B20, as quotients. */
static const long double bernoulli[][2] = {
    {1, 6},       {-1, 30}, {1, 42},      {-1, 30},     {5, 66},
    {-691, 2730}, {7, 6},   {-3617, 510}, {43867, 798}, {-174611, 330},
};
enum { TERMS = sizeof bernoulli / sizeof *bernoulli, FAR = 20 };

/* sin and cos of pi * x after x was reduced to [-1, 1] exactly. */
static long double cot_pi(long double x) {
    x -= rintl(x);
    return cosl(pi * x) / sinl(pi * x);
}

/* x > 0: upward recurrence to where the asymptotic series holds. */
static long double digamma_positive(long double x) {
    long double sum = 0.0L;
    while (x < FAR) {
        sum -= 1.0L / x;
        x += 1.0L;
    }
    long double power = 1.0L, series = 0.0L, inverse = 1.0L / (x * x);
    for (int k = 0; k < TERMS; k++) {
        power *= inverse;
        series += bernoulli[k][0] / bernoulli[k][1] * power / (2 * k + 2);
    }
    return sum + (logl(x) - 0.5L / x - series);
}

/* About its zeros digamma is a small difference of terms; there twice the digits are needed. */
static double digamma_about_zero(double x) {
    const quad whole_pi = (quad)4 * atanf128((quad)1);
    quad y = x > 0.0 ? (quad)x : (quad)1 - (quad)x, sum = (quad)0;
    for (; y < (quad)(2 * FAR); y += (quad)1) sum -= (quad)1 / y;
    quad power = (quad)1, series = (quad)0;
    for (int k = 0; k < TERMS; k++) {
        power /= y * y;
        series += (quad)bernoulli[k][0] / (quad)bernoulli[k][1] * power / (quad)(2 * k + 2);
    }
    sum += logf128(y) - (quad)0.5 / y - series;
    if (x < 0.0) sum -= whole_pi / tanf128(whole_pi * (quad)(x - rint(x)));
    return (double)sum;
}

double special_digamma(double x) {
    if (x != x || x == (double)INFINITY) return x;
    if (x <= 0.0 && x == rint(x)) return (double)NAN;
    long double y = x > 0.0 ? digamma_positive((long double)x)
                            : digamma_positive(1.0L - (long double)x) - pi * cot_pi((long double)x);
    return fabsl(y) < 0.0625L ? digamma_about_zero(x) : (double)y;
}

/* (-1)^(n+1) n! zeta(n + 1, x) for x > 0, by Euler-Maclaurin after an upward recurrence. */
static long double polygamma_positive(int n, long double x) {
    long double far = FAR + (long double)n, sum = 0.0L;
    while (x < far) {
        sum += powl(x, -(long double)(n + 1));
        x += 1.0L;
    }
    long double base = powl(x, -(long double)n), inverse = 1.0L / (x * x);
    sum += base / n + 0.5L * base / x;
    /* term k: B_2k / (2k)! * (n+1)(n+2)…(n+2k-1) * x^-(n+2k) */
    long double factor = base / 2.0L * (n + 1);
    for (int k = 0; k < TERMS; k++) {
        factor *= inverse;
        sum += bernoulli[k][0] / bernoulli[k][1] * factor;
        long double m = 2 * k + 2;
        factor *= (n + m) * (n + m + 1) / ((m + 1) * (m + 2));
    }
    long double scale = (n & 1) != 0 ? 1.0L : -1.0L;
    for (int k = 2; k <= n; k++) scale *= k;
    return scale * sum;
}

enum { COT_MOST = 256 };    /* the highest derivative that there is room for */

/* The n-th derivative of cot at pi*x, by its polynomial in the cotangent: d/dx cot = -(1 + cot^2).
 */
static long double cot_derivative(int n, long double x) {
    long double p[COT_MOST + 4] = {0}, next[COT_MOST + 4];
    p[1] = 1.0L;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i <= k + 2; i++) {
            long double up = (long double)(i + 1) * p[i + 1];
            long double down = i >= 1 ? (long double)(i - 1) * p[i - 1] : 0.0L;
            next[i] = -(up + down);
        }
        for (int i = 0; i <= k + 2; i++) p[i] = next[i];
    }
    long double c = cot_pi(x), sum = 0.0L;
    for (int i = n + 1; i >= 0; i--) sum = sum * c + p[i];
    return sum * powl(pi, (long double)n);
}

double special_polygamma(int n, double x) {
    if (x != x) return x;
    if (n > COT_MOST) return (double)NAN;
    if (x > 0.0) {
        if (x == (double)INFINITY) return 0.0;
        return (double)polygamma_positive(n, (long double)x);
    }
    if (x == rint(x)) return (n & 1) != 0 ? (double)INFINITY : (double)NAN;
    long double mirrored = polygamma_positive(n, 1.0L - (long double)x);
    if ((n & 1) != 0) mirrored = -mirrored;
    return (double)(mirrored - pi * cot_derivative(n, (long double)x));
}

/* Winitzki's first guess, then Newton on erf, or on erfc where erf has lost its digits. */
double special_erfinv(double x) {
    if (x != x || fabs(x) > 1.0) return (double)NAN;
    if (fabs(x) == 1.0) return copysign((double)INFINITY, x);
    if (x == 0.0) return x;
    long double y = fabsl((long double)x), rest = 1.0L - y;
    long double w = logl(rest * (1.0L + y)), a = 0.147L;
    long double t = 2.0L / (pi * a) + 0.5L * w;
    long double z = sqrtl(sqrtl(t * t - w / a) - t);
    for (int k = 0; k < 4; k++) {
        long double error = y < 0.5L ? erfl(z) - y : rest - erfcl(z);
        z -= error / (1.12837916709551257390L * expl(-z * z));
    }
    return (double)copysignl(z, (long double)x);
}
