/* Ops that move entries without computing on them. */
#include "interp/c_emit.h"

#include <string.h>

/* ---- the same entries under another shape ---- */

static const char *product_of(c_writer *w, int rank, const char *const *sizes) {
    const char *product = "1";
    for (int i = 0; i < rank; i++)
        product = i == 0 ? c_factor(w, sizes[i]) : c_string(w, "%s * %s", product, c_factor(w, sizes[i]));
    return product;
}

/* That the sizes hold as many entries as x has, unless that is known. */
static void check_count(c_writer *w, const c_site *s, const char *const *sizes) {
    const dim_algebra *a = w->g->algebra;
    int64_t before = 1, after = 1;
    for (int i = 0; i < s->in[0].type.rank; i++) before = a->mul(a->self, before, s->in[0].type.dims[i]);
    for (int i = 0; i < s->out.type.rank; i++) after = a->mul(a->self, after, s->out.type.dims[i]);
    if (c_compare(w, before, after) == DIM_SAME) return;
    for (int i = 0; i < s->out.type.rank; i++)
        if (s->out.type.dims[i] < 0) c_check(w, c_string(w, "%s >= 0", sizes[i]), "a size cannot be negative");
    const char *count = product_of(w, s->out.type.rank, sizes);
    c_check(w, c_string(w, "%s == %s", count, c_count(w, &s->in[0])), "reshape: sizes differ");
}

static void find_sizes(c_writer *w, const c_site *s, const char **sizes) {
    const c_value *x = &s->in[0];
    int axis = s->attrs->axis;
    for (int i = 0; i < s->out.type.rank; i++) {
        if (s->op == OP_expand_dims)
            sizes[i] = i == axis ? "1" : c_size(w, x, i < axis ? i : i - 1);
        else if (s->op == OP_squeeze)
            sizes[i] = c_size(w, x, i < axis ? i : i + 1);
        else
            sizes[i] = c_dim(w, s->attrs->dims[i]);
    }
}

/* reshape, expand_dims, squeeze: entries are contiguous, so that they are shared. */
void c_reshape(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    const char *sizes[MAX_RANK] = {0}, *element = compiled_c_type((dtype)x->type.dtype);
    text list;
    find_sizes(w, s, sizes);
    if (s->op == OP_squeeze && x->type.dims[s->attrs->axis] < 0)
        c_check(w, c_string(w, "%s == 1", c_size(w, x, s->attrs->axis)), "squeeze: the axis has not size 1");
    if (s->op == OP_reshape) check_count(w, s, sizes);
    if (s->out.type.rank == 0) {
        c_line(w, "const %s %s = %s%s;", element, s->out.name, x->name, x->type.rank > 0 ? ".data[0]" : "");
        return;
    }
    if (x->type.rank == 0) {
        c_new(w, &s->out, sizes);
        c_line(w, "%s.data[0] = %s;", s->out.name, x->name);
        return;
    }
    text_init(&list, w->c);
    for (int i = 0; i < s->out.type.rank; i++) text_format(&list, "%s%s", i > 0 ? ", " : "", sizes[i]);
    c_line(w, "%s %s = {%s.data, {%s}};", c_struct(w, &s->out.type), s->out.name, x->name, text_data(&list));
    if (list.failed) w->failed = true;
    text_close(&list);
    c_share(w, s->of->out[0], s->of->in[0], s->r, s->i);
}

/* ---- axes elsewhere ---- */

static void permute(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    const char *sizes[MAX_RANK] = {0}, *from[MAX_RANK] = {0};
    c_nest l = {0};
    for (int i = 0; i < x->type.rank; i++) sizes[i] = c_size(w, x, s->attrs->perm[i]);
    c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    for (int i = 0; i < x->type.rank; i++) from[s->attrs->perm[i]] = l.at[i];
    c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), c_entry(w, x, from));
    c_loops_end(w, &l);
}

static void broadcast(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    const char *sizes[MAX_RANK] = {0}, *from[MAX_RANK] = {0};
    int lead = s->out.type.rank - x->type.rank;
    c_nest l = {0};
    for (int i = 0; i < s->out.type.rank; i++) sizes[i] = c_dim(w, s->attrs->dims[i]);
    for (int i = 0; i < x->type.rank; i++) {
        int64_t asked = s->attrs->dims[lead + i];
        if (x->type.dims[i] == 1 || c_compare(w, x->type.dims[i], asked) == DIM_SAME) continue;
        c_check(w, c_string(w, "%s == %s", c_size(w, x, i), sizes[lead + i]), "broadcast: sizes differ");
    }
    c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    for (int i = 0; i < x->type.rank; i++) from[i] = x->type.dims[i] == 1 ? NULL : l.at[lead + i];
    c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), c_entry(w, x, from));
    c_loops_end(w, &l);
}

/* permute, broadcast. */
void c_rearrange(c_writer *w, const c_site *s) {
    if (s->out.type.rank == 0)
        c_line(w, "const %s %s = %s;", compiled_c_type((dtype)s->out.type.dtype), s->out.name, s->in[0].name);
    else
        (s->op == OP_permute ? permute : broadcast)(w, s);
}

/* ---- concat ---- */

void c_concat(c_writer *w, const c_site *s) {
    const char *sizes[MAX_RANK] = {0}, *offset = "0", *to[MAX_RANK];
    int axis = s->attrs->axis;
    for (int k = 1; k < s->n; k++)
        for (int i = 0; i < s->out.type.rank; i++)
            if (i != axis) c_same_size(w, &s->in[0], i, &s->in[k], i, "concat");
    for (int i = 0; i < s->out.type.rank; i++) sizes[i] = c_size(w, &s->in[0], i);
    for (int k = 1; k < s->n; k++) sizes[axis] = c_string(w, "%s + %s", sizes[axis], c_size(w, &s->in[k], axis));
    c_new(w, &s->out, sizes);
    for (int k = 0; k < s->n; k++) {
        c_nest l = {0};
        const char *size = c_size(w, &s->in[k], axis);
        c_loops(w, &l, &s->in[k]);
        for (int i = 0; i < s->out.type.rank; i++) to[i] = l.at[i];
        if (k > 0) to[axis] = c_string(w, "%s + %s", offset, l.at[axis]);
        c_line(w, "%s = %s;", c_entry(w, &s->out, to), c_entry(w, &s->in[k], l.at));
        c_loops_end(w, &l);
        offset = k == 0 ? size : c_string(w, "%s + %s", offset, size);
    }
}

/* ---- zeros beside entries ---- */

/* Up to the lo[0]-th diagonal, or from it on. */
void c_triangle(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    const char *sizes[MAX_RANK] = {0};
    int rank = x->type.rank;
    c_nest l = {0};
    for (int i = 0; i < rank; i++) sizes[i] = c_size(w, x, i);
    c_new(w, &s->out, sizes);
    c_loops(w, &l, &s->out);
    const char *kept = c_string(w, "%s - %s %s %lld", l.at[rank - 1], l.at[rank - 2],
                                s->attrs->reversed ? ">=" : "<=", (long long)s->attrs->lo[0]);
    c_line(w, "%s = %s ? %s : 0;", c_entry(w, &s->out, l.at), kept, c_entry(w, x, l.at));
    c_loops_end(w, &l);
}
