/* Scales with their ticks, curves into dots, and dots into braille. */
#include "interp/tools/repl/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"

/* Ranges may be as wide as twice the largest double and ticks as narrow as the smallest, so that scales are wider. */
typedef long double wide;

enum {
    ACROSS = 2,                 /* dots of a cell */
    DOWN = 4,
    DASH = 2,                   /* dots drawn, and as many left out */
    TICK_ROWS = 3,              /* the least distance of two ticks */
    TICK_COLUMNS = 10,
    NAME_ROOM = 48,
};

/* ---- scales ---- */

typedef struct scale {
    wide least, most;
    wide step;                  /* between two ticks, which are its multiples */
    int dots;
} scale;

/* The least of 1, 2, 5, 10, ... times a power of ten that is not below `least`. */
static wide nice_step(wide least) {
    wide power = powl(10, floorl(log10l(least)));
    static const wide factors[] = {1, 2, 5, 10};
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        if (factors[i] * power >= least * (1 - 1e-12L)) return factors[i] * power;
    }
    return 10 * power;
}

/* A range of no extent, or of one that doubles cannot tell apart, gets room around it. */
static void widen(scale *s) {
    wide size = fmaxl(fabsl(s->least), fabsl(s->most));
    if (s->most - s->least > size * 1e-12L) return;
    wide more = size > 0 ? size / 2 : 1;
    s->least -= more;
    s->most += more;
}

/* ---- what of a curve is shown ---- */

/* From infinity to minus infinity where nothing is finite. */
static plot_range extent_of(const plot *p, int k) {
    plot_range x = {INFINITY, -INFINITY};
    for (int i = 0; i < p->points; i++) {
        double y = p->curve[k].y[i];
        if (!isfinite(y)) continue;
        x.least = fmin(x.least, y);
        x.most = fmax(x.most, y);
    }
    return x;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where a curve is far out and beside it far out on the other side, or not finite, it has a pole. */
static bool has_pole(const double *y, int points, double far) {
    for (int i = 1; i < points; i++) {
        bool out = fabs(y[i]) > far, out_before = fabs(y[i - 1]) > far;
        if (out && out_before && isfinite(y[i]) && isfinite(y[i - 1]) && (y[i] > 0) != (y[i - 1] > 0)) return true;
        if ((out && isfinite(y[i]) && !isfinite(y[i - 1])) || (out_before && isfinite(y[i - 1]) && !isfinite(y[i])))
            return true;
    }
    return false;
}

enum { FAR = 8, CUT = 10 };     /* times the middle magnitude; one part of so many is cut off at each end */

/* The finite values, or their magnitudes, in order; returns how many. */
static int sort_values(const plot *p, int k, bool magnitudes, double *out) {
    int count = 0;
    for (int i = 0; i < p->points; i++) {
        double y = p->curve[k].y[i];
        if (isfinite(y)) out[count++] = magnitudes ? fabs(y) : y;
    }
    qsort(out, (size_t)count, sizeof *out, by_size);
    return count;
}

/* Beyond it a curve is far out; a curve that is mostly 0 never is. */
static double far_of(const plot *p, int k, double *scratch) {
    int count = sort_values(p, k, true, scratch);
    return count > 2 * CUT && scratch[count / 2] > 0 ? FAR * scratch[count / 2] : (double)INFINITY;
}

/* What is in the middle, and half as much again. */
static plot_range middle_of(const plot *p, int k, double *scratch) {
    int count = sort_values(p, k, false, scratch);
    double low = scratch[count / CUT], high = scratch[count - 1 - count / CUT];
    plot_range all = extent_of(p, k);
    return (plot_range){fmax(all.least, low - (high - low) / 2), fmin(all.most, high + (high - low) / 2)};
}

/* Where one curve has a pole, others that go far out are cut off too: a derivative's poles need not change sign. */
bool plot_range_of(context *c, const plot *p, plot_range *out) {
    double *scratch = take(c, (size_t)p->points * sizeof *scratch), far[PLOT_CURVES];
    if (scratch == NULL) return false;
    bool pole = false;
    for (int k = 0; k < p->count; k++) {
        far[k] = far_of(p, k, scratch);
        pole = pole || has_pole(p->curve[k].y, p->points, far[k]);
    }
    plot_range all = {INFINITY, -INFINITY};
    for (int k = 0; k < p->count; k++) {
        plot_range x = extent_of(p, k);
        if (pole && fmax(-x.least, x.most) > far[k]) x = middle_of(p, k, scratch);
        all.least = fmin(all.least, x.least);
        all.most = fmax(all.most, x.most);
    }
    give_back(c, scratch, (size_t)p->points * sizeof *scratch);
    *out = all.least <= all.most ? all : (plot_range){0, 0};
    return true;
}

/* Below the range -1, above it 1, on it 0. */
static int side_of(plot_range shown, double y) {
    return y < shown.least ? -1 : y > shown.most;
}

bool plot_leaps(const plot_curve *curve, int i, plot_range shown) {
    const double *y = curve->y;
    return i > 0 && isfinite(y[i - 1]) && isfinite(y[i]) && side_of(shown, y[i - 1]) * side_of(shown, y[i]) < 0;
}

/* ---- scales of a picture ---- */

/* Ends at whole ticks. */
static scale vertical_scale(plot_range shown, int rows) {
    scale s = {.least = shown.least, .most = shown.most, .dots = rows * DOWN};
    widen(&s);
    int most = rows / TICK_ROWS > 1 ? rows / TICK_ROWS : 1;
    s.step = nice_step((s.most - s.least) / most);
    s.least = floorl(s.least / s.step + 1e-9L) * s.step;
    s.most = ceill(s.most / s.step - 1e-9L) * s.step;
    return s;
}

static scale horizontal_scale(const plot *p, int columns) {
    scale s = {.least = p->x[0], .most = p->x[p->points - 1], .dots = columns * ACROSS};
    int most = columns / TICK_COLUMNS > 1 ? columns / TICK_COLUMNS : 1;
    s.step = nice_step((s.most - s.least) / most);
    return s;
}

/* From 0 at the least to dots - 1 at the most; what lies far beside it is brought nearer. */
static int dot_of(const scale *s, wide v) {
    wide dot = (v - s->least) / (s->most - s->least) * (s->dots - 1);
    return (int)roundl(fminl(fmaxl(dot, -s->dots), 2 * s->dots));
}

static wide first_tick(const scale *s) {
    return ceill(s->least / s->step - 1e-9L);
}

/* The k-th multiple of the step: in plain digits where these are few, with an exponent else. */
static void name_tick(char out[NAME_ROOM], const scale *s, wide k) {
    int unit = (int)floorl(log10l(s->step) + 1e-9L);
    wide v = k * s->step, size = fmaxl(fabsl(s->least), fabsl(s->most));
    int top = (int)floorl(log10l(size) + 1e-9L);
    if (k == 0) {
        snprintf(out, NAME_ROOM, "0");
    } else if (top >= 6 || unit < -6) {
        int own = (int)floorl(log10l(fabsl(v)) + 1e-9L);
        snprintf(out, NAME_ROOM, "%.*Le", own > unit ? own - unit : 0, v);
    } else {
        snprintf(out, NAME_ROOM, "%.*Lf", unit < 0 ? -unit : 0, v);
    }
}

static int widest_name(const scale *s) {
    int widest = 0;
    for (wide k = first_tick(s); k * s->step <= s->most + s->step * 1e-9L; k++) {
        char name[NAME_ROOM];
        name_tick(name, s, k);
        int length = (int)strlen(name);
        if (length > widest) widest = length;
    }
    return widest;
}

/* ---- dots ---- */

typedef struct grid {
    int columns, rows;
    unsigned char *cell;        /* row by row; a bit a dot, in the order of Unicode's braille */
} grid;

static void put_dot(grid *g, int x, int y) {
    static const unsigned char bits[DOWN][ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int up = g->rows * DOWN - 1 - y;
    if (x < 0 || x >= g->columns * ACROSS || up < 0 || up >= g->rows * DOWN) return;
    g->cell[up / DOWN * g->columns + x / ACROSS] |= bits[up % DOWN][x % ACROSS];
}

typedef struct pen {
    grid *to;
    bool dashed;
    bool down;                  /* x and y are where it stands */
    int x, y;
    int drawn;                  /* dots so far */
} pen;

static void touch(pen *p, int x, int y) {
    if (p->down && x == p->x && y == p->y) return;
    p->down = true;
    p->x = x;
    p->y = y;
    if (!p->dashed || p->drawn % (2 * DASH) < DASH) put_dot(p->to, x, y);
    p->drawn++;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

static void draw_to(pen *p, int x, int y) {
    int from_x = p->x, from_y = p->y;
    int steps = p->down ? larger(abs(x - from_x), abs(y - from_y)) : 0;
    for (int i = 1; i < steps; i++) {
        touch(p, from_x + (int)lround((double)(x - from_x) * i / steps), from_y + (int)lround((double)(y - from_y) * i / steps));
    }
    touch(p, x, y);
}

static void draw_curve(grid *g, const plot *p, int k, plot_range shown, const scale *across, const scale *up) {
    pen n = {.to = g, .dashed = k > 0};
    const double *y = p->curve[k].y;
    for (int i = 0; i < p->points; i++) {
        if (!isfinite(y[i]) || plot_leaps(&p->curve[k], i, shown)) n.down = false;
        if (isfinite(y[i])) draw_to(&n, dot_of(across, p->x[i]), dot_of(up, y[i]));
    }
}

/* ---- the page ---- */

static void add_legend(text *out, const plot *p, int margin) {
    text_add_repeat(out, ' ', (size_t)margin + 2);
    for (int k = 0; k < p->count; k++) {
        text_format(out, "%s%s %s", k > 0 ? "    " : "", k > 0 ? "⠒ ⠒ ⠒" : "⠒⠒⠒⠒⠒", p->curve[k].name);
    }
    text_add_char(out, '\n');
}

/* The cell that a value stands in; -1 for one that is not on the scale. */
static int cell_of(const scale *s, wide v, int dots) {
    return v < s->least || v > s->most ? -1 : dot_of(s, v) / dots;
}

static void add_cell(text *out, unsigned char dots, bool on_row, bool on_column) {
    if (dots != 0) {
        text_add_bytes(out, (const char[]){'\xE2', (char)(0xA0 | dots >> 6), (char)(0x80 | (dots & 0x3F))}, 3);
    } else if (on_row || on_column) {
        text_add(out, on_row && on_column ? "┼" : on_row ? "╌" : "┆");
    } else {
        text_add_char(out, ' ');
    }
}

static size_t without_blanks(const text *out, size_t from) {
    size_t length = out->length;
    while (length > from && out->data[length - 1] == ' ') length--;
    return length;
}

/* Blanks at the end of the line that began at `from` go. */
static void end_line(text *out, size_t from) {
    if (!out->failed) out->length = without_blanks(out, from);
    text_add_char(out, '\n');
}

/* Its name where a tick stands in this row, from above. */
static void add_margin(text *out, const scale *up, int row, int rows, int margin) {
    for (wide k = first_tick(up); k * up->step <= up->most + up->step * 1e-9L; k++) {
        if (dot_of(up, k * up->step) / DOWN != rows - 1 - row) continue;
        char name[NAME_ROOM];
        name_tick(name, up, k);
        text_format(out, "%*s ┤", margin, name);
        return;
    }
    text_format(out, "%*s │", margin, "");
}

static void add_rows(text *out, const grid *g, const scale *across, const scale *up, int margin) {
    int row_of_zero = cell_of(up, 0, DOWN), column_of_zero = cell_of(across, 0, ACROSS);
    for (int row = 0; row < g->rows; row++) {
        size_t from = out->length;
        add_margin(out, up, row, g->rows, margin);
        for (int column = 0; column < g->columns; column++) {
            add_cell(out, g->cell[row * g->columns + column], g->rows - 1 - row == row_of_zero, column == column_of_zero);
        }
        end_line(out, from);
    }
}

/* The axis with its ticks, and their names, each in the middle below its tick and inside the page. */
static void add_axis(text *out, const scale *across, int columns, int margin) {
    char line[256] = "";
    int used = 0;               /* columns of `line` that hold names */
    bool tick[256] = {false};
    int page = margin + 2 + columns;
    memset(line, ' ', sizeof line);
    for (wide k = first_tick(across); k * across->step <= across->most + across->step * 1e-9L; k++) {
        char name[NAME_ROOM];
        name_tick(name, across, k);
        int length = (int)strlen(name), column = dot_of(across, k * across->step) / ACROSS;
        int at = margin + 2 + column - length / 2;
        if (at + length > page) at = page - length;
        tick[column] = true;
        if (at < used) continue;
        memcpy(line + at, name, (size_t)length);
        used = at + length + 1;
    }
    text_format(out, "%*s └", margin, "");
    for (int column = 0; column < columns; column++) text_add(out, tick[column] ? "┬" : "─");
    text_add_char(out, '\n');
    size_t from = out->length;
    text_add_bytes(out, line, (size_t)page);
    end_line(out, from);
}

static void add_remarks(text *out, const plot *p, plot_range shown) {
    for (int k = 0; k < p->count; k++) {
        const char *name = p->curve[k].name;
        plot_range x = extent_of(p, k);
        int gaps = 0;
        for (int i = 0; i < p->points; i++) gaps += !isfinite(p->curve[k].y[i]);
        if (gaps > 0) text_format(out, "%s is not finite at %d of %d points\n", name, gaps, p->points);
        if (gaps < p->points && (side_of(shown, x.least) < 0 || side_of(shown, x.most) > 0))
            text_format(out, "%s is cut off: it goes from %.3g to %.3g\n", name, x.least, x.most);
    }
}

bool plot_draw(text *out, const plot *p, plot_size size) {
    plot_range shown;
    if (!plot_range_of(out->c, p, &shown)) return false;
    scale up = vertical_scale(shown, size.rows);
    int margin = widest_name(&up);
    grid g = {.columns = size.width - margin - 2, .rows = size.rows};
    scale across = horizontal_scale(p, g.columns);
    size_t room = (size_t)g.columns * (size_t)g.rows;
    g.cell = take_zeroed(out->c, room);
    if (g.cell == NULL) return false;
    for (int k = 0; k < p->count; k++) draw_curve(&g, p, k, shown, &across, &up);
    add_legend(out, p, margin);
    add_rows(out, &g, &across, &up, margin);
    add_axis(out, &across, g.columns, margin);
    add_remarks(out, p, shown);
    give_back(out->c, g.cell, room);
    return !out->failed;
}
