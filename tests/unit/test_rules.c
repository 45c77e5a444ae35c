/* The rules of calculus: every differentiable op against its transpose and against differences, to
 * second order; the values at kinks; and the checker itself, which must reject wrong rules. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/rule_check.h"

static char why[300];

/* The macros of math.h are floats. */
#define INF          HUGE_VAL
#define NOT_A_NUMBER __builtin_nan("")

/* ---- every op ---- */

typedef struct tally {
    int cases[OP_COUNT];
    int failed;
} tally;

static void check_case(void *self, const rule_case *rc) {
    tally *t = self;
    char name[100];
    t->cases[rc->op]++;
    if (rule_check(rc, &rules_in_use, why, sizeof why)) return;
    rule_case_name(rc, name, sizeof name);
    fprintf(stderr, "%s: %s\n", name, why);
    t->failed++;
}

START_TEST(every_op_agrees_with_differences) {
    tally t = {0};
    rule_cases_walk(check_case, &t);
    ck_assert_msg(t.failed == 0, "%d cases failed", t.failed);
    for (int op = 0; op < OP_COUNT; op++)
        ck_assert_msg(op_table[op].rule == OP_RULE_NONE || t.cases[op] > 0, "%s has no case",
                      op_table[op].name);
}
END_TEST

/* One case with tensors for each op is enough: the first of rank 2, else its last. */
static void note_case(void *self, const rule_case *rc) {
    const rule_case **chosen = self;
    static rule_case kept[OP_COUNT];
    if (chosen[rc->op] != NULL && strchr(chosen[rc->op]->in[0].shape, ' ') != NULL) return;
    kept[rc->op] = *rc;
    chosen[rc->op] = &kept[rc->op];
}

START_TEST(every_op_survives_failing_allocations) {
    const rule_case *chosen[OP_COUNT] = {NULL};
    rule_cases_walk(note_case, chosen);
    for (int op = 0; op < OP_COUNT; op++)
        ck_assert_msg(chosen[op] == NULL || rule_check_memory(chosen[op], why, sizeof why),
                      "%s: %s", op_table[op].name, why);
}
END_TEST

/* ---- kinks and edges ---- */

typedef struct edge {
    rule_case rc;
    double x[CASE_OPERANDS][4];
    double gradient[CASE_OPERANDS][4];
    double second[CASE_OPERANDS][4]; /* of the sum of all gradient entries */
} edge;

#define NUMBER                                                                                     \
    { .shape = "" }
#define VECTOR(size)                                                                               \
    { .shape = size }
#define ONE(id)                                                                                    \
    {                                                                                              \
        .op = OP_##id, .n = 1, .in = { NUMBER }                                                    \
    }
#define TWO(id)                                                                                    \
    {                                                                                              \
        .op = OP_##id, .n = 2, .in = { NUMBER, NUMBER }                                            \
    }
#define THREE(id)                                                                                  \
    {                                                                                              \
        .op = OP_##id, .n = 3, .in = { NUMBER, NUMBER, NUMBER }                                    \
    }
#define OVER(id, size)                                                                             \
    {                                                                                              \
        .op = OP_##id, .attrs = {.axes = 1}, .n = 1, .in = { VECTOR(size) }                        \
    }
#define ALONG(id, size)                                                                            \
    {                                                                                              \
        .op = OP_##id, .n = 1, .in = { VECTOR(size) }                                              \
    }

static const edge edges[] = {
    {ONE(abs), {{0}}, {{0}}, {{0}}},
    {ONE(abs), {{-0.0}}, {{0}}, {{0}}},
    {ONE(relu), {{0}}, {{0}}, {{0}}},
    {ONE(relu), {{NOT_A_NUMBER}}, {{NOT_A_NUMBER}}, {{0}}},
    {ONE(sqrt), {{0}}, {{INF}}, {{-INF}}},
    {ONE(cbrt), {{0}}, {{INF}}, {{-INF}}},
    {ONE(square), {{0}}, {{0}}, {{2}}},
    {ONE(log), {{0}}, {{INF}}, {{-INF}}},
    {TWO(maximum), {{1}, {1}}, {{0.5}, {0.5}}, {{0}, {0}}},
    {TWO(minimum), {{1}, {1}}, {{0.5}, {0.5}}, {{0}, {0}}},
    {TWO(maximum), {{2}, {1}}, {{1}, {0}}, {{0}, {0}}},
    {TWO(pow), {{0}, {2}}, {{0}, {0}}, {{2}, {0}}},
    {TWO(pow), {{0}, {3}}, {{0}, {0}}, {{0}, {0}}},
    {TWO(pow), {{0}, {1}}, {{1}, {0}}, {{0}, {1}}},
    {TWO(pow), {{0}, {0}}, {{0}, {0}}, {{0}, {1}}},
    {TWO(pow), {{2}, {0}}, {{0}, {0.69314718055994531}}, {{0.5}, {0.98045301391820142}}},
    {TWO(atan2), {{0}, {0}}, {{0}, {0}}, {{0}, {0}}},
    {TWO(mod), {{7}, {3}}, {{1}, {-2}}, {{0}, {0}}},
    {TWO(mod), {{-7}, {3}}, {{1}, {3}}, {{0}, {0}}},
    {THREE(clamp), {{1}, {1}, {2}}, {{1}, {0}, {0}}, {{0}, {0}, {0}}},
    {THREE(clamp), {{2}, {1}, {2}}, {{1}, {0}, {0}}, {{0}, {0}, {0}}},
    {THREE(clamp), {{0}, {1}, {2}}, {{0}, {1}, {0}}, {{0}, {0}, {0}}},
    {THREE(clamp), {{3}, {1}, {2}}, {{0}, {0}, {1}}, {{0}, {0}, {0}}},
    {OVER(max, "4"), {{4, 1, 4, 0}}, {{0.5, 0, 0.5, 0}}, {{0}}},
    {OVER(min, "3"), {{2, 2, 2}}, {{1.0 / 3, 1.0 / 3, 1.0 / 3}}, {{0}}},
    {OVER(max, "2"), {{NOT_A_NUMBER, 1}}, {{NOT_A_NUMBER, NOT_A_NUMBER}}, {{0}}},
    {OVER(prod, "3"), {{2, 0, 4}}, {{0, 8, 0}}, {{4, 6, 2}}},
    {OVER(prod, "3"), {{0, 5, 0}}, {{0, 0, 0}}, {{5, 0, 5}}},
    {OVER(prod, "1"), {{0}}, {{1}}, {{0}}},
    {OVER(logsumexp, "2"), {{-INF, -INF}}, {{0, 0}}, {{0, 0}}},
    {OVER(logsumexp, "2"), {{-INF, 0}}, {{0, 1}}, {{0, 0}}},
    {OVER(logsumexp, "2"), {{1e4, -1e4}}, {{1, 0}}, {{0, 0}}},
    {OVER(sum, "0"), {{0}}, {{0}}, {{0}}},
    {ALONG(softmax, "3"), {{1e4, -1e4, 1e4}}, {{0, 0, 0}}, {{0}}},
    {ALONG(softmax, "2"), {{-INF, 0}}, {{0, 0}}, {{0}}},
    {ALONG(log_softmax, "2"), {{1e4, -1e4}}, {{-1, 1}}, {{0}}},
};

static void check_entries(const edge *e, const char *what, int k, const numbers *got,
                          const double *expected) {
    char name[100];
    rule_case_name(&e->rc, name, sizeof name);
    for (int64_t i = 0; i < got->size; i++) {
        double a = got->at[i], b = expected[i];
        bool near = isfinite(b) && fabs(a - b) <= 1e-12 * fmax(1.0, fabs(b));
        bool good = isnan(b) ? isnan(a) : a == b || near;
        ck_assert_msg(good, "%s at %g: %s %d, entry %d is %.17g, not %.17g", name, e->x[0][0], what,
                      k, (int)i, a, b);
    }
}

START_TEST(kinks_and_edges_are_as_stated) {
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        edge e = edges[i];
        numbers gradient[CASE_OPERANDS], second[CASE_OPERANDS];
        ck_assert_msg(rule_gradients(&e.rc, e.x, 1.0, gradient, second, why, sizeof why), "%s",
                      why);
        for (int k = 0; k < e.rc.n; k++) {
            check_entries(&e, "gradient", k, &gradient[k], e.gradient[k]);
            check_entries(&e, "second derivative", k, &second[k], e.second[k]);
        }
    }
}
END_TEST

/* A base so small that its reciprocal overflows: the slope where y = 0 is 0 all the same. */
START_TEST(pow_of_a_subnormal_base) {
    edge e = {TWO(pow), {{1e-320}, {0}}, {{0}, {-736.8272408909739}}, {{0}}};
    numbers gradient[CASE_OPERANDS], second[CASE_OPERANDS];
    ck_assert(rule_gradients(&e.rc, e.x, 1.0, gradient, second, why, sizeof why));
    for (int k = 0; k < 2; k++) check_entries(&e, "gradient", k, &gradient[k], e.gradient[k]);
}
END_TEST

/* Whatever the cotangent and the side not taken hold. */
START_TEST(where_sends_exact_zeros) {
    edge e = {{.op = OP_where,
               .n = 3,
               .in = {{.shape = "2", .entries = "1 0", .condition = true},
                      {.shape = "2"},
                      {.shape = "2"}}},
              {{1, 0}, {1, NOT_A_NUMBER}, {NOT_A_NUMBER, 2}},
              {{INF, 0}, {0, INF}},
              {{0}}};
    numbers gradient[CASE_OPERANDS], second[CASE_OPERANDS];
    ck_assert(rule_gradients(&e.rc, e.x, INF, gradient, second, why, sizeof why));
    for (int k = 0; k < 2; k++) check_entries(&e, "gradient", k, &gradient[k], e.gradient[k]);
}
END_TEST

/* ---- the checker rejects wrong rules ---- */

static void vjp_wrong_sign(builder *b, op_id op, const rule_site *s) {
    rule_site changed = *s;
    changed.d = b_neg(b, s->d);
    rules_vjp(b, op, &changed);
}

static void vjp_wrong_factor(builder *b, op_id op, const rule_site *s) {
    rule_site changed = *s;
    changed.d = b_mul(b, s->d, b_number(b, s->d, 2.001 / 2));
    rules_vjp(b, op, &changed);
}

static term jvp_wrong_sign(builder *b, op_id op, const rule_site *s) {
    term t = rules_jvp(b, op, s);
    return t >= 0 ? b_neg(b, t) : t;
}

static term jvp_wrong_factor(builder *b, op_id op, const rule_site *s) {
    term t = rules_jvp(b, op, s);
    return t >= 0 ? b_mul(b, t, b_number(b, t, 2.001 / 2)) : t;
}

/* Operands of the result's own shape: no axis was stretched. */
static void vjp_without_unbroadcast(builder *b, op_id op, const rule_site *s) {
    op_type type[CASE_OPERANDS];
    rule_site changed = *s;
    for (int k = 0; k < s->n; k++) type[k] = *s->out_type;
    changed.in_type = type;
    changed.out_ones = 255;
    rules_vjp(b, op, &changed);
}

/* Of what should be summed back, the first entry alone: the shape is right. */
static void vjp_first_of_stretched(builder *b, op_id op, const rule_site *s) {
    (void)op;
    op_attrs first = {.lo = {0, 0}, .dims = {1, 3}, .step = {1, 1}, .drop = 1};
    if (s->wants[0]) b->contribute(b, 0, s->d);
    if (s->wants[1]) b->contribute(b, 1, b->op(b, OP_slice, &first, 1, &s->d));
}

static void vjp_forgets_second(builder *b, op_id op, const rule_site *s) {
    bool wants[CASE_OPERANDS] = {s->wants[0]};
    rule_site changed = *s;
    changed.wants = wants;
    rules_vjp(b, op, &changed);
}

/* 2 x in the right place, but as a constant: through integers no derivative passes. */
static void vjp_square_constant(builder *b, op_id op, const rule_site *s) {
    (void)op;
    dtype t = (dtype)b->type(b, s->d)->dtype;
    term x = b_mul(b, s->in[0], b_number(b, s->in[0], 0x1p40));
    x = b_mul(b, b_cast(b, t, b_cast(b, DT_I64, x)), b_number(b, s->in[0], 0x1p-39));
    b->contribute(b, 0, b_mul(b, s->d, x));
}

/* Right, but from the operand, which the tape does not keep for exp. */
static void vjp_exp_of_operand(builder *b, op_id op, const rule_site *s) {
    (void)op;
    b->contribute(b, 0, b_mul(b, s->d, b_unary(b, OP_exp, s->in[0])));
}

/* Writes where it should add. */
static void vjp_zeroes_nothing(builder *b, op_id op, const rule_site *s) {
    rules_vjp(b, op, s);
    if (s->wants[0]) b->contribute(b, 0, s->d);
}

static const rule_case mul_case = {
    OP_mul,
    {.axis = 0},
    2,
    {{.shape = "2 3", .low = -2, .high = 2}, {.shape = "3", .low = -2, .high = 2}}};
static const rule_case add_case = {
    OP_add,
    {.axis = 0},
    2,
    {{.shape = "2 3", .low = -2, .high = 2}, {.shape = "3", .low = -2, .high = 2}}};
static const rule_case literal_case = {
    OP_mul,
    {.axis = 0},
    2,
    {{.shape = "2 3", .low = -2, .high = 2}, {.shape = "1* 3", .low = -2, .high = 2}}};
static const rule_case square_case = {
    OP_square, {.axis = 0}, 1, {{.shape = "3", .low = 0.3, .high = 2}}};
static const rule_case exp_case = {OP_exp, {.axis = 0}, 1, {{.shape = "3", .low = -1, .high = 1}}};

START_TEST(wrong_rules_are_rejected) {
    static const struct {
        const rule_case *rc;
        rule_subject subject;
        const char *says;
    } faults[] = {
        {&mul_case, {vjp_wrong_sign, rules_jvp}, "J^T u"},
        {&mul_case, {rules_vjp, jvp_wrong_sign}, "J^T u"},
        {&mul_case, {vjp_wrong_factor, rules_jvp}, "J^T u"},
        {&mul_case, {rules_vjp, jvp_wrong_factor}, "J^T u"},
        {&mul_case, {vjp_wrong_sign, jvp_wrong_sign}, "differences"},
        {&mul_case, {vjp_wrong_factor, jvp_wrong_factor}, "differences"},
        {&mul_case, {vjp_without_unbroadcast, rules_jvp}, "shape"},
        {&literal_case, {vjp_without_unbroadcast, rules_jvp}, "shape"},
        {&add_case, {vjp_first_of_stretched, rules_jvp}, "J^T u"},
        {&mul_case, {vjp_forgets_second, rules_jvp}, "J^T u"},
        {&add_case, {vjp_zeroes_nothing, rules_jvp}, "J^T u"},
        {&square_case, {vjp_square_constant, rules_jvp}, "second order"},
        {&exp_case, {vjp_exp_of_operand, rules_jvp}, ""},
    };
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        ck_assert_msg(rule_check(faults[i].rc, &rules_in_use, why, sizeof why), "%s", why);
        ck_assert_msg(!rule_check(faults[i].rc, &faults[i].subject, why, sizeof why),
                      "fault %zu passed", i);
        ck_assert_msg(strstr(why, faults[i].says) != NULL, "fault %zu: %s", i, why);
    }
}
END_TEST

Suite *suite_rules(void) {
    Suite *s = suite_create("rules");
    TCase *t = tcase_create("rules");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_op_agrees_with_differences);
    tcase_add_test(t, every_op_survives_failing_allocations);
    tcase_add_test(t, kinks_and_edges_are_as_stated);
    tcase_add_test(t, pow_of_a_subnormal_base);
    tcase_add_test(t, where_sends_exact_zeros);
    tcase_add_test(t, wrong_rules_are_rejected);
    suite_add_tcase(s, t);
    return s;
}
