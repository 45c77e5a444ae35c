/* Tapes of the language. */
#include "interp/stage_internal.h"

/* What a tape holds, with the type of an entry, by which what is popped is put together again. */
typedef struct staged_tape {
    tape_element element;       /* first: a tape's element is a staged tape's */
    const type *entry;
} staged_tape;

static void count_leaves(const type *t, int *count) {
    if (t->kind == TYPE_TENSOR || t->kind == TYPE_TAPE) (*count)++;
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++) count_leaves(t->items[i], count);
}

/* Of a written type only those sizes are kept that mean the same here: numbers, and names of the function. */
static int64_t known_dim(const stager *s, int64_t dim) {
    const dim_algebra *a = s->g->algebra;
    const witness *w = dim < 0 ? graph_witness_of(s->g, dim) : NULL;
    return dim >= 0 || (w != NULL && w->name != NULL) ? dim : a->unknown(a->self);
}

static tape_element *new_element(stager *s, const type *entry);

static void fill_leaves(stager *s, const type *t, tape_leaf *leaf, int *at) {
    if (t->kind == TYPE_TENSOR) {
        op_type *made = &leaf[(*at)++].type;
        *made = t->tensor;
        for (int i = 0; i < made->rank; i++) made->dims[i] = known_dim(s, made->dims[i]);
    }
    if (t->kind == TYPE_TAPE) leaf[(*at)++].tape = new_element(s, t->items[0]);
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++) fill_leaves(s, t->items[i], leaf, at);
}

static tape_element *new_element(stager *s, const type *entry) {
    staged_tape *made = STAGE_ARRAY(s, staged_tape, 1);
    if (made == NULL) return NULL;
    made->entry = entry;
    count_leaves(entry, &made->element.count);
    made->element.leaf = STAGE_ARRAY(s, tape_leaf, made->element.count);
    int at = 0;
    if (made->element.leaf != NULL) fill_leaves(s, entry, made->element.leaf, &at);
    return &made->element;
}

var stage_tape_var(stager *s, const type *entry) {
    tape_element *made = new_element(s, entry);
    return made == NULL ? VAR_NONE : graph_tape_var(s->g, made, NULL);
}

staged stage_new_tape(stager *s, const code *n) {
    node *made = node_new(s->g, s->r, NODE_TAPE, 0, NULL, 1);
    var out = stage_tape_var(s, n->u.entry);
    if (made == NULL || out == VAR_NONE) return staged_none();
    made->where = n->where;
    node_out(s->g, s->r, made, 0, out);
    return staged_var(out);
}

/* What is pushed is a fresh value, as a call's parameter is. */
staged stage_push(stager *s, staged *frame, const code *n) {
    var tape = stage_var(s, frame, n->u.two.a);
    staged x = stage(s, frame, n->u.two.b), fresh = stage_parameter(s, &x, n->where);
    var_list in = {0};
    var_list_add(s, &in, tape);
    stage_leaves(s, &fresh, n->where, &in);
    node *made = graph_bad(s->g) ? NULL : node_new(s->g, s->r, NODE_PUSH, in.count, in.item, 1);
    if (made == NULL) return staged_none();
    made->where = n->where;
    const tape_leaf *leaf = graph_at(s->g, tape)->tape->leaf;
    for (int i = 1; i < in.count; i++) graph_unify_tapes(leaf[i - 1].tape, graph_at(s->g, in.item[i])->tape);
    node_out(s->g, s->r, made, 0, stage_fresh_like(s, tape));
    return staged_var(made->out[0]);
}

static staged popped(stager *s, const type *t, node *made, const tape_leaf *leaf, int *at) {
    graph *g = s->g;
    if (t->kind == TYPE_TENSOR) {
        op_type own = leaf[*at].type;
        for (int i = 0; i < own.rank; i++) own.dims[i] = known_dim(s, own.dims[i]);
        var out = graph_var_new(g, &own, NULL);
        (*at)++;
        node_out(g, s->r, made, *at, out);
        graph_note_dims(g, out);
        return staged_var(out);
    }
    if (t->kind == TYPE_TAPE) {
        var out = graph_tape_var(g, leaf[*at].tape, NULL);
        (*at)++;
        node_out(g, s->r, made, *at, out);
        return staged_var(out);
    }
    if (t->kind != TYPE_TUPLE) return staged_unit();
    staged *items = STAGE_ARRAY(s, staged, t->count);
    if (items == NULL) return staged_none();
    for (int i = 0; i < t->count; i++) items[i] = popped(s, t->items[i], made, leaf, at);
    return stage_tuple(s, t->count, items);
}

staged stage_pop(stager *s, staged *frame, const code *n) {
    var tape = stage_var(s, frame, n->u.two.a);
    if (tape == VAR_NONE || graph_bad(s->g)) return staged_none();
    const staged_tape *of = (const staged_tape *)graph_at(s->g, tape)->tape;
    node *made = node_new(s->g, s->r, NODE_POP, 1, &tape, 1 + of->element.count);
    if (made == NULL) return staged_none();
    made->where = n->where;
    node_out(s->g, s->r, made, 0, stage_fresh_like(s, tape));
    int at = 0;
    staged both[2] = {staged_var(made->out[0]), popped(s, of->entry, made, of->element.leaf, &at)};
    return stage_tuple(s, 2, both);
}

staged stage_is_empty(stager *s, staged *frame, const code *n) {
    const op_type truth = {.dtype = DT_Bool};
    var tape = stage_var(s, frame, n->u.two.a);
    node *made = graph_bad(s->g) || tape == VAR_NONE ? NULL : node_new(s->g, s->r, NODE_EMPTY, 1, &tape, 1);
    if (made == NULL) return staged_none();
    made->where = n->where;
    node_out(s->g, s->r, made, 0, graph_var_new(s->g, &truth, NULL));
    return staged_var(made->out[0]);
}
