/* See rule_check.h. */
#include "tests/unit/rule_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ad/ad.h"
#include "ad/rules.h"
#include "kernels/kernel.h"
#include "tests/unit/rule_trial.h"

const rule_subject rules_in_use = {rules_vjp, rules_jvp};

static const span nowhere;

/* ---- first order ---- */

static bool check_transpose(trial *t, unsigned mask, const derivative *d) {
    double scale = 1e-3, forward = numbers_dot(&t->u, &d->tangent, &scale), reverse = 0.0;
    for (int k = 0; k < t->rc->n; k++)
        if (((mask >> k) & 1) != 0) reverse += numbers_dot(&d->gradient[k], &t->v[k], &scale);
    if (close_to(forward, reverse, scale, 1e-12)) return true;
    return trial_wrong(t, "<u, J v> = %.17g but <J^T u, v> = %.17g (operands %x)", forward, reverse,
                       mask);
}

/* The central difference with steps h and h / 2, extrapolated: exact to the fourth order. */
static bool check_differences(trial *t, unsigned mask, const derivative *d) {
    const double h = 1.0 / 512;
    numbers v[CASE_OPERANDS], high, low, higher, lower, slope = t->out;
    for (int k = 0; k < t->rc->n; k++) {
        v[k] = t->v[k];
        for (int64_t i = 0; i < v[k].size && ((mask >> k) & 1) == 0; i++) v[k].at[i] = 0.0;
    }
    if (!trial_result_at(t, v, h, &high) || !trial_result_at(t, v, -h, &low) ||
        !trial_result_at(t, v, h / 2, &higher) || !trial_result_at(t, v, -h / 2, &lower))
        return false;
    for (int64_t i = 0; i < slope.size; i++) {
        double coarse = (high.at[i] - low.at[i]) / (2 * h);
        double fine = (higher.at[i] - lower.at[i]) / h;
        slope.at[i] = (4 * fine - coarse) / 3;
    }
    if (numbers_close(&d->tangent, &slope, 1e-7)) return true;
    for (int64_t i = 0; i < slope.size; i++)
        if (!close_to(d->tangent.at[i], slope.at[i], 1e-2, 1e-7))
            return trial_wrong(t,
                               "J v = %.17g but differences give %.17g (entry %lld, operands %x)",
                               d->tangent.at[i], slope.at[i], (long long)i, mask);
    return trial_wrong(t, "J v differs from differences (operands %x)", mask);
}

/* The same rules in F32, roughly. */
static bool check_single(trial *t, unsigned mask, const derivative *d) {
    derivative single;
    if (!trial_derive(t, mask, DT_F32, &single)) return false;
    bool ok = numbers_close(&single.tangent, &d->tangent, 1e-3);
    for (int k = 0; k < t->rc->n; k++)
        if (((mask >> k) & 1) != 0)
            ok = ok && numbers_close(&single.gradient[k], &d->gradient[k], 1e-3);
    return ok || trial_wrong(t, "F32 and F64 disagree (operands %x)", mask);
}

/* Contributions are added to adjoints that are there already. */
static bool check_present(trial *t, unsigned mask, const derivative *d) {
    value in[CASE_OPERANDS], prior[CASE_OPERANDS] = {0};
    derivative with;
    if (!trial_operands(t, NULL, 0, DT_F64, in)) return false;
    bool ok = true;
    for (int k = 0; k < t->rc->n && ok; k++)
        if (trial_real(t->rc, k))
            ok = numbers_value(&t->c, &t->weight[k], DT_F64, LAYOUT_PLAIN, &prior[k]);
    ok = ok && trial_derive_at(t, mask, in, prior, DT_F64, &with);
    values_release_all(&t->c, in, t->rc->n);
    values_release_all(&t->c, prior, t->rc->n);
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (((mask >> k) & 1) == 0) continue;
        numbers expected = t->weight[k];
        for (int64_t i = 0; i < expected.size; i++) expected.at[i] += d->gradient[k].at[i];
        if (!numbers_close(&with.gradient[k], &expected, 1e-12))
            ok = trial_wrong(t, "a contribution to operand %d is not added to what is there", k);
    }
    return ok;
}

/* ---- through the handlers ---- */

static bool check_reverse(trial *t, unsigned mask, const derivative *d) {
    context *c = &t->c;
    value in[CASE_OPERANDS], out = value_none(), u, gradient[CASE_OPERANDS],
                             parameter[CASE_OPERANDS];
    reverse_scope scope;
    int count = 0;
    if (!trial_operands(t, NULL, 0, DT_F64, in)) return false;
    bool ok = numbers_value(c, &t->u, DT_F64, LAYOUT_PLAIN, &u) && reverse_enter(c, &scope);
    bool inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (((mask >> k) & 1) == 0) continue;
        ok = reverse_parameter(c, &scope, nowhere, &in[k]);
        parameter[count++] = in[k];
    }
    ok = ok && trial_perform(t, in, &out);
    if (inside && !ok) reverse_abandon(c, &scope);
    ok = ok && reverse_leave(c, &scope, &out, &u, parameter, count, nowhere, gradient);
    for (int k = 0, next = 0; k < t->rc->n && ok; k++) {
        numbers x;
        if (((mask >> k) & 1) == 0) continue;
        numbers_from(&gradient[next], &x);
        value_release(c, gradient[next++]);
        if (!numbers_same_bits(&x, &d->gradient[k]))
            trial_wrong(t,
                        "the reverse handler's gradient %d differs from the rule's (operands %x)",
                        k, mask);
    }
    value_release(c, out);
    value_release(c, u);
    values_release_all(c, in, t->rc->n);
    return ok && t->why[0] == '\0';
}

static bool check_forward(trial *t, unsigned mask, const derivative *d) {
    context *c = &t->c;
    value in[CASE_OPERANDS], out = value_none(), made;
    forward_scope scope;
    if (!trial_operands(t, NULL, 0, DT_F64, in)) return false;
    bool ok = forward_enter(c, &scope), inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        value tangent = value_none();
        if (((mask >> k) & 1) == 0) continue;
        ok = numbers_value(c, &t->v[k], DT_F64, t->rc->in[k].layout, &tangent) &&
             forward_parameter(c, &scope, &tangent, nowhere, &in[k]);
        value_release(c, tangent);
    }
    ok = ok && trial_perform(t, in, &out);
    if (inside && !ok) forward_abandon(c, &scope);
    ok = ok && forward_leave(c, &scope, &out, 1, nowhere, &made);
    if (ok) {
        numbers x;
        numbers_from(&made, &x);
        value_release(c, made);
        if (!numbers_same_bits(&x, &d->tangent))
            ok = trial_wrong(
                t, "the forward handler's tangent differs from the rule's (operands %x)", mask);
    }
    value_release(c, out);
    values_release_all(c, in, t->rc->n);
    return ok;
}

/* ---- a whole case ---- */

static bool check_mask(trial *t, unsigned mask) {
    derivative d;
    if (!trial_derive(t, mask, DT_F64, &d)) return false;
    if (!check_transpose(t, mask, &d) || !check_differences(t, mask, &d)) return false;
    if (!check_single(t, mask, &d) || !check_present(t, mask, &d)) return false;
    if (t->subject->vjp == rules_in_use.vjp && !check_reverse(t, mask, &d)) return false;
    if (t->subject->jvp == rules_in_use.jvp && !check_forward(t, mask, &d)) return false;
    return trial_check_second(t, mask);
}

/* Shapes; the operands that have derivatives, as a mask. */
static unsigned trial_begin(trial *t) {
    const rule_case *rc = t->rc;
    unsigned all = 0;
    t->seed = 1000u + (unsigned)rc->op;
    t->attrs.stays = true; /* as a program's do; those that rules derive from them do not */
    for (int k = 0; k < rc->n; k++) {
        t->attrs.ones[k] = numbers_shape(rc->in[k].shape, &t->x[k]);
        if (trial_real(rc, k)) all |= 1u << k;
    }
    return all;
}

static bool choose_directions(trial *t) {
    if (!trial_result_at(t, NULL, 0.0, &t->out)) return false;
    trial_direction(t, &t->out, &t->u);
    trial_direction(t, &t->out, &t->v_u);
    for (int k = 0; k < t->rc->n; k++) {
        trial_direction(t, &t->x[k], &t->v[k]);
        trial_shape_matrices(&t->rc->in[k], &t->v[k], 0.0);
        trial_direction(t, &t->x[k], &t->weight[k]);
    }
    return true;
}

static bool check_all(trial *t) {
    unsigned all = trial_begin(t);
    trial_choose_point(t);
    if (!choose_directions(t) || !check_mask(t, all)) return false;
    for (unsigned k = 0; k < (unsigned)t->rc->n; k++)
        if (((all >> k) & 1) != 0 && all != 1u << k && !check_mask(t, 1u << k)) return false;
    return true;
}

/* Closes the context; says what is wrong when ok is false or something leaked. */
static bool trial_end(trial *t, bool ok) {
    if (!ok && t->why[0] == '\0') trial_wrong(t, "%s", t->c.err.message);
    tape_close(&t->c);
    if (ok && t->c.mem.live != 0) ok = trial_wrong(t, "%zu bytes leaked", t->c.mem.live);
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
    trial_choose_point(&t);
    *attrs = t.attrs;
    return trial_make_operands(c, &t, NULL, 0, DT_F64, in);
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
        trial_choose_point(&t);
        if (!choose_directions(&t) || !trial_derive(&t, all, DT_F64, &d))
            return trial_end(&t, false);
        t.c.mem.fail_at = t.c.mem.requests + n;
        ok = check_reverse(&t, all, &d) && check_forward(&t, all, &d) &&
             trial_phi_slope(&t, all, &slope, &scale);
        error_code code = t.c.err.code;
        tape_close(&t.c);
        size_t live = t.c.mem.live;
        context_close(&t.c);
        if (live != 0)
            return trial_wrong(&t, "%zu bytes leaked when allocation %d fails", live, (int)n);
        if (!ok && code != ERROR_K0506 && code != ERROR_K0507)
            return trial_wrong(&t, "allocation %d fails and the error is %s", (int)n,
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
        if (!ok || !trial_real(t->rc, k)) continue;
        ok = reverse_parameter(c, &scope, nowhere, &in[k]);
        parameter[count++] = in[k];
    }
    ok = ok && trial_perform(t, in, &out);
    if (ok) {
        numbers_from(&out, &t->u);
        for (int64_t i = 0; i < t->u.size; i++) t->u.at[i] = seed;
        ok = numbers_value(c, &t->u, DT_F64, LAYOUT_PLAIN, &u);
    }
    if (inside && !ok) reverse_abandon(c, &scope);
    ok = ok && reverse_leave(c, &scope, &out, &u, parameter, count, nowhere, gradient);
    value_release(c, out);
    value_release(c, u);
    values_release_all(c, in, t->rc->n);
    return ok;
}

/* The sum of all entries of all gradients. */
static bool sum_gradients(trial *t, const value *gradient, int count, value *sum) {
    *sum = value_f64(0.0);
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        op_attrs all = {.axes = (uint8_t)((1u << value_rank(&gradient[i])) - 1)};
        value pair[2] = {*sum, value_none()};
        ok = trial_perform_op(&t->c, OP_sum, &all, 1, &gradient[i], &pair[1]) &&
             trial_perform_op(&t->c, OP_add, NULL, 2, pair, sum);
    }
    return ok;
}

static bool gradients_twice(trial *t, double seed, numbers *gradient, numbers *second) {
    context *c = &t->c;
    value in[CASE_OPERANDS] = {0}, first[CASE_OPERANDS], again[CASE_OPERANDS];
    value parameter[CASE_OPERANDS], sum = value_none();
    int count = 0;
    reverse_scope scope;
    if (!trial_operands(t, NULL, 0, DT_F64, in)) return false;
    bool ok = reverse_enter(c, &scope), inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (!trial_real(t->rc, k)) continue;
        ok = reverse_parameter(c, &scope, nowhere, &in[k]);
        parameter[count++] = in[k];
    }
    ok = ok && inner_gradients(t, in, seed, first);
    bool made = ok;
    ok = ok && sum_gradients(t, first, count, &sum);
    for (int i = 0; i < count && made; i++) numbers_from(&first[i], &gradient[i]);
    if (made) values_release_all(c, first, count);
    if (inside && !ok) reverse_abandon(c, &scope);
    ok = ok && reverse_leave(c, &scope, &sum, NULL, parameter, count, nowhere, again);
    for (int i = 0; i < count && ok; i++) numbers_from(&again[i], &second[i]);
    if (ok) values_release_all(c, again, count);
    values_release_all(c, in, t->rc->n);
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
