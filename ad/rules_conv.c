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
    return s->out_type.rank == 3 ? OP_conv1d : OP_conv2d;
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
