/* Looking for what a strong zero makes a difference to. */
#include "kernels/strong.h"

#include "kernels/family.h"

/* x - x is 0 for finite x alone. */
#define ALL_FINITE(name, T)                                                                        \
    static bool name(const T *x, int64_t n, int64_t stride) {                                      \
        T bad = 0;                                                                                 \
        for (int64_t i = 0; i < n; i++) bad += x[i * stride] - x[i * stride];                      \
        return bad == (T)0;                                                                        \
    }
ALL_FINITE(finite_f32, float)
ALL_FINITE(finite_f64, double)

static bool finite_line(const array *x, int64_t offset, int64_t n, int64_t stride) {
    if (x->t == DT_F32) return finite_f32((const float *)x->data + offset, n, stride);
    return finite_f64((const double *)x->data + offset, n, stride);
}

static bool all_finite(const array *x) {
    int64_t at[MAX_RANK] = {0}, offset = 0;
    int last = x->rank - 1;
    for (int i = 0; i <= last; i++)
        if (x->dims[i] == 0) return true;
    for (;;) {
        if (!finite_line(x, offset, x->dims[last], x->strides[last])) return false;
        int i = last - 1;
        for (; i >= 0; i--) {
            offset += x->strides[i];
            if (++at[i] < x->dims[i]) break;
            offset -= at[i] * x->strides[i];
            at[i] = 0;
        }
        if (i < 0) return true;
    }
}

bool strong_matters(const op_call *call, int first) {
    if (call->attrs == NULL || !call->attrs->strong_zero) return false;
    for (int k = first; k < first + 2; k++) {
        array x = array_of(&call->in[k]);
        if (dtype_floating(x.t) && !all_finite(&x)) return true;
    }
    return false;
}
