/* Pooling over windows of the last two of four axes. Each plane is a task's alone, its windows in
 * row-major order, so that the bits depend on nothing else. */
#include <string.h>

#include "kernels/family.h"
#include "runtime/tensor.h"
#include "runtime/threads.h"

enum { TASKS_MOST = 64 };

/* Entries that are worth a task. */
static const int64_t task_entries = 1 << 15;

typedef struct axis {
    int64_t in, out, window, stride, padding;
} axis;

typedef struct pool {
    const char *from;
    char *to;
    size_t from_plane, to_plane; /* bytes */
    int64_t planes, per_task;
    axis a[2];
    void (*plane)(const struct pool *p, const void *from, void *to);
} pool;

/* The entries of x that a window covers. */
typedef struct range {
    int64_t from, to;
} range;

static range covered(const axis *a, int64_t i) {
    range r = {i * a->stride - a->padding, i * a->stride - a->padding + a->window};
    if (r.from < 0) r.from = 0;
    if (r.to > a->in) r.to = a->in;
    return r;
}

/* Calls step for every window, numbered i, with the rows and columns that it covers. */
#define FOR_EACH_WINDOW(p, step)                                                                   \
    int64_t i = 0;                                                                                 \
    for (int64_t y = 0; y < (p)->a[0].out; y++)                                                    \
        for (int64_t x = 0; x < (p)->a[1].out; x++, i++) {                                         \
            range rows = covered(&(p)->a[0], y), columns = covered(&(p)->a[1], x);                 \
            step;                                                                                  \
        }

#define POOL(suffix, T)                                                                            \
    static int64_t place_##suffix(const pool *p, const T *from, range rows, range columns) {       \
        int64_t best = rows.from * p->a[1].in + columns.from;                                      \
        for (int64_t y = rows.from; y < rows.to; y++)                                              \
            for (int64_t x = columns.from; x < columns.to; x++) {                                  \
                T at = from[y * p->a[1].in + x], top = from[best];                                 \
                /* The first NaN stays, as nothing is larger. */                                   \
                if (at > top || (at != at && top == top)) best = y * p->a[1].in + x;               \
            }                                                                                      \
        return best;                                                                               \
    }                                                                                              \
    static void max_##suffix(const pool *p, const void *from, void *to) {                          \
        const T *in = from;                                                                        \
        T *out = to;                                                                               \
        FOR_EACH_WINDOW(p, out[i] = in[place_##suffix(p, in, rows, columns)])                      \
    }                                                                                              \
    static void places_##suffix(const pool *p, const void *from, void *to) {                       \
        int64_t *out = to;                                                                         \
        FOR_EACH_WINDOW(p, out[i] = place_##suffix(p, from, rows, columns))                        \
    }                                                                                              \
    static void spread_##suffix(const pool *p, const void *from, void *to) {                       \
        const T *in = from;                                                                        \
        T *out = to, size = (T)((double)p->a[0].window * (double)p->a[1].window);                  \
        FOR_EACH_WINDOW(p, {                                                                       \
            T part = in[i] / size;                                                                 \
            for (int64_t r = rows.from; r < rows.to; r++)                                          \
                for (int64_t k = columns.from; k < columns.to; k++)                                \
                    out[r * p->a[1].in + k] += part;                                               \
        })                                                                                         \
    }
POOL(f32, float)
POOL(f64, double)

/* Summed up in the type W. */
#define MEAN(name, T, W)                                                                           \
    static void name(const pool *p, const void *from, void *to) {                                  \
        const T *in = from;                                                                        \
        T *out = to;                                                                               \
        W size = (W)((double)p->a[0].window * (double)p->a[1].window);                             \
        FOR_EACH_WINDOW(p, {                                                                       \
            W sum = (W)0;                                                                          \
            for (int64_t r = rows.from; r < rows.to; r++)                                          \
                for (int64_t k = columns.from; k < columns.to; k++)                                \
                    sum += (W)in[r * p->a[1].in + k];                                              \
            out[i] = (T)(sum / size);                                                              \
        })                                                                                         \
    }
MEAN(mean_f32, float, double)
MEAN(mean_f64, double, double)
MEAN(mean_f32_compiled, float, float)

static void pool_task(void *argument, int task) {
    const pool *p = argument;
    int64_t first = task * p->per_task, last = first + p->per_task;
    for (int64_t i = first; i < last && i < p->planes; i++)
        p->plane(p, p->from + (size_t)i * p->from_plane, p->to + (size_t)i * p->to_plane);
}

static void run(context *c, pool *p) {
    int64_t entries = p->a[0].in * p->a[1].in + p->a[0].out * p->a[1].out + 1;
    p->per_task = task_entries / entries + 1;
    if (p->per_task < (p->planes + TASKS_MOST - 1) / TASKS_MOST)
        p->per_task = (p->planes + TASKS_MOST - 1) / TASKS_MOST;
    threads_run(c, (int)((p->planes + p->per_task - 1) / p->per_task), pool_task, p);
}

static void choose(const context *c, pool *p, op_id op, bool single) {
    bool own = c->numerics == NUMERICS_COMPILED;
    switch (op) {
    case OP_max_pool2d: p->plane = single ? max_f32 : max_f64; break;
    case OP_max_pool_place: p->plane = single ? places_f32 : places_f64; break;
    case OP_avg_pool2d: p->plane = !single ? mean_f64 : own ? mean_f32_compiled : mean_f32; break;
    default: p->plane = single ? spread_f32 : spread_f64; break;
    }
}

static void fill(context *c, const op_call *call, const tensor *in, result *r) {
    const int64_t *made = r->v.as.t->dims;
    bool back = call->op == OP_avg_pool_grad;
    size_t element = dtype_size((dtype)in->dtype), made_size = dtype_size((dtype)r->v.dtype);
    pool p = {.from = in->data, .to = r->data, .planes = made[0] * made[1]};
    for (int i = 0; i < 2; i++)
        p.a[i] = (axis){.in = back ? made[2 + i] : in->dims[2 + i],
                        .out = back ? in->dims[2 + i] : made[2 + i],
                        .window = call->attrs->step[2 + i],
                        .stride = call->attrs->step[i],
                        .padding = call->attrs->lo[i]};
    p.from_plane = (size_t)(in->dims[2] * in->dims[3]) * element;
    p.to_plane = (size_t)(made[2] * made[3]) * made_size;
    choose(c, &p, call->op, in->dtype == DT_F32);
    if (back) memset(r->data, 0, (size_t)r->size * made_size);
    if (r->size > 0) run(c, &p);
}

bool pool_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type) || !result_new(c, &type, &r)) return false;
    tensor *in = kernel_contiguous(c, call->in[0].as.t);
    if (in == NULL) {
        value_release(c, r.v);
        return false;
    }
    fill(c, call, in, &r);
    tensor_release(c, in);
    *out = r.v;
    return true;
}
