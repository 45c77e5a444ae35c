/* Elementwise ops on one element: what stands in the body of a linalg.generic, or alone where operands are
 * numbers.
 *
 * The formulas are those of `--numerics compiled`. Functions of libm are calls and not operations of the math
 * dialect, so that no pass replaces or folds them. */
#include <string.h>

#include "interp/mlir_emit.h"

#define ONE(a)    ((const char *const[]){a})
#define TWO(a, b) ((const char *const[]){a, b})

/* ---- pieces ---- */

static const char *apply1(emitter *e, op_id op, dtype t, const char *x) {
    return mlir_scalar(e, op, NULL, t, ONE(x));
}

static const char *apply2(emitter *e, op_id op, dtype t, const char *x, const char *y) {
    return mlir_scalar(e, op, NULL, t, TWO(x, y));
}

static const char *pick(emitter *e, dtype t, const char *condition, const char *a, const char *b) {
    return mlir_let(e, "arith.select %s, %s, %s : %s", condition, a, b, mlir_scalar_type(t));
}

static const char *zero(emitter *e, dtype t) {
    return mlir_number(e, t, 0.0);
}

static const char *one(emitter *e, dtype t) {
    return mlir_number(e, t, 1.0);
}

static const char *libm(emitter *e, const char *name, dtype t, int n, const char *const *x) {
    const char *written = mlir_scalar_type(t);
    const char *called = t == DT_F32 ? mlir_string(e, "%sf", name) : name;
    const char *types = n == 1 ? written : mlir_string(e, "%s, %s", written, written);
    mlir_declare(e, called, mlir_string(e, "(%s) -> %s", types, written));
    if (n == 1) return mlir_let(e, "func.call @%s(%s) : (%s) -> %s", called, x[0], types, written);
    return mlir_let(e, "func.call @%s(%s, %s) : (%s) -> %s", called, x[0], x[1], types, written);
}

/* ---- formulas ---- */

typedef const char *formula(emitter *e, const op_attrs *attrs, dtype t, const char *const *x);
#define FORMULA(op)                                                                                          \
    static const char *scalar_##op(emitter *e, const op_attrs *attrs, dtype t, const char *const *x)

FORMULA(neg) {
    (void)attrs;
    return apply2(e, OP_sub, t, zero(e, t), x[0]);
}

FORMULA(abs) {
    (void)attrs;
    return pick(e, t, apply2(e, OP_lt, t, x[0], zero(e, t)), apply1(e, OP_neg, t, x[0]), x[0]);
}

FORMULA(sign) {
    (void)attrs;
    const char *rest = pick(e, t, apply2(e, OP_eq, t, x[0], zero(e, t)), zero(e, t), x[0]);
    rest = pick(e, t, apply2(e, OP_lt, t, x[0], zero(e, t)), mlir_number(e, t, -1.0), rest);
    return pick(e, t, apply2(e, OP_gt, t, x[0], zero(e, t)), one(e, t), rest);
}

FORMULA(square) {
    (void)attrs;
    return apply2(e, OP_mul, t, x[0], x[0]);
}

FORMULA(strong_mul) {
    (void)attrs;
    const char *r = apply2(e, OP_mul, t, x[0], x[1]), *none = zero(e, t);
    const char *factor =
        apply2(e, OP_or, DT_Bool, apply2(e, OP_eq, t, x[0], none), apply2(e, OP_eq, t, x[1], none));
    return pick(e, t, apply2(e, OP_and, DT_Bool, apply2(e, OP_ne, t, r, r), factor), none, r);
}

FORMULA(reciprocal) {
    (void)attrs;
    return apply2(e, OP_div, t, one(e, t), x[0]);
}

FORMULA(rsqrt) {
    (void)attrs;
    return apply2(e, OP_div, t, one(e, t), apply1(e, OP_sqrt, t, x[0]));
}

/* above where x > 0, 0 where x <= 0, else the NaN. */
static const char *ramp(emitter *e, dtype t, const char *x, const char *above) {
    const char *rest = pick(e, t, apply2(e, OP_le, t, x, zero(e, t)), zero(e, t), x);
    return pick(e, t, apply2(e, OP_gt, t, x, zero(e, t)), above, rest);
}

FORMULA(relu) {
    (void)attrs;
    return ramp(e, t, x[0], x[0]);
}

FORMULA(step) {
    (void)attrs;
    return ramp(e, t, x[0], one(e, t));
}

/* exp(-abs(x)) */
static const char *fading(emitter *e, dtype t, const char *x) {
    return apply1(e, OP_exp, t, apply1(e, OP_neg, t, apply1(e, OP_abs, t, x)));
}

FORMULA(sigmoid) {
    (void)attrs;
    const char *y = fading(e, t, x[0]);
    const char *top = pick(e, t, apply2(e, OP_ge, t, x[0], zero(e, t)), one(e, t), y);
    return apply2(e, OP_div, t, top, apply2(e, OP_add, t, one(e, t), y));
}

FORMULA(silu) {
    return apply2(e, OP_mul, t, x[0], scalar_sigmoid(e, attrs, t, x));
}

FORMULA(softplus) {
    const char *log = apply1(e, OP_log1p, t, fading(e, t, x[0]));
    return apply2(e, OP_add, t, scalar_relu(e, attrs, t, x), log);
}

FORMULA(gelu) {
    (void)attrs;
    const char *half = apply2(e, OP_mul, t, mlir_number(e, t, 0.5), x[0]);
    const char *z = apply2(e, OP_mul, t, x[0], mlir_number(e, t, -0.70710678118654752440));
    return apply2(e, OP_mul, t, half, apply1(e, OP_erfc, t, z));
}

/* ---- integers ---- */

/* A divisor that neither traps nor overflows: 1 for -1. */
static const char *divisor(emitter *e, dtype t, const char *y, const char *minus) {
    mlir_assert(e, apply2(e, OP_ne, t, y, zero(e, t)), "integer division by zero");
    return pick(e, t, minus, one(e, t), y);
}

FORMULA(quotient) {
    (void)attrs;
    const char *minus = apply2(e, OP_eq, t, x[1], mlir_number(e, t, -1.0));
    const char *y = divisor(e, t, x[1], minus);
    const char *q = mlir_let(e, "arith.divsi %s, %s : %s", x[0], y, mlir_scalar_type(t));
    return pick(e, t, minus, apply1(e, OP_neg, t, x[0]), q);
}

FORMULA(rem) {
    (void)attrs;
    const char *minus = apply2(e, OP_eq, t, x[1], mlir_number(e, t, -1.0));
    const char *y = divisor(e, t, x[1], minus);
    return mlir_let(e, "arith.remsi %s, %s : %s", x[0], y, mlir_scalar_type(t));
}

/* r with y added where their signs differ. */
static const char *floored(emitter *e, dtype t, const char *r, const char *y) {
    const char *a = apply2(e, OP_lt, t, r, zero(e, t)), *b = apply2(e, OP_lt, t, y, zero(e, t));
    return pick(e, t, apply2(e, OP_ne, DT_Bool, a, b), apply2(e, OP_add, t, r, y), r);
}

FORMULA(mod) {
    bool floating = dtype_floating(t);
    const char *r = floating ? mlir_let(e, "arith.remf %s, %s : %s", x[0], x[1], mlir_scalar_type(t))
                             : scalar_rem(e, attrs, t, x);
    const char *none = r;
    if (floating) none = mlir_let(e, "math.copysign %s, %s : %s", r, x[1], mlir_scalar_type(t));
    return pick(e, t, apply2(e, OP_eq, t, r, zero(e, t)), none, floored(e, t, r, x[1]));
}

/* ---- choices ---- */

/* x where it is beyond y or a NaN. */
static const char *extreme(emitter *e, dtype t, op_id beyond, const char *const *x) {
    const char *first = apply2(e, beyond, t, x[0], x[1]);
    if (dtype_floating(t)) first = apply2(e, OP_or, DT_Bool, first, apply2(e, OP_ne, t, x[0], x[0]));
    return pick(e, t, first, x[0], x[1]);
}

FORMULA(maximum) {
    (void)attrs;
    return extreme(e, t, OP_gt, x);
}

FORMULA(minimum) {
    (void)attrs;
    return extreme(e, t, OP_lt, x);
}

FORMULA(clamp) {
    (void)attrs;
    return apply2(e, OP_minimum, t, apply2(e, OP_maximum, t, x[0], x[1]), x[2]);
}

FORMULA(where) {
    (void)attrs;
    return pick(e, t, x[0], x[1], x[2]);
}

FORMULA(not ) {
    (void)attrs;
    return mlir_let(e, "arith.xori %s, %s : %s", x[0], mlir_number(e, DT_Bool, 1.0), mlir_scalar_type(t));
}

FORMULA(identity) {
    (void)e, (void)attrs, (void)t;
    return x[0];
}

/* ---- conversions ---- */

static const char *convert(emitter *e, const char *how, dtype from, dtype to, const char *x) {
    return mlir_let(e, "arith.%s %s : %s to %s", how, x, mlir_scalar_type(from), mlir_scalar_type(to));
}

/* Beyond the range the nearest end; a NaN gives 0. */
static const char *saturated(emitter *e, dtype from, dtype to, const char *x) {
    value least = to == DT_I32 ? value_i32(INT32_MIN) : value_i64(INT64_MIN);
    value most = to == DT_I32 ? value_i32(INT32_MAX) : value_i64(INT64_MAX);
    double edge = to == DT_I32 ? 0x1p31 : 0x1p63;
    const char *above = apply2(e, OP_ge, from, x, mlir_number(e, from, edge));
    const char *below = apply2(e, OP_lt, from, x, mlir_number(e, from, -edge));
    const char *outside = apply2(e, OP_or, DT_Bool, above, below);
    outside = apply2(e, OP_or, DT_Bool, outside, apply2(e, OP_ne, from, x, x));
    const char *within = convert(e, "fptosi", from, to, pick(e, from, outside, zero(e, from), x));
    within = pick(e, to, below, mlir_constant(e, &least).name, within);
    return pick(e, to, above, mlir_constant(e, &most).name, within);
}

FORMULA(cast) {
    dtype to = attrs != NULL ? (dtype)attrs->dtype : t;
    if (to == t) return x[0];
    if (to == DT_Bool) return apply2(e, OP_ne, t, x[0], zero(e, t));
    if (t == DT_Bool) return convert(e, dtype_floating(to) ? "uitofp" : "extui", t, to, x[0]);
    if (dtype_floating(t) && dtype_floating(to))
        return convert(e, to == DT_F64 ? "extf" : "truncf", t, to, x[0]);
    if (dtype_floating(t)) return saturated(e, t, to, x[0]);
    if (dtype_floating(to)) return convert(e, "sitofp", t, to, x[0]);
    return convert(e, to == DT_I64 ? "extsi" : "trunci", t, to, x[0]);
}

/* ---- the table ---- */

/* Of each op one of: an operation of its own, by the kind of element; a formula, of floats, of
 * integers and Bool. An op without any, which is no function of libm either, is refused by name. */
static const struct scalar_row {
    const char *of_float, *of_integer, *of_bool;
    formula *floating, *other;
} rows[OP_COUNT] = {
    [OP_neg] = {.of_float = "arith.negf", .other = scalar_neg},
    [OP_abs] = {.of_float = "math.absf", .other = scalar_abs},
    [OP_sign] = {.floating = scalar_sign, .other = scalar_sign},
    [OP_square] = {.floating = scalar_square, .other = scalar_square},
    [OP_sqrt] = {.of_float = "math.sqrt"},
    [OP_rsqrt] = {.floating = scalar_rsqrt},
    [OP_reciprocal] = {.floating = scalar_reciprocal},
    [OP_sigmoid] = {.floating = scalar_sigmoid},
    [OP_softplus] = {.floating = scalar_softplus},
    [OP_relu] = {.floating = scalar_relu, .other = scalar_relu},
    [OP_gelu] = {.floating = scalar_gelu},
    [OP_silu] = {.floating = scalar_silu},
    [OP_floor] = {.of_float = "math.floor"},
    [OP_ceil] = {.of_float = "math.ceil"},
    [OP_round] = {.of_float = "math.roundeven"},
    [OP_step] = {.floating = scalar_step},
    [OP_not] = {.other = scalar_not},
    [OP_cast] = {.floating = scalar_cast, .other = scalar_cast},
    [OP_identity] = {.floating = scalar_identity, .other = scalar_identity},
    [OP_carry] = {.floating = scalar_identity, .other = scalar_identity},
    [OP_add] = {.of_float = "arith.addf", .of_integer = "arith.addi"},
    [OP_sub] = {.of_float = "arith.subf", .of_integer = "arith.subi"},
    [OP_mul] = {.of_float = "arith.mulf", .of_integer = "arith.muli"},
    [OP_strong_mul] = {.of_integer = "arith.muli", .floating = scalar_strong_mul},
    [OP_div] = {.of_float = "arith.divf", .other = scalar_quotient},
    [OP_rem] = {.other = scalar_rem},
    [OP_mod] = {.floating = scalar_mod, .other = scalar_mod},
    [OP_maximum] = {.floating = scalar_maximum, .other = scalar_maximum},
    [OP_minimum] = {.floating = scalar_minimum, .other = scalar_minimum},
    [OP_lt] = {.of_float = "arith.cmpf olt,", .of_integer = "arith.cmpi slt,"},
    [OP_le] = {.of_float = "arith.cmpf ole,", .of_integer = "arith.cmpi sle,"},
    [OP_gt] = {.of_float = "arith.cmpf ogt,", .of_integer = "arith.cmpi sgt,"},
    [OP_ge] = {.of_float = "arith.cmpf oge,", .of_integer = "arith.cmpi sge,"},
    [OP_eq] = {.of_float = "arith.cmpf oeq,", .of_integer = "arith.cmpi eq,", .of_bool = "arith.cmpi eq,"},
    [OP_ne] = {.of_float = "arith.cmpf une,", .of_integer = "arith.cmpi ne,", .of_bool = "arith.cmpi ne,"},
    [OP_and] = {.of_bool = "arith.andi"},
    [OP_or] = {.of_bool = "arith.ori"},
    [OP_where] = {.floating = scalar_where, .other = scalar_where},
    [OP_clamp] = {.floating = scalar_clamp, .other = scalar_clamp},
};

const char *mlir_scalar_mnemonic(op_id op, dtype t) {
    if (dtype_floating(t)) return rows[op].of_float;
    return t == DT_Bool ? rows[op].of_bool : rows[op].of_integer;
}

bool mlir_scalar_lowered(op_id op) {
    const struct scalar_row *row = &rows[op];
    return row->of_float != NULL || row->of_integer != NULL || row->of_bool != NULL || compiled_libm(op) != NULL ||
           row->floating != NULL || row->other != NULL;
}

bool mlir_scalar_is_libm(const char *name) {
    for (int op = 0; op < OP_COUNT; op++) {
        const char *libm = compiled_libm((op_id)op);
        size_t length = libm != NULL ? strlen(libm) : 0;
        if (libm == NULL || strncmp(name, libm, length) != 0) continue;
        if (name[length] == '\0' || strcmp(name + length, "f") == 0) return true;
    }
    return false;
}

const char *mlir_scalar(emitter *e, op_id op, const op_attrs *attrs, dtype t, const char *const *x) {
    const struct scalar_row *row = &rows[op];
    const char *own = mlir_scalar_mnemonic(op, t);
    formula *made = dtype_floating(t) ? row->floating : row->other;
    if (own != NULL && op_table[op].arity == 1)
        return mlir_let(e, "%s %s : %s", own, x[0], mlir_scalar_type(t));
    if (own != NULL) return mlir_let(e, "%s %s, %s : %s", own, x[0], x[1], mlir_scalar_type(t));
    if (compiled_libm(op) != NULL) return libm(e, compiled_libm(op), t, op_table[op].arity, x);
    if (made != NULL) return made(e, attrs, t, x);
    mlir_refuse(e, "`%s` of %s cannot be lowered to MLIR", op_table[op].name, dtype_name(t));
    return "";
}
