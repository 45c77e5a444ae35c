/* Matrix products of every form: vectors, batches, transposed views, with or without an
 * accumulator.
 *
 * Which path computes a product, and how it is cut into BLAS calls, depends on its shape alone;
 * each BLAS call runs on one thread. So the bits do not depend on the number of threads. */
#include <limits.h>
#include <string.h>

#include "kernels/blas.h"
#include "kernels/family.h"
#include "kernels/loop.h"
#include "kernels/strong.h"
#include "runtime/threads.h"

enum {
    SMALL_PRODUCT = 64, /* multiplications up to which a call of BLAS costs more than it saves */
    PART_WIDTH = 64,    /* parts are multiples of this */
    MAX_TASKS = 4096,
};

/* Each part packs one of the operands anew, so there are few of them: from how many multiplications
 * on a product is cut in 2, 4 and 8 parts. */
static const int64_t split_from[] = {1LL << 22, 1LL << 28, 1LL << 34};

/* Products of a batch go to a task together until they have this many multiplications. */
static const int64_t task_product = 1LL << 19;

typedef enum path { PATH_LOOP, PATH_GEMV, PATH_GEMM, PATH_IN_ORDER } path;

/* A matrix in elements: strides from row to row and from column to column. */
typedef struct matrix {
    const char *data;
    int64_t row, column;
} matrix;

typedef struct products {
    dtype t;
    size_t element;
    path path;
    const blas *blas;
    matrix a, b; /* of the first batch entry */
    char *out;
    int64_t m, n, k;
    bool add;    /* out holds the accumulator */
    bool strong; /* 0 times infinity or NaN is 0, which PATH_IN_ORDER alone knows of */
    bool wide;   /* PATH_IN_ORDER: sums in a wider type */
    int batch_rank;
    int64_t batch_dims[MAX_RANK], batch_a[MAX_RANK], batch_b[MAX_RANK];
    int64_t batches, parts, per_task;
    bool split_rows;
} products;

/* ---- one product ---- */

static matrix part_of(matrix x, int64_t row, int64_t column, size_t element) {
    x.data += (row * x.row + column * x.column) * (int64_t)element;
    return x;
}

static void loop_product(const products *p, matrix a, matrix b, char *out, int64_t m, int64_t n) {
    small_product q = {.m = (size_t)m,
                       .n = (size_t)n,
                       .k = (size_t)p->k,
                       .a = a.data,
                       .b = b.data,
                       .a_row = a.row,
                       .a_column = a.column,
                       .b_row = b.row,
                       .b_column = b.column,
                       .c = out,
                       .ldc = p->n,
                       .fresh = !p->add};
    lines_now()->product[p->t](&q);
}

#define IN_ORDER(name, T, W)                                                                       \
    static void name(const products *p, matrix a, matrix b, char *out) {                           \
        const T *x = (const T *)(const void *)a.data, *y = (const T *)(const void *)b.data;        \
        T *c = (T *)(void *)out;                                                                   \
        for (int64_t i = 0; i < p->m; i++)                                                         \
            for (int64_t j = 0; j < p->n; j++, c++) {                                              \
                W sum = p->add ? (W)*c : (W)0;                                                     \
                for (int64_t k = 0; k < p->k; k++) {                                               \
                    W u = (W)x[i * a.row + k * a.column], v = (W)y[k * b.row + j * b.column];      \
                    sum += p->strong && (u == (W)0 || v == (W)0) ? (W)0 : u * v;                   \
                }                                                                                  \
                *c = (T)sum;                                                                       \
            }                                                                                      \
    }
IN_ORDER(narrow_f32, float, float)
IN_ORDER(narrow_f64, double, double)
IN_ORDER(wide_f32, float, double)
IN_ORDER(wide_f64, double, long double)

/* How BLAS is told of a matrix of these dims: as it is when its rows are contiguous, transposed
 * when its columns are. False when neither. */
static bool layout(matrix x, int64_t rows, int64_t columns, int *transposed, int *ld) {
    bool as_is = (x.column == 1 || columns == 1) && (x.row >= columns || rows == 1);
    bool turned = (x.row == 1 || rows == 1) && (x.column >= rows || columns == 1);
    if (!as_is && !turned) return false;
    int64_t step = as_is ? (rows == 1 ? columns : x.row) : (columns == 1 ? rows : x.column);
    if (step < (as_is ? columns : rows)) step = as_is ? columns : rows;
    if (step > INT_MAX) return false;
    *transposed = as_is ? BLAS_AS_IS : BLAS_TRANSPOSED;
    *ld = step > 0 ? (int)step : 1;
    return true;
}

static void gemm(const products *p, matrix a, matrix b, char *out, int64_t m, int64_t n) {
    int ta, tb, lda, ldb;
    if (!layout(a, m, p->k, &ta, &lda) || !layout(b, p->k, n, &tb, &ldb)) return;
    if (p->t == DT_F32)
        p->blas->sgemm(BLAS_ROW_MAJOR, ta, tb, (int)m, (int)n, (int)p->k, 1.0f,
                       (const float *)(const void *)a.data, lda,
                       (const float *)(const void *)b.data, ldb, p->add ? 1.0f : 0.0f,
                       (float *)(void *)out, (int)p->n);
    else
        p->blas->dgemm(BLAS_ROW_MAJOR, ta, tb, (int)m, (int)n, (int)p->k, 1.0,
                       (const double *)(const void *)a.data, lda,
                       (const double *)(const void *)b.data, ldb, p->add ? 1.0 : 0.0,
                       (double *)(void *)out, (int)p->n);
}

/* out = matrix @ x, matrix of rows x columns; x's entries `step` apart. */
static void gemv(const products *p, matrix w, int64_t rows, int64_t columns, const char *x,
                 int64_t step, char *out) {
    int turned, ld;
    if (!layout(w, rows, columns, &turned, &ld)) return;
    int stored_rows = (int)(turned == BLAS_AS_IS ? rows : columns);
    int stored_columns = (int)(turned == BLAS_AS_IS ? columns : rows);
    if (p->t == DT_F32)
        p->blas->sgemv(BLAS_ROW_MAJOR, turned, stored_rows, stored_columns, 1.0f,
                       (const float *)(const void *)w.data, ld, (const float *)(const void *)x,
                       (int)step, p->add ? 1.0f : 0.0f, (float *)(void *)out, 1);
    else
        p->blas->dgemv(BLAS_ROW_MAJOR, turned, stored_rows, stored_columns, 1.0,
                       (const double *)(const void *)w.data, ld, (const double *)(const void *)x,
                       (int)step, p->add ? 1.0 : 0.0, (double *)(void *)out, 1);
}

static void one_product(const products *p, matrix a, matrix b, char *out, int64_t part) {
    int64_t m = p->m, n = p->n;
    if (p->parts > 1) {
        int64_t whole = p->split_rows ? m : n;
        int64_t width = (whole + p->parts - 1) / p->parts;
        width = (width + PART_WIDTH - 1) / PART_WIDTH * PART_WIDTH;
        int64_t from = part * width, count = whole - from < width ? whole - from : width;
        if (count <= 0) return;
        if (p->split_rows) {
            a = part_of(a, from, 0, p->element);
            out += (size_t)(from * n) * p->element;
            m = count;
        } else {
            b = part_of(b, 0, from, p->element);
            out += (size_t)from * p->element;
            n = count;
        }
    }
    switch (p->path) {
    case PATH_LOOP: loop_product(p, a, b, out, m, n); break;
    case PATH_GEMM: gemm(p, a, b, out, m, n); break;
    case PATH_GEMV:
        if (n == 1) {
            gemv(p, a, m, p->k, b.data, b.row, out);
        } else {
            matrix turned = {b.data, b.column, b.row};
            gemv(p, turned, n, p->k, a.data, a.column, out);
        }
        break;
    case PATH_IN_ORDER:
        if (p->t == DT_F32)
            (p->wide ? wide_f32 : narrow_f32)(p, a, b, out);
        else
            (p->wide ? wide_f64 : narrow_f64)(p, a, b, out);
        break;
    }
}

/* ---- all of them ---- */

static void products_task(void *argument, int task) {
    const products *p = argument;
    int64_t first = task * p->per_task, last = first + p->per_task;
    if (last > p->batches * p->parts) last = p->batches * p->parts;
    for (int64_t i = first; i < last; i++) {
        int64_t batch = i / p->parts, rest = batch, from_a = 0, from_b = 0;
        for (int axis = p->batch_rank - 1; axis >= 0; axis--) {
            int64_t at = rest % p->batch_dims[axis];
            rest /= p->batch_dims[axis];
            from_a += at * p->batch_a[axis];
            from_b += at * p->batch_b[axis];
        }
        matrix a = p->a, b = p->b;
        a.data += from_a * (int64_t)p->element;
        b.data += from_b * (int64_t)p->element;
        one_product(p, a, b, p->out + (size_t)(batch * p->m * p->n) * p->element, i % p->parts);
    }
}

/* False when the product count overflows, which then is certainly large. */
static bool at_most(int64_t m, int64_t n, int64_t k, int64_t limit) {
    int64_t all;
    return !__builtin_mul_overflow(m, n, &all) && !__builtin_mul_overflow(all, k, &all) &&
           all <= limit;
}

static void choose_path(const context *c, products *p) {
    p->wide = c->numerics != NUMERICS_COMPILED;
    if (p->strong || (dtype_floating(p->t) && c->numerics == NUMERICS_REFERENCE)) {
        p->path = PATH_IN_ORDER;
    } else if (!dtype_floating(p->t) || c->numerics == NUMERICS_COMPILED) {
        p->path = PATH_LOOP;
    } else if (p->k == 1 || at_most(p->m, p->n, p->k, SMALL_PRODUCT) || p->m > INT_MAX ||
               p->n > INT_MAX || p->k > INT_MAX) {
        p->path = PATH_LOOP;
    } else {
        p->path = p->m == 1 || p->n == 1 ? PATH_GEMV : PATH_GEMM;
    }
    p->parts = 1;
    p->split_rows = p->m >= p->n;
    if (p->path != PATH_GEMM && p->path != PATH_LOOP) return;
    int64_t width = p->split_rows ? p->m : p->n;
    for (size_t i = 0; i < COUNT_OF(split_from); i++) {
        int64_t parts = p->parts * 2;
        if (at_most(p->m, p->n, p->k, split_from[i] - 1) || width < 2 * PART_WIDTH * parts) return;
        p->parts = parts;
    }
}

/* The strides of an operand's batch axes on those of the result, 0 where it stretches. */
static void batch_strides(const array *x, uint8_t ones, int batch_rank, int64_t *strides) {
    int own = x->rank > 2 ? x->rank - 2 : 0;
    for (int i = 0; i < batch_rank; i++) {
        int axis = i - (batch_rank - own);
        bool stretched = axis < 0 || (((ones >> axis) & 1) != 0 && x->dims[axis] == 1);
        strides[i] = stretched ? 0 : x->strides[axis];
    }
}

static matrix left_matrix(const array *x) {
    if (x->rank == 1) return (matrix){x->data, 0, x->strides[0]};
    return (matrix){x->data, x->strides[x->rank - 2], x->strides[x->rank - 1]};
}

static matrix right_matrix(const array *x) {
    if (x->rank == 1) return (matrix){x->data, x->strides[0], 0};
    return (matrix){x->data, x->strides[x->rank - 2], x->strides[x->rank - 1]};
}

/* Whether BLAS can read the operand where it lies; the vector of a GEMV needs a positive stride. */
static bool readable(const products *p, const array *x, bool left) {
    int turned, ld;
    matrix w = left ? left_matrix(x) : right_matrix(x);
    if (p->path == PATH_GEMV && left != (p->n == 1)) {
        int64_t step = left ? w.column : w.row;
        return step > 0 && step <= INT_MAX;
    }
    return left ? layout(w, p->m, p->k, &turned, &ld) : layout(w, p->k, p->n, &turned, &ld);
}

/* A batch of left operands against one matrix is one product with more rows. */
static bool merges_rows(const array *a, const array *b) {
    return a->rank > 2 && b->rank <= 2;
}

static bool rows_uniform(const array *a) {
    for (int i = 0; i + 2 < a->rank; i++)
        if (a->strides[i] != a->strides[i + 1] * a->dims[i + 1]) return false;
    return true;
}

static void set_shape(products *p, const array *a, const array *b, const uint8_t *ones) {
    p->t = a->t;
    p->element = dtype_size(a->t);
    p->m = a->rank >= 2 ? a->dims[a->rank - 2] : 1;
    p->n = b->rank >= 2 ? b->dims[b->rank - 1] : 1;
    p->k = a->dims[a->rank - 1];
    p->batches = 1;
    p->batch_rank = 0;
    if (merges_rows(a, b)) {
        for (int i = 0; i + 2 < a->rank; i++) p->m *= a->dims[i];
        return;
    }
    int batch_a = a->rank > 2 ? a->rank - 2 : 0, batch_b = b->rank > 2 ? b->rank - 2 : 0;
    p->batch_rank = batch_a > batch_b ? batch_a : batch_b;
    for (int i = 0; i < p->batch_rank; i++) {
        int in_a = i - (p->batch_rank - batch_a), in_b = i - (p->batch_rank - batch_b);
        int64_t dim = 1;
        if (in_b >= 0 && !(((ones[1] >> in_b) & 1) != 0 && b->dims[in_b] == 1)) dim = b->dims[in_b];
        if (in_a >= 0 && !(((ones[0] >> in_a) & 1) != 0 && a->dims[in_a] == 1)) dim = a->dims[in_a];
        p->batch_dims[i] = dim;
        p->batches *= dim;
    }
}

/* Sets operands and strides, copying an operand that BLAS cannot read. The copies go to made[0..1].
 */
static bool set_operands(context *c, const op_call *call, int first, products *p, tensor *made[2]) {
    static const uint8_t none[3];
    const uint8_t *ones = call->attrs != NULL ? call->attrs->ones + first : none;
    array x[2];
    for (int k = 0; k < 2; k++) x[k] = array_of(&call->in[first + k]);
    set_shape(p, &x[0], &x[1], ones);
    choose_path(c, p);
    bool blas_path = p->path == PATH_GEMM || p->path == PATH_GEMV;
    bool merged = merges_rows(&x[0], &x[1]);
    for (int k = 0; k < 2; k++) {
        bool good = !blas_path || readable(p, &x[k], k == 0);
        if (k == 0 && merged && !rows_uniform(&x[0])) good = false;
        if (good) continue;
        tensor *t = call->in[first + k].as.t;
        made[k] = tensor_new(c, (dtype)t->dtype, t->rank, t->dims);
        if (made[k] == NULL) return false;
        loop_copy(c, p->t, made[k]->data, t->data, t->rank, t->dims, t->strides);
        x[k].data = made[k]->data;
        x[k].strides = made[k]->strides;
    }
    p->a = left_matrix(&x[0]);
    p->b = right_matrix(&x[1]);
    batch_strides(&x[0], ones[0], p->batch_rank, p->batch_a);
    batch_strides(&x[1], ones[1], p->batch_rank, p->batch_b);
    return true;
}

static bool open_blas(context *c, const op_call *call, products *p) {
    if (p->path != PATH_GEMM && p->path != PATH_GEMV) return true;
    p->blas = blas_open();
    if (p->blas != NULL) return true;
    error_set(&c->err, ERROR_K0701, call->where, "OpenBLAS is missing, which matrix products need");
    error_help(&c->err,
               "install the Debian package libopenblas0, or compute with reference numerics");
    return false;
}

static void run_products(context *c, products *p) {
    int64_t units = p->batches * p->parts, per_unit = p->m * p->n / p->parts;
    if (p->m == 0 || p->n == 0 || p->batches == 0) return;
    if (p->k == 0) {
        size_t bytes = (size_t)(p->batches * p->m * p->n) * p->element;
        if (!p->add) memset(p->out, 0, bytes);
        return;
    }
    p->per_task = 1;
    while (p->per_task < units &&
           (units / p->per_task > MAX_TASKS || at_most(per_unit, p->k, p->per_task, task_product)))
        p->per_task *= 2;
    threads_run(c, (int)((units + p->per_task - 1) / p->per_task), products_task, p);
}

bool matmul_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    products p = {.add = call->op == OP_matmul_add};
    p.strong = strong_matters(call, p.add ? 1 : 0);
    tensor *made[2] = {NULL, NULL};
    if (!result_type(c, call, &type)) return false;
    bool good = set_operands(c, call, p.add ? 1 : 0, &p, made) && open_blas(c, call, &p) &&
                (p.add ? result_onto(c, call, 0, &type, &r) : result_new(c, &type, &r));
    if (good) {
        p.out = r.data;
        run_products(c, &p);
        *out = r.v;
    }
    tensor_release(c, made[0]);
    tensor_release(c, made[1]);
    return good;
}

const char *kernel_blas_name(context *c) {
    (void)c;
    const blas *b = blas_open();
    return b != NULL ? b->name : "none";
}
