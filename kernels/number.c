/* Elementwise ops on numbers: one small function per op and type, found by table. A scalar program
 * runs on these, so they do nothing but compute. */
#include "kernels/functions.h"
#include "kernels/lines.h"

#define UNARY(op, P, FIELD)                                                                        \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_##P(P##_##op(in[0].as.FIELD));                                                \
    }
#define BINARY(op, P, FIELD)                                                                       \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_##P(P##_##op(in[0].as.FIELD, in[1].as.FIELD));                                \
    }
#define COMPARE(op, P, FIELD)                                                                      \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_bool(P##_##op(in[0].as.FIELD, in[1].as.FIELD));                               \
    }
/* Clamp, and the conversions, whose result type is an attribute. */
#define OTHERS(P, FIELD)                                                                           \
    static value P##_number_clamp(const value *in, const op_attrs *attrs) {                        \
        (void)attrs;                                                                               \
        return value_##P(P##_clamp(in[0].as.FIELD, in[1].as.FIELD, in[2].as.FIELD));               \
    }
#define CAST(P, FIELD)                                                                             \
    static value P##_number_cast(const value *in, const op_attrs *attrs) {                         \
        switch ((dtype)attrs->dtype) {                                                             \
        case DT_F32: return value_f32(P##_to_f32(in[0].as.FIELD));                                 \
        case DT_F64: return value_f64(P##_to_f64(in[0].as.FIELD));                                 \
        case DT_I32: return value_i32(P##_to_i32(in[0].as.FIELD));                                 \
        case DT_I64: return value_i64(P##_to_i64(in[0].as.FIELD));                                 \
        case DT_Bool: return value_bool(P##_to_b8(in[0].as.FIELD));                                \
        case DTYPE_COUNT: break;                                                                   \
        }                                                                                          \
        return value_none();                                                                       \
    }

#define FLOAT_NUMBERS(P)                                                                           \
    FLOAT_UNARY_OPS(UNARY, P, P)                                                                   \
    LOGISTIC_OPS(UNARY, P, P)                                                                      \
    NUMERIC_BINARY_OPS(BINARY, P, P)                                                               \
    BINARY(strong_mul, P, P)                                                                       \
    BINARY(div, P, P)                                                                              \
    BINARY(mod, P, P)                                                                              \
    ORDER_OPS(COMPARE, P, P)                                                                       \
    EQUALITY_OPS(COMPARE, P, P)                                                                    \
    OTHERS(P, P)                                                                                   \
    CAST(P, P)
FLOAT_NUMBERS(f32)
FLOAT_NUMBERS(f64)

#define INTEGER_NUMBERS(P)                                                                         \
    INTEGER_UNARY_OPS(UNARY, P, P)                                                                 \
    NUMERIC_BINARY_OPS(BINARY, P, P)                                                               \
    INTEGER_DIVISION_OPS(BINARY, P, P)                                                             \
    ORDER_OPS(COMPARE, P, P)                                                                       \
    EQUALITY_OPS(COMPARE, P, P)                                                                    \
    OTHERS(P, P)                                                                                   \
    CAST(P, P)
INTEGER_NUMBERS(i32)
INTEGER_NUMBERS(i64)

static value b8_number_not(const value *in, const op_attrs *attrs) {
    (void)attrs;
    return value_bool(b8_not(in[0].as.b));
}
COMPARE(and, b8, b)
COMPARE(or, b8, b)
EQUALITY_OPS(COMPARE, b8, b)
CAST(b8, b)

static value number_identity(const value *in, const op_attrs *attrs) {
    (void)attrs;
    value v = in[0];
    v.index = 0;
    return v;
}

static value number_where(const value *in, const op_attrs *attrs) {
    (void)attrs;
    value v = in[0].as.b ? in[1] : in[2];
    v.index = 0;
    return v;
}

/* ---- transcendental ---- */

#define PLAIN(op, accuracy, P, L)                                                                  \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_##P(Sleef_finz_##op##L##1_##accuracy##purecfma(in[0].as.P));                  \
    }
#define PATCHED(op, accuracy, P, L)                                                                \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_##P(P##_##op##_far(in[0].as.P)                                                \
                             ? P##_##op##_patch(in[0].as.P)                                        \
                             : Sleef_finz_##op##L##1_##accuracy##purecfma(in[0].as.P));            \
    }
#define TWO(op, accuracy, P, T, L)                                                                 \
    static value P##_number_##op(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        T r = Sleef_finz_##op##L##1_##accuracy##purecfma(in[0].as.P, in[1].as.P);                  \
        bool far = P##_##op##_far(in[0].as.P, r);                                                  \
        return value_##P(far ? P##_##op##_patch(in[0].as.P, in[1].as.P) : r);                      \
    }
#define OTHER_FUNCTIONS(P, T, F)                                                                   \
    static value P##_number_sqrt(const value *in, const op_attrs *attrs) {                         \
        (void)attrs;                                                                               \
        return value_##P(sqrt##F(in[0].as.P));                                                     \
    }                                                                                              \
    static value P##_number_digamma(const value *in, const op_attrs *attrs) {                      \
        (void)attrs;                                                                               \
        return value_##P((T)special_digamma((double)in[0].as.P));                                  \
    }                                                                                              \
    static value P##_number_polygamma(const value *in, const op_attrs *attrs) {                    \
        return value_##P((T)special_polygamma((int)attrs->lo[0], (double)in[0].as.P));                   \
    }
#define FUNCTION_NUMBERS(P, T, F, L)                                                               \
    PLAIN_FUNCTIONS(PLAIN, P, L)                                                                   \
    PATCHED_FUNCTIONS(PATCHED, P, L)                                                               \
    BINARY_FUNCTIONS(TWO, P, T, L)                                                                 \
    OTHER_FUNCTIONS(P, T, F)
FUNCTION_NUMBERS(f32, float, f, f)
FUNCTION_NUMBERS(f64, double, , d)
PATCHED_F64(PATCHED, f64, d)

static value f64_number_rsqrt(const value *in, const op_attrs *attrs) {
    (void)attrs;
    double scale = f64_rsqrt_scale(in[0].as.f64), x = in[0].as.f64 * scale;
    return value_f64(f64_rsqrt_last(x, sqrt(x)) * sqrt(scale));
}
static value f64_number_gelu(const value *in, const op_attrs *attrs) {
    (void)attrs;
    return value_f64(special_gelu(in[0].as.f64));
}
static value f32_number_rsqrt(const value *in, const op_attrs *attrs) {
    (void)attrs;
    return value_f32((float)(1.0 / sqrt((double)in[0].as.f32)));
}
static value f32_number_gelu(const value *in, const op_attrs *attrs) {
    (void)attrs;
    double x = (double)in[0].as.f32;
    return value_f32((float)f64_gelu_last(x, Sleef_finz_erfcd1_u15purecfma(f64_gelu_first(x))));
}
static value f32_number_erfc(const value *in, const op_attrs *attrs) {
    (void)attrs;
    return value_f32((float)Sleef_finz_erfcd1_u15purecfma((double)in[0].as.f32));
}
static value f32_number_lgamma(const value *in, const op_attrs *attrs) {
    (void)attrs;
    return value_f32((float)Sleef_finz_lgammad1_u10purecfma((double)in[0].as.f32));
}

/* ---- the table ---- */

#define ENTRY(op, P, D)                  [OP_##op][DT_##D] = P##_number_##op,
#define FUNCTION_ENTRY(op, unused, P, D) ENTRY(op, P, D)
#define COMMON_ENTRIES(P, D)                                                                       \
    ORDER_OPS(ENTRY, P, D)                                                                         \
    EQUALITY_OPS(ENTRY, P, D)                                                                      \
    ENTRY(clamp, P, D)                                                                             \
    ENTRY(cast, P, D)
#define FLOAT_ENTRIES(P, D)                                                                        \
    FLOAT_UNARY_OPS(ENTRY, P, D)                                                                   \
    LOGISTIC_OPS(ENTRY, P, D)                                                                      \
    NUMERIC_BINARY_OPS(ENTRY, P, D)                                                                \
    COMMON_ENTRIES(P, D)                                                                           \
    ENTRY(strong_mul, P, D)                                                                        \
    ENTRY(div, P, D)                                                                               \
    ENTRY(mod, P, D)                                                                               \
    PLAIN_FUNCTIONS(FUNCTION_ENTRY, P, D)                                                          \
    PATCHED_FUNCTIONS(FUNCTION_ENTRY, P, D)                                                        \
    BINARY_FUNCTIONS(FUNCTION_ENTRY, P, D)                                                         \
    ENTRY(sqrt, P, D)                                                                              \
    ENTRY(rsqrt, P, D)                                                                             \
    ENTRY(gelu, P, D)                                                                              \
    ENTRY(lgamma, P, D)                                                                            \
    ENTRY(erfc, P, D)                                                                              \
    ENTRY(digamma, P, D)                                                                           \
    ENTRY(polygamma, P, D)
#define INTEGER_ENTRIES(P, D)                                                                      \
    INTEGER_UNARY_OPS(ENTRY, P, D)                                                                 \
    NUMERIC_BINARY_OPS(ENTRY, P, D)                                                                \
    INTEGER_DIVISION_OPS(ENTRY, P, D)                                                              \
    COMMON_ENTRIES(P, D)
#define EVERY_DTYPE(function)                                                                      \
    {                                                                                              \
        [DT_F32] = function, [DT_F64] = function, [DT_I32] = function, [DT_I64] = function,        \
        [DT_Bool] = function                                                                       \
    }

/* clang-format off */
number_fn *const number_table[OP_COUNT][DTYPE_COUNT] = {
    FLOAT_ENTRIES(f32, F32)
    FLOAT_ENTRIES(f64, F64)
    INTEGER_ENTRIES(i32, I32)
    INTEGER_ENTRIES(i64, I64)
    ENTRY(not, b8, Bool)
    ENTRY(and, b8, Bool)
    ENTRY(or, b8, Bool)
    EQUALITY_OPS(ENTRY, b8, Bool)
    ENTRY(cast, b8, Bool)
    [OP_identity] = EVERY_DTYPE(number_identity),
    [OP_carry] = EVERY_DTYPE(number_identity),
    [OP_where] = EVERY_DTYPE(number_where),
};
/* clang-format on */
