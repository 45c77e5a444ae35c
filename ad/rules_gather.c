/* Rules of gather and scatter, which are each other's adjoints. Indices are passive. */
#include "ad/rules.h"

/* The cotangent's entries are added, in place, where the taken ones came from. */
static void vjp_gather(builder *b, const rule_site *s, op_id scatter) {
    if (s->wants[0]) b_contribute_into(b, s, 0, scatter, s->attrs, 2, (term[]){s->in[1], s->d});
}

static term jvp_gather(builder *b, const rule_site *s, op_id gather) {
    if (s->tangent[0] == TERM_NONE) return TERM_NONE;
    return b_perform(b, gather, s->attrs, 2, (term[]){s->tangent[0], s->in[1]});
}

static void vjp_scatter(builder *b, const rule_site *s, op_id gather) {
    if (s->wants[0]) b_contribute(b, 0, s->d);
    if (s->wants[2])
        b_contribute(b, 2, b_perform(b, gather, s->attrs, 2, (term[]){s->d, s->in[1]}));
}

static term jvp_scatter(builder *b, const rule_site *s, op_id scatter) {
    term x = s->tangent[0], src = s->tangent[2];
    if (src == TERM_NONE) return x;
    if (x == TERM_NONE) x = b_zeros_like(b, s->in[0]);
    return b_perform(b, scatter, s->attrs, 3, (term[]){x, s->in[1], src});
}

void vjp_take(builder *b, const rule_site *s) {
    vjp_gather(b, s, OP_scatter_add);
}

term jvp_take(builder *b, const rule_site *s) {
    return jvp_gather(b, s, OP_take);
}

void vjp_take_along_axis(builder *b, const rule_site *s) {
    vjp_gather(b, s, OP_scatter_along_axis);
}

term jvp_take_along_axis(builder *b, const rule_site *s) {
    return jvp_gather(b, s, OP_take_along_axis);
}

void vjp_scatter_add(builder *b, const rule_site *s) {
    vjp_scatter(b, s, OP_take);
}

term jvp_scatter_add(builder *b, const rule_site *s) {
    return jvp_scatter(b, s, OP_scatter_add);
}

void vjp_scatter_along_axis(builder *b, const rule_site *s) {
    vjp_scatter(b, s, OP_take_along_axis);
}

term jvp_scatter_along_axis(builder *b, const rule_site *s) {
    return jvp_scatter(b, s, OP_scatter_along_axis);
}
