/* Slices: as subscripts where those say enough, else as calls.
 *
 * Of x[lo:hi] the checker knows the size only when both bounds are written numbers, while a call names its sizes.
 * That matters for a size of 1, which would not stretch any more. */
#include "interp/writing.h"

/* ---- dims ---- */

static int64_t plus(const writing *w, int64_t a, int64_t b) {
    return w->g->algebra->add(w->g->algebra->self, a, b);
}

static int64_t minus(const writing *w, int64_t a, int64_t b) {
    return w->g->algebra->sub(w->g->algebra->self, a, b);
}

/* ---- subscripts ---- */

/* The bound behind the entries of an axis, below zero where they go down to the first; false when there is none
 * that could be written. */
static bool end_of(const writing *w, const op_use *u, int i, int64_t *hi) {
    const op_attrs *a = u->attrs;
    int64_t lo = a->lo[i], count = a->dims[i], step = a->step[i];
    if (u->hi != NULL) {
        *hi = u->hi[i];
    } else if (step == 1) {
        *hi = plus(w, lo, count);
    } else if (lo >= 0 && count >= 0) {
        int64_t end = count == 0 ? lo : lo + (count - 1) * step + (step > 0 ? 1 : -1);
        *hi = end >= 0 ? end : minus(w, 0, 1);
    } else {
        return false;
    }
    return count != 1 || (lo >= 0 && *hi >= 0) || *hi == u->in[0].dims[i];
}

/* The bounds of an axis that are written: an end of it is not. */
typedef struct bounds {
    bool has_lo, has_hi;
    int64_t lo, hi;
} bounds;

static bounds bounds_of(const writing *w, const op_use *u, int i) {
    const op_attrs *a = u->attrs;
    bounds b = {.has_lo = true, .lo = a->lo[i]};
    int64_t size = u->in[0].dims[i];
    if ((a->drop >> i & 1) != 0) return b;
    (void)end_of(w, u, i, &b.hi);
    b.has_lo = b.lo != (a->step[i] > 0 ? 0 : minus(w, size, 1));
    b.has_hi = a->step[i] > 0 ? b.hi != size : !dims_below_zero(w->dims, b.hi);
    return b;
}

static void write_subscript(writing *w, const op_use *u, int i, subscript *s) {
    bounds b = bounds_of(w, u, i);
    s->range = (u->attrs->drop >> i & 1) == 0;
    if (b.has_lo) s->lo = write_dim(w, b.lo);
    if (b.has_hi) s->hi = write_dim(w, b.hi);
    if (s->range && u->attrs->step[i] != 1) s->step = write_integer(w, u->attrs->step[i]);
}

static bool is_whole(const op_use *u, int i) {
    const op_attrs *a = u->attrs;
    return (a->drop >> i & 1) == 0 && a->lo[i] == 0 && a->step[i] == 1 && a->dims[i] == u->in[0].dims[i];
}

static expr *subscripts(writing *w, const op_use *u) {
    expr *e = write_expr_new(w, EXPR_INDEX);
    int count = u->in[0].rank;
    while (count > 0 && is_whole(u, count - 1)) count--;
    if (count == 0) return u->args[0];
    subscript *list = WRITE_ARRAY(w, subscript, count);
    if (w->failed) return e;
    for (int i = 0; i < count; i++) write_subscript(w, u, i, &list[i]);
    e->u.index.base = u->args[0];
    e->u.index.count = count;
    e->u.index.subscripts = list;
    return e;
}

/* ---- calls ---- */

/* The steps, where one is not 1. */
static void add_steps(writing *w, expr *call, const op_attrs *a, int rank) {
    bool all = true;
    for (int i = 0; i < rank; i++) all = all && a->step[i] == 1;
    if (!all) write_argument(w, call, "steps", write_integers(w, rank, a->step));
}

static expr *slice_call(writing *w, const op_use *u) {
    int rank = u->in[0].rank;
    expr *e = write_call(w, "slice");
    write_argument(w, e, NULL, u->args[0]);
    write_argument(w, e, NULL, write_dims(w, rank, u->attrs->lo));
    write_argument(w, e, NULL, write_dims(w, rank, u->attrs->dims));
    add_steps(w, e, u->attrs, rank);
    for (int i = rank - 1; i >= 0; i--) {
        if ((u->attrs->drop >> i & 1) == 0) continue;
        expr *args[2] = {e, write_integer(w, i)};
        e = write_call_of(w, "squeeze", 2, args);
    }
    return e;
}

static bool is_call(const writing *w, const op_use *u) {
    int64_t hi;
    if (u->op == OP_slice_add) return true;
    for (int i = 0; i < u->in[0].rank; i++) {
        bool drops = (u->attrs->drop >> i & 1) != 0;
        if (!drops && !is_whole(u, i) && !end_of(w, u, i, &hi)) return true;
    }
    return false;
}

expr *write_slice(writing *w, const op_use *u) {
    return is_call(w, u) ? slice_call(w, u) : subscripts(w, u);
}

int write_slice_dims(const writing *w, const op_use *u, int64_t *out) {
    bool calls = is_call(w, u);
    int n = 0;
    for (int i = 0; i < u->in[0].rank; i++) {
        bounds b = calls ? (bounds){.has_lo = true, .lo = u->attrs->lo[i]} : bounds_of(w, u, i);
        if (b.has_lo) out[n++] = b.lo;
        if (b.has_hi) out[n++] = b.hi;
        if (calls && u->op == OP_slice) out[n++] = u->attrs->dims[i];
    }
    return n;
}

expr *write_slice_add(writing *w, const op_use *u) {
    int rank = u->in[0].rank;
    expr *y = u->args[1], *e = write_call(w, "slice_add");
    for (int i = 0; i < rank; i++) {
        if ((u->attrs->drop >> i & 1) == 0) continue;
        expr *args[2] = {y, write_integer(w, i)};
        y = write_call_of(w, "expand_dims", 2, args);
    }
    write_argument(w, e, NULL, u->args[0]);
    write_argument(w, e, NULL, y);
    write_argument(w, e, NULL, write_dims(w, rank, u->attrs->lo));
    add_steps(w, e, u->attrs, rank);
    return e;
}
