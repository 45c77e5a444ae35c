/* Random numbers: Threefry-2x32 as kernels/random.c has it, word by word. */
#include <string.h>

#include "interp/c_emit.h"

static const struct random_helper {
    const char *name, *form;
} random_helpers[] = {
    {"random_word",
     "/* Word i of the n that a key gives: Threefry-2x32 with 20 rounds on the counters 0 ... n - 1, which are cut in\n"
     " * two halves, the words of each block. */\n"
     "static uint32_t #random_word(int64_t key, uint64_t n, uint64_t i) {\n"
     "    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};\n"
     "    uint32_t high = (uint32_t)((uint64_t)key >> 32), low = (uint32_t)(uint64_t)key;\n"
     "    uint32_t schedule[3] = {high, low, high ^ low ^ 0x1BD11BDAu};\n"
     "    uint64_t half = n / 2 + n % 2, block = i < half ? i : i - half;\n"
     "    uint32_t a = (uint32_t)block, b = block + half < n ? (uint32_t)(block + half) : 0;\n"
     "    a += schedule[0];\n"
     "    b += schedule[1];\n"
     "    for (uint32_t group = 0; group < 5; group++) {\n"
     "        for (int k = 0; k < 4; k++) {\n"
     "            int by = rotations[group & 1][k];\n"
     "            a += b;\n"
     "            b = (b << by | b >> (32 - by)) ^ a;\n"
     "        }\n"
     "        a += schedule[(group + 1) % 3];\n"
     "        b += schedule[(group + 2) % 3] + group + 1;\n"
     "    }\n"
     "    return i < half ? a : b;\n"
     "}\n"},
    {"bits_i32",
     "static int32_t #bits_i32(int64_t key, uint64_t n, uint64_t i) {\n"
     "    return (int32_t)#random_word(key, n, i);\n"
     "}\n"},
    {"uniform_f32",
     "/* In [0, 1): the bits fill the mantissa of a number in [1, 2). */\n"
     "static float #uniform_f32(int64_t key, uint64_t n, uint64_t i) {\n"
     "    uint32_t filled = #random_word(key, n, i) >> 9 | 0x3F800000u;\n"
     "    float x;\n"
     "    memcpy(&x, &filled, sizeof x);\n"
     "    return x - 1.0f;\n"
     "}\n"},
    {"uniform_f64",
     "/* In [0, 1), of two words. */\n"
     "static double #uniform_f64(int64_t key, uint64_t n, uint64_t i) {\n"
     "    uint64_t high = #random_word(key, 2 * n, i), low = #random_word(key, 2 * n, i + n);\n"
     "    uint64_t filled = (high << 32 | low) >> 12 | 0x3FF0000000000000u;\n"
     "    double x;\n"
     "    memcpy(&x, &filled, sizeof x);\n"
     "    return x - 1.0;\n"
     "}\n"},
    {"normal_f32",
     "/* By the inverse error function of M. Giles (2012). */\n"
     "static float #normal_f32(int64_t key, uint64_t n, uint64_t i) {\n"
     "    static const float near[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f,\n"
     "                                 0.00021858087f,   -0.00125372503f, -0.00417768164f, 0.246640727f,\n"
     "                                 1.50140941f};\n"
     "    static const float far[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f,\n"
     "                                0.00573950773f,   -0.0076224613f,  0.00943887047f, 1.00167406f,\n"
     "                                2.83297682f};\n"
     "    const float lo = -0x1.fffffep-1f;\n"
     "    float x = #uniform_f32(key, n, i) * (1.0f - lo) + lo;\n"
     "    x = x > lo ? x : lo;\n"
     "    float w = -@libm_log1p(-x * x);\n"
     "    const float *p = w < 5.0f ? near : far;\n"
     "    w = w < 5.0f ? w - 2.5f : sqrtf(w) - 3.0f;\n"
     "    float y = p[0];\n"
     "    for (int k = 1; k < 9; k++) y = p[k] + y * w;\n"
     "    return 1.41421356f * (y * x);\n"
     "}\n"},
    {"normal_f64",
     "/* By Winitzki's first guess, then Newton on erf, or on erfc where erf has lost its digits. */\n"
     "static double #normal_f64(int64_t key, uint64_t n, uint64_t i) {\n"
     "    const double lo = -0x1.fffffffffffffp-1;\n"
     "    double x = #uniform_f64(key, n, i) * (1.0 - lo) + lo;\n"
     "    x = x > lo ? x : lo;\n"
     "    if (x == 0.0) return 1.41421356237309504880 * x;\n"
     "    long double y = fabsl((long double)x), rest = 1.0L - y, a = 0.147L;\n"
     "    long double w = logl(rest * (1.0L + y));\n"
     "    long double t = 2.0L / (3.14159265358979323846264338327950288L * a) + 0.5L * w;\n"
     "    long double z = sqrtl(sqrtl(t * t - w / a) - t);\n"
     "    for (int k = 0; k < 4; k++) {\n"
     "        long double error = y < 0.5L ? erfl(z) - y : rest - erfcl(z);\n"
     "        z -= error / (1.12837916709551257390L * expl(-z * z));\n"
     "    }\n"
     "    return 1.41421356237309504880 * (double)copysignl(z, (long double)x);\n"
     "}\n"},
};

const char *c_random_form(const char *name) {
    for (size_t i = 0; i < COUNT_OF(random_helpers); i++)
        if (strcmp(random_helpers[i].name, name) == 0) return random_helpers[i].form;
    return NULL;
}

/* "kina_uniform_f32(key, n, i)" */
static const char *draw(c_writer *w, const c_site *s, const char *count, const char *i) {
    dtype t = (dtype)s->out.type.dtype;
    const char *kind = s->op == OP_random_bits ? "bits" : s->op == OP_random_uniform ? "uniform" : "normal";
    const char *name = c_string(w, "%s_%s", kind, c_suffix(t));
    c_helper(w, name, t, false);
    return c_string(w, "kina_%s(%s, (uint64_t)%s, (uint64_t)%s)", name, s->in[0].name, c_factor(w, count), i);
}

void c_random(c_writer *w, const c_site *s) {
    const char *sizes[MAX_RANK] = {0};
    c_nest l = {0};
    if (s->out.type.rank == 0) {
        c_line(w, "const %s %s = %s;", compiled_c_type((dtype)s->out.type.dtype), s->out.name, draw(w, s, "1", "0"));
        return;
    }
    for (int i = 0; i < s->out.type.rank; i++) sizes[i] = c_dim(w, s->attrs->dims[i]);
    c_new(w, &s->out, sizes);
    const char *count = c_count(w, &s->out), *most = s->out.type.dtype == DT_F64 ? "UINT32_MAX / 2" : "UINT32_MAX - 1";
    c_check(w, c_string(w, "%s <= %s", count, most), "more random words than one key has counters");
    const char *i = c_loop(w, &l, count);
    c_line(w, "%s.data[%s] = %s;", s->out.name, i, draw(w, s, count, i));
    c_loops_end(w, &l);
}
