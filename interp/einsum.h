/* An einsum equation once it is understood: which index each axis of each operand has, and in which
 * order the result has them. Made by the checker (check_einsum.c), followed by the evaluator
 * (composite_einsum.c). */
#ifndef KINA_EINSUM_H
#define KINA_EINSUM_H

#include "runtime/common.h"
#include "runtime/op.h"

/* Indices: A to Z, a to z, and the axes that an ellipsis stands for, counted from its end. In this
 * order an equation without `->` lists them, those of the ellipsis first. */
enum { EINSUM_ELLIPSIS = 52, EINSUM_INDICES = EINSUM_ELLIPSIS + MAX_RANK };

typedef struct einsum_operand {
    uint8_t rank;
    uint8_t index[MAX_RANK];    /* of each axis */
    uint8_t stretched;          /* axes that are a literal 1 where the index has another size */
} einsum_operand;

typedef struct einsum_plan {
    int count;
    einsum_operand *operand;
    einsum_operand out;
    const char *const *names;   /* of the indices, by number; NULL: they are letters */
} einsum_plan;

/* The index as the equation writes it: "i", "Batch", "...". */
const char *einsum_index_name(const einsum_plan *p, int index, char room[4]);
static inline uint64_t einsum_bit(int index) { return (uint64_t)1 << index; }
/* The indices of an operand, stretched axes left out. */
uint64_t einsum_bits(const einsum_operand *x);

#endif
