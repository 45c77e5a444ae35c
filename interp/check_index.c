/* Subscripts: x[i, lo:hi:step]. Indices drop their axis, ranges keep it; what the text fixes is
 * held against the dim here, the rest when it runs. */
#include "interp/check.h"

/* A subscript's number as far as the text gives it. */
typedef struct bound {
    bool given, fixed;
    int64_t value;
} bound;

/* Checks an index or a bound: a 0-D integer. Only a literal counts as fixed: a computed index below
 * zero is out of range when it runs. */
static bool check_bound(checker *c, expr *e, bound *out) {
    *out = (bound){.given = e != NULL};
    if (e == NULL) return true;
    const type *t = check_expr(c, e, expect_one);
    if (t->kind == TYPE_ERROR) return false;
    if (!type_is_scalar(t) || !dtype_integer((dtype)t->tensor.dtype)) {
        diag *d = diag_error(c->d, ERROR_K0202, e->at,
                             "an index is a 0-D integer (I32 or I64), not `%s`", check_show(c, t));
        if (t->kind == TYPE_TENSOR && dtype_integer((dtype)t->tensor.dtype))
            diag_add_help(c->d, d, "`take(x, indices, axis=0)` gathers by a tensor of indices");
        else if (type_is_scalar(t))
            diag_add_help(c->d, d, "convert it: `I32(...)`");
        return false;
    }
    if (e->kind == EXPR_INT && e->u.integer.magnitude <= INT64_MAX) {
        int64_t magnitude = (int64_t)e->u.integer.magnitude;
        out->fixed = true;
        out->value = e->u.integer.negative ? -magnitude : magnitude;
    }
    return true;
}

static void report_range(checker *c, const expr *at, int64_t index, int64_t size,
                         const type *base) {
    diag *d =
        diag_error(c->d, ERROR_K0304, at->at, "index %lld is out of range for a dim of size %lld",
                   (long long)index, (long long)size);
    diag_add_note(c->d, d, (span){0, 0}, "the indexed tensor is `%s`", check_show(c, base));
}

/* A fixed bound counted from the front; false when it is outside [0, most]. */
static bool settle(bound *b, int64_t size, int64_t most) {
    if (b->value < 0) b->value += size;
    return b->value >= 0 && b->value <= most;
}

static int64_t unknown(checker *c, span at) {
    return dims_symbol(c->dims, DIM_UNKNOWN, NULL, at);
}

/* How many entries a range has; step is not 0. */
static int64_t count_of(int64_t lo, int64_t hi, int64_t step) {
    int64_t distance = step > 0 ? hi - lo : lo - hi, stride = step > 0 ? step : -step;
    return distance <= 0 ? 0 : (distance - 1) / stride + 1;
}

/* The dim that a range with fixed bounds leaves of a dim of known size. */
static int64_t fixed_range(checker *c, const subscript *s, bound lo, bound hi, int64_t step,
                           int64_t size, const type *base) {
    bool reversed = step < 0;
    int64_t lo_said = lo.value, hi_said = hi.value;
    if (!lo.given) lo.value = reversed ? size - 1 : 0;
    if (lo.given && !settle(&lo, size, reversed ? size - 1 : size)) {
        report_range(c, s->lo, lo_said, size, base);
        return unknown(c, s->at);
    }
    if (!hi.given) hi.value = reversed ? -1 : size;
    if (hi.given && !settle(&hi, size, size)) {
        report_range(c, s->hi, hi_said, size, base);
        return unknown(c, s->at);
    }
    return count_of(lo.value, hi.value, step);
}

static int64_t check_range(checker *c, const subscript *s, int64_t dim, const type *base) {
    bound lo, hi, step;
    bool good = check_bound(c, s->lo, &lo);
    good = check_bound(c, s->hi, &hi) && good;
    good = check_bound(c, s->step, &step) && good;
    if (!step.given) step = (bound){.fixed = true, .value = 1};
    if (good && step.fixed && step.value == 0) {
        diag_error(c->d, ERROR_K0304, s->step->at, "the step of a range cannot be 0");
        good = false;
    }
    if (!good || !step.fixed || step.value == INT64_MIN) return unknown(c, s->at);
    if (!lo.given && !hi.given && (step.value == 1 || step.value == -1)) return dim;
    if ((lo.given && !lo.fixed) || (hi.given && !hi.fixed)) return unknown(c, s->at);
    if (dim >= 0) return fixed_range(c, s, lo, hi, step.value, dim, base);
    bool one_end = lo.given && hi.given && (lo.value < 0) == (hi.value < 0);
    return one_end ? count_of(lo.value, hi.value, step.value) : unknown(c, s->at);
}

static void check_single(checker *c, const subscript *s, int64_t dim, const type *base) {
    bound index;
    if (!check_bound(c, s->lo, &index) || !index.fixed || dim < 0) return;
    int64_t said = index.value;
    if (!settle(&index, dim, dim - 1)) report_range(c, s->lo, said, dim, base);
}

/* Checks subscripts whose base is in error, for the errors in themselves. */
static void check_loose(checker *c, const expr *e) {
    for (int i = 0; i < e->u.index.count; i++) {
        bound b;
        const subscript *s = &e->u.index.subscripts[i];
        bool good = check_bound(c, s->lo, &b);
        good = check_bound(c, s->hi, &b) && good;
        good = check_bound(c, s->step, &b) && good;
        if (!good) continue;
    }
}

const type *check_index(checker *c, expr *e, int asked) {
    op_type in, out = {0};
    int count = e->u.index.count;
    const type *base = check_expr(c, e->u.index.base, (expect){NULL, asked, 1});
    if (!check_operand(c, e->u.index.base, "x[...]", &in))
        return check_loose(c, e), &check_error_type;
    if (count > in.rank) {
        diag *d = diag_error(c->d, ERROR_K0302, e->mark, "%d subscripts for a tensor of rank %d",
                             count, in.rank);
        diag_add_label(c->d, d, e->u.index.base->at, "`%s`", check_show(c, base));
        return check_loose(c, e), &check_error_type;
    }
    out.dtype = in.dtype;
    for (int i = 0; i < in.rank; i++) {
        const subscript *s = i < count ? &e->u.index.subscripts[i] : NULL;
        if (s == NULL)
            out.dims[out.rank++] = in.dims[i];
        else if (s->range)
            out.dims[out.rank++] = check_range(c, s, in.dims[i], base);
        else
            check_single(c, s, in.dims[i], base);
    }
    return check_tensor_type(c, &out);
}
