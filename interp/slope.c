/* Values on a line, and Ridders' way of choosing among steps (Ridders 1982). */
#include "interp/slope.h"

#include <float.h>
#include <math.h>

#include "runtime/context.h"
#include "runtime/tensor.h"

double slope_element(const value *v, int64_t i) {
    if (v->kind != VALUE_TENSOR) return value_as_double(v);
    const tensor *t = v->as.t;
    int64_t offset = 0;
    for (int k = t->rank - 1; k >= 0; k--) {
        offset += i % t->dims[k] * t->strides[k];
        i /= t->dims[k];
    }
    return v->dtype == DT_F32 ? (double)((const float *)t->data)[offset] : ((const double *)t->data)[offset];
}

/* ---- the line ---- */

static bool shifted(const slope_line *l, double t, value *out) {
    const value *x = &l->args[l->parameter];
    dtype kind = (dtype)x->dtype;
    if (x->kind == VALUE_NUMBER) {
        *out = value_number(kind, value_as_double(x) + t * l->direction[0]);
        return true;
    }
    tensor *made = tensor_new(l->e->c, kind, value_rank(x), value_dims(x));
    if (made == NULL) return false;
    for (int64_t i = 0; i < made->size; i++) {
        double y = slope_element(x, i) + t * l->direction[i];
        if (kind == DT_F32) {
            ((float *)made->data)[i] = (float)y;
        } else {
            ((double *)made->data)[i] = y;
        }
    }
    *out = value_tensor(made);
    return true;
}

/* Calls the function at t; the result has one part. */
static bool call_at(slope_line *l, double t, results *out) {
    context *c = l->e->c;
    value *args = take(c, (size_t)l->count * sizeof *args);
    if (args == NULL) return false;
    for (int i = 0; i < l->count; i++) args[i] = l->args[i];
    bool ok = shifted(l, t, &args[l->parameter]);
    if (ok) {
        ok = engine_call(l->e, l->fn, args, l->count, out);
        value_release(c, args[l->parameter]);
    }
    give_back(c, args, (size_t)l->count * sizeof *args);
    return ok;
}

static bool measure(slope_line *l, double t, double *sum, double *size) {
    results r;
    if (!call_at(l, t, &r)) return false;
    const value *y = &r.items[0].v;
    *sum = *size = 0;
    for (int64_t i = 0; i < value_size(y); i++) {
        double part = l->weight[i] * slope_element(y, i);
        *sum += part;
        *size += fabs(part);
    }
    results_release(l->e->c, &r);
    return true;
}

bool line_open(slope_line *l) {
    return measure(l, 0, &l->middle, &l->size);
}

bool line_at(slope_line *l, double t, double *out) {
    double size;
    return measure(l, t, out, &size);
}

double line_unit(const slope_line *l) {
    bool narrow = l->args[l->parameter].dtype == DT_F32 || l->fn->type->result->tensor.dtype == DT_F32;
    return narrow ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* ---- steps ---- */

enum { STEPS = 12 };

typedef struct sides {
    double left, right;         /* the slopes to either side */
} sides;

static bool look(slope_line *l, double h, sides *out) {
    double below, above;
    if (!line_at(l, -h, &below) || !line_at(l, h, &above)) return false;
    *out = (sides){(l->middle - below) / h, (above - l->middle) / h};
    return true;
}

/* What rounding alone may make of a difference over a step. */
static double noise(const slope_line *l, double h) {
    return 4 * line_unit(l) * l->size / h;
}

/* One more row of the tableau: row[k] extrapolates from k + 1 steps, the errors being a series in h * h. Keeps the
 * best entry and what it differs by from those it is made of. */
static double extend(const double *before, double *row, int length, slope *out) {
    double factor = 1, least = (double)INFINITY;
    for (int k = 1; k < length; k++) {
        factor *= 4;
        row[k] = (row[k - 1] * factor - before[k - 1]) / (factor - 1);
        double apart = fmax(fabs(row[k] - row[k - 1]), fabs(row[k] - before[k - 1]));
        least = fmin(least, apart);
        if (apart <= out->uncertainty) {
            out->uncertainty = apart;
            out->value = row[k];
        }
    }
    return least;
}

bool slope_find(slope_line *l, double reach, slope *out) {
    double tableau[2][STEPS], gap_before = (double)NAN;
    int length = 0;
    *out = (slope){.value = (double)NAN, .uncertainty = (double)INFINITY, .step = reach, .gap = (double)NAN};
    for (int k = 0; k < STEPS; k++) {
        double h = ldexp(reach, -k), *row = tableau[length % 2];
        sides s;
        if (!look(l, h, &s)) return false;
        if (!isfinite(s.left) || !isfinite(s.right)) continue;
        row[0] = (s.left + s.right) / 2;
        double gap = fabs(s.right - s.left);
        out->bends = gap > 0.75 * gap_before && gap > 4 * noise(l, h);
        out->step = h;
        out->gap = gap_before = gap;
        if (length == 0) out->value = row[0];
        double apart = length > 0 ? extend(tableau[(length - 1) % 2], row, length + 1, out) : (double)INFINITY;
        length++;
        /* Smaller steps only add rounding from here on. */
        if (length > 2 && (apart > 2 * out->uncertainty || out->uncertainty <= noise(l, h))) break;
    }
    out->uncertainty += noise(l, out->step);
    return true;
}
