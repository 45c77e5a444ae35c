/* Convolutions of one or two spatial axes and their two gradients.
 *
 * The entries of x under each window become a column of a matrix, a strip of windows at a time so
 * that it stays in the cache, and the rest is a matrix product: filters times columns. How the work
 * is cut depends on the shapes alone and each product runs on one thread, so the bits do not depend
 * on the number of threads. One spatial axis is two, the first of size 1. */
#include <limits.h>
#include <string.h>

#include "kernels/blas.h"
#include "kernels/family.h"
#include "kernels/strong.h"
#include "runtime/tensor.h"
#include "runtime/threads.h"

enum {
    TASKS_MOST = 16,
    STRIP_ELEMENTS = 1 << 15, /* of the matrix of columns */
    STRIP_LEAST = 64,         /* columns, however long they are */
    PARTS_MOST = 8,           /* into which one gradient is cut */
    TASK_WORK = 1 << 16,      /* multiplications that are worth a task */
};

typedef struct axis {
    int64_t in, window, out, stride, padding, dilation;
} axis;

typedef struct conv {
    dtype t;
    size_t element;
    bool strong; /* 0 times infinity or NaN is 0, which the loops in order alone know of */
    const blas *blas;
    void (*add)(void *to, const void *more, size_t n);
    /* x [n, groups * c, ...], w [groups * o, c, ...], y [n, groups * o, ...]; one is the result. */
    char *x, *w, *y;
    int64_t n, groups, c, o;
    axis a[2];
    int64_t taps, places;                      /* of a filter of one group; of a plane of y */
    int64_t strip_rows, strip_columns, strips; /* windows in a strip, strips in a plane */
    bool direct; /* the windows are single entries: x is its own columns */
    int64_t parts, units, per_task;
    char *room;
    size_t room_each;
} conv;

/* Some windows of a plane that follow one another: whole rows, or a part of one. */
typedef struct strip {
    int64_t row, rows, column, columns;
    int64_t first, count;
} strip;

static strip strip_of(const conv *v, int64_t i) {
    int64_t height = v->a[0].out, width = v->a[1].out;
    strip s = {.rows = 1, .columns = width};
    if (v->strip_columns < width) {
        int64_t each = (width + v->strip_columns - 1) / v->strip_columns;
        s.row = i / each;
        s.column = i % each * v->strip_columns;
        s.columns = width - s.column < v->strip_columns ? width - s.column : v->strip_columns;
    } else {
        s.row = i * v->strip_rows;
        s.rows = height - s.row < v->strip_rows ? height - s.row : v->strip_rows;
    }
    s.first = s.row * width + s.column;
    s.count = s.rows * s.columns;
    return s;
}

/* ---- columns ---- */

/* The least i at which i * stride + offset reaches `bound`, within [low, high]. */
static int64_t reaches(int64_t bound, int64_t offset, int64_t stride, int64_t low, int64_t high) {
    int64_t i = bound <= offset ? 0 : bound - offset;
    if (stride != 1) i = (i + stride - 1) / stride;
    return i < low ? low : i > high ? high : i;
}

/* One row of windows under one entry of the window: where in x it begins, and which of the windows
 * [from, to) have that entry inside of x. */
typedef struct line {
    int64_t at, from, to;
} line;

static line line_of(const conv *v, const strip *s, int64_t row, int64_t kh, int64_t kw) {
    const axis *h = &v->a[0], *w = &v->a[1];
    int64_t y = (s->row + row) * h->stride + kh * h->dilation - h->padding;
    int64_t offset = kw * w->dilation - w->padding, low = s->column, high = low + s->columns;
    line l = {.at = y * w->in + offset, .from = high, .to = high};
    if (y < 0 || y >= h->in) return l;
    l.from = reaches(0, offset, w->stride, low, high);
    l.to = reaches(w->in, offset, w->stride, l.from, high);
    return l;
}

/* Calls step(to, from of x, line) for each line of a strip's columns: T *column, T *plane. */
#define FOR_EACH_LINE(v, s, channels, T, x, columns, step)                                         \
    T *column = (T *)(void *)(columns);                                                            \
    for (int64_t ch = 0; ch < (channels); ch++) {                                                  \
        T *plane = (T *)(void *)(x) + ch * (v)->a[0].in * (v)->a[1].in;                            \
        for (int64_t kh = 0; kh < (v)->a[0].window; kh++)                                          \
            for (int64_t kw = 0; kw < (v)->a[1].window; kw++)                                      \
                for (int64_t row = 0; row < (s)->rows; row++, column += (s)->columns) {            \
                    line l = line_of(v, s, row, kh, kw);                                           \
                    step;                                                                          \
                }                                                                                  \
    }

#define COLUMNS(suffix, T)                                                                         \
    static void copy_line_##suffix(const conv *v, const strip *s, T *column, const T *plane,       \
                                   line l) {                                                       \
        int64_t stride = v->a[1].stride;                                                           \
        for (int64_t i = s->column; i < l.from; i++) column[i - s->column] = 0;                    \
        if (stride == 1 && l.to > l.from)                                                          \
            memcpy(column + (l.from - s->column), plane + l.at + l.from,                           \
                   (size_t)(l.to - l.from) * sizeof(T));                                           \
        else                                                                                       \
            for (int64_t i = l.from; i < l.to; i++)                                                \
                column[i - s->column] = plane[l.at + i * stride];                                  \
        for (int64_t i = l.to; i < s->column + s->columns; i++) column[i - s->column] = 0;         \
    }                                                                                              \
    static void gather_##suffix(const conv *v, const strip *s, int64_t channels, char *x,          \
                                char *columns) {                                                   \
        FOR_EACH_LINE(v, s, channels, T, x, columns, copy_line_##suffix(v, s, column, plane, l))   \
    }                                                                                              \
    static void add_line_##suffix(const conv *v, const strip *s, const T *column, T *plane,        \
                                  line l) {                                                        \
        int64_t stride = v->a[1].stride;                                                           \
        column -= s->column;                                                                       \
        if (stride == 1 && l.to > l.from)                                                          \
            v->add(plane + l.at + l.from, column + l.from, (size_t)(l.to - l.from));               \
        else                                                                                       \
            for (int64_t i = l.from; i < l.to; i++) plane[l.at + i * stride] += column[i];         \
    }                                                                                              \
    static void scatter_##suffix(const conv *v, const strip *s, int64_t channels, char *x,         \
                                 char *columns) {                                                  \
        FOR_EACH_LINE(v, s, channels, T, x, columns, add_line_##suffix(v, s, column, plane, l))    \
    }
COLUMNS(f32, float)
COLUMNS(f64, double)

/* ---- products ---- */

typedef struct factor {
    const char *data;
    int64_t ld;
    int turned;
} factor;

/* c = a @ b, or added to c; k is not 0. */
static void product(const conv *v, int64_t m, int64_t n, int64_t k, factor a, factor b, char *c,
                    int64_t ldc, bool add) {
    if (v->t == DT_F32)
        v->blas->sgemm(BLAS_ROW_MAJOR, a.turned, b.turned, (int)m, (int)n, (int)k, 1.0f,
                       (const float *)(const void *)a.data, (int)a.ld,
                       (const float *)(const void *)b.data, (int)b.ld, add ? 1.0f : 0.0f,
                       (float *)(void *)c, (int)ldc);
    else
        v->blas->dgemm(BLAS_ROW_MAJOR, a.turned, b.turned, (int)m, (int)n, (int)k, 1.0,
                       (const double *)(const void *)a.data, (int)a.ld,
                       (const double *)(const void *)b.data, (int)b.ld, add ? 1.0 : 0.0,
                       (double *)(void *)c, (int)ldc);
}

static char *x_of(const conv *v, int64_t image, int64_t group, int64_t channel) {
    int64_t plane = (image * v->groups + group) * v->c + channel;
    return v->x + (size_t)(plane * v->a[0].in * v->a[1].in) * v->element;
}

static char *y_of(const conv *v, int64_t image, int64_t group, int64_t first) {
    return v->y + (size_t)((image * v->groups + group) * v->o * v->places + first) * v->element;
}

static char *w_of(const conv *v, int64_t group) {
    return v->w + (size_t)(group * v->o * v->taps) * v->element;
}

/* A strip's columns of x: a matrix of `taps` rows. */
static factor columns_of(const conv *v, int64_t image, int64_t group, const strip *s, char *room) {
    char *x = x_of(v, image, group, 0);
    if (v->direct) return (factor){x + (size_t)s->first * v->element, v->places, BLAS_AS_IS};
    if (v->t == DT_F32)
        gather_f32(v, s, v->c, x, room);
    else
        gather_f64(v, s, v->c, x, room);
    return (factor){room, s->count, BLAS_AS_IS};
}

/* A unit is a strip of one image and group. */
static void output_unit(const conv *v, int64_t unit, char *room) {
    int64_t image = unit / v->strips / v->groups, group = unit / v->strips % v->groups;
    strip s = strip_of(v, unit % v->strips);
    factor w = {w_of(v, group), v->taps, BLAS_AS_IS};
    product(v, v->o, s.count, v->taps, w, columns_of(v, image, group, &s, room),
            y_of(v, image, group, s.first), v->places, false);
}

/* A unit is a part of the channels of one image and group. */
static void input_unit(const conv *v, int64_t unit, char *room) {
    int64_t image = unit / v->parts / v->groups, group = unit / v->parts % v->groups;
    int64_t each = (v->c + v->parts - 1) / v->parts, first = unit % v->parts * each;
    int64_t channels = v->c - first < each ? v->c - first : each;
    int64_t window = v->a[0].window * v->a[1].window;
    if (channels <= 0) return;
    char *x = x_of(v, image, group, first);
    factor w = {w_of(v, group) + (size_t)(first * window) * v->element, v->taps, BLAS_TRANSPOSED};
    for (int64_t i = 0; i < v->strips; i++) {
        strip s = strip_of(v, i);
        factor d = {y_of(v, image, group, s.first), v->places, BLAS_AS_IS};
        char *to = v->direct ? x + (size_t)s.first * v->element : room;
        product(v, channels * window, s.count, v->o, w, d, to, v->direct ? v->places : s.count,
                false);
        if (v->direct) continue;
        if (v->t == DT_F32)
            scatter_f32(v, &s, channels, x, room);
        else
            scatter_f64(v, &s, channels, x, room);
    }
}

/* A unit is a part of the strips of all images, of one group, and has a sum of its own. */
static void weight_unit(const conv *v, int64_t unit, char *room) {
    int64_t group = unit / v->parts, part = unit % v->parts, all = v->n * v->strips;
    int64_t each = (all + v->parts - 1) / v->parts, last = (part + 1) * each;
    size_t bytes = (size_t)(v->groups * v->o * v->taps) * v->element;
    char *sum = w_of(v, group) + (size_t)part * bytes;
    for (int64_t i = part * each; i < last && i < all; i++) {
        strip s = strip_of(v, i % v->strips);
        factor x = columns_of(v, i / v->strips, group, &s, room);
        factor d = {y_of(v, i / v->strips, group, s.first), v->places, BLAS_AS_IS};
        x.turned = BLAS_TRANSPOSED;
        product(v, v->o, v->taps, s.count, d, x, sum, v->taps, true);
    }
}

/* ---- reference and compiled numerics ---- */

/* Every product once, added up in the type W in the order of x's, w's and y's entries. */
#define IN_ORDER(name, T, W)                                                                       \
    static void name(const conv *v, op_class class, W *sum) {                                      \
        const T *x = (const T *)(const void *)v->x, *w = (const T *)(const void *)v->w;            \
        const T *y = (const T *)(const void *)v->y;                                                \
        strip s = {.rows = 1, .columns = v->a[1].out};                                             \
        int64_t plane = v->a[0].in * v->a[1].in, filter = 0, image_o = v->groups * v->o;           \
        for (int64_t i = 0; i < v->n * image_o; i++)                                               \
            for (int64_t ch = 0; ch < v->c; ch++)                                                  \
                for (int64_t kh = 0; kh < v->a[0].window; kh++)                                    \
                    for (int64_t kw = 0; kw < v->a[1].window; kw++)                                \
                        for (s.row = 0; s.row < v->a[0].out; s.row++) {                            \
                            line l = line_of(v, &s, 0, kh, kw);                                    \
                            int64_t group = i % image_o / v->o, image = i / image_o;               \
                            int64_t from = ((image * v->groups + group) * v->c + ch) * plane;      \
                            int64_t to = i * v->places + s.row * v->a[1].out;                      \
                            filter = (i % image_o * v->c + ch) * v->a[0].window + kh;              \
                            filter = filter * v->a[1].window + kw;                                 \
                            for (int64_t j = l.from; j < l.to; j++) {                              \
                                int64_t at = from + l.at + j * v->a[1].stride;                     \
                                W a = class == CLASS_CONV ? (W)x[at] : (W)y[to + j];               \
                                W b = class == CLASS_CONV_WEIGHT_GRAD ? (W)x[at] : (W)w[filter];   \
                                int64_t place = class == CLASS_CONV              ? to + j          \
                                                : class == CLASS_CONV_INPUT_GRAD ? at              \
                                                                                 : filter;         \
                                sum[place] +=                                                      \
                                    v->strong && (a == (W)0 || b == (W)0) ? (W)0 : a * b;          \
                            }                                                                      \
                        }                                                                          \
    }
IN_ORDER(reference_f32, float, double)
IN_ORDER(reference_f64, double, long double)
IN_ORDER(compiled_f32, float, float)
IN_ORDER(compiled_f64, double, double)

static bool run_reference(context *c, const conv *v, op_class class, result *r) {
    size_t each = v->t == DT_F32 ? sizeof(double) : sizeof(long double), bytes;
    if (__builtin_mul_overflow(each, (size_t)r->size, &bytes)) bytes = SIZE_MAX;
    void *sum = take_zeroed(c, bytes);
    if (sum == NULL) return false;
    if (v->t == DT_F32) {
        reference_f32(v, class, sum);
        for (int64_t i = 0; i < r->size; i++) ((float *)r->data)[i] = (float)((double *)sum)[i];
    } else {
        reference_f64(v, class, sum);
        for (int64_t i = 0; i < r->size; i++)
            ((double *)r->data)[i] = (double)((long double *)sum)[i];
    }
    give_back(c, sum, bytes);
    return true;
}

/* ---- all of it ---- */

static void tasks_of(conv *v, int task, int64_t *first, int64_t *last, char **room) {
    *first = task * v->per_task;
    *last = *first + v->per_task < v->units ? *first + v->per_task : v->units;
    *room = v->room + (size_t)task * v->room_each;
}

#define TASK(name, unit)                                                                           \
    static void name(void *argument, int task) {                                                   \
        conv *v = argument;                                                                        \
        int64_t i, last;                                                                           \
        char *room;                                                                                \
        for (tasks_of(v, task, &i, &last, &room); i < last; i++) unit(v, i, room);                 \
    }
TASK(output_task, output_unit)
TASK(input_task, input_unit)
TASK(weight_task, weight_unit)

/* The operands in order, the result's place among them, as axes and counts. */
static void set_axes(conv *v, const op_attrs *attrs, const int64_t *x, const int64_t *w,
                     const int64_t *y, int spatial) {
    v->groups = attrs->lo[2];
    v->n = x[0];
    v->c = x[1] / v->groups;
    v->o = w[0] / v->groups;
    v->a[0] = (axis){1, 1, 1, 1, 0, 1};
    for (int i = 0; i < spatial; i++)
        v->a[2 - spatial + i] = (axis){.in = x[2 + i],
                                       .window = w[2 + i],
                                       .out = y[2 + i],
                                       .stride = attrs->step[i],
                                       .padding = attrs->lo[i],
                                       .dilation = attrs->step[2 + i]};
    v->taps = v->c * v->a[0].window * v->a[1].window;
    v->places = v->a[0].out * v->a[1].out;
    v->direct = true;
    for (int i = 0; i < 2; i++)
        v->direct = v->direct && v->a[i].window == 1 && v->a[i].stride == 1 && v->a[i].padding == 0;
}

static void set_strips(conv *v) {
    int64_t width = v->a[1].out, most = STRIP_ELEMENTS / (v->taps + 1);
    if (most < STRIP_LEAST) most = STRIP_LEAST;
    if (v->direct || most > v->places) most = v->places;
    v->strip_columns = most < width ? most : width;
    v->strip_rows = most < width ? 1 : most / width;
    v->strips = v->strip_columns < width
                    ? v->a[0].out * ((width + v->strip_columns - 1) / v->strip_columns)
                    : (v->a[0].out + v->strip_rows - 1) / v->strip_rows;
}

/* The multiplications of all of it, as far as they matter here. */
static int64_t work_of(const conv *v) {
    const int64_t factors[] = {v->n, v->groups, v->o, v->taps, v->places};
    int64_t work = 1;
    for (size_t i = 0; i < COUNT_OF(factors); i++)
        if (__builtin_mul_overflow(work, factors[i], &work)) return INT64_MAX;
    return work;
}

static void set_units(conv *v, op_class class, int *tasks) {
    int64_t work = work_of(v), images = v->n * v->groups, most = work / TASK_WORK + 1;
    v->parts = 1;
    if (class == CLASS_CONV) {
        v->units = images * v->strips;
    } else if (class == CLASS_CONV_INPUT_GRAD) {
        while (images > 0 && v->parts * 2 <= v->c && images * v->parts < PARTS_MOST &&
               v->parts * 2 <= most)
            v->parts *= 2;
        v->units = images * v->parts;
    } else {
        int64_t strips = v->n * v->strips;
        while (v->parts * 2 <= strips && v->parts < PARTS_MOST && v->parts * 2 <= most)
            v->parts *= 2;
        v->units = v->groups * v->parts;
    }
    if (most > TASKS_MOST) most = TASKS_MOST;
    v->per_task = (v->units + most - 1) / most;
    *tasks = v->per_task == 0 ? 0 : (int)((v->units + v->per_task - 1) / v->per_task);
}

/* The sums of a gradient's parts, in order, to its place. */
static void add_parts(const conv *v, char *out, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        for (int64_t part = 0; part < v->parts; part++) {
            int64_t at = part * size + i;
            if (v->t == DT_F32)
                ((float *)(void *)out)[i] += ((const float *)(const void *)v->w)[at];
            else
                ((double *)(void *)out)[i] += ((const double *)(const void *)v->w)[at];
        }
}

static bool run_blas(context *c, conv *v, op_class class, result *r) {
    int tasks;
    size_t rooms = 0, sums = 0;
    v->add = lines_now()->reduce[REDUCE_SUM][v->t].join;
    set_strips(v);
    set_units(v, class, &tasks);
    if (!v->direct)
        v->room_each = (size_t)(v->taps * v->strip_rows * v->strip_columns) * v->element;
    rooms = v->room_each * (size_t)tasks;
    bool parted = class == CLASS_CONV_WEIGHT_GRAD && v->parts > 1;
    if (parted) sums = (size_t)(v->parts * r->size) * v->element;
    v->room = take(c, rooms);
    char *parts = parted && v->room != NULL ? take_zeroed(c, sums) : NULL;
    bool good = v->room != NULL && (!parted || parts != NULL);
    if (good) {
        if (parted) v->w = parts;
        threads_run(c, tasks,
                    class == CLASS_CONV              ? output_task
                    : class == CLASS_CONV_INPUT_GRAD ? input_task
                                                     : weight_task,
                    v);
        if (parted) add_parts(v, r->data, r->size);
    }
    if (parts != NULL) give_back(c, parts, sums);
    if (v->room != NULL) give_back(c, v->room, rooms);
    return good;
}

static bool open_blas(context *c, const op_call *call, conv *v) {
    if (v->taps > INT_MAX || v->places > INT_MAX || v->o > INT_MAX)
        return error_set(&c->err, ERROR_K0511, call->where,
                         "a convolution has up to %d windows, filters and entries of a filter",
                         INT_MAX);
    v->blas = blas_open();
    if (v->blas != NULL) return true;
    error_set(&c->err, ERROR_K0701, call->where, "OpenBLAS is missing, which convolutions need");
    error_help(&c->err,
               "install the Debian package libopenblas0, or compute with reference numerics");
    return false;
}

/* Fills a result that is zeros at first. */
static bool compute(context *c, const op_call *call, op_class class, tensor *const *in, result *r) {
    const int64_t *made = r->v.as.t->dims;
    conv v = {.t = (dtype)in[0]->dtype, .element = dtype_size((dtype)in[0]->dtype)};
    v.strong = strong_matters(call, 0);
    int spatial = in[0]->rank - 2;
    bool output = class == CLASS_CONV, input = class == CLASS_CONV_INPUT_GRAD;
    v.x = input ? r->data : in[0]->data;
    v.w = output || input ? in[1]->data : r->data;
    v.y = output ? r->data : input ? in[0]->data : in[1]->data;
    set_axes(&v, call->attrs, input ? made : in[0]->dims, output || input ? in[1]->dims : made,
             output ? made : in[input ? 0 : 1]->dims, spatial);
    if (r->size == 0) return true;
    memset(r->data, 0, (size_t)r->size * v.element);
    if (work_of(&v) == 0) return true;
    if (c->numerics == NUMERICS_COMPILED) {
        if (v.t == DT_F32)
            compiled_f32(&v, class, r->data);
        else
            compiled_f64(&v, class, r->data);
        return true;
    }
    if (c->numerics == NUMERICS_REFERENCE || v.strong) return run_reference(c, &v, class, r);
    return open_blas(c, call, &v) && run_blas(c, &v, class, r);
}

bool conv_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    tensor *in[2] = {NULL, NULL};
    if (!result_type(c, call, &type) || !result_new(c, &type, &r)) return false;
    bool good = true;
    for (int k = 0; k < 2 && good; k++)
        good = (in[k] = kernel_contiguous(c, call->in[k].as.t)) != NULL;
    good = good && compute(c, call, (op_class)op_table[call->op].class, in, &r);
    for (int k = 0; k < 2; k++) tensor_release(c, in[k]);
    if (!good) value_release(c, r.v);
    if (good) *out = r.v;
    return good;
}
