/* The functions that a file brings along, as far as it calls them, each once and before whoever calls it. Their
 * formulas are those of docs/numerics.md. */
#include <string.h>

#include "interp/c_emit.h"

typedef struct helper {
    const char *name;
    const char *floating, *other;   /* the forms, of floats and of integers; other NULL: the same */
} helper;

static const helper helpers[] = {
    {"sign", "static $T @sign($T x) {\n    return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;\n}\n", NULL},
    {"abs", NULL, "static $T @abs($T x) {\n    return x < 0 ? ($T)(0 - ($U)x) : x;\n}\n"},
    {"strong_mul",
     "/* 0 times infinity or NaN is 0. */\n"
     "static $T @strong_mul($T x, $T y) {\n"
     "    $T r = x * y;\n"
     "    return r != r && (x == 0 || y == 0) ? 0 : r;\n"
     "}\n",
     NULL},
    {"relu", "static $T @relu($T x) {\n    return x > 0 ? x : x <= 0 ? 0 : x;\n}\n", NULL},
    {"step", "static $T @step($T x) {\n    return x > 0 ? 1 : x <= 0 ? 0 : x;\n}\n", NULL},
    {"sigmoid",
     "static $T @sigmoid($T x) {\n"
     "    $T e = @libm_exp(-fabs$f(x));\n"
     "    return (x >= 0 ? 1 : e) / (1 + e);\n"
     "}\n",
     NULL},
    {"softplus", "static $T @softplus($T x) {\n    return @relu(x) + @libm_log1p(@libm_exp(-fabs$f(x)));\n}\n", NULL},
    {"gelu",
     "static $T @gelu($T x) {\n    return (($T)0.5 * x) * @libm_erfc(x * ($T)-0.70710678118654752440);\n}\n", NULL},
    {"maximum", "static $T @maximum($T x, $T y) {\n    return x > y || x != x ? x : y;\n}\n",
     "static $T @maximum($T x, $T y) {\n    return x > y ? x : y;\n}\n"},
    {"minimum", "static $T @minimum($T x, $T y) {\n    return x < y || x != x ? x : y;\n}\n",
     "static $T @minimum($T x, $T y) {\n    return x < y ? x : y;\n}\n"},
    {"div", NULL, "static $T @div($T x, $T y) {\n    return y == -1 ? ($T)(0 - ($U)x) : x / y;\n}\n"},
    {"rem", NULL, "static $T @rem($T x, $T y) {\n    return y == -1 ? 0 : x % y;\n}\n"},
    {"mod",
     "static $T @mod($T x, $T y) {\n"
     "    $T r = @libm_fmod(x, y);\n"
     "    return r == 0 ? copysign$f(r, y) : (r < 0) != (y < 0) ? r + y : r;\n"
     "}\n",
     "static $T @mod($T x, $T y) {\n"
     "    $T r = @rem(x, y);\n"
     "    return r != 0 && (r < 0) != (y < 0) ? r + y : r;\n"
     "}\n"},
    {"to_i32",
     "/* Beyond the range its nearest end; 0 for a NaN. */\n"
     "static int32_t @to_i32($T x) {\n"
     "    if (x != x) return 0;\n"
     "    if (x >= ($T)2147483648.0) return INT32_MAX;\n"
     "    return x < ($T)-2147483648.0 ? INT32_MIN : (int32_t)x;\n"
     "}\n",
     NULL},
    {"to_i64",
     "/* Beyond the range its nearest end; 0 for a NaN. */\n"
     "static int64_t @to_i64($T x) {\n"
     "    if (x != x) return 0;\n"
     "    if (x >= ($T)9223372036854775808.0) return INT64_MAX;\n"
     "    return x < ($T)-9223372036854775808.0 ? INT64_MIN : (int64_t)x;\n"
     "}\n",
     NULL},
    {"below",
     "/* Whether x comes before y in ascending order, NaN last. */\n"
     "static bool @below($T x, $T y) {\n    return x < y || (x == x && y != y);\n}\n",
     "static bool @below($T x, $T y) {\n    return x < y;\n}\n"},
    {"plus",
     "/* Sizes; what does not fit is the nearest end. */\n"
     "static int64_t #plus(int64_t x, int64_t y) {\n"
     "    if (y > 0 && x > INT64_MAX - y) return INT64_MAX;\n"
     "    return y < 0 && x < INT64_MIN - y ? INT64_MIN : x + y;\n"
     "}\n",
     NULL},
    {"times",
     "/* Sizes; what does not fit is the nearest end. */\n"
     "static int64_t #times(int64_t x, int64_t y) {\n"
     "    bool negative = (x < 0) != (y < 0);\n"
     "    uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, b = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;\n"
     "    if (a != 0 && b > INT64_MAX / a) return negative ? INT64_MIN : INT64_MAX;\n"
     "    return negative ? -(int64_t)(a * b) : (int64_t)(a * b);\n"
     "}\n",
     NULL},
    {"fits",
     "/* Whether `count` places from lo on in steps of `step` lie within an axis. */\n"
     "static bool #fits(int64_t lo, int64_t count, int64_t step, int64_t size) {\n"
     "    if (count == 0) return true;\n"
     "    if (count < 0 || lo < 0 || lo >= size) return false;\n"
     "    return step > 0 ? (size - 1 - lo) / step >= count - 1 : lo / -step >= count - 1;\n"
     "}\n",
     NULL},
    {"windows",
     "/* How many windows fit; 0: none. */\n"
     "static int64_t #windows(int64_t size, int64_t window, int64_t stride, int64_t padding, int64_t dilation) {\n"
     "    int64_t reach = (window - 1) * dilation;\n"
     "    return window < 1 || size + 2 * padding <= reach ? 0 : (size + 2 * padding - reach - 1) / stride + 1;\n"
     "}\n",
     NULL},
    {"range",
     "/* How many entries from lo up to but without hi are there, `step` apart. */\n"
     "static int64_t #range(int64_t lo, int64_t hi, int64_t step) {\n"
     "    int64_t length = step < 0 ? lo - hi : hi - lo, stride = step < 0 ? -step : step;\n"
     "    return length <= 0 ? 0 : (length - 1) / stride + 1;\n"
     "}\n",
     NULL},
};

/* "libm_exp": a call of the C library's function that no compiler replaces by what it knows of it. */
static const char *libm_form(c_writer *w, const char *name) {
    static const char *const of_two[] = {"pow", "atan2", "fmod"};
    const char *function = name + strlen("libm_");
    bool two = false;
    for (size_t i = 0; i < COUNT_OF(of_two); i++) two = two || strcmp(function, of_two[i]) == 0;
    if (two)
        return c_string(w,
                        "static $T @%s($T x, $T y) {\n"
                        "    volatile $T a = x, b = y;\n"
                        "    return %s$f(a, b);\n"
                        "}\n",
                        name, function);
    return c_string(w, "static $T @%s($T x) {\n    volatile $T a = x;\n    return %s$f(a);\n}\n", name, function);
}

static const char *form_of(c_writer *w, const char *name, dtype t) {
    for (size_t i = 0; i < COUNT_OF(helpers); i++) {
        if (strcmp(helpers[i].name, name) != 0) continue;
        bool own = !dtype_floating(t) && helpers[i].other != NULL;
        return own ? helpers[i].other : helpers[i].floating;
    }
    if (strncmp(name, "libm_", 5) == 0) return libm_form(w, name);
    if (strcmp(name, "order") == 0) return c_order_form;
    const char *drawn = c_random_form(name);
    return drawn != NULL ? drawn : c_memory_form(name);
}

void c_helper(c_writer *w, const char *name, dtype t, bool typed) {
    const char *key = typed ? c_string(w, "%s_%s", name, c_suffix(t)) : name;
    if (w->failed || c_set_has(&w->called, key)) return;
    c_set_put(w, &w->called, key);
    const char *form = form_of(w, name, t);
    if (form == NULL) {
        c_refuse(w, "`%s` of %s cannot be written as C", name, dtype_name(t));
        return;
    }
    const char *written = c_form(w, form, t, NULL); /* those that it calls come first */
    text_format(&w->helpers, "%s\n", written);
}
