/* handle f(args) with reverseMode / forwardMode: what may be differentiated, and the flat result.
 */
#include "interp/check.h"

static const char *handled_name(const expr *call) {
    const expr *callee = call->u.call.callee;
    return callee->kind == EXPR_NAME ? callee->u.name.name : "fn";
}

/* The floating tensors among the parameters, with the types that this call gives them. */
typedef struct actives {
    int count;
    const type **types;
} actives;

static bool contains_float(const type *t) {
    if (type_is_floating(t)) return true;
    if (t->kind != TYPE_TUPLE && t->kind != TYPE_TAPE) return false;
    for (int i = 0; i < t->count; i++)
        if (contains_float(t->items[i])) return true;
    return false;
}

static bool builtin_actives(checker *c, const builtin_use *use, actives *out) {
    out->types = ARENA_ARRAY(c->a, const type *, use->count);
    if (out->types == NULL) return c->failed = true, false;
    for (int i = 0; i < use->count; i++)
        if (use->args[i] != NULL && use->args[i]->type != NULL &&
            type_is_floating(use->args[i]->type))
            out->types[out->count++] = use->args[i]->type;
    return true;
}

static bool function_actives(checker *c, const expr *call, actives *out) {
    const type *fn = call->u.call.callee->type;
    const fn_decl *decl = check_callee(call->u.call.callee);
    instance n;
    bool good = true;
    out->types = ARENA_ARRAY(c->a, const type *, fn->count);
    if (out->types == NULL || !check_instance_open(c, &n, fn)) return c->failed = true, false;
    for (int i = 0; i < fn->count; i++)
        check_unify(c, &n, fn->items[i], call->u.call.ordered[i]->type, i);
    for (int i = 0; i < fn->count; i++) {
        const type *t = fn->items[i];
        if (type_is_floating(t)) {
            out->types[out->count++] = check_instance_of(c, &n, t);
        } else if (contains_float(t)) {
            diag *d =
                diag_error(c->d, ERROR_K0209, call->at,
                           "`%s` cannot be differentiated: its parameter %d is `%s`, which holds a "
                           "float without being a tensor",
                           handled_name(call), i + 1, check_show(c, t));
            if (decl != NULL) diag_add_label(c->d, d, decl->params[i].at, "`%s`", check_show(c, t));
            diag_add_note(c->d, d, (span){0, 0}, "the type of `%s` is `%s`", handled_name(call),
                          check_show(c, fn));
            diag_add_help(c->d, d, "give its parts as parameters of their own");
            good = false;
        }
    }
    return good;
}

static bool check_primal(checker *c, const expr *call, const type *t) {
    if (type_is_floating(t)) return true;
    const char *name = handled_name(call);
    diag *d = diag_error(c->d, ERROR_K0209, call->at,
                         "`%s` cannot be differentiated: its value is `%s`, not a floating tensor",
                         name, check_show(c, t));
    const fn_decl *decl = call->u.call.builtin == NULL ? check_callee(call->u.call.callee) : NULL;
    if (decl != NULL) diag_add_label(c->d, d, decl->at, "`%s` is defined here", name);
    if (call->u.call.builtin == NULL)
        diag_add_note(c->d, d, (span){0, 0}, "the type of `%s` is `%s`", name,
                      check_show(c, call->u.call.callee->type));
    if (t->kind == TYPE_TUPLE)
        diag_add_help(c->d, d, "differentiate a function that gives one of its positions");
    else if (t->kind == TYPE_TENSOR)
        diag_add_help(c->d, d, "a gradient needs a value of type F32 or F64");
    return false;
}

/* ---- options ---- */

static void check_against(checker *c, expr *e, const type *wanted, const char *words) {
    reason why = {.text = words, .code = ERROR_K0210};
    check_expr(c, e, (expect){wanted, NO_DTYPE, 1});
    check_fits(c, e, wanted, &why);
}

static void check_reverse_options(checker *c, expr *e, const type *primal) {
    e->u.handle.seed = NULL;
    for (int i = 0; i < e->u.handle.count; i++) {
        const argument *o = &e->u.handle.options[i];
        bool is_seed = o->name != NULL && o->name[0] == 's' && o->name[1] == 'e' &&
                       o->name[2] == 'e' && o->name[3] == 'd' && o->name[4] == '\0';
        if (!is_seed) {
            diag *d = o->name == NULL ? diag_error(c->d, ERROR_K0210, o->value->at,
                                                   "an option of `reverseMode` has a name")
                                      : diag_error(c->d, ERROR_K0210, o->name_at,
                                                   "`reverseMode` has no option `%s`", o->name);
            diag_add_help(c->d, d, "`reverseMode(seed = s)` gives the cotangent of the primal");
            check_expr(c, o->value, expect_one);
        } else if (e->u.handle.seed != NULL) {
            diag_error(c->d, ERROR_K0210, o->name_at, "the seed is given twice");
        } else {
            e->u.handle.seed = o->value;
            check_against(c, o->value, primal, "the seed, a cotangent of the primal,");
        }
    }
}

static void check_tangents(checker *c, expr *e, const actives *a) {
    int given = e->u.handle.count;
    e->u.handle.tangents = ARENA_ARRAY(c->a, expr *, given);
    e->u.handle.tangent_count = given;
    if (e->u.handle.tangents == NULL) {
        c->failed = true;
        return;
    }
    for (int i = 0; i < given; i++) {
        const argument *o = &e->u.handle.options[i];
        e->u.handle.tangents[i] = o->value;
        if (o->name != NULL)
            diag_error(c->d, ERROR_K0210, o->name_at,
                       "the tangents of `forwardMode` are given by position");
        const char *words = arena_format(c->a, "tangent %d", i + 1);
        if (i < a->count)
            check_against(c, o->value, a->types[i], words != NULL ? words : "the tangent");
        else
            check_expr(c, o->value, expect_one);
    }
    if (given == a->count) return;
    diag *d = diag_error(
        c->d, ERROR_K0210, e->mark,
        "`forwardMode` takes %d tangent%s here, one for each floating parameter of `%s`, "
        "not %d",
        a->count, a->count == 1 ? "" : "s", handled_name(e->u.handle.call), given);
    if (e->u.handle.call->u.call.builtin == NULL)
        diag_add_note(c->d, d, (span){0, 0}, "the type of `%s` is `%s`",
                      handled_name(e->u.handle.call),
                      check_show(c, e->u.handle.call->u.call.callee->type));
}

static void check_loose_options(checker *c, const expr *e) {
    for (int i = 0; i < e->u.handle.count; i++)
        check_expr(c, e->u.handle.options[i].value, expect_one);
}

/* ---- custom rules ---- */

static bool has_rule(const fn_decl *f, char initial) {
    for (const decorator *d = f->decorators; d != NULL; d = d->next)
        if (d->name[0] == initial) return true;
    return false;
}

static void check_forward_rule(checker *c, const expr *e) {
    const fn_decl *f = check_callee(e->u.handle.call->u.call.callee);
    if (f == NULL || !has_rule(f, 'v') || has_rule(f, 'j')) return;
    const char *name = handled_name(e->u.handle.call);
    diag *d = diag_error(
        c->d, ERROR_K0702, e->u.handle.call->at,
        "`%s` has a reverse rule (`@vjp`) and no forward rule, so forwardMode refuses it", name);
    diag_add_label(c->d, d, f->at, "`%s` is defined here", name);
    diag_add_help(c->d, d, "give it one: `@jvp(rule)`");
}

static void note_handled(checker *c, const expr *e) {
    const fn_decl *f = check_callee(e->u.handle.call->u.call.callee);
    if (f == NULL || e->u.handle.forward) return;
    handled *h = ARENA_NEW(c->a, handled);
    if (h == NULL) {
        c->failed = true;
        return;
    }
    *h = (handled){.next = c->handles, .handle = e, .fn = f};
    c->handles = h;
}

void check_handled_warnings(checker *c) {
    for (const handled *h = c->handles; h != NULL; h = h->next) {
        for (int i = 0; i < h->fn->count && !has_rule(h->fn, 'v'); i++) {
            const param *p = &h->fn->params[i];
            if (p->symbol == NULL || p->symbol->read || !type_is_floating(p->symbol->type))
                continue;
            p->symbol->read = true;
            diag *w = diag_warning(c->d, ERROR_W0103, h->handle->at,
                                   "the gradient of `%s` is zero: `%s` does not use it", p->name,
                                   h->fn->name == NULL ? "the function" : h->fn->name);
            diag_add_label(c->d, w, p->at, "never read");
        }
    }
}

/* ---- the whole ---- */

const type *check_handle(checker *c, expr *e) {
    expr *call = e->u.handle.call;
    actives a = {0};
    const type *primal = check_expr(c, call, expect_nothing);
    bool builtin = call->u.call.builtin != NULL;
    if (primal->kind == TYPE_ERROR) return check_loose_options(c, e), &check_error_type;
    bool good = check_primal(c, call, primal);
    good =
        (builtin ? builtin_actives(c, call->u.call.builtin, &a) : function_actives(c, call, &a)) &&
        good;
    if (!good) return check_loose_options(c, e), &check_error_type;
    if (e->u.handle.forward) {
        check_tangents(c, e, &a);
        if (!builtin) check_forward_rule(c, e);
    } else {
        check_reverse_options(c, e, primal);
        if (!builtin) note_handled(c, e);
    }
    if (a.count == 0) return primal;
    int count = e->u.handle.forward ? 2 : 1 + a.count;
    const type **items = ARENA_ARRAY(c->a, const type *, count);
    if (items == NULL) return c->failed = true, &check_error_type;
    items[0] = primal;
    for (int i = 1; i < count; i++) items[i] = e->u.handle.forward ? primal : a.types[i - 1];
    return check_tuple_type(c, count, items);
}
