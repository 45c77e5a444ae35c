/* Values as text: for people, and as JSON for programs. Numbers are the shortest decimal digits that read
 * back to the same bits, in the C locale whatever the host's. */
#ifndef KINA_PRINT_H
#define KINA_PRINT_H

#include "runtime/text.h"
#include "runtime/value.h"

enum { NUMBER_ROOM = 32 };

/* One element of dtype t at p: "1.5", "2.0" (a float always shows a point or exponent), "1e-30", "inf",
 * "-inf", "nan", "-0.0", "42", "true". Returns the length. */
size_t number_print(char out[NUMBER_ROOM], dtype t, const void *p);

/* "tensor<F32, [2, 3]>", or "F32" for a number; "(T, T)" for a tuple; "function". */
void value_print_type(text *t, const value *v);

/* The elements: a number bare; a tensor as nested brackets, rows on lines of their own and aligned; more
 * than about 1000 elements abridged with "…" unless full. Tuples as "(a, b)". */
void value_print(text *t, const value *v, bool full);
/* The same for a screen: abridged, so that a row stands on one line of at most so many columns, if two of its elements
 * fit there, and there are some two dozen rows at most. */
void value_print_fitted(text *t, const value *v, size_t columns);

/* The data of a number or tensor as JSON: bare number or nested lists; NaN and infinities as the strings
 * "NaN", "Infinity", "-Infinity"; Bool as true/false; an empty tensor as nested empty lists. */
void value_json(text *t, const value *v);

/* A JSON string literal, quotes included. */
void json_string(text *t, const char *s, size_t length);

#endif
