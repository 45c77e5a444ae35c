/* OpenBLAS, opened when a product first needs it: it takes milliseconds to load, and scalar
 * programs have no use for it. The loaded library is the one thing that contexts share. */
#ifndef KINA_KERNELS_BLAS_H
#define KINA_KERNELS_BLAS_H

enum { BLAS_ROW_MAJOR = 101, BLAS_AS_IS = 111, BLAS_TRANSPOSED = 112 };

typedef struct blas {
    void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                  int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
    void (*sgemv)(int order, int ta, int m, int n, float alpha, const float *a, int lda,
                  const float *x, int incx, float beta, float *y, int incy);
    void (*dgemv)(int order, int ta, int m, int n, double alpha, const double *a, int lda,
                  const double *x, int incx, double beta, double *y, int incy);
    char name[96];
} blas;

/* The library, set to one thread; NULL when it cannot be loaded. Safe to call from any thread. */
const blas *blas_open(void);

#endif
