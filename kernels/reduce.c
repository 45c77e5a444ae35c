/* Reductions over any set of axes.
 *
 * The tree of a reduction depends on the number of its entries alone. The entries, in row-major
 * order of the reduced axes, form blocks of REDUCE_BLOCK. Within a block entry i goes to
 * accumulator i mod REDUCE_LANES; the accumulators are folded in halves. Of several blocks, the
 * largest power of two that is smaller than their number is reduced first, then the rest, then the
 * two are joined. A sum is 0.0 plus this. Rows (one result at a time) and columns (a tile of
 * neighbouring results at a time) follow the same tree, so a view and its copy, and one thread and
 * two, give the same bits. */
#include <math.h>
#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"
#include "runtime/threads.h"

enum {
    TILE_BYTES = 512,           /* a tile of columns */
    PARALLEL_ENTRIES = 1 << 16, /* fewer are not worth a second thread */
    CHUNK_BLOCKS = 64,          /* of one long reduction: a subtree of its own, a power of two */
    MAX_CHUNKS = 1 << 12,
    ELEMENT_ROOM = 8,
};

/* The operand as results x entries: two groups of axes, each in row-major order. */
typedef struct grid {
    const char *data;
    dtype t;
    size_t element;
    reducer reduce;
    loop kept, reduced; /* collapsed; only dims and the strides of operand 0 count */
    int64_t results, entries;
    char *out;
} grid;

static void group_axes(grid *g, const array *x, unsigned mask) {
    g->kept = (loop){.operands = 1};
    g->reduced = (loop){.operands = 1};
    g->results = g->entries = 1;
    for (int i = 0; i < x->rank; i++) {
        loop *to = ((mask >> i) & 1) != 0 ? &g->reduced : &g->kept;
        to->dims[to->rank] = x->dims[i];
        to->strides[0][to->rank++] = x->strides[i];
        *(to == &g->kept ? &g->results : &g->entries) *= x->dims[i];
    }
    g->data = x->data;
    g->t = x->t;
    g->element = dtype_size(x->t);
    loop_collapse(&g->kept);
    loop_collapse(&g->reduced);
}

/* The offset of the i-th index, row-major, in a group. */
static int64_t offset_at(const loop *l, int64_t i) {
    int64_t offset = 0;
    if (l->rank == 1) return i * l->strides[0][0];
    for (int axis = l->rank - 1; axis >= 0; axis--) {
        offset += i % l->dims[axis] * l->strides[0][axis];
        i /= l->dims[axis];
    }
    return offset;
}

/* ---- rows: one result at a time ---- */

/* Entries [first, first + n) of the row at base, contiguous: in place, or gathered into room. */
static const char *block_entries(const grid *g, const char *base, int64_t first, int64_t n,
                                 char *room) {
    const loop *l = &g->reduced;
    int inner = l->rank - 1;
    int64_t run = l->dims[inner], step = l->strides[0][inner];
    if (n == 0) return room;
    if (step == 1 && first % run + n <= run)
        return base + offset_at(l, first) * (int64_t)g->element;
    for (int64_t done = 0; done < n;) {
        int64_t at = first + done, left = run - at % run;
        int64_t count = left < n - done ? left : n - done;
        const char *from = base + offset_at(l, at) * (int64_t)g->element;
        char *to = room + (size_t)done * g->element;
        loop_copy_line(g->element, to, from, step, (size_t)count);
        done += count;
    }
    return room;
}

static void reduce_row(const grid *g, const char *base, int64_t block, int64_t blocks, void *out) {
    _Alignas(TENSOR_ALIGN) char room[REDUCE_BLOCK * ELEMENT_ROOM];
    if (g->reduced.rank == 1 && g->reduced.strides[0][0] == 1) {
        int64_t first = block * REDUCE_BLOCK, n = g->entries - first;
        if (n > blocks * REDUCE_BLOCK) n = blocks * REDUCE_BLOCK;
        g->reduce.tree(out, base + first * (int64_t)g->element, (size_t)n);
        return;
    }
    if (blocks == 1) {
        int64_t first = block * REDUCE_BLOCK, n = g->entries - first;
        if (n > REDUCE_BLOCK) n = REDUCE_BLOCK;
        g->reduce.block(out, block_entries(g, base, first, n, room), (size_t)n);
        return;
    }
    int64_t half = 1;
    while (half * 2 < blocks) half *= 2;
    payload rest;
    reduce_row(g, base, block, half, out);
    reduce_row(g, base, block + half, blocks - half, &rest);
    g->reduce.join(out, &rest, 1);
}

/* ---- columns: a tile of neighbouring results at a time ---- */

static void column_block(const grid *g, const char *base, int64_t first, int64_t n, int64_t width,
                         char *out) {
    _Alignas(TENSOR_ALIGN) char acc[REDUCE_LANES][TILE_BYTES];
    size_t bytes = (size_t)width * g->element;
    int64_t used = n < REDUCE_LANES ? n : REDUCE_LANES;
    payload identity;
    g->reduce.block(&identity, base, 0);
    for (int64_t j = 0; j < used; j++)
        loop_copy_line(g->element, acc[j], &identity, 0, (size_t)width);
    for (int64_t i = 0; i < n; i++) {
        const char *row = base + offset_at(&g->reduced, first + i) * (int64_t)g->element;
        g->reduce.join(acc[i % REDUCE_LANES], row, (size_t)width);
    }
    for (int64_t w = REDUCE_LANES / 2; w > 0; w /= 2)
        for (int64_t j = 0; j < w && j + w < used; j++)
            g->reduce.join(acc[j], acc[j + w], (size_t)width);
    memcpy(out, acc[0], bytes);
}

static void reduce_columns(const grid *g, const char *base, int64_t block, int64_t blocks,
                           int64_t width, char *out) {
    if (blocks == 1) {
        int64_t first = block * REDUCE_BLOCK, n = g->entries - first;
        column_block(g, base, first, n > REDUCE_BLOCK ? REDUCE_BLOCK : n, width, out);
        return;
    }
    int64_t half = 1;
    _Alignas(TENSOR_ALIGN) char rest[TILE_BYTES];
    while (half * 2 < blocks) half *= 2;
    reduce_columns(g, base, block, half, width, out);
    reduce_columns(g, base, block + half, blocks - half, width, rest);
    g->reduce.join(out, rest, (size_t)width);
}

/* ---- tasks ---- */

static int64_t block_count(const grid *g) {
    return g->entries == 0 ? 1 : (g->entries + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
}

typedef struct tasks {
    const grid *g;
    int64_t per_task; /* results, tiles or blocks */
    int64_t tiles;    /* along the innermost kept axis */
    char *partial;
} tasks;

static void rows_task(void *argument, int i) {
    const tasks *t = argument;
    const grid *g = t->g;
    int64_t first = i * t->per_task, last = first + t->per_task;
    if (last > g->results) last = g->results;
    for (int64_t r = first; r < last; r++)
        reduce_row(g, g->data + offset_at(&g->kept, r) * (int64_t)g->element, 0, block_count(g),
                   g->out + (size_t)r * g->element);
}

static void columns_task(void *argument, int i) {
    const tasks *t = argument;
    const grid *g = t->g;
    int inner = g->kept.rank - 1;
    int64_t run = g->kept.dims[inner], lines = g->results / run;
    int64_t first = i * t->per_task, last = first + t->per_task;
    int64_t tile = TILE_BYTES / (int64_t)g->element;
    if (last > lines * t->tiles) last = lines * t->tiles;
    for (int64_t k = first; k < last; k++) {
        int64_t from = k % t->tiles * tile, width = run - from < tile ? run - from : tile;
        int64_t column = k / t->tiles * run + from;
        reduce_columns(g, g->data + offset_at(&g->kept, column) * (int64_t)g->element, 0,
                       block_count(g), width, g->out + (size_t)column * g->element);
    }
}

static void chunk_task(void *argument, int i) {
    const tasks *t = argument;
    int64_t first = i * t->per_task, left = block_count(t->g) - first;
    reduce_row(t->g, t->g->data, first, left < t->per_task ? left : t->per_task,
               t->partial + (size_t)i * ELEMENT_ROOM);
}

/* Joins chunks' results as reduce_row would have, chunks being subtrees. */
static void join_chunks(const grid *g, char *partial, int64_t count) {
    if (count == 1) return;
    int64_t half = 1;
    while (half * 2 < count) half *= 2;
    join_chunks(g, partial, half);
    join_chunks(g, partial + (size_t)half * ELEMENT_ROOM, count - half);
    g->reduce.join(partial, partial + (size_t)half * ELEMENT_ROOM, 1);
}

static void reduce_whole(context *c, const grid *g) {
    _Alignas(TENSOR_ALIGN) char partial[MAX_CHUNKS * ELEMENT_ROOM];
    tasks t = {.g = g, .per_task = CHUNK_BLOCKS, .partial = partial};
    while (block_count(g) / t.per_task >= MAX_CHUNKS) t.per_task *= 2;
    int64_t count = (block_count(g) + t.per_task - 1) / t.per_task;
    threads_run(c, (int)count, chunk_task, &t);
    join_chunks(g, partial, count);
    memcpy(g->out, partial, g->element);
}

static void reduce_grid(context *c, const grid *g) {
    int inner = g->kept.rank - 1;
    int64_t tile = TILE_BYTES / (int64_t)g->element;
    tasks t = {.g = g};
    int64_t units, entries = g->entries > 0 ? g->entries : 1;
    bool columns = g->kept.strides[0][inner] == 1 && g->kept.dims[inner] > 1 && g->entries > 1;
    if (g->results == 0) return;
    if (g->results == 1 && g->entries >= PARALLEL_ENTRIES) {
        reduce_whole(c, g);
        return;
    }
    if (columns) {
        t.tiles = (g->kept.dims[inner] + tile - 1) / tile;
        units = g->results / g->kept.dims[inner] * t.tiles;
        t.per_task = (PARALLEL_ENTRIES / 4) / (tile * entries) + 1;
    } else {
        units = g->results;
        t.per_task = (PARALLEL_ENTRIES / 4) / entries + 1;
    }
    if (c->threads <= 1 || g->results * entries < PARALLEL_ENTRIES) t.per_task = units;
    while (units / t.per_task >= MAX_CHUNKS) t.per_task *= 2;
    threads_run(c, (int)((units + t.per_task - 1) / t.per_task), columns ? columns_task : rows_task,
                &t);
}

/* ---- reference and compiled numerics: entries in index order, accumulated in a type W ---- */

#define IN_ORDER(name, T, W)                                                                       \
    static void name(const grid *g, op_id op) {                                                    \
        const T *x = (const T *)(const void *)g->data;                                             \
        W none = op == OP_prod  ? (W)1                                                             \
                 : op == OP_max ? -(W)INFINITY                                                     \
                 : op == OP_min ? (W)INFINITY                                                      \
                                : (W)0;                                                            \
        for (int64_t r = 0; r < g->results; r++) {                                                 \
            int64_t base = offset_at(&g->kept, r);                                                 \
            W acc = none;                                                                          \
            for (int64_t i = 0; i < g->entries; i++) {                                             \
                W y = (W)x[base + offset_at(&g->reduced, i)];                                      \
                switch (op) {                                                                      \
                case OP_prod: acc *= y; break;                                                     \
                case OP_max: acc = acc > y || acc != acc ? acc : y; break;                         \
                case OP_min: acc = acc < y || acc != acc ? acc : y; break;                         \
                default: acc += y; break;                                                          \
                }                                                                                  \
            }                                                                                      \
            if (op == OP_mean) acc /= (W)g->entries;                                               \
            ((T *)(void *)g->out)[r] = (T)acc;                                                     \
        }                                                                                          \
    }
IN_ORDER(reference_f32, float, double)
IN_ORDER(reference_f64, double, long double)
IN_ORDER(compiled_f32, float, float)
IN_ORDER(compiled_f64, double, double)

typedef void in_order_fn(const grid *g, op_id op);

/* NULL: the tree. */
static in_order_fn *in_order(const context *c, dtype t) {
    if (!dtype_floating(t) || c->numerics == NUMERICS_FAST) return NULL;
    if (c->numerics == NUMERICS_COMPILED) return t == DT_F32 ? compiled_f32 : compiled_f64;
    return t == DT_F32 ? reference_f32 : reference_f64;
}

/* ---- the ops ---- */

static reduction reduction_of(op_id op) {
    switch (op) {
    case OP_prod: return REDUCE_PROD;
    case OP_max: return REDUCE_MAX;
    case OP_min: return REDUCE_MIN;
    case OP_any: return REDUCE_ANY;
    case OP_all: return REDUCE_ALL;
    default: return REDUCE_SUM;
    }
}

static void divide(void *data, dtype t, int64_t n, int64_t count) {
    if (t == DT_F32) {
        float *p = data, by = (float)count;
        for (int64_t i = 0; i < n; i++) p[i] /= by;
    } else {
        double *p = data, by = (double)count;
        for (int64_t i = 0; i < n; i++) p[i] /= by;
    }
}

static unsigned reduced_axes(const op_call *call) {
    if (call->attrs == NULL) return 0;
    return call->op == OP_sum_to ? call->attrs->axes | call->attrs->drop : call->attrs->axes;
}

bool reduce_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    grid g;
    if (call->op == OP_logsumexp) return reduce_logsumexp_perform(c, call, out);
    if (!result_type(c, call, &type) || !result_new(c, &type, &r)) return false;
    array x = array_of(&call->in[0]);
    group_axes(&g, &x, reduced_axes(call));
    g.out = r.data;
    g.reduce = lines_now()->reduce[reduction_of(call->op)][x.t];
    in_order_fn *ordered = in_order(c, x.t);
    if (ordered != NULL) {
        ordered(&g, call->op);
    } else {
        reduce_grid(c, &g);
        if (call->op == OP_mean) divide(r.data, x.t, r.size, g.entries);
    }
    *out = r.v;
    return true;
}

/* ---- argmax and argmin ---- */

#define BEST(name, T)                                                                              \
    static int64_t name(const grid *g, int64_t base, bool largest) {                               \
        const T *x = (const T *)(const void *)g->data + base;                                      \
        int64_t best = 0;                                                                          \
        T found = x[0];                                                                            \
        for (int64_t i = 1; i < g->entries && found == found; i++) {                               \
            T y = x[offset_at(&g->reduced, i)];                                                    \
            if ((largest ? y > found : y < found) || y != y) found = y, best = i;                  \
        }                                                                                          \
        return best;                                                                               \
    }
BEST(best_f32, float)
BEST(best_f64, double)
BEST(best_i32, int32_t)
BEST(best_i64, int64_t)

bool reduce_argument_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    grid g;
    if (!result_type(c, call, &type) || !result_new(c, &type, &r)) return false;
    array x = array_of(&call->in[0]);
    group_axes(&g, &x, reduced_axes(call));
    bool largest = call->op == OP_argmax;
    for (int64_t i = 0; i < g.results; i++) {
        int64_t base = offset_at(&g.kept, i);
        ((int64_t *)r.data)[i] = x.t == DT_F32   ? best_f32(&g, base, largest)
                                 : x.t == DT_F64 ? best_f64(&g, base, largest)
                                 : x.t == DT_I32 ? best_i32(&g, base, largest)
                                                 : best_i64(&g, base, largest);
    }
    *out = r.v;
    return true;
}
