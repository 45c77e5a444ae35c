/* What the files of linear algebra share: a batch of matrices on their way through LAPACK. */
#ifndef KINA_KERNELS_LINALG_H
#define KINA_KERNELS_LINALG_H

#include "kernels/blas.h"
#include "kernels/family.h"

enum {
    LINALG_TASKS = 64,
    LINALG_WORK = 64, /* columns of working room with which LAPACK works in blocks */
};

/* A matrix in elements: strides from row to row and from column to column. */
typedef struct matrix {
    const char *data;
    int64_t row, column;
} matrix;

typedef struct batch batch;
/* Computes one matrix's result to out. Returns 0, or the place, from 1 on, at which it failed. */
typedef int one_fn(const batch *j, matrix a, matrix b, char *out, double *room);

struct batch {
    const blas *lapack;
    one_fn *one;
    dtype t;
    size_t element;
    matrix a, b; /* of the first batch entry */
    int n, k;    /* rows, and columns of the right-hand side */
    bool upper;  /* of a triangular matrix */
    int rank;
    int64_t dims[MAX_RANK], step_a[MAX_RANK], step_b[MAX_RANK];
    int64_t count, per_task;
    char *out;
    size_t out_each; /* bytes */
    double *room;
    size_t room_each; /* doubles */
    struct failure {
        int64_t entry; /* of the batch, -1 for none */
        int place;
    } failed[LINALG_TASKS];
};

/* A matrix's elements as doubles, row by row. */
void linalg_load(dtype t, matrix x, int rows, int columns, double *to);
void linalg_store(dtype t, char *out, const double *from, int64_t count);

/* A product of any number of factors, m * 2^e, that neither overflows nor underflows on the way. */
typedef struct scaled {
    double m;
    int64_t e;
} scaled;
scaled scaled_times(scaled x, double y);
double scaled_value(scaled x);

/* The determinant of a matrix as LAPACK factored it: of the diagonal, with a sign for each swap. */
scaled linalg_determinant(int n, const double *factored, const int *pivots);

one_fn linalg_cofactor, linalg_cofactor_slope;
/* The number of doubles that these two need. */
size_t linalg_cofactor_room(size_t n);

#endif
