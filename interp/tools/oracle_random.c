/* The arguments that a comparison does not give. */
#include "interp/inputs.h"
#include "interp/tools/oracle.h"

bool oracle_fill(context *c, const program *p, const fn_decl *fn, uint64_t seed, int attempt, arguments *a) {
    /* Divisors and indices have to suit the program, which is tried again with fewer. */
    static const struct {
        int64_t low, high;
    } whole[ORACLE_ATTEMPTS] = {{-9, 9}, {0, 3}, {0, 1}, {1, 1}};
    inputs_range r = {whole[attempt].low, whole[attempt].high, 1, 5, 0};
    return inputs_fill(c, p, fn, seed, &r, a->values);
}
