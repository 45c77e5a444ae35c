/* The choice of line functions: by processor, and by the context's numerics. */
#include "kernels/lines.h"

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool lines_sleef(void) {
    return has_avx2() && lines_now()->line[OP_exp][DT_F32] != NULL;
}

const line_table *lines_now(void) {
    if (!has_avx2()) return &lines_base;
    return __builtin_cpu_supports("avx512f") ? &lines_avx512 : &lines_avx2;
}

/* Whether SLEEF is to compute what has a form through libm. */
static bool wants_vectors(const context *c) {
    return c->numerics == NUMERICS_FAST && lines_sleef();
}

/* Most ops have no form through libm, and then one look is enough. */
line_fn *lines_find(const context *c, op_id op, dtype t) {
    line_fn *plain =
        c->numerics == NUMERICS_COMPILED ? line_compiled[op][t] : line_reference[op][t];
    if (plain != NULL && !wants_vectors(c)) return plain;
    line_fn *line = lines_now()->line[op][t];
    return line != NULL ? line : plain;
}

number_fn *numbers_find(const context *c, op_id op, dtype t) {
    number_fn *plain =
        c->numerics == NUMERICS_COMPILED ? number_compiled[op][t] : number_reference[op][t];
    return plain != NULL && !wants_vectors(c) ? plain : number_table[op][t];
}
