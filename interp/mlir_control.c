/* Conditionals as scf.if, loops as scf.while: of code, and of whoever else gives their parts. */
#include "interp/mlir_emit.h"

static const mlir_hint no_hint;

/* ---- lists ---- */

static void add_names(emitter *e, mlir_value *const *leaf, int count) {
    for (int i = 0; i < count; i++) text_format(e->f.to, "%s%s", i > 0 ? ", " : "", mlir_ssa(e, leaf[i]));
}

static void add_types(emitter *e, mlir_value *const *leaf, int count) {
    for (int i = 0; i < count; i++) text_format(e->f.to, "%s%s", i > 0 ? ", " : "", mlir_type_of(e, leaf[i]));
}

static void indent(emitter *e) {
    text_add_repeat(e->f.to, ' ', 2 * (size_t)e->f.depth);
}

/* "scf.yield %a, %b : f32, i32" */
static void yield(emitter *e, mlir_value *const *leaf, int count) {
    for (int i = 0; i < count; i++) leaf[i]->name = mlir_ssa(e, leaf[i]);
    indent(e);
    text_add(e->f.to, "scf.yield");
    if (count > 0) {
        text_add_char(e->f.to, ' ');
        add_names(e, leaf, count);
        text_add(e->f.to, " : ");
        add_types(e, leaf, count);
    }
    text_add_char(e->f.to, '\n');
}

/* ---- if ---- */

/* A size that both branches agree on, and that was there before them. */
static bool agreed(int64_t a, int64_t b, int mark) {
    return a == b && (a >= 0 || a >= -(int64_t)mark);
}

/* What a value is that is one of two, as far as both agree. */
static mlir_value join(emitter *e, const mlir_value *a, const mlir_value *b, int mark) {
    mlir_value v = *a;
    if (a->kind != b->kind || a->function != b->function || a->count != b->count) {
        mlir_refuse(e, "a function that a branch chooses cannot be lowered to MLIR");
        return (mlir_value){.kind = MLIR_NONE};
    }
    for (int i = 0; i < v.type.rank; i++)
        if (!agreed(a->type.dims[i], b->type.dims[i], mark)) v.type.dims[i] = -1 - INT32_MAX;
    if (!agreed(a->dim, b->dim, mark)) v.dim = MLIR_NO_DIM;
    if (v.kind == MLIR_TAPE) return v;
    if (v.count > 0) v.items = MLIR_ARRAY(e, mlir_value, v.count);
    for (int i = 0; i < v.count && v.items != NULL; i++)
        v.items[i] = join(e, &a->items[i], &b->items[i], mark);
    return v;
}

/* One branch, kept back: its lines, and what it gives. */
typedef struct branch {
    text lines;
    mlir_value v;
} branch;

static void branch_open(emitter *e, branch *b) {
    text_init(&b->lines, e->c);
    e->f.to = &b->lines;
    e->f.depth++;
}

static void branch_close(emitter *e, branch *b, text *outer) {
    b->v = mlir_copy(e, &b->v);
    e->f.depth--;
    e->f.to = outer;
}

/* The branch's lines, and its yield in the types of what both give. */
static void branch_write(emitter *e, branch *b, mlir_value *joined) {
    int count, same;
    mlir_value **leaf = mlir_leaves(e, &b->v, &count), **as = mlir_leaves(e, joined, &same);
    text *outer = e->f.to;
    e->f.to = &b->lines;
    e->f.depth++;
    for (int i = 0; i < count && !e->failed; i++) *leaf[i] = mlir_cast(e, leaf[i], &as[i]->type);
    if (count > 0 && !e->failed) yield(e, leaf, count);
    e->f.depth--;
    e->f.to = outer;
    text_add_bytes(outer, text_data(&b->lines), b->lines.length);
    if (b->lines.failed) e->failed = true;
    text_close(&b->lines);
}

/* Both branches behind the line that asks; mark: the dims that there were before them. */
static mlir_value write_if(emitter *e, const char *condition, branch *then, branch *otherwise, int mark,
                           mlir_hint hint) {
    int count = 0;
    mlir_value out = {.kind = MLIR_NONE};
    if (!e->failed) out = join(e, &then->v, &otherwise->v, mark);
    mlir_value **leaf = mlir_leaves(e, &out, &count);
    const char **name = MLIR_ARRAY(e, const char *, count);
    indent(e);
    for (int i = 0; i < count && name != NULL; i++) {
        name[i] = mlir_result_name(e, &hint, i);
        text_format(e->f.to, "%s%s", i > 0 ? ", " : "", name[i]);
    }
    text_format(e->f.to, "%sscf.if %s", count > 0 ? " = " : "", condition);
    if (count > 0) {
        text_add(e->f.to, " -> (");
        add_types(e, leaf, count);
        text_add_char(e->f.to, ')');
    }
    text_add(e->f.to, " {\n");
    branch_write(e, then, &out);
    mlir_line(e, "} else {");
    branch_write(e, otherwise, &out);
    mlir_line(e, "}");
    for (int i = 0; i < count && name != NULL; i++) {
        leaf[i]->name = name[i];
        for (int k = 0; k < leaf[i]->type.rank; k++) {
            int64_t *dim = &leaf[i]->type.dims[k];
            if (*dim >= 0 || *dim >= -(int64_t)mark) continue;
            const char *axis = mlir_index(e, k);
            *dim = mlir_dim_new(
                e, mlir_let(e, "tensor.dim %s, %s : %s", name[i], axis, mlir_type_of(e, leaf[i])));
        }
    }
    return out;
}

mlir_value mlir_branches(emitter *e, const mlir_value *condition, mlir_text *then, mlir_text *otherwise,
                         void *self, mlir_hint hint) {
    const char *name = mlir_ssa(e, condition);
    text *outer = e->f.to;
    int mark = e->f.dim_count;
    span where = e->where;
    branch a, b;
    branch_open(e, &a);
    a.v = then(e, self, NULL);
    branch_close(e, &a, outer);
    branch_open(e, &b);
    b.v = otherwise(e, self, NULL);
    branch_close(e, &b, outer);
    e->where = where;
    return write_if(e, name, &a, &b, mark, hint);
}

static mlir_value then_of(emitter *e, void *self, const mlir_value *carried) {
    (void)carried;
    return mlir_code(e, ((const code *)self)->u.branch.then, no_hint);
}

static mlir_value otherwise_of(emitter *e, void *self, const mlir_value *carried) {
    (void)carried;
    return mlir_code(e, ((const code *)self)->u.branch.otherwise, no_hint);
}

mlir_value mlir_if(emitter *e, const code *n, mlir_hint hint) {
    mlir_value condition = mlir_code(e, n->u.branch.condition, no_hint);
    e->where = n->where;
    return mlir_branches(e, &condition, then_of, otherwise_of, (void *)(uintptr_t)n, hint);
}

static mlir_value right_of(emitter *e, void *self, const mlir_value *carried) {
    (void)carried;
    return mlir_code(e, ((const code *)self)->u.two.b, no_hint);
}

static mlir_value decided(emitter *e, void *self, const mlir_value *carried) {
    (void)carried;
    double x = ((const code *)self)->kind == CODE_OR ? 1.0 : 0.0;
    return mlir_number_value(e, DT_Bool, mlir_number(e, DT_Bool, x));
}

/* The right operand only where the left one does not decide. */
mlir_value mlir_and_or(emitter *e, const code *n) {
    mlir_value a = mlir_code(e, n->u.two.a, no_hint);
    void *self = (void *)(uintptr_t)n;
    if (n->kind == CODE_OR) return mlir_branches(e, &a, decided, right_of, self, no_hint);
    return mlir_branches(e, &a, right_of, decided, self, no_hint);
}

/* ---- while ---- */

/* A loop while it is emitted: its carries as one tuple, in the types of the inits. */
typedef struct looping {
    const mlir_loop *of;
    mlir_value carried;
    mlir_value **leaf;
    int count;
    const char **inits, **results;
} looping;

static bool loop_open(emitter *e, looping *l, const mlir_loop *of, const mlir_value *inits) {
    *l = (looping){.of = of, .carried = {.kind = MLIR_TUPLE, .count = of->count}};
    l->carried.items = MLIR_ARRAY(e, mlir_value, of->count);
    if (l->carried.items == NULL) return false;
    for (int i = 0; i < of->count; i++) l->carried.items[i] = mlir_copy(e, &inits[i]);
    l->leaf = mlir_leaves(e, &l->carried, &l->count);
    l->inits = MLIR_ARRAY(e, const char *, l->count);
    l->results = MLIR_ARRAY(e, const char *, l->count);
    if (e->failed) return false;
    for (int i = 0; i < l->count; i++) {
        l->inits[i] = mlir_ssa(e, l->leaf[i]);
        l->leaf[i]->dim = MLIR_NO_DIM;
    }
    return true;
}

/* New names for all that is carried. */
static void rename_carries(emitter *e, looping *l) {
    for (int i = 0; i < l->carried.count; i++) {
        int count;
        const char *name = l->of->names[i];
        mlir_value **leaf = mlir_leaves(e, &l->carried.items[i], &count);
        for (int k = 0; k < count; k++) leaf[k]->name = name != NULL ? mlir_named(e, name) : mlir_fresh(e);
    }
}

static void write_head(emitter *e, looping *l, mlir_hint hint) {
    rename_carries(e, l);
    indent(e);
    for (int i = 0; i < l->count; i++) {
        l->results[i] = mlir_result_name(e, &hint, i);
        text_format(e->f.to, "%s%s", i > 0 ? ", " : "", l->results[i]);
    }
    text_format(e->f.to, "%sscf.while", l->count > 0 ? " = " : "");
    text_add(e->f.to, l->count > 0 ? " (" : "");
    for (int i = 0; i < l->count; i++)
        text_format(e->f.to, "%s%s = %s", i > 0 ? ", " : "", l->leaf[i]->name, l->inits[i]);
    text_add(e->f.to, l->count > 0 ? ") : (" : " : (");
    add_types(e, l->leaf, l->count);
    text_add(e->f.to, ") -> (");
    add_types(e, l->leaf, l->count);
    text_add(e->f.to, ") {\n");
}

static void write_condition(emitter *e, looping *l) {
    e->f.depth++;
    mlir_value again = l->of->condition(e, l->of->self, l->carried.items);
    const char *name = mlir_ssa(e, &again);
    indent(e);
    text_format(e->f.to, "scf.condition(%s)", name);
    if (l->count > 0) {
        text_add_char(e->f.to, ' ');
        add_names(e, l->leaf, l->count);
        text_add(e->f.to, " : ");
        add_types(e, l->leaf, l->count);
    }
    text_add_char(e->f.to, '\n');
    e->f.depth--;
}

/* What the body yields, held to the carries' types. */
static void write_yield(emitter *e, looping *l, mlir_value *v) {
    int count;
    mlir_value all = *v;
    if (l->carried.count == 1) all = (mlir_value){.kind = MLIR_TUPLE, .count = 1, .items = v};
    if (e->failed) return;
    if (!mlir_same_functions(&all, &l->carried)) {
        mlir_refuse(e,
                    "a function that a loop carries cannot be lowered to MLIR where an iteration changes it");
        return;
    }
    all = mlir_copy(e, &all);
    mlir_value **leaf = mlir_leaves(e, &all, &count);
    for (int i = 0; i < count && !e->failed; i++) {
        const op_type *as = &l->leaf[i]->type;
        for (int k = 0; k < as->rank; k++)
            mlir_assert_equal(e, leaf[i]->type.dims[k], as->dims[k], "a carried tensor changes its shape");
        *leaf[i] = mlir_cast(e, leaf[i], as);
    }
    yield(e, leaf, count);
}

static void write_body(emitter *e, looping *l) {
    rename_carries(e, l);
    mlir_line(e, "} do {");
    indent(e);
    text_add(e->f.to, "^bb0");
    text_add(e->f.to, l->count > 0 ? "(" : "");
    for (int i = 0; i < l->count; i++)
        text_format(e->f.to, "%s%s: %s", i > 0 ? ", " : "", l->leaf[i]->name, mlir_type_of(e, l->leaf[i]));
    text_add(e->f.to, l->count > 0 ? "):\n" : ":\n");
    e->f.depth++;
    span where = e->where;
    mlir_value next = l->of->body(e, l->of->self, l->carried.items);
    e->where = where;
    write_yield(e, l, &next);
    e->f.depth--;
    mlir_line(e, "}");
}

mlir_value mlir_loop_of(emitter *e, const mlir_loop *of, const mlir_value *inits, mlir_hint hint) {
    looping l;
    if (!loop_open(e, &l, of, inits)) return (mlir_value){.kind = MLIR_NONE};
    write_head(e, &l, hint);
    write_condition(e, &l);
    write_body(e, &l);
    for (int i = 0; i < l.count; i++) l.leaf[i]->name = l.results[i];
    return l.carried;
}

/* The carries in their slots. */
static void fill_slots(emitter *e, const code *n, const mlir_value *carried) {
    for (int i = 0; i < n->u.loop.count; i++) e->f.frame[n->u.loop.carry[i]] = mlir_copy(e, &carried[i]);
}

static mlir_value condition_of(emitter *e, void *self, const mlir_value *carried) {
    fill_slots(e, self, carried);
    return mlir_code(e, ((const code *)self)->u.loop.condition, no_hint);
}

static mlir_value body_of(emitter *e, void *self, const mlir_value *carried) {
    fill_slots(e, self, carried);
    return mlir_code(e, ((const code *)self)->u.loop.body, no_hint);
}

mlir_value mlir_while(emitter *e, const code *n, mlir_hint hint) {
    int count = n->u.loop.count;
    const mlir_loop loop = {.count = count,
                            .names = n->u.loop.names,
                            .condition = condition_of,
                            .body = body_of,
                            .self = (void *)(uintptr_t)n};
    mlir_value *inits = MLIR_ARRAY(e, mlir_value, count), none = {.kind = MLIR_NONE};
    for (int i = 0; inits != NULL && i < count; i++) inits[i] = mlir_code(e, n->u.loop.init[i], no_hint);
    if (e->failed) return none;
    e->where = n->where;
    mlir_value all = mlir_loop_of(e, &loop, inits, hint);
    if (e->failed || all.items == NULL) return none;
    for (int i = n->u.loop.take; i < count; i++) mlir_drop(e, &all.items[i]);
    all.count = n->u.loop.take;
    return all.count == 1 ? all.items[0] : all;
}
