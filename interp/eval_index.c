/* Indexing: subscripts, static or not, become the attributes of a slice, of which slice_add adds to the
 * entries. */
#include "interp/eval.h"

#include "runtime/door.h"

typedef struct slicing {
    evaluator *ev;
    value *frame;
    span where;
    int axis;
    int64_t size;               /* of the axis */
} slicing;

static bool out_of_range(slicing *s, int64_t index) {
    return error_set(&s->ev->c->err, ERROR_K0503, s->where, "index %lld is out of range for axis %d of size %lld",
                     (long long)index, s->axis, (long long)s->size);
}

/* A bound as written; *out stays where there is none. A negative literal counts from the end; a computed one does
 * not. */
static bool bound(slicing *s, const code *n, int64_t *out) {
    if (n == NULL) return true;
    value v;
    if (!eval(s->ev, s->frame, n, &v)) return false;
    *out = value_as_int(&v);
    if (n->kind == CODE_CONSTANT && *out < 0) *out += s->size;
    return true;
}

static bool one_index(slicing *s, const index_axis *a, op_attrs *attrs) {
    int64_t index = 0;
    if (!bound(s, a->lo, &index)) return false;
    if (index < 0 || index >= s->size) return out_of_range(s, index);
    attrs->lo[s->axis] = index;
    attrs->dims[s->axis] = 1;
    attrs->step[s->axis] = 1;
    attrs->drop |= (uint8_t)(1u << s->axis);
    return true;
}

static bool step_of(slicing *s, const index_axis *a, int64_t *out) {
    *out = 1;
    if (a->step == NULL) return true;
    value v;
    if (!eval(s->ev, s->frame, a->step, &v)) return false;
    *out = value_as_int(&v);
    return *out != 0 || error_set(&s->ev->c->err, ERROR_K0503, s->where, "the step of a slice cannot be 0");
}

/* lo:hi:step; without bounds the whole axis, from its end when the step is negative. */
static bool one_range(slicing *s, const index_axis *a, op_attrs *attrs) {
    int64_t lo = 0, hi = 0, by;
    if (!bound(s, a->lo, &lo) || !bound(s, a->hi, &hi) || !step_of(s, a, &by)) return false;
    bool down = by < 0;
    if (a->lo == NULL) lo = down ? s->size - 1 : 0;
    if (a->hi == NULL) hi = down ? -1 : s->size;
    if (lo < 0 && !(down && s->size == 0)) return out_of_range(s, lo);
    if (lo > s->size || (down && lo >= s->size && s->size > 0)) return out_of_range(s, lo);
    if (hi > s->size || (hi < 0 && !(down && a->hi == NULL))) return out_of_range(s, hi);
    int64_t span_length = down ? lo - hi : hi - lo;
    int64_t stride = down ? -by : by;
    int64_t count = span_length <= 0 ? 0 : (span_length - 1) / stride + 1;
    attrs->lo[s->axis] = count == 0 ? 0 : lo;
    attrs->dims[s->axis] = count;
    attrs->step[s->axis] = by;
    return true;
}

/* So many entries from lo on; `added` is what is added to them, or NULL. */
static bool one_stretch(slicing *s, const index_axis *a, const value *added, op_attrs *attrs) {
    int64_t lo = 0, by, count = added != NULL ? value_dims(added)[s->axis] : 0;
    if (!bound(s, a->lo, &lo)) return false;
    if (a->count != NULL) {
        value v;
        if (!eval(s->ev, s->frame, a->count, &v)) return false;
        count = value_as_int(&v);
        if (count < 0)
            return error_set(&s->ev->c->err, ERROR_K0511, a->count->where,
                             "a size cannot be negative: %lld", (long long)count);
    }
    if (!step_of(s, a, &by)) return false;
    if (!op_slice_fits(lo, count, by, s->size))
        return error_set(&s->ev->c->err, ERROR_K0503, s->where,
                         "%lld entries from index %lld on in steps of %lld are out of range for axis %d of "
                         "size %lld",
                         (long long)count, (long long)lo, (long long)by, s->axis, (long long)s->size);
    attrs->lo[s->axis] = count == 0 ? 0 : lo;
    attrs->dims[s->axis] = count;
    attrs->step[s->axis] = by;
    return true;
}

static bool one_axis(slicing *s, const index_axis *a, const value *added, op_attrs *attrs) {
    if (a->stretch) return one_stretch(s, a, added, attrs);
    return a->range ? one_range(s, a, attrs) : one_index(s, a, attrs);
}

static bool subscripts(evaluator *ev, value *frame, const code *n, const value *base, const value *added,
                       op_attrs *attrs) {
    for (int axis = 0; axis < value_rank(base); axis++) {
        slicing s = {.ev = ev, .frame = frame, .where = n->where, .axis = axis, .size = value_dims(base)[axis]};
        if (axis >= n->u.index.count) {
            attrs->dims[axis] = s.size;
            attrs->step[axis] = 1;
            continue;
        }
        if (!one_axis(&s, &n->u.index.axes[axis], added, attrs)) return false;
    }
    return true;
}

bool eval_index(evaluator *ev, value *frame, const code *n, value *out) {
    code *operands[2] = {n->u.index.base, n->u.index.added};
    int count = n->u.index.added != NULL ? 2 : 1;
    value in[2];
    if (!eval_args(ev, frame, operands, count, in)) return false;
    op_attrs attrs = *n->u.index.attrs;
    attrs.rank = (uint8_t)value_rank(&in[0]);
    bool ok = subscripts(ev, frame, n, &in[0], count == 2 ? &in[1] : NULL, &attrs);
    if (ok) {
        op_call call = {
            .op = count == 2 ? OP_slice_add : OP_slice,
            .n = (uint8_t)count,
            .spent = 255,
            .attrs = &attrs,
            .in = in,
            .where = n->where,
        };
        ok = door_perform(ev->c, &call, out);
    }
    values_release(ev->c, in, count);
    return ok;
}
