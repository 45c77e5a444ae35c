/* Counter-based random numbers: Threefry-2x32 with 20 rounds, laid out as JAX lays out its legacy
 * (non-partitionable) threefry_2x32, so that a key gives the same numbers here and there. */
#include "kernels/random.h"

#include <math.h>
#include <string.h>

#include "kernels/family.h"
#include "kernels/functions.h"

static uint32_t rotate(uint32_t x, int by) {
    return (x << by) | (x >> (32 - by));
}

void random_threefry(const uint32_t key[2], uint32_t x[2]) {
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t schedule[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
    x[0] += schedule[0];
    x[1] += schedule[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            x[0] += x[1];
            x[1] = rotate(x[1], rotations[group & 1][i]) ^ x[0];
        }
        x[0] += schedule[(group + 1) % 3];
        x[1] += schedule[(group + 2) % 3] + group + 1;
    }
}

/* Word i of n: the counters 0 … n-1 (and a 0 where n is odd) are cut in two halves, which are the
 * two words of each block going in; the halves coming out are put behind each other again. */
uint32_t random_word(const uint32_t key[2], uint64_t n, uint64_t i) {
    uint64_t half = n / 2 + n % 2;
    uint64_t block = i < half ? i : i - half, second = block + half;
    uint32_t x[2] = {(uint32_t)block, second < n ? (uint32_t)second : 0};
    random_threefry(key, x);
    return i < half ? x[0] : x[1];
}

/* All n words; two come from each block. */
static void words(const uint32_t key[2], uint64_t n, uint32_t *out) {
    uint64_t half = n / 2 + n % 2;
    for (uint64_t i = 0; i < half; i++) {
        uint32_t x[2] = {(uint32_t)i, i + half < n ? (uint32_t)(i + half) : 0};
        random_threefry(key, x);
        out[i] = x[0];
        if (i + half < n) out[i + half] = x[1];
    }
}

/* [0, 1): the bits fill the mantissa of a number in [1, 2). */
static float uniform_f32(uint32_t bits) {
    uint32_t filled = bits >> 9 | 0x3F800000u;
    float x;
    memcpy(&x, &filled, sizeof x);
    return x - 1.0f;
}

static double uniform_f64(uint64_t bits) {
    uint64_t filled = bits >> 12 | 0x3FF0000000000000u;
    double x;
    memcpy(&x, &filled, sizeof x);
    return x - 1.0;
}

/* M. Giles, Approximating the erfinv function (2012), single precision. */
static float erfinv_f32(float x, float w) {
    static const float near[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                 -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                 -0.00417768164f,  0.246640727f,    1.50140941f};
    static const float far[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                0.00943887047f,   1.00167406f,     2.83297682f};
    const float *p = w < 5.0f ? near : far;
    w = w < 5.0f ? w - 2.5f : sqrtf(w) - 3.0f;
    float y = p[0];
    for (size_t i = 1; i < COUNT_OF(near); i++) y = p[i] + y * w;
    return y * x;
}

/* u in [0, 1) becomes uniform in [lo, 1), lo the number after -1, as JAX's normal draws it. */
static float open_f32(float u) {
    const float lo = -0x1.fffffep-1f;
    float x = u * (1.0f - lo) + lo;
    return x > lo ? x : lo;
}

static double open_f64(double u) {
    const double lo = -0x1.fffffffffffffp-1;
    double x = u * (1.0 - lo) + lo;
    return x > lo ? x : lo;
}

static void normals_f32(const context *c, float *out, int64_t n) {
    enum { BLOCK = 256 };
    line_fn *log1p_line = lines_find(c, OP_log1p, DT_F32);
    float w[BLOCK];
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t count = n - from < BLOCK ? n - from : BLOCK;
        float *x = out + from;
        for (int64_t i = 0; i < count; i++) w[i] = -x[i] * x[i];
        log1p_line((void *[]){w, w}, (ptrdiff_t[]){1, 1}, (size_t)count, NULL);
        for (int64_t i = 0; i < count; i++) x[i] = 1.41421356f * erfinv_f32(x[i], -w[i]);
    }
}

static void draw_f32(const context *c, const op_call *call, const uint32_t *bits, float *out,
                     int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float u = uniform_f32(bits[i]);
        out[i] = call->op == OP_random_normal ? open_f32(u) : u;
    }
    if (call->op == OP_random_normal) normals_f32(c, out, n);
}

/* A 64-bit draw has its high word in the first half of the words and its low word in the second. */
static void draw_f64(const op_call *call, const uint32_t *bits, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double u = uniform_f64((uint64_t)bits[i] << 32 | bits[i + n]);
        out[i] =
            call->op == OP_random_normal ? 1.41421356237309504880 * special_erfinv(open_f64(u)) : u;
    }
}

bool random_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    if (!result_type(c, call, &type)) return false;
    uint64_t seed = (uint64_t)call->in[0].as.i64;
    uint32_t key[2] = {(uint32_t)(seed >> 32), (uint32_t)seed};
    if (!result_new(c, &type, &r)) return false;
    bool wide = type.dtype == DT_F64;
    uint64_t n = (uint64_t)r.size * (wide ? 2 : 1);
    if (n >= UINT32_MAX) {
        value_release(c, r.v);
        return error_set(&c->err, ERROR_K0511, call->where,
                         "more random words than one key has counters: %llu",
                         (unsigned long long)n);
    }
    if (type.dtype == DT_I32) {
        words(key, n, r.data);
    } else {
        uint32_t *bits = take(c, (size_t)(n + 1) * sizeof *bits);
        if (bits == NULL) {
            value_release(c, r.v);
            return false;
        }
        words(key, n, bits);
        if (wide)
            draw_f64(call, bits, r.data, r.size);
        else
            draw_f32(c, call, bits, r.data, r.size);
        give_back(c, bits, (size_t)(n + 1) * sizeof *bits);
    }
    *out = r.v;
    return true;
}
