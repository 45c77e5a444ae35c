/* Rules of the ops that move entries without computing on them, and of those that make tensors. All
 * are linear; each adjoint moves the cotangent's entries back. */
#include "ad/rules.h"

void vjp_identity(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, s->d);
}

void vjp_carry(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, s->d);
}

/* Only between floating types; an integer on either side passes nothing. */
void vjp_cast(builder *b, const rule_site *s) {
    dtype t = (dtype)s->in_type[0].dtype;
    if (s->wants[0] && dtype_floating(t)) b_contribute(b, 0, b_cast(b, t, s->d));
}

void vjp_reshape(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    const op_type *to = &s->in_type[0];
    op_attrs attrs = {.rank = to->rank, .ones = {0, s->attrs->ones[0], 0}};
    for (int i = 0; i < to->rank; i++) attrs.dims[i] = to->dims[i];
    b_contribute(b, 0, b_perform(b, OP_reshape, &attrs, 1, &s->d));
}

void vjp_permute(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    uint8_t inverse[MAX_RANK] = {0};
    for (int i = 0; i < s->out_type->rank; i++) inverse[s->attrs->perm[i]] = (uint8_t)i;
    b_contribute(b, 0, b_permute(b, s->d, inverse));
}

/* t with the operand's sizes, which a broadcast that only states sizes may give under other names. */
static term with_own_sizes(builder *b, const rule_site *s, term t) {
    const op_type *to = &s->in_type[0];
    op_attrs attrs = {.rank = to->rank, .ones = {0, s->attrs->ones[0], 0}};
    bool same = true;
    for (int i = 0; i < to->rank && b_alive(b, 1, &t); i++) {
        attrs.dims[i] = to->dims[i];
        same = same && b->type(b, t)->dims[i] == to->dims[i];
    }
    return same ? t : b_perform(b, OP_broadcast, &attrs, 1, &t);
}

void vjp_broadcast(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, with_own_sizes(b, s, b_unbroadcast(b, s, 0, s->d)));
}

void vjp_expand_dims(builder *b, const rule_site *s) {
    if (!s->wants[0]) return;
    b_contribute(b, 0, b_perform(b, OP_squeeze, &(op_attrs){.axis = s->attrs->axis}, 1, &s->d));
}

void vjp_squeeze(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, b_expand(b, s->d, s->attrs->axis));
}

/* Each operand takes its stretch of the cotangent. */
void vjp_concat(builder *b, const rule_site *s) {
    op_attrs attrs = {0};
    int axis = s->attrs->axis;
    for (int i = 0; i < s->out_type->rank; i++) {
        attrs.dims[i] = s->out_type->dims[i];
        attrs.step[i] = 1;
    }
    for (int k = 0; k < s->n && !b->failed; k++) {
        attrs.dims[axis] = s->sizes[k];
        if (s->wants[k]) b_contribute(b, k, b_perform(b, OP_slice, &attrs, 1, &s->d));
        attrs.lo[axis] = b->size(b, OP_add, attrs.lo[axis], s->sizes[k]);
    }
}

void vjp_slice(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute_into(b, s, 0, OP_slice_add, s->attrs, 1, &s->d);
}

void vjp_slice_add(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, s->d);
    if (s->wants[1]) b_contribute(b, 1, b_perform(b, OP_slice, s->attrs, 1, &s->d));
}

/* ---- making ---- */

/* The one number that fills receives the sum of all entries. */
static term total(builder *b, const rule_site *s) {
    return b_sum(b, s->d, (uint8_t)((1u << s->out_type->rank) - 1), false);
}

void vjp_full(builder *b, const rule_site *s) {
    if (s->wants[0]) b_contribute(b, 0, total(b, s));
}

/* The first operand lends its shape alone. */
void vjp_full_like(builder *b, const rule_site *s) {
    if (s->wants[1]) b_contribute(b, 1, total(b, s));
}

term jvp_full_like(builder *b, const rule_site *s) {
    if (s->tangent[1] == TERM_NONE) return TERM_NONE;
    return b_perform(b, OP_full_like, NULL, 2, (term[]){s->in[0], s->tangent[1]});
}
