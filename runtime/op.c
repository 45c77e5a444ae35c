/* The op table as data, the look-up by surface name, and operand faults in words. */
#include "runtime/op.h"

#include <stdio.h>
#include <string.h>

#include "runtime/tensor.h"

#define MANY   ARITY_MANY
#define IN0    NEED_IN0
#define IN1    NEED_IN1
#define IN2    NEED_IN2
#define OUT    NEED_OUT
#define SIZES  NEED_SIZES
#define TO0(x) ((uint32_t)(x))
#define TO1(x) ((uint32_t)(x) << 8)
#define TO2(x) ((uint32_t)(x) << 16)

const op_info op_table[OP_COUNT] = {
#define OP(id, surface_name, family, operands, reads, how, parameters, text)                       \
    [OP_##id] = {.name = #id,                                                                      \
                 .surface = surface_name,                                                          \
                 .signature = parameters,                                                          \
                 .doc = text,                                                                      \
                 .class = CLASS_##family,                                                          \
                 .arity = operands,                                                                \
                 .rule = OP_RULE_##how,                                                            \
                 .needs = reads},
#include "runtime/ops.def"
#undef OP
};

bool op_slice_fits(int64_t lo, int64_t count, int64_t step, int64_t size) {
    if (count <= 0) return count == 0;
    if (lo < 0 || lo >= size || step == 0) return false;
    uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    uint64_t room = (uint64_t)(step < 0 ? lo : size - 1 - lo);
    return (uint64_t)(count - 1) <= room / stride;
}

op_id op_find(const char *surface, size_t length) {
    if (length == 0) return OP_COUNT;
    for (int i = 0; i < OP_COUNT; i++) {
        const char *name = op_table[i].surface;
        if (strlen(name) == length && memcmp(name, surface, length) == 0) return (op_id)i;
    }
    return OP_COUNT;
}

/* "the last dim", "axis 1". */
static void axis_print(char *out, size_t room, int axis, int rank) {
    if (axis == rank - 1)
        snprintf(out, room, "the last dim");
    else
        snprintf(out, room, "axis %d", axis);
}

static void dims_fault_print(const op_type *a, const op_type *b, const op_fault *fault,
                             const char *name, char *out, size_t room) {
    char shape_a[64], shape_b[64], axis[32];
    shape_print(shape_a, sizeof shape_a, a->rank, a->dims);
    shape_print(shape_b, sizeof shape_b, b->rank, b->dims);
    long long dim_a = a->dims[fault->axis_a], dim_b = b->dims[fault->axis_b];
    if (a->rank - fault->axis_a == b->rank - fault->axis_b) {
        axis_print(axis, sizeof axis, fault->axis_a, a->rank);
        snprintf(out, room, "%s: shapes %s and %s differ in %s: %lld and %lld", name, shape_a,
                 shape_b, axis, dim_a, dim_b);
    } else {
        snprintf(out, room,
                 "%s: shapes %s and %s do not fit: axis %d of the one is %lld and axis %d of the "
                 "other is %lld",
                 name, shape_a, shape_b, fault->axis_a, dim_a, fault->axis_b, dim_b);
    }
}

/* What one operand has: "operand 2 is tensor F32 of shape [2, 3]", without the number when alone.
 */
static void operand_print(const op_type *t, int index, int n, char *out, size_t room) {
    char shape[64], which[24] = "the operand";
    if (n > 1) snprintf(which, sizeof which, "operand %d", index + 1);
    if (t->rank == 0) {
        snprintf(out, room, "%s is a number of type %s", which, dtype_name((dtype)t->dtype));
    } else {
        shape_print(shape, sizeof shape, t->rank, t->dims);
        snprintf(out, room, "%s is %s of shape %s", which, dtype_name((dtype)t->dtype), shape);
    }
}

void op_fault_describe(op_id op, const op_type *in, int n, const op_fault *fault, char *out,
                       size_t room) {
    const op_info *info = &op_table[op];
    const char *name = info->surface[0] != '\0' ? info->surface : info->name;
    char has[120] = "", axis[32];
    if (fault->a >= 0 && fault->a < n) operand_print(&in[fault->a], fault->a, n, has, sizeof has);
    switch (fault->kind) {
    case FAULT_NONE: snprintf(out, room, "%s does not fit its operands", name); return;
    case FAULT_DTYPE:
    case FAULT_RANK:
    case FAULT_AXIS:
    case FAULT_SIZE: snprintf(out, room, "%s takes %s, but %s", name, fault->expects, has); return;
    case FAULT_DTYPES:
        snprintf(out, room, "%s: operands %d and %d are of types %s and %s", name, fault->a + 1,
                 fault->b + 1, dtype_name((dtype)in[fault->a].dtype),
                 dtype_name((dtype)in[fault->b].dtype));
        return;
    case FAULT_DIMS: dims_fault_print(&in[fault->a], &in[fault->b], fault, name, out, room); return;
    case FAULT_EMPTY:
        axis_print(axis, sizeof axis, fault->axis_a, in[fault->a].rank);
        snprintf(out, room, "%s over %s has nothing to choose from: %s", name, axis, has);
        return;
    case FAULT_OVERFLOW:
        snprintf(out, room, "the result of %s would be too large: %s", name, fault->expects);
        return;
    }
}
