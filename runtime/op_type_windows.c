/* The type rules of convolutions and pooling, and of their gradients. */
#include <stdio.h>

#include "runtime/op_rule.h"

/* How many windows of a size fit along axis `axis` of x, operand kx; the window is operand kw's, or
 * an attribute when that is negative. */
static bool dim_windows(const rule *r, int kx, int axis, int kw, int64_t size, int64_t window,
                        int spatial, int64_t dilation, int64_t *out) {
    int64_t stride = r->attrs->step[spatial], padding = r->attrs->lo[spatial], reach;
    if (stride < 1 || padding < 0 || dilation < 1)
        return rule_fail(r, FAULT_OVERFLOW, -1,
                         "a stride or dilation below 1, or a padding below 0");
    if (window == 0) return rule_fail_axis(r, FAULT_SIZE, kw, axis, "windows of size 1 or more");
    if (size < 0 || window < 0) {
        *out = r->algebra->windows(r->algebra->self, size, window, stride, padding, dilation);
        return true;
    }
    if (__builtin_mul_overflow(window - 1, dilation, &reach) ||
        __builtin_add_overflow(size, 2 * padding, &size))
        return rule_fail(r, FAULT_OVERFLOW, kx, "sizes beyond 64 bits");
    if (size <= reach) {
        char text[80];
        snprintf(text, sizeof text, "at least %lld entries along axis %d, padding included",
                 (long long)reach + 1, axis);
        return rule_fail_axis(r, FAULT_SIZE, kx, axis, text);
    }
    *out = (size - reach - 1) / stride + 1;
    return true;
}

/* The channels of x, operand kx, against the filters w, operand kw. */
static bool conv_channels(const rule *r, const op_type *x, const op_type *w, int kx, int kw) {
    int64_t groups = r->attrs->lo[2], channels;
    if (groups < 1) return rule_fail(r, FAULT_OVERFLOW, -1, "less than one group");
    if (!rule_mul_dims(r, w->dims[1], groups, &channels))
        return rule_fail(r, FAULT_OVERFLOW, kw, "sizes beyond 64 bits");
    if (rule_compare_dims(r, x->dims[1], channels) == DIM_DIFFERENT) {
        if (groups == 1) return rule_fail_dims(r, kx, 1, kw, 1);
        return rule_fail_axis(r, FAULT_SIZE, kw, 1, "filters with a group's channels along axis 1");
    }
    if (w->dims[0] >= 0 && w->dims[0] % groups != 0)
        return rule_fail_axis(r, FAULT_SIZE, kw, 0, "as many filters for each group");
    return true;
}

static bool conv_type(const rule *r, const op_type *x, const op_type *w, int kx, int kw,
                      op_type *out) {
    if (!conv_channels(r, x, w, kx, kw)) return false;
    *out = *x;
    out->dims[1] = w->dims[0];
    for (int i = 0; i + 2 < x->rank; i++)
        if (!dim_windows(r, kx, i + 2, kw, x->dims[i + 2], w->dims[i + 2], i, r->attrs->step[2 + i],
                         &out->dims[i + 2]))
            return false;
    return true;
}

bool rule_conv(const rule *r) {
    bool one = r->op == OP_conv1d;
    for (int k = 0; k < 2; k++)
        if (r->in[k].rank != (one ? 3 : 4))
            return rule_fail(r, FAULT_RANK, k,
                             k == 0 ? (one ? "x of dims [N, C, L]" : "x of dims [N, C, H, W]")
                             : one  ? "filters of dims [O, C / groups, K]"
                                    : "filters of dims [O, C / groups, KH, KW]");
    return rule_want(r, 0, WANT_FLOAT) && rule_same_dtype(r, 0, 1) &&
           conv_type(r, &r->in[0], &r->in[1], 0, 1, r->out);
}

bool rule_conv_grad(const rule *r, int cotangent) {
    const op_type *other = &r->in[1 - cotangent], *x = cotangent == 0 ? r->out : other;
    op_type made;
    r->out->dtype = r->in[0].dtype;
    if (!rule_want(r, 0, WANT_FLOAT) || !rule_same_dtype(r, 0, 1) || !rule_attr_shape(r))
        return false;
    if (other->rank != r->out->rank || other->rank < 3 || other->rank > 4)
        return rule_fail(r, FAULT_RANK, 1 - cotangent, "rank 3 or 4");
    return conv_type(r, x, cotangent == 0 ? other : r->out, 1 - cotangent, 1 - cotangent, &made) &&
           rule_has_shape(r, cotangent, &made);
}

static bool pool_type(const rule *r, const op_type *x, op_type *out) {
    if (x->rank != 4) return rule_fail(r, FAULT_RANK, 0, "x of dims [N, C, H, W]");
    *out = *x;
    for (int i = 0; i < 2; i++) {
        int64_t window = r->attrs->step[2 + i];
        if (window < 1 || r->attrs->lo[i] >= window)
            return rule_fail(r, FAULT_OVERFLOW, -1,
                             "a window below 1, or no larger than its padding");
        if (x->dims[2 + i] == 0)
            return rule_fail_axis(r, FAULT_EMPTY, 0, 2 + i, "an axis with entries");
        if (!dim_windows(r, 0, 2 + i, 0, x->dims[2 + i], window, i, 1, &out->dims[2 + i]))
            return false;
    }
    return true;
}

bool rule_pool(const rule *r, bool place) {
    if (!rule_want(r, 0, WANT_FLOAT) || !pool_type(r, &r->in[0], r->out)) return false;
    if (place) r->out->dtype = DT_I64;
    return true;
}

bool rule_pool_grad(const rule *r) {
    op_type made;
    r->out->dtype = r->in[0].dtype;
    return rule_want(r, 0, WANT_FLOAT) && rule_attr_shape(r) && pool_type(r, r->out, &made) &&
           rule_has_shape(r, 0, &made);
}
