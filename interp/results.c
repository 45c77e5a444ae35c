/* The flattened results of an expression, and their names: what they are derivatives of, where the text shows it. */
#include "interp/results.h"

#include "runtime/context.h"

void results_release(context *c, results *r) {
    for (int i = 0; i < r->count; i++) value_release(c, r->items[i].v);
    give_back(c, r->items, (size_t)r->count * sizeof *r->items);
    *r = (results){0};
}

int results_leaves(const value *v) {
    if (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) return 1;
    int count = 0;
    for (int i = 0; v->kind == VALUE_TUPLE && i < v->as.tuple->count; i++) {
        count += results_leaves(&v->as.tuple->item[i]);
    }
    return count;
}

int results_place(const value *v, result *at) {
    if (v->kind == VALUE_NUMBER || v->kind == VALUE_TENSOR) {
        at->v = value_retain(*v);
        at->v.index = 0;
        return 1;
    }
    int count = 0;
    for (int i = 0; v->kind == VALUE_TUPLE && i < v->as.tuple->count; i++) {
        count += results_place(&v->as.tuple->item[i], at + count);
    }
    return count;
}

/* The call `grad(f)` in `grad(f)(x)`, or what stands in its place. */
static const expr *derivative_of(const expr *e) {
    const expr *inner = e->kind == EXPR_CALL && e->u.call.builtin == NULL ? e->u.call.callee : NULL;
    const builtin_use *use = inner != NULL && inner->kind == EXPR_CALL ? inner->u.call.builtin : NULL;
    return use != NULL && use->wrt != NULL ? inner : NULL;
}

/* The handle, or the call of a derivative, whose flat tuple an expression is, seen through blocks and calls of named
 * functions. */
static const expr *handle_behind(const expr *e) {
    for (int hops = 0; e != NULL && hops < 64; hops++) {
        if (e->kind == EXPR_HANDLE || derivative_of(e) != NULL) return e;
        if (e->kind == EXPR_BLOCK) {
            e = e->u.block.tail;
        } else if (e->kind == EXPR_CALL && e->u.call.builtin == NULL &&
                   e->u.call.callee->kind == EXPR_NAME && e->u.call.callee->u.name.symbol != NULL &&
                   e->u.call.callee->u.name.symbol->fn != NULL) {
            e = e->u.call.callee->u.name.symbol->fn->body;
        } else {
            return NULL;
        }
    }
    return NULL;
}

static const fn_decl *declaration_of(const expr *f) {
    if (f->kind == EXPR_NAME && f->u.name.symbol != NULL) return f->u.name.symbol->fn;
    return f->kind == EXPR_FN ? f->u.fn : NULL;
}

static const char *parameter_name(const expr *call, const expr *arg) {
    if (call->u.call.builtin != NULL) return NULL;
    const fn_decl *decl = declaration_of(call->u.call.callee);
    for (int i = 0; decl != NULL && i < decl->count; i++) {
        if (call->u.call.ordered[i] == arg) return decl->params[i].name;
    }
    return NULL;
}

static void name_one(results *out, int at, const char *name) {
    if (name != NULL && at < out->count) out->items[at].name = name;
}

/* "primal", then "grad x" for each differentiated parameter. */
static void name_handle(arena *a, const expr *handle, results *out) {
    if (out->count > 0) out->items[0].name = "primal";
    if (handle->u.handle.forward) {
        if (out->count > 1) out->items[1].name = "tangent";
        return;
    }
    for (int i = 0; i < handle->u.handle.wrt_count && i + 1 < out->count; i++) {
        const char *name = parameter_name(handle->u.handle.call, handle->u.handle.wrt[i]);
        const char *shown = name != NULL ? arena_format(a, "grad %s", name)
                                         : arena_format(a, "grad %d", i);
        name_one(out, i + 1, shown);
    }
}

/* "hessian x, w": by what the rows and the columns are for. */
static void name_hessian(arena *a, const fn_decl *f, const bool *wrt, results *out) {
    int at = 0;
    for (int i = 0; i < f->count; i++) {
        for (int k = 0; wrt[i] && k < f->count; k++) {
            if (wrt[k]) name_one(out, at++, arena_format(a, "hessian %s, %s", f->params[i].name, f->params[k].name));
        }
    }
}

/* vjp and jvp as handlers; "grad x", "jacobian x" by the parameters that the derivatives are for. */
static void name_derivative(arena *a, const expr *derivative, results *out) {
    const builtin_use *use = derivative->u.call.builtin;
    const fn_decl *f = declaration_of(use->args[0]);
    bool pairs = use->builtin == BUILTIN_vjp || use->builtin == BUILTIN_jvp;
    int at = pairs ? 1 : 0;
    if (pairs) name_one(out, 0, "primal");
    if (use->builtin == BUILTIN_jvp) {
        name_one(out, 1, "tangent");
    } else if (f != NULL && use->builtin == BUILTIN_hessian) {
        name_hessian(a, f, use->wrt, out);
    } else if (f != NULL) {
        const char *word = pairs ? "grad" : derivative->u.call.callee->u.name.name;
        for (int i = 0; i < f->count; i++) {
            if (use->wrt[i]) name_one(out, at++, arena_format(a, "%s %s", word, f->params[i].name));
        }
    }
}

bool results_flatten(arena *a, const value *v, const expr *from, results *out) {
    int count = results_leaves(v);
    out->count = 0;
    out->items = take_zeroed(a->c, (size_t)count * sizeof *out->items);
    if (out->items == NULL) return false;
    out->count = count;
    results_place(v, out->items);
    for (int i = 0; i < count; i++) {
        out->items[i].name = arena_format(a, "%d", i);
        if (out->items[i].name == NULL) {
            results_release(a->c, out);
            return false;
        }
    }
    const expr *handle = handle_behind(from);
    if (handle == NULL) return true;
    if (handle->kind == EXPR_HANDLE) {
        name_handle(a, handle, out);
    } else {
        name_derivative(a, derivative_of(handle), out);
    }
    return true;
}
