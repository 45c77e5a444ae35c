/* Reductions, running ops, products and windows, naively (naive.h): in quadruple precision, each
 * with a bound of what rounding may do to the kernel's result. */
#include <math.h>
#include <string.h>

#include "tests/unit/naive.h"

#define FUNCTION(op) quad op##f128(quad x);
FUNCTION(exp)
FUNCTION(log)
#undef FUNCTION

static quad magnitude(quad x) {
    return x < (quad)0 ? -x : x;
}

/* ---- the entries that a result is made of ---- */

typedef struct entries {
    const application *a;
    unsigned axes;          /* along which they lie */
    int64_t dims[MAX_RANK]; /* 1 along the others */
    int64_t base[MAX_RANK], at[MAX_RANK];
    bool any;
} entries;

/* `dropped` axes are not in the result, the others of `axes` have size 1 there. */
static entries entries_of(const application *a, const int64_t *at, unsigned axes,
                          unsigned dropped) {
    entries e = {.a = a, .axes = axes, .any = true};
    for (int i = 0, k = 0; i < naive_rank(a, 0); i++) {
        bool reduced = ((axes >> i) & 1) != 0;
        e.dims[i] = reduced ? naive_dim(a, 0, i) : 1;
        e.any = e.any && e.dims[i] > 0;
        bool there = ((dropped >> i) & 1) == 0;
        e.base[i] = there && !reduced ? at[k] : 0;
        k += there;
    }
    return e;
}

static entries reduced_entries(const application *a, const int64_t *at) {
    unsigned axes = a->op == OP_sum_to ? a->attrs.axes | a->attrs.drop : a->attrs.axes;
    unsigned dropped = a->op == OP_sum_to ? a->attrs.drop : a->attrs.keepdims ? 0 : axes;
    return entries_of(a, at, axes, dropped);
}

/* The next entry; false after the last. */
static bool entries_next(entries *e, cell *x) {
    int64_t own[MAX_RANK];
    if (!e->any) return false;
    for (int i = 0; i < MAX_RANK; i++) own[i] = e->base[i] + e->at[i];
    *x = naive_cell(e->a, 0, own);
    e->any = naive_next(naive_rank(e->a, 0), e->dims, e->at);
    return true;
}

/* ---- reductions ---- */

static total sum_of(const application *a, const int64_t *at) {
    entries e = reduced_entries(a, at);
    total t = {0};
    cell x;
    while (entries_next(&e, &x)) total_add(&t, x);
    return t;
}

cell naive_op_sum(const application *a, const int64_t *at) {
    total t = sum_of(a, at);
    return total_cell(a, &t);
}

cell naive_op_sum_to(const application *a, const int64_t *at) {
    return naive_op_sum(a, at);
}

cell naive_op_mean(const application *a, const int64_t *at) {
    total t = sum_of(a, at);
    cell c = total_cell(a, &t);
    quad n = (quad)t.count;
    c.f /= n;
    c.slack = c.slack / n + magnitude(c.f) * naive_unit(a) * (quad)2 + naive_least(a);
    return c;
}

/* A product of n factors in any order: each multiplication rounds once, and may leave the type's
 * range on the way where the factors above 1, or those below it, do so among themselves. */
typedef struct factors {
    quad product, large, small;
    int64_t count, whole;
} factors;

static void factor(factors *p, cell x) {
    quad size = magnitude(x.f);
    p->product *= x.f;
    if (size > (quad)1) p->large *= size;
    if (size < (quad)1 && size > (quad)0) p->small *= size;
    p->whole = (int64_t)((uint64_t)p->whole * (uint64_t)x.i);
    p->count++;
}

static cell factors_cell(const application *a, const factors *p) {
    quad u = naive_unit(a), n = (quad)(p->count + 1);
    cell c = cell_near(p->product, magnitude(p->product) * (n * u / ((quad)1 - n * u)));
    c.i = naive_wrap(a, p->whole);
    c.any = (p->large > naive_most(a) || p->small * u < naive_least(a)) &&
            dtype_floating((dtype)a->out.dtype);
    c.any_sign = false;
    return c;
}

cell naive_op_prod(const application *a, const int64_t *at) {
    entries e = reduced_entries(a, at);
    factors p = {(quad)1, (quad)1, (quad)1, 0, 1};
    cell x;
    while (entries_next(&e, &x)) factor(&p, x);
    return factors_cell(a, &p);
}

/* Whether y takes the place of x as the largest (direction 1) or smallest (-1) so far. */
static bool better(cell x, cell y, int direction) {
    if (x.f != x.f || y.f != y.f) return x.f == x.f;
    return direction > 0 ? y.f > x.f || y.i > x.i : y.f < x.f || y.i < x.i;
}

static cell best(const application *a, const int64_t *at, int direction, int64_t *place) {
    entries e = reduced_entries(a, at);
    cell found = {0}, x;
    *place = -1;
    for (int64_t i = 0; entries_next(&e, &x); i++)
        if (*place < 0 || better(found, x, direction)) found = x, *place = i;
    found.any_sign = true;
    return found;
}

cell naive_op_max(const application *a, const int64_t *at) {
    int64_t place;
    return best(a, at, 1, &place);
}

cell naive_op_min(const application *a, const int64_t *at) {
    int64_t place;
    return best(a, at, -1, &place);
}

cell naive_op_argmax(const application *a, const int64_t *at) {
    int64_t place;
    best(a, at, 1, &place);
    return cell_int(place);
}

cell naive_op_argmin(const application *a, const int64_t *at) {
    int64_t place;
    best(a, at, -1, &place);
    return cell_int(place);
}

cell naive_op_any(const application *a, const int64_t *at) {
    entries e = reduced_entries(a, at);
    bool found = false;
    cell x;
    while (entries_next(&e, &x)) found = found || x.i != 0;
    return cell_int(found);
}

cell naive_op_all(const application *a, const int64_t *at) {
    entries e = reduced_entries(a, at);
    bool every = true;
    cell x;
    while (entries_next(&e, &x)) every = every && x.i != 0;
    return cell_int(every);
}

/* ---- exponentials ---- */

/* With m the largest entry and s the sum of exp(x - m), s in [1, n] when m is finite. A kernel's s
 * has a relative error of at most `loose` units: t exp(-t) < 1 bounds what the rounding of t = m -
 * x does to a term, exp adds two units, and adding up n more; `steps` counts how often all of it is
 * rescaled. */
typedef struct exponentials {
    quad m, s, loose;
} exponentials;

static exponentials exponentials_of(entries e, int64_t steps) {
    exponentials r = {.m = -(quad)INFINITY};
    entries again = e;
    quad n = (quad)0;
    cell x;
    while (entries_next(&e, &x))
        if (r.m == r.m && !(x.f <= r.m)) r.m = x.f;
    while (entries_next(&again, &x)) {
        r.s += expf128(x.f - r.m);
        n += (quad)1;
    }
    r.loose = (quad)2 * n + (quad)8 + (quad)(5 * steps);
    return r;
}

/* log s + m, which log s and the last sum round again. */
static cell log_sum(const application *a, const exponentials *r) {
    if (r->m == (quad)INFINITY || r->m == -(quad)INFINITY) return (cell){.f = r->m};
    quad log_s = logf128(r->s), u = naive_unit(a);
    cell c = cell_near(r->m + log_s, u * (r->loose + (quad)2 * log_s + magnitude(r->m + log_s)));
    c.any_sign = true;
    return c;
}

cell naive_op_logsumexp(const application *a, const int64_t *at) {
    exponentials r = exponentials_of(reduced_entries(a, at), 0);
    return log_sum(a, &r);
}

static entries line(const application *a, const int64_t *at) {
    return entries_of(a, at, 1u << a->attrs.axis, 0);
}

cell naive_op_softmax(const application *a, const int64_t *at) {
    exponentials r = exponentials_of(line(a, at), 0);
    quad off = naive_cell(a, 0, at).f - r.m, p = expf128(off) / r.s;
    return cell_near(p, naive_unit(a) * p * (magnitude(off) + r.loose + (quad)4) +
                            (quad)4 * naive_least(a));
}

cell naive_op_log_softmax(const application *a, const int64_t *at) {
    exponentials r = exponentials_of(line(a, at), 0);
    quad off = naive_cell(a, 0, at).f - r.m, log_s = logf128(r.s);
    if (off == -(quad)INFINITY) return (cell){.f = off - log_s};
    cell c = cell_near(off - log_s, naive_unit(a) * (magnitude(off) + r.loose + (quad)2 * log_s +
                                                     magnitude(off - log_s)));
    c.any_sign = true;
    return c;
}

/* ---- running ops ---- */

/* The entries up to this one, in the direction of the op. */
static entries line_so_far(const application *a, const int64_t *at) {
    entries e = line(a, at);
    int axis = a->attrs.axis;
    e.base[axis] = a->attrs.reversed ? at[axis] : 0;
    e.dims[axis] = a->attrs.reversed ? naive_dim(a, 0, axis) - at[axis] : at[axis] + 1;
    return e;
}

cell naive_op_cumsum(const application *a, const int64_t *at) {
    entries e = line_so_far(a, at);
    total t = {0};
    cell x;
    while (entries_next(&e, &x)) total_add(&t, x);
    return total_cell(a, &t);
}

cell naive_op_cumprod(const application *a, const int64_t *at) {
    entries e = line_so_far(a, at);
    factors p = {(quad)1, (quad)1, (quad)1, 0, 1};
    cell x;
    while (entries_next(&e, &x)) factor(&p, x);
    return factors_cell(a, &p);
}

cell naive_op_logcumsumexp(const application *a, const int64_t *at) {
    entries e = line_so_far(a, at);
    exponentials r = exponentials_of(e, e.dims[a->attrs.axis]);
    return log_sum(a, &r);
}

/* Each step rounds its product and its sum, and passes on what is off so far. */
cell naive_op_scan_linear(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK], n = a->out.dims[a->attrs.axis], last = at[a->attrs.axis];
    int64_t count = a->attrs.reversed ? n - last : last + 1;
    quad r = (quad)0, slack = (quad)0, u = naive_unit(a);
    cell c = {0};
    memcpy(own, at, sizeof own);
    for (int64_t j = 0; j < count; j++) {
        own[a->attrs.axis] = a->attrs.reversed ? n - 1 - j : j;
        quad f = naive_cell(a, 0, own).f, b = naive_cell(a, 1, own).f;
        quad product = j == 0 ? (quad)0 : cell_product(a, (cell){.f = f}, (cell){.f = r}).f;
        slack = j == 0 ? (quad)0 : magnitude(f) * slack * ((quad)1 + (quad)4 * u);
        r = j == 0 ? b : product + b;
        if (j > 0) slack += u * (magnitude(product) + magnitude(r)) * (quad)2 + naive_least(a);
        bool far = magnitude(product) > naive_most(a) || magnitude(r) + slack > naive_most(a);
        c.any = c.any || (far && magnitude(r) < (quad)INFINITY) || slack == (quad)INFINITY;
    }
    c.f = r, c.slack = slack == slack ? slack : (quad)0, c.any_sign = count > 1;
    return c;
}

/* ---- matrix products ---- */

/* Of operands k and k + 1, at an index of their product. */
static void add_products(const application *a, int k, const int64_t *at, total *t) {
    int x = naive_rank(a, k), y = naive_rank(a, k + 1);
    int batch = (x > y ? x : y) - 2;
    if (batch < 0) batch = 0;
    int64_t row[MAX_RANK] = {0}, column[MAX_RANK] = {0};
    const int64_t *rest = at + batch;
    for (int i = 0; i < x - 2; i++) row[i] = naive_dim(a, k, i) == 1 ? 0 : at[batch - (x - 2) + i];
    for (int i = 0; i < y - 2; i++)
        column[i] = naive_dim(a, k + 1, i) == 1 ? 0 : at[batch - (y - 2) + i];
    if (x >= 2) row[x - 2] = *rest++;
    if (y >= 2) column[y - 1] = *rest;
    for (int64_t i = 0; i < naive_dim(a, k, x - 1); i++) {
        row[x - 1] = column[y >= 2 ? y - 2 : 0] = i;
        total_add_product(a, t, naive_cell(a, k, row), naive_cell(a, k + 1, column));
    }
}

cell naive_op_matmul(const application *a, const int64_t *at) {
    total t = {0};
    add_products(a, 0, at, &t);
    return total_cell(a, &t);
}

cell naive_op_matmul_add(const application *a, const int64_t *at) {
    total t = {0};
    total_add(&t, naive_cell(a, 0, at));
    add_products(a, 1, at, &t);
    return total_cell(a, &t);
}

/* ---- windows ---- */

/* Where in x an entry of the window at `place` lies along one spatial axis; -1 for the padding. */
static int64_t under(const application *a, int spatial, int64_t size, int64_t place, int64_t tap,
                     int64_t dilation) {
    int64_t at = place * a->attrs.step[spatial] + tap * dilation - a->attrs.lo[spatial];
    return at >= 0 && at < size ? at : -1;
}

typedef struct convolution {
    const int64_t *x, *w, *y; /* dims */
    int spatial;
} convolution;

/* Adds, for every meeting of an entry of x, of a filter and of y that has the three indices'
 * `fixed` one, the product of the two operands there. */
static void add_meetings(const application *a, const convolution *v, const int64_t *fixed_x,
                         const int64_t *fixed_w, const int64_t *fixed_y, total *t) {
    int64_t all[2 + 2 * MAX_RANK] = {0}, dims[2 + 2 * MAX_RANK];
    int64_t x[MAX_RANK] = {0}, w[MAX_RANK] = {0}, y[MAX_RANK] = {0};
    int s = v->spatial, rank = 3 + 2 * s;
    int64_t groups = a->attrs.lo[2], each = v->w[0] / groups;
    /* n, o, c of the group, the places of y, the taps */
    dims[0] = v->y[0], dims[1] = v->w[0], dims[2] = v->w[1];
    for (int i = 0; i < s; i++) dims[3 + i] = v->y[2 + i], dims[3 + s + i] = v->w[2 + i];
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0) return;
    do {
        bool met = true;
        x[0] = y[0] = all[0], y[1] = w[0] = all[1], w[1] = all[2];
        x[1] = all[1] / each * v->w[1] + all[2];
        for (int i = 0; i < s; i++) {
            y[2 + i] = all[3 + i], w[2 + i] = all[3 + s + i];
            x[2 + i] = under(a, i, v->x[2 + i], y[2 + i], w[2 + i], a->attrs.step[2 + i]);
            met = met && x[2 + i] >= 0;
        }
        for (int i = 0; i < s + 2 && met; i++)
            met = (fixed_x == NULL || x[i] == fixed_x[i]) &&
                  (fixed_w == NULL || w[i] == fixed_w[i]) &&
                  (fixed_y == NULL || y[i] == fixed_y[i]);
        if (!met) continue;
        const int64_t *first = fixed_x == NULL ? x : y, *second = fixed_w == NULL ? w : y;
        total_add_product(a, t, naive_cell(a, 0, first), naive_cell(a, 1, second));
    } while (naive_next(rank, dims, all));
}

static cell convolved(const application *a, const int64_t *at) {
    const int64_t *first = value_dims(&a->in[0]), *second = value_dims(&a->in[1]);
    convolution v = {first, second, a->out.dims, a->out.rank - 2};
    total t = {0};
    add_meetings(a, &v, NULL, NULL, at, &t);
    return total_cell(a, &t);
}

cell naive_op_conv1d(const application *a, const int64_t *at) {
    return convolved(a, at);
}

cell naive_op_conv2d(const application *a, const int64_t *at) {
    return convolved(a, at);
}

cell naive_op_conv_input_grad(const application *a, const int64_t *at) {
    convolution v = {a->out.dims, value_dims(&a->in[1]), value_dims(&a->in[0]), a->out.rank - 2};
    total t = {0};
    add_meetings(a, &v, at, NULL, NULL, &t);
    return total_cell(a, &t);
}

cell naive_op_conv_weight_grad(const application *a, const int64_t *at) {
    convolution v = {value_dims(&a->in[0]), a->out.dims, value_dims(&a->in[1]), a->out.rank - 2};
    total t = {0};
    add_meetings(a, &v, NULL, at, NULL, &t);
    return total_cell(a, &t);
}

/* The largest entry under a window, the first of several, and where it is in its plane. */
static cell pooled(const application *a, const int64_t *at, int64_t *place) {
    int64_t own[MAX_RANK] = {at[0], at[1]}, tap[2] = {0};
    const int64_t *dims = value_dims(&a->in[0]);
    cell found = {0};
    *place = -1;
    do {
        for (int i = 0; i < 2; i++) own[2 + i] = under(a, i, dims[2 + i], at[2 + i], tap[i], 1);
        if (own[2] < 0 || own[3] < 0) continue;
        cell x = naive_cell(a, 0, own);
        if (*place < 0 || better(found, x, 1)) found = x, *place = own[2] * dims[3] + own[3];
    } while (naive_next(2, a->attrs.step + 2, tap));
    return found;
}

cell naive_op_max_pool2d(const application *a, const int64_t *at) {
    int64_t place;
    return pooled(a, at, &place);
}

cell naive_op_max_pool_place(const application *a, const int64_t *at) {
    int64_t place;
    pooled(a, at, &place);
    return cell_int(place);
}

static cell divided(const application *a, const total *t) {
    cell c = total_cell(a, t);
    quad n = (quad)(a->attrs.step[2] * a->attrs.step[3]);
    c.f /= n;
    /* Where a gradient is added up, each part has been rounded after its division. */
    c.slack = c.slack * (quad)2 / n + magnitude(c.f) * naive_unit(a) * (quad)2 +
              (quad)(t->count + 1) * naive_least(a);
    return c;
}

cell naive_op_avg_pool2d(const application *a, const int64_t *at) {
    int64_t own[MAX_RANK] = {at[0], at[1]}, tap[2] = {0};
    const int64_t *dims = value_dims(&a->in[0]);
    total t = {0};
    do {
        for (int i = 0; i < 2; i++) own[2 + i] = under(a, i, dims[2 + i], at[2 + i], tap[i], 1);
        if (own[2] >= 0 && own[3] >= 0) total_add(&t, naive_cell(a, 0, own));
    } while (naive_next(2, a->attrs.step + 2, tap));
    return divided(a, &t);
}

cell naive_op_avg_pool_grad(const application *a, const int64_t *at) {
    const int64_t *dims = value_dims(&a->in[0]);
    int64_t own[MAX_RANK] = {0};
    total t = {0};
    do {
        bool met = own[0] == at[0] && own[1] == at[1];
        for (int i = 0; i < 2; i++) {
            int64_t first = own[2 + i] * a->attrs.step[i] - a->attrs.lo[i];
            met = met && at[2 + i] >= first && at[2 + i] < first + a->attrs.step[2 + i];
        }
        if (met) total_add(&t, naive_cell(a, 0, own));
    } while (naive_next(4, dims, own));
    return divided(a, &t);
}
