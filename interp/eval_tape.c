/* Tapes of the language: push, pop, is_empty. What a tape holds keeps its place on the tape of the handlers. */
#include "interp/eval.h"
#include "runtime/stack.h"

/* What is known of what is pushed. */
typedef struct pushed {
    bool indexed;               /* something in it has an index */
    uint8_t handlers;           /* the reverse handlers for which something in it is active */
} pushed;

static void look_at(const context *c, const value *v, pushed *p) {
    if (v->kind == VALUE_TUPLE) {
        for (int i = 0; i < v->as.tuple->count; i++) look_at(c, &v->as.tuple->item[i], p);
    } else if (v->kind == VALUE_TAPE) {
        p->indexed |= stack_indexed(v);
        p->handlers |= (uint8_t)v->handlers;
    } else if (v->index != 0) {
        p->indexed = true;
        p->handlers |= ad_active(c, &v, 1);
    }
}

/* What is pushed is a fresh value, as a call's parameter is: the contributions to all that is popped are summed
 * there, and added once, where it was pushed. */
bool eval_push(evaluator *ev, value *frame, const code *n, value *out) {
    value stack, x;
    if (!context_may_go_on(ev->c, n->where)) return false;
    if (!eval(ev, frame, n->u.two.a, &stack)) return false;
    if (!eval(ev, frame, n->u.two.b, &x)) {
        value_release(ev->c, stack);
        return false;
    }
    bool ok = eval_boundary(ev, BOUNDARY_PARAMETER, 0, n->where, &x) &&
              eval_boundary(ev, BOUNDARY_TANGENT, ad_pushing(ev->c), n->where, &x);
    if (!ok) {
        value_release(ev->c, x);
        value_release(ev->c, stack);
        return false;
    }
    pushed p = {0};
    look_at(ev->c, &x, &p);
    return stack_push(ev->c, stack, x, p.indexed, p.handlers, out);
}

bool eval_pop(evaluator *ev, value *frame, const code *n, value *out) {
    value stack;
    if (!eval(ev, frame, n->u.two.a, &stack)) return false;
    if (stack_count(&stack) == 0) {
        error_set(&ev->c->err, ERROR_K0515, n->where, "`pop` of an empty tape");
        error_help(&ev->c->err, "`is_empty` tells whether there is something to pop");
        return false;
    }
    uint8_t handlers = (uint8_t)stack.handlers;
    stack_pop(ev->c, stack, &out[0], &out[1]);
    if (eval_boundary(ev, BOUNDARY_POPPED, handlers, n->where, &out[1])) return true;
    values_release(ev->c, out, 2);
    return false;
}

bool eval_is_empty(evaluator *ev, value *frame, const code *n, value *out) {
    value stack;
    if (!eval(ev, frame, n->u.two.a, &stack)) return false;
    *out = value_bool(stack_count(&stack) == 0);
    value_release(ev->c, stack);
    return true;
}
