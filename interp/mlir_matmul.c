/* Matrix products: one linalg.generic over the batch, the rows, the columns and, innermost, what is summed.
 */
#include "interp/mlir_emit.h"

/* The roles of a product's operands' last axes. */
typedef struct product {
    int batch;              /* leading axes of the result */
    int row, column, inner; /* dims of the iteration space; -1: that operand is a vector */
} product;

static product roles(const op_type *a, const op_type *b, const op_type *out) {
    product p = {.row = -1, .column = -1};
    int own = (a->rank > 1) + (b->rank > 1), next;
    p.batch = out->rank - own;
    next = p.batch;
    if (a->rank > 1) p.row = next++;
    if (b->rank > 1) p.column = next++;
    p.inner = next;
    return p;
}

/* An operand: batch axes, aligned at their end, then its own one or two. */
static void add_operand(mlir_generic *g, const product *p, const mlir_value *v, uint8_t ones, int first,
                        int second, const op_type *out) {
    int *map = g->map[g->ins], own = v->type.rank > 1 ? 2 : 1, batch = v->type.rank - own;
    mlir_generic_in(g, v);
    for (int i = 0; i < batch; i++) {
        int dim = p->batch - batch + i;
        bool stretched = ((ones >> i) & 1) != 0 && out->dims[dim] != 1;
        map[i] = stretched ? MLIR_FIRST : dim;
    }
    if (own == 2) map[batch] = first;
    map[v->type.rank - 1] = own == 2 ? second : p->inner;
}

/* The sums start from `start`. */
static mlir_value multiply(emitter *e, const mlir_site *s, const mlir_value *a, const mlir_value *b,
                           const uint8_t *ones, const mlir_value *start) {
    dtype t = (dtype)a->type.dtype;
    product p = roles(&a->type, &b->type, &start->type);
    mlir_generic g = {.dims = p.inner + 1, .reduced = 1u << p.inner};
    add_operand(&g, &p, a, ones[0], p.row, p.inner, &start->type);
    add_operand(&g, &p, b, ones[1], p.inner, p.column, &start->type);
    mlir_generic_out(&g, start, s->out.rank > 0 ? s->result : mlir_fresh(e));
    mlir_generic_open(e, &g);
    const char *y = mlir_scalar(e, s->attrs->strong_zero ? OP_strong_mul : OP_mul, NULL, t, g.arg);
    y = mlir_scalar(e, OP_add, NULL, t, (const char *const[]){g.arg[2], y});
    mlir_generic_close(e, &g, &y);
    return mlir_generic_result(&g, 0);
}

mlir_value mlir_matmul(emitter *e, const mlir_site *s) {
    if (s->op == OP_matmul_add) return multiply(e, s, &s->in[1], &s->in[2], s->attrs->ones + 1, &s->in[0]);
    mlir_value zeros = mlir_filled(e, &s->out, mlir_number(e, (dtype)s->out.dtype, 0.0), NULL);
    mlir_value v = multiply(e, s, &s->in[0], &s->in[1], s->attrs->ones, &zeros);
    return s->out.rank > 0 ? v : mlir_unboxed(e, &v);
}
