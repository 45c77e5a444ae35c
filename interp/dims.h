/* What the checker asks of symbolic dims beyond types.h. */
#ifndef KINA_DIMS_H
#define KINA_DIMS_H

#include "interp/types.h"

bool dims_is_symbol(const dims *d, int64_t dim);    /* one name alone, no arithmetic */
dim_kind dims_kind(const dims *d, int64_t symbol);
const char *dims_name(const dims *d, int64_t symbol);   /* NULL: shown as `?` */

/* Symbols are numbered in order of creation; those made during a function's check are the ones with a
 * number from a mark on. */
uint32_t dims_symbol_number(const dims *d, int64_t symbol);
uint32_t dims_symbol_count(const dims *d);

/* The different symbols in a dim, at most room of them; returns how many were written. */
int dims_symbols(const dims *d, int64_t dim, int64_t *out, int room);

/* A dim as a sum of terms, those of most symbols first: how many there are, and the i-th, its factor and the
 * symbols of its product into out, which has room for DIM_DEGREE_MOST; returns how many those are. */
enum { DIM_DEGREE_MOST = 8 };
int dims_term_count(const dims *d, int64_t dim);
int dims_term(const dims *d, int64_t dim, int i, int64_t *factor, int64_t *out);

/* The value of a dim without symbols; false for others. */
bool dims_constant(const dims *d, int64_t dim, int64_t *value);

/* A constant below zero, which no size can be. */
bool dims_below_zero(const dims *d, int64_t dim);

#endif
