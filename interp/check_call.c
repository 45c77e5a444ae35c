/* Calls of functions: which argument goes where, and the dims for which a generic function is used.
 */
#include <string.h>

#include "interp/check.h"

/* ---- instances ---- */

bool check_instance_open(checker *c, instance *n, const type *fn) {
    *n = (instance){.fn = fn};
    if (fn->generic_count == 0) return true;
    n->to = ARENA_ARRAY(c->a, int64_t, fn->generic_count);
    n->bound = ARENA_ARRAY(c->a, bool, fn->generic_count);
    n->by = ARENA_ARRAY(c->a, int, fn->generic_count);
    if (n->to != NULL && n->bound != NULL && n->by != NULL) return true;
    c->failed = true;
    return false;
}

static void unify_dim(const instance *n, int64_t formal, int64_t actual, int by) {
    for (int i = 0; i < n->fn->generic_count; i++) {
        if (n->fn->generic[i] != formal) continue;
        if (!n->bound[i]) {
            n->to[i] = actual;
            n->bound[i] = true;
            n->by[i] = by;
        }
        return;
    }
}

void check_unify(checker *c, instance *n, const type *formal, const type *actual, int by) {
    if (n->fn->generic_count == 0 || formal->kind != actual->kind || formal->count != actual->count)
        return;
    if (formal->kind == TYPE_TENSOR) {
        if (formal->tensor.rank != actual->tensor.rank) return;
        for (int i = 0; i < formal->tensor.rank; i++)
            if (formal->tensor.dims[i] < 0)
                unify_dim(n, formal->tensor.dims[i], actual->tensor.dims[i], by);
    }
    for (int i = 0; i < formal->count; i++)
        check_unify(c, n, formal->items[i], actual->items[i], by);
    if (formal->result != NULL) check_unify(c, n, formal->result, actual->result, by);
}

const type *check_instance_of(checker *c, const instance *n, const type *t) {
    int count = n->fn->generic_count;
    if (count == 0) return t;
    for (int i = 0; i < count; i++) {
        if (n->to[i] != 0 || n->bound[i]) continue;
        n->to[i] = dims_symbol(c->dims, DIM_UNKNOWN, dims_name(c->dims, n->fn->generic[i]),
                               dims_origin(c->dims, n->fn->generic[i]));
    }
    return type_substitute(c->dims, c->a, t, count, n->fn->generic, n->to);
}

/* The instance as a function type that quantifies nothing. */
static const type *instance_whole(checker *c, const instance *n) {
    const type *t = check_instance_of(c, n, n->fn);
    if (t->generic_count == 0) return t;
    type *plain = ARENA_NEW(c->a, type);
    if (plain == NULL) return c->failed = true, t;
    *plain = *t;
    plain->generic_count = 0;
    plain->generic = NULL;
    return plain;
}

dim_verdict check_conversion(checker *c, const type *actual, const type *wanted) {
    if (actual == wanted) return DIM_SAME;
    if (actual->kind == TYPE_TUPLE && wanted->kind == TYPE_TUPLE &&
        actual->count == wanted->count) {
        dim_verdict weakest = DIM_SAME;
        for (int i = 0; i < actual->count; i++) {
            dim_verdict v = check_conversion(c, actual->items[i], wanted->items[i]);
            if (v == DIM_DIFFERENT) return v;
            if (v == DIM_LATER) weakest = v;
        }
        return weakest;
    }
    bool generic = actual->kind == TYPE_FN && wanted->kind == TYPE_FN &&
                   actual->generic_count > 0 && wanted->generic_count == 0 &&
                   actual->count == wanted->count;
    if (!generic) return type_compare(c->dims, actual, wanted);
    instance n;
    if (!check_instance_open(c, &n, actual)) return DIM_SAME;
    for (int i = 0; i < actual->count; i++)
        check_unify(c, &n, actual->items[i], wanted->items[i], i);
    return type_compare(c->dims, instance_whole(c, &n), wanted);
}

/* ---- dims that a result opens ---- */

enum { ANEW_MOST = 32 };

typedef struct anew_set {
    int count;
    int64_t from[ANEW_MOST], to[ANEW_MOST];
} anew_set;

static void collect_any(checker *c, const type *t, anew_set *set) {
    int64_t symbols[ANEW_MOST];
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->tensor.rank; i++) {
        int n = dims_symbols(c->dims, t->tensor.dims[i], symbols, ANEW_MOST);
        for (int k = 0; k < n && set->count < ANEW_MOST; k++) {
            int seen = 0;
            while (seen < set->count && set->from[seen] != symbols[k]) seen++;
            if (seen < set->count || dims_kind(c->dims, symbols[k]) != DIM_ANY) continue;
            set->from[set->count] = symbols[k];
            set->to[set->count++] =
                dims_symbol(c->dims, DIM_UNKNOWN, dims_name(c->dims, symbols[k]),
                            dims_origin(c->dims, symbols[k]));
        }
    }
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++) collect_any(c, t->items[i], set);
}

const type *check_opened_anew(checker *c, const type *t) {
    anew_set set;
    set.count = 0;
    collect_any(c, t, &set);
    return type_substitute(c->dims, c->a, t, set.count, set.from, set.to);
}

/* ---- which argument goes where ---- */

fn_decl *check_callee(const expr *callee) {
    if (callee->kind == EXPR_FN) return callee->u.fn;
    if (callee->kind != EXPR_NAME || callee->u.name.symbol == NULL) return NULL;
    return callee->u.name.symbol->fn;
}

/* grad(f) and its like. */
static bool is_derivative(const expr *callee) {
    const builtin_use *use = callee->kind == EXPR_CALL ? callee->u.call.builtin : NULL;
    return use != NULL && use->wrt != NULL;
}

/* What a message calls the called. */
static const char *callee_name(const expr *callee) {
    if (is_derivative(callee)) callee = callee->u.call.callee;
    return callee->kind == EXPR_NAME ? callee->u.name.name : "fn";
}

/* Whose parameters the arguments are for: those of a derivative have the names of the function's own. */
static const fn_decl *parameters_of(const expr *callee, const type *fn) {
    if (is_derivative(callee)) callee = callee->u.call.builtin->args[0];
    const fn_decl *decl = check_callee(callee);
    return decl != NULL && decl->count == fn->count ? decl : NULL;
}

static void check_loose(checker *c, const expr *e) {
    for (int i = 0; i < e->u.call.count; i++) {
        expr *value = e->u.call.args[i].value;
        if (value->kind != EXPR_STRING && value->type == NULL) check_expr(c, value, expect_one);
    }
}

static void report_count(checker *c, const expr *e, const type *fn, const fn_decl *decl) {
    const char *name = callee_name(e->u.call.callee);
    diag *d = diag_error(c->d, ERROR_K0106, e->at, "`%s` takes %d argument%s, not %d", name,
                         fn->count, fn->count == 1 ? "" : "s", e->u.call.count);
    if (decl != NULL) {
        diag_add_label(c->d, d, decl->at, "defined here");
        for (int i = e->u.call.count; i < decl->count && i < e->u.call.count + 4; i++)
            diag_add_note(c->d, d, decl->params[i].at, "nothing is given for `%s`",
                          decl->params[i].name);
    }
    diag_add_help(c->d, d, "its type is `%s`", check_show(c, fn));
}

static int param_index(const fn_decl *decl, const char *name) {
    for (int i = 0; decl != NULL && i < decl->count; i++)
        if (decl->params[i].name == name) return i;
    return -1;
}

static bool place_named(checker *c, expr *e, const argument *a, const fn_decl *decl) {
    const char *name = callee_name(e->u.call.callee);
    int k = param_index(decl, a->name);
    if (decl == NULL) {
        diag *d = diag_error(c->d, ERROR_K0105, a->name_at,
                             "`%s` is a function value, whose parameters have no names", name);
        diag_add_help(c->d, d, "give the argument by position");
        return false;
    }
    if (k < 0) {
        diag *d =
            diag_error(c->d, ERROR_K0105, a->name_at, "`%s` has no parameter `%s`", name, a->name);
        diag_add_label(c->d, d, decl->at, "defined here");
        for (int i = 0; i < decl->count; i++) {
            unsigned distance = names_distance(a->name, decl->params[i].name, 2);
            if (distance > 2 || distance >= strlen(a->name)) continue;
            diag_add_help(c->d, d, "did you mean `%s`?", decl->params[i].name);
            break;
        }
        return false;
    }
    if (e->u.call.ordered[k] != NULL) {
        diag *d = diag_error(c->d, ERROR_K0106, a->name_at, "`%s` is given twice", a->name);
        diag_add_label(c->d, d, e->u.call.ordered[k]->at, "the first time");
        return false;
    }
    e->u.call.ordered[k] = a->value;
    return true;
}

static bool place_arguments(checker *c, expr *e, const type *fn, const fn_decl *decl) {
    bool good = true, named = false;
    e->u.call.ordered = ARENA_ARRAY(c->a, expr *, fn->count);
    if (e->u.call.ordered == NULL) return c->failed = true, false;
    if (e->u.call.count != fn->count) {
        report_count(c, e, fn, decl);
        return false;
    }
    for (int i = 0; i < e->u.call.count; i++) {
        const argument *a = &e->u.call.args[i];
        if (a->name != NULL) {
            named = true;
            good = place_named(c, e, a, decl) && good;
        } else if (named) {
            diag_error(c->d, ERROR_K0106, a->value->at,
                       "an argument by position follows a named one");
            good = false;
        } else {
            e->u.call.ordered[i] = a->value;
        }
    }
    return good;
}

/* ---- arguments against parameters ---- */

/* Expressions that take at most an element type from what is asked of them. */
static bool is_plain(const expr *e) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_BOOL:
    case EXPR_NAME:
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_INDEX:
    case EXPR_PROJECT:
    case EXPR_TENSOR: return true;
    default: return false;
    }
}

static void check_argument(checker *c, instance *n, expr *arg, int i) {
    const type *formal = n->fn->items[i];
    int asked = formal->kind == TYPE_TENSOR ? (int)formal->tensor.dtype : NO_DTYPE;
    bool plain = formal->kind == TYPE_TENSOR && is_plain(arg);
    const type *wanted = plain ? NULL : check_instance_of(c, n, formal);
    const type *t = check_expr(c, arg, (expect){wanted, asked, check_take(formal)});
    check_unify(c, n, formal, t, i);
}

/* An argument of function type: used at one assignment of its own dims, given by what is known so
 * far of the caller's; its result may then tell more of those. */
static void check_function_argument(checker *c, instance *n, expr *arg, int i) {
    const type *wanted = check_instance_of(c, n, n->fn->items[i]);
    const type *t = check_expr(c, arg, (expect){wanted, NO_DTYPE, 1});
    if (t->kind == TYPE_FN && wanted->kind == TYPE_FN && t->count == wanted->count &&
        t->generic_count > 0) {
        instance own;
        if (!check_instance_open(c, &own, t)) return;
        for (int k = 0; k < t->count; k++) check_unify(c, &own, t->items[k], wanted->items[k], k);
        t = instance_whole(c, &own);
    }
    check_unify(c, n, n->fn->items[i], t, i);
}

static const char *argument_text(checker *c, const expr *e, const fn_decl *decl, int i) {
    const char *name = callee_name(e->u.call.callee), *words;
    if (decl != NULL)
        words = arena_format(c->a, "the argument for `%s` of `%s`", decl->params[i].name, name);
    else
        words = arena_format(c->a, "argument %d of `%s`", i + 1, name);
    return words != NULL ? words : "the argument";
}

/* Says which other argument fixed a dim that this one must have. */
static void explain_dim(checker *c, const instance *n, const expr *e, int i, reason *why) {
    const type *formal = n->fn->items[i];
    for (int k = 0; k < n->fn->generic_count && formal->kind == TYPE_TENSOR; k++) {
        if (!n->bound[k] || n->by[k] == i) continue;
        for (int axis = 0; axis < formal->tensor.rank; axis++) {
            if (formal->tensor.dims[axis] != n->fn->generic[k]) continue;
            why->note_at = e->u.call.ordered[n->by[k]]->at;
            why->note =
                arena_format(c->a, "`%s` is `%s` by this argument",
                             check_show_dim(c, n->fn->generic[k]), check_show_dim(c, n->to[k]));
            return;
        }
    }
}

static void check_arguments(checker *c, expr *e, instance *n, const fn_decl *decl) {
    expr **ordered = e->u.call.ordered;
    int count = n->fn->count;
    for (int i = 0; i < count; i++)
        if (n->fn->items[i]->kind != TYPE_FN) check_argument(c, n, ordered[i], i);
    for (int i = 0; i < count; i++)
        if (n->fn->items[i]->kind == TYPE_FN) check_function_argument(c, n, ordered[i], i);
    for (int i = 0; i < count; i++) {
        const type *wanted = check_instance_of(c, n, n->fn->items[i]);
        if (check_conversion(c, ordered[i]->type, wanted) != DIM_DIFFERENT) continue;
        reason why = {.text = argument_text(c, e, decl, i), .code = ERROR_K0201};
        if (decl != NULL) why.at = decl->params[i].at;
        explain_dim(c, n, e, i, &why);
        check_fits(c, ordered[i], wanted, &why);
    }
}

/* A result dim such as N - 5 may turn out negative. */
static const type *check_result(checker *c, const expr *e, const type *t) {
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->tensor.rank; i++) {
        if (!dims_below_zero(c->dims, t->tensor.dims[i])) continue;
        diag *d = diag_error(c->d, ERROR_K0307, e->at,
                             "the result of `%s` would have a dim of %s, and no size is negative",
                             callee_name(e->u.call.callee), check_show_dim(c, t->tensor.dims[i]));
        diag_add_note(c->d, d, (span){0, 0}, "its type is `%s`",
                      check_show(c, e->u.call.callee->type));
        return &check_error_type;
    }
    return t;
}

static const type *check_function_call(checker *c, expr *e) {
    expr *callee = e->u.call.callee;
    const type *fn = check_expr(c, callee, expect_one);
    e->u.call.builtin = NULL;
    if (fn->kind != TYPE_FN) {
        if (fn->kind != TYPE_ERROR) {
            diag *d = diag_error(c->d, ERROR_K0204, callee->at, "`%s` is not a function, but `%s`",
                                 callee->kind == EXPR_NAME ? callee->u.name.name : "this",
                                 check_show(c, fn));
            if (callee->kind == EXPR_NAME && callee->u.name.symbol != NULL)
                diag_add_label(c->d, d, callee->u.name.symbol->at, "introduced here");
        }
        check_loose(c, e);
        return &check_error_type;
    }
    const fn_decl *decl = parameters_of(callee, fn);
    instance n;
    if (!place_arguments(c, e, fn, decl)) return check_loose(c, e), &check_error_type;
    if (!check_instance_open(c, &n, fn)) return &check_error_type;
    check_arguments(c, e, &n, decl);
    return check_result(c, e, check_opened_anew(c, check_instance_of(c, &n, fn->result)));
}

const type *check_call(checker *c, expr *e, expect x) {
    const expr *callee = e->u.call.callee;
    if (callee->kind == EXPR_NAME && check_lookup(c, callee->u.name.name) == NULL) {
        int builtin = check_builtin_find(c, callee->u.name.name);
        if (builtin >= 0) return check_builtin_call(c, e, builtin, x);
    }
    return check_function_call(c, e);
}
