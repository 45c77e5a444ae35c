/* Lowering the builtins that a run makes of several ops: their operands and sizes with the axes
 * that are a literal 1; everything else is in the checked call. */
#include "interp/lower_scope.h"

static uint8_t ones_of(const type *t) {
    uint8_t ones = 0;
    for (int i = 0; t != NULL && t->kind == TYPE_TENSOR && i < t->tensor.rank; i++)
        if (t->tensor.dims[i] == 1) ones |= (uint8_t)(1u << i);
    return ones;
}

code *lower_composite(fn_scope *s, const expr *e, code **args, code **sizes) {
    const builtin_use *use = e->u.call.builtin;
    code *n = code_new(s, CODE_COMPOSITE, e->at);
    expr **operands = LOWER_ARRAY(s->l, expr *, use->count);
    if (n == NULL || operands == NULL) return NULL;
    int count = builtin_operands(use, operands);
    n->u.composite.use = use;
    n->u.composite.count = count;
    n->u.composite.args = LOWER_ARRAY(s->l, code *, count);
    n->u.composite.ones = LOWER_ARRAY(s->l, uint8_t, count);
    n->u.composite.size = LOWER_ARRAY(s->l, code *, use->sizes);
    n->u.composite.result_ones = ones_of(e->type);
    if (s->l->failed) return NULL;
    for (int i = 0; i < count; i++) {
        n->u.composite.args[i] = args[i];
        n->u.composite.ones[i] = ones_of(operands[i]->type);
    }
    for (int i = 0; i < use->sizes; i++) n->u.composite.size[i] = sizes[i];
    return n;
}
