/* Curves over an interval, drawn in the terminal: a grid of braille cells, each of two by four dots, with axes. */
#ifndef KINA_REPL_PLOT_H
#define KINA_REPL_PLOT_H

#include "runtime/text.h"

enum { PLOT_CURVES = 4 };

typedef struct plot_curve {
    const char *name;
    const double *y;            /* one a point; where it is not finite the curve has a gap */
} plot_curve;

typedef struct plot {
    int points;                 /* two or more */
    const double *x;            /* ascending, all finite, the last greater than the first */
    int count;                  /* of the curves; the first is drawn as a line, the others as dashes */
    plot_curve curve[PLOT_CURVES];
} plot;

/* What of the values a picture shows: all, but of curves with poles only as far out as most of them is. */
typedef struct plot_range {
    double least, most;         /* 0 and 0 where nothing is finite */
} plot_range;

/* False with the context's error set when out of memory. */
bool plot_range_of(context *c, const plot *p, plot_range *out) MUST_CHECK;
/* Whether the curve is on one side of the range at point i - 1 and on the other at i, so that no line is between them. */
bool plot_leaps(const plot_curve *curve, int i, plot_range shown);

typedef struct plot_size {
    int width;                  /* columns in all, names of ticks too */
    int rows;                   /* of the grid; a legend, an axis and its names are three lines more */
} plot_size;

/* Appends the picture. The curves share one scale, which ends at whole ticks; ticks are 1, 2 or 5 times a power of ten
 * apart. Below the picture stands how many points of a curve are not finite, and how far one goes that is cut off. False with the context's error set when
 * out of memory. */
bool plot_draw(text *out, const plot *p, plot_size size) MUST_CHECK;

#endif
