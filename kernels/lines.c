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

/* Most ops have no reference form, and then one look is enough. */
static bool wants_reference(const context *c) {
    return c->numerics != NUMERICS_FAST || !lines_sleef();
}

line_fn *lines_find(const context *c, op_id op, dtype t) {
    line_fn *reference = line_reference[op][t];
    if (reference != NULL && wants_reference(c)) return reference;
    line_fn *line = lines_now()->line[op][t];
    return line != NULL ? line : reference;
}

number_fn *numbers_find(const context *c, op_id op, dtype t) {
    number_fn *reference = number_reference[op][t];
    return reference != NULL && wants_reference(c) ? reference : number_table[op][t];
}
