/* Elementwise ops on one element, by the formulas of docs/numerics.md: forms of an expression, whose longer ones are
 * helpers. */
#include "interp/c_emit.h"

#include <string.h>

/* Of floats, of integers, of Bool. An op without any, which is no function of libm either, is refused by name. */
static const struct scalar_row {
    const char *floating, *integer, *flag;
} rows[OP_COUNT] = {
    [OP_neg] = {"-$0", "($T)(0 - ($U)$0)"},
    [OP_abs] = {"fabs$f($0)", "@abs($0)"},
    [OP_sign] = {"@sign($0)", "@sign($0)"},
    [OP_square] = {"$0 * $0", "($T)(($U)$0 * ($U)$0)"},
    [OP_sqrt] = {"sqrt$f($0)"},
    [OP_rsqrt] = {"1 / sqrt$f($0)"},
    [OP_reciprocal] = {"1 / $0"},
    [OP_sigmoid] = {"@sigmoid($0)"},
    [OP_softplus] = {"@softplus($0)"},
    [OP_relu] = {"@relu($0)", "@relu($0)"},
    [OP_gelu] = {"@gelu($0)"},
    [OP_silu] = {"$0 * @sigmoid($0)"},
    [OP_floor] = {"floor$f($0)"},
    [OP_ceil] = {"ceil$f($0)"},
    [OP_round] = {"rint$f($0)"},
    [OP_step] = {"@step($0)"},
    [OP_not] = {.flag = "!$0"},
    [OP_cast] = {"$0", "$0", "$0"},
    [OP_add] = {"$0 + $1", "($T)(($U)$0 + ($U)$1)"},
    [OP_sub] = {"$0 - $1", "($T)(($U)$0 - ($U)$1)"},
    [OP_mul] = {"$0 * $1", "($T)(($U)$0 * ($U)$1)"},
    [OP_strong_mul] = {"@strong_mul($0, $1)", "($T)(($U)$0 * ($U)$1)"},
    [OP_div] = {"$0 / $1", "@div($0, $1)"},
    [OP_rem] = {NULL, "@rem($0, $1)"},
    [OP_mod] = {"@mod($0, $1)", "@mod($0, $1)"},
    [OP_maximum] = {"@maximum($0, $1)", "@maximum($0, $1)"},
    [OP_minimum] = {"@minimum($0, $1)", "@minimum($0, $1)"},
    [OP_lt] = {"$0 < $1", "$0 < $1"},
    [OP_le] = {"$0 <= $1", "$0 <= $1"},
    [OP_gt] = {"$0 > $1", "$0 > $1"},
    [OP_ge] = {"$0 >= $1", "$0 >= $1"},
    [OP_eq] = {"$0 == $1", "$0 == $1", "$0 == $1"},
    [OP_ne] = {"$0 != $1", "$0 != $1", "$0 != $1"},
    [OP_and] = {.flag = "$0 && $1"},
    [OP_or] = {.flag = "$0 || $1"},
    [OP_where] = {"$0 ? $1 : $2", "$0 ? $1 : $2", "$0 ? $1 : $2"},
    [OP_clamp] = {"@minimum(@maximum($0, $1), $2)", "@minimum(@maximum($0, $1), $2)"},
};

bool c_scalar_written(op_id op) {
    const struct scalar_row *row = &rows[op];
    return row->floating != NULL || row->integer != NULL || row->flag != NULL || compiled_libm(op) != NULL;
}

static const char *cast_form(dtype from, dtype to) {
    if (from == to) return "$0";
    if (to == DT_Bool) return "$0 != 0";
    if (dtype_floating(from) && to == DT_I32) return "@to_i32($0)";
    if (dtype_floating(from) && to == DT_I64) return "@to_i64($0)";
    static const char *const casts[DTYPE_COUNT] = {
        [DT_F32] = "(float)$0", [DT_F64] = "(double)$0", [DT_I32] = "(int32_t)$0", [DT_I64] = "(int64_t)$0"};
    return casts[to];
}

const char *c_scalar(c_writer *w, op_id op, const op_attrs *attrs, dtype t, const char *const *x) {
    const struct scalar_row *row = &rows[op];
    const char *form = dtype_floating(t) ? row->floating : t == DT_Bool ? row->flag : row->integer;
    if (op == OP_cast && attrs != NULL) form = cast_form(t, (dtype)attrs->dtype);
    if (compiled_libm(op) != NULL && dtype_floating(t))
        form = c_string(w, op_table[op].arity == 2 ? "@libm_%s($0, $1)" : "@libm_%s($0)", compiled_libm(op));
    bool compares = op_table[op].class == CLASS_COMPARE || op_table[op].class == CLASS_COMPARE_ORDER;
    if (compares && !dtype_floating(t) && strcmp(x[0], x[1]) == 0) {
        /* Compilers warn of what is compared with itself. */
        const char *wide = c_string(w, "(double)%s", x[0]);
        return c_form(w, rows[op].floating, DT_F64, (const char *const[]){wide, wide});
    }
    if (form != NULL) return c_form(w, form, t, x);
    c_refuse(w, "`%s` of %s cannot be written as C", op_table[op].name, dtype_name(t));
    return "";
}

const char *c_two(c_writer *w, op_id op, dtype t, const char *a, const char *b) {
    return c_scalar(w, op, NULL, t, (const char *const[]){a, b});
}
