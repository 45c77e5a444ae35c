/* The walk itself: names, ops, tuples, calls. */
#include "interp/eval.h"

#include <string.h>

#include "runtime/door.h"
#include "runtime/stack.h"

void values_release(context *c, const value *v, int count) {
    for (int i = 0; i < count; i++) value_release(c, v[i]);
}

/* ---- ops ---- */

enum { FEW_OPERANDS = 4 };

/* Run-time sizes are evaluated into a copy of the attributes. */
static bool fill_sizes(evaluator *ev, value *frame, const code *n, op_attrs *attrs) {
    *attrs = *n->u.op.attrs;
    attrs->stays = false;
    for (int i = 0; i < n->u.op.sizes; i++) {
        value v;
        if (!eval(ev, frame, n->u.op.size[i], &v)) return false;
        attrs->dims[i] = value_as_int(&v);
        if (attrs->dims[i] < 0) {
            return error_set(&ev->c->err, ERROR_K0511, n->u.op.size[i]->where,
                             "a dim cannot be negative: %lld", (long long)attrs->dims[i]);
        }
    }
    return true;
}

static bool perform(evaluator *ev, value *frame, const code *n, const value *in, value *out) {
    op_attrs filled;
    const op_attrs *attrs = n->u.op.attrs;
    if (n->u.op.sizes > 0) {
        if (!fill_sizes(ev, frame, n, &filled)) return false;
        attrs = &filled;
    }
    op_call call = {
        .op = (op_id)n->u.op.op,
        .n = n->u.op.n,
        .spent = 255,
        .attrs = attrs,
        .in = in,
        .where = n->where,
    };
    return door_perform(ev->c, &call, out);
}

static bool eval_op(evaluator *ev, value *frame, const code *n, value *out) {
    if (!context_may_go_on(ev->c, n->where)) return false;
    value few[FEW_OPERANDS], *in = few;
    int count = n->u.op.n;
    if (count > FEW_OPERANDS) {
        in = take(ev->c, (size_t)count * sizeof *in);
        if (in == NULL) return false;
    }
    bool ok = eval_args(ev, frame, n->u.op.args, count, in);
    if (ok) {
        ok = perform(ev, frame, n, in, out);
        values_release(ev->c, in, count);
    }
    if (in != few) give_back(ev->c, in, (size_t)count * sizeof *in);
    return ok;
}

bool eval_args(evaluator *ev, value *frame, code *const *args, int count, value *out) {
    for (int i = 0; i < count; i++) {
        if (!eval(ev, frame, args[i], &out[i])) {
            values_release(ev->c, out, i);
            return false;
        }
    }
    return true;
}

bool eval_condition(evaluator *ev, value *frame, const code *n, bool *out) {
    handler *top = ev->c->top;
    trail_mode mode = ad_trail_pause(ev->c);
    ev->c->top = ev->bottom;
    value v;
    bool ok = eval(ev, frame, n, &v);
    ev->c->top = top;
    ad_trail_resume(ev->c, mode);
    *out = ok && v.as.b;
    return ok;
}

static bool eval_logic(evaluator *ev, value *frame, const code *n, value *out) {
    if (!eval(ev, frame, n->u.two.a, out)) return false;
    bool decided = n->kind == CODE_AND ? !out->as.b : out->as.b;
    return decided || eval(ev, frame, n->u.two.b, out);
}

/* ---- tuples ---- */

bool eval_pack(evaluator *ev, const value *items, int count, value *out) {
    if (count == 1) {
        *out = items[0];
        return true;
    }
    tuple *t = tuple_new(ev->c, count);
    if (t == NULL) {
        values_release(ev->c, items, count);
        return false;
    }
    memcpy(t->item, items, (size_t)count * sizeof *items);
    *out = (value){.kind = VALUE_TUPLE, .as = {.tuple = t}};
    return true;
}

bool eval_unpack(evaluator *ev, value v, int count, value *out) {
    if (count == 1) {
        *out = v;
        return true;
    }
    for (int i = 0; i < count; i++) out[i] = value_retain(v.as.tuple->item[i]);
    value_release(ev->c, v);
    return true;
}

static bool eval_tuple(evaluator *ev, value *frame, const code *n, value *out) {
    int count = n->u.tuple.count;
    if (count == 0) {
        *out = value_unit();
        return true;
    }
    tuple *t = tuple_new(ev->c, count);
    if (t == NULL) return false;
    *out = (value){.kind = VALUE_TUPLE, .as = {.tuple = t}};
    for (int i = 0; i < count; i++) {
        if (!eval(ev, frame, n->u.tuple.items[i], &t->item[i])) {
            t->item[i] = value_none();
            value_release(ev->c, *out);
            return false;
        }
    }
    return true;
}

static bool eval_popped(evaluator *ev, value *frame, const code *n, value *out) {
    value parts[2];
    return eval_pop(ev, frame, n, parts) && eval_pack(ev, parts, 2, out);
}

static bool eval_project(evaluator *ev, value *frame, const code *n, value *out) {
    value base;
    if (!eval(ev, frame, n->u.project.base, &base)) return false;
    *out = value_retain(base.as.tuple->item[n->u.project.field]);
    value_release(ev->c, base);
    return true;
}

/* ---- dims ---- */

/* A size as a number of the type that its context asked for. */
static bool size_number(evaluator *ev, int64_t size, dtype t, span where, value *out) {
    if (t == DT_I32 && size > INT32_MAX) {
        return error_set(&ev->c->err, ERROR_K0511, where, "the dim %lld is too big for I32", (long long)size);
    }
    *out = t == DT_I64 ? value_i64(size) : value_number(t, (double)size);
    return true;
}

static bool eval_extent(evaluator *ev, value *frame, const code *n, value *out) {
    value a, b;
    if (!eval(ev, frame, n->u.extent.a, &a) || !eval(ev, frame, n->u.extent.b, &b)) return false;
    int64_t x = value_as_int(&a), y = value_as_int(&b), size;
    bool over;
    switch ((op_id)n->u.extent.op) {
    case OP_add: over = __builtin_add_overflow(x, y, &size); break;
    case OP_sub: over = __builtin_sub_overflow(x, y, &size); break;
    default: over = __builtin_mul_overflow(x, y, &size); break;
    }
    if (over) return error_set(&ev->c->err, ERROR_K0511, n->where, "a dim is beyond 2^63");
    *out = value_i64(size);
    return true;
}

static bool eval_size(evaluator *ev, value *frame, const code *n, value *out) {
    value v;
    if (!eval(ev, frame, n->u.size.a, &v)) return false;
    *out = value_i64(value_dims(&v)[n->u.size.axis]);
    value_release(ev->c, v);
    return true;
}

static bool eval_shape(evaluator *ev, value *frame, const code *n, value *out) {
    value v;
    if (!eval(ev, frame, n->u.size.a, &v)) return false;
    int64_t rank = value_rank(&v);
    tensor *t = tensor_new(ev->c, DT_I64, 1, &rank);
    if (t != NULL && rank > 0) memcpy(t->data, value_dims(&v), (size_t)rank * sizeof(int64_t));
    value_release(ev->c, v);
    if (t == NULL) return false;
    *out = value_tensor(t);
    return true;
}

static bool eval_stop(evaluator *ev, value *frame, const code *n, value *out) {
    if (!eval(ev, frame, n->u.size.a, out)) return false;
    out->index = 0;
    return true;
}

static bool eval_checked(evaluator *ev, value *frame, const code *n, value *out) {
    if (!eval(ev, frame, n->u.check.value, out)) return false;
    if (eval_check(ev, frame, n->u.check.check, out, n->u.check.what, n->where)) return true;
    value_release(ev->c, *out);
    return false;
}

/* ---- the walk ---- */

bool eval(evaluator *ev, value *frame, const code *n, value *out) {
    switch ((code_kind)n->kind) {
    case CODE_CONSTANT: *out = value_retain(n->u.constant); return true;
    case CODE_SLOT:
        *out = frame[n->u.slot];
        if (n->last) {
            frame[n->u.slot] = value_none();
        } else {
            *out = value_retain(*out);
        }
        return true;
    case CODE_OP: return eval_op(ev, frame, n, out);
    case CODE_AND:
    case CODE_OR: return eval_logic(ev, frame, n, out);
    case CODE_BLOCK: return eval_block(ev, frame, n, 1, out);
    case CODE_IF: return eval_if(ev, frame, n, 1, out);
    case CODE_WHILE: return eval_while(ev, frame, n, 1, out);
    case CODE_CALL: return eval_call_node(ev, frame, n, out);
    case CODE_CLOSURE: return eval_closure(ev, frame, n, out);
    case CODE_TUPLE: return eval_tuple(ev, frame, n, out);
    case CODE_PROJECT: return eval_project(ev, frame, n, out);
    case CODE_REVERSE:
    case CODE_FORWARD: return eval_handle(ev, frame, n, 1, out);
    case CODE_JACOBIAN: return eval_jacobian(ev, frame, n, out);
    case CODE_INDEX: return eval_index(ev, frame, n, out);
    case CODE_COMPOSITE: return eval_composite(ev, frame, n, out);
    case CODE_TAPE: *out = stack_empty(); return true;
    case CODE_PUSH: return eval_push(ev, frame, n, out);
    case CODE_POP: return eval_popped(ev, frame, n, out);
    case CODE_IS_EMPTY: return eval_is_empty(ev, frame, n, out);
    case CODE_CHECK: return eval_checked(ev, frame, n, out);
    case CODE_DIM: return size_number(ev, frame[n->u.slot].as.i64, (dtype)n->dtype, n->where, out);
    case CODE_EXTENT: return eval_extent(ev, frame, n, out);
    case CODE_SIZE: return eval_size(ev, frame, n, out);
    case CODE_SHAPE: return eval_shape(ev, frame, n, out);
    case CODE_STOP: return eval_stop(ev, frame, n, out);
    case CODE_DROP:
    case CODE_PRINT:
    case CODE_ASSERT:
    case CODE_LOAD:
    case CODE_SAVE: return eval_effect(ev, frame, n, out);
    }
    return error_set(&ev->c->err, ERROR_K0901, n->where, "code of an unknown kind");
}

bool eval_many(evaluator *ev, value *frame, const code *n, int count, value *out) {
    if (count == 1) return eval(ev, frame, n, out);
    switch ((code_kind)n->kind) {
    case CODE_TUPLE: return eval_args(ev, frame, n->u.tuple.items, count, out);
    case CODE_BLOCK: return eval_block(ev, frame, n, count, out);
    case CODE_IF: return eval_if(ev, frame, n, count, out);
    case CODE_WHILE: return eval_while(ev, frame, n, count, out);
    case CODE_REVERSE:
    case CODE_FORWARD: return eval_handle(ev, frame, n, count, out);
    case CODE_POP: return eval_pop(ev, frame, n, out);
    default: break;
    }
    value v;
    return eval(ev, frame, n, &v) && eval_unpack(ev, v, count, out);
}
