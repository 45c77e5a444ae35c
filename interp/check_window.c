/* What convolutions and pooling are told of each spatial axis: one written integer for all of them,
 * or a written list with one for each. The places in the attributes are those of runtime/op.h. */
#include <limits.h>
#include <string.h>

#include "interp/check.h"

/* Where the parameter's numbers go. */
static int64_t *place(op_attrs *attrs, const builtin_param *p) {
    if (builtin_param_is(p, "stride")) return attrs->step;
    if (builtin_param_is(p, "padding")) return attrs->lo;
    return builtin_param_is(p, "groups") ? attrs->lo + 2 : attrs->step + 2;
}

/* The gradients of a convolution have as many as their operands. */
static int spatial_axes(const builtin_call *b, const builtin_param *p) {
    op_class class = (op_class)op_table[b->builtin].class;
    bool grad = class == CLASS_CONV_INPUT_GRAD || class == CLASS_CONV_WEIGHT_GRAD;
    bool one = b->builtin == (int)OP_conv1d || (grad && b->operands[0]->type->tensor.rank == 3);
    return one || builtin_param_is(p, "groups") ? 1 : 2;
}

static bool pools(const builtin_call *b) {
    op_class class = (op_class)op_table[b->builtin].class;
    return class == CLASS_POOL || class == CLASS_POOL_PLACE || class == CLASS_POOL_GRAD;
}

static bool one_number(checker *c, const builtin_call *b, const builtin_param *p, expr *e,
                       int64_t *out) {
    int64_t least = builtin_param_is(p, "padding") ? 0 : 1;
    if (!check_static_integer(c, e, out, "this")) return false;
    if (*out >= least && *out <= INT_MAX) return true;
    diag_error(c->d, ERROR_K0310, e->at, "`%.*s` of `%s` is at least %lld, not %lld",
               (int)p->length, p->name, b->name, (long long)least, (long long)*out);
    return false;
}

static bool numbers(checker *c, const builtin_call *b, const builtin_param *p, expr *e, int count,
                    int64_t *out) {
    bool good = true;
    if (e->kind != EXPR_LIST || builtin_param_is(p, "groups")) {
        good = one_number(c, b, p, e, &out[0]);
        for (int i = 1; i < count; i++) out[i] = out[0];
        return good;
    }
    op_type t = {.dtype = DT_I64, .rank = 1, .dims = {e->u.list.count}};
    e->type = check_tensor_type(c, &t);
    if (e->u.list.count != count) {
        diag *d = diag_error(c->d, ERROR_K0214, e->at, "`%.*s` of `%s` is %d number%s, not %d",
                             (int)p->length, p->name, b->name, count, count == 1 ? "" : "s",
                             e->u.list.count);
        diag_add_help(c->d, d,
                      count == 1 ? "write `%.*s=2`" : "write `%.*s=[2, 3]`, or one number for both",
                      (int)p->length, p->name);
        return false;
    }
    for (int i = 0; i < count; i++) good = one_number(c, b, p, e->u.list.items[i], &out[i]) && good;
    return good;
}

bool check_window(checker *c, builtin_call *b, const builtin_param *p, expr *e) {
    op_attrs *attrs = &b->use->attrs;
    int64_t *out = place(attrs, p);
    int count = spatial_axes(b, p);
    bool good = e == NULL || numbers(c, b, p, e, count, out);
    for (int i = 0; i < count && e == NULL; i++)
        out[i] = builtin_param_is(p, "padding") ? 0 : pools(b) ? attrs->step[2 + i] : 1;
    for (int i = 0; i < count && good && pools(b) && builtin_param_is(p, "padding") && e != NULL; i++) {
        if (2 * out[i] <= attrs->step[2 + i]) continue;
        diag_error(c->d, ERROR_K0310, e->at, "`padding` of `%s` is at most half of the window",
                   b->name);
        return false;
    }
    return good;
}
