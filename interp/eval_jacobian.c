/* jacobian and hessian: all derivatives of a function's value.
 *
 * Forward mode gives columns, the derivatives of all of the value by one entry of a parameter each, by a run.
 * Reverse mode gives rows, those of one entry of the value by all parameters, by a sweep over the tape of a single
 * run. The value's size, which only that run knows, decides between them. A run or sweep takes many columns or rows
 * at once, as a batch, where they are small. They are put together by ops, so that handlers outside see all of it. */
#include <string.h>

#include "ad/batch.h"
#include "ad/performer.h"
#include "interp/eval.h"
#include "runtime/door.h"

enum {
    PARTS_MOST = 128,           /* operands of one concat */
    BATCH_ENTRIES = 1 << 16,    /* of what a pass begins or ends with, all that it takes at once: more gain nothing */
};

typedef struct jacobian {
    evaluator *ev;
    const code *n;
    called f;
    value *args;
    int inputs, outputs;        /* differentiated arguments; parts of the function's value */
    op_type *in, *out;          /* their types */
    int64_t *entries;           /* of each input */
    int64_t columns, rows;      /* entries of all inputs; of the value, where that is one part */
    int64_t together;           /* rows or columns of one pass; 1: single ones, no batch */
    int64_t passes;
    value *part;                /* columns: of output o, those of all passes; rows: of input k, those of all */
    int64_t parts;
} jacobian;

/* ---- room ---- */

static bool parts_open(jacobian *j, int64_t count) {
    size_t bytes;
    if (__builtin_mul_overflow((size_t)count, sizeof *j->part, &bytes)) bytes = SIZE_MAX;
    j->part = take_zeroed(j->ev->c, bytes);
    if (j->part == NULL) return false;
    j->parts = count;
    return true;
}

static void parts_close(jacobian *j) {
    for (int64_t i = 0; i < j->parts; i++) value_release(j->ev->c, j->part[i]);
    give_back(j->ev->c, j->part, (size_t)j->parts * sizeof *j->part);
    j->part = NULL;
    j->parts = 0;
}

/* Zeros of a type with a single 1; count of them, from this entry on, are a batch. */
static bool unit_vectors(const jacobian *j, const op_type *t, int64_t entry, int64_t count, value *out) {
    op_type whole = *t;
    *out = value_number((dtype)t->dtype, 1.0);
    if (j->together > 1) {
        if (t->rank == MAX_RANK)
            return error_set(&j->ev->c->err, ERROR_K0511, j->n->where, "no axis is left for a batch");
        memcpy(whole.dims + 1, t->dims, t->rank * sizeof *t->dims);
        whole.dims[0] = count;
        whole.rank++;
    }
    if (whole.rank == 0) return true;
    tensor *made = tensor_new(j->ev->c, (dtype)t->dtype, whole.rank, whole.dims);
    if (made == NULL) return false;
    memset(made->data, 0, (size_t)made->size * dtype_size((dtype)t->dtype));
    int64_t size = made->size / count;
    for (int64_t i = 0; i < count; i++) {
        if (t->dtype == DT_F32)
            ((float *)made->data)[i * size + entry + i] = 1.0f;
        else
            ((double *)made->data)[i * size + entry + i] = 1.0;
    }
    *out = value_tensor(made);
    return true;
}

/* How many passes `entries` take, and how many of them the one that begins at `first`. */
static int64_t passes_for(const jacobian *j, int64_t entries) { return (entries + j->together - 1) / j->together; }

static int64_t taken(const jacobian *j, int64_t entries, int64_t first) {
    return entries - first < j->together ? entries - first : j->together;
}

static int64_t batch_of(const jacobian *j, int64_t count) { return j->together > 1 ? count : 0; }

/* ---- a run ---- */

static value *own_args(const jacobian *j) {
    int count = j->n->u.handle.count;
    value *args = take(j->ev->c, (size_t)count * sizeof *args);
    for (int i = 0; args != NULL && i < count; i++) args[i] = value_retain(j->args[i]);
    return args;
}

/* Takes args over. fresh: some are a handler's parameters. */
static bool run(jacobian *j, value *args, bool fresh, value *primal) {
    evaluator *ev = j->ev;
    int count = j->n->u.handle.count;
    value whole;
    bool ok = eval_call(ev, j->f.f, args, j->f.captured, fresh, j->n->where, &whole) &&
              eval_unpack(ev, whole, j->outputs, primal);
    give_back(ev->c, args, (size_t)count * sizeof *args);
    for (int o = 0; ok && o < j->outputs; o++) j->out[o] = value_type(&primal[o]);
    return ok;
}

static void drop_args(const jacobian *j, value *args) {
    values_release(j->ev->c, args, j->n->u.handle.count);
    give_back(j->ev->c, args, (size_t)j->n->u.handle.count * sizeof *args);
}

/* The place of the k-th differentiated argument among all. */
static int place_of(const jacobian *j, int k) {
    int i = 0;
    while (!j->n->u.handle.floating[i] || k-- > 0) i++;
    return i;
}

/* ---- columns: forward mode ---- */

static bool find_some_columns(jacobian *j, int input, int64_t entry, value *primal, value *tangent) {
    context *c = j->ev->c;
    span where = j->n->where;
    forward_scope scope;
    value unit;
    int64_t count = taken(j, j->entries[input], entry);
    if (!unit_vectors(j, &j->in[input], entry, count, &unit)) return false;
    value *args = own_args(j);
    bool entered = args != NULL && forward_enter(c, &scope);
    if (entered) scope.batch = batch_of(j, count);
    bool ok = entered && forward_parameter(c, &scope, &unit, where, &args[place_of(j, input)]);
    value_release(c, unit);
    if (!ok && args != NULL) drop_args(j, args);
    ok = ok && run(j, args, true, primal);
    if (!ok) {
        if (entered) forward_abandon(c, &scope);
        return false;
    }
    ok = forward_leave(c, &scope, primal, j->outputs, where, tangent);
    values_release(c, primal, j->outputs);
    return ok;
}

static bool find_columns(jacobian *j) {
    context *c = j->ev->c;
    size_t bytes = 2 * (size_t)j->outputs * sizeof(value);
    value *primal = take(c, bytes), *tangent = primal + j->outputs;
    if (primal == NULL) return false;
    for (int k = 0; k < j->inputs; k++) j->passes += passes_for(j, j->entries[k]);
    bool ok = parts_open(j, j->outputs * j->passes);
    int64_t at = 0;
    for (int k = 0; k < j->inputs; k++)
        for (int64_t e = 0; ok && e < j->entries[k]; e += j->together, at++) {
            ok = context_may_go_on(c, j->n->where) && find_some_columns(j, k, e, primal, tangent);
            for (int o = 0; ok && o < j->outputs; o++) j->part[o * j->passes + at] = tangent[o];
        }
    if (ok && j->columns == 0) {
        value *args = own_args(j);
        ok = args != NULL && run(j, args, false, primal);
        if (ok) values_release(c, primal, j->outputs);
    }
    give_back(c, primal, bytes);
    return ok;
}

/* ---- rows: reverse mode ---- */

static bool sweep_rows(jacobian *j, reverse_scope *s, const value *primal, const value *parameter) {
    context *c = j->ev->c;
    value *gradient = take(c, (size_t)j->inputs * sizeof *gradient);
    j->passes = passes_for(j, j->rows);
    bool ok = gradient != NULL && parts_open(j, j->inputs * j->passes);
    for (int64_t row = 0, at = 0; ok && row < j->rows; row += j->together, at++) {
        value unit;
        int64_t count = taken(j, j->rows, row);
        ok = context_may_go_on(c, j->n->where) && unit_vectors(j, &j->out[0], row, count, &unit);
        if (!ok) break;
        s->batch = batch_of(j, count);
        ok = reverse_sweep(c, s, primal, &unit, parameter, j->inputs, j->n->where, gradient);
        value_release(c, unit);
        for (int k = 0; ok && k < j->inputs; k++) j->part[k * j->passes + at] = gradient[k];
    }
    give_back(c, gradient, (size_t)j->inputs * sizeof *gradient);
    return ok;
}

/* A batch is worth its axis where there are several rows or columns, and each is small. */
static void choose_together(jacobian *j, int64_t several) {
    int64_t longest = j->rows > j->columns ? j->rows : j->columns;
    if (j->together != 0) return;
    j->together = longest > 0 ? BATCH_ENTRIES / longest : 1;
    if (j->together > BATCH_MOST) j->together = BATCH_MOST;
    if (j->together > several) j->together = several;
    if (j->together < 1) j->together = 1;
}

/* Sweeps unless there are more rows than columns, which *done says. */
static bool rows_of_run(jacobian *j, reverse_scope *s, value *parameter, bool *done) {
    context *c = j->ev->c;
    value *args = own_args(j), primal;
    if (args == NULL) return reverse_abandon(c, s), false;
    bool ok = true;
    int made = 0;
    for (int i = 0; ok && i < j->n->u.handle.count; i++) {
        if (!j->n->u.handle.floating[i]) continue;
        ok = reverse_parameter(c, s, j->n->where, &args[i]);
        if (ok) parameter[made++] = value_retain(args[i]);
    }
    if (!ok) drop_args(j, args);
    ok = ok && run(j, args, true, &primal);
    if (!ok) {
        reverse_abandon(c, s);
    } else {
        j->rows = value_size(&primal);
        *done = j->rows <= j->columns;
        if (*done) choose_together(j, j->rows);
        reverse_stop(c, s);
        ok = !*done || sweep_rows(j, s, &primal, parameter);
        reverse_close(c, s);
        value_release(c, primal);
    }
    values_release(c, parameter, made);
    return ok;
}

static bool find_rows(jacobian *j, bool *done) {
    context *c = j->ev->c;
    reverse_scope scope;
    *done = false;
    value *parameter = take(c, (size_t)j->inputs * sizeof *parameter);
    if (parameter == NULL) return false;
    bool ok = reverse_enter(c, &scope);
    if (ok) {
        scope.keep = true;
        ok = rows_of_run(j, &scope, parameter, done);
    }
    give_back(c, parameter, (size_t)j->inputs * sizeof *parameter);
    return ok;
}

/* ---- putting them together ---- */

static bool perform(jacobian *j, op_id op, const op_attrs *attrs, int n, const value *in, value *out) {
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in, .where = j->n->where};
    return door_perform(j->ev->c, &call, out);
}

static bool reshaped(jacobian *j, value *v, int rank, const int64_t *shape, uint8_t ones) {
    op_attrs attrs = {.rank = (uint8_t)rank, .ones = {0, ones, 0}};
    for (int i = 0; i < rank; i++) attrs.dims[i] = shape[i];
    value out;
    if (!perform(j, OP_reshape, &attrs, 1, v, &out)) return false;
    value_release(j->ev->c, *v);
    *v = out;
    return true;
}

static bool turned(jacobian *j, value *v) {
    op_attrs attrs = {.perm = {1, 0}};
    value out;
    if (!perform(j, OP_permute, &attrs, 1, v, &out)) return false;
    value_release(j->ev->c, *v);
    *v = out;
    return true;
}

/* The parts, matrices all, along an axis; the first takes the result, the others are left behind. */
static bool joined(jacobian *j, value *part, int64_t count, int axis) {
    context *c = j->ev->c;
    op_attrs attrs = {.axis = (uint8_t)axis};
    while (count > 1) {
        int64_t groups = 0;
        for (int64_t first = 0; first < count; first += PARTS_MOST) {
            int some = (int)(count - first < PARTS_MOST ? count - first : PARTS_MOST);
            value out;
            if (!perform(j, OP_concat, &attrs, some, part + first, &out)) return false;
            for (int i = 0; i < some; i++) {
                value_release(c, part[first + i]);
                part[first + i] = value_none();
            }
            part[groups++] = out;
        }
        count = groups;
    }
    return true;
}

/* The derivatives of output o by input k, of the value's dims, then the input's. */
static bool block(jacobian *j, int o, int k, bool by_rows, value *out) {
    const op_type *of = &j->out[o], *by = &j->in[k];
    int64_t shape[MAX_RANK], height = 1, first = 0;
    int rank = 0;
    for (int i = 0; i < of->rank; i++) height *= shape[rank++] = of->dims[i];
    for (int i = 0; i < by->rank; i++) shape[rank++] = by->dims[i];
    for (int i = 0; i < k; i++) first += passes_for(j, j->entries[i]);
    int64_t entries = by_rows ? height : j->entries[k], count = passes_for(j, entries);
    value *part = by_rows ? j->part + k * j->passes : j->part + o * j->passes + first;
    if (count == 0) {
        op_attrs attrs = {.rank = (uint8_t)rank, .dtype = of->dtype};
        for (int i = 0; i < rank; i++) attrs.dims[i] = shape[i];
        value zero = value_number((dtype)of->dtype, 0.0);
        return perform(j, OP_full, &attrs, 1, &zero, out);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t flat[2] = {taken(j, entries, i * j->together), by_rows ? j->entries[k] : height};
        if (!reshaped(j, &part[i], 2, flat, 0) || !(by_rows || turned(j, &part[i]))) return false;
    }
    if (!joined(j, part, count, by_rows ? 0 : 1)) return false;
    if (!reshaped(j, part, rank, shape, j->n->u.handle.ones[o * j->inputs + k])) return false;
    *out = part[0];
    part[0] = value_none();
    return true;
}

static bool pack_row(jacobian *j, int o, bool by_rows, value *out) {
    context *c = j->ev->c;
    value *cell = take(c, (size_t)j->inputs * sizeof *cell);
    if (cell == NULL) return false;
    int made = 0;
    while (made < j->inputs && block(j, o, made, by_rows, &cell[made])) made++;
    bool ok = made == j->inputs;
    if (ok)
        ok = eval_pack(j->ev, cell, j->inputs, out);
    else
        values_release(c, cell, made);
    give_back(c, cell, (size_t)j->inputs * sizeof *cell);
    return ok;
}

static bool pack_all(jacobian *j, bool by_rows, value *out) {
    context *c = j->ev->c;
    value *row = take(c, (size_t)j->outputs * sizeof *row);
    if (row == NULL) return false;
    int made = 0;
    while (made < j->outputs && pack_row(j, made, by_rows, &row[made])) made++;
    bool ok = made == j->outputs;
    if (ok)
        ok = eval_pack(j->ev, row, j->outputs, out);
    else
        values_release(c, row, made);
    give_back(c, row, (size_t)j->outputs * sizeof *row);
    return ok;
}

/* ---- the whole ---- */

static bool find_parts(jacobian *j, bool *by_rows) {
    *by_rows = false;
    j->passes = 0;
    if (!j->n->u.handle.by_columns && !find_rows(j, by_rows)) return false;
    if (*by_rows) return true;
    choose_together(j, j->columns);
    return find_columns(j);
}

static bool find_all(jacobian *j, value *out) {
    error *e = &j->ev->c->err;
    bool by_rows;
    for (int k = 0; k < j->inputs; k++) {
        const value *v = &j->args[place_of(j, k)];
        j->in[k] = value_type(v);
        j->entries[k] = value_size(v);
        j->columns += j->entries[k];
    }
    bool ok = find_parts(j, &by_rows);
    if (!ok && j->together > 1 && e->code == ERROR_K0511) { /* no axis is left for a batch somewhere: one by one */
        error_clear(e);
        parts_close(j);
        j->together = 1;
        ok = find_parts(j, &by_rows);
    }
    ok = ok && pack_all(j, by_rows, out);
    parts_close(j);
    return ok;
}

bool eval_jacobian(evaluator *ev, value *frame, const code *n, value *out) {
    jacobian j = {.ev = ev, .n = n, .outputs = n->u.handle.primals};
    int count = n->u.handle.count;
    for (int i = 0; i < count; i++) j.inputs += n->u.handle.floating[i];
    size_t types = (size_t)(j.inputs + j.outputs) * sizeof *j.in, sizes = (size_t)j.inputs * sizeof *j.entries;
    j.in = take(ev->c, types);
    j.entries = take(ev->c, sizes);
    j.args = take(ev->c, (size_t)count * sizeof *j.args);
    bool ok = j.in != NULL && j.entries != NULL && j.args != NULL && eval_callee(ev, frame, &n->u.handle.callee, &j.f);
    if (ok) {
        j.out = j.in + j.inputs;
        ok = eval_args(ev, frame, n->u.handle.args, count, j.args);
        if (ok) {
            ok = find_all(&j, out);
            values_release(ev->c, j.args, count);
        }
        called_close(ev, &j.f);
    }
    give_back(ev->c, j.args, (size_t)count * sizeof *j.args);
    give_back(ev->c, j.entries, sizes);
    give_back(ev->c, j.in, types);
    return ok;
}
