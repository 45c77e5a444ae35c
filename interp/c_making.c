/* Making tensors. */
#include "interp/c_emit.h"

/* full, full_like: the number is the last operand. */
void c_full(c_writer *w, const c_site *s) {
    const c_value *number = &s->in[s->n - 1];
    const char *sizes[MAX_RANK] = {0};
    c_nest l = {0};
    if (s->out.type.rank == 0) {
        c_line(w, "const %s %s = %s;", compiled_c_type((dtype)s->out.type.dtype), s->out.name, number->name);
        return;
    }
    for (int i = 0; i < s->out.type.rank; i++)
        sizes[i] = s->op == OP_full ? c_dim(w, s->attrs->dims[i]) : c_size(w, &s->in[0], i);
    c_new(w, &s->out, sizes);
    const char *i = c_loop(w, &l, c_count(w, &s->out));
    c_line(w, "%s.data[%s] = %s;", s->out.name, i, number->name);
    c_loops_end(w, &l);
}

/* arange */
void c_count_up(c_writer *w, const c_site *s) {
    const char *size = c_dim(w, s->attrs->dims[0]), *element = compiled_c_type((dtype)s->out.type.dtype);
    c_nest l = {0};
    c_new(w, &s->out, &size);
    const char *i = c_loop(w, &l, c_size(w, &s->out, 0));
    c_line(w, "%s.data[%s] = (%s)%s;", s->out.name, i, element, i);
    c_loops_end(w, &l);
}

void c_eye(c_writer *w, const c_site *s) {
    const char *size = c_dim(w, s->attrs->dims[0]);
    c_nest l = {0};
    c_new(w, &s->out, (const char *const[]){size, size});
    c_loops(w, &l, &s->out);
    c_line(w, "%s = %s == %s ? 1 : 0;", c_entry(w, &s->out, l.at), l.at[0], l.at[1]);
    c_loops_end(w, &l);
}
