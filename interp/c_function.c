/* A function around a graph: its parameters, what checks its arguments, its nodes. */
#include "interp/c_emit.h"

void c_crosses(c_writer *w, var v, const char *as) {
    if (graph_at(w->g, v)->tape != NULL)
        c_refuse(w, "a tape as a %s cannot be written as C", as);
    else
        (void)c_declared(w, graph_type(w->g, v));
}

void c_open_function(c_writer *w, graph *g) {
    const region *top = g->top;
    w->g = g;
    w->names = (c_set){0};
    w->depth = 1;
    w->fails = false;
    w->where = (span){0, 0};
    text_init(&w->body, w->c);
    c_find_last(w);
    if (w->of == NULL) return;
    for (int i = 0; i < top->param_count; i++) {
        c_crosses(w, top->params[i], "parameter");
        (void)c_name(w, top->params[i], "x");
        w->of[top->params[i]].borrowed = true;
    }
}

void c_close_function(c_writer *w, const c_writer *outer) {
    w->g = outer->g;
    w->of = outer->of;
    w->names = outer->names;
    w->body = outer->body;
    w->depth = outer->depth;
    w->fails = outer->fails;
    w->where = outer->where;
}

void c_add_unused_params(c_writer *w, text *t) {
    const region *top = w->g->top;
    for (int i = 0; i < top->param_count; i++) {
        const c_var *of = &w->of[top->params[i]];
        if (!c_mentions(w, 0, of->name)) text_format(t, "    (void)%s;\n", of->name);
    }
}

/* ---- the body ---- */

/* Whether this parameter's axis is what the symbol is the size of. */
static bool is_witness(const c_writer *w, var v, int axis) {
    const witness *of = graph_witness_of(w->g, graph_type(w->g, v)->dims[axis]);
    return of != NULL && of->v == v && of->axis == axis;
}

static void check_axis(c_writer *w, var v, int axis) {
    c_value x = c_value_of(w, v);
    const char *stated = c_dim(w, x.type.dims[axis]);
    w->where = (span){0, 0};
    c_check(w, c_string(w, "%s.dims[%d] == %s", x.name, axis, stated), "the argument %s: axis %d is not %s", x.name,
            axis, stated);
}

/* That arguments have the sizes that their types state, as far as that can be said here. checked: by parameter, the
 * axes of which it has been. */
static void check_params(c_writer *w, uint8_t *checked) {
    const region *top = w->g->top;
    for (int i = 0; i < top->param_count && !w->failed; i++) {
        const op_type *t = graph_type(w->g, top->params[i]);
        for (int axis = 0; axis < t->rank; axis++) {
            if (((checked[i] >> axis) & 1) != 0 || !c_dim_is_known(w, t->dims[axis])) continue;
            checked[i] |= (uint8_t)(1u << axis);
            if (t->dims[axis] >= 0 || !is_witness(w, top->params[i], axis)) check_axis(w, top->params[i], axis);
        }
    }
}

/* The sizes of cotangents may be known only behind some of the nodes. */
void c_body(c_writer *w) {
    const region *top = w->g->top;
    uint8_t *checked = C_ARRAY(w, uint8_t, top->param_count);
    if (checked == NULL) return;
    check_params(w, checked);
    for (int i = 0; i < top->count && !w->failed; i++) {
        c_node(w, top, i);
        check_params(w, checked);
    }
}
