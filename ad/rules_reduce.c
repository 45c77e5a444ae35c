/* Rules of the reductions and of what runs along one axis.
 *
 * The adjoint of a sum is a stretched view of the cotangent; the others multiply that view by a
 * term of the operand's shape, and their tangents sum the same product. */
#include "ad/rules.h"

/* ---- sums ---- */

/* The cotangent, its reduced axes at size 1, stretched to the operand's shape. */
static term spread(builder *b, const rule_site *s, term d) {
    return b_broadcast(b, d, &s->in_type[0], s->attrs->ones[0]);
}

void vjp_sum(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, spread(b, s, b_keep_axes(b, s, s->d)));
}

void vjp_mean(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    term n = b->count(b, &s->in_type[0], s->attrs->axes, (dtype)s->out_type->dtype);
    b_contribute(b, 0, spread(b, s, b_keep_axes(b, s, b_div(b, s->d, n))));
}

void vjp_sum_to(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, spread(b, s, b_expand_mask(b, s->d, s->attrs->drop)));
}

/* ---- reductions with a slope: d(result) / d(entry) ---- */

static void vjp_slope(builder *b, const rule_site *s, term (*slope)(builder *, const rule_site *)) {
    if (!s->wants[0]) return;
    b_contribute(b, 0, b_mul(b, b_keep_axes(b, s, s->d), slope(b, s)));
}

static term jvp_slope(builder *b, const rule_site *s, term (*slope)(builder *, const rule_site *)) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    term t = b_mul(b, s->tangent[0], slope(b, s));
    return b_sum(b, t, s->attrs->axes, s->attrs->keepdims);
}

static term shift(builder *b, term x, int axis, int64_t by) {
    return b_perform(b, OP_shift, &(op_attrs){.axis = (uint8_t)axis, .lo = {by}}, 1, &x);
}

static term scan(builder *b, term x, term y, int axis, bool reversed) {
    op_attrs attrs = {.axis = (uint8_t)axis, .reversed = reversed};
    return b_perform(b, OP_scan_linear, &attrs, 2, (term[]){x, y});
}

/* 1 at the first entry along axis (the last when reversed), else 0. */
static term start_of(builder *b, term x, int axis, bool reversed) {
    term ones = b_perform(b, OP_full_like, NULL, 2, (term[]){x, b_number(b, x, 1.0)});
    return b_sub(b, ones, shift(b, ones, axis, reversed ? -1 : 1));
}

/* The products of the entries before each one along axis (after each one when reversed): a
 * recurrence that starts from a 1 at the end where nothing comes in. */
static term products_before(builder *b, term x, int axis, bool reversed) {
    term start = start_of(b, x, axis, reversed);
    return scan(b, shift(b, x, axis, reversed ? -1 : 1), start, axis, reversed);
}

/* The product of all others, which no division by the entry itself can tell where one is 0. */
static term slope_prod(builder *b, const rule_site *s) {
    term x = s->in[0];
    if (s->attrs->axes == 0) return b_number(b, x, 1.0);
    int axis = __builtin_ctz(s->attrs->axes);
    return b_mul(b, products_before(b, x, axis, false), products_before(b, x, axis, true));
}

/* 1 over the number of ties at those that tie, else 0. */
static term slope_extreme(builder *b, const rule_site *s) {
    term x = s->in[0];
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    term tie = b_binary(b, OP_eq, x, b_keep_axes(b, s, s->out));
    tie = b_cast(b, (dtype)b->type(b, x)->dtype, tie);
    return b_div(b, tie, b_sum(b, tie, s->attrs->axes, true));
}

/* exp(x - result). A result of -inf counts as 0, so that entries of -inf have the slope 0. */
static term slope_logsumexp(builder *b, const rule_site *s) {
    term top = b_keep_axes(b, s, s->out);
    term empty = b_binary(b, OP_eq, top, b_number(b, top, -__builtin_inf()));
    top = b_where(b, empty, b_number(b, top, 0.0), top);
    return b_unary(b, OP_exp, b_sub(b, s->in[0], top));
}

void vjp_prod(builder *b, const rule_site *s) {
    vjp_slope(b, s, slope_prod);
}

term jvp_prod(builder *b, const rule_site *s) {
    return jvp_slope(b, s, slope_prod);
}

void vjp_max(builder *b, const rule_site *s) {
    vjp_slope(b, s, slope_extreme);
}

term jvp_max(builder *b, const rule_site *s) {
    return jvp_slope(b, s, slope_extreme);
}

void vjp_min(builder *b, const rule_site *s) {
    vjp_slope(b, s, slope_extreme);
}

term jvp_min(builder *b, const rule_site *s) {
    return jvp_slope(b, s, slope_extreme);
}

void vjp_logsumexp(builder *b, const rule_site *s) {
    vjp_slope(b, s, slope_logsumexp);
}

term jvp_logsumexp(builder *b, const rule_site *s) {
    return jvp_slope(b, s, slope_logsumexp);
}

/* ---- along one axis ---- */

static term sum_along(builder *b, const rule_site *s, term x) {
    return b_sum(b, x, (uint8_t)(1u << s->attrs->axis), true);
}

/* y * (d - sum(d * y)): the Jacobian is symmetric, so that it serves both directions. */
static term softmax_product(builder *b, const rule_site *s, term d) {
    return b_mul(b, s->out, b_sub(b, d, sum_along(b, s, b_mul(b, d, s->out))));
}

void vjp_softmax(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, softmax_product(b, s, s->d));
}

term jvp_softmax(builder *b, const rule_site *s) {
    return s->tangent[0] == TERM_NONE ? TERM_NONE : softmax_product(b, s, s->tangent[0]);
}

void vjp_log_softmax(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    term y = b_unary(b, OP_exp, s->out);
    b_contribute(b, 0, b_sub(b, s->d, b_mul(b, y, sum_along(b, s, s->d))));
}

term jvp_log_softmax(builder *b, const rule_site *s) {
    term t = s->tangent[0];
    if (t == TERM_NONE) return TERM_NONE;
    term y = b_unary(b, OP_exp, s->out);
    return b_sub(b, t, sum_along(b, s, b_mul(b, t, y)));
}

void vjp_shift(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, shift(b, s->d, s->attrs->axis, -s->attrs->lo[0]));
}

/* The adjoint of a running sum is the running sum from the other end. */
void vjp_cumsum(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    op_attrs attrs = {.axis = s->attrs->axis, .reversed = !s->attrs->reversed};
    b_contribute(b, 0, b_perform(b, OP_cumsum, &attrs, 1, &s->d));
}

/* The product of the entries before each one. */
static term product_before(builder *b, const rule_site *s) {
    int axis = s->attrs->axis;
    return b_add(b, shift(b, s->out, axis, 1), start_of(b, s->out, axis, false));
}

/* Each cotangent travels back over the factors between: no division, so that zeros do no harm. */
void vjp_cumprod(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    int axis = s->attrs->axis;
    term later = scan(b, shift(b, s->in[0], axis, -1), s->d, axis, true);
    b_contribute(b, 0, b_mul(b, product_before(b, s), later));
}

term jvp_cumprod(builder *b, const rule_site *s) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    term t = b_mul(b, s->tangent[0], product_before(b, s));
    return scan(b, s->in[0], t, s->attrs->axis, false);
}

static term is_dead(builder *b, term y) {
    return b_binary(b, OP_eq, y, b_number(b, y, -__builtin_inf()));
}

/* exp(earlier - later) of neighbouring results, at most 1. Where the earlier one is -inf, or absent
 * at the end (`edge` is 1 there), the arguments are guarded; nothing depends on the result then. */
static term decay(builder *b, term earlier, term later, term edge) {
    term zero = b_number(b, earlier, 0.0);
    term none = b_binary(b, OP_or, is_dead(b, earlier), b_binary(b, OP_ne, edge, zero));
    term from = b_where(b, none, zero, earlier), to = b_where(b, none, zero, later);
    return b_unary(b, OP_exp, b_sub(b, from, to));
}

/* exp(x - y), 0 where y is -inf. */
static term share(builder *b, const rule_site *s) {
    term y = b_where(b, is_dead(b, s->out), b_number(b, s->out, 0.0), s->out);
    return b_unary(b, OP_exp, b_sub(b, s->in[0], y));
}

/* With y the result: dx[i] = exp(x[i] - y[i]) * sum over j >= i of exp(y[i] - y[j]) * d[j], a sum in
 * which every factor is at most 1. */
void vjp_logcumsumexp(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    int axis = s->attrs->axis;
    term edge = start_of(b, s->out, axis, true);
    term factor = decay(b, s->out, shift(b, s->out, axis, -1), edge);
    b_contribute(b, 0, b_mul(b, share(b, s), scan(b, factor, s->d, axis, true)));
}

term jvp_logcumsumexp(builder *b, const rule_site *s) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    int axis = s->attrs->axis;
    term edge = start_of(b, s->out, axis, false);
    term factor = decay(b, shift(b, s->out, axis, 1), s->out, edge);
    return scan(b, factor, b_mul(b, s->tangent[0], share(b, s)), axis, false);
}

/* Where the recurrence looks back: one entry to the front, or to the end when reversed. */
static int64_t scan_step(const rule_site *s) {
    return s->attrs->reversed ? -1 : 1;
}

/* The adjoint of a recurrence is the recurrence run the other way. */
void vjp_scan_linear(builder *b, const rule_site *s) {
    int axis = s->attrs->axis;
    int64_t by = scan_step(s);
    if (!s->wants[0] && !s->wants[1]) return;
    term lambda = scan(b, shift(b, s->in[0], axis, -by), s->d, axis, !s->attrs->reversed);
    if (s->wants[0]) b_contribute(b, 0, b_mul(b, lambda, shift(b, s->out, axis, by)));
    if (s->wants[1]) b_contribute(b, 1, lambda);
}

term jvp_scan_linear(builder *b, const rule_site *s) {
    term a = s->tangent[0], t = s->tangent[1];
    if (a != TERM_NONE) {
        a = b_mul(b, a, shift(b, s->out, s->attrs->axis, scan_step(s)));
        t = t == TERM_NONE ? a : b_add(b, a, t);
    }
    if (t == TERM_NONE) return TERM_NONE;
    return scan(b, s->in[0], t, s->attrs->axis, s->attrs->reversed);
}
