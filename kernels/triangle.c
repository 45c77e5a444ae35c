/* Matrices without what is on one side of a diagonal. What goes is set to 0, whatever it was. */
#include <string.h>

#include "kernels/family.h"

/* The entries [from, to) of a row that stay. */
static void kept(const op_attrs *attrs, int64_t row, int64_t columns, int64_t *from, int64_t *to) {
    int64_t last = attrs->lo[0], at;
    /* A diagonal far outside keeps all or nothing. */
    if (__builtin_add_overflow(row, last, &at)) at = last > 0 ? columns : -1;
    *from = attrs->reversed ? at : 0;
    *to = attrs->reversed ? columns : at < columns ? at + 1 : columns;
    if (*from < 0) *from = 0;
    if (*from > columns) *from = columns;
    if (*to < *from) *to = *from;
}

bool triangle_perform(context *c, const op_call *call, value *out) {
    static const op_attrs plain;
    const op_attrs *attrs = call->attrs != NULL ? call->attrs : &plain;
    op_type type;
    result r;
    if (!result_type(c, call, &type) || !result_onto(c, call, 0, &type, &r)) return false;
    int64_t rows = type.dims[type.rank - 2], columns = type.dims[type.rank - 1];
    size_t element = dtype_size((dtype)type.dtype);
    for (int64_t i = 0; columns > 0 && i < r.size / columns; i++) {
        char *row = (char *)r.data + (size_t)(i * columns) * element;
        int64_t from, to;
        kept(attrs, i % rows, columns, &from, &to);
        memset(row, 0, (size_t)from * element);
        memset(row + (size_t)to * element, 0, (size_t)(columns - to) * element);
    }
    *out = r.v;
    return true;
}
