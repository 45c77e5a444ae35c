/* The gradient of the determinant, and how it changes, of singular matrices too.
 *
 * With a = u s v' (s the singular values, u and v' orthogonal) the cofactors of a are those of s
 * between the same u and v', up to the sign of det(u) det(v'); and those of a diagonal are products
 * of all but one of its entries. No division occurs, so a singular matrix is as good as another:
 * each entry is off by a small multiple of n eps times the largest product of n - 1 singular
 * values.
 *
 * LAPACK sees the transposes of our matrices; cofactors of a transpose are the cofactors'
 * transpose. */
#include <math.h>
#include <string.h>

#include "kernels/linalg.h"

/* Where things lie in the room of one matrix. */
typedef struct parts {
    double *a, *u, *vt, *inner, *s, *work;
    int *pivots;
} parts;

size_t linalg_cofactor_room(size_t n) {
    return 4 * n * n + (LINALG_WORK + 8) * n;
}

static parts parts_of(int n, double *room) {
    size_t square = (size_t)n * (size_t)n;
    parts p = {.a = room, .u = room + square, .vt = room + 2 * square, .inner = room + 3 * square};
    p.s = room + 4 * square;
    p.pivots = (int *)(p.s + n);
    p.work = p.s + 2 * n;
    return p;
}

static void multiply(const batch *j, int ta, int tb, const double *a, const double *b, double *c) {
    int n = j->n;
    j->lapack->dgemm(BLAS_COLUMN_MAJOR, ta, tb, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
}

/* 1 or -1: the determinant of an orthogonal matrix. */
static double orientation(const batch *j, const double *q, const parts *p) {
    int info;
    memcpy(p->a, q, sizeof *q * (size_t)j->n * (size_t)j->n);
    j->lapack->dgetrf(&j->n, &j->n, p->a, &j->n, p->pivots, &info);
    return linalg_determinant(j->n, p->a, p->pivots).m < 0.0 ? -1.0 : 1.0;
}

/* Fills u, s and vt; *sign = det(u) det(vt). False when there is no such decomposition because an
 * element is not finite. */
static bool decompose(const batch *j, matrix a, const parts *p, double *sign) {
    int n = j->n, info, work = n * (LINALG_WORK + 6);
    linalg_load(j->t, a, n, n, p->a);
    for (int64_t i = 0; i < (int64_t)n * n; i++)
        if (!isfinite(p->a[i])) return false;
    j->lapack->dgesvd("A", "A", &n, &n, p->a, &n, p->s, p->u, &n, p->vt, &n, p->work, &work, &info,
                      1, 1);
    if (info != 0) return false;
    *sign = orientation(j, p->u, p) * orientation(j, p->vt, p);
    return true;
}

static int unknown(const batch *j, double *room, char *out) {
    int64_t size = (int64_t)j->n * j->n;
    for (int64_t i = 0; i < size; i++) room[i] = (double)NAN;
    linalg_store(j->t, out, room, size);
    return 0;
}

/* out = u @ inner @ vt */
static int compose(const batch *j, const parts *p, char *out) {
    multiply(j, BLAS_AS_IS, BLAS_AS_IS, p->u, p->inner, p->a);
    multiply(j, BLAS_AS_IS, BLAS_AS_IS, p->a, p->vt, p->u);
    linalg_store(j->t, out, p->u, (int64_t)j->n * j->n);
    return 0;
}

/* after[i] is the product of the singular values i and on. In the working room, free by now. */
static scaled *products_after(const parts *p, int n) {
    scaled *after = (scaled *)(void *)p->work;
    after[n] = (scaled){1.0, 0};
    for (int i = n - 1; i >= 0; i--) after[i] = scaled_times(after[i + 1], p->s[i]);
    return after;
}

static scaled joined(scaled x, scaled y) {
    x = scaled_times(x, y.m);
    x.e += y.e;
    return x;
}

int linalg_cofactor(const batch *j, matrix a, matrix b, char *out, double *room) {
    parts p = parts_of(j->n, room);
    int64_t n = j->n;
    double sign;
    (void)b;
    if (!decompose(j, a, &p, &sign)) return unknown(j, room, out);
    memset(p.inner, 0, sizeof *p.inner * (size_t)(n * n));
    const scaled *after = products_after(&p, j->n);
    scaled before = {sign, 0};
    for (int i = 0; i < j->n; i++) {
        p.inner[i * n + i] = scaled_value(joined(before, after[i + 1]));
        before = scaled_times(before, p.s[i]);
    }
    return compose(j, &p, out);
}

/* Adds what the pair i < k of singular values gives: q is the product of all the others. */
static void pair_slope(int64_t n, int64_t i, int64_t k, double q, const double *h, double *inner) {
    inner[i * n + i] += q * h[k * n + k];
    inner[k * n + k] += q * h[i * n + i];
    inner[i * n + k] = -q * h[k * n + i];
    inner[k * n + i] = -q * h[i * n + k];
}

int linalg_cofactor_slope(const batch *j, matrix a, matrix h, char *out, double *room) {
    parts p = parts_of(j->n, room);
    int64_t n = j->n;
    double sign;
    if (!decompose(j, a, &p, &sign)) return unknown(j, room, out);
    /* h as seen between u and v. */
    double *turned = p.a, *seen = p.inner;
    linalg_load(j->t, h, j->n, j->n, turned);
    multiply(j, BLAS_TRANSPOSED, BLAS_AS_IS, p.u, turned, seen);
    multiply(j, BLAS_AS_IS, BLAS_TRANSPOSED, seen, p.vt, turned);
    memset(p.inner, 0, sizeof *p.inner * (size_t)(n * n));
    const scaled *after = products_after(&p, j->n);
    scaled before = {sign, 0};
    for (int i = 0; i < j->n; i++) {
        scaled between = before;
        for (int k = i + 1; k < j->n; k++) {
            double q = scaled_value(joined(between, after[k + 1]));
            pair_slope(n, i, k, q, turned, p.inner);
            between = scaled_times(between, p.s[k]);
        }
        before = scaled_times(before, p.s[i]);
    }
    return compose(j, &p, out);
}
