/* Orders along one axis: a stable merge sort of places, and running maxima. */
#include "interp/c_emit.h"

#include <string.h>

/* The helper "order": places sorted by the entries that they are of, `stride` apart; room is as long. */
const char c_order_form[] =
    "/* Sorts the places of n entries, `stride` apart; equal ones keep their order. */\n"
    "static void @order(const $T *x, int64_t n, int64_t stride, bool falling, int64_t *places, int64_t *room) {\n"
    "    for (int64_t i = 0; i < n; i++) places[i] = i;\n"
    "    for (int64_t width = 1; width < n; width += width) {\n"
    "        for (int64_t lo = 0; lo < n; lo += 2 * width) {\n"
    "            int64_t middle = lo + width < n ? lo + width : n, hi = middle + width < n ? middle + width : n;\n"
    "            for (int64_t a = lo, b = middle, k = lo; k < hi; k++) {\n"
    "                bool second = a == middle;\n"
    "                if (a < middle && b < hi) {\n"
    "                    $T p = x[places[a] * stride], q = x[places[b] * stride];\n"
    "                    second = falling ? @below(p, q) : @below(q, p);\n"
    "                }\n"
    "                room[k] = second ? places[b++] : places[a++];\n"
    "            }\n"
    "        }\n"
    "        memcpy(places, room, (size_t)n * sizeof *places);\n"
    "    }\n"
    "}\n";

/* Loops over all other axes; at: places of the entries there, the first along the axis. */
static void others_open(c_writer *w, const c_site *s, c_nest *l, const char **at) {
    for (int i = 0; i < s->in[0].type.rank; i++)
        at[i] = i == s->attrs->axis ? "0" : c_loop(w, l, c_size(w, &s->in[0], i));
}

static const char *stride_of(c_writer *w, const c_value *x, int axis) {
    const char *stride = "1";
    for (int i = axis + 1; i < x->type.rank; i++)
        stride = strcmp(stride, "1") == 0 ? c_size(w, x, i) : c_string(w, "%s * %s", stride, c_size(w, x, i));
    return stride;
}

/* argsort; of arg_top_k the first places, of the falling order. */
static void sort(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    int axis = s->attrs->axis;
    const char *at[MAX_RANK], *size = c_size(w, x, axis), *kept = c_size(w, &s->out, axis);
    c_nest l = {0};
    const op_type list = {.dtype = DT_I64, .rank = 1, .dims = {-1}};
    c_value places = {c_named(w, "places"), list}, room = {c_named(w, "room"), list};
    c_new(w, &places, &size);
    c_new(w, &room, &size);
    others_open(w, s, &l, at);
    c_line(w, "%s",
           c_form(w, "@order($0, $1, $2, $3, $4, $5);", (dtype)x->type.dtype,
                  (const char *const[]){c_string(w, "&%s", c_entry(w, x, at)), size, stride_of(w, x, axis),
                                        s->op == OP_arg_top_k ? "true" : "false", c_string(w, "%s.data", places.name),
                                        c_string(w, "%s.data", room.name)}));
    at[axis] = c_loop(w, &l, kept);
    c_line(w, "%s = %s.data[%s];", c_entry(w, &s->out, at), places.name, at[axis]);
    c_loops_end(w, &l);
    c_release(w, places.name);
    c_release(w, room.name);
}

/* The latest of the largest so far. */
static void running_largest(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    dtype t = (dtype)x->type.dtype;
    const char *at[MAX_RANK], *most = c_named(w, "most"), *place = c_named(w, "place");
    c_nest l = {0};
    others_open(w, s, &l, at);
    c_line(w, "%s %s = 0;", compiled_c_type(t), most);
    c_line(w, "int64_t %s = 0;", place);
    const char *i = at[s->attrs->axis] = c_loop(w, &l, c_size(w, x, s->attrs->axis));
    const char *entry = c_entry(w, x, at), *less = c_form(w, "@below($0, $1)", t, (const char *const[]){entry, most});
    c_open(w, "if (%s == 0 || !%s)", i, less);
    c_line(w, "%s = %s;", most, entry);
    c_line(w, "%s = %s;", place, i);
    c_close(w);
    c_line(w, "%s = %s;", c_entry(w, &s->out, at), place);
    c_loops_end(w, &l);
}

void c_order(c_writer *w, const c_site *s) {
    const c_value *x = &s->in[0];
    const char *sizes[MAX_RANK] = {0};
    for (int i = 0; i < x->type.rank; i++) sizes[i] = c_size(w, x, i);
    if (s->op == OP_arg_top_k) {
        const char *k = sizes[s->attrs->axis] = c_dim(w, s->attrs->dims[0]);
        c_check(w, c_string(w, "%s <= %s", k, c_size(w, x, s->attrs->axis)),
                "arg_top_k: there are not that many entries");
    }
    c_new(w, &s->out, sizes);
    if (s->op == OP_arg_cummax)
        running_largest(w, s);
    else
        sort(w, s);
}
