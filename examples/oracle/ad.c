/* What a compiler makes of the functions f and ad of examples/ad_neg_grad.kina, written by hand; and wrong_ad, whose
 * gradient has a slip in it. docs/oracle.md builds and judges them. */
#include <stdint.h>
#include <stdlib.h>

typedef struct memref {
    float *allocated, *aligned;
    int64_t offset, size[2], stride[2];
} memref;

typedef struct pair {
    memref primal, grad_x;
} pair;

static memref matrix(void) {
    float *p = malloc(4 * sizeof *p);
    return (memref){p, p, 0, {2, 2}, {2, 1}};
}

void _mlir_ciface_f(memref *out, const memref *x) {
    *out = matrix();
    for (int i = 0; i < 4; i++) out->aligned[i] = -x->aligned[i];
}

void _mlir_ciface_ad(pair *out, const memref *x) {
    _mlir_ciface_f(&out->primal, x);
    out->grad_x = matrix();
    for (int i = 0; i < 4; i++) out->grad_x.aligned[i] = -1.0f;
}

void _mlir_ciface_wrong_ad(pair *out, const memref *x) {
    _mlir_ciface_ad(out, x);
    out->grad_x.aligned[3] = 1.0f;
}
