/* grad, vjp, jvp, hvp, jacobian and hessian: each gives a closure of a function made here, whose parameters
 * are those of the differentiated function and what the builtin adds to them, and whose one captured value is
 * that function. Its body is a handler, so that whatever holds of handlers holds here. */
#include "interp/lower_scope.h"

static code *slot_node(fn_scope *s, int slot, bool last, span where) {
    code *n = code_new(s, CODE_SLOT, where);
    if (n == NULL) return NULL;
    n->u.slot = slot;
    n->last = last;
    return n;
}

static slots one_slot(fn_scope *s, int slot) {
    slots list = {.slot = LOWER_ARRAY(s->l, int, 1)};
    if (list.slot == NULL) return list;
    list.slot[0] = slot;
    list.count = 1;
    return list;
}

static uint8_t ones_of(const type *t) {
    uint8_t ones = 0;
    for (int i = 0; i < t->tensor.rank; i++)
        if (t->tensor.dims[i] == 1) ones |= (uint8_t)(1u << i);
    return ones;
}

/* What is made: a function of the differentiated one's parameters and `more`. */
typedef struct derived {
    fn_scope s;                 /* its own */
    const type *f;              /* the differentiated function */
    const bool *wrt;
    int active;                 /* parameters that are differentiated */
    const type *value;          /* its own result */
    span where;
} derived;

/* A handler around the differentiated function, or around `inner`, which captures that function as this does. */
static code *handler_node(derived *d, code_kind kind, code_function *inner) {
    fn_scope *s = &d->s;
    code *n = code_new(s, kind, d->where);
    if (n == NULL) return NULL;
    int count = d->f->count, captured = s->f->params;
    n->u.handle.count = count;
    n->u.handle.primals = 1;
    n->u.handle.args = LOWER_ARRAY(s->l, code *, count);
    n->u.handle.floating = LOWER_ARRAY(s->l, bool, count);
    if (s->l->failed) return NULL;
    if (inner != NULL) {
        n->u.handle.callee.known = inner;
        n->u.handle.callee.captures = one_slot(s, captured);
    } else {
        n->u.handle.callee.value = slot_node(s, captured, false, d->where);
    }
    for (int i = 0; i < count; i++) {
        n->u.handle.args[i] = slot_node(s, i, true, d->where);
        n->u.handle.floating[i] = d->wrt[i];
    }
    return n;
}

static bool begin(derived *d, lowering *l, const char *name, const type *f, const bool *wrt, int more) {
    code_function *made = LOWER_ARRAY(l, code_function, 1);
    if (made == NULL) return false;
    made->name = name;
    made->params = f->count + more;
    made->captures = 1;
    made->slots = made->params + 1;
    made->checks = LOWER_ARRAY(l, shape_check, made->params);
    d->s = (fn_scope){.l = l, .f = made};
    d->f = f;
    d->wrt = wrt;
    for (int i = 0; i < f->count; i++) d->active += wrt[i];
    return !l->failed;
}

static code *gradient(derived *d) {
    code *n = handler_node(d, CODE_REVERSE, NULL);
    if (n != NULL) n->u.handle.drops_primal = true;
    return n;
}

static code_function *gradient_function(lowering *l, const derived *of) {
    derived d = {.where = of->where};
    if (!begin(&d, l, "grad", of->f, of->wrt, 0)) return NULL;
    d.s.f->body = gradient(&d);
    return d.s.f;
}

/* The tangents are the parameters behind the function's own. */
static code *along(derived *d, code_function *inner) {
    fn_scope *s = &d->s;
    code *n = handler_node(d, CODE_FORWARD, inner);
    if (n == NULL) return NULL;
    n->u.handle.tangents = LOWER_ARRAY(s->l, code *, d->active);
    for (int i = 0; !s->l->failed && i < d->active; i++)
        n->u.handle.tangents[i] = slot_node(s, d->f->count + i, true, d->where);
    return n;
}

static code *transposed(derived *d) {
    code *n = handler_node(d, CODE_REVERSE, NULL);
    if (n != NULL) n->u.handle.seed = slot_node(&d->s, d->f->count, true, d->where);
    return n;
}

/* Along all of the tangents: the Hessian times them. */
static code *hessian_product(derived *d) {
    code *n = along(d, gradient_function(d->s.l, d));
    if (n == NULL) return NULL;
    n->u.handle.primals = d->active;
    n->u.handle.drops_primal = true;
    return n;
}

static const type *part_of(const type *t, int count, int i) {
    return count > 1 ? t->items[i] : t;
}

/* What the text tells of the sizes: a number goes in, and no number comes out. */
static bool one_column(const derived *d) {
    int entering = 0;
    for (int i = 0; i < d->f->count; i++)
        if (d->wrt[i]) entering += d->f->items[i]->tensor.rank;
    return d->active == 1 && entering == 0 && d->f->result->tensor.rank > 0;
}

static code *matrix(derived *d, bool hessian) {
    fn_scope *s = &d->s;
    code *n = handler_node(d, CODE_JACOBIAN, hessian ? gradient_function(s->l, d) : NULL);
    int rows = hessian ? d->active : 1;
    uint8_t *ones = LOWER_ARRAY(s->l, uint8_t, rows * d->active);
    if (n == NULL || ones == NULL) return NULL;
    n->u.handle.primals = rows;
    n->u.handle.by_columns = hessian || one_column(d);
    n->u.handle.ones = ones;
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < d->active; k++)
            ones[i * d->active + k] = ones_of(part_of(part_of(d->value, rows, i), d->active, k));
    return n;
}

static code *body_of(derived *d, builtin_id id) {
    switch (id) {
    case BUILTIN_grad: return gradient(d);
    case BUILTIN_vjp: return transposed(d);
    case BUILTIN_jvp: return along(d, NULL);
    case BUILTIN_hvp: return hessian_product(d);
    default: return matrix(d, id == BUILTIN_hessian);
    }
}

code *lower_derivative(fn_scope *s, const expr *e, code *function) {
    const builtin_use *use = e->u.call.builtin;
    const type *f = use->args[0]->type;
    derived d = {.value = e->type->result, .where = e->at};
    if (!begin(&d, s->l, e->u.call.callee->u.name.name, f, use->wrt, e->type->count - f->count)) return NULL;
    d.s.f->body = body_of(&d, use->builtin);
    code *n = code_new(s, CODE_BLOCK, e->at), *made = code_new(s, CODE_CLOSURE, e->at);
    step *first = LOWER_ARRAY(s->l, step, 1);
    binding *to = LOWER_ARRAY(s->l, binding, 1);
    if (s->l->failed) return NULL;
    to->slot = slot_new(s);
    first->value = function;
    first->to = to;
    made->u.closure.function = d.s.f;
    made->u.closure.captures = one_slot(s, to->slot);
    n->u.block.count = 1;
    n->u.block.steps = first;
    n->u.block.tail = made;
    n->u.block.tail_kills = one_slot(s, to->slot);
    return n;
}
