/* Calls of functions with rules of their own: each handler on the stack, from the outside in, applies the
 * rule that it needs. */
#include "ad/custom.h"

bool custom_floating(const value *v) {
    return (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) && dtype_floating((dtype)v->dtype);
}

bool custom_same_shape(context *c, const value *given, const value *of, const char *what, span where) {
    if (shape_same(value_rank(given), value_dims(given), value_rank(of), value_dims(of))) return true;
    char a[96], b[96];
    shape_print(a, sizeof a, value_rank(given), value_dims(given));
    shape_print(b, sizeof b, value_rank(of), value_dims(of));
    return error_set(&c->err, ERROR_K0502, where, "the rule of this call returns a %s of shape %s for %s", what, a,
                     b);
}

bool custom_refuse(context *c, const custom_call *call, const char *mode, const char *decorator) {
    error_set(&c->err, ERROR_K0702, call->where, "`%s` has a rule of its own, but none for %s", call->name, mode);
    error_help(&c->err, "give `%s` a %s rule", call->name, decorator);
    return false;
}

bool custom_at(context *c, handler *h, const custom_call *call, value *out) {
    if (h->custom == NULL) {
        *out = value_retain(call->result);
        out->index = 0;
        return true;
    }
    handler *top = c->top;
    c->top = h;
    bool ok = h->custom(c, h, call, out);
    c->top = top;
    return ok;
}

bool ad_custom(context *c, const custom_call *call, value *out) { return custom_at(c, c->top, call, out); }
