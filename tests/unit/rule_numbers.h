/* Small arrays of doubles, in which points, directions and derivatives are kept, and values made of them in the type
 * and layout asked for. */
#ifndef KINA_RULE_NUMBERS_H
#define KINA_RULE_NUMBERS_H

#include "runtime/value.h"

enum { CASE_ELEMENTS = 64 };

/* An array of doubles, row-major. */
typedef struct numbers {
    int rank;
    int64_t dims[MAX_RANK];
    int64_t size;
    double at[CASE_ELEMENTS];
} numbers;

/* How an operand's elements lie in memory. */
typedef enum layout {
    LAYOUT_PLAIN,
    LAYOUT_PERMUTED, /* axes stored in reverse order */
    LAYOUT_STRIDED,  /* every second element of the last axis */
    LAYOUT_REVERSED, /* negative strides */
    LAYOUT_COUNT
} layout;

/* "2 1* 3": the dims; returns the starred axes, literal ones, as a mask. */
uint8_t numbers_shape(const char *text, numbers *x);
/* "0 2 1": the elements. */
void numbers_entries(const char *text, numbers *x);

/* A value of its own. False with the context's error set. */
bool numbers_value(context *c, const numbers *x, dtype type, layout how, value *out);
/* Of an F32 or F64 value of at most CASE_ELEMENTS elements. */
void numbers_from(const value *v, numbers *x);

bool numbers_same_shape(const numbers *a, const numbers *b);
bool numbers_same_bits(const numbers *a, const numbers *b);
/* |a - b| <= tolerance * max(scale, |a|, |b|) */
bool close_to(double a, double b, double scale, double tolerance);
/* Every element, by the scale of b's largest. */
bool numbers_close(const numbers *a, const numbers *b, double tolerance);
/* Adds the products' sizes to *scale. */
double numbers_dot(const numbers *a, const numbers *b, double *scale);

#endif
