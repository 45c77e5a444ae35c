/* A case of rule_check.h at a point: its operands, its result, what its rules say there. */
#ifndef KINA_RULE_TRIAL_H
#define KINA_RULE_TRIAL_H

#include "runtime/context.h"
#include "tests/unit/rule_check.h"

/* A case at a point, with the directions that it is tried in. */
typedef struct trial {
    const rule_case *rc;
    const rule_subject *subject;
    op_attrs attrs;
    context c;
    numbers x[CASE_OPERANDS], v[CASE_OPERANDS]; /* the point and a direction */
    numbers weight[CASE_OPERANDS];              /* of the contributions, for the second order */
    numbers out, u, v_u; /* the result, its cotangent, a direction for that */
    uint64_t seed;
    char *why;
    size_t room;
} trial;

/* What the rules say of the operands of a mask. */
typedef struct derivative {
    numbers tangent;
    numbers gradient[CASE_OPERANDS];
} derivative;

/* Says what is wrong; false. */
bool trial_wrong(trial *t, const char *format, ...) PRINTF_LIKE(2, 3);

/* Whether operand k has derivatives. */
bool trial_real(const rule_case *rc, int k);
/* Small normal-sized numbers of either sign, of a's shape. */
void trial_direction(trial *t, const numbers *a, numbers *x);
/* Matrices on the last two axes as the case asks for them: symmetric, their diagonals raised. */
void trial_shape_matrices(const operand_spec *spec, numbers *x, double diagonal);
/* Spreads the elements of all operands over distinct places of their domains, so that nothing ties. */
void trial_choose_point(trial *t);

/* The operands at x + h * v; v may be NULL. */
bool trial_operands(trial *t, const numbers *v, double h, dtype type, value *in);
bool trial_make_operands(context *c, const trial *t, const numbers *v, double h, dtype type, value *in);
void values_release_all(context *c, value *v, int n);
bool trial_perform_op(context *c, op_id op, const op_attrs *attrs, int n, const value *in, value *out);
bool trial_perform(trial *t, const value *in, value *out);
/* The op at x + h * v. */
bool trial_result_at(trial *t, const numbers *v, double h, numbers *out);

/* Adds the contributions to slot[k] for the operands of the mask. */
bool trial_vjp(trial *t, const value *in, const value *out, const value *d, unsigned mask, value *slot);
/* The tangent for tangents of the operands of the mask; NONE where there is none. */
bool trial_jvp(trial *t, const value *in, const value *out, const value *tangent, unsigned mask, value *result);
/* Both; prior: adjoints that are there already, or NULL. */
bool trial_derive_at(trial *t, unsigned mask, const value *in, const value *prior, dtype type, derivative *d);
bool trial_derive(trial *t, unsigned mask, dtype type, derivative *d);

/* ---- rule_second.c ---- */
bool trial_check_second(trial *t, unsigned mask);
/* The derivative of phi along (v, v_u), by reverse mode over the rules. */
bool trial_phi_slope(trial *t, unsigned mask, double *slope, double *scale);

#endif
