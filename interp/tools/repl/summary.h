/* A tensor in a few numbers. */
#ifndef KINA_REPL_SUMMARY_H
#define KINA_REPL_SUMMARY_H

#include "runtime/text.h"
#include "runtime/value.h"

typedef struct summary {
    bool zeros, finite;         /* all of its elements are */
    double norm;                /* Euclidean; NaN when an element is */
    double largest;             /* the element of the largest magnitude, the first NaN before all; 0 when there is none */
    int64_t place;              /* where it stands, in row-major order */
} summary;

/* Of a floating number or tensor. */
summary summary_of(const value *v);
/* "norm 1.5, largest -1.2 at [0, 3]"; of a number nothing. */
void summary_print(text *t, const value *v, const summary *s);

#endif
