/* Loops of the structured control flow dialect, for ops whose order of steps is part of what they mean. */
#include "interp/mlir_emit.h"

void mlir_for_open(emitter *e, mlir_for *l, const char *count, int carried, const char *const *init,
                   const char *const *kind) {
    text *t = e->f.to;
    const char *zero = mlir_index(e, 0), *one = mlir_index(e, 1);
    l->carried = carried;
    l->index = mlir_fresh(e);
    text_add_repeat(t, ' ', 2 * (size_t)e->f.depth);
    for (int i = 0; i < carried; i++) {
        l->type[i] = kind[i];
        l->result[i] = mlir_fresh(e);
        l->now[i] = mlir_fresh(e);
        text_format(t, "%s%s", i > 0 ? ", " : "", l->result[i]);
    }
    text_format(t, " = scf.for %s = %s to %s step %s iter_args(", l->index, zero, count, one);
    for (int i = 0; i < carried; i++) text_format(t, "%s%s = %s", i > 0 ? ", " : "", l->now[i], init[i]);
    text_add(t, ") -> (");
    for (int i = 0; i < carried; i++) text_format(t, "%s%s", i > 0 ? ", " : "", kind[i]);
    text_add(t, ") {\n");
    e->f.depth++;
}

void mlir_for_close(emitter *e, mlir_for *l, const char *const *next) {
    text *t = e->f.to;
    text_add_repeat(t, ' ', 2 * (size_t)e->f.depth);
    text_add(t, "scf.yield ");
    for (int i = 0; i < l->carried; i++) text_format(t, "%s%s", i > 0 ? ", " : "", next[i]);
    text_add(t, " : ");
    for (int i = 0; i < l->carried; i++) text_format(t, "%s%s", i > 0 ? ", " : "", l->type[i]);
    text_add_char(t, '\n');
    e->f.depth--;
    mlir_line(e, "}");
}

void mlir_nest_open(emitter *e, mlir_nest *l, int depth, const int64_t *sizes, const mlir_value *carried) {
    const char *written = mlir_type_of(e, carried);
    l->depth = depth;
    l->now = carried->name;
    for (int i = 0; i < depth; i++) {
        mlir_for_open(e, &l->loop[i], mlir_dim(e, sizes[i]), 1, &l->now, &written);
        l->index[i] = l->loop[i].index;
        l->now = l->loop[i].now[0];
    }
}

const char *mlir_nest_close(emitter *e, mlir_nest *l, const char *next) {
    for (int i = l->depth - 1; i >= 0; i--) {
        mlir_for_close(e, &l->loop[i], &next);
        next = l->loop[i].result[0];
    }
    return next;
}

/* "%a, %b, %c" */
static void add_places(text *t, int n, const char *const *at) {
    for (int i = 0; i < n; i++) text_format(t, "%s%s", i > 0 ? ", " : "", at[i]);
}

const char *mlir_insert(emitter *e, const char *element, const char *from, const op_type *t,
                        const char *const *at) {
    text *to = e->f.to;
    const char *name = mlir_fresh(e), *kind = mlir_tensor_type(e, t);
    text_add_repeat(to, ' ', 2 * (size_t)e->f.depth);
    text_format(to, "%s = tensor.insert %s into %s[", name, element, from);
    add_places(to, t->rank, at);
    text_format(to, "] : %s\n", kind);
    return name;
}

const char *mlir_extract(emitter *e, const char *from, const op_type *t, const char *const *at) {
    text *to = e->f.to;
    const char *name = mlir_fresh(e), *kind = mlir_tensor_type(e, t);
    text_add_repeat(to, ' ', 2 * (size_t)e->f.depth);
    text_format(to, "%s = tensor.extract %s[", name, from);
    add_places(to, t->rank, at);
    text_format(to, "] : %s\n", kind);
    return name;
}
