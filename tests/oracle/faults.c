/* Functions as a compiler would give them, by hand: right ones, and one for each way of being wrong. The
 * programs they answer to are in faults.kina. Every function takes x of [2, 3] unless it says otherwise. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct memref {
    float *allocated, *aligned;
    int64_t offset, size[2], stride[2];
} memref;

typedef struct number {
    float *allocated, *aligned;
    int64_t offset;
} number;

typedef struct pair {
    memref first, second;
} pair;

/* A result of its own: scale * x + add. */
static memref make(const memref *x, float scale, float add) {
    int64_t n = x->size[0] * x->size[1];
    memref r = *x;
    r.allocated = malloc((size_t)n * sizeof(float) + 64);
    r.aligned = r.allocated + 16 - ((uintptr_t)r.allocated % 64) / sizeof(float);
    r.offset = 0;
    for (int64_t i = 0; i < n; i++) r.aligned[i] = scale * x->aligned[x->offset + i] + add;
    return r;
}

/* ---- right ---- */

void _mlir_ciface_neg(memref *out, memref *x) {
    *out = make(x, -1.0f, -0.0f);
}

void _mlir_ciface_ad(pair *out, memref *x) {
    out->first = make(x, -1.0f, -0.0f);
    out->second = make(x, 0.0f, -1.0f);
}

/* The columns of something larger, backwards. */
void _mlir_ciface_strided(memref *out, memref *x) {
    memref r = make(x, -1.0f, -0.0f);
    float *wide = malloc(40 * sizeof(float));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) wide[30 + 5 * i - 4 * k] = r.aligned[3 * i + k];
    free(r.allocated);
    *out = (memref){wide, wide, 30, {2, 3}, {5, -4}};
}

void _mlir_ciface_aliased(pair *out, memref *x) {
    out->first = out->second = make(x, -1.0f, -0.0f);
}

/* What one-shot-bufferize makes of a function that returns its argument. */
void _mlir_ciface_in_argument(memref *out, memref *x) {
    *out = *x;
}

static const float sevens[6] = {7.0f, 7.0f, 7.0f, 7.0f, 7.0f, 7.0f};

void _mlir_ciface_constant(memref *out, memref *x) {
    (void)x;
    *out = (memref){(float *)(uintptr_t)0xdeadbeef, (float *)(uintptr_t)sevens, 0, {2, 3}, {3, 1}};
}

void _mlir_ciface_nothing(memref *x) {
    (void)x;
}

float _mlir_ciface_by_value(float x) {
    return x + 1.0f;
}

void _mlir_ciface_by_memref(number *out, number *x) {
    float *p = malloc(sizeof(float));
    *p = x->aligned[x->offset] + 1.0f;
    *out = (number){p, p, 0};
}

/* ---- wrong ---- */

void _mlir_ciface_wrong_value(memref *out, memref *x) {
    *out = make(x, -1.0f, -0.0f);
    out->aligned[4] += 0.25f;
}

void _mlir_ciface_wrong_sign(pair *out, memref *x) {
    out->first = make(x, -1.0f, -0.0f);
    out->second = make(x, 0.0f, 1.0f);
}

void _mlir_ciface_swapped(pair *out, memref *x) {
    out->second = make(x, -1.0f, -0.0f);
    out->first = make(x, 0.0f, -1.0f);
}

void _mlir_ciface_wrong_dims(memref *out, memref *x) {
    *out = make(x, -1.0f, -0.0f);
    out->size[0] = 3, out->size[1] = 2, out->stride[0] = 2;
}

void _mlir_ciface_gives_nan(memref *out, memref *x) {
    *out = make(x, -1.0f, -0.0f);
    memset(&out->aligned[5], 0xFF, sizeof(float));
}

void _mlir_ciface_overwrites(memref *out, memref *x) {
    *out = make(x, -1.0f, -0.0f);
    memcpy(x->aligned, out->aligned, 6 * sizeof(float));
}

void _mlir_ciface_writes_behind(memref *out, memref *x) {
    *out = make(x, -1.0f, -0.0f);
    x->aligned[6] = 1.0f;
}

void _mlir_ciface_too_few(memref *out, memref *x) {
    *out = make(x, -1.0f, -0.0f);
}

void _mlir_ciface_too_many(pair *out, memref *x) {
    _mlir_ciface_ad(out, x);
}

static volatile int *volatile nowhere;

void _mlir_ciface_segfault(memref *out, memref *x) {
    _mlir_ciface_neg(out, x);
    *nowhere = 1;
}

static volatile int zero;

void _mlir_ciface_divides(memref *out, memref *x) {
    _mlir_ciface_neg(out, x);
    out->offset = x->size[1] / zero;
}

void _mlir_ciface_aborts(memref *out, memref *x) {
    _mlir_ciface_neg(out, x);
    abort();
}

void _mlir_ciface_exits(memref *out, memref *x) {
    _mlir_ciface_neg(out, x);
    _exit(3);
}

void _mlir_ciface_hangs(memref *out, memref *x) {
    _mlir_ciface_neg(out, x);
    while (zero == 0) continue;
}

void _mlir_ciface_wild_result(memref *out, memref *x) {
    _mlir_ciface_neg(out, x);
    out->aligned = (float *)16;
}

/* Nothing that came from malloc. */
void _mlir_ciface_wild_buffer(memref *out, memref *x) {
    _mlir_ciface_neg(out, x);
    out->allocated = (float *)((char *)out->allocated + 8);
}

/* Without its C interface. */
void plain(memref *x) {
    (void)x;
}

uint8_t _mlir_ciface_is_set(uint8_t x) {
    return (uint8_t)(x | 0xF0); /* only the lowest bit counts */
}
