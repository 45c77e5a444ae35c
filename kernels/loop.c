/* Walking strided operands together (loop.h). */
#include "kernels/loop.h"

#include <string.h>

#include "runtime/tensor.h"
#include "runtime/threads.h"

enum {
    TASK_ELEMENTS = 1 << 14,
    MAX_TASKS = 1 << 20,
};

void loop_collapse(loop *l) {
    int rank = 0;
    for (int i = 0; i < l->rank; i++) {
        if (l->dims[i] == 1) continue;
        bool joins = rank > 0;
        for (int k = 0; k < l->operands && joins; k++)
            joins = l->strides[k][rank - 1] == l->strides[k][i] * l->dims[i];
        int to = joins ? rank - 1 : rank++;
        l->dims[to] = joins ? l->dims[to] * l->dims[i] : l->dims[i];
        for (int k = 0; k < l->operands; k++) l->strides[k][to] = l->strides[k][i];
    }
    if (rank == 0) {
        l->dims[0] = 1;
        for (int k = 0; k < l->operands; k++) l->strides[k][0] = 1;
        rank = 1;
    }
    l->rank = rank;
}

typedef struct walk {
    const loop *l;
    line_fn *line;
    const op_attrs *attrs;
    int64_t lines;    /* how many innermost lines there are */
    int64_t per_task; /* lines of a task, or elements when there is one line */
} walk;

static void run_line(const walk *w, const int64_t *offset, int64_t from, int64_t count) {
    const loop *l = w->l;
    void *p[LOOP_OPERANDS] = {0};
    ptrdiff_t s[LOOP_OPERANDS] = {0};
    for (int k = 0; k < l->operands; k++) {
        s[k] = l->strides[k][l->rank - 1];
        p[k] = (char *)l->data[k] + (offset[k] + from * s[k]) * (ptrdiff_t)l->element[k];
    }
    w->line(p, s, (size_t)count, w->attrs);
}

/* Lines [first, first + count), advancing the outer axes like an odometer. */
static void run_lines(const walk *w, int64_t first, int64_t count) {
    const loop *l = w->l;
    int64_t at[MAX_RANK] = {0}, offset[LOOP_OPERANDS] = {0}, rest = first;
    int outer = l->rank - 1;
    for (int i = outer - 1; i >= 0; i--) {
        at[i] = rest % l->dims[i];
        rest /= l->dims[i];
        for (int k = 0; k < l->operands; k++) offset[k] += at[i] * l->strides[k][i];
    }
    for (int64_t line = 0; line < count; line++) {
        run_line(w, offset, 0, l->dims[outer]);
        for (int i = outer - 1; i >= 0; i--) {
            for (int k = 0; k < l->operands; k++) offset[k] += l->strides[k][i];
            if (++at[i] < l->dims[i]) break;
            for (int k = 0; k < l->operands; k++) offset[k] -= l->strides[k][i] * l->dims[i];
            at[i] = 0;
        }
    }
}

static void run_task(void *argument, int i) {
    const walk *w = argument;
    int64_t total = w->lines > 1 ? w->lines : w->l->dims[0];
    int64_t first = i * w->per_task;
    int64_t count = total - first < w->per_task ? total - first : w->per_task;
    if (w->lines > 1) {
        run_lines(w, first, count);
    } else {
        int64_t offset[LOOP_OPERANDS] = {0};
        run_line(w, offset, first, count);
    }
}

void loop_run(context *c, const loop *l, line_fn *line, const op_attrs *attrs) {
    walk w = {l, line, attrs, 1, 0};
    for (int i = 0; i < l->rank - 1; i++) w.lines *= l->dims[i];
    int64_t inner = l->dims[l->rank - 1];
    if (w.lines == 0 || inner == 0) return;
    if (c->threads <= 1 || w.lines * inner < LOOP_PARALLEL) {
        run_lines(&w, 0, w.lines);
        return;
    }
    int64_t total = w.lines > 1 ? w.lines : inner;
    w.per_task = w.lines > 1 ? (TASK_ELEMENTS + inner - 1) / inner : TASK_ELEMENTS;
    if (total / w.per_task >= MAX_TASKS) w.per_task = total / MAX_TASKS + 1;
    threads_run(c, (int)((total + w.per_task - 1) / w.per_task), run_task, &w);
}

/* ---- copies ---- */

typedef struct transposition {
    loop l; /* rank 2 */
    int64_t rows_per_task;
} transposition;

enum { TILE = 32 };

#define TRANSPOSE(name, type)                                                                      \
    static void name(const loop *l, int64_t row, int64_t rows) {                                   \
        type *out = l->data[0];                                                                    \
        const type *in = l->data[1];                                                               \
        int64_t columns = l->dims[1], to = l->strides[0][0];                                       \
        int64_t down = l->strides[1][0], across = l->strides[1][1];                                \
        for (int64_t j0 = 0; j0 < columns; j0 += TILE) {                                           \
            int64_t j1 = j0 + TILE < columns ? j0 + TILE : columns;                                \
            for (int64_t i = row; i < row + rows; i++)                                             \
                for (int64_t j = j0; j < j1; j++) out[i * to + j] = in[i * down + j * across];     \
        }                                                                                          \
    }
TRANSPOSE(transpose_4, uint32_t)
TRANSPOSE(transpose_8, uint64_t)

static void transpose_task(void *argument, int i) {
    const transposition *t = argument;
    int64_t row = i * t->rows_per_task, rows = t->l.dims[0] - row;
    if (rows > t->rows_per_task) rows = t->rows_per_task;
    for (int64_t r = row; r < row + rows; r += TILE) {
        int64_t count = row + rows - r < TILE ? row + rows - r : TILE;
        if (t->l.element[0] == 4)
            transpose_4(&t->l, r, count);
        else
            transpose_8(&t->l, r, count);
    }
}

#define SCATTER(name, type)                                                                        \
    static void name(void *const *p, const ptrdiff_t *s, size_t n) {                               \
        type *out = p[0];                                                                          \
        const type *in = p[1];                                                                     \
        for (size_t i = 0; i < n; i++, out += s[0], in += s[1]) *out = *in;                        \
    }
SCATTER(copy_1, uint8_t)
SCATTER(copy_4, uint32_t)
SCATTER(copy_8, uint64_t)

/* To neighbouring places as the op `identity` does; a line may be written with a step too. */
#define COPY_LINE(name, strided, t)                                                                \
    static void name(void *const *p, const ptrdiff_t *s, size_t n, const op_attrs *attrs) {        \
        if (s[0] == 1)                                                                             \
            lines_now()->line[OP_identity][t](p, s, n, attrs);                                     \
        else                                                                                       \
            strided(p, s, n);                                                                      \
    }
COPY_LINE(copy_line_1, copy_1, DT_Bool)
COPY_LINE(copy_line_4, copy_4, DT_F32)
COPY_LINE(copy_line_8, copy_8, DT_F64)

void loop_copy_line(size_t element, void *out, const void *in, ptrdiff_t step, size_t n) {
    void *p[2] = {out, (void *)(uintptr_t)in};
    ptrdiff_t s[2] = {1, step};
    if (element == 4)
        copy_line_4(p, s, n, NULL);
    else if (element == 8)
        copy_line_8(p, s, n, NULL);
    else
        copy_line_1(p, s, n, NULL);
}

void loop_copy_into(context *c, dtype t, void *out, const int64_t *out_strides, const void *in,
                    int rank, const int64_t *dims, const int64_t *strides) {
    loop l = {.rank = rank, .operands = 2};
    size_t element = dtype_size(t);
    for (int i = 0; i < rank; i++) {
        l.dims[i] = dims[i];
        l.strides[0][i] = out_strides[i];
        l.strides[1][i] = strides[i];
    }
    l.data[0] = out;
    l.data[1] = (void *)(uintptr_t)in;
    l.element[0] = l.element[1] = element;
    loop_collapse(&l);
    /* A transposed matrix is read and written in square tiles, which both stay in the cache. */
    if (l.rank == 2 && element >= 4 && l.strides[0][1] == 1 && l.strides[1][0] == 1 &&
        l.dims[0] >= 8 && l.dims[1] >= 8) {
        transposition tr = {l, 4 * TILE};
        int64_t tasks = (l.dims[0] + tr.rows_per_task - 1) / tr.rows_per_task;
        if (l.dims[0] * l.dims[1] < LOOP_PARALLEL || tasks > MAX_TASKS) {
            tr.rows_per_task = l.dims[0];
            tasks = 1;
        }
        threads_run(c, (int)tasks, transpose_task, &tr);
        return;
    }
    loop_run(c, &l, element == 1 ? copy_line_1 : element == 4 ? copy_line_4 : copy_line_8, NULL);
}

void loop_copy(context *c, dtype t, void *out, const void *in, int rank, const int64_t *dims,
               const int64_t *strides) {
    int64_t dense[MAX_RANK];
    shape_strides(rank, dims, dense);
    loop_copy_into(c, t, out, dense, in, rank, dims, strides);
}
