/* The reverse rule differentiated again: phi(x, u) = sum of weight[k] * contribution k, its slope
 * along a direction in reverse and forward mode and by differences. */
#include <math.h>

#include "ad/ad.h"
#include "tests/unit/rule_trial.h"

static const span nowhere;

/* phi as a value, performed at the innermost handler. */
static bool weigh(trial *t, const value *in, const value *u, unsigned mask, value *phi) {
    context *c = &t->c;
    value out = value_none(), slot[CASE_OPERANDS] = {0};
    *phi = value_f64(0.0);
    bool ok = trial_perform(t, in, &out) && trial_vjp(t, in, &out, u, mask, slot);
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (((mask >> k) & 1) == 0 || slot[k].kind == VALUE_NONE) continue;
        value pair[2] = {slot[k], value_none()}, product = value_none(), sum[2] = {*phi};
        op_attrs all = {.axes = (uint8_t)((1u << t->x[k].rank) - 1)};
        ok = numbers_value(c, &t->weight[k], DT_F64, LAYOUT_PLAIN, &pair[1]) &&
             trial_perform_op(c, OP_mul, NULL, 2, pair, &product) &&
             trial_perform_op(c, OP_sum, &all, 1, &product, &sum[1]) &&
             trial_perform_op(c, OP_add, NULL, 2, sum, phi);
        value_release(c, pair[1]);
        value_release(c, product);
    }
    value_release(c, out);
    values_release_all(c, slot, t->rc->n);
    return ok;
}

static bool phi_at(trial *t, unsigned mask, double h, double *phi) {
    value in[CASE_OPERANDS], u = value_none(), result;
    numbers shifted = t->u;
    for (int64_t i = 0; i < shifted.size; i++) shifted.at[i] += h * t->v_u.at[i];
    if (!trial_operands(t, t->v, h, DT_F64, in)) return false;
    bool ok =
        numbers_value(&t->c, &shifted, DT_F64, LAYOUT_PLAIN, &u) && weigh(t, in, &u, mask, &result);
    if (ok) *phi = value_as_double(&result);
    value_release(&t->c, u);
    values_release_all(&t->c, in, t->rc->n);
    return ok;
}

/* The derivative of phi along (v, v_u), by reverse mode over the rules. */
bool trial_phi_slope(trial *t, unsigned mask, double *slope, double *scale) {
    context *c = &t->c;
    value in[CASE_OPERANDS], u = value_none(), phi;
    value parameter[CASE_OPERANDS + 1], gradient[CASE_OPERANDS + 1];
    const numbers *along[CASE_OPERANDS + 1];
    reverse_scope scope;
    int count = 0;
    if (!trial_operands(t, NULL, 0, DT_F64, in)) return false;
    bool ok = numbers_value(c, &t->u, DT_F64, LAYOUT_PLAIN, &u) && reverse_enter(c, &scope);
    bool inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        if (!trial_real(t->rc, k)) continue;
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
        numbers_from(&gradient[i], &g);
        value_release(c, gradient[i]);
        *slope += numbers_dot(&g, along[i], scale);
    }
    value_release(c, u);
    values_release_all(c, in, t->rc->n);
    return ok;
}

/* The same by forward mode over the rules. */
static bool phi_tangent(trial *t, unsigned mask, double *slope) {
    context *c = &t->c;
    value in[CASE_OPERANDS], u = value_none(), du = value_none(), phi, made;
    forward_scope scope;
    if (!trial_operands(t, NULL, 0, DT_F64, in)) return false;
    bool ok = numbers_value(c, &t->u, DT_F64, LAYOUT_PLAIN, &u) &&
              numbers_value(c, &t->v_u, DT_F64, LAYOUT_PLAIN, &du) && forward_enter(c, &scope);
    bool inside = ok;
    for (int k = 0; k < t->rc->n && ok; k++) {
        value tangent = value_none();
        if (!trial_real(t->rc, k)) continue;
        ok = numbers_value(c, &t->v[k], DT_F64, LAYOUT_PLAIN, &tangent) &&
             forward_parameter(c, &scope, &tangent, nowhere, &in[k]);
        value_release(c, tangent);
    }
    ok = ok && forward_parameter(c, &scope, &du, nowhere, &u) && weigh(t, in, &u, mask, &phi);
    if (inside && !ok) forward_abandon(c, &scope);
    ok = ok && forward_leave(c, &scope, &phi, 1, nowhere, &made);
    if (ok) *slope = value_as_double(&made);
    value_release(c, u);
    value_release(c, du);
    values_release_all(c, in, t->rc->n);
    return ok;
}

bool trial_check_second(trial *t, unsigned mask) {
    const double h = 1.0 / 512;
    double high, low, higher, lower, slope, tangent, scale = 1e-2;
    if (!trial_phi_slope(t, mask, &slope, &scale) || !phi_tangent(t, mask, &tangent)) return false;
    if (!close_to(slope, tangent, scale, 1e-11))
        return trial_wrong(t, "second order: %.17g in reverse, %.17g forward", slope, tangent);
    if (!phi_at(t, mask, h, &high) || !phi_at(t, mask, -h, &low) ||
        !phi_at(t, mask, h / 2, &higher) || !phi_at(t, mask, -h / 2, &lower))
        return false;
    double expected = (4 * (higher - lower) / h - (high - low) / (2 * h)) / 3;
    if (close_to(slope, expected, scale, 1e-7)) return true;
    return trial_wrong(t, "second order: %.17g but differences give %.17g", slope, expected);
}
