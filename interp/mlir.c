/* The module: which functions it offers, and each function's text. */
#include "interp/mlir.h"

#include <string.h>

#include "interp/mlir_emit.h"

static const mlir_hint no_hint;

void mlir_declare(emitter *e, const char *name, const char *signature) {
    if (mlir_map_find(&e->declared, name) != NULL) return;
    mlir_map_put(e, &e->declared, name, signature);
    text_format(&e->declarations, "func.func private @%s%s\n", name, signature);
}

/* ---- one function ---- */

static void function_open(emitter *e) {
    e->f = (mlir_function){.depth = 1};
    text_init(&e->f.constants, e->c);
    text_init(&e->f.body, e->c);
    e->f.to = &e->f.body;
}

/* Its text: the head, the constants, the body. */
static void function_close(emitter *e, text *out, const char *head) {
    text_format(out, "%s {\n", head);
    text_add_bytes(out, text_data(&e->f.constants), e->f.constants.length);
    text_add_bytes(out, text_data(&e->f.body), e->f.body.length);
    text_add(out, "}\n");
    if (e->f.constants.failed || e->f.body.failed) e->failed = true;
    text_close(&e->f.constants);
    text_close(&e->f.body);
}

/* The program's slots, filled as they are read. */
static void read_top_level(emitter *e) {
    e->f.frame = MLIR_ARRAY(e, mlir_value, e->code->main.slots);
    e->f.slots = e->code->main.slots;
    e->f.top_level = true;
    e->f.reached = e->step_count;
}

static void write_return(emitter *e, mlir_value *v, const mlir_instance *n) {
    int count, same = 0;
    text types;
    text_init(&types, e->c);
    mlir_value given = n != NULL ? n->result : *v;
    mlir_value **leaf = mlir_leaves(e, v, &count), **as = mlir_leaves(e, &given, &same);
    for (int i = 0; i < count && i < same && !e->failed; i++) {
        mlir_value out = mlir_cast(e, leaf[i], &as[i]->type);
        if (n == NULL || !mlir_result_by_value(n, i)) out = mlir_boxed(e, &out);
        leaf[i]->name = mlir_ssa(e, &out);
        text_format(&types, "%s%s", i > 0 ? ", " : "", mlir_type_of(e, &out));
    }
    text_add(e->f.to, "  return");
    for (int i = 0; i < count; i++) text_format(e->f.to, "%s %s", i > 0 ? "," : "", mlir_ssa(e, leaf[i]));
    text_format(e->f.to, "%s%s\n", count > 0 ? " : " : "", text_data(&types));
    if (types.failed) e->failed = true;
    text_close(&types);
}

/* ---- parameters ---- */

static void measure_param(emitter *e, mlir_value *v, const type *t) {
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count && i < v->count; i++)
        measure_param(e, &v->items[i], t->items[i]);
    if (v->kind != MLIR_TENSOR) return;
    for (int i = 0; i < v->type.rank; i++) {
        if (v->type.dims[i] >= 0) continue;
        int64_t dim = t->tensor.dims[i];
        const char *known =
            dims_is_symbol(e->e->program.dims, dim) ? dims_name(e->e->program.dims, dim) : NULL;
        const char *axis = mlir_index(e, i), *name = known != NULL ? mlir_named(e, known) : mlir_fresh(e);
        mlir_line(e, "%s = tensor.dim %s, %s : %s", name, v->name, axis, mlir_type_of(e, v));
        v->type.dims[i] = mlir_dim_new(e, name);
    }
}

/* Names an input's leaves in the head, and makes of them what the body sees. */
static mlir_value take_input(emitter *e, const mlir_instance *n, int i, text *head, bool *first) {
    const code_function *f = n->code;
    bool is_param = i < f->params;
    const symbol *sym = is_param ? f->decl->params[i].symbol : f->captured[i - f->params];
    const char *writable = e->options.plain ? "" : " {bufferization.writable = false}";
    mlir_value v = mlir_copy(e, &n->fixed[i]);
    int count;
    mlir_value **leaf = mlir_leaves(e, &v, &count);
    for (int k = 0; k < count; k++) {
        bool by_value = mlir_param_by_value(n, i, k);
        const char *written = mlir_port_type(e, leaf[k], by_value);
        bool descriptor = leaf[k]->kind == MLIR_TENSOR || !by_value;
        leaf[k]->name = mlir_named(e, sym->name);
        text_format(head, "%s%s: %s%s", *first ? "" : ", ", leaf[k]->name, written,
                    descriptor ? writable : "");
        *first = false;
        if (leaf[k]->kind != MLIR_NUMBER || by_value) continue;
        mlir_value boxed = *leaf[k];
        boxed.kind = MLIR_TENSOR;
        *leaf[k] = mlir_unboxed(e, &boxed);
    }
    if (sym->kind != SYMBOL_DIM) {
        measure_param(e, &v, sym->type);
    } else {
        v.dim = mlir_dim_of(e, &v);
    }
    return v;
}

static void note_export(emitter *e, const mlir_instance *n);

static void write_instance(emitter *e, mlir_instance *n, text *out) {
    const code_function *f = n->code;
    bool first = true;
    text head;
    text_init(&head, e->c);
    function_open(e);
    e->where = f->decl->at;
    text_format(&head, "func.func %s@%s(", n->exported ? "" : "private ", n->symbol);
    mlir_value *in = MLIR_ARRAY(e, mlir_value, f->params + f->captures);
    for (int i = 0; in != NULL && i < mlir_instance_inputs(n); i++)
        in[i] = take_input(e, n, i, &head, &first);
    text_add_char(&head, ')');
    if (mlir_leaf_count(&n->result) > 0) text_format(&head, " -> %s", n->result_types);
    if (n->exported && !e->options.plain) text_add(&head, " attributes {llvm.emit_c_interface}");
    if (n->exported) {
        read_top_level(e);
        for (int i = 0; i < f->captures && !e->failed; i++)
            in[f->params + i] = mlir_slot(e, f->captured[i]->slot);
    }
    if (!e->failed && in != NULL) {
        mlir_value v = mlir_inline(e, f, in, in + f->params, no_hint);
        v = mlir_copy(e, &v);
        write_return(e, &v, n);
    }
    function_close(e, out, text_data(&head));
    if (head.failed) e->failed = true;
    text_close(&head);
    if (n->exported && !e->failed) note_export(e, n);
}

/* ---- what a host may call ---- */

static void note_ports(emitter *e, const mlir_instance *n, mlir_export *x) {
    mlir_port *port = MLIR_ARRAY(e, mlir_port, x->param_count + x->result_count);
    int next = 0, count;
    if (port == NULL) return;
    x->params = port;
    for (int i = 0; i < n->code->params; i++) {
        mlir_value **leaf = mlir_leaves(e, &n->fixed[i], &count);
        const char *name = n->code->decl->params[i].name;
        for (int k = 0; k < count; k++, next++) {
            port[next] =
                (mlir_port){.name = name, .type = leaf[k]->type, .by_value = mlir_param_by_value(n, i, k)};
            if (count > 1) port[next].name = mlir_string(e, "%s_%d", name, k);
        }
    }
    x->results = port + next;
    mlir_value given = n->result;
    mlir_value **leaf = mlir_leaves(e, &given, &count);
    for (int k = 0; k < count; k++, next++)
        port[next] = (mlir_port){
            .name = mlir_string(e, "r%d", k), .type = leaf[k]->type, .by_value = mlir_result_by_value(n, k)};
}

static void note_export(emitter *e, const mlir_instance *n) {
    mlir_exports *all = e->exports;
    if (all->count == all->capacity) {
        int wider = all->capacity == 0 ? 16 : 2 * all->capacity;
        mlir_export *grown = MLIR_ARRAY(e, mlir_export, wider);
        if (grown == NULL) return;
        if (all->count > 0) memcpy(grown, all->items, (size_t)all->count * sizeof *grown);
        all->items = grown;
        all->capacity = wider;
    }
    mlir_export x = {.name = n->symbol, .result_count = mlir_leaf_count(&n->result)};
    for (int i = 0; i < n->code->params; i++) x.param_count += mlir_leaf_count(&n->fixed[i]);
    note_ports(e, n, &x);
    all->items[all->count++] = x;
}

/* ---- the top level ---- */

/* Only tensors, numbers and tuples of them cross the boundary to a host. */
static bool is_data(const type *t) {
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++)
        if (!is_data(t->items[i])) return false;
    return t->kind == TYPE_TENSOR || t->kind == TYPE_TUPLE || t->kind == TYPE_UNIT;
}

static bool is_exportable(const fn_decl *f) {
    for (int i = 0; i < f->count; i++)
        if (!is_data(f->type->items[i])) return false;
    return is_data(f->type->result);
}

/* A symbol of this name would take the place of one that the lowering calls. */
static bool is_taken(const char *name) {
    static const char *const runtime[] = {
        "malloc", "free",  "memcpy", "memmove", "memset", "memrefCopy", "abort",      "puts", "main", "fmod",
        "fmodf",  "floor", "floorf", "ceil",    "ceilf",  "roundeven",  "roundevenf", "sqrt", "sqrtf"};
    for (size_t i = 0; i < COUNT_OF(runtime); i++)
        if (strcmp(name, runtime[i]) == 0) return true;
    return mlir_scalar_is_libm(name);
}

static void export_function(emitter *e, const fn_decl *f) {
    const char *name = f->known_as;
    const code_function *found = code_find(e->code, f);
    e->where = f->at;
    if (found == NULL || !is_exportable(f)) return;
    if (!is_taken(name)) {
        (void)mlir_instance_export(e, found, name);
        return;
    }
    mlir_refuse(
        e,
        "a function called `%s` cannot be lowered to MLIR: the compiled code calls another one of this "
        "name",
        name);
    error_help(&e->c->err, "give it another name");
}

static void export_functions(emitter *e) {
    /* Of several of one name the last is the one that --fn finds. */
    for (const expr *at = e->e->program.main.body; at != NULL && !e->failed; at = program_goes_on(at)) {
        for (int i = 0; i < at->u.block.count && !e->failed; i++) {
            const fn_decl *f = item_function(&at->u.block.items[i]);
            if (f != NULL && program_find(&e->e->program, f->known_as) == f) export_function(e, f);
        }
    }
}

/* The program itself: nullary, all its results by descriptor. */
static void write_main(emitter *e, text *out) {
    int count;
    text head;
    text_init(&head, e->c);
    function_open(e);
    read_top_level(e);
    for (int i = 0; i < e->step_count && !e->failed; i++) {
        e->f.reached = i;
        mlir_step(e, e->steps[i]);
    }
    e->f.reached = e->step_count;
    mlir_value v = mlir_code(e, e->tail, no_hint);
    v = mlir_copy(e, &v);
    mlir_value **leaf = mlir_leaves(e, &v, &count);
    text_add(&head, "func.func @main()");
    for (int i = 0; i < count; i++)
        text_format(&head, "%s%s",
                    i > 0       ? ", "
                    : count > 1 ? " -> ("
                                : " -> ",
                    mlir_port_type(e, leaf[i], false));
    if (count > 1) text_add_char(&head, ')');
    if (!e->failed) write_return(e, &v, NULL);
    function_close(e, out, text_data(&head));
    if (head.failed) e->failed = true;
    text_close(&head);
}

/* The steps of the top level, and of the blocks that its final expression is a chain of. */
static void find_steps(emitter *e) {
    const code *n;
    for (n = e->code->main.body; n != NULL && n->kind == CODE_BLOCK; n = n->u.block.tail)
        e->step_count += n->u.block.count;
    e->tail = n;
    e->steps = MLIR_ARRAY(e, const step *, e->step_count);
    int at = 0;
    for (n = e->code->main.body; e->steps != NULL && n != e->tail; n = n->u.block.tail)
        for (int i = 0; i < n->u.block.count; i++) e->steps[at++] = &n->u.block.steps[i];
}

static void write_module(emitter *e, text *out) {
    text functions, whole;
    text_init(&functions, e->c);
    text_init(&whole, e->c);
    find_steps(e);
    if (!e->failed) export_functions(e);
    if (e->tail != NULL && !e->failed) write_main(e, &whole);
    for (mlir_instance *n = e->instances; n != NULL && !e->failed; n = n->next) write_instance(e, n, &functions);
    text_add_bytes(out, text_data(&e->declarations), e->declarations.length);
    text_add_bytes(out, text_data(&functions), functions.length);
    text_add_bytes(out, text_data(&whole), whole.length);
    if (e->declarations.failed || functions.failed || whole.failed || out->failed) e->failed = true;
    text_close(&functions);
    text_close(&whole);
}

bool mlir_emit(engine *e, mlir_options options, text *out, mlir_exports *exports) {
    if (e->code == NULL) e->code = lower_program(&e->program);
    if (e->code == NULL) return false;
    emitter m = {.e = e, .c = e->c, .a = &e->a, .code = e->code, .options = options, .exports = exports};
    m.last = &m.instances;
    text_init(&m.declarations, e->c);
    write_module(&m, out);
    text_close(&m.declarations);
    if (m.failed && e->c->err.code == ERROR_NONE)
        error_set(&e->c->err, ERROR_K0901, m.where, "the MLIR of this could not be written");
    return !m.failed;
}
