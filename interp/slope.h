/* The derivative of a function along a line, from its values alone: central differences refined after Richardson, with
 * an estimate of their error; and where the function bends or jumps on that line. */
#ifndef KINA_SLOPE_H
#define KINA_SLOPE_H

#include "interp/engine.h"

/* t -> sum over i of weight[i] * f(..., x + t * direction, ...)[i], where x is one of the arguments. */
typedef struct slope_line {
    engine *e;
    const fn_decl *fn;
    const value *args;          /* all of them; borrowed */
    int count, parameter;
    const double *direction;    /* one an element of the argument */
    const double *weight;       /* one an element of the result */
    double middle;              /* the value at t = 0 */
    double size;                /* the sum of |weight * f| there: what rounding is measured by */
} slope_line;

/* Fills in the value in the middle. */
bool line_open(slope_line *l) MUST_CHECK;
/* The value at t, NaN or infinite when the function's is. */
bool line_at(slope_line *l, double t, double *out) MUST_CHECK;
/* The unit of rounding of the line's values: the wider of the argument's and the result's. */
double line_unit(const slope_line *l);

typedef struct slope {
    double value;               /* NaN: the function has no finite values around */
    double uncertainty;         /* of the value: from the steps taken and from rounding */
    double step;                /* the least one taken */
    double gap;                 /* between the slopes to both sides, at the least step */
    bool bends;                 /* the gap does not shrink with the step, as it does where a function is smooth */
} slope;

/* reach: the first step. */
bool slope_find(slope_line *l, double reach, slope *out) MUST_CHECK;

/* ---- where it bends ---- */

typedef struct kink {
    bool found;
    span where;
    const char *op;             /* as a program writes it; NULL: another branch, or another number of iterations */
} kink;

/* The first op of the run whose result is not smooth between -step and step. Not found too where a run has more ops
 * than can be kept. */
bool kink_find(slope_line *l, double step, kink *out) MUST_CHECK;

/* Element i of a floating number or tensor, in row-major order, whatever its strides. */
double slope_element(const value *v, int64_t i);

#endif
