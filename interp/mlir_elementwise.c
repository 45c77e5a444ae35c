/* linalg.generic, and elementwise ops on tensors. */
#include <string.h>

#include "interp/mlir_emit.h"

/* ---- linalg.generic ---- */

void mlir_generic_in(mlir_generic *g, const mlir_value *v) {
    for (int i = 0; i < v->type.rank; i++) g->map[g->ins][i] = i;
    g->in[g->ins++] = *v;
}

void mlir_generic_out(mlir_generic *g, const mlir_value *v, const char *named) {
    int axis = 0;
    for (int i = 0; i < g->dims; i++)
        if (((g->reduced >> i) & 1) == 0) g->map[MLIR_INS + g->outs][axis++] = i;
    g->result[g->outs] = named;
    g->out[g->outs++] = *v;
}

/* "affine_map<(d0, d1) -> (d0, 0)>" */
static void add_map(text *t, int space, const int *map, int rank) {
    text_add(t, "affine_map<(");
    for (int i = 0; i < space; i++) text_format(t, "%sd%d", i > 0 ? ", " : "", i);
    text_add(t, ") -> (");
    for (int i = 0; i < rank; i++) {
        if (i > 0) text_add(t, ", ");
        if (map[i] == MLIR_FIRST)
            text_add(t, "0");
        else
            text_format(t, "d%d", map[i]);
    }
    text_add(t, ")>");
}

static void add_list(text *t, const char *word, emitter *e, const mlir_value *v, int count) {
    if (count == 0) return;
    text_format(t, " %s(", word);
    for (int i = 0; i < count; i++) text_format(t, "%s%s", i > 0 ? ", " : "", v[i].name);
    text_add(t, " : ");
    for (int i = 0; i < count; i++) text_format(t, "%s%s", i > 0 ? ", " : "", mlir_type_of(e, &v[i]));
    text_add(t, ")");
}

static void add_arguments(emitter *e, mlir_generic *g) {
    text *t = e->f.to;
    text_add_repeat(t, ' ', 2 * (size_t)e->f.depth);
    text_add(t, "^bb0(");
    for (int i = 0; i < g->ins + g->outs; i++) {
        const mlir_value *v = i < g->ins ? &g->in[i] : &g->out[i - g->ins];
        g->arg[i] = mlir_fresh(e);
        text_format(t, "%s%s: %s", i > 0 ? ", " : "", g->arg[i], mlir_scalar_type((dtype)v->type.dtype));
    }
    text_add(t, "):\n");
}

void mlir_generic_open(emitter *e, mlir_generic *g) {
    text *t = e->f.to;
    text_add_repeat(t, ' ', 2 * (size_t)e->f.depth);
    for (int i = 0; i < g->outs; i++) text_format(t, "%s%s", i > 0 ? ", " : "", g->result[i]);
    text_add(t, " = linalg.generic {indexing_maps = [");
    for (int i = 0; i < g->ins + g->outs; i++) {
        const mlir_value *v = i < g->ins ? &g->in[i] : &g->out[i - g->ins];
        if (i > 0) text_add(t, ", ");
        add_map(t, g->dims, g->map[i < g->ins ? i : MLIR_INS + i - g->ins], v->type.rank);
    }
    text_add(t, "], iterator_types = [");
    for (int i = 0; i < g->dims; i++)
        text_format(t, "%s\"%s\"", i > 0 ? ", " : "",
                    ((g->reduced >> i) & 1) != 0 ? "reduction" : "parallel");
    text_add(t, "]}");
    add_list(t, "ins", e, g->in, g->ins);
    add_list(t, "outs", e, g->out, g->outs);
    text_add(t, " {\n");
    add_arguments(e, g);
    e->f.depth++;
}

void mlir_generic_close(emitter *e, mlir_generic *g, const char *const *yield) {
    text *t = e->f.to;
    text_add_repeat(t, ' ', 2 * (size_t)e->f.depth);
    text_add(t, "linalg.yield ");
    for (int i = 0; i < g->outs; i++) text_format(t, "%s%s", i > 0 ? ", " : "", yield[i]);
    text_add(t, " : ");
    for (int i = 0; i < g->outs; i++)
        text_format(t, "%s%s", i > 0 ? ", " : "", mlir_scalar_type((dtype)g->out[i].type.dtype));
    e->f.depth--;
    text_add_char(t, '\n');
    text_add_repeat(t, ' ', 2 * (size_t)e->f.depth);
    text_add(t, g->outs > 1 ? "} -> (" : "} -> ");
    for (int i = 0; i < g->outs; i++) text_format(t, "%s%s", i > 0 ? ", " : "", mlir_type_of(e, &g->out[i]));
    text_add(t, g->outs > 1 ? ")\n" : "\n");
}

mlir_value mlir_generic_result(const mlir_generic *g, int i) {
    return mlir_tensor_value(&g->out[i].type, g->result[i]);
}

const char *mlir_coordinate(emitter *e, int i) {
    return mlir_let(e, "linalg.index %d : index", i);
}

/* ---- places for results ---- */

mlir_value mlir_empty(emitter *e, const op_type *t) {
    text sizes;
    text_init(&sizes, e->c);
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] < 0)
            text_format(&sizes, "%s%s", sizes.length > 0 ? ", " : "", mlir_dim(e, t->dims[i]));
    const char *name = mlir_let(e, "tensor.empty(%s) : %s", text_data(&sizes), mlir_tensor_type(e, t));
    if (sizes.failed) e->failed = true;
    text_close(&sizes);
    return mlir_tensor_value(t, name);
}

mlir_value mlir_filled(emitter *e, const op_type *t, const char *number, const char *named) {
    mlir_value empty = mlir_empty(e, t);
    const char *written = mlir_tensor_type(e, t);
    if (named == NULL) named = mlir_fresh(e);
    mlir_line(e, "%s = linalg.fill ins(%s : %s) outs(%s : %s) -> %s", named, number,
              mlir_scalar_type((dtype)t->dtype), empty.name, written, written);
    return mlir_tensor_value(t, named);
}

/* ---- elementwise ops ---- */

/* One operation on whole tensors, where they are all of one static shape. */
static bool is_plain(const mlir_site *s, dtype t) {
    if (mlir_scalar_mnemonic(s->op, t) == NULL) return false;
    for (int k = 0; k < s->n; k++) {
        const op_type *x = &s->in[k].type;
        if (s->in[k].kind != MLIR_TENSOR || x->rank != s->out.rank) return false;
        for (int i = 0; i < x->rank; i++)
            if (x->dims[i] != s->out.dims[i] || x->dims[i] < 0) return false;
    }
    return true;
}

static mlir_value plain(emitter *e, const mlir_site *s, dtype t) {
    const char *own = mlir_scalar_mnemonic(s->op, t), *written = mlir_type_of(e, &s->in[0]);
    if (s->n == 1)
        mlir_line(e, "%s = %s %s : %s", s->result, own, s->in[0].name, written);
    else
        mlir_line(e, "%s = %s %s, %s : %s", s->result, own, s->in[0].name, s->in[1].name, written);
    return mlir_tensor_value(&s->out, s->result);
}

/* An operand's axes are the result's last ones; its literal ones stretch. */
void mlir_generic_broadcast(mlir_generic *g, const mlir_value *v, uint8_t ones, const op_type *out) {
    int lead = out->rank - v->type.rank, *map = g->map[g->ins];
    mlir_generic_in(g, v);
    for (int i = 0; i < v->type.rank; i++) {
        bool stretched = ((ones >> i) & 1) != 0 && out->dims[lead + i] != 1;
        map[i] = stretched ? MLIR_FIRST : lead + i;
    }
}

mlir_value mlir_elementwise(emitter *e, const mlir_site *s) {
    /* The choices of `where` decide, not its condition. */
    dtype t = (dtype)s->in[s->op == OP_where ? 1 : 0].type.dtype;
    mlir_generic g = {.dims = s->out.rank};
    const char *x[3] = {0};
    int place[3] = {0};
    if (is_plain(s, t)) return plain(e, s, t);
    for (int k = 0; k < s->n; k++) {
        if (s->in[k].kind != MLIR_TENSOR) continue;
        place[k] = g.ins;
        mlir_generic_broadcast(&g, &s->in[k], s->attrs->ones[k], &s->out);
    }
    for (int k = 0; k < s->n; k++)
        if (s->in[k].kind != MLIR_TENSOR) x[k] = mlir_ssa(e, &s->in[k]);
    mlir_value empty = mlir_empty(e, &s->out);
    mlir_generic_out(&g, &empty, s->result);
    mlir_generic_open(e, &g);
    for (int k = 0; k < s->n; k++)
        if (s->in[k].kind == MLIR_TENSOR) x[k] = g.arg[place[k]];
    mlir_generic_close(e, &g, (const char *const[]){mlir_scalar(e, s->op, s->attrs, t, x)});
    return mlir_generic_result(&g, 0);
}
