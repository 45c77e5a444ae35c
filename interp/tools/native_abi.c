/* From a function's Kina type to the form in which its parameters and results travel (native.h). */
#include "interp/tools/native.h"
#include "runtime/context.h"

enum { DESCRIPTOR = 24 }; /* of rank 0: two pointers and an offset */

size_t native_slot_size(const native_slot *s) {
    return s->by_value ? dtype_size(s->t) : DESCRIPTOR + 2 * sizeof(int64_t) * (size_t)s->rank;
}

size_t native_slot_align(const native_slot *s) {
    return s->by_value ? dtype_size(s->t) : sizeof(void *);
}

/* `written`: as the program spells the type; NULL where it does not. */
static bool by_value(const type *t, const type_expr *written, native_scalars scalars) {
    if (t->tensor.rank > 0 || scalars == SCALARS_MEMREF) return false;
    return scalars == SCALARS_VALUE || (written != NULL && written->kind == TYPE_EXPR_SCALAR);
}

static bool refuse(context *c, const program *p, const fn_decl *fn, const char *what,
                   const type *t) {
    text shown;
    text_init(&shown, c);
    type_print(p->dims, t, &shown);
    error_set(&c->err, ERROR_K0701, fn->at,
              "%s of `%s` is %s, and a compiled function is called with numbers and tensors", what,
              fn->known_as, text_data(&shown));
    text_close(&shown);
    return false;
}

static native_slot slot_of(const type *t, const type_expr *written, native_scalars scalars) {
    return (native_slot){
        .t = (dtype)t->tensor.dtype,
        .rank = t->tensor.rank,
        .by_value = by_value(t, written, scalars),
    };
}

/* A result's leaves, left to right; each takes the next slot. False: one is no number or tensor. */
static bool place_results(const type *t, const type_expr *written, native_scalars scalars,
                          native_slot **next) {
    if (t->kind == TYPE_UNIT) return true;
    if (t->kind == TYPE_TENSOR) {
        *(*next)++ = slot_of(t, written, scalars);
        return true;
    }
    if (t->kind != TYPE_TUPLE) return false;
    bool parts = written != NULL && written->kind == TYPE_EXPR_TUPLE;
    for (int i = 0; i < t->count; i++) {
        if (!place_results(t->items[i], parts ? written->items[i] : NULL, scalars, next))
            return false;
    }
    return true;
}

bool native_signature_of(context *c, arena *a, const program *p, const fn_decl *fn,
                         native_scalars scalars, native_signature *out) {
    const type *result = fn->type->result;
    *out = (native_signature){.params = fn->count};
    int leaves = type_leaves(result, NULL, 0);
    out->param = ARENA_ARRAY(a, native_slot, (size_t)fn->count + 1);
    out->result = ARENA_ARRAY(a, native_slot, (size_t)leaves + 1);
    if (out->param == NULL || out->result == NULL) return false;
    for (int i = 0; i < fn->count; i++) {
        const type *t = fn->type->items[i];
        if (t->kind != TYPE_TENSOR) return refuse(c, p, fn, "a parameter", t);
        out->param[i] = slot_of(t, fn->params[i].type, scalars);
    }
    native_slot *next = out->result;
    if (!place_results(result, fn->result, scalars, &next))
        return refuse(c, p, fn, "the result", result);
    out->results = (int)(next - out->result);
    return true;
}
