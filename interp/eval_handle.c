/* Handlers: a call under reverseMode or forwardMode. */
#include <string.h>

#include "interp/eval.h"

typedef struct handling {
    evaluator *ev;
    const code *n;
    value *args, *param, *answer;   /* call arguments; differentiated ones; primals and derivatives */
    int params, primals;
    called f;
} handling;

/* A cotangent or tangent must have the type of what it belongs to. */
static bool same_type(evaluator *ev, const value *given, const value *of, const char *what, span where) {
    bool same = given->dtype == of->dtype &&
                shape_same(value_rank(given), value_dims(given), value_rank(of), value_dims(of));
    if (same) return true;
    char a[96], b[96];
    shape_print(a, sizeof a, value_rank(given), value_dims(given));
    shape_print(b, sizeof b, value_rank(of), value_dims(of));
    return error_set(&ev->c->err, ERROR_K0502, where, "the %s is %s %s, but %s %s is asked for", what,
                     dtype_name((dtype)given->dtype), a, dtype_name((dtype)of->dtype), b);
}

static bool reverse_run(handling *h, const value *seed) {
    evaluator *ev = h->ev;
    const code *n = h->n;
    reverse_scope scope;
    if (!reverse_enter(ev->c, &scope)) {
        values_release(ev->c, h->args, n->u.handle.count);
        return false;
    }
    scope.strong_zero = n->u.handle.strong_zero;
    int made = 0;
    bool ok = true;
    for (int i = 0; i < n->u.handle.count && ok; i++) {
        if (!n->u.handle.floating[i]) continue;
        ok = reverse_parameter(ev->c, &scope, n->where, &h->args[i]);
        if (ok) h->param[made++] = value_retain(h->args[i]);
    }
    if (!ok) values_release(ev->c, h->args, n->u.handle.count);
    ok = ok && eval_call(ev, h->f.f, h->args, h->f.captured, true, n->where, &h->answer[0]);
    if (ok && seed != NULL && !same_type(ev, seed, &h->answer[0], "seed cotangent", n->where)) {
        value_release(ev->c, h->answer[0]);
        ok = false;
    }
    if (!ok) {
        reverse_abandon(ev->c, &scope);
    } else {
        ok = reverse_leave(ev->c, &scope, &h->answer[0], seed, h->param, made, n->where, h->answer + 1);
        if (!ok) value_release(ev->c, h->answer[0]);
    }
    values_release(ev->c, h->param, made);
    return ok;
}

static bool forward_run(handling *h, const value *tangents) {
    evaluator *ev = h->ev;
    const code *n = h->n;
    forward_scope scope;
    if (!forward_enter(ev->c, &scope)) {
        values_release(ev->c, h->args, n->u.handle.count);
        return false;
    }
    bool ok = true;
    for (int i = 0, k = 0; i < n->u.handle.count && ok; i++) {
        if (n->u.handle.floating[i]) {
            ok = forward_parameter(ev->c, &scope, &tangents[k++], n->where, &h->args[i]);
        }
    }
    if (!ok) values_release(ev->c, h->args, n->u.handle.count);
    value primal;
    ok = ok && eval_call(ev, h->f.f, h->args, h->f.captured, true, n->where, &primal) &&
         eval_unpack(ev, primal, h->primals, h->answer);
    if (!ok) {
        forward_abandon(ev->c, &scope);
        return false;
    }
    ok = forward_leave(ev->c, &scope, h->answer, h->primals, n->where, h->answer + h->primals);
    if (!ok) values_release(ev->c, h->answer, h->primals);
    return ok;
}

static bool handle_forward(handling *h, value *frame) {
    const code *n = h->n;
    if (!eval_args(h->ev, frame, n->u.handle.tangents, h->params, h->param)) {
        values_release(h->ev->c, h->args, n->u.handle.count);
        return false;
    }
    bool ok = true;
    for (int i = 0, k = 0; i < n->u.handle.count && ok; i++) {
        if (n->u.handle.floating[i]) ok = same_type(h->ev, &h->param[k++], &h->args[i], "tangent", n->where);
    }
    if (ok) {
        ok = forward_run(h, h->param);
    } else {
        values_release(h->ev->c, h->args, n->u.handle.count);
    }
    values_release(h->ev->c, h->param, h->params);
    return ok;
}

static bool handle_reverse(handling *h, value *frame) {
    const code *n = h->n;
    value given;
    const value *seed = NULL;
    if (n->u.handle.outermost_main && h->ev->options->seed != NULL) {
        seed = h->ev->options->seed;
    } else if (n->u.handle.seed != NULL) {
        if (!eval(h->ev, frame, n->u.handle.seed, &given)) {
            values_release(h->ev->c, h->args, n->u.handle.count);
            return false;
        }
        seed = &given;
    }
    bool ok = reverse_run(h, seed);
    if (seed == &given) value_release(h->ev->c, given);
    return ok;
}

bool eval_handle(evaluator *ev, value *frame, const code *n, int count, value *out) {
    handling h = {.ev = ev, .n = n, .primals = n->u.handle.primals};
    bool forward = n->kind == CODE_FORWARD;
    for (int i = 0; i < n->u.handle.count; i++) h.params += n->u.handle.floating[i];
    int answers = h.primals + (forward ? h.primals : h.params);
    size_t room = (size_t)(n->u.handle.count + h.params + answers) * sizeof(value);
    value *block = take(ev->c, room);
    if (block == NULL) return false;
    h.args = block;
    h.param = h.args + n->u.handle.count;
    h.answer = h.param + h.params;
    bool ok = eval_callee(ev, frame, &n->u.handle.callee, &h.f);
    if (ok) {
        ok = eval_args(ev, frame, n->u.handle.args, n->u.handle.count, h.args) &&
             (forward ? handle_forward(&h, frame) : handle_reverse(&h, frame));
        called_close(ev, &h.f);
    }
    const value *given = h.answer;
    if (ok && n->u.handle.drops_primal) {
        values_release(ev->c, h.answer, h.primals);
        given += h.primals;
        answers -= h.primals;
    }
    if (ok && count == answers) {
        memcpy(out, given, (size_t)count * sizeof *out);
    } else if (ok) {
        ok = eval_pack(ev, given, answers, out);
    }
    give_back(ev->c, block, room);
    return ok;
}
