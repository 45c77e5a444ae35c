/* digamma, its derivatives and the inverse error function, in extended precision: rare enough that
 * speed matters less than having every digit. */
#include <math.h>

#include "kernels/functions.h"

static const long double pi = 3.14159265358979323846264338327950288L;

/* Bernoulli numbers B2, B4, … B20. */
static const long double bernoulli[] = {
    1.0L / 6,       -1.0L / 30, 1.0L / 42,      -1.0L / 30,     5.0L / 66,
    -691.0L / 2730, 7.0L / 6,   -3617.0L / 510, 43867.0L / 798, -174611.0L / 330,
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
        series += bernoulli[k] * power / (2 * k + 2);
    }
    return sum + (logl(x) - 0.5L / x - series);
}

double special_digamma(double x) {
    if (x != x || x == (double)INFINITY) return x;
    if (x > 0.0) return (double)digamma_positive((long double)x);
    if (x == rint(x)) return (double)NAN;
    return (double)(digamma_positive(1.0L - (long double)x) - pi * cot_pi((long double)x));
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
        sum += bernoulli[k] * factor;
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
