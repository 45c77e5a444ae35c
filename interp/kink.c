/* Finding the op at which a function is not smooth. The ops of five runs, at equal distances on the line, are looked at,
 * each result reduced to one number. The second difference of a smooth op falls to a quarter when the step is halved;
 * that of one with a kink to a half, that of one that jumps not at all; and the first such op is where it begins. */
#include "interp/slope.h"

#include <math.h>

#include "runtime/watch.h"

enum { POINTS = 5, KEPT = 1 << 18 };

typedef struct seen {
    double sum;                 /* of the elements, each times a weight of its place */
    double size;                /* of their absolute values */
    span where;
    uint16_t op;
    bool narrow;                /* F32 */
} seen;

typedef struct trace {
    seen *item;
    int count, room;
    bool failed;                /* out of memory or of room: the run goes on */
} trace;

/* Weights between 1 and 2 that no symmetry of an op cancels. */
static double weight(int64_t i) {
    double x = (double)i * 0.6180339887498949;
    return 1 + (x - floor(x));
}

static double any_element(const value *v, int64_t i) {
    if (dtype_floating((dtype)v->dtype)) return slope_element(v, i);
    if (v->kind == VALUE_NUMBER) return v->dtype == DT_Bool ? (double)v->as.b : (double)value_as_int(v);
    const char *p = v->as.t->data;
    int64_t offset = 0;
    for (int k = v->as.t->rank - 1; k >= 0; k--) {
        offset += i % v->as.t->dims[k] * v->as.t->strides[k];
        i /= v->as.t->dims[k];
    }
    switch ((dtype)v->dtype) {
    case DT_I32: return (double)((const int32_t *)(const void *)p)[offset];
    case DT_I64: return (double)((const int64_t *)(const void *)p)[offset];
    default: return (double)((const bool *)(const void *)p)[offset];
    }
}

static bool keep(void *self, context *c, const op_call *call, const value *out) {
    trace *t = self;
    if (t->failed || (out->kind != VALUE_NUMBER && out->kind != VALUE_TENSOR)) return true;
    if (t->count == t->room) {
        int room = t->room > 0 ? 2 * t->room : 256;
        seen *grown = room <= KEPT ? resize(c, t->item, (size_t)t->room * sizeof *grown, (size_t)room * sizeof *grown) : NULL;
        if (grown == NULL) {
            t->failed = true;
            return c->err.code == ERROR_NONE;
        }
        t->item = grown;
        t->room = room;
    }
    seen *s = &t->item[t->count++];
    *s = (seen){.where = call->where, .op = (uint16_t)call->op, .narrow = out->dtype == DT_F32};
    for (int64_t i = 0; i < value_size(out); i++) {
        double part = weight(i) * any_element(out, i);
        s->sum += part;
        s->size += fabs(part);
    }
    return true;
}

/* An op at one place of all runs, t[2] being in the middle. */
static bool smooth(const trace *t, int i) {
    const seen *middle = &t[2].item[i];
    double wide = fabs(t[0].item[i].sum - 2 * middle->sum + t[4].item[i].sum);
    double narrow = fabs(t[1].item[i].sum - 2 * middle->sum + t[3].item[i].sum);
    double rounding = 16 * (middle->narrow ? 0x1p-23 : 0x1p-52) * middle->size;
    if (isnan(middle->sum)) return true;
    if (isnan(wide)) return false;
    return wide <= rounding || narrow <= 0.4 * wide + rounding;
}

static void compare(const trace t[POINTS], kink *out) {
    for (int i = 0; i < t[2].count; i++) {
        const seen *middle = &t[2].item[i];
        bool same = true;
        for (int k = 0; k < POINTS; k++) {
            same = same && i < t[k].count && t[k].item[i].op == middle->op && t[k].item[i].where.begin == middle->where.begin;
        }
        if (same && smooth(t, i)) continue;
        *out = (kink){.found = true, .where = middle->where, .op = same ? op_table[middle->op].surface : NULL};
        return;
    }
}

bool kink_find(slope_line *l, double step, kink *out) {
    context *c = l->e->c;
    trace t[POINTS] = {{0}};
    bool ok = true, failed = false;
    *out = (kink){.found = false};
    for (int k = 0; k < POINTS && ok; k++) {
        watch w;
        double unused;
        watch_open(&w, c, keep, &t[k]);
        ok = line_at(l, step * (k - 2) / 2, &unused);
        watch_close(&w, c);
        failed = failed || t[k].failed;
    }
    if (ok && !failed) compare(t, out);
    for (int k = 0; k < POINTS; k++) give_back(c, t[k].item, (size_t)t[k].room * sizeof *t[k].item);
    return ok;
}
