/* From a function to the text of its derivative. */
#include "interp/derive.h"

#include <string.h>

#include "ad/gradient.h"
#include "ad/simplify.h"
#include "interp/ast_print.h"
#include "interp/c_file.h"
#include "interp/stage.h"
#include "interp/write.h"

typedef struct deriving {
    engine *e;
    const derivative_wish *wish;
    graph g;
    dim_algebra algebra;
    stage_params staged;
    int params, *param;         /* those that are differentiated: places among the graph's params */
    int primals, *primal;       /* floating results: places among the graph's results */
} deriving;

/* ---- what is differentiated ---- */

static bool without_derivative(deriving *d, const char *why, const char *help) {
    error *err = &d->e->c->err;
    error_set(err, ERROR_K0209, d->wish->fn->at, "`%s` cannot be differentiated: %s", d->wish->fn->known_as, why);
    error_help(err, "%s", help);
    return false;
}

static bool choose_params(deriving *d) {
    const fn_decl *fn = d->wish->fn;
    d->param = ARENA_ARRAY(&d->e->a, int, fn->count + 1);
    if (d->param == NULL) return false;
    for (int i = 0, place = 0; i < fn->count; i++) {
        const type *t = fn->type->items[i];
        bool asked = d->wish->wrt == NULL || d->wish->wrt[i];
        if (type_is_floating(t) && asked) d->param[d->params++] = place;
        const type *leaves[1];
        place += type_leaves(t, leaves, 0);
    }
    if (d->params > 0) return true;
    return without_derivative(d, "it has no parameter that is a floating tensor", "give it one of type F32 or F64");
}

static bool choose_primals(deriving *d) {
    const region *top = d->g.top;
    d->primal = ARENA_ARRAY(&d->e->a, int, top->result_count + 1);
    if (d->primal == NULL) return false;
    for (int i = 0; i < top->result_count; i++) {
        if (graph_floating(&d->g, top->results[i])) d->primal[d->primals++] = i;
    }
    if (d->primals == 0) {
        return without_derivative(d, "its value is not a floating tensor", "a gradient needs a value of type F32 or F64");
    }
    bool one = d->wish->mode == DERIVATIVE_VJP || d->wish->mode == DERIVATIVE_JVP || top->result_count == 1;
    if (one) return true;
    return without_derivative(d, "its value is a tuple",
                              "--mode vjp gives each of its results a cotangent, --mode jvp each a tangent");
}

/* ---- the modes ---- */

static var new_param(deriving *d, var like, const char *prefix, const char *name) {
    op_type shape = *graph_type(&d->g, like);
    var v = region_param(&d->g, d->g.top, graph_var_new(&d->g, &shape, name));
    if (v != VAR_NONE && name == NULL) {
        graph_at(&d->g, v)->derivative_of = like;
        graph_at(&d->g, v)->prefix = prefix;
    }
    return v;
}

static bool differentiate(deriving *d) {
    graph *g = &d->g;
    region *top = g->top;
    int count = d->params > d->primals ? d->params : d->primals;
    var *params = ARENA_ARRAY(&d->e->a, var, count), *primals = ARENA_ARRAY(&d->e->a, var, count);
    var *given = ARENA_ARRAY(&d->e->a, var, count), *derived = ARENA_ARRAY(&d->e->a, var, count);
    var *gives = ARENA_ARRAY(&d->e->a, var, top->result_count + count);
    if (params == NULL || primals == NULL || given == NULL || derived == NULL || gives == NULL) return false;
    for (int i = 0; i < d->params; i++) params[i] = top->params[d->param[i]];
    for (int i = 0; i < d->primals; i++) primals[i] = top->results[d->primal[i]];
    handled_text t = {.r = top, .count = d->params, .params = params, .primal_count = d->primals,
                      .primals = primals, .where = d->wish->fn->at};
    bool forward = d->wish->mode == DERIVATIVE_JVP, seeded = d->wish->mode == DERIVATIVE_VJP;
    const char *seed = d->primals == 1 ? "seed" : NULL;
    for (int i = 0; i < (forward ? d->params : d->primals); i++) {
        given[i] = forward  ? new_param(d, params[i], "t_", NULL)
                   : seeded ? new_param(d, primals[i], "seed_", seed)
                            : VAR_NONE;
    }
    if (graph_bad(g)) return true;
    if (forward) {
        gradient_forward(g, &t, given, derived);
    } else {
        g->backward_from = g->count;
        gradient_reverse(g, &t, given, derived);
    }
    int kept = d->wish->mode == DERIVATIVE_GRAD ? 0 : top->result_count;
    for (int i = 0; i < kept; i++) gives[i] = top->results[i];
    int more = forward ? d->primals : d->params;
    for (int i = 0; i < more; i++) gives[kept + i] = derived[i];
    region_results(g, top, kept + more, gives);
    return true;
}

static const char *derivative_name(deriving *d) {
    static const char *const suffix[] = {"value_and_grad", "grad", "vjp", "jvp", "whole"};
    return arena_format(&d->e->a, "%s_%s", d->wish->fn->known_as, suffix[d->wish->mode]);
}

/* ---- the whole ---- */

static bool refused(deriving *d) {
    const graph *g = &d->g;
    error *err = &d->e->c->err;
    if (g->refused == ERROR_NONE) return false; /* out of memory, which has said so */
    error_set(err, g->refused, g->refused_at, "%s", g->refusal);
    if (g->refusal_help != NULL) error_help(err, "%s", g->refusal_help);
    return false;
}

static bool write_out(deriving *d, const char *name, text *out) {
    program written = {.a = &d->e->a, .names = &d->e->names, .dims = d->e->program.dims};
    if (!write_program(&d->g, name, &d->e->program, &written)) return false;
    ast_print(&written, out);
    return !out->failed;
}

static const char *summary_of(deriving *d) {
    static const char *const gives[] = {"the value and the gradients", "the gradients", "the results and the gradients",
                                        "the results and their tangents"};
    return arena_format(&d->e->a, "%s of `%s`", gives[d->wish->mode], d->wish->fn->name);
}

static bool write_c(deriving *d, const char *name, text *out) {
    c_signature signature = {.name = name, .summary = summary_of(d), .from = &d->e->program, .code = d->e->code};
    return signature.summary != NULL && c_file_write(&d->g, &signature, out, d->wish->header);
}

bool derive_program(engine *e, const derivative_wish *wish, text *out, derivative *made) {
    deriving d = {.e = e, .wish = wish, .algebra = dims_algebra(e->program.dims)};
    *made = (derivative){0};
    if (!engine_lower(e)) return false;
    graph_init(&d.g, &e->a, &d.algebra);
    if (!choose_params(&d)) return false;
    if (!stage_function(&d.g, &e->program, e->code, wish->fn, &d.staged)) return refused(&d);
    d.g.keeps_unread = wish->mode == DERIVATIVE_NONE;
    if (!d.g.keeps_unread) {
        if (!choose_primals(&d) || !differentiate(&d)) return false;
        graph_simplify(&d.g);
    } else {
        graph_use_up_tapes(&d.g);
    }
    if (graph_bad(&d.g)) return refused(&d);
    made->name = derivative_name(&d);
    made->captured = d.staged.captured;
    made->captures = d.staged.captures;
    if (made->name == NULL) return false;
    return wish->form == DERIVATIVE_C ? write_c(&d, made->name, out) : write_out(&d, made->name, out);
}
