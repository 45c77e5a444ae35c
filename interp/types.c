/* Types of expressions: printing, comparing, and the questions that several passes ask of them. */
#include "interp/types.h"

#include <string.h>

/* ---- printing ---- */

static void tensor_print(const dims *d, const op_type *t, text *out) {
    if (t->rank == 0) {
        text_add(out, dtype_name((dtype)t->dtype));
        return;
    }
    text_format(out, "tensor<%s, [", dtype_name((dtype)t->dtype));
    for (int i = 0; i < t->rank; i++) {
        if (i > 0) text_add(out, ", ");
        dims_print(d, t->dims[i], out);
    }
    text_add(out, "]>");
}

static void list_print(const dims *d, const type *t, text *out) {
    for (int i = 0; i < t->count; i++) {
        if (i > 0) text_add(out, ", ");
        type_print(d, t->items[i], out);
    }
}

void type_print(const dims *d, const type *t, text *out) {
    switch (t->kind) {
    case TYPE_ERROR: text_add(out, "?"); return;
    case TYPE_UNIT: text_add(out, "()"); return;
    case TYPE_STRING: text_add(out, "string"); return;
    case TYPE_TENSOR: tensor_print(d, &t->tensor, out); return;
    case TYPE_TUPLE:
        text_add(out, "(");
        list_print(d, t, out);
        text_add(out, ")");
        return;
    case TYPE_FN:
        text_add(out, "fn(");
        list_print(d, t, out);
        text_add(out, ") -> ");
        type_print(d, t->result, out);
        return;
    case TYPE_TAPE:
        text_add(out, "tape<");
        list_print(d, t, out);
        text_add(out, ">");
        return;
    }
}

/* ---- comparing ---- */

static dim_verdict weaker(dim_verdict a, dim_verdict b) {
    if (a == DIM_DIFFERENT || b == DIM_DIFFERENT) return DIM_DIFFERENT;
    return a == DIM_LATER || b == DIM_LATER ? DIM_LATER : DIM_SAME;
}

static dim_verdict tensor_compare(dims *d, const op_type *a, const op_type *b) {
    dim_verdict verdict = DIM_SAME;
    if (a->dtype != b->dtype || a->rank != b->rank) return DIM_DIFFERENT;
    for (int i = 0; i < a->rank; i++)
        verdict = weaker(verdict, dims_compare(d, a->dims[i], b->dims[i]));
    return verdict;
}

/* Quantified dims of two functions, each of which stands for its counterpart, and those of the
 * functions around them: fn([N]) and fn([M]) are one type. */
typedef struct renaming {
    const type *a, *b;
    const struct renaming *outer;
} renaming;

static dim_verdict compare_under(dims *d, const type *a, const type *b, const renaming *frames);

static dim_verdict compare_tensors(dims *d, const op_type *a, const op_type *b,
                                   const renaming *frames) {
    op_type other = *b;
    for (const renaming *r = frames; r != NULL; r = r->outer)
        for (int i = 0; i < other.rank; i++)
            other.dims[i] = dims_substitute(d, other.dims[i], r->b->generic_count, r->b->generic,
                                            r->a->generic);
    return tensor_compare(d, a, &other);
}

static dim_verdict compare_parts(dims *d, const type *a, const type *b, const renaming *frames) {
    dim_verdict verdict = DIM_SAME;
    if (a->count != b->count) return DIM_DIFFERENT;
    for (int i = 0; i < a->count && verdict != DIM_DIFFERENT; i++)
        verdict = weaker(verdict, compare_under(d, a->items[i], b->items[i], frames));
    return verdict;
}

static dim_verdict compare_functions(dims *d, const type *a, const type *b,
                                     const renaming *frames) {
    renaming inner = {.a = a, .b = b, .outer = frames};
    if (a->generic_count != b->generic_count) return DIM_DIFFERENT;
    if (a->generic_count > 0) frames = &inner;
    dim_verdict verdict = compare_parts(d, a, b, frames);
    if (verdict == DIM_DIFFERENT) return verdict;
    return weaker(verdict, compare_under(d, a->result, b->result, frames));
}

static dim_verdict compare_under(dims *d, const type *a, const type *b, const renaming *frames) {
    if (a->kind == TYPE_ERROR || b->kind == TYPE_ERROR) return DIM_SAME;
    if (a->kind != b->kind) return DIM_DIFFERENT;
    switch (a->kind) {
    case TYPE_ERROR:
    case TYPE_UNIT:
    case TYPE_STRING: return DIM_SAME;
    case TYPE_TENSOR: return compare_tensors(d, &a->tensor, &b->tensor, frames);
    case TYPE_TUPLE:
    case TYPE_TAPE: return compare_parts(d, a, b, frames);
    case TYPE_FN: return compare_functions(d, a, b, frames);
    }
    return DIM_DIFFERENT;
}

dim_verdict type_compare(dims *d, const type *a, const type *b) {
    return a == b ? DIM_SAME : compare_under(d, a, b, NULL);
}

/* ---- questions ---- */

bool type_is_floating(const type *t) {
    return t->kind == TYPE_TENSOR && dtype_floating((dtype)t->tensor.dtype);
}

bool type_is_scalar(const type *t) {
    return t->kind == TYPE_TENSOR && t->tensor.rank == 0;
}

static void leaves(const type *t, const type **out, int room, int *count) {
    if (t->kind == TYPE_TUPLE) {
        for (int i = 0; i < t->count; i++) leaves(t->items[i], out, room, count);
    } else if (t->kind != TYPE_UNIT) {
        if (*count < room) out[*count] = t;
        (*count)++;
    }
}

int type_leaves(const type *t, const type **out, int room) {
    int count = 0;
    leaves(t, out, room, &count);
    return count;
}

/* ---- substitution ---- */

static const type *tensor_substitute(dims *d, arena *a, const type *t, int count,
                                     const int64_t *from, const int64_t *to) {
    type *copy = NULL;
    for (int i = 0; i < t->tensor.rank; i++) {
        int64_t dim = dims_substitute(d, t->tensor.dims[i], count, from, to);
        if (dim == t->tensor.dims[i]) continue;
        if (copy == NULL) {
            copy = ARENA_NEW(a, type);
            if (copy == NULL) return t;
            *copy = *t;
        }
        copy->tensor.dims[i] = dim;
    }
    return copy != NULL ? copy : t;
}

const type *type_substitute(dims *d, arena *a, const type *t, int count, const int64_t *from,
                            const int64_t *to) {
    if (count == 0) return t;
    if (t->kind == TYPE_TENSOR) return tensor_substitute(d, a, t, count, from, to);
    if (t->kind != TYPE_TUPLE && t->kind != TYPE_FN && t->kind != TYPE_TAPE) return t;
    const type **items = ARENA_ARRAY(a, const type *, t->count);
    type *copy = ARENA_NEW(a, type);
    if (items == NULL || copy == NULL) return t;
    *copy = *t;
    copy->items = items;
    bool same = true;
    for (int i = 0; i < t->count; i++) {
        items[i] = type_substitute(d, a, t->items[i], count, from, to);
        same = same && items[i] == t->items[i];
    }
    if (t->result != NULL) {
        copy->result = type_substitute(d, a, t->result, count, from, to);
        same = same && copy->result == t->result;
    }
    return same ? t : copy;
}
