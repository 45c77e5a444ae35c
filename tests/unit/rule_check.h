/* Checking rules of calculus against each other and against differences.
 *
 * A case is one application of an op: operands' shapes, domains and layouts. The checker takes the
 * rules as a parameter, so that wrong ones can be handed to it to see that it rejects them. */
#ifndef KINA_RULE_CHECK_H
#define KINA_RULE_CHECK_H

#include "ad/builder.h"
#include "tests/unit/rule_numbers.h"

enum { CASE_OPERANDS = 3 };

typedef struct operand_spec {
    const char *shape; /* "2 1* 3": the starred axis is a literal one; "" is a number */
    double low, high;  /* where its elements lie; distinct within a case of one domain */
    bool either_sign;  /* or in [-high, -low] */
    layout layout;
    const char *entries; /* an integer operand: "0 2 1"; low and high do not count */
    bool condition;      /* entries as Bool */
    double diagonal;     /* added to the diagonals of the matrices on the last two axes */
    bool symmetric;      /* these matrices and the directions are symmetric */
} operand_spec;

typedef struct rule_case {
    op_id op;
    op_attrs attrs; /* ones[] of the operands come from the shapes */
    int n;
    operand_spec in[CASE_OPERANDS];
} rule_case;

typedef struct rule_subject {
    void (*vjp)(builder *b, op_id op, const rule_site *s);
    term (*jvp)(builder *b, op_id op, const rule_site *s);
} rule_subject;

/* The rules that the program uses. */
extern const rule_subject rules_in_use;

/* False with the reason in why[] when a rule is wrong in this case:
 *   <u, J v> = <J^T u, v> with sign, J v = differences of the op along v, for all operands at once
 * and for each alone; the reverse rule differentiated again = differences of it; the reverse rule
 * adds to adjoints that are present; it reads what `needs` grants; the handlers give the bits of
 * the rules (only for rules_in_use); F32 agrees with F64; nothing leaks. */
bool rule_check(const rule_case *rc, const rule_subject *subject, char *why, size_t room);

/* Runs a case's reverse and forward rules with the n-th allocation failing, for every n until none
 * is left to fail: each time the error is reported, the handlers can be left and nothing leaks. */
bool rule_check_memory(const rule_case *rc, char *why, size_t room);

/* The gradients of a case by the reverse handler, at elements of the caller's choice (x[k][i] for
 * operand k), and those of the sum of all gradient entries, by a second handler outside. `seed` is
 * every entry of the cotangent. */
bool rule_gradients(const rule_case *rc, double x[CASE_OPERANDS][4], double seed,
                    numbers gradient[CASE_OPERANDS], numbers second[CASE_OPERANDS], char *why,
                    size_t room);

/* A case's operands at a point of their domains, F64s unless they are integers or a condition, and its attributes
 * with their literal ones. */
bool rule_operands(const rule_case *rc, context *c, value *in, op_attrs *attrs);

/* "matmul (2 1* 3, 3 4)": for messages. */
void rule_case_name(const rule_case *rc, char *out, size_t room);

/* Calls visit for every case of the table. */
void rule_cases_walk(void (*visit)(void *self, const rule_case *rc), void *self);

#endif
