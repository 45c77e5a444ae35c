/* The function that is staged: its parameters, the values that it captures, its results. */
#include "interp/dims.h"
#include "interp/stage_internal.h"
#include "runtime/context.h"

/* ---- parameters ---- */

static bool name_taken(const graph *g, const char *name) {
    for (int i = 0; i < g->witness_count; i++) {
        if (g->witnesses[i].name == name) return true;
    }
    return false;
}

/* A named size that stands alone in a parameter's type is that name; one without a name is the size of the
 * parameter. */
static void note_names(stager *s, var v) {
    graph *g = s->g;
    op_type t = *graph_type(g, v);
    for (int i = 0; i < t.rank; i++) {
        if (!dims_is_symbol(s->p->dims, t.dims[i])) continue;
        const char *name = dims_name(s->p->dims, t.dims[i]);
        if (name != NULL && !name_taken(g, name)) graph_witness(g, t.dims[i], name, v, i);
    }
    graph_note_dims(g, v);
}

static staged tensor_param(stager *s, const op_type *t, const char *name) {
    var v = region_param(s->g, s->g->top, graph_var_new(s->g, t, name));
    if (v != VAR_NONE) note_names(s, v);
    return staged_var(v);
}

static staged tape_param(stager *s, const type *entry, const char *name) {
    var v = region_param(s->g, s->g->top, stage_tape_var(s, entry));
    if (v != VAR_NONE) graph_at(s->g, v)->name = name;
    return staged_var(v);
}

static staged param_of(stager *s, const type *t, const char *name, span at);

static staged tuple_param(stager *s, const type *t, const char *name, span at) {
    staged *items = STAGE_ARRAY(s, staged, t->count);
    if (items == NULL) return staged_none();
    for (int i = 0; i < t->count; i++) {
        const char *part = arena_format(s->g->a, "%s_%d", name, i);
        if (part == NULL) s->g->failed = true;
        items[i] = param_of(s, t->items[i], part, at);
    }
    return stage_tuple(s, t->count, items);
}

static staged param_of(stager *s, const type *t, const char *name, span at) {
    switch (t->kind) {
    case TYPE_TENSOR: return tensor_param(s, &t->tensor, name);
    case TYPE_TUPLE: return tuple_param(s, t, name, at);
    case TYPE_TAPE: return tape_param(s, t->items[0], name);
    case TYPE_UNIT: return staged_unit();
    default: break;
    }
    graph_refuse(s->g, ERROR_K0703, at, "write out a function that calls it with the function that is meant",
                 "`%s` cannot be written out: `%s` is a function", s->name, name);
    return staged_none();
}

/* ---- captured values ---- */

static staged captured(stager *s, const symbol *sym);

/* A name bound directly to a function: what that captures is captured too. */
static staged captured_function(stager *s, const symbol *sym) {
    const code_function *f = sym->fn != NULL ? code_find(s->code, sym->fn) : NULL;
    if (f == NULL) {
        graph_refuse(s->g, ERROR_K0703, sym->at, "define the function with `fn`",
                     "`%s` cannot be written out: `%s`, which it uses, is a function that is computed", s->name,
                     sym->name);
        return staged_none();
    }
    staged out = {.kind = STAGED_FUNCTION, .v = VAR_NONE, .function = f, .count = f->captures};
    out.items = STAGE_ARRAY(s, staged, f->captures);
    for (int i = 0; out.items != NULL && i < f->captures; i++) out.items[i] = captured(s, f->captured[i]);
    return out;
}

static staged captured(stager *s, const symbol *sym) {
    if (sym->kind == SYMBOL_DIM) return staged_size(sym->dim);
    for (captured_value *v = s->captured; v != NULL; v = v->next) {
        if (v->symbol == sym) return v->x;
    }
    captured_value *made = STAGE_ARRAY(s, captured_value, 1);
    if (made == NULL) return staged_none();
    bool function = sym->type->kind == TYPE_FN;
    made->symbol = sym;
    made->x = function ? captured_function(s, sym) : param_of(s, sym->type, sym->name, sym->at);
    made->next = s->captured;
    s->captured = made;
    return made->x;
}

/* A captured size that no parameter shows is a parameter of its own. */
static bool show_dim(stager *s, const symbol *sym) {
    const op_type number = {.dtype = DT_I64};
    if (sym->kind != SYMBOL_DIM || sym->dim >= 0 || graph_witness_of(s->g, sym->dim) != NULL) return false;
    var v = region_param(s->g, s->g->top, graph_var_new(s->g, &number, sym->name));
    if (v != VAR_NONE) graph_witness(s->g, sym->dim, NULL, v, -1);
    return true;
}

/* What was captured, in the order of the params. */
static void list_captures(stager *s, const code_function *f, stage_params *out) {
    int count = 0;
    for (const captured_value *v = s->captured; v != NULL; v = v->next) count += v->symbol->type->kind != TYPE_FN;
    out->captures = STAGE_ARRAY(s, const symbol *, count + f->captures);
    if (out->captures == NULL) return;
    out->captured = count;
    for (const captured_value *v = s->captured; v != NULL; v = v->next) {
        if (v->symbol->type->kind != TYPE_FN) out->captures[--count] = v->symbol;
    }
    for (int i = 0; i < f->captures; i++) {
        if (show_dim(s, f->captured[i])) out->captures[out->captured++] = f->captured[i];
    }
}

/* ---- the whole ---- */

static void stage_body(stager *s, const code_function *f, const fn_decl *fn, stage_params *params) {
    graph *g = s->g;
    staged *args = STAGE_ARRAY(s, staged, f->params);
    staged *values = STAGE_ARRAY(s, staged, f->captures);
    if (args == NULL || values == NULL) return;
    for (int i = 0; i < f->params; i++) args[i] = param_of(s, fn->type->items[i], fn->params[i].name, fn->params[i].at);
    params->own = g->top->param_count;
    for (int i = 0; i < f->captures; i++) values[i] = captured(s, f->captured[i]);
    list_captures(s, f, params);
    bool ruled = f->vjp.function != NULL || f->jvp.function != NULL;
    staged result = ruled ? stage_call(s, f, args, values, true, fn->at) : stage_in_place(s, f, args, values);
    if (staged_holds_function(&result)) {
        graph_refuse(g, ERROR_K0703, fn->at, "write out a function that calls it",
                     "`%s` cannot be written out: it gives a function", s->name);
    }
    var_list leaves = {0};
    stage_leaves(s, &result, fn->body->at, &leaves);
    if (!graph_bad(g)) region_results(g, g->top, leaves.count, leaves.item);
}

bool stage_function(graph *g, const program *p, const code_program *compiled, const fn_decl *fn,
                    stage_params *params) {
    stager s = {.g = g, .p = p, .code = compiled, .r = g->top, .captures = captures_find(p)};
    s.name = fn->name != NULL ? fn->name : "main";
    const code_function *f = fn == &p->main ? &compiled->main : code_find(compiled, fn);
    *params = (stage_params){0};
    if (s.captures == NULL || f == NULL || g->top == NULL) {
        g->failed = true;
        return false;
    }
    stage_body(&s, f, fn, params);
    graph_settle_tapes(g);
    if (g->c->err.code != ERROR_NONE) {
        g->failed = true;
        g->refused = ERROR_NONE; /* sizes without memory fit nothing */
    }
    return !graph_bad(g);
}
