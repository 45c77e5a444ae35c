/* Calls and closures. */
#include "interp/eval.h"

#include <stdio.h>
#include <string.h>

#include "runtime/stack.h"

/* ---- closures ---- */

static void closure_destroy(context *c, counted *self) {
    closure *f = (closure *)self;
    values_release(c, f->captured, f->count);
    give_back(c, f, sizeof *f + (size_t)f->count * sizeof(value));
}

/* captured are copied. */
static bool closure_new(evaluator *ev, const code_function *f, const value *captured, int count, value *out) {
    closure *made = take(ev->c, sizeof *made + (size_t)count * sizeof(value));
    if (made == NULL) return false;
    made->head = (counted){.refs = 1, .destroy = closure_destroy};
    made->function = f;
    made->count = count;
    for (int i = 0; i < count; i++) made->captured[i] = value_retain(captured[i]);
    *out = (value){.kind = VALUE_FUNCTION, .as = {.fn = &made->head}};
    return true;
}

static value *gather(evaluator *ev, const value *frame, const slots *from) {
    value *list = take(ev->c, (size_t)from->count * sizeof *list);
    for (int i = 0; list != NULL && i < from->count; i++) list[i] = frame[from->slot[i]];
    return list;
}

bool eval_closure(evaluator *ev, value *frame, const code *n, value *out) {
    const slots *from = &n->u.closure.captures;
    value *list = gather(ev, frame, from);
    if (list == NULL) return false;
    bool ok = closure_new(ev, n->u.closure.function, list, from->count, out);
    give_back(ev->c, list, (size_t)from->count * sizeof *list);
    return ok;
}

bool eval_callee(evaluator *ev, value *frame, const callee *c, called *out) {
    *out = (called){.closure = value_none()};
    if (c->known != NULL) {
        out->f = c->known;
        if (c->captures.count > 0) {
            out->gathered = gather(ev, frame, &c->captures);
            if (out->gathered == NULL) return false;
            for (int i = 0; i < c->captures.count; i++) (void)value_retain(out->gathered[i]);
        }
        out->captured = out->gathered;
        return true;
    }
    if (!eval(ev, frame, c->value, &out->closure)) return false;
    const closure *f = (const closure *)out->closure.as.fn;
    out->f = f->function;
    out->captured = f->captured;
    return true;
}

void called_close(evaluator *ev, called *f) {
    if (f->gathered != NULL) {
        values_release(ev->c, f->gathered, f->f->captures);
        give_back(ev->c, f->gathered, (size_t)f->f->captures * sizeof(value));
    }
    value_release(ev->c, f->closure);
}

/* ---- dims at boundaries ---- */

static bool check_size(evaluator *ev, value *frame, const code *expected, int64_t size, int axis,
                       const char *what, span where) {
    value v;
    if (!eval(ev, frame, expected, &v)) return false;
    int64_t want = value_as_int(&v);
    if (want == size) return true;
    error_set(&ev->c->err, ERROR_K0502, where, "%s has size %lld on axis %d where its type says %lld", what,
              (long long)size, axis, (long long)want);
    return false;
}

static void bind_dims(value *frame, const shape_check *check, const value *v) {
    for (int i = 0; i < check->count; i++) bind_dims(frame, &check->items[i], &v->as.tuple->item[i]);
    for (int i = 0; i < check->rank; i++) {
        if (check->bind[i] >= 0) frame[check->bind[i]] = value_i64(value_dims(v)[i]);
    }
}

static bool hold_dims(evaluator *ev, value *frame, const shape_check *check, const value *v, const char *what,
                      span where) {
    for (int i = 0; i < check->count; i++) {
        if (!hold_dims(ev, frame, &check->items[i], &v->as.tuple->item[i], what, where)) return false;
    }
    for (int i = 0; i < check->rank; i++) {
        const code *expected = check->equals[i];
        if (expected != NULL && !check_size(ev, frame, expected, value_dims(v)[i], i, what, where)) {
            return false;
        }
    }
    return true;
}

bool eval_check(evaluator *ev, value *frame, const shape_check *check, const value *v, const char *what,
                span where) {
    bind_dims(frame, check, v);
    return hold_dims(ev, frame, check, v, what, where);
}

static bool check_params(evaluator *ev, const code_function *f, value *frame, span where) {
    for (int i = 0; i < f->params; i++) {
        if (f->checks[i].rank + f->checks[i].count > 0) bind_dims(frame, &f->checks[i], &frame[i]);
    }
    for (int i = 0; i < f->params; i++) {
        const shape_check *check = &f->checks[i];
        if (check->rank + check->count == 0) continue;
        char what[80];
        const char *name = f->decl != NULL ? f->decl->params[i].name : "x";
        snprintf(what, sizeof what, "the argument `%s` of `%s`", name, f->name);
        if (!hold_dims(ev, frame, check, &frame[i], what, where)) return false;
    }
    return true;
}

/* ---- calls ---- */

static bool any_active(const value *v, int count) {
    for (int i = 0; i < count; i++) {
        if (v[i].index != 0) return true;
    }
    return false;
}

/* A rule as a function value; NONE where there is none. captured: the called function's own. */
static bool rule_value(evaluator *ev, const struct custom_rule *rule, const value *captured, value *out) {
    *out = value_none();
    if (rule->function == NULL) return true;
    int count = rule->captures.count;
    value *list = take(ev->c, (size_t)count * sizeof *list);
    if (list == NULL) return false;
    for (int i = 0; i < count; i++) list[i] = captured[rule->captures.slot[i]];
    bool ok = closure_new(ev, rule->function, list, count, out);
    give_back(ev->c, list, (size_t)count * sizeof *list);
    return ok;
}

static bool apply_rules(evaluator *ev, const code_function *f, const value *args, const value *captured,
                        span where, value primal, value *out) {
    custom_call call = {
        .applier = &ev->applier,
        .vjp = value_none(),
        .jvp = value_none(),
        .name = f->name,
        .args = args,
        .count = f->params,
        .result = primal,
        .where = where,
    };
    bool ok = rule_value(ev, &f->vjp, captured, &call.vjp) && rule_value(ev, &f->jvp, captured, &call.jvp) &&
              ad_custom(ev->c, &call, out);
    value_release(ev->c, call.vjp);
    value_release(ev->c, call.jvp);
    return ok;
}

static bool captured_active(evaluator *ev, const code_function *f, span where) {
    error_set(&ev->c->err, ERROR_K0513, where,
              "`%s` has a rule of its own but captures a differentiated value, whose gradient would vanish",
              f->name);
    error_help(&ev->c->err, "pass the value to `%s` as a parameter", f->name);
    return false;
}

/* The body of a function with rules of its own runs on passive copies; then the handlers apply the rules. */
static bool call_custom(evaluator *ev, const code_function *f, value *frame, span where, value *out) {
    size_t bytes = (size_t)(f->params + f->captures) * sizeof(value);
    value *kept = take(ev->c, bytes); /* the body may move its parameters away */
    if (kept == NULL) return false;
    for (int i = 0; i < f->params + f->captures; i++) kept[i] = value_retain(frame[i]);
    for (int i = 0; i < f->params; i++) frame[i].index = 0;
    value primal;
    bool ok = eval(ev, frame, f->body, &primal);
    if (ok) {
        ok = apply_rules(ev, f, kept, kept + f->params, where, primal, out);
        value_release(ev->c, primal);
    }
    values_release(ev->c, kept, f->params + f->captures);
    give_back(ev->c, kept, bytes);
    return ok;
}

/* A forward rule alone leaves reverse mode to the body. An iteration that a checkpointed loop advances will be
 * taped later, so it is held to the same. */
static bool opaque(const context *c, const code_function *f) {
    if (!ad_handling(c)) return f->vjp.function != NULL && ad_trail(c) != TRAIL_OFF;
    return f->vjp.function != NULL || (f->jvp.function != NULL && c->top->pushers > 0);
}

static bool run_body(evaluator *ev, const code_function *f, value *frame, bool fresh, span where, value *out) {
    for (int i = 0; i < f->params && !fresh && ad_recording(ev->c); i++) {
        if (!eval_boundary(ev, BOUNDARY_PARAMETER, 0, where, &frame[i])) return false;
    }
    if (!check_params(ev, f, frame, where)) return false;
    if (opaque(ev->c, f)) {
        if (any_active(frame + f->params, f->captures)) return captured_active(ev, f, where);
        if (any_active(frame, f->params)) return call_custom(ev, f, frame, where, out);
    }
    return eval(ev, frame, f->body, out);
}

bool eval_call(evaluator *ev, const code_function *f, value *args, const value *captured, bool fresh,
               span where, value *out) {
    context *c = ev->c;
    size_t bytes = (size_t)f->slots * sizeof(value);
    value *frame = NULL;
    if (!context_stack_left(c, where) || !context_may_go_on(c, where) || (frame = take(c, bytes)) == NULL) {
        values_release(c, args, f->params);
        return false;
    }
    memcpy(frame, args, (size_t)f->params * sizeof *args);
    for (int i = 0; i < f->captures; i++) frame[f->params + i] = value_retain(captured[i]);
    for (int i = f->params + f->captures; i < f->slots; i++) frame[i] = value_none();
    uint32_t mark = ad_handling(c) ? tape_top(c->tape) : 0;
    bool ok = run_body(ev, f, frame, fresh, where, out);
    values_release(c, frame, f->slots);
    give_back(c, frame, bytes);
    if (!ok) error_add_note(&c->err, where, "in this call of `%s`", f->name);
    if (ok && !fresh && ad_handling(c) && !ad_recording(c)) eval_reclaim(ev, mark, out, 1);
    return ok;
}

enum { FEW_ARGS = 8 };

bool eval_call_node(evaluator *ev, value *frame, const code *n, value *out) {
    value few[FEW_ARGS], *args = few;
    int count = n->u.call.count;
    size_t bytes = (size_t)count * sizeof *args;
    if (count > FEW_ARGS && (args = take(ev->c, bytes)) == NULL) return false;
    called f;
    bool ok = eval_callee(ev, frame, &n->u.call.callee, &f);
    if (ok) {
        ok = eval_args(ev, frame, n->u.call.args, count, args) &&
             eval_call(ev, f.f, args, f.captured, false, n->where, out);
        called_close(ev, &f);
    }
    if (args != few) give_back(ev->c, args, bytes);
    return ok;
}

/* The sweep calls a custom rule. */
static bool apply_closure(void *self, const value *function, const value *args, int count, value *out) {
    evaluator *ev = self;
    const closure *f = (const closure *)function->as.fn;
    value *own = take(ev->c, (size_t)count * sizeof *own);
    if (own == NULL) return false;
    for (int i = 0; i < count; i++) own[i] = value_retain(args[i]);
    bool ok = eval_call(ev, f->function, own, f->captured, false, (span){0, 0}, out);
    give_back(ev->c, own, (size_t)count * sizeof *own);
    return ok;
}

void evaluator_init(evaluator *ev, context *c, const engine_options *options) {
    *ev = (evaluator){.c = c, .options = options, .applier = {.self = ev, .apply = apply_closure}};
    ev->bottom = c->top;
    while (ev->bottom->outer != NULL) ev->bottom = ev->bottom->outer;
}

/* ---- forward mode alone: forgetting ---- */

/* Beyond so many live values everything stays; so it does where a tape holds some, which have to keep their places. */
enum { RECLAIM_LEAVES = 64 };

static int leaf_places(value *v, value **place, int count) {
    if (v->kind == VALUE_TUPLE) {
        for (int i = 0; i < v->as.tuple->count; i++) count = leaf_places(&v->as.tuple->item[i], place, count);
    } else if (v->kind == VALUE_FUNCTION) {
        closure *f = (closure *)v->as.fn;
        for (int i = 0; i < f->count; i++) count = leaf_places(&f->captured[i], place, count);
    } else if (v->kind == VALUE_TAPE) {
        if (stack_indexed(v)) count = RECLAIM_LEAVES + 1;
    } else if (v->index != 0) {
        if (count < RECLAIM_LEAVES) place[count] = v;
        count++;
    }
    return count;
}

void eval_reclaim(evaluator *ev, uint32_t mark, value *v, int count) {
    value *place[RECLAIM_LEAVES];
    int leaves = 0;
    for (int i = 0; i < count; i++) leaves = leaf_places(&v[i], place, leaves);
    if (leaves <= RECLAIM_LEAVES) ad_reclaim(ev->c, mark, place, (size_t)leaves);
}
