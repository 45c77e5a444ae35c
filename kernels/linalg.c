/* Linear algebra on square matrices, by LAPACK, batched over leading axes.
 *
 * Every matrix is copied out, computed on in F64 and rounded back, so that an F32 result is nearly
 * the exact one. The copies lie by rows where LAPACK reads columns: it sees each matrix transposed,
 * which every function here takes into account. A matrix goes through one call on one thread, and
 * threads share out a batch as its shape alone says: the bits do not depend on their number. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "kernels/linalg.h"
#include "runtime/tensor.h"
#include "runtime/threads.h"

/* Matrices go to a task together until they have this many multiplications. */
static const int64_t task_work = 1LL << 16;

/* ---- moving elements ---- */

void linalg_load(dtype t, matrix x, int rows, int columns, double *to) {
    for (int64_t i = 0; i < rows; i++) {
        if (t == DT_F32) {
            const float *from = (const float *)(const void *)x.data + i * x.row;
            for (int64_t k = 0; k < columns; k++) *to++ = (double)from[k * x.column];
        } else {
            const double *from = (const double *)(const void *)x.data + i * x.row;
            for (int64_t k = 0; k < columns; k++) *to++ = from[k * x.column];
        }
    }
}

static matrix turned(matrix x) {
    return (matrix){x.data, x.column, x.row};
}

static void put(dtype t, char *out, int64_t i, double x) {
    if (t == DT_F32)
        ((float *)(void *)out)[i] = (float)x;
    else
        ((double *)(void *)out)[i] = x;
}

/* Writes rows x columns from their transpose. */
static void store_turned(dtype t, char *out, const double *from, int rows, int columns) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) put(t, out, i * columns + k, from[k * rows + i]);
}

void linalg_store(dtype t, char *out, const double *from, int64_t count) {
    for (int64_t i = 0; i < count; i++) put(t, out, i, from[i]);
}

/* ---- one matrix ---- */

/* Room: the matrix, the pivots, and what else an op needs. */
static int *pivots_of(const batch *j, double *room) {
    return (int *)(room + (size_t)j->n * (size_t)j->n);
}

static double *rest_of(const batch *j, double *room) {
    return room + (size_t)j->n * (size_t)j->n + (size_t)j->n;
}

static int factor(const batch *j, matrix a, double *room) {
    int info;
    if (j->n == 0) return 0;
    linalg_load(j->t, a, j->n, j->n, room);
    j->lapack->dgetrf(&j->n, &j->n, room, &j->n, pivots_of(j, room), &info);
    return info;
}

static int inverse(const batch *j, matrix a, matrix b, char *out, double *room) {
    int info = factor(j, a, room), work = j->n * LINALG_WORK;
    (void)b;
    if (info > 0) return info;
    j->lapack->dgetri(&j->n, room, &j->n, pivots_of(j, room), rest_of(j, room), &work, &info);
    linalg_store(j->t, out, room, (int64_t)j->n * j->n);
    return info;
}

static int solution(const batch *j, matrix a, matrix b, char *out, double *room) {
    int info = factor(j, a, room);
    double *x = rest_of(j, room);
    if (info > 0) return info;
    linalg_load(j->t, turned(b), j->k, j->n, x);
    j->lapack->dgetrs("T", &j->n, &j->k, room, &j->n, pivots_of(j, room), x, &j->n, &info, 1);
    store_turned(j->t, out, x, j->n, j->k);
    return info;
}

/* Without the triangle that was not read. */
static int triangular_root(const batch *j, matrix a, matrix b, char *out, double *room) {
    int info;
    (void)b;
    linalg_load(j->t, a, j->n, j->n, room);
    j->lapack->dpotrf("U", &j->n, room, &j->n, &info, 1);
    for (int64_t row = 0; row < j->n; row++)
        for (int64_t column = row + 1; column < j->n; column++) room[row * j->n + column] = 0.0;
    linalg_store(j->t, out, room, (int64_t)j->n * j->n);
    return info;
}

static int triangular_solution(const batch *j, matrix a, matrix b, char *out, double *room) {
    double *x = rest_of(j, room);
    int info;
    linalg_load(j->t, a, j->n, j->n, room);
    linalg_load(j->t, turned(b), j->k, j->n, x);
    j->lapack->dtrtrs(j->upper ? "L" : "U", "T", "N", &j->n, &j->k, room, &j->n, x, &j->n, &info, 1,
                      1, 1);
    store_turned(j->t, out, x, j->n, j->k);
    return info;
}

/* ---- determinants ---- */

scaled scaled_times(scaled x, double y) {
    int power = 0;
    double m = x.m * y;
    if (!isfinite(m) || m == 0.0) return (scaled){m, 0};
    m = frexp(m, &power);
    return (scaled){m, x.e + power};
}

double scaled_value(scaled x) {
    int64_t far = 1 << 12; /* beyond every exponent of a double */
    return ldexp(x.m, (int)(x.e > far ? far : x.e < -far ? -far : x.e));
}

scaled linalg_determinant(int n, const double *factored, const int *pivots) {
    scaled x = {1.0, 0};
    for (int64_t i = 0; i < n; i++) {
        x = scaled_times(x, factored[i * n + i]);
        if (pivots[i] != i + 1) x.m = -x.m;
    }
    return x;
}

/* A singular matrix has a zero on its diagonal then: nothing here is an error. */
static int determinant(const batch *j, matrix a, matrix b, char *out, double *room) {
    (void)b;
    factor(j, a, room);
    double x = scaled_value(linalg_determinant(j->n, room, pivots_of(j, room)));
    put(j->t, out, 0, x + 0.0);
    return 0;
}

static int log_determinant(const batch *j, matrix a, matrix b, char *out, double *room) {
    const double ln2 = 0.693147180559945309417;
    int info = factor(j, a, room);
    (void)b;
    if (info > 0) return info;
    scaled x = linalg_determinant(j->n, room, pivots_of(j, room));
    bool fits = x.e > -1000 && x.e < 1000;
    put(j->t, out, 0, fits ? log(scaled_value(x)) : log(x.m) + (double)x.e * ln2);
    return 0;
}

/* ---- all of them ---- */

static void batch_task(void *argument, int task) {
    batch *j = argument;
    int64_t first = task * j->per_task, last = first + j->per_task;
    double *room = j->room + (size_t)task * j->room_each;
    if (last > j->count) last = j->count;
    j->failed[task] = (struct failure){.entry = -1};
    for (int64_t i = first; i < last; i++) {
        int64_t rest = i, from_a = 0, from_b = 0;
        for (int axis = j->rank - 1; axis >= 0; axis--) {
            from_a += rest % j->dims[axis] * j->step_a[axis];
            from_b += rest % j->dims[axis] * j->step_b[axis];
            rest /= j->dims[axis];
        }
        matrix a = j->a, b = j->b;
        a.data += from_a * (int64_t)j->element;
        if (b.data != NULL) b.data += from_b * (int64_t)j->element;
        int place = j->one(j, a, b, j->out + (size_t)i * j->out_each, room);
        if (place == 0) continue;
        j->failed[task] = (struct failure){i, place};
        return;
    }
}

/* An operand's matrices, and its steps along the batch, 0 where it stretches. `own` axes at its end
 * are not of the batch. */
static matrix operand(const array *x, int own, int rank, int64_t *steps) {
    int lead = rank - (x->rank - own);
    for (int i = 0; i < rank; i++) {
        int axis = i - lead;
        steps[i] = axis < 0 || x->dims[axis] == 1 ? 0 : x->strides[axis];
    }
    if (own == 1) return (matrix){x->data, x->strides[x->rank - 1], 1};
    return (matrix){x->data, x->strides[x->rank - 2], x->strides[x->rank - 1]};
}

/* The number of doubles that one matrix needs. */
static size_t room_of(const batch *j, op_id op) {
    size_t n = (size_t)j->n, k = (size_t)j->k, square = n * n + n;
    if (op == OP_cofactor || op == OP_cofactor_slope) return linalg_cofactor_room(n);
    return op == OP_inv ? square + n * LINALG_WORK : square + n * k;
}

static one_fn *one_of(op_id op) {
    switch (op) {
    case OP_inv: return inverse;
    case OP_cholesky: return triangular_root;
    case OP_det: return determinant;
    case OP_logdet: return log_determinant;
    case OP_cofactor: return linalg_cofactor;
    case OP_cofactor_slope: return linalg_cofactor_slope;
    case OP_solve_triangular: return triangular_solution;
    default: return solution;
    }
}

static bool set_batch(context *c, const op_call *call, const op_type *type, batch *j) {
    array a = array_of(&call->in[0]);
    int64_t n = a.dims[a.rank - 1], k = 1;
    /* Axes of the result that are not of the batch. */
    int own = op_table[call->op].class == CLASS_DETERMINANT ? 0 : 2;
    j->t = a.t;
    j->element = dtype_size(a.t);
    j->one = one_of(call->op);
    j->upper = call->attrs != NULL && call->attrs->reversed;
    if (call->n > 1) {
        array b = array_of(&call->in[1]);
        own = b.rank == 1 ? 1 : 2;
        k = b.rank == 1 ? 1 : b.dims[b.rank - 1];
        j->b = operand(&b, own, type->rank - own, j->step_b);
    }
    if (n > INT_MAX / LINALG_WORK || k > INT_MAX)
        return error_set(&c->err, ERROR_K0511, call->where, "%s takes matrices of up to %d rows",
                         op_table[call->op].surface, INT_MAX / LINALG_WORK);
    j->n = (int)n;
    j->k = (int)k;
    j->rank = type->rank - own;
    j->a = operand(&a, 2, j->rank, j->step_a);
    j->count = 1;
    for (int i = 0; i < j->rank; i++) {
        j->dims[i] = type->dims[i];
        j->count *= type->dims[i];
    }
    j->out_each = j->element;
    for (int i = j->rank; i < type->rank; i++) j->out_each *= (size_t)type->dims[i];
    return true;
}

static bool open_lapack(context *c, const op_call *call, batch *j) {
    j->lapack = blas_open();
    if (j->lapack != NULL && j->lapack->lapack) return true;
    error_set(&c->err, ERROR_K0701, call->where, "OpenBLAS with LAPACK is missing, which %s needs",
              op_table[call->op].surface);
    error_help(&c->err, "install the Debian package libopenblas0");
    return false;
}

static bool report(context *c, const op_call *call, const batch *j, const struct failure *f) {
    char which[80] = "", entry[64], why[80];
    const char *name = op_table[call->op].surface;
    if (j->rank > 0) {
        place_print(j->rank, j->dims, f->entry, entry, sizeof entry);
        snprintf(which, sizeof which, "matrix %s of ", entry);
    }
    bool root = call->op == OP_cholesky;
    if (root)
        snprintf(why, sizeof why, "not positive definite: its leading minor of order %d is not",
                 f->place);
    else
        snprintf(why, sizeof why, "singular: %s %d is 0",
                 call->op == OP_solve_triangular ? "its diagonal entry" : "pivot", f->place - 1);
    error_set(&c->err, root ? ERROR_K0521 : ERROR_K0520, call->where, "%s: %sits %s is %s", name,
              which, call->n > 1 ? "first operand" : "operand", why);
    return false;
}

/* The failure of the lowest batch entry, if any: tasks hold entries in order. */
static bool judge(context *c, const op_call *call, const batch *j, int tasks) {
    for (int i = 0; i < tasks; i++)
        if (j->failed[i].entry >= 0) return report(c, call, j, &j->failed[i]);
    return true;
}

static bool run_batch(context *c, const op_call *call, batch *j) {
    int64_t each = (int64_t)j->n * j->n;
    each = each > task_work ? task_work : each * (j->n + j->k);
    j->per_task = each >= task_work ? 1 : task_work / (each + 1) + 1;
    if (j->per_task < (j->count + LINALG_TASKS - 1) / LINALG_TASKS)
        j->per_task = (j->count + LINALG_TASKS - 1) / LINALG_TASKS;
    int tasks = (int)((j->count + j->per_task - 1) / j->per_task);
    size_t bytes;
    j->room_each = room_of(j, call->op);
    if (__builtin_mul_overflow(j->room_each, (size_t)tasks * sizeof *j->room, &bytes))
        return error_set(&c->err, ERROR_K0511, call->where, "%s needs room beyond 64 bits",
                         op_table[call->op].surface);
    j->room = take(c, bytes);
    if (j->room == NULL) return false;
    threads_run(c, tasks, batch_task, j);
    give_back(c, j->room, bytes);
    return judge(c, call, j, tasks);
}

bool linalg_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    batch j = {0};
    if (!result_type(c, call, &type) || !set_batch(c, call, &type, &j)) return false;
    if (!open_lapack(c, call, &j) || !result_new(c, &type, &r)) return false;
    j.out = r.data;
    bool empty = j.n == 0 && op_table[call->op].class != CLASS_DETERMINANT;
    if (r.size > 0 && !empty && !run_batch(c, call, &j)) {
        value_release(c, r.v);
        return false;
    }
    *out = r.v;
    return true;
}
