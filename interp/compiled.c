/* See compiled.h. */
#include "interp/compiled.h"

const char *compiled_libm(op_id op) {
    switch (op) {
    case OP_cbrt:
    case OP_exp:
    case OP_exp2:
    case OP_expm1:
    case OP_log:
    case OP_log2:
    case OP_log1p:
    case OP_sin:
    case OP_cos:
    case OP_tan:
    case OP_asin:
    case OP_acos:
    case OP_atan:
    case OP_sinh:
    case OP_cosh:
    case OP_tanh:
    case OP_asinh:
    case OP_acosh:
    case OP_atanh:
    case OP_erf:
    case OP_erfc:
    case OP_lgamma:
    case OP_pow:
    case OP_atan2: return op_table[op].name;
    default: return NULL;
    }
}

op_id compiled_join(op_id reduction) {
    switch (reduction) {
    case OP_prod: return OP_mul;
    case OP_max: return OP_maximum;
    case OP_min: return OP_minimum;
    case OP_any: return OP_or;
    case OP_all: return OP_and;
    default: return OP_add;
    }
}

const char *compiled_c_type(dtype t) {
    static const char *const words[DTYPE_COUNT] = {[DT_F32] = "float",
                                                   [DT_F64] = "double",
                                                   [DT_I32] = "int32_t",
                                                   [DT_I64] = "int64_t",
                                                   [DT_Bool] = "bool"};
    return words[t];
}
