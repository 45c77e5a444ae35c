/* Rules of convolutions.
 *
 * A convolution y = x * w is linear in x and in w, and so is each of its two gradients in what it
 * is given: conv_input_grad in the cotangent and w, conv_weight_grad in x and the cotangent. The
 * three stand for one form that is linear in x, w and y together, so that each one's derivatives
 * are the other two. */
#include "ad/rules.h"

/* What stands where in that form. */
static term output(builder *b, const rule_site *s, op_id conv, term x, term w) {
    return b_perform(b, conv, s->attrs, 2, (term[]){x, w});
}

/* A gradient of operand k's shape. */
static term gradient(builder *b, const rule_site *s, op_id op, int k, term first, term second) {
    op_attrs attrs = *s->attrs;
    const op_type *shape = &s->in_type[k];
    attrs.rank = shape->rank;
    attrs.ones[2] = s->attrs->ones[k];
    for (int i = 0; i < shape->rank; i++) attrs.dims[i] = shape->dims[i];
    return b_perform(b, op, &attrs, 2, (term[]){first, second});
}

/* The convolution that a gradient is one of. */
static op_id conv_of(const rule_site *s) {
    return s->out_type->rank == 3 ? OP_conv1d : OP_conv2d;
}

/* An op that is linear in each of two operands. */
static term jvp_bilinear(builder *b, const rule_site *s, op_id op) {
    term sum = TERM_NONE;
    for (int k = 0; k < 2; k++) {
        if (s->tangent[k] == TERM_NONE) continue;
        term in[2] = {k == 0 ? s->tangent[0] : s->in[0], k == 1 ? s->tangent[1] : s->in[1]};
        term t = b_perform(b, op, s->attrs, 2, in);
        sum = sum == TERM_NONE ? t : b_add(b, sum, t);
    }
    return sum;
}

static void vjp_conv(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, gradient(b, s, OP_conv_input_grad, 0, s->d, s->in[1]));
    if (s->wants[1]) b_contribute(b, 1, gradient(b, s, OP_conv_weight_grad, 1, s->in[0], s->d));
}

void vjp_conv1d(builder *b, const rule_site *s) {
    vjp_conv(b, s);
}

term jvp_conv1d(builder *b, const rule_site *s) {
    return jvp_bilinear(b, s, OP_conv1d);
}

void vjp_conv2d(builder *b, const rule_site *s) {
    vjp_conv(b, s);
}

term jvp_conv2d(builder *b, const rule_site *s) {
    return jvp_bilinear(b, s, OP_conv2d);
}

void vjp_conv_input_grad(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, output(b, s, conv_of(s), s->d, s->in[1]));
    if (s->wants[1]) b_contribute(b, 1, gradient(b, s, OP_conv_weight_grad, 1, s->d, s->in[0]));
}

term jvp_conv_input_grad(builder *b, const rule_site *s) {
    return jvp_bilinear(b, s, OP_conv_input_grad);
}

void vjp_conv_weight_grad(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, gradient(b, s, OP_conv_input_grad, 0, s->in[1], s->d));
    if (s->wants[1]) b_contribute(b, 1, output(b, s, conv_of(s), s->in[0], s->d));
}

term jvp_conv_weight_grad(builder *b, const rule_site *s) {
    return jvp_bilinear(b, s, OP_conv_weight_grad);
}

/* ---- pooling ---- */

/* A tensor [N, C, H, W] with its planes laid out in a row. */
static term flat(builder *b, term x) {
    if (!b_alive(b, 1, &x)) return TERM_NONE;
    const op_type *t = b->type(b, x);
    op_attrs attrs = {.rank = 3,
                      .dims = {t->dims[0], t->dims[1], b->size(b, OP_mul, t->dims[2], t->dims[3])},
                      .ones = {0, b->ones(b, x) & 3, 0}};
    return b_perform(b, OP_reshape, &attrs, 1, &x);
}

static term shaped(builder *b, term x, const op_type *to, uint8_t ones) {
    op_attrs attrs = {.rank = to->rank, .ones = {0, ones, 0}};
    for (int i = 0; i < to->rank; i++) attrs.dims[i] = to->dims[i];
    return b_perform(b, OP_reshape, &attrs, 1, &x);
}

static term places(builder *b, const rule_site *s) {
    return flat(b, b_perform(b, OP_max_pool_place, s->attrs, 1, s->in));
}

static const op_attrs along_planes = {.axis = 2};

void vjp_max_pool2d(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    term in[3] = {b_zeros_like(b, flat(b, s->in[0])), places(b, s), flat(b, s->d)};
    term t = b_perform(b, OP_scatter_along_axis, &along_planes, 3, in);
    b_contribute(b, 0, shaped(b, t, &s->in_type[0], s->attrs->ones[0]));
}

term jvp_max_pool2d(builder *b, const rule_site *s) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    term in[2] = {flat(b, s->tangent[0]), places(b, s)};
    term t = b_perform(b, OP_take_along_axis, &along_planes, 2, in);
    return shaped(b, t, s->out_type, s->out_ones);
}

void vjp_avg_pool2d(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    op_attrs attrs = *s->attrs;
    attrs.rank = 4;
    attrs.ones[1] = s->attrs->ones[0];
    for (int i = 0; i < 4; i++) attrs.dims[i] = s->in_type[0].dims[i];
    b_contribute(b, 0, b_perform(b, OP_avg_pool_grad, &attrs, 1, &s->d));
}

void vjp_avg_pool_grad(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, b_perform(b, OP_avg_pool2d, s->attrs, 1, &s->d));
}
