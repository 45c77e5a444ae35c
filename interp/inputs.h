/* Arguments by chance, the same for the same seed everywhere: what a function is tried on when nobody says. */
#ifndef KINA_INPUTS_H
#define KINA_INPUTS_H

#include "interp/ast.h"
#include "runtime/value.h"

/* Splitmix64 (Steele, Lea and Flood 2014). */
typedef struct inputs_stream {
    uint64_t state;
} inputs_stream;
uint64_t inputs_next(inputs_stream *s);

typedef struct inputs_range {
    int64_t low, high;          /* of integers, both included */
    int64_t least_size, most_size;  /* of dims that nothing fixes */
    unsigned special;           /* of a hundred floats, how many are zeros, infinities, NaN, subnormals, ties */
} inputs_range;

/* The arguments of fn that are NONE in args (numbers and tensors, in the order of the parameters); those that are
 * there fix the dim names that stand alone in them. Each parameter draws from a stream of its own, so that giving
 * one changes no other. Owned by the caller, also when false. */
bool inputs_fill(context *c, const program *p, const fn_decl *fn, uint64_t seed, const inputs_range *r,
                 value *args) MUST_CHECK;

/* A number or tensor of a type whose dims are sizes. */
bool inputs_draw(context *c, inputs_stream *s, const op_type *shape, const inputs_range *r, value *out) MUST_CHECK;

#endif
