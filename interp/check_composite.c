/* Types of the builtins that a run makes of several ops (eval_composite.c). */
#include "interp/check.h"

static const type *apply(checker *c, const builtin_call *b, op_id op) {
    op_attrs attrs = b->use->attrs;
    return check_apply(c, op, b->name, b->e->u.call.callee->at, &attrs, b->operands,
                       b->operand_count);
}

static const type *check_spread(checker *c, const builtin_call *b) {
    if (b->use->attrs.lo[0] >= 0) return apply(c, b, OP_mean);
    diag_error(c->d, ERROR_K0310, b->use->args[3]->at, "`ddof` cannot be negative");
    return &check_error_type;
}

const type *check_composite(checker *c, builtin_call *b) {
    switch (b->use->builtin) {
    case BUILTIN_var:
    case BUILTIN_std: return check_spread(c, b);
    case BUILTIN_norm: return apply(c, b, OP_mean);
    default: return &check_error_type;
    }
}
