/* Making tensors. */
#include "interp/mlir_emit.h"

/* of full, full_like: the number is the last operand. */
mlir_value mlir_full(emitter *e, const mlir_site *s) {
    const mlir_value *number = &s->in[s->n - 1];
    if (s->out.rank == 0) return *number;
    return mlir_filled(e, &s->out, mlir_ssa(e, number), s->result);
}

mlir_value mlir_count_up(emitter *e, const mlir_site *s) {
    mlir_generic g = {.dims = 1};
    const char *written = mlir_scalar_type((dtype)s->out.dtype);
    mlir_value empty = mlir_empty(e, &s->out);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    const char *y = mlir_let(e, "arith.index_cast %s : index to %s", mlir_coordinate(e, 0), written);
    mlir_generic_close(e, &g, &y);
    return mlir_generic_result(&g, 0);
}

mlir_value mlir_eye(emitter *e, const mlir_site *s) {
    dtype t = (dtype)s->out.dtype;
    mlir_generic g = {.dims = 2};
    mlir_value empty = mlir_empty(e, &s->out);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    const char *row = mlir_coordinate(e, 0), *column = mlir_coordinate(e, 1);
    const char *same = mlir_let(e, "arith.cmpi eq, %s, %s : index", row, column);
    const char *choice[3] = {same, mlir_number(e, t, 1.0), mlir_number(e, t, 0.0)};
    const char *y = mlir_scalar(e, OP_where, NULL, t, choice);
    mlir_generic_close(e, &g, &y);
    return mlir_generic_result(&g, 0);
}
