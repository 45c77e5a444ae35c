/* The function of examples/oracle/sums.kina by a compiler that reorders a sum. */
#include <stdint.h>

typedef struct memref {
    float *allocated, *aligned;
    int64_t offset, size[1], stride[1];
} memref;

float _mlir_ciface_total(const memref *x) {
    float sum = 0.0f;
    for (int64_t i = x->size[0]; i-- > 0;) sum += x->aligned[i];
    return sum;
}
