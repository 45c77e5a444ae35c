/* Tensors of rank 1 to MAX_RANK: reference-counted headers over owned buffers or views into them.
 *
 * An owner keeps its elements behind its header in one block, contiguous and row-major. A view (`base` not
 * NULL) holds a reference to its owner and has strides of its own, in elements, which may be 0 (broadcast)
 * or negative (reversed). Elements are written only by whoever holds the sole reference to an owner.
 * 0-D numbers are never tensors: they live in a value (value.h). */
#ifndef KINA_TENSOR_H
#define KINA_TENSOR_H

#include "runtime/dtype.h"

typedef struct tensor {
    int32_t refs;
    uint8_t dtype, rank;
    bool contiguous;            /* row-major without gaps; always so for an owner and when size <= 1 */
    struct tensor *base;        /* the owner, for a view */
    void *data;                 /* the first element */
    size_t block;               /* bytes of the owner's block, for giving it back */
    int64_t size;               /* number of elements */
    int64_t dims[MAX_RANK], strides[MAX_RANK];
} tensor;

/* New owner with uninitialised elements, refs = 1; NULL with the error set: K0506/K0507, or K0511 when
 * the size overflows. 1 <= rank <= MAX_RANK. */
tensor *tensor_new(context *c, dtype t, int rank, const int64_t *dims) MUST_CHECK;
/* Bytes of an owner's block, of a shape that such an owner has had. */
size_t tensor_block(dtype t, int rank, const int64_t *dims);
/* New view on base's elements (or on its owner's): offset in elements from base->data. refs = 1. */
tensor *tensor_view(context *c, tensor *base, int64_t offset, int rank, const int64_t *dims,
                    const int64_t *strides) MUST_CHECK;
tensor *tensor_retain(tensor *t);
/* Drops one reference; t may be NULL. */
void tensor_release(context *c, tensor *t);

/* True when the caller's reference is the only one and the elements may be overwritten. */
static inline bool tensor_sole(const tensor *t) {
    return t->refs == 1 && t->base == NULL;
}

/* Product of dims; false on overflow of int64 or of bytes for the element size. */
bool shape_size(int rank, const int64_t *dims, size_t element, int64_t *out) MUST_CHECK;
void shape_strides(int rank, const int64_t *dims, int64_t *strides);
bool shape_same(int rank_a, const int64_t *a, int rank_b, const int64_t *b);
/* Writes "[2, 3]" into out[0..room); always terminated. */
void shape_print(char *out, size_t room, int rank, const int64_t *dims);

/* From element to element, the last axis fastest: where the next one lies. */
typedef struct element_walk {
    int rank;
    int64_t dims[MAX_RANK], strides[MAX_RANK], index[MAX_RANK];
    int64_t offset;             /* of the element, in elements from the first */
} element_walk;
element_walk element_walk_of(const tensor *t);
void element_walk_on(element_walk *w);

#endif
