/* Running sums, products and the like along one axis.
 *
 * Each result continues from the one before it, in the order of the axis, in an accumulator at
 * least as wide as F64 (as long double for F64 under reference numerics, in the entries' own type under
 * compiled ones; integers wrap). Entries of neighbouring columns are walked together, which changes no
 * result. */
#include <math.h>

#include "kernels/family.h"
#include "runtime/threads.h"

enum {
    TILE = 64,                  /* columns walked together */
    PARALLEL_ENTRIES = 1 << 16, /* fewer are not worth a second thread */
    MAX_TASKS = 1 << 12,
};

/* One tile: n entries along the axis, `step` elements apart, of `width` neighbouring columns. */
typedef struct tile {
    const void *x;
    void *out;
    int64_t n, step, width;
    bool reversed;
} tile;

#define RUNNING(name, T, W, START, NEXT)                                                           \
    static void name(const tile *t) {                                                              \
        W acc[TILE], one = (START);                                                                \
        int64_t first = t->reversed ? (t->n - 1) * t->step : 0;                                    \
        int64_t by = t->reversed ? -t->step : t->step;                                             \
        const T *x = (const T *)t->x + first;                                                      \
        T *out = (T *)t->out + first;                                                              \
        for (int64_t j = 0; t->width == 1 && j < t->n; j++) {                                      \
            one = (W)(one NEXT(W) x[j * by]);                                                      \
            out[j * by] = (T)one;                                                                  \
        }                                                                                          \
        if (t->width == 1) return;                                                                 \
        for (int64_t i = 0; i < t->width; i++) acc[i] = (START);                                   \
        for (int64_t j = 0; j < t->n; j++)                                                         \
            for (int64_t i = 0; i < t->width; i++) {                                               \
                acc[i] = (W)(acc[i] NEXT(W) x[j * by + i]);                                        \
                out[j * by + i] = (T)acc[i];                                                       \
            }                                                                                      \
    }
RUNNING(sum_f32, float, double, 0.0, +)
RUNNING(sum_f64, double, double, 0.0, +)
RUNNING(sum_f64_reference, double, long double, 0.0L, +)
RUNNING(sum_f32_compiled, float, float, 0.0f, +)
RUNNING(sum_i32, int32_t, uint32_t, 0, +)
RUNNING(sum_i64, int64_t, uint64_t, 0, +)
RUNNING(product_f32, float, double, 1.0, *)
RUNNING(product_f64, double, double, 1.0, *)
RUNNING(product_f64_reference, double, long double, 1.0L, *)
RUNNING(product_f32_compiled, float, float, 1.0f, *)
RUNNING(product_i32, int32_t, uint32_t, 1, *)
RUNNING(product_i64, int64_t, uint64_t, 1, *)

/* The exponentials so far, relative to the largest entry so far, and that entry. */
#define RUNNING_LOG(name, T, W, F)                                                                 \
    static void name(const tile *t) {                                                              \
        W most[TILE], sum[TILE];                                                                   \
        for (int64_t i = 0; i < t->width; i++) most[i] = -(W)INFINITY, sum[i] = (W)0;              \
        for (int64_t j = 0; j < t->n; j++) {                                                       \
            const T *x = (const T *)t->x + j * t->step;                                            \
            T *out = (T *)t->out + j * t->step;                                                    \
            for (int64_t i = 0; i < t->width; i++) {                                               \
                W v = (W)x[i];                                                                     \
                if (v > most[i]) {                                                                 \
                    sum[i] = sum[i] * exp##F(most[i] - v) + (W)1;                                  \
                    most[i] = v;                                                                   \
                } else if (v == most[i]) {                                                         \
                    sum[i] += v == -(W)INFINITY ? (W)0 : (W)1;                                     \
                } else {                                                                           \
                    sum[i] += exp##F(v - most[i]);                                                 \
                }                                                                                  \
                out[i] = (T)(most[i] + log##F(sum[i]));                                            \
            }                                                                                      \
        }                                                                                          \
    }
RUNNING_LOG(log_f32, float, double, )
RUNNING_LOG(log_f64, double, double, )
RUNNING_LOG(log_f32_compiled, float, float, f)
RUNNING_LOG(log_f64_reference, double, long double, l)

typedef void tile_fn(const tile *t);

static tile_fn *tile_function(const context *c, op_id op, dtype t) {
    static tile_fn *const sums[DTYPE_COUNT] = {
        [DT_F32] = sum_f32, [DT_F64] = sum_f64, [DT_I32] = sum_i32, [DT_I64] = sum_i64};
    static tile_fn *const products[DTYPE_COUNT] = {[DT_F32] = product_f32,
                                                   [DT_F64] = product_f64,
                                                   [DT_I32] = product_i32,
                                                   [DT_I64] = product_i64};
    bool wider = c->numerics == NUMERICS_REFERENCE && t == DT_F64;
    if (c->numerics == NUMERICS_COMPILED && t == DT_F32)
        return op == OP_cumsum    ? sum_f32_compiled
               : op == OP_cumprod ? product_f32_compiled
                                  : log_f32_compiled;
    if (op == OP_cumsum) return wider ? sum_f64_reference : sums[t];
    if (op == OP_cumprod) return wider ? product_f64_reference : products[t];
    return wider ? log_f64_reference : t == DT_F64 ? log_f64 : log_f32;
}

/* ---- tiles of a dense operand ---- */

typedef struct job {
    tile_fn *run;
    const char *x;
    char *out;
    size_t element;
    int64_t n, inner, tiles, units, per_task; /* units: tiles of all outer slabs */
    bool reversed;
} job;

static void task(void *argument, int i) {
    const job *w = argument;
    int64_t first = i * w->per_task, last = first + w->per_task;
    if (last > w->units) last = w->units;
    for (int64_t k = first; k < last; k++) {
        int64_t from = k % w->tiles * TILE, left = w->inner - from;
        size_t at = (size_t)(k / w->tiles * w->n * w->inner + from) * w->element;
        tile t = {.x = w->x + at,
                  .out = w->out + at,
                  .n = w->n,
                  .step = w->inner,
                  .width = left < TILE ? left : TILE,
                  .reversed = w->reversed};
        w->run(&t);
    }
}

static void run(context *c, job *w, int64_t size) {
    if (size == 0) return;
    w->tiles = (w->inner + TILE - 1) / TILE;
    w->units = size / (w->n * w->inner) * w->tiles;
    w->per_task = PARALLEL_ENTRIES / 4 / (w->n * (w->inner < TILE ? w->inner : TILE)) + 1;
    if (c->threads <= 1 || size < PARALLEL_ENTRIES) w->per_task = w->units;
    while (w->units / w->per_task >= MAX_TASKS) w->per_task *= 2;
    threads_run(c, (int)((w->units + w->per_task - 1) / w->per_task), task, w);
}

bool cumulate_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    int axis = call->attrs != NULL ? call->attrs->axis : 0;
    tensor *from = call->in[0].as.t;
    from = from->contiguous ? tensor_retain(from) : kernel_contiguous(c, from);
    if (from == NULL) return false;
    bool good = result_new(c, &type, &r);
    if (good) {
        job w = {.run = tile_function(c, call->op, x.t),
                 .x = from->data,
                 .out = r.data,
                 .element = dtype_size(x.t),
                 .n = x.dims[axis],
                 .inner = 1,
                 .reversed = call->attrs != NULL && call->attrs->reversed};
        for (int i = axis + 1; i < x.rank; i++) w.inner *= x.dims[i];
        run(c, &w, r.size);
        *out = r.v;
    }
    tensor_release(c, from);
    return good;
}
