/* jacobian and hessian: all derivatives of a function's value.
 *
 * Forward mode gives a column at a time, the derivatives of all of the value by one entry of a parameter, at
 * the price of a run each. Reverse mode gives a row at a time, those of one entry of the value by all
 * parameters, at the price of a sweep each over the tape of a single run. The value's size, which only that
 * run knows, decides between them. Rows and columns are put together by ops, so that handlers outside see
 * all of it. */
#include <string.h>

#include "ad/performer.h"
#include "interp/eval.h"
#include "runtime/door.h"

enum { PARTS_MOST = 128 };      /* operands of one concat */

typedef struct jacobian {
    evaluator *ev;
    const code *n;
    called f;
    value *args;
    int inputs, outputs;        /* differentiated arguments; parts of the function's value */
    op_type *in, *out;          /* their types */
    int64_t *entries;           /* of each input */
    int64_t columns, rows;      /* entries of all inputs; of the value, where that is one part */
    value *part;                /* columns: of output o, those of all inputs; rows: of input k, all of them */
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

/* Zeros of a type with a single 1. */
static bool unit_vector(context *c, const op_type *t, int64_t entry, value *out) {
    *out = value_number((dtype)t->dtype, 1.0);
    if (t->rank == 0) return true;
    tensor *made = tensor_new(c, (dtype)t->dtype, t->rank, t->dims);
    if (made == NULL) return false;
    memset(made->data, 0, (size_t)made->size * dtype_size((dtype)t->dtype));
    if (t->dtype == DT_F32)
        ((float *)made->data)[entry] = 1.0f;
    else
        ((double *)made->data)[entry] = 1.0;
    *out = value_tensor(made);
    return true;
}

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

static bool column(jacobian *j, int input, int64_t entry, value *primal, value *tangent) {
    context *c = j->ev->c;
    span where = j->n->where;
    forward_scope scope;
    value unit;
    if (!unit_vector(c, &j->in[input], entry, &unit)) return false;
    value *args = own_args(j);
    bool entered = args != NULL && forward_enter(c, &scope);
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
    bool ok = parts_open(j, j->outputs * j->columns);
    int64_t at = 0;
    for (int k = 0; k < j->inputs; k++)
        for (int64_t e = 0; ok && e < j->entries[k]; e++, at++) {
            ok = context_may_go_on(c, j->n->where) && column(j, k, e, primal, tangent);
            for (int o = 0; ok && o < j->outputs; o++) j->part[o * j->columns + at] = tangent[o];
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
    bool ok = gradient != NULL && parts_open(j, j->inputs * j->rows);
    for (int64_t row = 0; ok && row < j->rows; row++) {
        value unit;
        ok = context_may_go_on(c, j->n->where) && unit_vector(c, &j->out[0], row, &unit);
        if (!ok) break;
        ok = reverse_sweep(c, s, primal, &unit, parameter, j->inputs, j->n->where, gradient);
        value_release(c, unit);
        for (int k = 0; ok && k < j->inputs; k++) j->part[k * j->rows + row] = gradient[k];
    }
    give_back(c, gradient, (size_t)j->inputs * sizeof *gradient);
    return ok;
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
    for (int i = 0; i < k; i++) first += j->entries[i];
    int64_t count = by_rows ? height : j->entries[k];
    value *part = by_rows ? j->part + k * j->rows : j->part + o * j->columns + first;
    if (count == 0) {
        op_attrs attrs = {.rank = (uint8_t)rank, .dtype = of->dtype};
        for (int i = 0; i < rank; i++) attrs.dims[i] = shape[i];
        value zero = value_number((dtype)of->dtype, 0.0);
        return perform(j, OP_full, &attrs, 1, &zero, out);
    }
    int64_t flat[2] = {by_rows ? 1 : height, by_rows ? j->entries[k] : 1};
    for (int64_t i = 0; i < count; i++)
        if (!reshaped(j, &part[i], 2, flat, 0)) return false;
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

static bool find_all(jacobian *j, value *out) {
    bool by_rows = false, ok = true;
    for (int k = 0; k < j->inputs; k++) {
        const value *v = &j->args[place_of(j, k)];
        j->in[k] = value_type(v);
        j->entries[k] = value_size(v);
        j->columns += j->entries[k];
    }
    if (!j->n->u.handle.by_columns) ok = find_rows(j, &by_rows);
    if (ok && !by_rows) ok = find_columns(j);
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
