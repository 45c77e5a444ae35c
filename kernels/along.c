/* Ops along one axis: softmax, log_softmax, shift, scan; and logsumexp, which shares their rows.
 *
 * A row is the entries along the axis (for logsumexp: along the reduced axes, row-major). Its
 * exponentials are taken relative to the row's largest entry and summed by the tree of reduce.c. */
#include <math.h>
#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"
#include "kernels/scalar.h"
#include "runtime/threads.h"

enum {
    PARALLEL_ENTRIES = 1 << 14,
    SHORT_ROWS_ENTRIES = 1 << 11, /* that go through a line together */
};

typedef struct rows rows;
typedef void row_fn(const rows *w, const void *x, int64_t n, void *out);

/* What the row functions need; which one it is the context's numerics say. */
struct rows {
    op_id op;
    row_fn *row;
    /* Several rows of at most REDUCE_BLOCK entries; NULL where rows go one by one. */
    void (*short_rows)(const rows *w, const void *x, int64_t n, int64_t count, void *out);
    bool threads;
    line_fn *exp, *sub, *div;
    number_fn *log;
    reducer max, sum;
};

/* A binary op between a row and a number. */
static void row_with(line_fn *line, void *out, const void *x, const void *number, int64_t n) {
    void *p[3] = {out, (void *)(uintptr_t)x, (void *)(uintptr_t)number};
    line(p, (ptrdiff_t[]){1, 1, 0}, (size_t)n, NULL);
}

/* x - m as a line, then exp in place, then the tree's block sum; out keeps the exponentials when
 * given. */
#define FAST_ROWS(P, T)                                                                            \
    static T P##_exp_sum(const rows *w, const T *x, int64_t n, T m, T *out) {                      \
        T room[REDUCE_BLOCK], sum, rest;                                                           \
        if (n <= REDUCE_BLOCK) {                                                                   \
            T *e = out != NULL ? out : room;                                                       \
            row_with(w->sub, e, x, &m, n);                                                         \
            w->exp((void *[]){e, e}, (ptrdiff_t[]){1, 1}, (size_t)n, NULL);                        \
            w->sum.block(&sum, e, (size_t)n);                                                      \
            return sum;                                                                            \
        }                                                                                          \
        int64_t blocks = (n + REDUCE_BLOCK - 1) / REDUCE_BLOCK, half = 1;                          \
        while (half * 2 < blocks) half *= 2;                                                       \
        half *= REDUCE_BLOCK;                                                                      \
        sum = P##_exp_sum(w, x, half, m, out);                                                     \
        rest = P##_exp_sum(w, x + half, n - half, m, out != NULL ? out + half : NULL);             \
        return sum + rest;                                                                         \
    }                                                                                              \
    static T P##_largest(const rows *w, const T *x, int64_t n) {                                   \
        T largest, next;                                                                           \
        w->max.block(&largest, x, (size_t)(n < REDUCE_BLOCK ? n : REDUCE_BLOCK));                  \
        for (int64_t i = REDUCE_BLOCK; i < n; i += REDUCE_BLOCK) {                                 \
            w->max.block(&next, x + i, (size_t)(n - i < REDUCE_BLOCK ? n - i : REDUCE_BLOCK));     \
            w->max.join(&largest, &next, 1);                                                       \
        }                                                                                          \
        return largest;                                                                            \
    }                                                                                              \
    static void P##_fast_row(const rows *w, const void *entries, int64_t n, void *results) {       \
        const T *x = entries;                                                                      \
        T *out = results;                                                                          \
        T m = P##_largest(w, x, n);                                                                \
        if (w->op == OP_logsumexp && isinf(m)) {                                                   \
            *out = m;                                                                              \
            return;                                                                                \
        }                                                                                          \
        T sum = P##_exp_sum(w, x, n, m, w->op == OP_softmax ? out : NULL);                         \
        value s = value_##P(sum);                                                                  \
        if (w->op == OP_softmax) {                                                                 \
            row_with(w->div, out, out, &sum, n);                                                   \
        } else {                                                                                   \
            T log_sum = w->log(&s, NULL).as.P;                                                     \
            if (w->op == OP_logsumexp) {                                                           \
                *out = m + log_sum;                                                                \
            } else {                                                                               \
                row_with(w->sub, out, x, &m, n);                                                   \
                row_with(w->sub, out, out, &log_sum, n);                                           \
            }                                                                                      \
        }                                                                                          \
    }
/* softmax of count rows of at most REDUCE_BLOCK entries: as row by row, but the exponentials of
 * several rows are taken in one line, so that short rows do not leave vectors half empty. */
#define FAST_SHORT_ROWS(P, T)                                                                      \
    static void P##_short_rows(const rows *w, const void *entries, int64_t n, int64_t count,       \
                               void *results) {                                                    \
        const T *x = entries;                                                                      \
        T *out = results;                                                                          \
        int64_t most = SHORT_ROWS_ENTRIES / n, together;                                           \
        for (int64_t from = 0; from < count; from += together) {                                   \
            together = count - from < most ? count - from : most;                                  \
            for (int64_t r = 0; r < together; r++) {                                               \
                T m;                                                                               \
                w->max.block(&m, x + r * n, (size_t)n);                                            \
                row_with(w->sub, out + r * n, x + r * n, &m, n);                                   \
            }                                                                                      \
            w->exp((void *[]){out, out}, (ptrdiff_t[]){1, 1}, (size_t)(together * n), NULL);       \
            for (int64_t r = 0; r < together; r++) {                                               \
                T sum;                                                                             \
                w->sum.block(&sum, out + r * n, (size_t)n);                                        \
                row_with(w->div, out + r * n, out + r * n, &sum, n);                               \
            }                                                                                      \
            x += together * n;                                                                     \
            out += together * n;                                                                   \
        }                                                                                          \
    }
FAST_SHORT_ROWS(f32, float)
FAST_SHORT_ROWS(f64, double)
FAST_ROWS(f32, float)
FAST_ROWS(f64, double)

/* The same in the type W with libm's functions of suffix F, in index order. */
#define ORDERED_ROWS(name, T, W, F)                                                                \
    static void name(const rows *w, const void *entries, int64_t n, void *results) {               \
        const T *x = entries;                                                                      \
        T *out = results;                                                                          \
        W m = -(W)INFINITY, sum = (W)0;                                                            \
        for (int64_t i = 0; i < n; i++) m = m > (W)x[i] || m != m ? m : (W)x[i];                   \
        if (w->op == OP_logsumexp && isinf(m)) {                                                   \
            *out = (T)m;                                                                           \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) sum += exp##F((W)x[i] - m);                                \
        W log_sum = log##F(sum);                                                                   \
        if (w->op == OP_logsumexp) *out = (T)(m + log_sum);                                        \
        for (int64_t i = 0; w->op == OP_softmax && i < n; i++)                                     \
            out[i] = (T)(exp##F((W)x[i] - m) / sum);                                               \
        for (int64_t i = 0; w->op == OP_log_softmax && i < n; i++)                                 \
            out[i] = (T)((W)x[i] - m - log_sum);                                                   \
    }
ORDERED_ROWS(f32_reference_row, float, double, )
ORDERED_ROWS(f64_reference_row, double, long double, l)
ORDERED_ROWS(f32_compiled_row, float, float, f)
ORDERED_ROWS(f64_compiled_row, double, double, )

static row_fn *row_function(const context *c, dtype t) {
    switch (c->numerics) {
    case NUMERICS_REFERENCE: return t == DT_F32 ? f32_reference_row : f64_reference_row;
    case NUMERICS_COMPILED: return t == DT_F32 ? f32_compiled_row : f64_compiled_row;
    case NUMERICS_FAST: break;
    }
    return t == DT_F32 ? f32_fast_row : f64_fast_row;
}

static rows rows_of(const context *c, op_id op, dtype t) {
    const line_table *lines = lines_now();
    bool together = op == OP_softmax && c->numerics == NUMERICS_FAST;
    return (rows){.op = op,
                  .row = row_function(c, t),
                  .short_rows = !together     ? NULL
                                : t == DT_F32 ? f32_short_rows
                                              : f64_short_rows,
                  .threads = c->threads > 1 && c->numerics != NUMERICS_REFERENCE,
                  .exp = lines_find(c, OP_exp, t),
                  .sub = lines->line[OP_sub][t],
                  .div = lines->line[OP_div][t],
                  .log = numbers_find(c, OP_log, t),
                  .max = lines->reduce[REDUCE_MAX][t],
                  .sum = lines->reduce[REDUCE_SUM][t]};
}

/* ---- rows of a dense operand, several threads ---- */

typedef struct dense_rows {
    const rows *w;
    const char *x;
    char *out;
    int64_t n, count, per_task;
    size_t row_bytes, out_bytes;
} dense_rows;

static void dense_task(void *argument, int i) {
    const dense_rows *d = argument;
    int64_t first = i * d->per_task, last = first + d->per_task;
    if (last > d->count) last = d->count;
    if (d->w->short_rows != NULL && d->n > 0 && d->n <= REDUCE_BLOCK) {
        d->w->short_rows(d->w, d->x + (size_t)first * d->row_bytes, d->n, last - first,
                         d->out + (size_t)first * d->out_bytes);
        return;
    }
    for (int64_t r = first; r < last; r++)
        d->w->row(d->w, d->x + (size_t)r * d->row_bytes, d->n, d->out + (size_t)r * d->out_bytes);
}

static void run_dense(context *c, dense_rows *d) {
    if (d->count == 0) return;
    d->per_task = d->n > 0 ? PARALLEL_ENTRIES / d->n + 1 : d->count;
    if (!d->w->threads) d->per_task = d->count;
    if (d->count / d->per_task > 4096) d->per_task = d->count / 4096 + 1;
    threads_run(c, (int)((d->count + d->per_task - 1) / d->per_task), dense_task, d);
}

/* The operand with the axes of `mask` last, dense: a view where that is already so, else a copy. */
static tensor *rows_last(context *c, tensor *x, unsigned mask) {
    int64_t dims[MAX_RANK], strides[MAX_RANK];
    int rank = 0;
    for (int group = 0; group <= 1; group++)
        for (int i = 0; i < x->rank; i++) {
            if ((int)((mask >> i) & 1) != group) continue;
            dims[rank] = x->dims[i];
            strides[rank++] = x->strides[i];
        }
    tensor *view = tensor_view(c, x, 0, rank, dims, strides);
    if (view == NULL || view->contiguous) return view;
    tensor *copy = kernel_contiguous(c, view);
    tensor_release(c, view);
    return copy;
}

bool reduce_logsumexp_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    array x = array_of(&call->in[0]);
    unsigned mask = call->attrs != NULL ? call->attrs->axes : 0;
    tensor *made = NULL;
    if (!result_type(c, call, &type)) return false;
    if (x.rank > 0) {
        made = rows_last(c, call->in[0].as.t, mask);
        if (made == NULL) return false;
    }
    bool good = result_new(c, &type, &r);
    if (good) {
        rows w = rows_of(c, OP_logsumexp, x.t);
        dense_rows d = {.w = &w, .n = 1, .count = r.size, .out = r.data};
        for (int i = 0; i < x.rank; i++)
            if (((mask >> i) & 1) != 0) d.n *= x.dims[i];
        d.x = made != NULL ? made->data : x.data;
        d.out_bytes = dtype_size(x.t);
        d.row_bytes = (size_t)d.n * d.out_bytes;
        run_dense(c, &d);
        *out = r.v;
    }
    tensor_release(c, made);
    return good;
}

/* ---- softmax and log_softmax ---- */

/* Where the axis is not the innermost, each row passes through scratch[0..n) and comes back
 * scattered. */
static void strided_rows(const rows *w, const array *x, int axis, char *scratch, char *out) {
    size_t element = dtype_size(x->t);
    int64_t n = x->dims[axis], dense[MAX_RANK], at[MAX_RANK] = {0}, from = 0, to = 0, count = 1;
    char *done = scratch + (size_t)n * element;
    shape_strides(x->rank, x->dims, dense);
    for (int i = 0; i < x->rank; i++) count *= i == axis ? 1 : x->dims[i];
    for (int64_t r = 0; r < count; r++) {
        loop_copy_line(element, scratch, (const char *)x->data + from * (int64_t)element,
                       x->strides[axis], (size_t)n);
        w->row(w, scratch, n, done);
        for (int64_t j = 0; j < n; j++)
            memcpy(out + (size_t)(to + j * dense[axis]) * element, done + (size_t)j * element,
                   element);
        for (int i = x->rank - 1; i >= 0; i--) {
            if (i == axis) continue;
            from += x->strides[i];
            to += dense[i];
            if (++at[i] < x->dims[i]) break;
            from -= x->strides[i] * x->dims[i];
            to -= dense[i] * x->dims[i];
            at[i] = 0;
        }
    }
}

bool along_softmax_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    rows w = rows_of(c, call->op, x.t);
    int axis = call->attrs != NULL ? call->attrs->axis : 0;
    size_t element = dtype_size(x.t), room = 2 * (size_t)x.dims[axis] * element;
    bool direct = call->in[0].as.t->contiguous && axis == x.rank - 1;
    char *scratch = direct ? NULL : take(c, room);
    if (!direct && scratch == NULL) return false;
    bool good = result_new(c, &type, &r);
    if (good && direct) {
        dense_rows d = {.w = &w, .x = x.data, .out = r.data, .n = x.dims[axis]};
        d.count = d.n > 0 ? r.size / d.n : 0;
        d.row_bytes = d.out_bytes = (size_t)d.n * element;
        run_dense(c, &d);
    } else if (good && r.size > 0) {
        strided_rows(&w, &x, axis, scratch, r.data);
    }
    if (!direct) give_back(c, scratch, room);
    if (good) *out = r.v;
    return good;
}

/* ---- shift and scan ---- */

/* The operand as [outer, n, inner] about the axis. */
static void split_at(const array *x, int axis, int64_t *outer, int64_t *inner) {
    *outer = *inner = 1;
    for (int i = 0; i < axis; i++) *outer *= x->dims[i];
    for (int i = axis + 1; i < x->rank; i++) *inner *= x->dims[i];
}

static tensor *dense(context *c, const value *v) {
    return v->as.t->contiguous ? tensor_retain(v->as.t) : kernel_contiguous(c, v->as.t);
}

bool along_shift_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    int64_t outer, inner;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    int axis = call->attrs->axis;
    int64_t n = x.dims[axis], by = call->attrs->lo[0];
    tensor *from = dense(c, &call->in[0]);
    if (from == NULL) return false;
    bool good = result_new(c, &type, &r);
    if (good) {
        split_at(&x, axis, &outer, &inner);
        int64_t gap = by > n || by < -n ? n : by < 0 ? -by : by;
        size_t row = (size_t)inner * dtype_size(x.t);
        size_t kept = (size_t)(n - gap) * row, zeros = (size_t)gap * row;
        for (int64_t o = 0; o < outer && n > 0; o++) {
            char *to = (char *)r.data + (size_t)(o * n) * row;
            const char *at = (const char *)from->data + (size_t)(o * n) * row;
            memset(by > 0 ? to : to + kept, 0, zeros);
            memcpy(by > 0 ? to + zeros : to, by > 0 ? at : at + zeros, kept);
        }
        *out = r.v;
    }
    tensor_release(c, from);
    return good;
}

/* One outer slab; the first entry in the scan's direction is b's. */
#define SCAN(name, T, MUL)                                                                         \
    static void name(const T *a, const T *b, T *out, int64_t n, int64_t inner, bool reversed) {    \
        for (int64_t j = 0; j < n; j++) {                                                          \
            int64_t at = (reversed ? n - 1 - j : j) * inner;                                       \
            int64_t before = at + (reversed ? inner : -inner);                                     \
            for (int64_t i = 0; i < inner; i++)                                                    \
                out[at + i] = j == 0 ? b[at + i] : MUL(a[at + i], out[before + i]) + b[at + i];    \
        }                                                                                          \
    }
SCAN(scan_f32, float, f32_mul)
SCAN(scan_f64, double, f64_mul)
SCAN(strong_scan_f32, float, f32_strong_mul)
SCAN(strong_scan_f64, double, f64_strong_mul)

bool along_scan_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    int64_t outer, inner;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    int axis = call->attrs->axis;
    tensor *a = dense(c, &call->in[0]);
    tensor *b = a != NULL ? dense(c, &call->in[1]) : NULL;
    bool good = b != NULL && result_new(c, &type, &r);
    if (good) {
        split_at(&x, axis, &outer, &inner);
        int64_t n = x.dims[axis], slab = n * inner;
        bool strong = call->attrs->strong_zero;
        for (int64_t o = 0; o < outer && slab > 0; o++) {
            if (x.t == DT_F32)
                (strong ? strong_scan_f32 : scan_f32)(
                    (const float *)a->data + o * slab, (const float *)b->data + o * slab,
                    (float *)r.data + o * slab, n, inner, call->attrs->reversed);
            else
                (strong ? strong_scan_f64 : scan_f64)(
                    (const double *)a->data + o * slab, (const double *)b->data + o * slab,
                    (double *)r.data + o * slab, n, inner, call->attrs->reversed);
        }
        *out = r.v;
    }
    tensor_release(c, a);
    tensor_release(c, b);
    return good;
}
