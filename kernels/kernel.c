/* The bottom handler: numbers go straight to their function, everything else to its family. */
#include "kernels/kernel.h"

#include <string.h>

#include "kernels/family.h"
#include "kernels/loop.h"

static const op_attrs no_attrs;

array array_of(const value *v) {
    if (v->kind == VALUE_TENSOR) {
        const tensor *t = v->as.t;
        return (array){t->data, (dtype)t->dtype, t->rank, t->dims, t->strides};
    }
    return (array){&v->as, (dtype)v->dtype, 0, NULL, NULL};
}

void place_print(int rank, const int64_t *dims, int64_t entry, char *out, size_t room) {
    int64_t at[MAX_RANK];
    for (int axis = rank - 1; axis >= 0; axis--) {
        at[axis] = entry % dims[axis];
        entry /= dims[axis];
    }
    shape_print(out, room, rank, at);
}

/* ---- results ---- */

static error_code fault_code(op_fault_kind kind) {
    switch (kind) {
    case FAULT_DIMS:
    case FAULT_SIZE: return ERROR_K0502;
    case FAULT_EMPTY: return ERROR_K0504;
    case FAULT_OVERFLOW: return ERROR_K0511;
    case FAULT_NONE:
    case FAULT_DTYPE:
    case FAULT_DTYPES:
    case FAULT_RANK:
    case FAULT_AXIS: break;
    }
    return ERROR_K0901; /* dtypes, ranks and axes are settled before a program runs */
}

static bool type_fault(context *c, const op_call *call, const op_type *in, const op_fault *fault) {
    char text[ERROR_TEXT];
    op_fault_describe(call->op, in, call->n, fault, text, sizeof text);
    return error_set(&c->err, fault_code(fault->kind), call->where, "%s", text);
}

static void type_of(const value *v, op_type *type) {
    type->dtype = v->dtype;
    type->rank = (uint8_t)value_rank(v);
    for (int i = 0; i < type->rank; i++) type->dims[i] = v->as.t->dims[i];
}

bool result_type(context *c, const op_call *call, op_type *type) {
    enum { FEW = 4 };
    op_type few[FEW], *in = few;
    op_fault fault;
    if (call->n > FEW) {
        in = take(c, sizeof *in * call->n);
        if (in == NULL) return false;
    }
    for (int k = 0; k < call->n; k++) type_of(&call->in[k], &in[k]);
    bool good = op_result_type(call->op, call->attrs, in, call->n, NULL, type, &fault);
    if (!good) type_fault(c, call, in, &fault);
    if (in != few) give_back(c, in, sizeof *in * call->n);
    return good;
}

bool result_new(context *c, const op_type *type, result *r) {
    if (type->rank == 0) {
        r->v = (value){.kind = VALUE_NUMBER, .dtype = type->dtype};
        r->data = &r->v.as;
        r->size = 1;
        return true;
    }
    tensor *t = tensor_new(c, (dtype)type->dtype, type->rank, type->dims);
    if (t == NULL) return false;
    r->v = value_tensor(t);
    r->data = t->data;
    r->size = t->size;
    return true;
}

static bool may_take_over(const op_call *call, int k, const op_type *type) {
    const value *v = &call->in[k];
    if (k >= 8 || ((call->spent >> k) & 1) == 0 || v->kind != VALUE_TENSOR) return false;
    const tensor *t = v->as.t;
    return tensor_sole(t) && t->dtype == type->dtype &&
           shape_same(t->rank, t->dims, type->rank, type->dims);
}

bool result_reuse(context *c, const op_call *call, int k, const op_type *type, result *r,
                  bool *reused) {
    *reused = may_take_over(call, k, type);
    if (!*reused) return result_new(c, type, r);
    tensor *t = tensor_retain(call->in[k].as.t);
    r->v = value_tensor(t);
    r->data = t->data;
    r->size = t->size;
    return true;
}

bool result_onto(context *c, const op_call *call, int k, const op_type *type, result *r) {
    array x = array_of(&call->in[k]);
    bool reused = false, alone = true;
    /* Another operand that is the same tensor would change under the kernel's hands. */
    for (int j = 0; j < call->n; j++)
        if (j != k && call->in[j].kind == VALUE_TENSOR && call->in[j].as.t == call->in[k].as.t)
            alone = false;
    if (!(alone ? result_reuse(c, call, k, type, r, &reused) : result_new(c, type, r)))
        return false;
    if (!reused) loop_copy(c, x.t, r->data, x.data, x.rank, x.dims, x.strides);
    return true;
}

tensor *kernel_contiguous(context *c, tensor *t) {
    if (t->contiguous && t->base == NULL) return tensor_retain(t);
    tensor *copy = tensor_new(c, (dtype)t->dtype, t->rank, t->dims);
    if (copy == NULL) return NULL;
    loop_copy(c, (dtype)t->dtype, copy->data, t->data, t->rank, t->dims, t->strides);
    return copy;
}

/* ---- dispatch ---- */

static bool custom_perform(context *c, const op_call *call, value *out) {
    (void)out;
    return error_set(&c->err, ERROR_K0901, call->where,
                     "a call under a custom rule reached the kernels");
}

static family_fn *const family_of_class[] = {
    [CLASS_UNARY] = elementwise_perform,
    [CLASS_UNARY_NUMERIC] = elementwise_perform,
    [CLASS_UNARY_BOOL] = elementwise_perform,
    [CLASS_CAST] = elementwise_perform,
    [CLASS_IDENTITY] = shape_perform,
    [CLASS_BINARY] = elementwise_perform,
    [CLASS_BINARY_NUMERIC] = elementwise_perform,
    [CLASS_BINARY_INTEGER] = elementwise_perform,
    [CLASS_BINARY_BOOL] = elementwise_perform,
    [CLASS_COMPARE] = elementwise_perform,
    [CLASS_COMPARE_ORDER] = elementwise_perform,
    [CLASS_WHERE] = elementwise_perform,
    [CLASS_TERNARY_NUMERIC] = elementwise_perform,
    [CLASS_REDUCE] = reduce_perform,
    [CLASS_REDUCE_ONE] = reduce_perform,
    [CLASS_REDUCE_NONEMPTY] = reduce_perform,
    [CLASS_REDUCE_FLOAT] = reduce_perform,
    [CLASS_REDUCE_BOOL] = reduce_perform,
    [CLASS_ARG_REDUCE] = reduce_argument_perform,
    [CLASS_SUM_TO] = reduce_perform,
    [CLASS_ALONG] = along_softmax_perform,
    [CLASS_SHIFT] = along_shift_perform,
    [CLASS_SCAN] = along_scan_perform,
    [CLASS_CUMULATE] = cumulate_perform,
    [CLASS_CUMULATE_FLOAT] = cumulate_perform,
    [CLASS_ORDER] = order_perform,
    [CLASS_TOP_K] = order_perform,
    [CLASS_RESHAPE] = shape_perform,
    [CLASS_PERMUTE] = shape_perform,
    [CLASS_BROADCAST] = shape_perform,
    [CLASS_EXPAND] = shape_perform,
    [CLASS_SQUEEZE] = shape_perform,
    [CLASS_CONCAT] = shape_concat_perform,
    [CLASS_SLICE] = shape_slice_perform,
    [CLASS_SLICE_ADD] = shape_slice_add_perform,
    [CLASS_TAKE] = gather_take_perform,
    [CLASS_TAKE_ALONG] = gather_take_along_perform,
    [CLASS_SCATTER] = gather_scatter_perform,
    [CLASS_SCATTER_ALONG] = gather_scatter_along_perform,
    [CLASS_ONE_HOT] = gather_one_hot_perform,
    [CLASS_MATMUL] = matmul_perform,
    [CLASS_MATMUL_ADD] = matmul_perform,
    [CLASS_MATRIX] = linalg_perform,
    [CLASS_MATRIX_PAIR] = linalg_perform,
    [CLASS_DETERMINANT] = linalg_perform,
    [CLASS_SOLVE] = linalg_perform,
    [CLASS_TRIANGLE] = triangle_perform,
    [CLASS_CONV] = conv_perform,
    [CLASS_CONV_INPUT_GRAD] = conv_perform,
    [CLASS_CONV_WEIGHT_GRAD] = conv_perform,
    [CLASS_POOL] = pool_perform,
    [CLASS_POOL_PLACE] = pool_perform,
    [CLASS_POOL_GRAD] = pool_perform,
    [CLASS_FULL] = making_perform,
    [CLASS_FULL_LIKE] = making_perform,
    [CLASS_ARANGE] = making_perform,
    [CLASS_EYE] = making_perform,
    [CLASS_RANDOM] = random_perform,
    [CLASS_CUSTOM] = custom_perform,
};

static bool divides_by_zero(op_id op, const value *divisor) {
    if (op != OP_div && op != OP_rem && op != OP_mod) return false;
    return (divisor->dtype == DT_I32 && divisor->as.i32 == 0) ||
           (divisor->dtype == DT_I64 && divisor->as.i64 == 0);
}

bool kernel_perform(context *c, handler *h, const op_call *call, value *out) {
    (void)h;
    int n = call->n;
    const value *in = call->in;
    if (n >= 1 && n <= 3 && in[0].kind == VALUE_NUMBER && in[n - 1].kind == VALUE_NUMBER &&
        in[n / 2].kind == VALUE_NUMBER) {
        const value *last = &in[n - 1];
        number_fn *number = numbers_find(c, call->op, (dtype)last->dtype);
        uint8_t first = call->op == OP_where ? DT_Bool : last->dtype;
        if (number != NULL && in[0].dtype == first && in[n / 2].dtype == last->dtype) {
            if (divides_by_zero(call->op, last))
                return error_set(&c->err, ERROR_K0501, call->where, "integer division by zero");
            *out = number(in, call->attrs != NULL ? call->attrs : &no_attrs);
            return true;
        }
    }
    bool good = family_of_class[op_table[call->op].class](c, call, out);
    /* Allocation knows no place in the program; the call does. */
    if (!good && c->err.where.end == 0) c->err.where = call->where;
    return good;
}

/* ---- installing ---- */

/* Never written: the door passes it on as any other handler. */
static const handler bottom = {.outer = NULL, .perform = kernel_perform};

void kernel_install(context *c) {
    c->top = (handler *)(uintptr_t)&bottom;
}

const char *kernel_vector_name(void) {
    return lines_sleef() ? lines_now()->name : lines_base.name;
}
