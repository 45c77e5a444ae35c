/* What the files of type rules share: op_type.c, op_type_matrix.c and op_type_windows.c. A rule
 * looks at the operands' types and fills in the result's, or says in the fault why they do not fit
 * and returns false. */
#ifndef KINA_OP_RULE_H
#define KINA_OP_RULE_H

#include "runtime/op.h"

typedef struct rule {
    op_id op;
    const op_attrs *attrs; /* never NULL: all zero when the call has none */
    const op_type *in;
    int n;
    const dim_algebra *algebra;
    op_type *out;
    op_fault *fault;
} rule;

typedef enum wants { WANT_ANY, WANT_FLOAT, WANT_NUMERIC, WANT_INTEGER, WANT_BOOL } wants;

/* ---- faults: each returns false ---- */

bool rule_fail(const rule *r, op_fault_kind kind, int a, const char *expects);
bool rule_fail_axis(const rule *r, op_fault_kind kind, int a, int axis, const char *expects);
bool rule_fail_dims(const rule *r, int a, int axis_a, int b, int axis_b);

/* ---- dims ---- */

bool rule_in_a_run(const rule *r);
dim_verdict rule_compare_dims(const rule *r, int64_t a, int64_t b);
/* Of two dims that may be equal, the one that says more: a size rather than an expression. */
int64_t rule_definite_dim(int64_t a, int64_t b);
/* False on overflow, which only plain sizes can have. */
bool rule_mul_dims(const rule *r, int64_t a, int64_t b, int64_t *product);

/* ---- operands ---- */

bool rule_want(const rule *r, int k, wants w);
bool rule_same_dtype(const rule *r, int a, int b);
bool rule_same_shape(const rule *r, int a, int b);
/* Operand k must have exactly the shape of `t`, which the other operands and the attributes give.
 */
bool rule_has_shape(const rule *r, int k, const op_type *t);
/* The result's axis `axis` joined from the last `from_end`-th dims of operands first..last. An
 * operand whose dim there is a literal 1 (bit in ones) or missing stretches; all others must agree.
 * `skip` dims at every operand's end take no part (the matrix dims of a product). */
bool rule_broadcast_axis(const rule *r, int first, int last, const uint8_t *ones, int skip,
                         int from_end, int64_t *joined);

/* ---- the result ---- */

void rule_same_as(const rule *r, int k);
/* The shape that the attributes name. */
bool rule_attr_shape(const rule *r);

/* ---- the rules of op_type_matrix.c ---- */

/* The type of operand a times operand a + 1; ones[0..1] belong to the two. */
bool rule_product(const rule *r, int a, const uint8_t *ones);
bool rule_matmul_add(const rule *r);
bool rule_matrix(const rule *r);
bool rule_matrix_pair(const rule *r);
bool rule_determinant(const rule *r);
bool rule_triangle(const rule *r);
bool rule_solve(const rule *r);

/* ---- the rules of op_type_windows.c ---- */

bool rule_conv(const rule *r);
/* A gradient has the shape that the attributes name, if the convolution would then fit. Operand
 * `cotangent` stands where its result was, the other one is what it was. */
bool rule_conv_grad(const rule *r, int cotangent);
bool rule_pool(const rule *r, bool place);
bool rule_pool_grad(const rule *r);

#endif
