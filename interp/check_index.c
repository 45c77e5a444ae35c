/* Subscripts, x[i, lo:hi:step], and the calls slice and slice_add. Indices drop their axis, ranges keep it;
 * what the text fixes is held against the dim here, the rest when it runs. */
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
    if (!lo.given && step.value > 0) lo = (bound){.given = true, .fixed = true, .value = 0};
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

/* ---- slice and slice_add ---- */

/* A list with one integer for each axis of x. */
static bool is_axis_list(checker *c, const builtin_call *b, const expr *list, const char *what) {
    int rank = b->operands[0]->type->tensor.rank;
    if (list->kind == EXPR_LIST && list->u.list.count == rank) return true;
    diag *d = diag_error(c->d, ERROR_K0214, list->at,
                         "`%s` of `%s` is a written list with one integer for each axis of `x`", what,
                         b->name);
    diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    return false;
}

/* What slice_add adds has x's element type and rank. */
static bool fits_into(checker *c, const builtin_call *b) {
    const op_type in[2] = {b->operands[0]->type->tensor, b->operands[1]->type->tensor};
    op_fault f = {.kind = FAULT_NONE, .b = 1};
    if (in[0].dtype == DT_Bool) {
        f = (op_fault){.kind = FAULT_DTYPE, .expects = "a floating or integer operand"};
    } else if (in[0].dtype != in[1].dtype) {
        f.kind = FAULT_DTYPES;
    } else if (in[0].rank != in[1].rank) {
        f = (op_fault){.kind = FAULT_RANK, .a = 1, .b = 1, .expects = "operands of one rank"};
    }
    if (f.kind == FAULT_NONE) return true;
    check_fault(c, b->name, b->e->u.call.callee->at, b->operands, in, 2, &f);
    return false;
}

/* The entries of a list of integers into `use->size` from `from` on. */
static void take_entries(checker *c, builtin_call *b, expr *list, int from) {
    op_type t = {.dtype = DT_I64, .rank = 1, .dims = {list->u.list.count}};
    list->type = check_tensor_type(c, &t);
    for (int i = 0; i < list->u.list.count; i++) b->use->size[from + i] = list->u.list.items[i];
}

/* Where an axis begins and how it goes on, against the `count` entries that it is to have; -1 and less:
 * not known. */
static bool check_stretch(checker *c, const builtin_call *b, expr *start, expr *step, int64_t count,
                          int64_t dim) {
    bound lo, by = {.fixed = true, .value = 1};
    bool good = check_bound(c, start, &lo);
    if (step != NULL) good = check_bound(c, step, &by) && good;
    if (!good) return false;
    if (by.fixed && by.value == 0) {
        diag_error(c->d, ERROR_K0304, step->at, "the step of a range cannot be 0");
        return false;
    }
    if (!lo.fixed || !by.fixed || count < 0 || dim < 0) return true;
    int64_t said = lo.value;
    if (lo.value < 0) lo.value += dim;
    if (op_slice_fits(lo.value, count, by.value, dim)) return true;
    diag *d = diag_error(c->d, ERROR_K0304, start->at,
                         "%lld entries from index %lld on are out of range for a dim of size %lld",
                         (long long)count, (long long)said, (long long)dim);
    diag_add_label(c->d, d, b->operands[0]->at, "`%s`", check_show(c, b->operands[0]->type));
    return false;
}

/* The sizes of a slice: written, or those of what slice_add adds. */
static bool sizes_of(checker *c, builtin_call *b, expr *sizes, op_type *part) {
    unsigned errors = c->d->errors;
    for (int i = 0; sizes != NULL && i < part->rank; i++)
        part->dims[i] = check_size(c, sizes->u.list.items[i]);
    for (int i = 0; sizes == NULL && i < part->rank; i++)
        part->dims[i] = b->operands[1]->type->tensor.dims[i];
    return c->d->errors == errors;
}

const type *check_slice(checker *c, builtin_call *b) {
    builtin_use *use = b->use;
    const op_type *x = &b->operands[0]->type->tensor;
    bool adds = use->op == OP_slice_add;
    expr *starts = use->args[adds ? 2 : 1], *sizes = adds ? NULL : use->args[2], *steps = use->args[3];
    op_type part = *x;
    if (adds && !fits_into(c, b)) return &check_error_type;
    if (!is_axis_list(c, b, starts, "starts") || (!adds && !is_axis_list(c, b, sizes, "sizes")) ||
        (steps != NULL && !is_axis_list(c, b, steps, "steps")))
        return &check_error_type;
    use->sizes = x->rank * (1 + !adds + (steps != NULL));
    use->size = ARENA_ARRAY(c->a, expr *, use->sizes);
    if (use->size == NULL) return c->failed = true, &check_error_type;
    take_entries(c, b, starts, 0);
    if (!adds) take_entries(c, b, sizes, x->rank);
    if (steps != NULL) take_entries(c, b, steps, x->rank * (1 + !adds));
    bool good = sizes_of(c, b, sizes, &part);
    for (int i = 0; i < x->rank; i++) {
        expr *step = steps != NULL ? steps->u.list.items[i] : NULL;
        good = check_stretch(c, b, starts->u.list.items[i], step, part.dims[i], x->dims[i]) && good;
    }
    if (!good) return &check_error_type;
    return adds ? b->operands[0]->type : check_tensor_type(c, &part);
}
