/* Elementwise ops on tensors: broadcasting by strides, and reuse of a spent operand's buffer. */
#include "kernels/family.h"
#include "kernels/loop.h"

static const op_attrs no_attrs;

/* The stride of operand k on each axis of the result: 0 where its axis is missing or a literal 1.
 */
static void broadcast_strides(const array *x, uint8_t ones, const op_type *type, int64_t *strides) {
    int lead = type->rank - x->rank;
    for (int i = 0; i < type->rank; i++) {
        int axis = i - lead;
        bool stretched = axis < 0 || (((ones >> axis) & 1) != 0 && x->dims[axis] == 1);
        strides[i] = stretched ? 0 : x->strides[axis];
    }
}

/* False with the error set when an integer divisor is zero somewhere and anything is divided. */
static bool divisors_good(context *c, const op_call *call, const op_type *type) {
    array y = array_of(&call->in[1]);
    int64_t at[MAX_RANK] = {0}, offset = 0, size = value_size(&call->in[1]);
    bool zero = false;
    for (int i = 0; i < type->rank; i++) size = type->dims[i] == 0 ? 0 : size;
    int64_t n = 0;
    for (; n < size && !zero; n++) {
        zero = array_index(&y, offset) == 0;
        for (int i = y.rank - 1; i >= 0; i--) {
            offset += y.strides[i];
            if (++at[i] < y.dims[i]) break;
            offset -= y.strides[i] * y.dims[i];
            at[i] = 0;
        }
    }
    if (!zero) return true;
    char place[64];
    place_print(y.rank, y.dims, n - 1, place, sizeof place);
    return error_set(&c->err, ERROR_K0501, call->where, "integer division by zero%s%s",
                     y.rank > 0 ? ": the divisor is 0 at " : "", y.rank > 0 ? place : "");
}

static bool divides_integers(const op_call *call) {
    return (call->op == OP_div || call->op == OP_rem || call->op == OP_mod) &&
           !dtype_floating((dtype)call->in[1].dtype);
}

/* The commonest call: dense tensors of one shape, or numbers, so that no axis needs a look; and of
 * the types that the op takes, which the caller knows when there is a line for the last of them. */
static bool same_shapes(const op_call *call, const tensor **shape) {
    uint8_t last = call->in[call->n - 1].dtype;
    *shape = NULL;
    for (int k = 0; k < call->n; k++) {
        uint8_t expected = k == 0 && call->op == OP_where ? DT_Bool : last;
        if (call->in[k].dtype != expected) return false;
        if (call->in[k].kind != VALUE_TENSOR) continue;
        const tensor *t = call->in[k].as.t;
        if (!t->contiguous) return false;
        if (*shape == NULL)
            *shape = t;
        else if (!shape_same((*shape)->rank, (*shape)->dims, t->rank, t->dims))
            return false;
    }
    return *shape != NULL;
}

static uint8_t result_dtype(const op_call *call) {
    switch ((op_class)op_table[call->op].class) {
    case CLASS_COMPARE:
    case CLASS_COMPARE_ORDER: return DT_Bool;
    case CLASS_CAST: return call->attrs->dtype;
    default: return call->in[call->n - 1].dtype;
    }
}

/* Room for the result, in an operand's buffer where the call allows it. */
static bool make_result(context *c, const op_call *call, const op_type *type, result *r) {
    bool reused = false;
    for (int k = 0; k < call->n && k < 8 && call->spent != 0; k++) {
        if (((call->spent >> k) & 1) == 0 || call->in[k].kind != VALUE_TENSOR) continue;
        if (!tensor_sole(call->in[k].as.t)) continue;
        if (!result_reuse(c, call, k, type, r, &reused)) return false;
        if (reused) return true;
        value_release(c, r->v);
    }
    return result_new(c, type, r);
}

/* Operands without gaps, all of the result's shape or numbers: one line. */
static void run_dense(context *c, const op_call *call, const result *r, line_fn *line) {
    void *p[LOOP_OPERANDS] = {r->data};
    ptrdiff_t s[LOOP_OPERANDS] = {1};
    for (int k = 0; k < call->n; k++) {
        const value *v = &call->in[k];
        bool number = v->kind != VALUE_TENSOR;
        p[k + 1] = number ? (void *)(uintptr_t)&v->as : v->as.t->data;
        s[k + 1] = !number;
    }
    const op_attrs *attrs = call->attrs != NULL ? call->attrs : &no_attrs;
    if (r->size < LOOP_PARALLEL || c->threads <= 1) {
        line(p, s, (size_t)r->size, attrs);
        return;
    }
    loop l = {.rank = 1, .operands = call->n + 1, .dims = {r->size}};
    for (int k = 0; k <= call->n; k++) {
        l.data[k] = p[k];
        l.strides[k][0] = s[k];
        l.element[k] = dtype_size((dtype)(k == 0 ? r->v.dtype : call->in[k - 1].dtype));
    }
    loop_run(c, &l, line, attrs);
}

static void run_strided(context *c, const op_call *call, const op_type *type, const result *r,
                        line_fn *line) {
    const op_attrs *attrs = call->attrs != NULL ? call->attrs : &no_attrs;
    loop l = {.rank = type->rank, .operands = call->n + 1};
    l.data[0] = r->data;
    l.element[0] = dtype_size((dtype)type->dtype);
    for (int i = 0; i < type->rank; i++) l.dims[i] = type->dims[i];
    shape_strides(type->rank, type->dims, l.strides[0]);
    for (int k = 0; k < call->n; k++) {
        array x = array_of(&call->in[k]);
        l.data[k + 1] = (void *)(uintptr_t)x.data;
        l.element[k + 1] = dtype_size(x.t);
        broadcast_strides(&x, attrs->ones[k], type, l.strides[k + 1]);
    }
    loop_collapse(&l);
    loop_run(c, &l, line, attrs);
}

bool elementwise_perform(context *c, const op_call *call, value *out) {
    op_type type;
    result r;
    const tensor *shape;
    line_fn *line = lines_find(c, call->op, (dtype)call->in[call->n - 1].dtype);
    bool dense = line != NULL && same_shapes(call, &shape);
    if (dense) {
        type.dtype = result_dtype(call);
        type.rank = shape->rank;
        for (int i = 0; i < shape->rank; i++) type.dims[i] = shape->dims[i];
    } else if (!result_type(c, call, &type)) {
        return false;
    }
    if (divides_integers(call) && !divisors_good(c, call, &type)) return false;
    if (!make_result(c, call, &type, &r)) return false;
    if (dense)
        run_dense(c, call, &r, line);
    else
        run_strided(c, call, &type, &r, line);
    *out = r.v;
    return true;
}
