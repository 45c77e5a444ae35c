/* Types of expressions, and the symbolic dims in them. */
#ifndef KINA_TYPES_H
#define KINA_TYPES_H

#include "interp/source.h"
#include "runtime/op.h"
#include "runtime/text.h"

typedef enum type_kind {
    TYPE_ERROR,             /* of an expression already reported: fits everything, reports nothing more */
    TYPE_UNIT,              /* () */
    TYPE_TENSOR,            /* `tensor`; rank 0 for F32, I32, ... */
    TYPE_TUPLE,             /* items, two or more */
    TYPE_FN,                /* items = parameters, result */
    TYPE_TAPE,              /* items[0] = element */
    TYPE_STRING,            /* of a string literal; only builtins take it */
} type_kind;

typedef struct type type;
struct type {
    type_kind kind;
    op_type tensor;
    int count;
    const type **items;
    const type *result;
    /* A function whose parameters quantify dims: the ids of those dims, in order of appearance. */
    int generic_count;
    const int64_t *generic;
};

/* Dims: a constant is itself (>= 0); a symbolic dim is a negative id of an interned polynomial in normal
 * form over dim symbols, so that equal polynomials have equal ids. */
typedef enum dim_kind {
    DIM_RIGID,              /* universally quantified over a function: equal to itself only */
    DIM_UNKNOWN,            /* a size that only the run knows: may equal anything */
    DIM_ANY,                /* `?` in a written type, or opened by a function's result: a new unknown at
                               each use; compares as an unknown */
} dim_kind;

typedef struct dims dims;   /* opaque; lives in an arena */
dims *dims_new(arena *a) MUST_CHECK;
/* A new symbol, different from all others. name may be NULL (shown as `?`). `origin` is where it was
 * introduced, for notes. Returns its id as a dim. */
int64_t dims_symbol(dims *d, dim_kind kind, const char *name, span origin);
span dims_origin(const dims *d, int64_t dim);   /* of a plain symbol; 0,0 else */
int64_t dims_add(dims *d, int64_t a, int64_t b);
int64_t dims_sub(dims *d, int64_t a, int64_t b);
int64_t dims_mul(dims *d, int64_t a, int64_t b);
/* SAME when equal for all sizes; LATER when an unknown dim is involved; else DIFFERENT. */
dim_verdict dims_compare(dims *d, int64_t a, int64_t b);
/* Replaces symbols: from[i] (a plain symbol) by to[i]. */
int64_t dims_substitute(dims *d, int64_t dim, int count, const int64_t *from, const int64_t *to);
void dims_print(const dims *d, int64_t dim, text *out);
dim_algebra dims_algebra(dims *d);

/* "tensor<F32, [B, 4]>", "F32", "(F32, I32)", "fn(F32) -> F32", "()". */
void type_print(const dims *d, const type *t, text *out);
/* Equal types; dims by dims_compare. The weakest verdict of the parts. */
dim_verdict type_compare(dims *d, const type *a, const type *b);
bool type_is_floating(const type *t);   /* a floating tensor or number */
bool type_is_scalar(const type *t);     /* a tensor type of rank 0 */
/* t with its dims replaced as by dims_substitute; t itself when nothing changes. */
const type *type_substitute(dims *d, arena *a, const type *t, int count, const int64_t *from,
                            const int64_t *to) MUST_CHECK;
/* Tensor leaves left to right, depth first (document 000, section 4); units vanish. */
int type_leaves(const type *t, const type **out, int room);

#endif
