/* Curves in the terminal: where dots and ticks stand, what becomes of gaps, constants and ranges at the ends of
 * double, and that no line is wider than the page. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "interp/tools/repl/plot.h"
#include "runtime/context.h"

enum { POINTS = 129 };

typedef double (*function)(double x);

static context c;
static text page;

static void set_up(void) {
    context_init(&c);
    text_init(&page, &c);
}

static void tear_down(void) {
    text_close(&page);
    ck_assert_uint_eq(c.mem.live, 0);
    context_close(&c);
}

/* f and, unless it is NULL, g over [a, b]. */
static const char *drawn(double a, double b, function f, function g, plot_size size) {
    double x[POINTS], y[2][POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = a + (b - a) * i / (POINTS - 1);
        y[0][i] = f(x[i]);
        if (g != NULL) y[1][i] = g(x[i]);
    }
    plot p = {.points = POINTS, .x = x, .count = g != NULL ? 2 : 1, .curve = {{"f", y[0]}, {"f'", y[1]}}};
    text_clear(&page);
    ck_assert(plot_draw(&page, &p, size));
    return text_data(&page);
}

static const plot_size little = {24, 6};

static double same(double x) { return x; }
static double one(double x) { return x * 0 + 1; }
static double zero(double x) { return x * 0; }
static double root(double x) { return sqrt(x); }
static double nowhere(double x) { return sqrt(-1 - x * x); }
static double huge(double x) { return x * 1.7e308; }
static double tiny(double x) { return x * 5e-320; }
static double offset(double x) { return 1e9 + x; }
static double pole(double x) { return 1 / x; }
static double even_pole(double x) { return 1 / (x * x); }
static double bump(double x) { return exp(-x * x * 4e4); }
static double steep(double x) { return x < 0 ? -1 : 1; }

START_TEST(line_and_dashes) {
    ck_assert_str_eq(drawn(0, 3, same, one, little),
                     "   ⠒⠒⠒⠒⠒ f    ⠒ ⠒ ⠒ f'\n"
                     "4 ┤┆\n"
                     "  │┆                 ⢀⣠⠤\n"
                     "2 ┤┆             ⣀⠤⠖⠊⠉\n"
                     "  │┆        ⣀⡠⠔⠚⠉\n"
                     "  │⠒ ⠒ ⣒⣠⠶⠒⠛⠁⠒ ⠒ ⠒ ⠒ ⠒ ⠒\n"
                     "0 ┤⣠⠤⠖⠋⠁╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌\n"
                     "  └┬────────────┬───────\n"
                     "   0            2\n");
}
END_TEST

START_TEST(constant) {
    ck_assert_str_eq(drawn(-1, 1, zero, NULL, little),
                     "    ⠒⠒⠒⠒⠒ f\n"
                     " 1 ┤          ┆\n"
                     "   │          ┆\n"
                     " 0 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀\n"
                     "   │          ┆\n"
                     "   │          ┆\n"
                     "-1 ┤          ┆\n"
                     "   └┬─────────┬────────┬\n"
                     "   -1         0        1\n");
    ck_assert_str_eq(drawn(-1, 1, one, NULL, little),
                     "     ⠒⠒⠒⠒⠒ f\n"
                     "1.5 ┤         ┆\n"
                     "    │         ┆\n"
                     "1.0 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀\n"
                     "    │         ┆\n"
                     "    │         ┆\n"
                     "0.5 ┤         ┆\n"
                     "    └─────────┬─────────\n"
                     "              0\n");
}
END_TEST

START_TEST(gap) {
    ck_assert_str_eq(drawn(-2, 2, root, NULL, little),
                     "   ⠒⠒⠒⠒⠒ f\n"
                     "2 ┤          ┆\n"
                     "  │          ┆        ⢀⣀\n"
                     "1 ┤          ┆    ⢀⡠⠴⠚⠉\n"
                     "  │          ┆ ⢀⡤⠚⠁\n"
                     "  │          ⢀⡴⠋\n"
                     "0 ┤╌╌╌╌╌╌╌╌╌╌⢸╌╌╌╌╌╌╌╌╌╌\n"
                     "  └┬─────────┬─────────┬\n"
                     "  -2         0         2\n"
                     "f is not finite at 64 of 129 points\n");
    ck_assert_str_eq(drawn(0, 1, nowhere, NULL, (plot_size){20, 2}),
                     "    ⠒⠒⠒⠒⠒ f\n"
                     " 0 ┤┼╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌\n"
                     "-2 ┤┆\n"
                     "   └┬──────────────┬\n"
                     "    0              1\n"
                     "f is not finite at 129 of 129 points\n");
}
END_TEST

START_TEST(jump) {
    ck_assert_str_eq(drawn(-2, 2, steep, NULL, little),
                     "    ⠒⠒⠒⠒⠒ f\n"
                     " 1 ┤          ⡏⠉⠉⠉⠉⠉⠉⠉⠉⠉\n"
                     "   │          ⡇\n"
                     " 0 ┤╌╌╌╌╌╌╌╌╌╌⡇╌╌╌╌╌╌╌╌╌\n"
                     "   │         ⢸┆\n"
                     "   │         ⢸┆\n"
                     "-1 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣸┆\n"
                     "   └┬─────────┬────────┬\n"
                     "   -2         0        2\n");
}
END_TEST

/* What is beyond the scale is cut off and named, and no line is drawn through a pole; all of a bump is there. */
START_TEST(poles) {
    ck_assert_str_eq(drawn(-2, 2, pole, NULL, little),
                     "    ⠒⠒⠒⠒⠒ f\n"
                     " 5 ┤          ┆⡇\n"
                     "   │          ┆⠸⣄\n"
                     " 0 ┤╌╌╌╌╌╌╌╌╌╌┼╌⠈⠙⠒⠢⠤⠤⠤⠤\n"
                     "   │⠒⠒⠒⠒⠢⠤⣄⡀  ┆\n"
                     "   │       ⠙⡆ ┆\n"
                     "-5 ┤        ⠸⡀┆\n"
                     "   └┬─────────┬────────┬\n"
                     "   -2         0        2\n"
                     "f is not finite at 1 of 129 points\n"
                     "f is cut off: it goes from -32 to 32\n");
    ck_assert_str_eq(drawn(-2, 1, pole, NULL, little),
                     "     ⠒⠒⠒⠒⠒ f\n"
                     " 10 ┤            ┆⡇\n"
                     "    │            ┆⠸⡀\n"
                     "  0 ┤╌╌╌╌╌╌╌╌╌╌╌╌┼╌⠙⠒⠦⠤⠤\n"
                     "    │⠉⠉⠉⠉⠉⠑⠒⠒⠒⠤⣄ ┆\n"
                     "    │          ⠈⢣┆\n"
                     "-10 ┤           ⢸┆\n"
                     "    └────────────┬──────\n"
                     "                 0\n"
                     "f is cut off: it goes from -128 to 64\n");
    ck_assert_str_eq(drawn(-2, 2, even_pole, NULL, little),
                     "    ⠒⠒⠒⠒⠒ f\n"
                     "40 ┤         ⡇⢸\n"
                     "   │         ⡇⢸\n"
                     "20 ┤        ⢠⠃⠈⡆\n"
                     "   │        ⢸ ┆⡇\n"
                     "   │        ⡎ ┆⢱\n"
                     " 0 ┤⣀⣀⣀⣀⣠⠤⠤⠚⠁╌┼⠈⠓⠤⠤⣄⣀⣀⣀⣀\n"
                     "   └┬─────────┬────────┬\n"
                     "   -2         0        2\n"
                     "f is not finite at 1 of 129 points\n"
                     "f is cut off: it goes from 0.25 to 1.02e+03\n");
    ck_assert_str_eq(drawn(-2, 2, bump, NULL, little),
                     "     ⠒⠒⠒⠒⠒ f\n"
                     "1.0 ┤         ⢸\n"
                     "    │         ⢸\n"
                     "0.5 ┤         ⢸\n"
                     "    │         ⣿\n"
                     "    │         ⣿\n"
                     "  0 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣿⣀⣀⣀⣀⣀⣀⣀⣀⣀\n"
                     "    └─────────┬─────────\n"
                     "              0\n");
}
END_TEST

START_TEST(ends_of_double) {
    ck_assert_str_eq(drawn(-1, 1, huge, NULL, (plot_size){40, 4}),
                     "         ⠒⠒⠒⠒⠒ f\n"
                     " 5e+308 ┤               ┆\n"
                     "      0 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌⢀⣀⣀⣀⣀⣀⡠⠤⠤⠤⠤⠤⠔⠒⠒⠒\n"
                     "        │⠤⠤⠤⠔⠒⠒⠒⠒⠒⠊⠉⠉⠉⠉⠉⠁\n"
                     "-5e+308 ┤               ┆\n"
                     "        └┬──────────────┬──────────────┬\n"
                     "        -1              0              1\n");
    ck_assert_str_eq(drawn(-1, 1, tiny, NULL, (plot_size){40, 4}),
                     "         ⠒⠒⠒⠒⠒ f\n"
                     " 1e-319 ┤               ┆\n"
                     "      0 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌⢀⣀⣀⣀⣠⠤⠤⠤⠴⠒⠒⠒⠚⠉⠉⠉\n"
                     "        │⣀⣀⣀⡤⠤⠤⠤⠖⠒⠒⠒⠋⠉⠉⠉⠁\n"
                     "-1e-319 ┤               ┆\n"
                     "        └┬──────────────┬──────────────┬\n"
                     "        -1              0              1\n");
    ck_assert_str_eq(drawn(0, 1, offset, NULL, (plot_size){40, 4}),
                     "                 ⠒⠒⠒⠒⠒ f\n"
                     "1.000000001e+09 ┤┆                ⢀⣀⠤⠔⠒⠉\n"
                     "                │┆          ⢀⣀⠤⠔⠒⠉⠁\n"
                     "                │┆    ⢀⣀⠤⠔⠒⠉⠁\n"
                     "1.000000000e+09 ┤⣀⠤⠔⠒⠉⠁\n"
                     "                └┬──────────┬──────────┬\n"
                     "                 0         0.5       1.0\n");
}
END_TEST

/* Characters, not bytes. */
static int columns_of(const char *line, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)line[i] & 0xC0) != 0x80;
    return columns;
}

START_TEST(no_line_is_wider_than_the_page) {
    static const plot_size sizes[] = {{80, 16}, {48, 6}};
    static const function functions[] = {same, one, zero, root, nowhere, huge, tiny, offset, pole, even_pole, bump, steep, sin, exp, tan, log};
    static const double ends[][2] = {{0, 1},        {-3, 3},     {1e-6, 2e-6}, {-1e300, 1e300}, {1e9, 1e9 + 1},
                                     {-0.07, 1234}, {-5e-1, 80}, {99.9, 100},  {0, 1e-300},     {-1e5, -9e4}};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        for (size_t i = 0; i < COUNT_OF(functions) * COUNT_OF(ends); i++) {
            const double *end = ends[i % COUNT_OF(ends)];
            const char *p = drawn(end[0], end[1], functions[i / COUNT_OF(ends)], same, sizes[s]);
            int lines = 0;
            for (; *p != '\0'; lines++) {
                size_t length = strcspn(p, "\n");
                ck_assert_int_le(columns_of(p, length), sizes[s].width);
                ck_assert(length == 0 || p[length - 1] != ' ');
                p += length + 1;
            }
            ck_assert_int_ge(lines, sizes[s].rows + 3);
            ck_assert_int_le(lines, sizes[s].rows + 7);
        }
    }
}
END_TEST

START_TEST(no_memory) {
    for (uint64_t n = 1; n < 200; n++) {
        double x[] = {0, 1}, y[] = {2, 3};
        plot p = {.points = 2, .x = x, .count = 1, .curve = {{"f", y}}};
        text_close(&page);
        c.mem.requests = 0;
        c.mem.fail_at = n;
        bool ok = plot_draw(&page, &p, little);
        c.mem.fail_at = 0;
        ck_assert(ok == (c.err.code == ERROR_NONE));
        error_clear(&c.err);
        if (ok) return;
    }
    ck_abort_msg("it asks for memory without end");
}
END_TEST

Suite *suite_plot(void);
Suite *suite_plot(void) {
    Suite *s = suite_create("plot");
    TCase *t = tcase_create("plot");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, line_and_dashes);
    tcase_add_test(t, constant);
    tcase_add_test(t, gap);
    tcase_add_test(t, jump);
    tcase_add_test(t, poles);
    tcase_add_test(t, ends_of_double);
    tcase_add_test(t, no_line_is_wider_than_the_page);
    tcase_add_test(t, no_memory);
    suite_add_tcase(s, t);
    return s;
}
