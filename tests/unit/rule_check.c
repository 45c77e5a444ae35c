/* See rule_check.h. Points are kept as doubles and turned into values of the type and layout asked
 * for; the rules run through a performer that hands them only what `needs` grants. */
#include "tests/unit/rule_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "ad/performer.h"
#include "kernels/kernel.h"

const rule_subject rules_in_use = {rules_vjp, rules_jvp};

/* A case at a point, with the directions that it is tried in. */
typedef struct trial {
    const rule_case *rc;
    const rule_subject *subject;
    op_attrs attrs;
    context c;
    numbers x[CASE_OPERANDS], v[CASE_OPERANDS]; /* the point and a direction */
    numbers weight[CASE_OPERANDS];              /* of the contributions, for the second order */
    numbers out, u, v_u; /* the result, its cotangent, a direction for that */
    uint64_t seed;
    char *why;
    size_t room;
} trial;

static const span nowhere;

PRINTF_LIKE(2, 3) static bool wrong(trial *t, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    vsnprintf(t->why, t->room, format, rest);
    va_end(rest);
    return false;
}

/* ---- points ---- */

static double uniform(trial *t) {
    uint64_t z = (t->seed += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void size_up(numbers *x) {
    x->size = 1;
    for (int i = 0; i < x->rank; i++) x->size *= x->dims[i];
}

static uint8_t parse_shape(const char *text, numbers *x) {
    unsigned ones = 0;
    x->rank = 0;
    while (*text != '\0') {
        char *end;
        x->dims[x->rank] = strtol(text, &end, 10);
        if (*end == '*') ones |= 1u << x->rank, end++;
        x->rank++;
        text = end;
        while (*text == ' ') text++;
    }
    size_up(x);
    return (uint8_t)ones;
}

static void parse_entries(const char *text, numbers *x) {
    for (int64_t i = 0; i < x->size; i++) {
        char *end;
        x->at[i] = (double)strtol(text, &end, 10);
        text = end;
    }
}

static bool real(const rule_case *rc, int k) {
    return k < rc->n && rc->in[k].entries == NULL;
}

/* Small normal-sized numbers of either sign, of a's shape. */
static void direction(trial *t, const numbers *a, numbers *x) {
    *x = *a;
    for (int64_t i = 0; i < x->size; i++) x->at[i] = 2.0 * uniform(t) - 1.0;
}

/* Matrices on the last two axes as the case asks for them: symmetric, their diagonals raised. */
static void shape_matrices(const operand_spec *spec, numbers *x, double diagonal) {
    if (x->rank < 2) return;
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    for (int64_t i = 0; i < x->size; i++) {
        int64_t row = i / columns % rows, column = i % columns;
        int64_t mirror = i + (column - row) * (columns - 1);
        if (spec->symmetric && column < row) x->at[i] = x->at[mirror];
        if (column == row) x->at[i] += diagonal;
    }
}

/* Spreads the elements of all operands over distinct places of their domains, so that nothing ties.
 */
static void choose_point(trial *t) {
    int place[CASE_OPERANDS * CASE_ELEMENTS] = {0}, total = 0, next = 0;
    for (int k = 0; k < t->rc->n; k++)
        if (real(t->rc, k)) total += (int)t->x[k].size;
    for (int i = 0; i < total; i++) {
        int j = (int)(uniform(t) * (i + 1));
        place[i] = place[j];
        place[j] = i;
    }
    for (int k = 0; k < t->rc->n; k++) {
        const operand_spec *spec = &t->rc->in[k];
        if (!real(t->rc, k)) {
            parse_entries(spec->entries, &t->x[k]);
            continue;
        }
        for (int64_t i = 0; i < t->x[k].size; i++) {
            double fraction = (place[next++] + 0.35 + 0.3 * uniform(t)) / total;
            double x = spec->low + (spec->high - spec->low) * fraction;
            t->x[k].at[i] = spec->either_sign && uniform(t) < 0.5 ? -x : x;
        }
        shape_matrices(spec, &t->x[k], spec->diagonal);
    }
}

/* ---- values ---- */

static int64_t offset_of(int64_t i, int rank, const int64_t *dims, const int64_t *strides) {
    int64_t offset = 0;
    for (int a = rank - 1; a >= 0; a--) {
        offset += (i % dims[a]) * strides[a];
        i /= dims[a];
    }
    return offset;
}

static void write_element(tensor *x, int64_t offset, double number) {
    switch ((dtype)x->dtype) {
    case DT_F32: ((float *)x->data)[offset] = (float)number; break;
    case DT_F64: ((double *)x->data)[offset] = number; break;
    case DT_I32: ((int32_t *)x->data)[offset] = (int32_t)number; break;
    case DT_I64: ((int64_t *)x->data)[offset] = (int64_t)number; break;
    case DT_Bool: ((bool *)x->data)[offset] = number != 0; break;
    case DTYPE_COUNT: break;
    }
}

/* Fresh room with a view on it that lies as asked for. NULL on failure. */
static tensor *room_for(context *c, const numbers *x, dtype type, layout how) {
    int64_t dims[MAX_RANK], strides[MAX_RANK], own[MAX_RANK], offset = 0;
    int rank = x->rank;
    memcpy(dims, x->dims, sizeof dims);
    if (how == LAYOUT_STRIDED) dims[rank - 1] *= 2;
    if (how == LAYOUT_PERMUTED)
        for (int i = 0; i < rank; i++) dims[i] = x->dims[rank - 1 - i];
    tensor *base = tensor_new(c, type, rank, dims);
    if (base == NULL || how == LAYOUT_PLAIN) return base;
    for (int64_t i = 0; i < base->size; i++) write_element(base, i, 77.0);
    shape_strides(rank, dims, own);
    for (int i = 0; i < rank; i++) {
        strides[i] = how == LAYOUT_PERMUTED ? own[rank - 1 - i] : own[i];
        if (how == LAYOUT_REVERSED && x->size > 0) {
            offset += own[i] * (dims[i] - 1);
            strides[i] = -own[i];
        }
    }
    if (how == LAYOUT_STRIDED) strides[rank - 1] = 2;
    tensor *view = tensor_view(c, base, offset, rank, x->dims, strides);
    tensor_release(c, base);
    return view;
}

static bool value_of(context *c, const numbers *x, dtype type, layout how, value *out) {
    *out = value_none();
    if (x->rank == 0) {
        *out = value_number(type, x->at[0]);
        return true;
    }
    tensor *room = room_for(c, x, type, how);
    if (room == NULL) return false;
    for (int64_t i = 0; i < x->size; i++)
        write_element(room, offset_of(i, x->rank, x->dims, room->strides), x->at[i]);
    *out = value_tensor(room);
    return true;
}

static void numbers_of(const value *v, numbers *x) {
    *x = (numbers){.rank = value_rank(v)};
    if (v->kind == VALUE_NUMBER) {
        x->at[0] = value_as_double(v);
        x->size = 1;
        return;
    }
    const tensor *t = v->as.t;
    memcpy(x->dims, t->dims, sizeof x->dims);
    size_up(x);
    for (int64_t i = 0; i < x->size && i < CASE_ELEMENTS; i++) {
        int64_t offset = offset_of(i, x->rank, x->dims, t->strides);
        x->at[i] = t->dtype == DT_F32 ? (double)((const float *)t->data)[offset]
                                      : ((const double *)t->data)[offset];
    }
}

static void release_all(context *c, value *v, int n) {
    for (int k = 0; k < n; k++) {
        value_release(c, v[k]);
        v[k] = value_none();
    }
}

/* The operands at x + h * v; v may be NULL. */
static bool make_operands(context *c, const trial *t, const numbers *v, double h, dtype type,
                          value *in) {
    const rule_case *rc = t->rc;
    for (int k = 0; k < rc->n; k++) in[k] = value_none();
    for (int k = 0; k < rc->n; k++) {
        numbers x = t->x[k];
        dtype own = real(rc, k) ? type : rc->in[k].condition ? DT_Bool : DT_I64;
        for (int64_t i = 0; v != NULL && real(rc, k) && i < x.size; i++) x.at[i] += h * v[k].at[i];
        if (!value_of(c, &x, own, rc->in[k].layout, &in[k])) {
            release_all(c, in, rc->n);
            return false;
        }
    }
    return true;
}

static bool operands_at(trial *t, const numbers *v, double h, dtype type, value *in) {
    return make_operands(&t->c, t, v, h, type, in);
}

static bool perform(context *c, op_id op, const op_attrs *attrs, int n, const value *in,
                    value *out) {
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in};
    if (door_perform(c, &call, out)) return true;
    *out = value_none();
    return false;
}

static bool perform_case(trial *t, const value *in, value *out) {
    return perform(&t->c, t->rc->op, &t->attrs, t->rc->n, in, out);
}

/* ---- running the rules ---- */

typedef struct collector {
    performer p;
    value *slot;
    const op_type *type;
} collector;

static bool collect(void *self, int k, const value *v, bool spent) {
    collector *to = self;
    (void)spent;
    if (to->slot[k].kind == VALUE_NONE) {
        to->slot[k] = value_retain(*v);
        return true;
    }
    value in[2] = {to->slot[k], *v}, sum;
    if (!perform(to->p.b.c, OP_add, NULL, 2, in, &sum)) return false;
    value_release(to->p.b.c, to->slot[k]);
    to->slot[k] = sum;
    return true;
}

static bool zeros(context *c, const op_type *type, value *out) {
    op_attrs attrs = {.rank = type->rank};
    value zero = value_number((dtype)type->dtype, 0.0);
    memcpy(attrs.dims, type->dims, sizeof attrs.dims);
    return perform(c, OP_full, &attrs, 1, &zero, out);
}

static bool collect_into(void *self, int k, op_id op, const op_attrs *attrs, int n,
                         const value *rest) {
    collector *to = self;
    context *c = to->p.b.c;
    value in[3] = {to->slot[k], rest[0], n > 1 ? rest[1] : value_none()}, sum;
    if (in[0].kind == VALUE_NONE && op == OP_matmul_add) {
        op_attrs product = {.ones = {attrs->ones[1], attrs->ones[2], 0}};
        return perform(c, OP_matmul, &product, 2, rest, &to->slot[k]);
    }
    if (in[0].kind == VALUE_NONE && !zeros(c, &to->type[k], &in[0])) return false;
    bool ok = perform(c, op, attrs, n + 1, in, &sum);
    value_release(c, in[0]);
    to->slot[k] = ok ? sum : value_none();
    return ok;
}

/* What every rule may know of the case. */
static void site_of(trial *t, const value *in, const value *out, op_type *type, int64_t *sizes,
                    rule_site *site) {
    for (int k = 0; k < t->rc->n; k++) {
        type[k] = value_type(&in[k]);
        sizes[k] = type[k].rank > 0 ? type[k].dims[t->attrs.axis] : 1;
    }
    *site = (rule_site){.attrs = &t->attrs, .n = t->rc->n, .in_type = type, .sizes = sizes};
    site->out_type = value_type(out);
    site->out_ones =
        rules_result_ones(t->rc->op, &t->attrs, t->rc->n, type, t->attrs.ones, &site->out_type);
}

/* Adds the contributions to slot[k] for the operands of the mask. */
static bool run_vjp(trial *t, const value *in, const value *out, const value *d, unsigned mask,
                    value *slot) {
    op_type type[CASE_OPERANDS];
    int64_t sizes[CASE_OPERANDS];
    term terms[CASE_OPERANDS];
    bool wants[CASE_OPERANDS];
    rule_site site;
    unsigned needs = 0;
    site_of(t, in, out, type, sizes, &site);
    collector to = {.slot = slot, .type = type};
    performer_init(&to.p, &t->c);
    to.p.at = t->c.top;
    to.p.sink = collect;
    to.p.sink_into = collect_into;
    to.p.self = &to;
    for (int k = 0; k < t->rc->n; k++) {
        wants[k] = ((mask >> k) & 1) != 0;
        if (wants[k]) needs |= op_table[t->rc->op].needs >> (8 * k);
    }
    for (int k = 0; k < t->rc->n; k++) {
        bool granted = ((needs >> k) & 1) != 0;
        terms[k] = granted ? performer_add(&to.p, &in[k], t->attrs.ones[k]) : TERM_NONE;
    }
    site.in = terms;
    site.wants = wants;
    site.out = (needs & NEED_OUT) != 0 ? performer_add(&to.p, out, site.out_ones) : TERM_NONE;
    site.d = performer_add(&to.p, d, site.out_ones);
    t->subject->vjp(&to.p.b, t->rc->op, &site);
    bool ok = !to.p.b.failed;
    performer_clear(&to.p);
    return ok;
}

/* The tangent for tangents of the operands of the mask; NONE where there is none. */
static bool run_jvp(trial *t, const value *in, const value *out, const value *tangent,
                    unsigned mask, value *result) {
    op_type type[CASE_OPERANDS];
    int64_t sizes[CASE_OPERANDS];
    term terms[CASE_OPERANDS], tangents[CASE_OPERANDS];
    rule_site site;
    performer p;
    site_of(t, in, out, type, sizes, &site);
    performer_init(&p, &t->c);
    p.at = t->c.top;
    for (int k = 0; k < t->rc->n; k++) {
        bool there = ((mask >> k) & 1) != 0;
        terms[k] = performer_add(&p, &in[k], t->attrs.ones[k]);
        tangents[k] = there ? performer_add(&p, &tangent[k], t->attrs.ones[k]) : TERM_NONE;
    }
    site.in = terms;
    site.tangent = tangents;
    site.out = performer_add(&p, out, site.out_ones);
    term made = t->subject->jvp(&p.b, t->rc->op, &site);
    bool ok = !p.b.failed;
    *result = ok && made >= 0 ? value_retain(*performer_value(&p, made)) : value_none();
    performer_clear(&p);
    return ok;
}

/* ---- first order ---- */

/* What the rules say of the operands of a mask. */
typedef struct derivative {
    numbers tangent;
    numbers gradient[CASE_OPERANDS];
} derivative;

static bool same_shape(const numbers *a, const numbers *b) {
    return shape_same(a->rank, a->dims, b->rank, b->dims);
}

static bool take_numbers(trial *t, const value *v, const numbers *like, const char *what,
                         numbers *x) {
    if (v->kind == VALUE_NONE) {
        *x = *like;
        for (int64_t i = 0; i < x->size; i++) x->at[i] = 0.0;
        return true;
    }
    numbers_of(v, x);
    return same_shape(x, like) || wrong(t, "%s has another shape than it should", what);
}

static bool derive_at(trial *t, unsigned mask, const value *in, const value *prior, dtype type,
                      derivative *d) {
    context *c = &t->c;
    value out = value_none(), made = value_none(), u = value_none();
    value slot[CASE_OPERANDS] = {0}, tangent[CASE_OPERANDS] = {0};
    bool ok = perform_case(t, in, &out);
    ok = ok && value_of(c, &t->u, (dtype)out.dtype, LAYOUT_PLAIN, &u);
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (prior != NULL) slot[k] = value_retain(prior[k]);
        if (real(t->rc, k)) ok = value_of(c, &t->v[k], type, t->rc->in[k].layout, &tangent[k]);
    }
    ok = ok && run_vjp(t, in, &out, &u, mask, slot) && run_jvp(t, in, &out, tangent, mask, &made);
    ok = ok && take_numbers(t, &made, &t->out, "the tangent", &d->tangent);
    for (int k = 0; k < t->rc->n && ok; k++)
        ok = take_numbers(t, &slot[k], &t->x[k], "a contribution", &d->gradient[k]);
    value_release(c, out);
    value_release(c, made);
    value_release(c, u);
    release_all(c, slot, t->rc->n);
    release_all(c, tangent, t->rc->n);
    return ok;
}

static bool derive(trial *t, unsigned mask, dtype type, derivative *d) {
    value in[CASE_OPERANDS];
    if (!operands_at(t, NULL, 0, type, in)) return false;
    bool ok = derive_at(t, mask, in, NULL, type, d);
    release_all(&t->c, in, t->rc->n);
    return ok;
}

static bool close_to(double a, double b, double scale, double tolerance) {
    return fabs(a - b) <= tolerance * fmax(scale, fmax(fabs(a), fabs(b)));
}

static bool all_close(const numbers *a, const numbers *b, double tolerance) {
    double scale = 1e-2;
    for (int64_t i = 0; i < b->size; i++) scale = fmax(scale, fabs(b->at[i]));
    for (int64_t i = 0; i < b->size; i++)
        if (!close_to(a->at[i], b->at[i], scale, tolerance)) return false;
    return true;
}

static double dot(const numbers *a, const numbers *b, double *scale) {
    double sum = 0.0;
    for (int64_t i = 0; i < a->size; i++) {
        sum += a->at[i] * b->at[i];
        *scale += fabs(a->at[i] * b->at[i]);
    }
    return sum;
}

static bool check_transpose(trial *t, unsigned mask, const derivative *d) {
    double scale = 1e-3, forward = dot(&t->u, &d->tangent, &scale), reverse = 0.0;
    for (int k = 0; k < t->rc->n; k++)
        if (((mask >> k) & 1) != 0) reverse += dot(&d->gradient[k], &t->v[k], &scale);
    if (close_to(forward, reverse, scale, 1e-12)) return true;
    return wrong(t, "<u, J v> = %.17g but <J^T u, v> = %.17g (operands %x)", forward, reverse,
                 mask);
}

/* The op at x + h * v. */
static bool result_at(trial *t, const numbers *v, double h, numbers *out) {
    value in[CASE_OPERANDS], result;
    if (!operands_at(t, v, h, DT_F64, in)) return false;
    bool ok = perform_case(t, in, &result);
    release_all(&t->c, in, t->rc->n);
    if (!ok) return false;
    numbers_of(&result, out);
    value_release(&t->c, result);
    return true;
}

/* The central difference with steps h and h / 2, extrapolated: exact to the fourth order. */
static bool check_differences(trial *t, unsigned mask, const derivative *d) {
    const double h = 1.0 / 512;
    numbers v[CASE_OPERANDS], high, low, higher, lower, slope = t->out;
    for (int k = 0; k < t->rc->n; k++) {
        v[k] = t->v[k];
        for (int64_t i = 0; i < v[k].size && ((mask >> k) & 1) == 0; i++) v[k].at[i] = 0.0;
    }
    if (!result_at(t, v, h, &high) || !result_at(t, v, -h, &low) ||
        !result_at(t, v, h / 2, &higher) || !result_at(t, v, -h / 2, &lower))
        return false;
    for (int64_t i = 0; i < slope.size; i++) {
        double coarse = (high.at[i] - low.at[i]) / (2 * h);
        double fine = (higher.at[i] - lower.at[i]) / h;
        slope.at[i] = (4 * fine - coarse) / 3;
    }
    if (all_close(&d->tangent, &slope, 1e-7)) return true;
    for (int64_t i = 0; i < slope.size; i++)
        if (!close_to(d->tangent.at[i], slope.at[i], 1e-2, 1e-7))
            return wrong(t, "J v = %.17g but differences give %.17g (entry %lld, operands %x)",
                         d->tangent.at[i], slope.at[i], (long long)i, mask);
    return wrong(t, "J v differs from differences (operands %x)", mask);
}

/* The same rules in F32, roughly. */
static bool check_single(trial *t, unsigned mask, const derivative *d) {
    derivative single;
    if (!derive(t, mask, DT_F32, &single)) return false;
    bool ok = all_close(&single.tangent, &d->tangent, 1e-3);
    for (int k = 0; k < t->rc->n; k++)
        if (((mask >> k) & 1) != 0)
            ok = ok && all_close(&single.gradient[k], &d->gradient[k], 1e-3);
    return ok || wrong(t, "F32 and F64 disagree (operands %x)", mask);
}

/* Contributions are added to adjoints that are there already. */
static bool check_present(trial *t, unsigned mask, const derivative *d) {
    value in[CASE_OPERANDS], prior[CASE_OPERANDS] = {0};
    derivative with;
    if (!operands_at(t, NULL, 0, DT_F64, in)) return false;
    bool ok = true;
    for (int k = 0; k < t->rc->n && ok; k++)
        if (real(t->rc, k)) ok = value_of(&t->c, &t->weight[k], DT_F64, LAYOUT_PLAIN, &prior[k]);
    ok = ok && derive_at(t, mask, in, prior, DT_F64, &with);
    release_all(&t->c, in, t->rc->n);
    release_all(&t->c, prior, t->rc->n);
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (((mask >> k) & 1) == 0) continue;
        numbers expected = t->weight[k];
        for (int64_t i = 0; i < expected.size; i++) expected.at[i] += d->gradient[k].at[i];
        if (!all_close(&with.gradient[k], &expected, 1e-12))
            ok = wrong(t, "a contribution to operand %d is not added to what is there", k);
    }
    return ok;
}

/* ---- through the handlers ---- */

static bool same_bits(const numbers *a, const numbers *b) {
    if (!same_shape(a, b)) return false;
    for (int64_t i = 0; i < a->size; i++)
        if (a->at[i] != b->at[i] && !(isnan(a->at[i]) && isnan(b->at[i]))) return false;
    return true;
}

static bool check_reverse(trial *t, unsigned mask, const derivative *d) {
    context *c = &t->c;
    value in[CASE_OPERANDS], out = value_none(), u, gradient[CASE_OPERANDS],
                             parameter[CASE_OPERANDS];
    reverse_scope scope;
    int count = 0;
    if (!operands_at(t, NULL, 0, DT_F64, in)) return false;
    bool ok = value_of(c, &t->u, DT_F64, LAYOUT_PLAIN, &u) && reverse_enter(c, &scope);
    bool inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (((mask >> k) & 1) == 0) continue;
        ok = reverse_parameter(c, &scope, nowhere, &in[k]);
        parameter[count++] = in[k];
    }
    ok = ok && perform_case(t, in, &out);
    if (inside && !ok) reverse_abandon(c, &scope);
    ok = ok && reverse_leave(c, &scope, &out, &u, parameter, count, nowhere, gradient);
    for (int k = 0, next = 0; k < t->rc->n && ok; k++) {
        numbers x;
        if (((mask >> k) & 1) == 0) continue;
        numbers_of(&gradient[next], &x);
        value_release(c, gradient[next++]);
        if (!same_bits(&x, &d->gradient[k]))
            wrong(t, "the reverse handler's gradient %d differs from the rule's (operands %x)", k,
                  mask);
    }
    value_release(c, out);
    value_release(c, u);
    release_all(c, in, t->rc->n);
    return ok && t->why[0] == '\0';
}

static bool check_forward(trial *t, unsigned mask, const derivative *d) {
    context *c = &t->c;
    value in[CASE_OPERANDS], out = value_none(), made;
    forward_scope scope;
    if (!operands_at(t, NULL, 0, DT_F64, in)) return false;
    bool ok = forward_enter(c, &scope), inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        value tangent = value_none();
        if (((mask >> k) & 1) == 0) continue;
        ok = value_of(c, &t->v[k], DT_F64, t->rc->in[k].layout, &tangent) &&
             forward_parameter(c, &scope, &tangent, nowhere, &in[k]);
        value_release(c, tangent);
    }
    ok = ok && perform_case(t, in, &out);
    if (inside && !ok) forward_abandon(c, &scope);
    ok = ok && forward_leave(c, &scope, &out, 1, nowhere, &made);
    if (ok) {
        numbers x;
        numbers_of(&made, &x);
        value_release(c, made);
        if (!same_bits(&x, &d->tangent))
            ok = wrong(t, "the forward handler's tangent differs from the rule's (operands %x)",
                       mask);
    }
    value_release(c, out);
    release_all(c, in, t->rc->n);
    return ok;
}

/* ---- second order: phi(x, u) = sum of weight[k] * contribution k ---- */

/* phi as a value, performed at the innermost handler. */
static bool weigh(trial *t, const value *in, const value *u, unsigned mask, value *phi) {
    context *c = &t->c;
    value out = value_none(), slot[CASE_OPERANDS] = {0};
    *phi = value_f64(0.0);
    bool ok = perform_case(t, in, &out) && run_vjp(t, in, &out, u, mask, slot);
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (((mask >> k) & 1) == 0 || slot[k].kind == VALUE_NONE) continue;
        value pair[2] = {slot[k], value_none()}, product = value_none(), sum[2] = {*phi};
        op_attrs all = {.axes = (uint8_t)((1u << t->x[k].rank) - 1)};
        ok = value_of(c, &t->weight[k], DT_F64, LAYOUT_PLAIN, &pair[1]) &&
             perform(c, OP_mul, NULL, 2, pair, &product) &&
             perform(c, OP_sum, &all, 1, &product, &sum[1]) &&
             perform(c, OP_add, NULL, 2, sum, phi);
        value_release(c, pair[1]);
        value_release(c, product);
    }
    value_release(c, out);
    release_all(c, slot, t->rc->n);
    return ok;
}

static bool phi_at(trial *t, unsigned mask, double h, double *phi) {
    value in[CASE_OPERANDS], u = value_none(), result;
    numbers shifted = t->u;
    for (int64_t i = 0; i < shifted.size; i++) shifted.at[i] += h * t->v_u.at[i];
    if (!operands_at(t, t->v, h, DT_F64, in)) return false;
    bool ok =
        value_of(&t->c, &shifted, DT_F64, LAYOUT_PLAIN, &u) && weigh(t, in, &u, mask, &result);
    if (ok) *phi = value_as_double(&result);
    value_release(&t->c, u);
    release_all(&t->c, in, t->rc->n);
    return ok;
}

/* The derivative of phi along (v, v_u), by reverse mode over the rules. */
static bool phi_slope(trial *t, unsigned mask, double *slope, double *scale) {
    context *c = &t->c;
    value in[CASE_OPERANDS], u = value_none(), phi;
    value parameter[CASE_OPERANDS + 1], gradient[CASE_OPERANDS + 1];
    const numbers *along[CASE_OPERANDS + 1];
    reverse_scope scope;
    int count = 0;
    if (!operands_at(t, NULL, 0, DT_F64, in)) return false;
    bool ok = value_of(c, &t->u, DT_F64, LAYOUT_PLAIN, &u) && reverse_enter(c, &scope);
    bool inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (!real(t->rc, k)) continue;
        ok = reverse_parameter(c, &scope, nowhere, &in[k]);
        along[count] = &t->v[k];
        parameter[count++] = in[k];
    }
    ok = ok && reverse_parameter(c, &scope, nowhere, &u);
    along[count] = &t->v_u;
    parameter[count++] = u;
    ok = ok && weigh(t, in, &u, mask, &phi);
    if (inside && !ok) reverse_abandon(c, &scope);
    ok = ok && reverse_leave(c, &scope, &phi, NULL, parameter, count, nowhere, gradient);
    *slope = 0.0;
    for (int i = 0; i < count && ok; i++) {
        numbers g;
        numbers_of(&gradient[i], &g);
        value_release(c, gradient[i]);
        *slope += dot(&g, along[i], scale);
    }
    value_release(c, u);
    release_all(c, in, t->rc->n);
    return ok;
}

/* The same by forward mode over the rules. */
static bool phi_tangent(trial *t, unsigned mask, double *slope) {
    context *c = &t->c;
    value in[CASE_OPERANDS], u = value_none(), du = value_none(), phi, made;
    forward_scope scope;
    if (!operands_at(t, NULL, 0, DT_F64, in)) return false;
    bool ok = value_of(c, &t->u, DT_F64, LAYOUT_PLAIN, &u) &&
              value_of(c, &t->v_u, DT_F64, LAYOUT_PLAIN, &du) && forward_enter(c, &scope);
    bool inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        value tangent = value_none();
        if (!real(t->rc, k)) continue;
        ok = value_of(c, &t->v[k], DT_F64, LAYOUT_PLAIN, &tangent) &&
             forward_parameter(c, &scope, &tangent, nowhere, &in[k]);
        value_release(c, tangent);
    }
    ok = ok && forward_parameter(c, &scope, &du, nowhere, &u) && weigh(t, in, &u, mask, &phi);
    if (inside && !ok) forward_abandon(c, &scope);
    ok = ok && forward_leave(c, &scope, &phi, 1, nowhere, &made);
    if (ok) *slope = value_as_double(&made);
    value_release(c, u);
    value_release(c, du);
    release_all(c, in, t->rc->n);
    return ok;
}

static bool check_second(trial *t, unsigned mask) {
    const double h = 1.0 / 512;
    double high, low, higher, lower, slope, tangent, scale = 1e-2;
    if (!phi_slope(t, mask, &slope, &scale) || !phi_tangent(t, mask, &tangent)) return false;
    if (!close_to(slope, tangent, scale, 1e-11))
        return wrong(t, "second order: %.17g in reverse, %.17g forward", slope, tangent);
    if (!phi_at(t, mask, h, &high) || !phi_at(t, mask, -h, &low) ||
        !phi_at(t, mask, h / 2, &higher) || !phi_at(t, mask, -h / 2, &lower))
        return false;
    double expected = (4 * (higher - lower) / h - (high - low) / (2 * h)) / 3;
    if (close_to(slope, expected, scale, 1e-7)) return true;
    return wrong(t, "second order: %.17g but differences give %.17g", slope, expected);
}

/* ---- a whole case ---- */

static bool check_mask(trial *t, unsigned mask) {
    derivative d;
    if (!derive(t, mask, DT_F64, &d)) return false;
    if (!check_transpose(t, mask, &d) || !check_differences(t, mask, &d)) return false;
    if (!check_single(t, mask, &d) || !check_present(t, mask, &d)) return false;
    if (t->subject->vjp == rules_in_use.vjp && !check_reverse(t, mask, &d)) return false;
    if (t->subject->jvp == rules_in_use.jvp && !check_forward(t, mask, &d)) return false;
    return check_second(t, mask);
}

/* Shapes; the operands that have derivatives, as a mask. */
static unsigned trial_begin(trial *t) {
    const rule_case *rc = t->rc;
    unsigned all = 0;
    t->seed = 1000u + (unsigned)rc->op;
    t->attrs.stays = true; /* as a program's do; those that rules derive from them do not */
    for (int k = 0; k < rc->n; k++) {
        t->attrs.ones[k] = parse_shape(rc->in[k].shape, &t->x[k]);
        if (real(rc, k)) all |= 1u << k;
    }
    return all;
}

static bool choose_directions(trial *t) {
    if (!result_at(t, NULL, 0.0, &t->out)) return false;
    direction(t, &t->out, &t->u);
    direction(t, &t->out, &t->v_u);
    for (int k = 0; k < t->rc->n; k++) {
        direction(t, &t->x[k], &t->v[k]);
        shape_matrices(&t->rc->in[k], &t->v[k], 0.0);
        direction(t, &t->x[k], &t->weight[k]);
    }
    return true;
}

static bool check_all(trial *t) {
    unsigned all = trial_begin(t);
    choose_point(t);
    if (!choose_directions(t) || !check_mask(t, all)) return false;
    for (unsigned k = 0; k < (unsigned)t->rc->n; k++)
        if (((all >> k) & 1) != 0 && all != 1u << k && !check_mask(t, 1u << k)) return false;
    return true;
}

/* Closes the context; says what is wrong when ok is false or something leaked. */
static bool trial_end(trial *t, bool ok) {
    if (!ok && t->why[0] == '\0') wrong(t, "%s", t->c.err.message);
    tape_close(&t->c);
    if (ok && t->c.mem.live != 0) ok = wrong(t, "%zu bytes leaked", t->c.mem.live);
    context_close(&t->c);
    return ok;
}

static trial trial_of(const rule_case *rc, char *why, size_t room) {
    trial t = {.rc = rc, .subject = &rules_in_use, .attrs = rc->attrs, .why = why, .room = room};
    why[0] = '\0';
    context_init(&t.c);
    kernel_install(&t.c);
    return t;
}

bool rule_operands(const rule_case *rc, context *c, value *in, op_attrs *attrs) {
    trial t = {.rc = rc, .attrs = rc->attrs};
    (void)trial_begin(&t);
    choose_point(&t);
    *attrs = t.attrs;
    return make_operands(c, &t, NULL, 0, DT_F64, in);
}

bool rule_check(const rule_case *rc, const rule_subject *subject, char *why, size_t room) {
    trial t = trial_of(rc, why, room);
    t.subject = subject;
    return trial_end(&t, check_all(&t));
}

/* ---- failing allocations ---- */

bool rule_check_memory(const rule_case *rc, char *why, size_t room) {
    bool ok = false;
    for (uint64_t n = 1; !ok; n++) {
        trial t = trial_of(rc, why, room);
        derivative d;
        double slope, scale = 0.0;
        unsigned all = trial_begin(&t);
        choose_point(&t);
        if (!choose_directions(&t) || !derive(&t, all, DT_F64, &d)) return trial_end(&t, false);
        t.c.mem.fail_at = t.c.mem.requests + n;
        ok = check_reverse(&t, all, &d) && check_forward(&t, all, &d) &&
             phi_slope(&t, all, &slope, &scale);
        error_code code = t.c.err.code;
        tape_close(&t.c);
        size_t live = t.c.mem.live;
        context_close(&t.c);
        if (live != 0) return wrong(&t, "%zu bytes leaked when allocation %d fails", live, (int)n);
        if (!ok && code != ERROR_K0506 && code != ERROR_K0507)
            return wrong(&t, "allocation %d fails and the error is %s", (int)n,
                         error_code_name(code));
    }
    return true;
}

/* ---- gradients at chosen points ---- */

/* The case under an inner handler and its gradients; the operands are the outer handler's. */
static bool inner_gradients(trial *t, const value *outer, double seed, value *gradient) {
    context *c = &t->c;
    value in[CASE_OPERANDS], out = value_none(), u = value_none(), parameter[CASE_OPERANDS];
    int count = 0;
    reverse_scope scope;
    bool ok = reverse_enter(c, &scope), inside = ok;
    for (int k = 0; k < t->rc->n; k++) {
        in[k] = value_retain(outer[k]);
        if (!ok || !real(t->rc, k)) continue;
        ok = reverse_parameter(c, &scope, nowhere, &in[k]);
        parameter[count++] = in[k];
    }
    ok = ok && perform_case(t, in, &out);
    if (ok) {
        numbers_of(&out, &t->u);
        for (int64_t i = 0; i < t->u.size; i++) t->u.at[i] = seed;
        ok = value_of(c, &t->u, DT_F64, LAYOUT_PLAIN, &u);
    }
    if (inside && !ok) reverse_abandon(c, &scope);
    ok = ok && reverse_leave(c, &scope, &out, &u, parameter, count, nowhere, gradient);
    value_release(c, out);
    value_release(c, u);
    release_all(c, in, t->rc->n);
    return ok;
}

/* The sum of all entries of all gradients. */
static bool sum_gradients(trial *t, const value *gradient, int count, value *sum) {
    *sum = value_f64(0.0);
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        op_attrs all = {.axes = (uint8_t)((1u << value_rank(&gradient[i])) - 1)};
        value pair[2] = {*sum, value_none()};
        ok = perform(&t->c, OP_sum, &all, 1, &gradient[i], &pair[1]) &&
             perform(&t->c, OP_add, NULL, 2, pair, sum);
    }
    return ok;
}

static bool gradients_twice(trial *t, double seed, numbers *gradient, numbers *second) {
    context *c = &t->c;
    value in[CASE_OPERANDS] = {0}, first[CASE_OPERANDS], again[CASE_OPERANDS];
    value parameter[CASE_OPERANDS], sum = value_none();
    int count = 0;
    reverse_scope scope;
    if (!operands_at(t, NULL, 0, DT_F64, in)) return false;
    bool ok = reverse_enter(c, &scope), inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (!real(t->rc, k)) continue;
        ok = reverse_parameter(c, &scope, nowhere, &in[k]);
        parameter[count++] = in[k];
    }
    ok = ok && inner_gradients(t, in, seed, first);
    bool made = ok;
    ok = ok && sum_gradients(t, first, count, &sum);
    for (int i = 0; i < count && made; i++) numbers_of(&first[i], &gradient[i]);
    if (made) release_all(c, first, count);
    if (inside && !ok) reverse_abandon(c, &scope);
    ok = ok && reverse_leave(c, &scope, &sum, NULL, parameter, count, nowhere, again);
    for (int i = 0; i < count && ok; i++) numbers_of(&again[i], &second[i]);
    if (ok) release_all(c, again, count);
    release_all(c, in, t->rc->n);
    return ok;
}

bool rule_gradients(const rule_case *rc, double x[CASE_OPERANDS][4], double seed,
                    numbers gradient[CASE_OPERANDS], numbers second[CASE_OPERANDS], char *why,
                    size_t room) {
    trial t = trial_of(rc, why, room);
    trial_begin(&t);
    for (int k = 0; k < rc->n; k++)
        for (int64_t i = 0; i < t.x[k].size; i++) t.x[k].at[i] = x[k][i];
    return trial_end(&t, gradients_twice(&t, seed, gradient, second));
}

void rule_case_name(const rule_case *rc, char *out, size_t room) {
    int used = snprintf(out, room, "%s (", op_table[rc->op].name);
    for (int k = 0; k < rc->n && used >= 0 && (size_t)used < room; k++) {
        const operand_spec *in = &rc->in[k];
        used += snprintf(out + used, room - (size_t)used, "%s[%s]%s", k > 0 ? ", " : "", in->shape,
                         k == rc->n - 1 ? ")" : "");
    }
}
