/* Comparing what two sides computed, element by element. */
#ifndef KINA_COMPARE_H
#define KINA_COMPARE_H

#include "runtime/value.h"

/* An element agrees when the bits are the same or both are NaN, or when one of the bounds that were
 * given admits it. Integers and Bool have no bounds. */
typedef struct bounds {
    bool by_ulp, by_size;
    uint64_t ulp;
    double rtol, atol; /* |found - expected| <= atol + rtol * |expected| */
} bounds;

typedef struct tally {
    int64_t elements, mismatches;
    int64_t first;           /* position of the first mismatch, row-major */
    payload expected, found; /* the elements there */
    uint64_t
        max_ulp; /* numbers of the type between the two, of all elements; UINT64_MAX: one is NaN */
    double max_abs; /* the largest |found - expected| */
    bool opposite;  /* every element that is not 0 has the other sign, and there is one */
} tally;

/* Compares n contiguous elements of type t. */
tally compare_elements(dtype t, const void *expected, const void *found, int64_t n,
                       const bounds *b);

#endif
