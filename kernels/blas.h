/* OpenBLAS, opened when a product first needs it: it takes milliseconds to load, and scalar
 * programs have no use for it. The loaded library is the one thing that contexts share. */
#ifndef KINA_KERNELS_BLAS_H
#define KINA_KERNELS_BLAS_H

#include <stdbool.h>
#include <stddef.h>

enum { BLAS_ROW_MAJOR = 101, BLAS_COLUMN_MAJOR = 102, BLAS_AS_IS = 111, BLAS_TRANSPOSED = 112 };

typedef struct blas {
    void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                  int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
    void (*sgemv)(int order, int ta, int m, int n, float alpha, const float *a, int lda,
                  const float *x, int incx, float beta, float *y, int incy);
    void (*dgemv)(int order, int ta, int m, int n, double alpha, const double *a, int lda,
                  const double *x, int incx, double beta, double *y, int incy);
    /* LAPACK, in Fortran's convention: everything by address, matrices by columns, the lengths of
     * strings at the end. */
    bool lapack; /* what follows is there */
    void (*dgetrf)(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
    void (*dgetrs)(const char *trans, const int *n, const int *columns, const double *a,
                   const int *lda, const int *pivots, double *b, const int *ldb, int *info, size_t);
    void (*dgetri)(const int *n, double *a, const int *lda, const int *pivots, double *work,
                   const int *lwork, int *info);
    void (*dpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
    void (*dtrtrs)(const char *uplo, const char *trans, const char *diag, const int *n,
                   const int *columns, const double *a, const int *lda, double *b, const int *ldb,
                   int *info, size_t, size_t, size_t);
    void (*dgesvd)(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
                   const int *lda, double *s, double *u, const int *ldu, double *vt,
                   const int *ldvt, double *work, const int *lwork, int *info, size_t, size_t);
    char name[96];
} blas;

/* The library, set to one thread; NULL when it cannot be loaded. Safe to call from any thread. */
const blas *blas_open(void);

#endif
