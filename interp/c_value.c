/* Variables in C: what they are declared as, their sizes and entries; literals. */
#include "interp/c_emit.h"

#include <math.h>
#include <string.h>

#include "runtime/print.h"

/* ---- types ---- */

const char *c_struct(c_writer *w, const op_type *t) {
    const char *element = compiled_c_type((dtype)t->dtype), *suffix = c_suffix((dtype)t->dtype);
    const char *name = c_string(w, "kina_%s_%d", suffix, t->rank);
    if (w->failed || c_set_has(&w->structs, name)) return name;
    c_set_put(w, &w->structs, name);
    text_format(&w->types,
                "#ifndef %s\n#define %s %s\n"
                "typedef struct {\n    %s *data;\n    int64_t dims[%d];\n} %s;\n#endif\n",
                name, name, name, element, t->rank, name);
    return name;
}

const char *c_declared(c_writer *w, const op_type *t) {
    return t->rank == 0 ? compiled_c_type((dtype)t->dtype) : c_struct(w, t);
}

/* ---- variables ---- */

var c_root(const c_writer *w, var v) {
    while (w->of[v].same != VAR_NONE) v = w->of[v].same;
    return v;
}

c_var *c_of(const c_writer *w, var v) {
    return &w->of[c_root(w, v)];
}

c_value c_value_of(const c_writer *w, var v) {
    const char *name = c_of(w, v)->name;
    return (c_value){.name = name != NULL ? name : "", .type = *graph_type(w->g, v)};
}

const char *c_wish(c_writer *w, var v) {
    const graph_var *x = graph_at(w->g, v);
    if (x->name != NULL) return x->name;
    if (x->derivative_of == VAR_NONE || x->prefix == NULL) return NULL;
    const char *base = graph_at(w->g, x->derivative_of)->name;
    return base != NULL ? c_string(w, "%s%s", x->prefix, base) : NULL;
}

const char *c_name(c_writer *w, var v, const char *otherwise) {
    const char *wish = c_wish(w, v);
    w->of[v].moved = false;
    return w->of[v].name = c_named(w, wish != NULL ? wish : otherwise);
}

/* ---- sizes ---- */

const char *c_size(c_writer *w, const c_value *v, int axis) {
    if (v->type.dims[axis] >= 0) return c_string(w, "%lld", (long long)v->type.dims[axis]);
    return c_string(w, "%s.dims[%d]", v->name, axis);
}

const char *c_count(c_writer *w, const c_value *v) {
    const char *count = "1";
    for (int i = 0; i < v->type.rank; i++) {
        const char *size = c_size(w, v, i);
        count = strcmp(count, "1") == 0 ? size : c_string(w, "%s * %s", count, size);
    }
    return count;
}

/* What a symbol is; exact: it cannot be so large that a product would not fit. */
static const char *symbol_of(c_writer *w, int64_t id, bool *exact) {
    const witness *s = graph_witness_of(w->g, id);
    if (s == NULL || s->v == VAR_NONE || c_of(w, s->v)->name == NULL) {
        c_refuse(w, "a size that nothing in the program has cannot be written as C");
        return "";
    }
    c_value v = c_value_of(w, s->v);
    if (s->axis >= 0) return c_size(w, &v, s->axis);
    *exact = false;
    return v.type.dtype == DT_I64 ? v.name : c_string(w, "(int64_t)%s", v.name);
}

static const char *joined(c_writer *w, const char *how, bool exact, const char *a, const char *b) {
    if (exact) return c_string(w, "%s %s %s", a, how, b);
    if (*how == '*') {
        c_helper(w, "times", DT_I64, false);
        return c_string(w, "kina_times(%s, %s)", a, b);
    }
    c_helper(w, "plus", DT_I64, false);
    return *how == '+' ? c_string(w, "kina_plus(%s, %s)", a, b) : c_string(w, "kina_plus(%s, -%s)", a, c_factor(w, b));
}

static const char *product_of(c_writer *w, int64_t dim, int term, int64_t *factor, bool *exact) {
    int64_t symbols[DIM_DEGREE_MOST];
    int count = dims_term(w->dims, dim, term, factor, symbols);
    int64_t size = *factor < 0 ? -*factor : *factor;
    const char *product = size != 1 || count == 0 ? c_string(w, "%lld", (long long)size) : NULL;
    for (int k = 0; k < count && !w->failed; k++) {
        const char *one = symbol_of(w, symbols[k], exact);
        product = product == NULL ? one : joined(w, "*", *exact, product, one);
    }
    return product != NULL ? product : "";
}

const char *c_dim(c_writer *w, int64_t dim) {
    int64_t constant, factor;
    const char *sum = NULL;
    bool exact = true;
    if (dim >= 0) return c_string(w, "%lld", (long long)dim);
    if (dims_constant(w->dims, dim, &constant)) return c_string(w, "%lld", (long long)constant);
    int count = dims_term_count(w->dims, dim);
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < count && !w->failed; i++) {
            const char *one = product_of(w, dim, i, &factor, &exact);
            if ((factor < 0) != (sign < 0)) continue;
            if (sum == NULL)
                sum = sign > 0 ? one : c_string(w, "-%s", c_factor(w, one));
            else
                sum = joined(w, sign > 0 ? "+" : "-", exact, sum, one);
        }
    }
    return sum != NULL ? sum : "0";
}

enum { SYMBOLS_MOST = 64 };

bool c_dim_is_known(const c_writer *w, int64_t dim) {
    int64_t symbols[SYMBOLS_MOST];
    int count = dim >= 0 ? 0 : dims_symbols(w->dims, dim, symbols, SYMBOLS_MOST);
    for (int i = 0; i < count; i++) {
        const witness *s = graph_witness_of(w->g, symbols[i]);
        if (s == NULL || s->v == VAR_NONE || c_of(w, s->v)->name == NULL) return false;
    }
    return true;
}

dim_verdict c_compare(const c_writer *w, int64_t a, int64_t b) {
    if (a == b) return DIM_SAME;
    if (a >= 0 && b >= 0) return DIM_DIFFERENT;
    return w->g->algebra->compare(w->g->algebra->self, a, b);
}

void c_same_size(c_writer *w, const c_value *a, int axis, const c_value *b, int other, const char *what) {
    if (c_compare(w, a->type.dims[axis], b->type.dims[other]) == DIM_SAME) return;
    c_check(w, c_string(w, "%s == %s", c_size(w, a, axis), c_size(w, b, other)), "%s: sizes differ", what);
}

/* ---- entries ---- */

const char *c_entry(c_writer *w, const c_value *v, const char *const *at) {
    const char *place = NULL;
    if (v->type.rank == 0) return v->name;
    for (int i = 0; i < v->type.rank; i++) {
        bool counts = at[i] != NULL && at[i][0] == 'i' && at[i][1] >= '0' && at[i][1] <= '9';
        if (at[i] == NULL || (counts && v->type.dims[i] == 1)) continue;
        if (place == NULL || strcmp(place, "0") == 0)
            place = at[i];
        else
            place = c_string(w, "%s * %s + %s", c_factor(w, place), c_size(w, v, i), at[i]);
    }
    return c_string(w, "%s.data[%s]", v->name, place != NULL ? place : "0");
}

/* ---- literals ---- */

static const char *float_literal(c_writer *w, dtype t, const void *at) {
    char digits[NUMBER_ROOM];
    double x = t == DT_F32 ? (double)*(const float *)at : *(const double *)at;
    if (isnan(x)) return "NAN";
    if (isinf(x)) return x < 0 ? "-INFINITY" : "INFINITY";
    size_t length = number_print(digits, t, at);
    return c_string(w, "%.*s%s", (int)length, digits, t == DT_F32 ? "f" : "");
}

static const char *integer_literal(c_writer *w, dtype t, int64_t x) {
    if (t == DT_I32 && x == INT32_MIN) return "INT32_MIN";
    if (x == INT64_MIN) return "INT64_MIN";
    if (x > INT32_MAX || x < -INT32_MAX) return c_string(w, "INT64_C(%lld)", (long long)x);
    return c_string(w, "%lld", (long long)x);
}

const char *c_literal(c_writer *w, dtype t, const void *at) {
    switch (t) {
    case DT_F32:
    case DT_F64: return float_literal(w, t, at);
    case DT_I32: return integer_literal(w, t, *(const int32_t *)at);
    case DT_I64: return integer_literal(w, t, *(const int64_t *)at);
    default: return *(const bool *)at ? "true" : "false";
    }
}

const char *c_number(c_writer *w, dtype t, double x) {
    float narrow = (float)x;
    return float_literal(w, t, t == DT_F32 ? (const void *)&narrow : (const void *)&x);
}

enum { LITERALS_A_LINE = 8 };

/* The entries in row-major order. */
static void add_rows(c_writer *w, const tensor *t, int axis, int64_t offset, int64_t *count) {
    size_t size = dtype_size((dtype)t->dtype);
    if (axis == t->rank) {
        const char *end = *count % LITERALS_A_LINE == 0 ? "\n    " : " ";
        const char *x = c_literal(w, (dtype)t->dtype, (const char *)t->data + (size_t)offset * size);
        text_format(&w->literals, "%s%s,", end, x);
        ++*count;
        return;
    }
    for (int64_t i = 0; i < t->dims[axis] && !w->failed; i++)
        add_rows(w, t, axis + 1, offset + i * t->strides[axis], count);
}

c_value c_tensor_literal(c_writer *w, const value *v, const char *name) {
    const tensor *t = v->as.t;
    int64_t count = 0;
    text sizes;
    c_value out = {.name = name, .type = {.dtype = t->dtype, .rank = t->rank}};
    const char *element = compiled_c_type((dtype)t->dtype), *kind;
    memcpy(out.type.dims, t->dims, sizeof out.type.dims);
    text_format(&w->literals, "static const %s kina_literal_%d[] = {", element, w->literal_count);
    add_rows(w, t, 0, 0, &count);
    text_add(&w->literals, count == 0 ? "0};\n" : "\n};\n");
    kind = c_struct(w, &out.type);
    text_init(&sizes, w->c);
    for (int i = 0; i < t->rank; i++) text_format(&sizes, "%s%lld", i > 0 ? ", " : "", (long long)t->dims[i]);
    c_line(w, "%s %s = {(%s *)kina_literal_%d, {%s}};", kind, name, element, w->literal_count++, text_data(&sizes));
    if (sizes.failed) w->failed = true;
    text_close(&sizes);
    return out;
}
