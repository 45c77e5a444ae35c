/* See rule_trial.h. The rules run through a performer that hands them only what `needs` grants. */
#include "tests/unit/rule_trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ad/performer.h"
#include "runtime/door.h"

bool trial_wrong(trial *t, const char *format, ...) {
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

bool trial_real(const rule_case *rc, int k) {
    return k < rc->n && rc->in[k].entries == NULL;
}

/* Small normal-sized numbers of either sign, of a's shape. */
void trial_direction(trial *t, const numbers *a, numbers *x) {
    *x = *a;
    for (int64_t i = 0; i < x->size; i++) x->at[i] = 2.0 * uniform(t) - 1.0;
}

/* Matrices on the last two axes as the case asks for them: symmetric, their diagonals raised. */
void trial_shape_matrices(const operand_spec *spec, numbers *x, double diagonal) {
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
void trial_choose_point(trial *t) {
    int place[CASE_OPERANDS * CASE_ELEMENTS] = {0}, total = 0, next = 0;
    for (int k = 0; k < t->rc->n; k++)
        if (trial_real(t->rc, k)) total += (int)t->x[k].size;
    for (int i = 0; i < total; i++) {
        int j = (int)(uniform(t) * (i + 1));
        place[i] = place[j];
        place[j] = i;
    }
    for (int k = 0; k < t->rc->n; k++) {
        const operand_spec *spec = &t->rc->in[k];
        if (!trial_real(t->rc, k)) {
            numbers_entries(spec->entries, &t->x[k]);
            continue;
        }
        for (int64_t i = 0; i < t->x[k].size; i++) {
            double fraction = (place[next++] + 0.35 + 0.3 * uniform(t)) / total;
            double x = spec->low + (spec->high - spec->low) * fraction;
            t->x[k].at[i] = spec->either_sign && uniform(t) < 0.5 ? -x : x;
        }
        trial_shape_matrices(spec, &t->x[k], spec->diagonal);
    }
}

/* ---- operands and results ---- */

void values_release_all(context *c, value *v, int n) {
    for (int k = 0; k < n; k++) {
        value_release(c, v[k]);
        v[k] = value_none();
    }
}

/* The operands at x + h * v; v may be NULL. */
bool trial_make_operands(context *c, const trial *t, const numbers *v, double h, dtype type,
                         value *in) {
    const rule_case *rc = t->rc;
    for (int k = 0; k < rc->n; k++) in[k] = value_none();
    for (int k = 0; k < rc->n; k++) {
        numbers x = t->x[k];
        dtype own = trial_real(rc, k) ? type : rc->in[k].condition ? DT_Bool : DT_I64;
        for (int64_t i = 0; v != NULL && trial_real(rc, k) && i < x.size; i++)
            x.at[i] += h * v[k].at[i];
        if (!numbers_value(c, &x, own, rc->in[k].layout, &in[k])) {
            values_release_all(c, in, rc->n);
            return false;
        }
    }
    return true;
}

bool trial_operands(trial *t, const numbers *v, double h, dtype type, value *in) {
    return trial_make_operands(&t->c, t, v, h, type, in);
}

bool trial_perform_op(context *c, op_id op, const op_attrs *attrs, int n, const value *in,
                      value *out) {
    op_call call = {.op = op, .n = (uint8_t)n, .attrs = attrs, .in = in};
    if (door_perform(c, &call, out)) return true;
    *out = value_none();
    return false;
}

bool trial_perform(trial *t, const value *in, value *out) {
    return trial_perform_op(&t->c, t->rc->op, &t->attrs, t->rc->n, in, out);
}

/* The op at x + h * v. */
bool trial_result_at(trial *t, const numbers *v, double h, numbers *out) {
    value in[CASE_OPERANDS], result;
    if (!trial_operands(t, v, h, DT_F64, in)) return false;
    bool ok = trial_perform(t, in, &result);
    values_release_all(&t->c, in, t->rc->n);
    if (!ok) return false;
    numbers_from(&result, out);
    value_release(&t->c, result);
    return true;
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
    if (!trial_perform_op(to->p.b.c, OP_add, NULL, 2, in, &sum)) return false;
    value_release(to->p.b.c, to->slot[k]);
    to->slot[k] = sum;
    return true;
}

static bool zeros(context *c, const op_type *type, value *out) {
    op_attrs attrs = {.rank = type->rank};
    value zero = value_number((dtype)type->dtype, 0.0);
    memcpy(attrs.dims, type->dims, sizeof attrs.dims);
    return trial_perform_op(c, OP_full, &attrs, 1, &zero, out);
}

static bool collect_into(void *self, int k, op_id op, const op_attrs *attrs, int n,
                         const value *rest, unsigned batched) {
    (void)batched;
    collector *to = self;
    context *c = to->p.b.c;
    value in[3] = {to->slot[k], rest[0], n > 1 ? rest[1] : value_none()}, sum;
    if (in[0].kind == VALUE_NONE && op == OP_matmul_add) {
        op_attrs product = {.ones = {attrs->ones[1], attrs->ones[2], 0}};
        return trial_perform_op(c, OP_matmul, &product, 2, rest, &to->slot[k]);
    }
    if (in[0].kind == VALUE_NONE && !zeros(c, &to->type[k], &in[0])) return false;
    bool ok = trial_perform_op(c, op, attrs, n + 1, in, &sum);
    value_release(c, in[0]);
    to->slot[k] = ok ? sum : value_none();
    return ok;
}

/* What every rule may know of the case; type: the operands', then the result's. */
static void site_of(trial *t, const value *in, const value *out, op_type *type, int64_t *sizes,
                    rule_site *site) {
    for (int k = 0; k < t->rc->n; k++) {
        type[k] = value_type(&in[k]);
        sizes[k] = type[k].rank > 0 ? type[k].dims[t->attrs.axis] : 1;
    }
    op_type *out_type = &type[t->rc->n];
    *out_type = value_type(out);
    *site = (rule_site){.attrs = &t->attrs,
                        .n = t->rc->n,
                        .in_type = type,
                        .out_type = out_type,
                        .sizes = sizes};
    site->out_ones =
        rules_result_ones(t->rc->op, &t->attrs, t->rc->n, type, t->attrs.ones, out_type);
}

/* Adds the contributions to slot[k] for the operands of the mask. */
bool trial_vjp(trial *t, const value *in, const value *out, const value *d, unsigned mask,
               value *slot) {
    op_type type[CASE_OPERANDS + 1];
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
bool trial_jvp(trial *t, const value *in, const value *out, const value *tangent, unsigned mask,
               value *result) {
    op_type type[CASE_OPERANDS + 1];
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

/* ---- derivatives ---- */

static bool take_numbers(trial *t, const value *v, const numbers *like, const char *what,
                         numbers *x) {
    if (v->kind == VALUE_NONE) {
        *x = *like;
        for (int64_t i = 0; i < x->size; i++) x->at[i] = 0.0;
        return true;
    }
    numbers_from(v, x);
    return numbers_same_shape(x, like) ||
           trial_wrong(t, "%s has another shape than it should", what);
}

bool trial_derive_at(trial *t, unsigned mask, const value *in, const value *prior, dtype type,
                     derivative *d) {
    context *c = &t->c;
    value out = value_none(), made = value_none(), u = value_none();
    value slot[CASE_OPERANDS] = {0}, tangent[CASE_OPERANDS] = {0};
    bool ok = trial_perform(t, in, &out);
    ok = ok && numbers_value(c, &t->u, (dtype)out.dtype, LAYOUT_PLAIN, &u);
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (prior != NULL) slot[k] = value_retain(prior[k]);
        if (trial_real(t->rc, k))
            ok = numbers_value(c, &t->v[k], type, t->rc->in[k].layout, &tangent[k]);
    }
    ok = ok && trial_vjp(t, in, &out, &u, mask, slot) &&
         trial_jvp(t, in, &out, tangent, mask, &made);
    ok = ok && take_numbers(t, &made, &t->out, "the tangent", &d->tangent);
    for (int k = 0; k < t->rc->n && ok; k++)
        ok = take_numbers(t, &slot[k], &t->x[k], "a contribution", &d->gradient[k]);
    value_release(c, out);
    value_release(c, made);
    value_release(c, u);
    values_release_all(c, slot, t->rc->n);
    values_release_all(c, tangent, t->rc->n);
    return ok;
}

bool trial_derive(trial *t, unsigned mask, dtype type, derivative *d) {
    value in[CASE_OPERANDS];
    if (!trial_operands(t, NULL, 0, type, in)) return false;
    bool ok = trial_derive_at(t, mask, in, NULL, type, d);
    values_release_all(&t->c, in, t->rc->n);
    return ok;
}
