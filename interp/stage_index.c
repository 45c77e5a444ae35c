/* Indexing: subscripts become the attributes of a slice, as far as they are known as sizes. */
#include "interp/stage_internal.h"

typedef struct slicing {
    stager *s;
    staged *frame;
    const dim_algebra *a;
    span where;
    int axis;
    int64_t size;               /* of the axis */
    op_attrs *attrs;
    int64_t *hi;
} slicing;

static int64_t sub(const slicing *l, int64_t x, int64_t y) { return l->a->sub(l->a->self, x, y); }

/* A bound as written. A negative literal counts from the end; a computed one does not. */
static int64_t bound(const slicing *l, const code *n, int64_t absent) {
    if (n == NULL) return absent;
    if (n->kind == CODE_CONSTANT && value_as_int(&n->u.constant) < 0) {
        return sub(l, l->size, -value_as_int(&n->u.constant));
    }
    return stage_dim(l->s, l->frame, n);
}

static void one_index(slicing *l, const index_axis *a) {
    l->attrs->lo[l->axis] = bound(l, a->lo, 0);
    l->attrs->dims[l->axis] = 1;
    l->attrs->step[l->axis] = 1;
    l->attrs->drop |= (uint8_t)(1u << l->axis);
}

static int64_t step_of(slicing *l, const index_axis *a) {
    if (a->step == NULL) return 1;
    int64_t by = a->step->kind == CODE_CONSTANT ? value_as_int(&a->step->u.constant) : 0;
    if (by == 0) {
        graph_refuse(l->s->g, ERROR_K0703, a->step->where, "write the step as a number",
                     "a range whose step only the run knows cannot be written out");
    }
    return by;
}

static int64_t constant_count(int64_t length, int64_t stride) {
    return length <= 0 ? 0 : (length - 1) / stride + 1;
}

static bool is_computed(const code *bound) { return bound != NULL && bound->kind != CODE_CONSTANT; }

/* How many entries lo:hi:by has: what the bounds say where no run can make it negative, else the size of the
 * result. A single entry between computed bounds is no literal 1 to the checker, hence none here: it would stretch. */
static int64_t count_of(const slicing *l, const index_axis *a, int64_t lo, int64_t hi, int64_t by) {
    int64_t zero = 0, size = l->size, length = by < 0 ? sub(l, lo, hi) : sub(l, hi, lo);
    bool whole = by > 0 ? lo == zero || hi == size : lo == sub(l, size, 1) && hi == sub(l, 0, 1);
    bool negative = length < 0 && l->a->symbols(l->a->self, length, &zero, 1) == 0;
    if (negative) return 0;
    int64_t count = length >= 0 ? constant_count(length, by < 0 ? -by : by) : -1;
    if (count == 1 && (is_computed(a->lo) || is_computed(a->hi))) return l->a->unknown(l->a->self);
    if (length >= 0) return count;
    return whole && (by == 1 || by == -1) ? length : l->a->unknown(l->a->self);
}

static void one_range(slicing *l, const index_axis *a) {
    int64_t by = step_of(l, a);
    bool down = by < 0;
    int64_t lo = bound(l, a->lo, down ? sub(l, l->size, 1) : 0);
    int64_t hi = bound(l, a->hi, down ? sub(l, 0, 1) : l->size);
    if (graph_bad(l->s->g)) return;
    int64_t count = count_of(l, a, lo, hi, by);
    l->attrs->lo[l->axis] = count == 0 ? 0 : lo;
    l->attrs->dims[l->axis] = count;
    l->attrs->step[l->axis] = by;
    l->hi[l->axis] = hi;
}

/* So many entries from lo on, as slice and slice_add name them. */
static void one_stretch(slicing *l, const index_axis *a, const op_type *added) {
    int64_t by = step_of(l, a), lo = bound(l, a->lo, 0);
    int64_t count = added != NULL ? added->dims[l->axis] : stage_dim(l->s, l->frame, a->count);
    l->attrs->lo[l->axis] = count == 0 ? 0 : lo;
    l->attrs->dims[l->axis] = count;
    l->attrs->step[l->axis] = by;
}

/* True when the upper bounds say how it is written. */
static bool subscripts(stager *s, staged *frame, const code *n, const op_type *base, const op_type *added,
                       op_attrs *attrs, int64_t *hi) {
    bool ranges = true;
    for (int axis = 0; axis < base->rank; axis++) {
        slicing l = {.s = s,
                     .frame = frame,
                     .a = s->g->algebra,
                     .where = n->where,
                     .axis = axis,
                     .size = base->dims[axis],
                     .attrs = attrs,
                     .hi = hi};
        const index_axis *a = axis < n->u.index.count ? &n->u.index.axes[axis] : NULL;
        hi[axis] = l.size;
        if (a == NULL) {
            attrs->dims[axis] = l.size;
            attrs->step[axis] = 1;
        } else if (a->stretch) {
            one_stretch(&l, a, added);
            ranges = false;
        } else if (a->range) {
            one_range(&l, a);
        } else {
            one_index(&l, a);
        }
    }
    return ranges;
}

staged stage_index(stager *s, staged *frame, const code *n) {
    graph *g = s->g;
    bool adds = n->u.index.added != NULL;
    var in[2] = {stage_var(s, frame, n->u.index.base), VAR_NONE};
    if (adds) in[1] = stage_var(s, frame, n->u.index.added);
    int64_t *hi = STAGE_ARRAY(s, int64_t, MAX_RANK);
    if (graph_bad(g) || hi == NULL) return staged_none();
    op_type base = *graph_type(g, in[0]), added = adds ? *graph_type(g, in[1]) : base;
    op_attrs attrs = {.rank = base.rank};
    bool ranges = subscripts(s, frame, n, &base, adds ? &added : NULL, &attrs, hi);
    var out = graph_op(g, s->r, adds ? OP_slice_add : OP_slice, &attrs, 1 + adds, in, n->where);
    if (out != VAR_NONE && ranges) graph_at(g, out)->maker->hi = hi;
    return staged_var(out);
}
