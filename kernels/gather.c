/* Gather and scatter along an axis. Indices are checked before anything is moved; scatters add in
 * the order of the indices, so that repeated ones always give the same bits. */
#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"

static bool index_fault(context *c, const op_call *call, int64_t index, int axis, int64_t size) {
    return error_set(&c->err, ERROR_K0503, call->where,
                     "index %lld is out of range for axis %d, which has size %lld",
                     (long long)index, axis, (long long)size);
}

/* The operand's elements row-major: its own when they are, else a copy kept in *made. */
static bool dense_operand(context *c, const value *v, const void **data, tensor **made) {
    *made = NULL;
    if (v->kind != VALUE_TENSOR) {
        *data = &v->as;
    } else if (v->as.t->contiguous) {
        *data = v->as.t->data;
    } else {
        *made = kernel_contiguous(c, v->as.t);
        if (*made == NULL) return false;
        *data = (*made)->data;
    }
    return true;
}

/* The indices in row-major order as I64, each within [0, size); NULL with the error set. give_back
 * with indices_bytes. At least one is allocated, so that NULL always means failure. */
static size_t indices_bytes(const value *v) {
    return (size_t)(value_size(v) + 1) * sizeof(int64_t);
}

/* Widens while it looks for one that is out of range. */
#define WIDEN(name, T)                                                                             \
    static bool name(const T *from, int64_t n, int64_t size, int64_t *to) {                        \
        uint64_t bad = 0;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            to[i] = from[i];                                                                       \
            bad |= (uint64_t)to[i] >= (uint64_t)size;                                              \
        }                                                                                          \
        return bad == 0;                                                                           \
    }
WIDEN(widen_i32, int32_t)
WIDEN(widen_i64, int64_t)

static int64_t *indices_read(context *c, const op_call *call, int axis, int64_t size) {
    const value *v = &call->in[1];
    int64_t n = value_size(v), *all = take(c, indices_bytes(v));
    const void *data;
    tensor *made = NULL;
    if (all == NULL) return NULL;
    bool good = dense_operand(c, v, &data, &made);
    if (good) {
        good = v->dtype == DT_I32 ? widen_i32(data, n, size, all) : widen_i64(data, n, size, all);
        for (int64_t i = 0; i < n && !good; i++) {
            if (all[i] >= 0 && all[i] < size) continue;
            index_fault(c, call, all[i], axis, size);
            break;
        }
    }
    tensor_release(c, made);
    if (good) return all;
    give_back(c, all, indices_bytes(v));
    return NULL;
}

/* A tensor as [outer, size, inner] about an axis. */
typedef struct split {
    int64_t outer, size, inner;
} split;

static split split_at(const array *x, int axis) {
    split s = {1, x->dims[axis], 1};
    for (int i = 0; i < axis; i++) s.outer *= x->dims[i];
    for (int i = axis + 1; i < x->rank; i++) s.inner *= x->dims[i];
    return s;
}

static int axis_of(const op_call *call) {
    return call->attrs != NULL ? call->attrs->axis : 0;
}

static void add_entries(dtype t, void *to, const void *from, int64_t n) {
    lines_now()->reduce[REDUCE_SUM][t].join(to, from, (size_t)n);
}

/* One call: x as it is split, its indices, and dense elements from and to. */
typedef struct gathering {
    dtype t;
    size_t element;
    split s;
    int64_t n; /* indices, or, where they lie along the axis, those of one line */
    const int64_t *indices;
    const char *from;
    char *to;
} gathering;

/* Entries of one size are moved as such: a call for each would cost more than the move. */
#define TAKE_ENTRIES(T)                                                                            \
    for (int64_t i = 0; i < g->n; i++)                                                             \
    ((T *)(void *)to)[i] = ((const T *)(const void *)from)[g->indices[i]]

static void take_rows(const gathering *g) {
    size_t row = (size_t)g->s.inner * g->element;
    for (int64_t o = 0; o < g->s.outer; o++) {
        const char *from = g->from + (size_t)(o * g->s.size) * row;
        char *to = g->to + (size_t)(o * g->n) * row;
        if (row == 4)
            TAKE_ENTRIES(uint32_t);
        else if (row == 8)
            TAKE_ENTRIES(uint64_t);
        else
            for (int64_t i = 0; i < g->n; i++)
                memcpy(to + (size_t)i * row, from + (size_t)g->indices[i] * row, row);
    }
}

#define ADD_ENTRIES(T)                                                                             \
    for (int64_t i = 0; i < g->n; i++)                                                             \
    ((T *)(void *)to)[g->indices[i]] += ((const T *)(const void *)from)[i]

static void add_rows(const gathering *g) {
    size_t row = (size_t)g->s.inner * g->element;
    const char *from = g->from;
    for (int64_t o = 0; o < g->s.outer; o++) {
        char *to = g->to + (size_t)(o * g->s.size) * row;
        if (g->s.inner == 1 && g->t == DT_F32)
            ADD_ENTRIES(float);
        else if (g->s.inner == 1 && g->t == DT_F64)
            ADD_ENTRIES(double);
        else
            for (int64_t i = 0; i < g->n; i++)
                add_entries(g->t, to + (size_t)g->indices[i] * row, from + (size_t)i * row,
                            g->s.inner);
        from += (size_t)g->n * row;
    }
}

/* Calls step(entry, along) for every index: the place of its own entry, and of the one it names. */
#define FOR_EACH_INDEX(g, step)                                                                    \
    int64_t entry = 0;                                                                             \
    for (int64_t o = 0; o < (g)->s.outer; o++)                                                     \
        for (int64_t j = 0; j < (g)->n; j++)                                                       \
            for (int64_t i = 0; i < (g)->s.inner; i++, entry++) {                                  \
                int64_t along = (o * (g)->s.size + (g)->indices[entry]) * (g)->s.inner + i;        \
                step;                                                                              \
            }

static void take_entries(const gathering *g) {
    FOR_EACH_INDEX(g, memcpy(g->to + (size_t)entry * g->element,
                             g->from + (size_t)along * g->element, g->element))
}

static void add_each(const gathering *g) {
    FOR_EACH_INDEX(g, add_entries(g->t, g->to + (size_t)along * g->element,
                                  g->from + (size_t)entry * g->element, 1))
}

/* A take moves from operand 0, a scatter from operand 2 onto operand 0. */
static bool gather(context *c, const op_call *call, bool along, void (*move)(const gathering *g),
                   value *out) {
    op_type type;
    result r;
    tensor *made = NULL;
    const void *from;
    bool scatter = call->n == 3;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    gathering g = {.t = x.t, .element = dtype_size(x.t), .s = split_at(&x, axis_of(call))};
    g.n = along ? array_of(&call->in[1]).dims[axis_of(call)] : value_size(&call->in[1]);
    int64_t *indices = indices_read(c, call, axis_of(call), g.s.size);
    if (indices == NULL) return false;
    bool good = dense_operand(c, &call->in[scatter ? 2 : 0], &from, &made) &&
                (scatter ? result_onto(c, call, 0, &type, &r) : result_new(c, &type, &r));
    if (good) {
        g.indices = indices;
        g.from = from;
        g.to = r.data;
        move(&g);
        *out = r.v;
    }
    tensor_release(c, made);
    give_back(c, indices, indices_bytes(&call->in[1]));
    return good;
}

bool gather_take_perform(context *c, const op_call *call, value *out) {
    return gather(c, call, false, take_rows, out);
}

bool gather_scatter_perform(context *c, const op_call *call, value *out) {
    return gather(c, call, false, add_rows, out);
}

bool gather_take_along_perform(context *c, const op_call *call, value *out) {
    return gather(c, call, true, take_entries, out);
}

bool gather_scatter_along_perform(context *c, const op_call *call, value *out) {
    return gather(c, call, true, add_each, out);
}

bool gather_one_hot_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    int64_t n = call->attrs->dims[0], count = value_size(&call->in[0]);
    /* indices_read looks at operand 1. */
    value twice[2] = {call->in[0], call->in[0]};
    op_call inner = *call;
    inner.in = twice;
    int64_t *indices = indices_read(c, &inner, x.rank, n);
    if (indices == NULL) return false;
    bool good = result_new(c, &type, &r);
    if (good) {
        float *p = r.data;
        memset(p, 0, (size_t)r.size * sizeof *p);
        for (int64_t i = 0; i < count; i++) p[i * n + indices[i]] = 1.0f;
        *out = r.v;
    }
    give_back(c, indices, indices_bytes(&call->in[0]));
    return good;
}
