/* What the kernel families share: the call's operands as strided arrays, the result being made, and
 * the entry point of each family. */
#ifndef KINA_KERNELS_FAMILY_H
#define KINA_KERNELS_FAMILY_H

#include "kernels/kernel.h"
#include "kernels/lines.h"

/* An operand's elements, wherever they live. A number has rank 0. */
typedef struct array {
    const void *data;
    dtype t;
    int rank;
    const int64_t *dims, *strides;
} array;

array array_of(const value *v);
/* Element i of an I32 or I64 array's data. */
static inline int64_t array_index(const array *a, int64_t offset) {
    return a->t == DT_I32 ? ((const int32_t *)a->data)[offset] : ((const int64_t *)a->data)[offset];
}

/* The entry-th place, row-major, of a shape as "[1, 0]". */
void place_print(int rank, const int64_t *dims, int64_t entry, char *out, size_t room);

/* A result under construction: a tensor, or a number in place. */
typedef struct result {
    value v;
    void *data; /* where the elements go, row-major */
    int64_t size;
} result;

/* The result's type by the op's rule; false with the error set. */
bool result_type(context *c, const op_call *call, op_type *type) MUST_CHECK;
/* Uninitialised room for a result of the type. The struct must stay where it is until `v` is taken.
 */
bool result_new(context *c, const op_type *type, result *r) MUST_CHECK;
/* As result_new, in operand k's buffer when the call spends it, nobody else holds it and it has the
 * type. The elements are then the operand's. *reused says which it was. */
bool result_reuse(context *c, const op_call *call, int k, const op_type *type, result *r,
                  bool *reused) MUST_CHECK;
/* A result with operand k's elements: its own buffer when it may be taken, else a copy. */
bool result_onto(context *c, const op_call *call, int k, const op_type *type, result *r) MUST_CHECK;

typedef bool family_fn(context *c, const op_call *call, value *out);
family_fn elementwise_perform, reduce_perform, reduce_argument_perform, reduce_logsumexp_perform;
family_fn along_softmax_perform, along_shift_perform, along_scan_perform;
family_fn cumulate_perform, order_perform;
family_fn shape_perform, shape_concat_perform, shape_slice_perform, shape_slice_add_perform;
family_fn gather_take_perform, gather_take_along_perform, gather_scatter_perform,
    gather_scatter_along_perform, gather_one_hot_perform;
family_fn matmul_perform, linalg_perform, triangle_perform, conv_perform, pool_perform, making_perform, random_perform;

#endif
