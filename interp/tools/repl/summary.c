/* What summary.h promises. */
#include "interp/tools/repl/summary.h"

#include <math.h>

#include "runtime/print.h"

typedef struct gathering {
    summary s;
    double scale, sum;          /* the squares of what was seen sum to scale * scale * sum, whatever their size */
    int64_t seen;
} gathering;

static void gather(gathering *g, double x) {
    double size = fabs(x);
    bool leads = g->seen == 0 || (!isnan(g->s.largest) && (isnan(x) || size > fabs(g->s.largest)));
    if (leads) {
        g->s.largest = isnan(x) ? fabs(x) : x; /* its sign is of no account */
        g->s.place = g->seen;
    }
    g->seen++;
    g->s.zeros &= x == 0;
    g->s.finite &= isfinite(x) != 0;
    if (size > g->scale && isfinite(size)) {
        g->sum = g->sum * (g->scale / size) * (g->scale / size) + 1;
        g->scale = size;
    } else if (size > 0 && isfinite(size)) {
        g->sum += (size / g->scale) * (size / g->scale);
    }
}

summary summary_of(const value *v) {
    gathering g = {.s = {.zeros = true, .finite = true}};
    if (v->kind == VALUE_TENSOR) {
        element_walk at = element_walk_of(v->as.t);
        for (int64_t i = 0; i < v->as.t->size; i++, element_walk_on(&at)) {
            gather(&g, v->dtype == DT_F32 ? (double)((const float *)v->as.t->data)[at.offset]
                                          : ((const double *)v->as.t->data)[at.offset]);
        }
    } else {
        gather(&g, value_as_double(v));
    }
    g.s.norm = g.s.finite ? g.scale * sqrt(g.sum) : fabs(g.s.largest);
    return g.s;
}

void summary_print(text *t, const value *v, const summary *s) {
    if (v->kind != VALUE_TENSOR) return;
    int64_t index[MAX_RANK], place = s->place;
    char at[96];
    for (int k = value_rank(v) - 1; k >= 0; k--) {
        int64_t size = value_dims(v)[k] > 0 ? value_dims(v)[k] : 1;
        index[k] = place % size;
        place /= size;
    }
    shape_print(at, sizeof at, value_rank(v), index);
    text_format(t, "norm %.6g", s->norm);
    if (value_size(v) > 0) text_format(t, ", largest %.6g at %s", s->largest, at);
}
