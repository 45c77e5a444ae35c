/* Binomial checkpointing (Griewank and Walther 2000) in closed form, so that a plan for 10^9
 * iterations needs neither a table nor a recursion.
 *
 * beta(s, r) = C(s + r, s) iterations can be reversed with s states when no iteration is advanced
 * over more than r times. With r the least number for which beta(s, r) >= n, the least number of
 * advances in all is t(n, s) = r n - beta(s + 1, r - 1). */
#include "ad/schedule_policy.h"

#include <math.h>

__extension__ typedef unsigned __int128 wide;

/* The least r with beta(s, r) >= n, and the two values before it; beta(s, -1) is 0. */
typedef struct repetitions {
    uint64_t r;
    wide beta, before, before_that;
} repetitions;

/* With two states beta is quadratic in r and r may be large, so a square root replaces the search.
 */
static uint64_t repetitions_of_two(uint64_t n) {
    uint64_t r = (uint64_t)sqrt(2.0 * (double)n);
    while (r > 0 && (wide)(r + 1) * r / 2 >= n) r--;
    while ((wide)(r + 2) * (r + 1) / 2 < n) r++;
    return r;
}

static repetitions repetitions_for(uint64_t n, uint64_t slots) {
    if (slots == 2) {
        uint64_t r = repetitions_of_two(n);
        wide beta = (wide)(r + 2) * (r + 1) / 2, before = (wide)(r + 1) * r / 2;
        return (repetitions){r, beta, before, r == 0 ? 0 : (wide)r * (r - 1) / 2};
    }
    repetitions found = {0, 1, 0, 0};
    while (found.beta < n) {
        found.r++;
        found.before_that = found.before;
        found.before = found.beta;
        /* Exact: C(s + r, r) = C(s + r - 1, r - 1) (s + r) / r. The product of two numbers below
         * 2^64 + 2^64 fits because the factor beta is below n. */
        found.beta = found.before * ((wide)slots + found.r) / found.r;
    }
    return found;
}

uint64_t saturating_add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t saturated(wide value) {
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

uint64_t schedule_binomial_advances(uint64_t n, uint64_t slots) {
    if (n <= 1) return 0;
    if (slots == 0) return UINT64_MAX;
    if (slots >= n) return n - 1; /* by far the commonest question while a loop is short */
    if (slots == 1) return saturated((wide)n * (n - 1) / 2);
    repetitions of = repetitions_for(n, slots);
    /* beta(s + 1, r - 1) = C(s + r, r - 1) = C(s + r - 1, r - 1) (s + r) / (s + 1) */
    wide saved = of.before * ((wide)slots + of.r) / ((wide)slots + 1);
    return saturated((wide)of.r * n - saved);
}

uint64_t schedule_binomial_split(uint64_t n, uint64_t slots) {
    /* Any distance in an interval is optimal: the piece before the new state must not need more
     * than r - 1 repetitions, the piece after it not more than r with one state fewer, and neither
     * may be so short that it wastes one. The upper end is taken: it keeps the fewest states early
     * on. beta(s - 1, r) is by Pascal's rule beta(s, r) - beta(s, r - 1). */
    repetitions of = repetitions_for(n, slots);
    wide far = of.before < n - 1 ? of.before : n - 1;
    wide short_of_end = (wide)n - (of.before - of.before_that);
    return (uint64_t)(far < short_of_end ? far : short_of_end);
}

uint64_t schedule_optimum(uint64_t trips, uint64_t slots) {
    return trips == 0 ? 0 : saturating_add(schedule_binomial_advances(trips, slots), trips);
}
