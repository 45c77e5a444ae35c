/* Handlers: what is called is staged in its place, and then differentiated there. */
#include "ad/gradient.h"
#include "interp/stage_internal.h"

typedef struct handling {
    handled_text text;
    staged f, *args;
    var *params, *given;        /* differentiated ones; their tangents */
    var seed;
} handling;

/* In the order of the evaluator: function, arguments, tangents or seed, parameters. */
static bool handling_open(stager *s, staged *frame, const code *n, handling *h) {
    int count = n->u.handle.count, params = 0;
    for (int i = 0; i < count; i++) params += n->u.handle.floating[i];
    h->f = stage_callee(s, frame, &n->u.handle.callee);
    h->args = stage_args(s, frame, n->u.handle.args, count);
    h->params = STAGE_ARRAY(s, var, params);
    h->given = STAGE_ARRAY(s, var, params);
    if (graph_bad(s->g) || h->f.kind != STAGED_FUNCTION) return false;
    h->seed = n->u.handle.seed != NULL ? stage_var(s, frame, n->u.handle.seed) : VAR_NONE;
    for (int i = 0; n->kind == CODE_FORWARD && i < params; i++) {
        h->given[i] = stage_var(s, frame, n->u.handle.tangents[i]);
    }
    for (int i = 0, k = 0; i < count; i++) {
        if (!n->u.handle.floating[i]) continue;
        h->args[i] = stage_parameter(s, &h->args[i], n->where);
        h->params[k++] = h->args[i].v;
    }
    h->text = (handled_text){.r = s->r,
                             .from = s->r->count,
                             .count = params,
                             .params = h->params,
                             .primal_count = n->u.handle.primals,
                             .nested = true,
                             .strong_zero = n->u.handle.strong_zero,
                             .where = n->where};
    return !graph_bad(s->g);
}

/* The derivatives behind the primals, in one list. */
static staged handling_close(stager *s, const code *n, handling *h, const staged *called) {
    int primals = n->u.handle.primals, derivatives = n->kind == CODE_FORWARD ? primals : h->text.count;
    int count = primals + derivatives, first = n->u.handle.drops_primal ? primals : 0;
    var_list leaves = {0};
    stage_leaves(s, called, n->where, &leaves);
    var *answer = STAGE_ARRAY(s, var, count);
    staged *items = STAGE_ARRAY(s, staged, count);
    if (answer == NULL || items == NULL || graph_bad(s->g) || leaves.count != primals) return staged_none();
    for (int i = 0; i < primals; i++) answer[i] = leaves.item[i];
    h->text.primals = answer;
    graph_settle_tapes(s->g);
    if (n->kind == CODE_FORWARD) {
        gradient_forward(s->g, &h->text, h->given, answer + primals);
    } else {
        gradient_reverse(s->g, &h->text, &h->seed, answer + primals);
    }
    if (graph_bad(s->g)) return staged_none();
    for (int i = 0; i < count; i++) items[i] = staged_var(answer[i]);
    return stage_tuple(s, count - first, items + first);
}

staged stage_handle(stager *s, staged *frame, const code *n) {
    if (n->kind == CODE_JACOBIAN) {
        graph_refuse(s->g, ERROR_K0703, n->where, "multiply by vectors, with `vjp`, `jvp` or `hvp`",
                     "a `jacobian` or `hessian` has as many rows as the run says, and cannot be written out");
        return staged_none();
    }
    handling h;
    if (!handling_open(s, frame, n, &h)) return staged_none();
    staged primal = stage_call(s, h.f.function, h.args, h.f.items, true, n->where);
    return graph_bad(s->g) ? staged_none() : handling_close(s, n, &h, &primal);
}
