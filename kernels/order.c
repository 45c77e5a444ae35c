/* Orders along one axis: argsort, the places of the k largest, the places of running maxima.
 *
 * Entries are compared as keys: unsigned integers in the order of the values, in which -0 is 0 and
 * NaN comes last. Sorting is by merging, so equal keys keep their order; falling order is that of
 * the inverted keys. */
#include <string.h>

#include "kernels/family.h"

enum { RUN = 12 }; /* entries that insertion sorts faster than merging */

typedef struct entry {
    uint64_t key;
    int64_t at;
} entry;

/* ---- keys ---- */

static uint64_t key_f64(double x) {
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    if (x != x) return UINT64_MAX;
    memcpy(&bits, &x, sizeof bits);
    if (x == 0.0) bits = 0;
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

static uint64_t key_of(dtype t, const void *data, int64_t i) {
    switch (t) {
    case DT_F32: return key_f64((double)((const float *)data)[i]);
    case DT_F64: return key_f64(((const double *)data)[i]);
    case DT_I32: return (uint64_t)((int64_t)((const int32_t *)data)[i]) ^ (uint64_t)1 << 63;
    default: return (uint64_t)((const int64_t *)data)[i] ^ (uint64_t)1 << 63;
    }
}

/* ---- sorting ---- */

static void sort_run(entry *e, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        entry moved = e[i];
        int64_t j = i;
        for (; j > 0 && e[j - 1].key > moved.key; j--) e[j] = e[j - 1];
        e[j] = moved;
    }
}

/* Of equal keys the first run's come first. */
static void merge(const entry *a, int64_t n, const entry *b, int64_t m, entry *out) {
    int64_t i = 0, j = 0;
    if (n > 0 && m > 0 && a[n - 1].key <= b[0].key) {
        memcpy(out, a, (size_t)n * sizeof *out);
        memcpy(out + n, b, (size_t)m * sizeof *out);
        return;
    }
    while (i < n && j < m) *out++ = b[j].key < a[i].key ? b[j++] : a[i++];
    memcpy(out, a + i, (size_t)(n - i) * sizeof *out);
    memcpy(out + (n - i), b + j, (size_t)(m - j) * sizeof *out);
}

/* The sorted entries, in e or in spare. */
static entry *sort_entries(entry *e, entry *spare, int64_t n) {
    for (int64_t i = 0; i < n; i += RUN) sort_run(e + i, n - i < RUN ? n - i : RUN);
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t first = n - i < width ? n - i : width, left = n - i - first;
            merge(e + i, first, e + i + first, left < width ? left : width, spare + i);
        }
        entry *sorted = spare;
        spare = e;
        e = sorted;
    }
    return e;
}

/* ---- lines ---- */

/* The axis of a dense operand: n entries, `step` apart; `kept` of them are wanted. */
typedef struct lines_of {
    dtype t;
    const void *data;
    int64_t n, step, kept;
    entry *room; /* 2 * n */
    bool falling;
} lines_of;

static void order_line(const lines_of *l, int64_t from, int64_t *out) {
    for (int64_t j = 0; j < l->n; j++) {
        uint64_t key = key_of(l->t, l->data, from + j * l->step);
        l->room[j] = (entry){l->falling ? ~key : key, j};
    }
    const entry *sorted = sort_entries(l->room, l->room + l->n, l->n);
    for (int64_t j = 0; j < l->kept; j++) out[j * l->step] = sorted[j].at;
}

/* The latest of equal entries. */
static void running_line(const lines_of *l, int64_t from, int64_t *out) {
    uint64_t most = 0;
    int64_t at = 0;
    for (int64_t j = 0; j < l->n; j++) {
        uint64_t key = key_of(l->t, l->data, from + j * l->step);
        if (key >= most) most = key, at = j;
        out[j * l->step] = at;
    }
}

static void every_line(const lines_of *l, op_id op, int64_t *out, int64_t outer) {
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < l->step; i++) {
            int64_t from = o * l->n * l->step + i;
            int64_t *to = out + o * l->kept * l->step + i;
            if (op == OP_arg_cummax)
                running_line(l, from, to);
            else
                order_line(l, from, to);
        }
}

bool order_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type)) return false;
    array x = array_of(&call->in[0]);
    int axis = call->attrs != NULL ? call->attrs->axis : 0;
    lines_of l = {.t = x.t,
                  .n = x.dims[axis],
                  .step = 1,
                  .kept = type.dims[axis],
                  .falling = call->op == OP_arg_top_k};
    size_t bytes = sizeof(entry) * (2 * (size_t)l.n + 1);
    tensor *from = kernel_contiguous(c, call->in[0].as.t);
    if (from == NULL) return false;
    l.room = take(c, bytes);
    l.data = from->data;
    bool good = l.room != NULL && result_new(c, &type, &r);
    if (good) {
        int64_t outer = 1;
        for (int i = 0; i < axis; i++) outer *= x.dims[i];
        for (int i = axis + 1; i < x.rank; i++) l.step *= x.dims[i];
        if (r.size > 0) every_line(&l, call->op, r.data, outer);
        *out = r.v;
    }
    if (l.room != NULL) give_back(c, l.room, bytes);
    tensor_release(c, from);
    return good;
}
