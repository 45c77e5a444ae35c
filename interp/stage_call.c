/* Calls and closures. */
#include "interp/stage_internal.h"

/* ---- function values ---- */

static staged *gather(stager *s, const staged *frame, const slots *from) {
    staged *list = STAGE_ARRAY(s, staged, from->count);
    for (int i = 0; list != NULL && i < from->count; i++) list[i] = frame[from->slot[i]];
    return list;
}

static staged function_value(stager *s, const staged *frame, const code_function *f, const slots *captures) {
    staged out = {.kind = STAGED_FUNCTION, .v = VAR_NONE, .function = f, .count = captures->count};
    out.items = gather(s, frame, captures);
    return out.items != NULL ? out : staged_none();
}

staged stage_closure(stager *s, staged *frame, const code *n) {
    return function_value(s, frame, n->u.closure.function, &n->u.closure.captures);
}

staged stage_callee(stager *s, staged *frame, const callee *c) {
    return c->known != NULL ? function_value(s, frame, c->known, &c->captures) : stage(s, frame, c->value);
}

staged *stage_args(stager *s, staged *frame, code *const *args, int count) {
    staged *list = STAGE_ARRAY(s, staged, count);
    for (int i = 0; list != NULL && i < count; i++) list[i] = stage(s, frame, args[i]);
    return list;
}

/* ---- calls ---- */

staged stage_parameter(stager *s, const staged *x, span where) {
    graph *g = s->g;
    if (x->kind == STAGED_VAR && graph_floating(g, x->v)) {
        return staged_var(graph_op(g, s->r, OP_identity, NULL, 1, &x->v, where));
    }
    if (x->kind != STAGED_TUPLE) return *x;
    staged out = stage_tuple(s, x->count, x->items);
    for (int i = 0; out.kind == STAGED_TUPLE && i < out.count; i++) {
        out.items[i] = stage_parameter(s, &x->items[i], where);
    }
    return out;
}

staged stage_in_place(stager *s, const code_function *f, const staged *args, const staged *captured) {
    staged *frame = STAGE_ARRAY(s, staged, f->slots);
    if (frame == NULL || graph_bad(s->g)) return staged_none();
    for (int i = 0; i < f->params; i++) {
        frame[i] = args[i];
        if (f->decl != NULL) stage_name(s, &args[i], f->decl->params[i].name);
    }
    for (int i = 0; i < f->captures; i++) frame[f->params + i] = captured[i];
    for (int i = 0; i < f->params; i++) stage_bind_dims(s, frame, &f->checks[i], &args[i]);
    for (int i = 0; i < f->params; i++) {
        frame[i] = stage_hold_dims(s, frame, &f->checks[i], &args[i], f->body->where);
    }
    return stage(s, frame, f->body);
}

staged stage_call(stager *s, const code_function *f, const staged *args, const staged *captured, bool fresh,
                  span where) {
    staged *own = STAGE_ARRAY(s, staged, f->params);
    if (own == NULL || graph_bad(s->g)) return staged_none();
    for (int i = 0; i < f->params; i++) own[i] = fresh ? args[i] : stage_parameter(s, &args[i], where);
    return stage_keeps(s, f) ? stage_kept(s, f, own, where) : stage_in_place(s, f, own, captured);
}

staged stage_call_node(stager *s, staged *frame, const code *n) {
    staged f = stage_callee(s, frame, &n->u.call.callee);
    staged *args = stage_args(s, frame, n->u.call.args, n->u.call.count);
    if (args == NULL || f.kind != STAGED_FUNCTION) return staged_none();
    return stage_call(s, f.function, args, f.items, false, n->where);
}
