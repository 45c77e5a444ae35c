/* grad, vjp, jvp, hvp, jacobian and hessian: types of functions made of functions.
 *
 * Each takes a function and gives another one with its parameters, and behind them a cotangent (vjp) or a
 * tangent for each differentiated parameter (jvp, hvp). Dims that the function quantifies stay quantified. */
#include <string.h>

#include "interp/check.h"

typedef struct derivation {
    checker *c;
    const builtin_call *b;
    expr *f;
    const char *name;           /* of f, for messages */
    const fn_decl *decl;        /* NULL: a value */
    const type *fn;
    bool *wrt;
    int count;                  /* differentiated parameters */
    const type **types;         /* theirs */
} derivation;

/* ---- what can be differentiated ---- */

static diag *refuse(const derivation *d, const char *what, const type *t) {
    diag *e = diag_error(d->c->d, ERROR_K0209, d->f->at, "`%s` cannot be taken of `%s`: %s is `%s`", d->b->name,
                         d->name, what, check_show(d->c, t));
    if (d->decl != NULL) diag_add_label(d->c->d, e, d->decl->at, "`%s` is defined here", d->name);
    return e;
}

/* A gradient is of one number; the others take any floating tensor. */
static bool check_value(const derivation *d) {
    const type *t = d->fn->result;
    builtin_id id = d->b->use->builtin;
    bool number = id == BUILTIN_grad || id == BUILTIN_hvp || id == BUILTIN_hessian;
    if (type_is_floating(t) && (!number || t->tensor.rank == 0)) return true;
    diag *e = refuse(d, "its value", t);
    if (type_is_floating(t))
        diag_add_help(d->c->d, e, "`jacobian` and `vjp` take functions whose value is a tensor");
    else
        diag_add_help(d->c->d, e, "differentiate a function whose value is %s", number ? "F32 or F64" : "a tensor of F32 or F64");
    return false;
}

/* wrt=all, as the signature writes what it leaves out; a parameter of that name comes first. */
static bool says_all(const derivation *d, expr *written) {
    if (written->kind != EXPR_NAME || strcmp(written->u.name.name, "all") != 0) return false;
    for (int i = 0; d->decl != NULL && i < d->decl->count; i++)
        if (d->decl->params[i].name == written->u.name.name) return false;
    written->type = &check_unit_type;
    return true;
}

static bool check_chosen(derivation *d) {
    expr *written = d->b->use->args[1];
    wrt_target of = {.name = d->name, .decl = d->decl, .count = d->fn->count, .types = d->fn->items};
    if (written != NULL && !says_all(d, written)) return check_wrt(d->c, written, &of, d->wrt);
    for (int i = 0; i < d->fn->count; i++) {
        const type *t = d->fn->items[i];
        d->wrt[i] = type_is_floating(t);
        if (d->wrt[i] || !check_contains_float(t)) continue;
        diag *e = refuse(d, "a parameter", t);
        diag_add_help(d->c->d, e, "it holds a float without being a tensor: choose others with `wrt`");
        return false;
    }
    return true;
}

static bool check_parameters(derivation *d) {
    d->wrt = ARENA_ARRAY(d->c->a, bool, d->fn->count);
    d->types = ARENA_ARRAY(d->c->a, const type *, d->fn->count);
    if (d->wrt == NULL || d->types == NULL) return d->c->failed = true, false;
    if (!check_chosen(d)) return false;
    for (int i = 0; i < d->fn->count; i++)
        if (d->wrt[i]) d->types[d->count++] = d->fn->items[i];
    if (d->count > 0) return true;
    diag *e = diag_error(d->c->d, ERROR_K0209, d->f->at, "`%s` cannot be taken of `%s`: it has no floating parameter",
                         d->b->name, d->name);
    diag_add_note(d->c->d, e, (span){0, 0}, "its type is `%s`", check_show(d->c, d->fn));
    return false;
}

/* Forward mode needs a forward rule where there is a reverse one. */
static bool check_rules(const derivation *d) {
    builtin_id id = d->b->use->builtin;
    bool forward = id == BUILTIN_jvp || id == BUILTIN_hvp || id == BUILTIN_hessian;
    if (!forward || d->decl == NULL || !check_has_rule(d->decl, 'v') || check_has_rule(d->decl, 'j')) return true;
    diag *e = diag_error(d->c->d, ERROR_K0702, d->f->at,
                         "`%s` has a reverse rule (`@vjp`) and no forward rule, which `%s` needs", d->name, d->b->name);
    diag_add_label(d->c->d, e, d->decl->at, "`%s` is defined here", d->name);
    diag_add_help(d->c->d, e, "give it one: `@jvp(rule)`");
    return false;
}

/* ---- results ---- */

/* Entry [i.., j..] is the derivative of entry i of `of` by entry j of `by`. */
static const type *block(const derivation *d, const type *of, const type *by) {
    op_type t = of->tensor;
    if (t.rank + by->tensor.rank > MAX_RANK) {
        diag *e = diag_error(d->c->d, ERROR_K0302, d->f->at, "the `%s` of `%s` would have %d dims, and there are at most %d",
                             d->b->name, d->name, t.rank + by->tensor.rank, MAX_RANK);
        diag_add_note(d->c->d, e, (span){0, 0}, "those of `%s`, then those of `%s`", check_show(d->c, of),
                      check_show(d->c, by));
        return NULL;
    }
    for (int i = 0; i < by->tensor.rank; i++) t.dims[t.rank++] = by->tensor.dims[i];
    return check_tensor_type(d->c, &t);
}

static const type *blocks(const derivation *d, const type *of) {
    const type **items = ARENA_ARRAY(d->c->a, const type *, d->count);
    if (items == NULL) return d->c->failed = true, NULL;
    for (int i = 0; i < d->count; i++)
        if ((items[i] = block(d, of, d->types[i])) == NULL) return NULL;
    return check_tuple_type(d->c, d->count, items);
}

/* `first`, then the types of the differentiated parameters. */
static const type *with_types(const derivation *d, const type *first) {
    const type **items = ARENA_ARRAY(d->c->a, const type *, d->count + 1);
    if (items == NULL) return d->c->failed = true, NULL;
    items[0] = first;
    for (int i = 0; i < d->count; i++) items[i + 1] = d->types[i];
    return check_tuple_type(d->c, d->count + 1, items);
}

static const type *result_of(const derivation *d) {
    const type *value = d->fn->result;
    switch (d->b->use->builtin) {
    case BUILTIN_vjp: return with_types(d, value);
    case BUILTIN_jvp: {
        const type **items = ARENA_ARRAY(d->c->a, const type *, 2);
        if (items == NULL) return d->c->failed = true, NULL;
        items[0] = items[1] = value;
        return check_tuple_type(d->c, 2, items);
    }
    case BUILTIN_jacobian: return blocks(d, value);
    case BUILTIN_hessian: {
        const type **rows = ARENA_ARRAY(d->c->a, const type *, d->count);
        if (rows == NULL) return d->c->failed = true, NULL;
        for (int i = 0; i < d->count; i++)
            if ((rows[i] = blocks(d, d->types[i])) == NULL) return NULL;
        return check_tuple_type(d->c, d->count, rows);
    }
    default: return check_tuple_type(d->c, d->count, d->types);
    }
}

static const type *function_of(const derivation *d, const type *value) {
    builtin_id id = d->b->use->builtin;
    int more = id == BUILTIN_vjp ? 1 : id == BUILTIN_jvp || id == BUILTIN_hvp ? d->count : 0;
    type *t = ARENA_NEW(d->c->a, type);
    const type **items = ARENA_ARRAY(d->c->a, const type *, d->fn->count + more);
    if (t == NULL || items == NULL) return d->c->failed = true, &check_error_type;
    for (int i = 0; i < d->fn->count; i++) items[i] = d->fn->items[i];
    for (int i = 0; i < more; i++) items[d->fn->count + i] = id == BUILTIN_vjp ? d->fn->result : d->types[i];
    *t = *d->fn;
    t->count = d->fn->count + more;
    t->items = items;
    t->result = value;
    return t;
}

/* ---- the whole ---- */

/* grad(f, x) is how other libraries call some of these. */
static bool check_form(checker *c, const builtin_call *b) {
    const expr *call = b->e;
    if (call->u.call.count < 2 || call->u.call.args[1].name != NULL) return true;
    diag *d = diag_error(c->d, ERROR_K0106, call->u.call.args[1].value->at, "`%s` takes a function and nothing else by position",
                         b->name);
    diag_add_help(c->d, d, "it gives a function, which takes the arguments: `%s(f)(x)`", b->name);
    return false;
}

const type *check_derivative(checker *c, const builtin_call *b) {
    derivation d = {.c = c, .b = b, .f = b->use->args[0]};
    d.name = d.f->kind == EXPR_NAME ? d.f->u.name.name : "fn";
    d.fn = check_expr(c, d.f, expect_one);
    if (!check_form(c, b) || d.fn->kind == TYPE_ERROR) return &check_error_type;
    if (d.fn->kind != TYPE_FN) {
        diag *e = diag_error(c->d, ERROR_K0204, d.f->at, "`%s` takes a function, not `%s`", b->name, check_show(c, d.fn));
        diag_add_help(c->d, e, "`%s(f)` is a function again: `%s(f)(x)`", b->name, b->name);
        return &check_error_type;
    }
    d.decl = check_callee(d.f);
    if (!check_value(&d) || !check_parameters(&d) || !check_rules(&d)) return &check_error_type;
    const type *value = result_of(&d);
    if (value == NULL) return &check_error_type;
    b->use->wrt = d.wrt;
    return function_of(&d, value);
}
