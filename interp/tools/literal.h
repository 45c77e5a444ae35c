/* Values written on the command line: numbers and nested lists of a known dtype. */
#ifndef KINA_LITERAL_H
#define KINA_LITERAL_H

#include "runtime/value.h"

/* Reads "1.5", "true", "-inf" or "[[1, 2], [3, 4]]" with elements of dtype t. A list without any
 * element says nothing about its inner axes: it takes the rank that is wanted and the sizes of
 * want_dims there (0 where those are negative). False with c's error K0802, its message beginning
 * with `who`. */
bool literal_read(context *c, const char *who, const char *s, dtype t, int want_rank,
                  const int64_t *want_dims, value *out) MUST_CHECK;

#endif
