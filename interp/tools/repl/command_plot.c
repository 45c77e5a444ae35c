/* :plot: a function of one number and its derivative, in the terminal or in a file. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/tools/gnuplot.h"
#include "interp/tools/repl/command.h"
#include "interp/tools/repl/plot.h"
#include "runtime/context.h"

enum { POINTS = 257, ROWS = 16, FILE_WIDTH = 760, FILE_HEIGHT = 480 };

static const span nowhere = {0, 0};

/* What is asked for, and what was found. */
typedef struct plotting {
    char name[COMMAND_WORD];
    double a, b;
    const char *file;           /* NULL: the terminal */
    const fn_decl *fn;
    double x[POINTS], y[POINTS], slope[POINTS];
} plotting;

/* ---- what is asked for ---- */

static bool read_end(const char **rest, double *out) {
    char word[COMMAND_WORD], *end;
    if (!command_word(rest, word)) return false;
    *out = strtod(word, &end);
    return *end == '\0' && isfinite(*out);
}

static bool read_wish(repl *r, const char *rest, plotting *p) {
    error *e = &r->c->err;
    if (!command_word(&rest, p->name) || !read_end(&rest, &p->a) || !read_end(&rest, &p->b))
        return commands_misused(COMMAND_plot, e);
    if (p->a >= p->b)
        return error_set(e, ERROR_K0801, nowhere, "the interval ends at %g, which is not beyond %g", p->b, p->a);
    p->file = rest[0] != '\0' ? rest : NULL;
    return p->file == NULL || (command_files_allowed(r, COMMAND_plot) && gnuplot_possible(":plot", p->file, e));
}

static bool is_number(const type *t) { return type_is_scalar(t) && type_is_floating(t); }

static bool find_function(repl *r, engine *e, plotting *p) {
    p->fn = command_function(r, e, COMMAND_plot, p->name);
    if (p->fn == NULL) return false;
    const type *t = p->fn->type;
    if (t->count == 1 && is_number(t->items[0]) && is_number(t->result)) return true;
    text shown;
    text_init(&shown, r->c);
    type_print(e->program.dims, t, &shown);
    error_set(&r->c->err, ERROR_K0801, p->fn->at, ":plot draws functions of one floating number, and `%s` is %s", p->name,
              text_data(&shown));
    error_help(&r->c->err, "fix its other parameters: fn g(x: F64) -> F64 { %s(x, ...) }", p->name);
    text_close(&shown);
    return false;
}

/* ---- the points ---- */

static double rounded(dtype t, double x) { return t == DT_F32 ? (double)(float)x : x; }

/* As the function's type has its ends, the interval may be a point, or beyond what there is. */
static bool has_width(repl *r, const plotting *p) {
    dtype t = (dtype)p->fn->type->items[0]->tensor.dtype;
    double a = rounded(t, p->a), b = rounded(t, p->b);
    bool finite = isfinite(a) && isfinite(b);
    if (finite && a < b) return true;
    return error_set(&r->c->err, ERROR_K0801, nowhere, "in %s, which `%s` takes, [%.9g, %.9g] is %s", dtype_name(t), p->name, p->a,
                     p->b, finite ? "a single point" : "beyond the finite numbers");
}

static bool sample(engine *e, plotting *p) {
    dtype t = (dtype)p->fn->type->items[0]->tensor.dtype;
    for (int i = 0; i < POINTS; i++) {
        double along = (double)i / (POINTS - 1);
        value x = value_number(t, p->a * (1 - along) + p->b * along);
        results found;
        if (!context_may_go_on(e->c, nowhere)) return false;
        if (!engine_reverse(e, p->fn, &x, 1, &(bool){true}, NULL, &found)) return false;
        p->x[i] = value_as_double(&x);
        p->y[i] = value_as_double(&found.items[0].v);
        p->slope[i] = found.count > 1 ? value_as_double(&found.items[1].v) : 0;
        results_release(e->c, &found);
    }
    return true;
}

/* ---- the picture ---- */

/* An empty line interrupts the curve. */
static void write_curve(FILE *g, const char *block, const plot *p, int k, plot_range shown) {
    fprintf(g, "$%s << EOD\n", block);
    for (int i = 0; i < p->points; i++) {
        double y = p->curve[k].y[i];
        if (!isfinite(y) || plot_leaps(&p->curve[k], i, shown)) fputc('\n', g);
        if (isfinite(y)) fprintf(g, "%.17g %.17g\n", p->x[i], y);
    }
    fputs("EOD\n", g);
}

static bool draw_file(const char *file, const plot *p, text *t, error *e) {
    gnuplot g;
    plot_range shown;
    double a = p->x[0], b = p->x[p->points - 1];
    if (!plot_range_of(t->c, p, &shown) || !gnuplot_open(&g, file, FILE_WIDTH, FILE_HEIGHT, e)) return false;
    write_curve(g.script, "value", p, 0, shown);
    write_curve(g.script, "slope", p, 1, shown);
    double room = (shown.most - shown.least) / 20;
    fprintf(g.script, "set xlabel 'x'\nset xrange [%.17g:%.17g]\n", a, b);
    if (room > 0) fprintf(g.script, "set yrange [%.17g:%.17g]\n", shown.least - room, shown.most + room);
    fprintf(g.script,
            "set xzeroaxis lc rgb '#666666'\nset yzeroaxis lc rgb '#666666'\n"
            "plot $value with lines lw 2 lc 2 title \"%s\", $slope with lines lw 2 dt 2 lc 4 title \"%s\"\n",
            p->curve[0].name, p->curve[1].name);
    if (!gnuplot_close(&g, e)) return false;
    text_format(t, "%s and its derivative over [%g, %g]: %s\n", p->curve[0].name, a, b, file);
    return true;
}

static bool answer_plot(repl *r, engine *e, const char *rest, text *t) {
    char slope[COMMAND_WORD + 1];
    plotting *p = ARENA_NEW(&e->a, plotting);
    e->options.repeated = true;
    if (p == NULL || !read_wish(r, rest, p) || !find_function(r, e, p) || !has_width(r, p) || !sample(e, p)) return false;
    snprintf(slope, sizeof slope, "%s'", p->name);
    const plot picture = {.points = POINTS, .x = p->x, .count = 2, .curve = {{p->name, p->y}, {slope, p->slope}}};
    if (p->file != NULL) return draw_file(p->file, &picture, t, &r->c->err);
    return plot_draw(t, &picture, (plot_size){SHOW_COLUMNS, ROWS});
}

void command_plot(repl *r, const char *rest) { command_run(r, "", rest, answer_plot); }
