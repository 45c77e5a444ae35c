/* The C header of a built library: memref descriptors as structs, and the functions that take them.
 *
 * The layout is that of MLIR's C interface: a descriptor of rank r is two pointers, an offset, r sizes and r
 * strides; one tensor or several results go to a struct that the caller hands in first; a single number is
 * returned. */
#include "interp/tools/header.h"

#include "interp/compiled.h"

/* "kina_F32_2" */
static void add_struct_name(text *out, const op_type *t) {
    text_format(out, "kina_%s_%d", dtype_name((dtype)t->dtype), t->rank);
}

static void add_struct(text *out, const op_type *t) {
    text_add(out, "#ifndef ");
    add_struct_name(out, t);
    text_add(out, "\n#define ");
    add_struct_name(out, t);
    text_add(out, " ");
    add_struct_name(out, t);
    text_format(out, "\ntypedef struct {\n    %s *allocated, *aligned;\n    int64_t offset;\n",
                compiled_c_type((dtype)t->dtype));
    if (t->rank > 0) text_format(out, "    int64_t sizes[%d], strides[%d];\n", t->rank, t->rank);
    text_add(out, "} ");
    add_struct_name(out, t);
    text_add(out, ";\n#endif\n");
}

/* The Kina type of a port, as a comment says it. */
static void add_kina_type(text *out, const mlir_port *p) {
    const char *element = dtype_name((dtype)p->type.dtype);
    if (p->by_value) {
        text_add(out, element);
        return;
    }
    text_format(out, "tensor<%s, [", element);
    for (int i = 0; i < p->type.rank; i++) {
        if (i > 0) text_add(out, ", ");
        if (p->type.dims[i] >= 0)
            text_format(out, "%lld", (long long)p->type.dims[i]);
        else
            text_add_char(out, '?');
    }
    text_add(out, "]>");
}

/* ---- structs ---- */

typedef struct seen {
    bool of[DTYPE_COUNT][MAX_RANK + 1];
} seen;

static void add_port_structs(text *out, const mlir_port *ports, int count, seen *s) {
    for (int i = 0; i < count; i++) {
        const op_type *t = &ports[i].type;
        if (ports[i].by_value || s->of[t->dtype][t->rank]) continue;
        s->of[t->dtype][t->rank] = true;
        add_struct(out, t);
    }
}

static void add_field(text *out, const mlir_port *p) {
    text_add(out, "    ");
    if (p->by_value)
        text_add(out, compiled_c_type((dtype)p->type.dtype));
    else
        add_struct_name(out, &p->type);
    text_format(out, " %s;\n", p->name);
}

/* ---- functions ---- */

static bool returns_number(const mlir_export *x) {
    return x->result_count == 1 && x->results[0].by_value;
}

static void add_parameter(text *out, const mlir_port *p) {
    if (p->by_value) {
        text_add(out, compiled_c_type((dtype)p->type.dtype));
    } else {
        add_struct_name(out, &p->type);
        text_add(out, " *");
    }
    text_format(out, " /* %s: ", p->name);
    add_kina_type(out, p);
    text_add(out, " */");
}

static void add_function(text *out, const mlir_export *x) {
    int before = x->result_count > 0 && !returns_number(x);
    text_add_char(out, '\n');
    if (x->result_count > 1) {
        text_format(out, "struct kina_results_%s {\n", x->name);
        for (int i = 0; i < x->result_count; i++) add_field(out, &x->results[i]);
        text_add(out, "};\n");
    }
    text_format(out, "%s _mlir_ciface_%s(",
                returns_number(x) ? compiled_c_type((dtype)x->results[0].type.dtype) : "void", x->name);
    if (x->result_count > 1) text_format(out, "struct kina_results_%s *", x->name);
    if (x->result_count == 1 && before) {
        add_struct_name(out, &x->results[0].type);
        text_add(out, " *");
    }
    if (before) text_add(out, " /* results */");
    for (int i = 0; i < x->param_count; i++) {
        if (i > 0 || before) text_add(out, ", ");
        add_parameter(out, &x->params[i]);
    }
    text_add(out, x->param_count == 0 && !before ? "void);\n" : ");\n");
}

bool header_write(engine *e, const mlir_exports *exports, text *out) {
    seen s = {0};
    text_format(
        out,
        "/* Functions of a library that `kina-interp build` made.\n"
        " *\n"
        " * Element i of a tensor is aligned[offset + i[0] * strides[0] + ...]. Arguments are read, "
        "contiguous\n"
        " * and at offset 0, and belong to the caller. Results are new; free each one's `allocated`. */\n"
        "#pragma once\n\n#include <stdbool.h>\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (int i = 0; i < exports->count; i++) {
        const mlir_export *x = &exports->items[i];
        add_port_structs(out, x->params, x->param_count, &s);
        add_port_structs(out, x->results, x->result_count, &s);
    }
    for (int i = 0; i < exports->count; i++) add_function(out, &exports->items[i]);
    text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n");
    return !out->failed && e->c->err.code == ERROR_NONE;
}
