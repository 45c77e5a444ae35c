/* The table of storage types, and the conversion of floating numbers from one to another, bit by bit. */
#include "runtime/storage.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} narrow_table[STORAGE_COUNT - DTYPE_COUNT] = {
    [STORAGE_F16 - DTYPE_COUNT] = {"F16", 2},
    [STORAGE_BF16 - DTYPE_COUNT] = {"BF16", 2},
};

static bool is_dtype(storage t) {
    return (unsigned)t < DTYPE_COUNT;
}

const char *storage_name(storage t) {
    return is_dtype(t) ? dtype_name((dtype)t) : narrow_table[t - DTYPE_COUNT].name;
}

size_t storage_size(storage t) {
    return is_dtype(t) ? dtype_size((dtype)t) : narrow_table[t - DTYPE_COUNT].size;
}

bool storage_find(const char *name, size_t length, storage *out) {
    for (unsigned i = 0; i < STORAGE_COUNT; i++) {
        const char *known = storage_name((storage)i);
        if (strlen(known) != length || memcmp(known, name, length) != 0) continue;
        *out = (storage)i;
        return true;
    }
    return false;
}

/* How a floating type lays out its bits, below the sign. No exponent bits: not a floating type. */
typedef struct layout {
    int exponent, fraction;
} layout;

static layout layout_of(storage t) {
    switch ((int)t) {
    case DT_F64: return (layout){11, 52};
    case DT_F32: return (layout){8, 23};
    case STORAGE_F16: return (layout){5, 10};
    case STORAGE_BF16: return (layout){8, 7};
    default: return (layout){0, 0};
    }
}

bool storage_fits(dtype from, storage to) {
    layout wide = layout_of((storage)from), narrow = layout_of(to);
    return (storage)from == to || (narrow.exponent > 0 && narrow.fraction < wide.fraction);
}

static uint64_t ones(int bits) {
    return ((uint64_t)1 << bits) - 1;
}

/* The fraction of a NaN, from its upper end; never 0, which would be an infinity. */
static uint64_t convert_payload(uint64_t fraction, layout from, layout to) {
    uint64_t kept = fraction << (52 - from.fraction) >> (52 - to.fraction);
    return kept != 0 ? kept : (uint64_t)1 << (to.fraction - 1);
}

/* significand / 2^drop, to nearest, ties to even; 0 < drop. */
static uint64_t round_off(uint64_t significand, int drop) {
    if (drop > 64) return 0;
    uint64_t half = (uint64_t)1 << (drop - 1);
    uint64_t kept = drop < 64 ? significand >> drop : 0, rest = significand & (half - 1 + half);
    bool up = rest > half || (rest == half && (kept & 1) != 0);
    return kept + (up ? 1 : 0);
}

/* The bits below the sign of significand * 2^(exponent - 63), a normalised number. A carry out of the fraction
 * moves on into the exponent, as it should. */
static uint64_t encode(uint64_t significand, int exponent, layout to) {
    int least = 2 - (1 << (to.exponent - 1));
    int below = exponent < least ? least - exponent : 0; /* what a subnormal number loses */
    uint64_t steps = below > 0 ? 0 : (uint64_t)(exponent - least);
    uint64_t bits = (steps << to.fraction) + round_off(significand, 63 - to.fraction + below);
    uint64_t infinity = ones(to.exponent) << to.fraction;
    return bits < infinity ? bits : infinity;
}

uint64_t storage_convert(uint64_t bits, storage from, storage to) {
    layout f = layout_of(from), t = layout_of(to);
    uint64_t fraction = bits & ones(f.fraction), exponent = bits >> f.fraction & ones(f.exponent);
    uint64_t sign = (bits >> (f.exponent + f.fraction) & 1) << (t.exponent + t.fraction);
    if (exponent == ones(f.exponent)) {
        uint64_t payload = fraction != 0 ? convert_payload(fraction, f, t) : 0;
        return sign | ones(t.exponent) << t.fraction | payload;
    }
    uint64_t significand = exponent > 0 ? fraction | (uint64_t)1 << f.fraction : fraction;
    if (significand == 0) return sign;
    int shift = __builtin_clzll(significand), bias = (1 << (f.exponent - 1)) - 1;
    int power = (exponent > 0 ? (int)exponent : 1) - bias - f.fraction + 63 - shift;
    return sign | encode(significand << shift, power, t);
}

void storage_put(void *out, size_t bytes, uint64_t bits) {
    uint16_t two = (uint16_t)bits;
    uint32_t four = (uint32_t)bits;
    memcpy(out, bytes == 2 ? (void *)&two : bytes == 4 ? (void *)&four : (void *)&bits, bytes);
}
