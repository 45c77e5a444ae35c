/* kina-bench accuracy: how far each transcendental function is from the exact value at worst, over
 * arguments of all kinds, in units in the last place. Any that is off by more than is promised ends
 * it with EXIT_DIFFERS. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/exact.h"
#include "kernels/lines.h"

enum { BLOCK = 256, WAYS = 4 };

/* F32 and F64, under fast and under reference numerics. */
typedef struct way {
    const char *field;
    dtype t;
    numerics how;
} way;

static const way ways[WAYS] = {{"f32", DT_F32, NUMERICS_FAST},
                               {"f64", DT_F64, NUMERICS_FAST},
                               {"f32_reference", DT_F32, NUMERICS_REFERENCE},
                               {"f64_reference", DT_F64, NUMERICS_REFERENCE}};

typedef struct outcome {
    double ulps, at[2]; /* the worst, and where */
} outcome;

/* ---- arguments ---- */

/* xorshift64*, so that a run can be repeated. */
static uint64_t draw(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

static double unit(uint64_t *state) {
    return (double)(draw(state) >> 11) * 0x1p-53;
}

/* Where functions change their sign, their method or their nature: 0, whole numbers, multiples of
 * pi / 2, zeros of lgamma and of digamma, limits of the exponentials, ends of ranges. */
static const double centres[] = {0,
                                 1,
                                 -1,
                                 2,
                                 3,
                                 -2,
                                 -3,
                                 1.5707963267948966,
                                 3.141592653589793,
                                 6.283185307179586,
                                 1.4616321449683622,
                                 -0.504083008264455409,
                                 -2.4570247382208006,
                                 -2.7476826467274127,
                                 -3.143580888349980,
                                 -3.955294284858598,
                                 88,
                                 -88,
                                 104,
                                 -104,
                                 128,
                                 -126,
                                 -149,
                                 709,
                                 -709,
                                 745,
                                 -745,
                                 1024,
                                 -1074,
                                 27,
                                 -10,
                                 14,
                                 20,
                                 -38};

static double argument(uint64_t *state, dtype t) {
    uint64_t word = draw(state);
    double x, sign = (word & 1) != 0 ? 1.0 : -1.0;
    float narrow;
    uint32_t half = (uint32_t)(word >> 32);
    switch ((word >> 1) % 8) {
    case 0: /* any bits */
        memcpy(&x, &(uint64_t){draw(state)}, sizeof x);
        memcpy(&narrow, &half, sizeof narrow);
        return t == DT_F32 ? (double)narrow : x;
    case 1: return sign * unit(state);
    case 2: return sign * 40 * unit(state);
    case 3: return sign * 1000 * unit(state);
    case 4: return sign * ldexp(1 + unit(state), (int)(half % 160) - 80);
    case 5:
    case 6:
        x = centres[half % COUNT_OF(centres)];
        return x + sign * ldexp(unit(state), -(int)(draw(state) % 50));
    default: return sign * 8 * unit(state);
    }
}

/* ---- one function ---- */

static double element(dtype t, const void *data, size_t i) {
    return t == DT_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void put(dtype t, void *data, size_t i, double x) {
    if (t == DT_F32)
        ((float *)data)[i] = (float)x;
    else
        ((double *)data)[i] = x;
}

/* A block through the line function, so that vectors and tails are measured and not numbers. */
static void measure_block(context *c, op_id op, const way *w, size_t n, uint64_t *state,
                          outcome *worst) {
    static const op_attrs attrs;
    _Alignas(64) double in[2][BLOCK], out[BLOCK];
    void *p[3] = {out, in[0], in[1]};
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) put(w->t, in[k], i, argument(state, w->t));
    c->numerics = w->how;
    lines_find(c, op, w->t)(p, (ptrdiff_t[]){1, 1, 1}, n, &attrs);
    for (size_t i = 0; i < n; i++) {
        double x[2] = {element(w->t, in[0], i), element(w->t, in[1], i)};
        double ulps = exact_ulps(w->t, element(w->t, out, i), exact_value(op, x, 0));
        if (ulps > worst->ulps) *worst = (outcome){ulps, {x[0], x[1]}};
    }
}

static void measure(context *c, op_id op, int samples, outcome worst[WAYS]) {
    for (int k = 0; k < WAYS; k++) {
        uint64_t state = 0x9E3779B97F4A7C15u + (uint64_t)op;
        worst[k] = (outcome){0};
        for (int done = 0; done < samples && !process_interrupted; done += BLOCK) {
            int left = samples - done;
            measure_block(c, op, &ways[k], (size_t)(left < BLOCK ? left : BLOCK), &state,
                          &worst[k]);
        }
    }
}

/* ---- all of them ---- */

static bool within(op_id op, const outcome worst[WAYS]) {
    bool good = true;
    for (int k = 0; k < WAYS; k++)
        good = good &&
               worst[k].ulps <= exact_allowed(op, ways[k].t, ways[k].how == NUMERICS_REFERENCE);
    return good;
}

static void show(op_id op, const outcome worst[WAYS], bool json, bool first) {
    const char *name = op_table[op].surface;
    if (!json) {
        printf("%-10s %8.3f %8.3f %8.3f %8.3f\n", name, worst[0].ulps, worst[1].ulps, worst[2].ulps,
               worst[3].ulps);
        return;
    }
    printf("%s\n{\"function\":\"%s\"", first ? "" : ",", name);
    for (int k = 0; k < WAYS; k++) {
        printf(",\"%s\":%.4f,\"%s_at\":\"%a", ways[k].field, worst[k].ulps, ways[k].field,
               worst[k].at[0]);
        if (op_table[op].arity > 1) printf(" %a", worst[k].at[1]);
        printf("\"");
    }
    printf("}");
}

int bench_accuracy(const bench_options *o) {
    context c;
    bool json = o->text[GIVEN_json] != NULL, good = true, first = true;
    int samples = o->number[GIVEN_samples];
    context_init(&c);
    if (json)
        printf("{\"schema\":1,\"bench\":\"accuracy\",\"samples\":%d,\"rows\":[", samples);
    else
        printf("%-10s %8s %8s %17s\n%-10s %8s %8s %8s %8s\n", "", "fast", "", "reference", "",
               "F32", "F64", "F32", "F64");
    for (int op = 0; op < OP_COUNT && !process_interrupted; op++) {
        outcome worst[WAYS];
        /* polygamma is as many functions as it has orders. */
        if (!exact_knows((op_id)op) || op_table[op].surface[0] == '\0' || op == OP_polygamma) continue;
        measure(&c, (op_id)op, samples, worst);
        show((op_id)op, worst, json, first);
        good = good && within((op_id)op, worst);
        first = false;
    }
    if (json) puts("\n]}");
    context_close(&c);
    if (process_interrupted) return EXIT_INTERRUPTED;
    int code = bench_finish_output();
    return code != 0 || good ? code : EXIT_DIFFERS;
}
