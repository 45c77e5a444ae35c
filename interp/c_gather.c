/* Gather and scatter: entries at indices that only a run knows, which are checked there. */
#include "interp/c_emit.h"

static bool is_along(op_id op) {
    return op == OP_take_along_axis || op == OP_scatter_along_axis;
}

/* A line that declares the index, and the check that it is within the axis. */
static const char *index_of(c_writer *w, const char *entry, const char *size) {
    const char *index = c_named(w, "index");
    c_line(w, "const int64_t %s = %s;", index, entry);
    c_check(w, c_string(w, "%s >= 0 && %s < %s", index, index, size), "index out of range");
    return index;
}

/* Coordinates in x: those of the indices replaced by the index. */
static void places_of(const c_site *s, const char *const *at, const char *index, const char **places) {
    int axis = s->attrs->axis, indices = s->in[1].type.rank;
    for (int i = 0; i < s->in[0].type.rank; i++) {
        int behind = is_along(s->op) ? i : i + indices - 1;
        places[i] = i < axis ? at[i] : i == axis ? index : at[behind];
    }
}

/* That the indices of *_along_axis, or src, have the sizes that x has beside the axis. */
static void check_sizes(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0], *indices = &s->in[1];
    const char *name = op_table[s->op].name;
    int axis = s->attrs->axis, lead = is_along(s->op) ? 0 : indices->type.rank - 1;
    for (int i = 0; is_along(s->op) && i < x->type.rank; i++)
        if (i != axis) c_same_size(w, x, i, indices, i, name);
    if (s->n < 3) return;
    const c_value *src = &s->in[2];
    for (int i = 0; i < x->type.rank; i++)
        if (i != axis) c_same_size(w, x, i, src, i < axis ? i : i + lead, name);
    for (int i = 0; i < indices->type.rank; i++) {
        int in_src = is_along(s->op) ? i : axis + i;
        c_same_size(w, indices, i, src, in_src, name);
    }
}

static void gathered_sizes(c_writer *w, const c_site *s, const char **sizes) {
    const c_value *x = &s->in[0], *indices = &s->in[1];
    int n = 0, axis = s->attrs->axis;
    for (int i = 0; is_along(s->op) && i < indices->type.rank; i++) sizes[n++] = c_size(w, indices, i);
    for (int i = 0; !is_along(s->op) && i < x->type.rank; i++) {
        if (i != axis) sizes[n++] = c_size(w, x, i);
        for (int k = 0; i == axis && k < indices->type.rank; k++) sizes[n++] = c_size(w, indices, k);
    }
}

void c_gather(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0], *indices = &s->in[1];
    const char *sizes[2 * MAX_RANK] = {0}, *places[MAX_RANK];
    int axis = s->attrs->axis;
    c_nest l = {0};
    check_sizes(w, s);
    gathered_sizes(w, s, sizes);
    if (s->out.type.rank > 0) c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    const char *entry = c_entry(w, indices, l.at + (is_along(s->op) ? 0 : axis));
    const char *index = index_of(w, entry, c_size(w, x, axis));
    places_of(s, l.at, index, places);
    if (s->out.type.rank > 0)
        c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), c_entry(w, x, places));
    else
        c_line(w, "const %s %s = %s;", compiled_c_type((dtype)x->type.dtype), s->out.name, c_entry(w, x, places));
    c_loops_end(w, &l);
}

void c_scatter(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0], *indices = &s->in[1], *src = &s->in[2];
    const char *places[MAX_RANK];
    int axis = s->attrs->axis;
    c_nest l = {0};
    check_sizes(w, s);
    c_take_over(w, s);
    c_loops(w, &l, src);
    const char *entry = c_entry(w, indices, l.at + (is_along(s->op) ? 0 : axis));
    const char *index = index_of(w, entry, c_size(w, x, axis));
    places_of(s, l.at, index, places);
    const char *to = c_entry(w, &s->out, places);
    c_line(w, "%s = %s;", to, c_two(w, OP_add, (dtype)x->type.dtype, to, c_entry(w, src, l.at)));
    c_loops_end(w, &l);
}

void c_one_hot(c_writer *w, const c_site *s) {
    const c_value *indices = &s->in[0];
    const char *sizes[MAX_RANK] = {0};
    int rank = indices->type.rank;
    c_nest l = {0};
    for (int i = 0; i < rank; i++) sizes[i] = c_size(w, indices, i);
    sizes[rank] = c_dim(w, s->attrs->dims[0]);
    c_new(w, &s->out, sizes);
    c_loops(w, &l, indices);
    const char *size = c_size(w, &s->out, rank);
    const char *index = index_of(w, c_entry(w, indices, l.at), size);
    const char *last = c_loop(w, &l, size);
    c_line(w, "%s = %s == %s ? 1 : 0;", c_entry(w, &s->out, l.at), last, index);
    c_loops_end(w, &l);
}
