/* The file: what it says of itself, types, helpers, the function, and the one that frees its results. */
#include <string.h>

#include "interp/c_emit.h"

/* ---- Kina's types, in comments ---- */

static void add_type(c_writer *w, text *t, const op_type *of) {
    if (of->rank == 0) {
        text_add(t, dtype_name((dtype)of->dtype));
        return;
    }
    text_format(t, "tensor<%s, [", dtype_name((dtype)of->dtype));
    for (int i = 0; i < of->rank; i++) {
        text_add(t, i > 0 ? ", " : "");
        dims_print(w->dims, of->dims[i], t);
    }
    text_add(t, "]>");
}

/* ---- the interface ---- */

typedef struct field {
    const char *name;
    op_type type;
} field;

/* What is given, under the names that the program has for it. */
static field *fields_of(c_writer *w) {
    const region *top = w->g->top;
    c_set taken = w->names;
    field *fields = C_ARRAY(w, field, top->result_count);
    w->names = (c_set){0};
    c_set_put(w, &w->names, "error");
    for (int i = 0; fields != NULL && i < top->result_count; i++) {
        const char *wish = c_wish(w, top->results[i]);
        c_crosses(w, top->results[i], "result");
        fields[i].type = *graph_type(w->g, top->results[i]);
        fields[i].name = c_named(w, wish != NULL ? wish : i == 0 ? "value" : c_string(w, "value_%d", i));
    }
    w->names = taken;
    return fields;
}

static void add_results(c_writer *w, text *t, const field *fields, int count) {
    text_format(t, "struct %s_results {\n", w->signature->name);
    for (int i = 0; i < count; i++) {
        text_format(t, "    %s %s; /* ", c_declared(w, &fields[i].type), fields[i].name);
        add_type(w, t, &fields[i].type);
        text_add(t, " */\n");
    }
    text_add(t, "    const char *error; /* what went wrong; NULL: nothing did */\n};\n");
}

enum { LINE_MOST = 100 };

/* typed: on lines of their own, with Kina's types. */
static void add_prototype(c_writer *w, text *t, bool typed) {
    const region *top = w->g->top;
    size_t begin = t->length;
    text_format(t, "int %s(", w->signature->name);
    for (int i = 0; i < top->param_count; i++) {
        const op_type *of = graph_type(w->g, top->params[i]);
        const char *kind = c_declared(w, of), *name = w->of[top->params[i]].name;
        if (!typed && t->length - begin + strlen(kind) + strlen(name) > LINE_MOST) {
            text_add(t, "\n       ");
            begin = t->length - 7;
        }
        text_format(t, "%s%s %s,", typed ? "\n    " : i > 0 ? " " : "", kind, name);
        if (typed) text_add(t, " /* ");
        if (typed) add_type(w, t, of);
        if (typed) text_add(t, " */");
    }
    bool further = !typed && t->length - begin + strlen(w->signature->name) > LINE_MOST - 20;
    text_format(t, "%sstruct %s_results *out)", typed ? "\n    " : further ? "\n        " : " ", w->signature->name);
}

/* ---- results ---- */

/* Results are blocks of their own, out of the list of what the end frees. */
static void give_results(c_writer *w, const field *fields) {
    const region *top = w->g->top;
    const char **held = C_ARRAY(w, const char *, top->result_count);
    for (int i = 0; held != NULL && i < top->result_count; i++) {
        if (fields[i].type.rank == 0) continue;
        held[i] = c_name_of(w, top->results[i]);
        bool own = !c_shared(w, c_root(w, top->results[i]));
        if (c_goes_on(w, top->results[i], top)) {
            if (!own) c_own(w, &(c_value){held[i], fields[i].type});
            continue;
        }
        held[i] = c_named(w, c_string(w, "result_%s", fields[i].name));
        c_begin(w, c_struct(w, &fields[i].type), held[i], top->results[i], top, top->count);
        c_own(w, &(c_value){held[i], fields[i].type});
    }
    for (int i = 0; held != NULL && i < top->result_count; i++) {
        if (held[i] == NULL) {
            c_line(w, "out->%s = %s;", fields[i].name, c_name_of(w, top->results[i]));
            continue;
        }
        c_helper(w, "give", DT_I64, false);
        c_line(w, "out->%s = %s;", fields[i].name, held[i]);
        c_line(w, "kina_give(kina, %s.data);", held[i]);
    }
}

static void write_body(c_writer *w, const field *fields) {
    c_body(w);
    if (!w->failed) give_results(w, fields);
    if (w->fails) c_helper(w, "free", DT_I64, false);
}

/* ---- the file ---- */

static const char memory_types[] = "/* What a call has allocated: before each tensor's entries. */\n"
                                   "typedef struct kina_block {\n"
                                   "    struct kina_block *before, *next;\n"
                                   "    int64_t uses, unused;\n"
                                   "} kina_block;\n\n"
                                   "typedef struct {\n"
                                   "    kina_block *blocks;\n"
                                   "    int code;\n"
                                   "    const char *error;\n";

static const char tape_type[] = "typedef struct {\n"
                                "    void *entries;\n"
                                "    int64_t count, room;\n"
                                "} kina_tape;\n\n";

static const char failing[] = "#define TRY(done) \\\n"
                              "    do { \\\n"
                              "        if (!(done)) goto end; \\\n"
                              "    } while (0)\n"
                              "#define CHECK(holds, why) \\\n"
                              "    do { \\\n"
                              "        if (!(holds)) { \\\n"
                              "            kina->code = 2; \\\n"
                              "            kina->error = why; \\\n"
                              "            goto end; \\\n"
                              "        } \\\n"
                              "    } while (0)\n\n";

static const char how_to_call[] =
    " * A tensor's entries are contiguous in row-major order. Arguments are only read. The call gives 0, or 1 when\n"
    " * there is no memory, 2 for arguments that do not fit; then out->error says what went wrong, and where in the\n"
    " * program. Whoever calls frees the results.";

static void add_head(c_writer *w, text *t) {
    const char *name = w->signature->name;
    text_format(
        t,
        "/* %s: %s.\n"
        " *\n"
        " * Written by kina-interp grad --emit c. It needs a C11 compiler, the C library and libm:\n"
        " *\n"
        " *     cc -O2 -std=c11 -ffp-contract=off -c FILE.c\n"
        " *\n"
        "%s */\n"
        "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
        "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n",
        name, w->signature->summary, how_to_call);
}

static void add_free(c_writer *w, text *t, const field *fields, int count) {
    const char *name = w->signature->name;
    text_format(t, "\nvoid %s_free(struct %s_results *out) {\n", name, name);
    for (int i = 0; i < count; i++)
        if (fields[i].type.rank > 0)
            text_format(t, "    if (out->%s.data != NULL) free((kina_block *)(void *)out->%s.data - 1);\n",
                        fields[i].name, fields[i].name);
    text_format(t, "    *out = (struct %s_results){0};\n}\n", name);
}

static void add_function(c_writer *w, text *t) {
    add_prototype(w, t, false);
    text_format(t, " {\n    *out = (struct %s_results){0};\n", w->signature->name);
    if (w->fails) text_add(t, "    kina_memory kina_all = {0}, *kina = &kina_all;\n");
    c_add_unused_params(w, t);
    text_add_bytes(t, text_data(&w->body), w->body.length);
    if (w->fails)
        text_add(t, "end:\n    kina_free(kina);\n    out->error = kina->error;\n    return kina->code;\n}\n");
    else
        text_add(t, "    return 0;\n}\n");
}

/* What whoever calls has to see. */
static void add_declarations(c_writer *w, text *t, const field *fields) {
    text_add_bytes(t, text_data(&w->types), w->types.length);
    text_add(t, w->types.length > 0 ? "\n" : "");
    add_results(w, t, fields, w->g->top->result_count);
    text_add(t, "\n");
    add_prototype(w, t, true);
    text_format(t, ";\nvoid %s_free(struct %s_results *out);\n\n", w->signature->name, w->signature->name);
}

static void add_header(c_writer *w, text *t, const field *fields) {
    text_format(t,
                "/* %s: %s.\n *\n%s */\n"
                "#pragma once\n\n#include <stdbool.h>\n#include <stdint.h>\n\n"
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                w->signature->name, w->signature->summary, how_to_call);
    add_declarations(w, t, fields);
    text_add(t, "#ifdef __cplusplus\n}\n#endif\n");
}

static void add_file(c_writer *w, text *t, const field *fields) {
    int count = w->g->top->result_count;
    add_head(w, t);
    add_declarations(w, t, fields);
    text_add(t, "/* ---- what the function calls ---- */\n\n");
    if (w->fails) text_add(t, memory_types);
    if (w->functions.length > 0) text_add(t, "    int depth; /* of functions that call themselves */\n");
    if (w->fails) text_add(t, "} kina_memory;\n\n");
    if (w->records.length > 0) text_add(t, tape_type);
    text_add_bytes(t, text_data(&w->records), w->records.length);
    text_add(t, w->records.length > 0 ? "\n" : "");
    if (w->fails) text_add(t, failing);
    text_add_bytes(t, text_data(&w->helpers), w->helpers.length);
    text_add_bytes(t, text_data(&w->literals), w->literals.length);
    text_add(t, w->literals.length > 0 ? "\n" : "");
    text_add_bytes(t, text_data(&w->prototypes), w->prototypes.length);
    text_add(t, w->prototypes.length > 0 ? "\n" : "");
    text_add_bytes(t, text_data(&w->functions), w->functions.length);
    text_add(t, "/* ---- the function ---- */\n\n");
    add_function(w, t);
    add_free(w, t, fields, count);
}

static bool any_failed(const c_writer *w) {
    return w->failed || w->types.failed || w->records.failed || w->helpers.failed || w->literals.failed ||
           w->prototypes.failed || w->functions.failed || w->body.failed;
}

static void write_all(c_writer *w, text *out, text *header) {
    c_open_function(w, w->g);
    if (w->failed) return;
    const field *fields = fields_of(w);
    if (!w->failed) write_body(w, fields);
    if (!any_failed(w)) add_file(w, out, fields);
    if (!any_failed(w) && header != NULL) add_header(w, header, fields);
    w->failed = any_failed(w) || out->failed || (header != NULL && header->failed);
}

bool c_file_write(graph *g, const c_signature *signature, text *out, text *header) {
    c_writer w = {.g = g, .c = g->c, .a = g->a, .dims = g->algebra->self, .signature = signature};
    text *const parts[] = {&w.types, &w.records, &w.helpers, &w.literals, &w.prototypes, &w.functions};
    for (size_t i = 0; i < COUNT_OF(parts); i++) text_init(parts[i], w.c);
    write_all(&w, out, header);
    for (size_t i = 0; i < COUNT_OF(parts); i++) text_close(parts[i]);
    text_close(&w.body);
    if (w.failed && w.c->err.code == ERROR_NONE)
        error_set(&w.c->err, ERROR_K0901, w.where, "the C of this could not be written");
    return !w.failed;
}
