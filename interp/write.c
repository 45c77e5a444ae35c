/* The function around a graph, and the functions that its calls need. */
#include "interp/write.h"

#include <string.h>

#include "interp/write_called.h"
#include "interp/writing.h"

/* ---- the function ---- */

static void write_params(writing *w, fn_decl *f) {
    const region *top = w->g->top;
    param *params = WRITE_ARRAY(w, param, top->param_count);
    if (w->failed) return;
    for (int i = 0; i < top->param_count; i++) {
        written *of = &w->vars[top->params[i]];
        params[i] = (param){.type = write_opened_type(w, top->params[i]), .symbol = &of->symbol};
        of->bound = true;
    }
    f->params = params;
    f->count = top->param_count;
}

/* Stated where dim names say all of it. */
static void write_result(writing *w, fn_decl *f) {
    const region *top = w->g->top;
    type_expr **items = WRITE_ARRAY(w, type_expr *, top->result_count);
    for (int i = 0; !w->failed && i < top->result_count; i++) {
        const op_type *t = graph_type(w->g, top->results[i]);
        for (int k = 0; k < t->rank; k++)
            if (!write_dim_named(w, t->dims[k])) return;
        items[i] = write_var_type(w, top->results[i]);
    }
    if (!w->failed) f->result = write_tuple_type(w, top->result_count, items);
}

/* Names that variables must leave alone: those of dims, and of the functions of the program. */
static int fixed_names(writing *w, const fn_decl *f, const lines *functions, const char ***out) {
    int count = 0;
    const char **list = WRITE_ARRAY(w, const char *, w->g->witness_count + w->dim_names + functions->count + 1);
    if (list == NULL) return 0;
    for (int i = 0; i < w->g->witness_count; i++)
        if (w->g->witnesses[i].name != NULL) list[count++] = write_word(w, "%s", w->g->witnesses[i].name);
    for (int i = 1; i <= w->dim_names; i++) list[count++] = write_word(w, "N%d", i);
    for (int i = 0; i < functions->count; i++) list[count++] = write_word(w, "%s", functions->list[i].fn->name);
    list[count++] = f->name;
    *out = list;
    return count;
}

/* ---- functions that are called ---- */

/* The functions of the source that the graph's calls need, in the source's order. */
static void write_functions(writing *w, const program *from, lines *out) {
    called_functions called = {.a = w->a};
    if (from == NULL) return;
    if (!write_called(w->g, from, &called)) w->failed = true;
    const expr *body = from->main.body;
    for (int i = 0; called.count > 0 && i < body->u.block.count && !w->failed; i++) {
        const item *it = &body->u.block.items[i];
        if (it->kind != ITEM_FN || !called_has(&called, it->fn)) continue;
        item *own = write_line(w, out, ITEM_FN);
        if (own != NULL) *own = *it;
    }
}

/* ---- the whole ---- */

static bool open_vars(writing *w) {
    w->vars = WRITE_ARRAY(w, written, w->g->count);
    if (w->vars == NULL) return false;
    for (var v = 0; v < w->g->count; v++) {
        const graph_var *of = graph_at(w->g, v);
        written *it = &w->vars[v];
        it->symbol.kind = SYMBOL_LET;
        it->same = VAR_NONE;
        if (of->name != NULL) it->wish = write_word(w, "%s", of->name);
    }
    return !w->failed;
}

static void name_as(writing *w, var v, var other) {
    written *it = &w->vars[v];
    if (it->of != NULL || it->wish != NULL) return;
    it->of = write_of(w, other);
    it->prefix = "";
}

/* What goes on under the name that it has: tapes, and what loops carry. */
static void name_alike(writing *w, const region *r) {
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        if (n->kind == NODE_PUSH || n->kind == NODE_POP) name_as(w, n->out[0], n->in[0]);
        for (int k = 0; n->kind == NODE_WHILE && k < n->n; k++) {
            name_as(w, n->inside[1]->params[k], n->in[k]);
            if (k < n->m) name_as(w, n->out[k], n->inside[1]->params[k]);
        }
        for (int k = 0; k < 2; k++)
            if (n->inside[k] != NULL) name_alike(w, n->inside[k]);
    }
}

/* What a variable is named after, once it is known which of them are one. */
static void name_after(writing *w) {
    for (var v = 0; v < w->g->count; v++) {
        const graph_var *of = graph_at(w->g, v);
        if (of->derivative_of == VAR_NONE) continue;
        w->vars[v].of = write_of(w, of->derivative_of);
        w->vars[v].prefix = of->prefix;
    }
    name_alike(w, w->g->top);
}

bool write_program(graph *g, const char *name, const program *from, program *out) {
    writing w = {.g = g, .dims = g->algebra->self, .a = out->a, .names = out->names};
    lines items = {0};
    fn_decl *f = WRITE_ARRAY(&w, fn_decl, 1);
    if (f == NULL || !open_vars(&w)) return false;
    if (from != NULL) w.src = from->src;
    write_count_reads(&w);
    name_after(&w);
    f->name = write_word(&w, "%s", name);
    write_params(&w, f);
    write_result(&w, f);
    if (w.failed) return false;
    f->body = write_body(&w, g->top);
    write_functions(&w, from, &items);
    const char **fixed = NULL;
    int fixed_count = fixed_names(&w, f, &items, &fixed);
    write_names(&w, f, fixed_count, fixed);
    item *own = write_line(&w, &items, ITEM_FN);
    if (own != NULL) own->fn = f;
    expr *body = write_expr_new(&w, EXPR_BLOCK);
    if (w.failed) return false;
    body->u.block.count = items.count;
    body->u.block.items = items.list;
    out->main = (fn_decl){.body = body};
    return true;
}
