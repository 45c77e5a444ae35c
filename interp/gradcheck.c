/* Directions by chance, both modes along them, and the verdicts. */
#include "interp/gradcheck.h"

#include <math.h>

#include "interp/inputs.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

/* What a check holds while it runs. */
typedef struct checking {
    engine *e;
    context *c;
    const fn_decl *fn;
    const value *args;
    int count;                  /* of all parameters */
    const gradcheck_wish *w;
    gradcheck *out;
    inputs_stream stream;
    double *weight;             /* u: one an element of the result */
    int64_t results;
    double **direction;         /* v: by row, one an element of the parameter */
    results reverse;            /* primal and J'u, a gradient for each row */
} checking;

static bool floating(const checking *k, int i) {
    return type_is_floating(k->fn->type->items[i]);
}

bool gradcheck_may(const fn_decl *fn) {
    bool some = false;
    for (int i = 0; i < fn->count; i++) {
        const type *t = fn->type->items[i];
        if (t->kind != TYPE_TENSOR) return false;
        some = some || type_is_floating(t);
    }
    return some && type_is_floating(fn->type->result);
}

/* ---- vectors ---- */

/* Away from zero, so that no element goes unseen, of either sign. */
static double draw(inputs_stream *s) {
    double x = 0.5 + (double)(inputs_next(s) >> 12) * 0x1p-53;
    return inputs_next(s) % 2 != 0 ? x : -x;
}

static double *draw_vector(checking *k, int64_t size) {
    double *v = take(k->c, (size_t)size * sizeof *v);
    for (int64_t i = 0; v != NULL && i < size; i++) v[i] = draw(&k->stream);
    return v;
}

/* As a value like another one in type and shape. */
static bool as_value(context *c, const double *v, const value *like, value *out) {
    dtype t = (dtype)like->dtype;
    if (like->kind == VALUE_NUMBER) {
        *out = value_number(t, v[0]);
        return true;
    }
    tensor *made = tensor_new(c, t, value_rank(like), value_dims(like));
    if (made == NULL) return false;
    for (int64_t i = 0; i < made->size; i++) {
        if (t == DT_F32) {
            ((float *)made->data)[i] = (float)v[i];
        } else {
            ((double *)made->data)[i] = v[i];
        }
    }
    *out = value_tensor(made);
    return true;
}

/* Sum and, where asked for, size of the products with a value's elements. */
static double product(const double *v, const value *y, double *size) {
    double sum = 0, absolute = 0;
    for (int64_t i = 0; i < value_size(y); i++) {
        double part = v[i] * slope_element(y, i);
        sum += part;
        absolute += fabs(part);
    }
    if (size != NULL) *size = absolute;
    return sum;
}

/* ---- both modes ---- */

/* A mode for which a rule of one's own is missing is not checked. */
static bool refused(context *c) {
    if (c->err.code != ERROR_K0702) return false;
    error_clear(&c->err);
    return true;
}

static bool run_reverse(checking *k) {
    bool *wrt = take(k->c, (size_t)k->count * sizeof *wrt);
    results primal;
    if (wrt == NULL) return false;
    for (int i = 0; i < k->count; i++) wrt[i] = floating(k, i);
    value seed = value_none();
    bool ok = engine_call(k->e, k->fn, k->args, k->count, &primal);
    if (ok) {
        k->results = value_size(&primal.items[0].v);
        k->weight = draw_vector(k, k->results);
        ok = k->weight != NULL && as_value(k->c, k->weight, &primal.items[0].v, &seed);
        results_release(k->c, &primal);
    }
    /* The weights are those that the seed holds. */
    for (int64_t i = 0; ok && i < k->results; i++) k->weight[i] = slope_element(&seed, i);
    if (ok) {
        k->out->has_reverse = engine_reverse(k->e, k->fn, k->args, k->count, wrt, &seed, &k->reverse);
        ok = k->out->has_reverse || refused(k->c);
        value_release(k->c, seed);
    }
    give_back(k->c, wrt, (size_t)k->count * sizeof *wrt);
    return ok;
}

/* <u, J v>, v being `along` for one row and zero elsewhere; row -1: the directions of all rows at once. */
static bool run_forward(checking *k, int row, const double *along, double *out) {
    int rows = k->out->count, made = 0;
    value *tangents = take_zeroed(k->c, (size_t)rows * sizeof *tangents);
    results r;
    bool ok = tangents != NULL;
    *out = (double)NAN;
    for (int i = 0; i < rows && ok; i++, made += ok) {
        const value *x = &k->args[k->out->row[i].parameter];
        double *zeros = row >= 0 && row != i ? take_zeroed(k->c, (size_t)value_size(x) * sizeof *zeros) : NULL;
        const double *v = row < 0 ? k->direction[i] : row == i ? along : zeros;
        ok = v != NULL && as_value(k->c, v, x, &tangents[i]);
        give_back(k->c, zeros, zeros != NULL ? (size_t)value_size(x) * sizeof *zeros : 0);
    }
    if (ok) {
        k->out->has_forward = engine_forward(k->e, k->fn, k->args, k->count, tangents, &r);
        ok = k->out->has_forward || refused(k->c);
        if (k->out->has_forward) {
            *out = product(k->weight, &r.items[1].v, NULL);
            results_release(k->c, &r);
        }
    }
    for (int i = 0; i < made; i++) value_release(k->c, tangents[i]);
    give_back(k->c, tangents, (size_t)rows * sizeof *tangents);
    return ok;
}

/* ---- one line ---- */

/* Of what is compared: differences of F32 values are exact to a few digits only. */
static double relative_bound(double unit) {
    return unit > 1e-10 ? 2e-3 : 1e-6;
}

/* The first step: a fraction of the argument, or of 1 where that is larger. */
static double reach_of(const value *x, double unit) {
    double most = 0;
    for (int64_t i = 0; i < value_size(x); i++) {
        double a = fabs(slope_element(x, i));
        if (isfinite(a)) most = fmax(most, a);
    }
    return (unit > 1e-10 ? 0x1p-4 : 0x1p-7) * (most > 0 && most < 1 ? most : 1);
}

static bool within(double a, double b, double bound) {
    return a == b || fabs(a - b) <= bound;
}

static bool judge(slope_line *l, const slope *s, gradcheck_row *row) {
    double found[2] = {row->reverse, row->forward}, largest = fabs(s->value);
    bool agrees = true, near = true;
    for (int i = 0; i < 2; i++) {
        if (isfinite(found[i])) largest = fmax(largest, fabs(found[i]));
    }
    double unit = line_unit(l);
    if (!isfinite(l->middle)) {
        row->verdict = GRADCHECK_NOT_FINITE;
        return true;
    }
    row->uncertainty += 4 * s->uncertainty + relative_bound(unit) * largest + 16 * unit * l->size;
    for (int i = 0; i < 2; i++) {
        agrees = agrees && within(found[i], s->value, row->uncertainty);
        near = near && within(found[i], s->value, row->uncertainty + 2 * s->gap);
    }
    row->verdict = agrees ? GRADCHECK_AGREES : isnan(s->value) ? GRADCHECK_NOT_FINITE : GRADCHECK_DIFFERS;
    if (agrees && !s->bends) return true;
    if (!kink_find(l, s->step, &row->kink)) return false;
    /* Beside a kink each value between the slopes to both sides is right; without finite values around, any. */
    bool open = isnan(s->value) || isnan(found[0]) || isinf(found[0]);
    if (row->kink.found && (near || open)) row->verdict = GRADCHECK_KINK;
    return true;
}

/* Fills in a row by one line, along v. A mode that is not there takes part as the other one does. */
static bool check_line(checking *k, int i, const double *v, gradcheck_row *row) {
    const value *x = &k->args[row->parameter];
    slope_line l = {.e = k->e, .fn = k->fn, .args = k->args, .count = k->count, .parameter = row->parameter,
              .direction = v, .weight = k->weight};
    double unit = line_unit(&l), rounding = 0;
    slope s;
    row->reverse = row->forward = (double)NAN;
    if (k->out->has_reverse) {
        const value *gradient = &k->reverse.items[1 + i].v;
        row->reverse = product(v, gradient, NULL);
        for (int64_t n = 0; n < value_size(x); n++) {
            if (v[n] != 0) rounding += fabs(slope_element(gradient, n) * slope_element(x, n));
        }
    }
    if (!line_open(&l) || !run_forward(k, i, v, &row->forward)) return false;
    if (!k->out->has_reverse) row->reverse = row->forward;
    if (!k->out->has_forward) row->forward = row->reverse;
    if (!slope_find(&l, reach_of(x, unit), &s)) return false;
    row->difference = s.value;
    /* The ends of a step are rounded too. */
    row->uncertainty = isfinite(rounding) ? 2 * unit * rounding / s.step : 0;
    if (!judge(&l, &s, row)) return false;
    if (!k->out->has_reverse) row->reverse = (double)NAN;
    if (!k->out->has_forward) row->forward = (double)NAN;
    return true;
}

/* ---- rows ---- */

static double misfit(const gradcheck_row *row) {
    double most = 0;
    if (isfinite(row->reverse)) most = fmax(most, fabs(row->reverse - row->difference));
    if (isfinite(row->forward)) most = fmax(most, fabs(row->forward - row->difference));
    return row->uncertainty > 0 ? most / row->uncertainty : most;
}

static bool worse(const gradcheck_row *a, const gradcheck_row *b) {
    return a->verdict != b->verdict ? a->verdict > b->verdict : misfit(a) > misfit(b);
}

static bool check_elements(checking *k, int i, gradcheck_row *row) {
    int64_t size = value_size(&k->args[row->parameter]);
    double *axis = take_zeroed(k->c, (size_t)size * sizeof *axis);
    bool ok = axis != NULL;
    for (int64_t n = 0; n < size && ok; n++) {
        gradcheck_row each = {.parameter = row->parameter, .element = n};
        axis[n] = 1;
        ok = check_line(k, i, axis, &each);
        axis[n] = 0;
        if (ok && (n == 0 || worse(&each, row))) *row = each;
    }
    give_back(k->c, axis, axis != NULL ? (size_t)size * sizeof *axis : 0);
    return ok;
}

static bool check_rows(checking *k) {
    gradcheck *g = k->out;
    for (int i = 0; i < g->count; i++) {
        gradcheck_row *row = &g->row[i];
        row->element = -1;
        bool each = k->w->full && value_size(&k->args[row->parameter]) > 0;
        if (each ? !check_elements(k, i, row) : !check_line(k, i, k->direction[i], row)) return false;
        if (row->verdict == GRADCHECK_DIFFERS) g->passed = false;
        if (row->verdict == GRADCHECK_NOT_FINITE) g->finite = false;
    }
    return true;
}

/* Along one direction of all parameters, both modes give one number, by quite different ways. */
static bool check_modes(checking *k) {
    gradcheck *g = k->out;
    double size = 0, unit = 0;
    g->modes_agree = true;
    if (!run_forward(k, -1, NULL, &g->pushed)) return false;
    g->pulled = g->has_reverse ? 0 : (double)NAN;
    for (int i = 0; i < g->count && g->has_reverse; i++) {
        double part;
        g->pulled += product(k->direction[i], &k->reverse.items[1 + i].v, &part);
        size += part;
        unit = fmax(unit, k->args[g->row[i].parameter].dtype == DT_F32 ? 0x1p-23 : 0x1p-52);
    }
    if (!g->has_reverse || !g->has_forward) return true;
    bool same = isnan(g->pushed) && isnan(g->pulled);
    g->modes_agree = same || within(g->pushed, g->pulled, 1024 * unit * size);
    if (!g->modes_agree) g->passed = false;
    return true;
}

static bool open_rows(checking *k) {
    gradcheck *g = k->out;
    for (int i = 0; i < k->count; i++) g->count += floating(k, i);
    g->row = take_zeroed(k->c, (size_t)g->count * sizeof *g->row);
    k->direction = take_zeroed(k->c, (size_t)g->count * sizeof *k->direction);
    if (g->row == NULL || k->direction == NULL) return false;
    for (int i = 0, row = 0; i < k->count; i++) {
        if (!floating(k, i)) continue;
        g->row[row].parameter = i;
        k->direction[row] = draw_vector(k, value_size(&k->args[i]));
        if (k->direction[row++] == NULL) return false;
    }
    return true;
}

static void close_checking(checking *k) {
    gradcheck *g = k->out;
    for (int i = 0; i < g->count && k->direction != NULL && g->row != NULL; i++) {
        if (k->direction[i] == NULL) continue;
        give_back(k->c, k->direction[i], (size_t)value_size(&k->args[g->row[i].parameter]) * sizeof(double));
    }
    if (k->direction != NULL) give_back(k->c, k->direction, (size_t)g->count * sizeof *k->direction);
    if (k->weight != NULL) give_back(k->c, k->weight, (size_t)k->results * sizeof *k->weight);
    results_release(k->c, &k->reverse);
}

bool gradcheck_run(engine *e, const fn_decl *fn, const value *args, const gradcheck_wish *w, gradcheck *out) {
    checking k = {.e = e, .c = e->c, .fn = fn, .args = args, .count = fn->count, .w = w, .out = out,
                  .stream = {w->seed}};
    *out = (gradcheck){.finite = true, .passed = true};
    bool ok = open_rows(&k) && run_reverse(&k) && check_modes(&k) && check_rows(&k);
    close_checking(&k);
    return ok;
}

void gradcheck_close(context *c, gradcheck *g) {
    if (g->row != NULL) give_back(c, g->row, (size_t)g->count * sizeof *g->row);
    g->row = NULL;
}
