/* handle f(args) with reverseMode / forwardMode: what may be differentiated, and the flat result.
 */
#include <string.h>

#include "interp/check.h"

static const char *handled_name(const expr *call) {
    const expr *callee = call->u.call.callee;
    return callee->kind == EXPR_NAME ? callee->u.name.name : "fn";
}

/* The differentiated arguments, with the types that this call gives them. */
typedef struct actives {
    int count;
    expr **args;
    const type **types;
} actives;

/* How many arguments there are to choose from, and the i-th; NULL for one that a builtin's call leaves out. */
static int argument_count(const expr *call) {
    const builtin_use *use = call->u.call.builtin;
    return use != NULL ? use->count : call->u.call.count;
}

static expr *argument_at(const expr *call, int i) {
    const builtin_use *use = call->u.call.builtin;
    return use != NULL ? use->args[i] : call->u.call.ordered[i];
}

bool check_contains_float(const type *t) {
    if (type_is_floating(t)) return true;
    if (t->kind != TYPE_TUPLE && t->kind != TYPE_TAPE) return false;
    for (int i = 0; i < t->count; i++)
        if (check_contains_float(t->items[i])) return true;
    return false;
}

static void actives_add(actives *out, expr *arg, const type *t) {
    out->args[out->count] = arg;
    out->types[out->count++] = t;
}

static void builtin_actives(const builtin_use *use, const bool *wrt, actives *out) {
    for (int i = 0; i < use->count; i++) {
        expr *arg = use->args[i];
        if (arg == NULL || arg->type == NULL || !type_is_floating(arg->type)) continue;
        if (wrt == NULL || wrt[i]) actives_add(out, arg, arg->type);
    }
}

static bool function_actives(checker *c, const expr *call, const bool *wrt, actives *out) {
    const type *fn = call->u.call.callee->type;
    const fn_decl *decl = check_callee(call->u.call.callee);
    instance n;
    bool good = true;
    if (!check_instance_open(c, &n, fn)) return c->failed = true, false;
    for (int i = 0; i < fn->count; i++)
        check_unify(c, &n, fn->items[i], call->u.call.ordered[i]->type, i);
    for (int i = 0; i < fn->count; i++) {
        const type *t = fn->items[i];
        if (wrt != NULL && !wrt[i]) continue;
        if (type_is_floating(t)) {
            actives_add(out, call->u.call.ordered[i], check_instance_of(c, &n, t));
        } else if (check_contains_float(t)) {
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

/* wrt: NULL, or which of the arguments may be differentiated. */
static bool find_actives(checker *c, const expr *call, const bool *wrt, actives *out) {
    int room = argument_count(call);
    out->args = ARENA_ARRAY(c->a, expr *, room);
    out->types = ARENA_ARRAY(c->a, const type *, room);
    if (out->args == NULL || out->types == NULL) return c->failed = true, false;
    if (call->u.call.builtin == NULL) return function_actives(c, call, wrt, out);
    builtin_actives(call->u.call.builtin, wrt, out);
    return true;
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

typedef struct reverse_options {
    const argument *seed, *wrt, *strong_zero;
} reverse_options;

/* Which option is which; those that are none are reported. */
static void sort_options(checker *c, const expr *e, reverse_options *out) {
    const struct {
        const char *name;
        const argument **place;
    } known[] = {{"seed", &out->seed}, {"wrt", &out->wrt}, {"strong_zero", &out->strong_zero}};
    for (int i = 0; i < e->u.handle.count; i++) {
        const argument *o = &e->u.handle.options[i];
        size_t at = 0;
        while (at < COUNT_OF(known) && (o->name == NULL || strcmp(o->name, known[at].name) != 0)) at++;
        if (at == COUNT_OF(known)) {
            diag *d = o->name == NULL ? diag_error(c->d, ERROR_K0210, o->value->at,
                                                   "an option of `reverseMode` has a name")
                                      : diag_error(c->d, ERROR_K0210, o->name_at,
                                                   "`reverseMode` has no option `%s`", o->name);
            diag_add_help(c->d, d,
                          "its options are `seed = s`, the cotangent of the primal, `wrt = (w, b)`, the parameters to "
                          "differentiate, and `strong_zero = true`");
            check_expr(c, o->value, expect_one);
        } else if (*known[at].place != NULL) {
            diag_error(c->d, ERROR_K0210, o->name_at, "`%s` is given twice", o->name);
        } else {
            *known[at].place = o;
        }
    }
}

/* Which arguments `wrt` names; *out is NULL where there is no such option. */
static bool check_chosen(checker *c, const argument *option, const expr *call, bool **out) {
    *out = NULL;
    if (option == NULL) return true;
    const builtin_use *use = call->u.call.builtin;
    int count = argument_count(call);
    const type **types = ARENA_ARRAY(c->a, const type *, count);
    *out = ARENA_ARRAY(c->a, bool, count);
    if (types == NULL || *out == NULL) return c->failed = true, false;
    for (int i = 0; i < count; i++) {
        const expr *arg = argument_at(call, i);
        types[i] = use == NULL ? call->u.call.callee->type->items[i] : arg != NULL ? arg->type : NULL;
    }
    wrt_target of = {
        .name = handled_name(call),
        .decl = use == NULL ? check_callee(call->u.call.callee) : NULL,
        .use = use,
        .count = count,
        .types = types,
    };
    return check_wrt(c, option->value, &of, *out);
}

static bool check_reverse(checker *c, expr *e, const type *primal, actives *a) {
    reverse_options o = {0};
    bool *chosen;
    sort_options(c, e, &o);
    bool good = check_chosen(c, o.wrt, e->u.handle.call, &chosen);
    good = good && find_actives(c, e->u.handle.call, chosen, a);
    e->u.handle.seed = o.seed != NULL ? o.seed->value : NULL;
    if (o.seed != NULL) check_against(c, o.seed->value, primal, "the seed, a cotangent of the primal,");
    if (o.strong_zero != NULL)
        good = check_static_flag(c, o.strong_zero->value, &e->u.handle.strong_zero, "`strong_zero`") && good;
    return good;
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

bool check_has_rule(const fn_decl *f, char initial) {
    for (const decorator *d = f->decorators; d != NULL; d = d->next)
        if (d->name[0] == initial) return true;
    return false;
}

static void check_forward_rule(checker *c, const expr *e) {
    const fn_decl *f = check_callee(e->u.handle.call->u.call.callee);
    if (f == NULL || !check_has_rule(f, 'v') || check_has_rule(f, 'j')) return;
    const char *name = handled_name(e->u.handle.call);
    diag *d = diag_error(
        c->d, ERROR_K0702, e->u.handle.call->at,
        "`%s` has a reverse rule (`@vjp`) and no forward rule, so forwardMode refuses it", name);
    diag_add_label(c->d, d, f->at, "`%s` is defined here", name);
    diag_add_help(c->d, d, "give it one: `@jvp(rule)`");
}

static bool is_differentiated(const expr *handle, int parameter) {
    const expr *arg = argument_at(handle->u.handle.call, parameter);
    for (int i = 0; i < handle->u.handle.wrt_count; i++)
        if (handle->u.handle.wrt[i] == arg) return true;
    return false;
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
        for (int i = 0; i < h->fn->count && !check_has_rule(h->fn, 'v'); i++) {
            const param *p = &h->fn->params[i];
            if (p->symbol == NULL || p->symbol->read || !is_differentiated(h->handle, i)) continue;
            p->symbol->read = true;
            diag *w = diag_warning(c->d, ERROR_W0103, h->handle->at,
                                   "the gradient of `%s` is zero: `%s` does not use it", p->name,
                                   h->fn->known_as == NULL ? "the function" : h->fn->known_as);
            diag_add_label(c->d, w, p->at, "never read");
        }
    }
}

static bool check_forward(checker *c, expr *e, actives *a) {
    if (!find_actives(c, e->u.handle.call, NULL, a)) return check_loose_options(c, e), false;
    check_tangents(c, e, a);
    if (e->u.handle.call->u.call.builtin == NULL) check_forward_rule(c, e);
    return true;
}

/* ---- the whole ---- */

const type *check_handle(checker *c, expr *e) {
    expr *call = e->u.handle.call;
    actives a = {0};
    const type *primal = check_expr(c, call, expect_nothing);
    bool builtin = call->u.call.builtin != NULL, forward = e->u.handle.forward;
    if (primal->kind == TYPE_ERROR) return check_loose_options(c, e), &check_error_type;
    if (!check_primal(c, call, primal)) return check_loose_options(c, e), &check_error_type;
    if (!(forward ? check_forward(c, e, &a) : check_reverse(c, e, primal, &a))) return &check_error_type;
    e->u.handle.wrt = a.args;
    e->u.handle.wrt_count = a.count;
    if (!builtin && !forward) note_handled(c, e);
    if (a.count == 0) return primal;
    int count = forward ? 2 : 1 + a.count;
    const type **items = ARENA_ARRAY(c->a, const type *, count);
    if (items == NULL) return c->failed = true, &check_error_type;
    items[0] = primal;
    for (int i = 1; i < count; i++) items[i] = forward ? primal : a.types[i - 1];
    return check_tuple_type(c, count, items);
}
