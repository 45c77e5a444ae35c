/* Linear algebra, naively (naive.h): determinants by expanding, in quadruple precision, and
 * everything else by them. Kernels compute in F64, so a result is off by its conditioning times
 * what rounding does there. */
#include <float.h>
#include <string.h>

#include "tests/unit/naive.h"

#define FUNCTION(op) quad op##f128(quad x);
FUNCTION(sqrt)
FUNCTION(log)
#undef FUNCTION

enum { MOST = 4 }; /* rows */

typedef struct square {
    int n;
    quad x[MOST][MOST];
} square;

static quad magnitude(quad x) {
    return x < (quad)0 ? -x : x;
}

/* ---- operands ---- */

/* The index of a matrix of operand k for an entry of the result, `own` axes of which are not of the
 * batch. */
static void matrix_at(const application *a, int k, int own, const int64_t *at, int64_t *first) {
    int batch = a->out.rank - own, lead = batch - (naive_rank(a, k) - 2);
    for (int i = 0; i < naive_rank(a, k) - 2; i++)
        first[i] = naive_dim(a, k, i) == 1 ? 0 : at[lead + i];
}

/* Which of a triangular operand's entries are read: as it is, the lower or the upper ones. */
typedef enum reads { READ_ALL, READ_LOWER, READ_UPPER } reads;

static square load(const application *a, int k, int own, const int64_t *at, reads how) {
    int64_t index[MAX_RANK] = {0};
    int rank = naive_rank(a, k);
    square m = {.n = (int)naive_dim(a, k, rank - 1)};
    matrix_at(a, k, own, at, index);
    for (int i = 0; i < m.n; i++)
        for (int j = 0; j < m.n; j++) {
            index[rank - 2] = i, index[rank - 1] = j;
            bool read = how == READ_ALL || (how == READ_LOWER ? j <= i : j >= i);
            m.x[i][j] = read ? (quad)naive_float(a, k, index) : (quad)0;
        }
    return m;
}

/* ---- determinants ---- */

static square without(const square *m, int row, int column) {
    square rest = {.n = m->n - 1};
    for (int i = 0, r = 0; i < m->n; i++) {
        if (i == row) continue;
        for (int j = 0, c = 0; j < m->n; j++)
            if (j != column) rest.x[r][c++] = m->x[i][j];
        r++;
    }
    return rest;
}

static quad determinant(const square *m) {
    quad sum = (quad)0;
    if (m->n == 0) return (quad)1;
    for (int j = 0; j < m->n; j++) {
        square rest = without(m, 0, j);
        sum += (j % 2 == 0 ? m->x[0][j] : -m->x[0][j]) * determinant(&rest);
    }
    return sum;
}

static quad cofactor(const square *m, int i, int j) {
    square rest = without(m, i, j);
    quad minor = determinant(&rest);
    return (i + j) % 2 == 0 ? minor : -minor;
}

static square inverse(const square *m) {
    square r = {.n = m->n};
    quad d = determinant(m);
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++) r.x[i][j] = cofactor(m, j, i) / d;
    return r;
}

/* The largest sum of magnitudes in a row. */
static quad norm(const square *m) {
    quad most = (quad)0;
    for (int i = 0; i < m->n; i++) {
        quad sum = (quad)0;
        for (int j = 0; j < m->n; j++) sum += magnitude(m->x[i][j]);
        if (sum > most) most = sum;
    }
    return most;
}

/* ---- bounds ---- */

/* What Gaussian elimination with partial pivoting, or Cholesky's, does to n rows: n^3 2^(n-1) units
 * relative to the norm (Higham, Accuracy and Stability, theorem 9.5), a few times over for what is
 * computed from it. */
static quad loss(int n) {
    return (quad)(8.0 * (n + 1) * (n + 1) * (n + 1) * (1 << n) * DBL_EPSILON);
}

/* A result of this size that is off by `loss` times the conditioning, and then rounded. */
static cell conditioned(const application *a, const square *m, quad f, quad size) {
    square back = inverse(m);
    quad condition = norm(m) * norm(&back);
    cell c =
        cell_near(f, loss(m->n) * condition * size + naive_unit(a) * magnitude(f) + naive_least(a));
    /* Beyond this the theorems say nothing, and NaN compares as far. */
    c.any = !(condition * loss(m->n) < (quad)0.01);
    c.any_sign = true;
    return c;
}

/* ---- ops ---- */

cell naive_op_inv(const application *a, const int64_t *at) {
    square m = load(a, 0, 2, at, READ_ALL), back = inverse(&m);
    const int64_t *own = at + a->out.rank - 2;
    return conditioned(a, &m, back.x[own[0]][own[1]], norm(&back));
}

static cell solved(const application *a, const int64_t *at, reads how) {
    int own = naive_rank(a, 1) == 1 ? 1 : 2;
    square m = load(a, 0, own, at, how), back = inverse(&m);
    const int64_t *place = at + a->out.rank - own;
    int64_t index[MAX_RANK] = {0};
    quad x = (quad)0, size = (quad)0;
    if (own == 2) {
        matrix_at(a, 1, 2, at, index);
        index[naive_rank(a, 1) - 1] = place[1];
    }
    for (int i = 0; i < m.n; i++) {
        index[naive_rank(a, 1) - own] = i;
        quad b = (quad)naive_float(a, 1, index);
        x += back.x[place[0]][i] * b;
        size += magnitude(b);
    }
    return conditioned(a, &m, x, norm(&back) * size);
}

cell naive_op_solve(const application *a, const int64_t *at) {
    return solved(a, at, READ_ALL);
}

cell naive_op_solve_triangular(const application *a, const int64_t *at) {
    return solved(a, at, a->attrs.reversed ? READ_UPPER : READ_LOWER);
}

cell naive_op_cholesky(const application *a, const int64_t *at) {
    square m = load(a, 0, 2, at, READ_LOWER), l = {.n = m.n}, whole = m;
    const int64_t *own = at + a->out.rank - 2;
    for (int i = 0; i < m.n; i++)
        for (int j = 0; j <= i; j++) {
            quad rest = m.x[i][j];
            for (int k = 0; k < j; k++) rest -= l.x[i][k] * l.x[j][k];
            l.x[i][j] = i == j ? sqrtf128(rest) : rest / l.x[j][j];
            whole.x[j][i] = m.x[i][j];
        }
    return conditioned(a, &whole, l.x[own[0]][own[1]], norm(&l));
}

/* No determinant, of minors too, is larger than a product of norms. */
static quad power(quad x, int n) {
    quad all = (quad)1;
    for (int i = 0; i < n; i++) all *= x;
    return all;
}

static cell determined(const application *a, quad f, quad size, int n) {
    cell c = cell_near(f, loss(n) * size + naive_unit(a) * magnitude(f) + naive_least(a));
    c.any_sign = true;
    return c;
}

cell naive_op_det(const application *a, const int64_t *at) {
    square m = load(a, 0, 0, at, READ_ALL);
    return determined(a, determinant(&m), power(norm(&m), m.n), m.n);
}

cell naive_op_logdet(const application *a, const int64_t *at) {
    square m = load(a, 0, 0, at, READ_ALL);
    quad d = determinant(&m), off = loss(m.n) * power(norm(&m), m.n);
    quad f = logf128(d);
    cell c = cell_near(f, (quad)2 * off / magnitude(d) +
                              (naive_unit(a) + (quad)DBL_EPSILON) * magnitude(f));
    c.any = !(off < magnitude(d) / (quad)4);
    c.any_sign = true;
    return c;
}

cell naive_op_cofactor(const application *a, const int64_t *at) {
    square m = load(a, 0, 2, at, READ_ALL);
    const int64_t *own = at + a->out.rank - 2;
    return determined(a, cofactor(&m, (int)own[0], (int)own[1]), power(norm(&m), m.n - 1), m.n);
}

/* A determinant is linear in each row, so its change is the sum of those with one row put in. */
cell naive_op_cofactor_slope(const application *a, const int64_t *at) {
    square m = load(a, 0, 2, at, READ_ALL), h = load(a, 1, 2, at, READ_ALL);
    const int64_t *own = at + a->out.rank - 2;
    quad sum = (quad)0;
    for (int i = 0; i < m.n; i++) {
        square changed = m;
        memcpy(changed.x[i], h.x[i], sizeof h.x[i]);
        if (i != own[0]) sum += cofactor(&changed, (int)own[0], (int)own[1]);
    }
    quad size = m.n < 2 ? (quad)0 : (quad)m.n * power(norm(&m), m.n - 2) * norm(&h);
    return determined(a, sum, size, m.n);
}
