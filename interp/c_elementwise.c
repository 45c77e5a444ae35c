/* Loops over entries, and elementwise ops in them. */
#include "interp/c_emit.h"

#include <string.h>

/* ---- loops ---- */

const char *c_loop(c_writer *w, c_nest *l, const char *count) {
    const char *i = c_string(w, "i%d", l->depth);
    l->at[l->depth++] = i;
    c_open(w, "for (int64_t %s = 0; %s < %s; %s++)", i, i, count, i);
    return i;
}

void c_loops(c_writer *w, c_nest *l, const c_value *v) {
    for (int axis = 0; axis < v->type.rank; axis++) (void)c_loop(w, l, c_size(w, v, axis));
}

void c_loops_end(c_writer *w, const c_nest *l) {
    for (int i = 0; i < l->depth; i++) c_close(w);
}

void c_stretch(const c_site *s, const c_value *v, uint8_t ones, const char *const *at, const char **places) {
    int lead = s->out.type.rank - v->type.rank;
    for (int i = 0; i < v->type.rank; i++) {
        bool stretched = ((ones >> i) & 1) != 0 && s->out.type.dims[lead + i] != 1;
        places[i] = stretched ? NULL : at[lead + i];
    }
}

/* ---- sizes ---- */

/* Operand k's axis that is the result's, or -1: it has none, or one that stretches. */
static int axis_of(const c_site *s, int k, int axis) {
    int own = axis - (s->out.type.rank - s->in[k].type.rank);
    if (own < 0 || ((s->attrs->ones[k] >> own) & 1) != 0) return -1;
    return own;
}

/* The sizes of the result, and that all operands have them. */
static void find_sizes(c_writer *w, const c_site *s, const char **sizes) {
    for (int axis = 0; axis < s->out.type.rank; axis++) {
        int first = -1;
        sizes[axis] = "1";
        for (int k = 0; k < s->n; k++) {
            int own = axis_of(s, k, axis);
            if (own < 0) continue;
            if (first < 0) {
                first = k;
                sizes[axis] = c_size(w, &s->in[k], own);
            } else {
                c_same_size(w, &s->in[first], axis_of(s, first, axis), &s->in[k], own, op_table[s->op].name);
            }
        }
    }
}

/* Whether every operand is a number or of the result's shape: one loop goes through all entries then. */
static bool is_flat(const c_site *s) {
    for (int k = 0; k < s->n; k++) {
        if (s->in[k].type.rank == 0) continue;
        if (s->in[k].type.rank != s->out.type.rank) return false;
        for (int i = 0; i < s->out.type.rank; i++)
            if (axis_of(s, k, i) < 0 && s->out.type.dims[i] != 1) return false;
    }
    return true;
}

/* ---- the op ---- */

static bool divides(const c_site *s, dtype t) {
    return dtype_integer(t) && (s->op == OP_div || s->op == OP_rem || s->op == OP_mod);
}

/* The value of the op on these entries; a check before it where it may fail. */
static const char *value_at(c_writer *w, const c_site *s, const char *const *x) {
    dtype t = (dtype)s->in[s->op == OP_where ? 1 : 0].type.dtype;
    bool known = (x[1] != NULL && x[1][0] >= '1' && x[1][0] <= '9');
    if (divides(s, t) && !known) c_check(w, c_string(w, "%s != 0", x[1]), "integer division by zero");
    return c_scalar(w, s->op, s->attrs, t, x);
}

static void on_numbers(c_writer *w, const c_site *s) {
    const char *x[3] = {0};
    for (int k = 0; k < s->n; k++) x[k] = s->in[k].name;
    const char *y = value_at(w, s, x);
    c_line(w, "const %s %s = %s;", compiled_c_type((dtype)s->out.type.dtype), s->out.name, y);
}

static void flat(c_writer *w, const c_site *s) {
    const char *x[3] = {0};
    c_nest l = {0};
    (void)c_loop(w, &l, c_count(w, &s->out));
    for (int k = 0; k < s->n; k++)
        x[k] = s->in[k].type.rank == 0 ? s->in[k].name : c_string(w, "%s.data[%s]", s->in[k].name, l.at[0]);
    const char *y = value_at(w, s, x);
    c_line(w, "%s.data[%s] = %s;", s->out.name, l.at[0], y);
    c_loops_end(w, &l);
}

void c_elementwise(c_writer *w, const c_site *s) {
    const char *sizes[MAX_RANK] = {0}, *x[3] = {0}, *places[MAX_RANK];
    c_nest l = {0};
    if (s->out.type.rank == 0) {
        on_numbers(w, s);
        return;
    }
    find_sizes(w, s, sizes);
    c_new(w, &s->out, sizes);
    if (is_flat(s)) {
        flat(w, s);
        return;
    }
    c_loops(w, &l, &s->out);
    for (int k = 0; k < s->n; k++) {
        c_stretch(s, &s->in[k], s->attrs->ones[k], l.at, places);
        x[k] = c_entry(w, &s->in[k], places);
    }
    const char *y = value_at(w, s, x);
    c_line(w, "%s = %s;", c_entry(w, &s->out, l.at), y);
    c_loops_end(w, &l);
}
