/* Slices, and what is added to one. */
#include "interp/c_emit.h"

/* One axis of a slice. */
typedef struct stretch {
    const char *lo, *count;
    int64_t step;
    bool gone; /* the result has no such axis */
} stretch;

/* Whether only the slice itself says how many entries it has. */
static bool is_own_size(c_writer *w, const c_site *s, int64_t count) {
    const witness *of = count < 0 ? graph_witness_of(w->g, count) : NULL;
    return of != NULL && of->v == s->of->out[0] && of->axis >= 0;
}

/* lo:hi:step with bounds of which only the run knows how far apart they are. */
static const char *range(c_writer *w, const c_site *s, int axis, const char *lo) {
    int64_t step = s->attrs->step[axis];
    const char *hi = c_dim(w, s->of->hi[axis]), *size = c_size(w, &s->in[0], axis);
    bool to_the_first = step < 0 && hi[0] == '-';
    c_helper(w, "range", DT_I64, false);
    if (step > 0)
        c_check(w, c_string(w, "%s >= 0 && %s <= %s", lo, lo, size), "index out of range");
    else
        c_check(w, c_string(w, "%s == 0 || (%s >= 0 && %s < %s)", size, lo, lo, size), "index out of range");
    c_check(w, c_string(w, "%s >= %d && %s <= %s", hi, to_the_first ? -1 : 0, hi, size), "index out of range");
    return c_string(w, "kina_range(%s, %s, %lld)", lo, hi, (long long)step);
}

static void check_fits(c_writer *w, const c_site *s, int axis, int64_t count, const stretch *t) {
    const c_value *x = &s->in[0];
    int64_t lo = s->attrs->lo[axis], size = x->type.dims[axis];
    bool known = lo >= 0 && count >= 0 && size >= 0;
    if (known && op_slice_fits(lo, count, t->step, size)) return;
    if (lo == 0 && t->step == 1 && c_compare(w, count, size) == DIM_SAME) return;
    c_helper(w, "fits", DT_I64, false);
    c_check(w, c_string(w, "kina_fits(%s, %s, %lld, %s)", t->lo, t->count, (long long)t->step, c_size(w, x, axis)),
            "index out of range");
}

static void find_axes(c_writer *w, const c_site *s, stretch *axes) {
    for (int i = 0, own = 0; i < s->in[0].type.rank; i++) {
        stretch *t = &axes[i];
        int64_t count = s->attrs->dims[i];
        *t = (stretch){.lo = c_dim(w, s->attrs->lo[i]), .step = s->attrs->step[i]};
        t->gone = ((s->attrs->drop >> i) & 1) != 0;
        if (s->op == OP_slice && s->of->hi != NULL && is_own_size(w, s, count)) {
            const char *name = c_named(w, "count");
            c_line(w, "const int64_t %s = %s;", name, range(w, s, i, t->lo));
            t->count = name;
            continue;
        }
        t->count = "1";
        if (!t->gone) t->count = s->op == OP_slice ? c_dim(w, count) : c_size(w, &s->in[1], own++);
        check_fits(w, s, i, count, t);
    }
}

/* Where the entry of the slice that the loops are at stands in what is sliced. */
static void places_of(c_writer *w, const c_site *s, const stretch *axes, const c_nest *l, const char **places) {
    for (int i = 0, own = 0; i < s->in[0].type.rank; i++) {
        const stretch *t = &axes[i];
        places[i] = t->lo;
        if (t->gone) continue;
        const char *by = l->at[own++];
        int64_t size = t->step < 0 ? -t->step : t->step;
        if (size != 1) by = c_string(w, "%s * %lld", by, (long long)size);
        bool from_the_first = t->step > 0 && s->attrs->lo[i] == 0;
        places[i] = from_the_first ? by : c_string(w, "%s %s %s", t->lo, t->step < 0 ? "-" : "+", by);
    }
}

void c_slice(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    stretch axes[MAX_RANK];
    const char *sizes[MAX_RANK] = {0}, *places[MAX_RANK];
    int own = 0;
    c_nest l = {0};
    find_axes(w, s, axes);
    for (int i = 0; i < x->type.rank; i++)
        if (!axes[i].gone) sizes[own++] = axes[i].count;
    if (s->out.type.rank > 0) c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    places_of(w, s, axes, &l, places);
    if (s->out.type.rank > 0)
        c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), c_entry(w, x, places));
    else
        c_line(w, "const %s %s = %s;", compiled_c_type((dtype)x->type.dtype), s->out.name, c_entry(w, x, places));
    c_loops_end(w, &l);
}

void c_slice_add(c_writer *w, const c_site *s) {
    const c_value *y = &s->in[1];
    stretch axes[MAX_RANK];
    const char *places[MAX_RANK];
    c_nest l = {0};
    find_axes(w, s, axes);
    c_take_over(w, s);
    c_loops(w, &l, y);
    places_of(w, s, axes, &l, places);
    const char *entry = c_entry(w, &s->out, places);
    c_line(w, "%s = %s;", entry, c_two(w, OP_add, (dtype)s->out.type.dtype, entry, c_entry(w, y, l.at)));
    c_loops_end(w, &l);
}
