/* Comparing elements (compare.h). */
#include "interp/compare.h"

#include <math.h>
#include <string.h>

/* One element of each side: how far apart they are. */
typedef struct apart {
    bool same; /* the same bits, or both NaN */
    uint64_t ulp;
    double expected, abs;
    bool opposite, zero;
} apart;

/* The place of a float among all floats of its type in ascending order, -0.0 just before 0.0. */
static uint64_t rank_of(uint64_t bits, unsigned width) {
    uint64_t sign = (uint64_t)1 << (width - 1);
    return (bits & sign) != 0 ? 2 * sign - 1 - bits : bits | sign;
}

static uint64_t bits_of(dtype t, const void *p) {
    uint32_t narrow;
    uint64_t wide = 0;
    if (dtype_size(t) == sizeof wide) {
        memcpy(&wide, p, sizeof wide);
    } else if (dtype_size(t) == sizeof narrow) {
        memcpy(&narrow, p, sizeof narrow);
        wide = narrow;
    } else {
        wide = *(const unsigned char *)p;
    }
    return wide;
}

static apart floats_apart(dtype t, const void *expected, const void *found) {
    uint64_t a = bits_of(t, expected), b = bits_of(t, found);
    double x, y;
    if (t == DT_F32) {
        float narrow;
        memcpy(&narrow, expected, sizeof narrow);
        x = (double)narrow;
        memcpy(&narrow, found, sizeof narrow);
        y = (double)narrow;
    } else {
        memcpy(&x, expected, sizeof x);
        memcpy(&y, found, sizeof y);
    }
    if (a == b || (isnan(x) && isnan(y)))
        return (apart){.same = true, .expected = x, .zero = x == 0.0};
    if (isnan(x) || isnan(y))
        return (apart){.ulp = UINT64_MAX, .expected = x, .abs = (double)INFINITY};
    unsigned width = t == DT_F32 ? 32 : 64;
    uint64_t i = rank_of(a, width), j = rank_of(b, width);
    return (apart){.ulp = i > j ? i - j : j - i,
                   .expected = x,
                   .abs = fabs(y - x),
                   .opposite = y == -x,
                   .zero = x == 0.0};
}

static apart integers_apart(dtype t, const void *expected, const void *found) {
    int64_t x, y;
    if (t == DT_I64) {
        memcpy(&x, expected, sizeof x);
        memcpy(&y, found, sizeof y);
    } else if (t == DT_I32) {
        int32_t narrow;
        memcpy(&narrow, expected, sizeof narrow);
        x = narrow;
        memcpy(&narrow, found, sizeof narrow);
        y = narrow;
    } else {
        x = (int64_t)bits_of(t, expected);
        y = (int64_t)bits_of(t, found);
    }
    uint64_t between = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    return (apart){.same = x == y,
                   .ulp = between,
                   .expected = (double)x,
                   .abs = (double)between,
                   .opposite = y == (int64_t)(0 - (uint64_t)x),
                   .zero = x == 0};
}

static bool within(const bounds *b, dtype t, const apart *d) {
    if (d->same) return true;
    if (!dtype_floating(t)) return false;
    if (b->by_ulp && d->ulp <= b->ulp) return true;
    return b->by_size && d->abs <= b->atol + b->rtol * fabs(d->expected);
}

tally compare_elements(dtype t, const void *expected, const void *found, int64_t n,
                       const bounds *b) {
    tally sum = {.elements = n};
    bool all_opposite = true, some = false;
    size_t element = dtype_size(t);
    const char *x = expected, *y = found;
    for (int64_t i = 0; i < n; i++, x += element, y += element) {
        apart d = dtype_floating(t) ? floats_apart(t, x, y) : integers_apart(t, x, y);
        if (d.ulp > sum.max_ulp) sum.max_ulp = d.ulp;
        if (d.abs > sum.max_abs) sum.max_abs = d.abs;
        if (!d.zero) {
            some = true;
            all_opposite = all_opposite && d.opposite;
        }
        if (within(b, t, &d) || sum.mismatches++ > 0) continue;
        sum.first = i;
        memcpy(&sum.expected, x, element);
        memcpy(&sum.found, y, element);
    }
    sum.opposite = some && all_opposite;
    return sum;
}
