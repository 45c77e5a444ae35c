/* Gather and scatter along an axis. Indices are checked before anything is moved; scatters add in
 * the order of the indices, so that repeated ones always give the same bits. */
#include <stdio.h>
#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"

/* Entry `at` of the operand `indices` is out of range. */
static bool index_fault(context *c, const op_call *call, const value *indices, int64_t at,
                        int64_t index, int axis, int64_t size) {
    char place[64] = "", where[80] = "";
    if (indices->kind == VALUE_TENSOR) {
        place_print(indices->as.t->rank, indices->as.t->dims, at, place, sizeof place);
        snprintf(where, sizeof where, " at %s of the indices", place);
    }
    return error_set(&c->err, ERROR_K0503, call->where,
                     "%s: index %lld%s is out of range for axis %d, which has size %lld",
                     op_table[call->op].surface, (long long)index, where, axis, (long long)size);
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

/* The indices in row-major order, each within [0, size). Borrowed, or held by `made`. */
typedef struct index_list {
    const void *data;
    bool wide; /* I64, else I32 */
    tensor *made;
} index_list;

static inline int64_t index_at(const index_list *l, int64_t i) {
    return l->wide ? ((const int64_t *)l->data)[i] : ((const int32_t *)l->data)[i];
}

/* Whether all are from 0 to last. The sign of i | last - i says so, which vectors can gather. */
#define IN_RANGE(name, T, U)                                                                       \
    static bool name(const T *index, int64_t n, T last) {                                          \
        U outside[8] = {0};                                                                        \
        int64_t i = 0;                                                                             \
        for (; i + 8 <= n; i += 8)                                                                 \
            for (int j = 0; j < 8; j++)                                                            \
                outside[j] |= (U)index[i + j] | ((U)last - (U)index[i + j]);                       \
        for (; i < n; i++) outside[0] |= (U)index[i] | ((U)last - (U)index[i]);                    \
        for (int j = 1; j < 8; j++) outside[0] |= outside[j];                                      \
        return outside[0] >> (8 * sizeof(U) - 1) == 0;                                             \
    }
IN_RANGE(in_range_i32, int32_t, uint32_t)
IN_RANGE(in_range_i64, int64_t, uint64_t)

/* Reads the operand `indices`, which names entries of an axis of so many; release with
 * tensor_release(made). */
static bool indices_read(context *c, const op_call *call, const value *indices, int axis,
                         int64_t size, index_list *l) {
    int64_t n = value_size(indices);
    l->wide = indices->dtype == DT_I64;
    if (!dense_operand(c, indices, &l->data, &l->made)) return false;
    int64_t last = size - 1, i = 0;
    if (l->wide ? in_range_i64(l->data, n, last)
                : in_range_i32(l->data, n, (int32_t)(last < INT32_MAX ? last : INT32_MAX)))
        return true;
    while (index_at(l, i) >= 0 && index_at(l, i) < size) i++;
    index_fault(c, call, indices, i, index_at(l, i), axis, size);
    tensor_release(c, l->made);
    return false;
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
    index_list indices;
    const char *from;
    char *to;
} gathering;

/* Entries of one size are moved as such, by indices of one type: a call, or a choice, for each
 * would cost more than the move. */
#define BY_INDEX_TYPE(STEP, T)                                                                     \
    do {                                                                                           \
        if (g->indices.wide)                                                                       \
            STEP(T, int64_t);                                                                      \
        else                                                                                       \
            STEP(T, int32_t);                                                                      \
    } while (false)

#define TAKE_ENTRIES(T, I)                                                                         \
    for (int64_t i = 0; i < g->n; i++)                                                             \
    ((T *)(void *)to)[i] = ((const T *)(const void *)from)[((const I *)g->indices.data)[i]]

static void take_rows(const gathering *g) {
    size_t row = (size_t)g->s.inner * g->element;
    for (int64_t o = 0; o < g->s.outer; o++) {
        const char *from = g->from + (size_t)(o * g->s.size) * row;
        char *to = g->to + (size_t)(o * g->n) * row;
        if (row == 4)
            BY_INDEX_TYPE(TAKE_ENTRIES, uint32_t);
        else if (row == 8)
            BY_INDEX_TYPE(TAKE_ENTRIES, uint64_t);
        else
            for (int64_t i = 0; i < g->n; i++)
                memcpy(to + (size_t)i * row, from + (size_t)index_at(&g->indices, i) * row, row);
    }
}

#define ADD_ENTRIES(T, I)                                                                          \
    for (int64_t i = 0; i < g->n; i++)                                                             \
    ((T *)(void *)to)[((const I *)g->indices.data)[i]] += ((const T *)(const void *)from)[i]

static void add_rows(const gathering *g) {
    size_t row = (size_t)g->s.inner * g->element;
    const char *from = g->from;
    for (int64_t o = 0; o < g->s.outer; o++) {
        char *to = g->to + (size_t)(o * g->s.size) * row;
        if (g->s.inner == 1 && g->t == DT_F32)
            BY_INDEX_TYPE(ADD_ENTRIES, float);
        else if (g->s.inner == 1 && g->t == DT_F64)
            BY_INDEX_TYPE(ADD_ENTRIES, double);
        else
            for (int64_t i = 0; i < g->n; i++)
                add_entries(g->t, to + (size_t)index_at(&g->indices, i) * row,
                            from + (size_t)i * row, g->s.inner);
        from += (size_t)g->n * row;
    }
}

/* Calls step(entry, along) for every index: the place of its own entry, and of the one it names. */
#define FOR_EACH_INDEX(g, step)                                                                    \
    int64_t entry = 0;                                                                             \
    for (int64_t o = 0; o < (g)->s.outer; o++)                                                     \
        for (int64_t j = 0; j < (g)->n; j++)                                                       \
            for (int64_t i = 0; i < (g)->s.inner; i++, entry++) {                                  \
                int64_t along =                                                                    \
                    (o * (g)->s.size + index_at(&(g)->indices, entry)) * (g)->s.inner + i;         \
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
    if (!indices_read(c, call, &call->in[1], axis_of(call), g.s.size, &g.indices)) return false;
    bool good = dense_operand(c, &call->in[scatter ? 2 : 0], &from, &made) &&
                (scatter ? result_onto(c, call, 0, &type, &r) : result_new(c, &type, &r));
    if (good) {
        g.from = from;
        g.to = r.data;
        move(&g);
        *out = r.v;
    }
    tensor_release(c, made);
    tensor_release(c, g.indices.made);
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
    index_list indices;
    if (!indices_read(c, call, &call->in[0], x.rank, n, &indices)) return false;
    bool good = result_new(c, &type, &r);
    if (good) {
        float *p = r.data;
        memset(p, 0, (size_t)r.size * sizeof *p);
        for (int64_t i = 0; i < count; i++) p[i * n + index_at(&indices, i)] = 1.0f;
        *out = r.v;
    }
    tensor_release(c, indices.made);
    return good;
}
