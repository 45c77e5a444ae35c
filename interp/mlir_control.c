/* Conditionals as scf.if, loops as scf.while, and the place of handlers. */
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
    mlir_value out = e->failed ? (mlir_value){.kind = MLIR_NONE} : join(e, &then->v, &otherwise->v, mark);
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
            *dim = mlir_dim_new(e, mlir_let(e, "tensor.dim %s, %s : %s", name[i], axis, mlir_type_of(e, leaf[i])));
        }
    }
    return out;
}

mlir_value mlir_if(emitter *e, const code *n, mlir_hint hint) {
    mlir_value condition = mlir_code(e, n->u.branch.condition, no_hint);
    const char *name = mlir_ssa(e, &condition);
    text *outer = e->f.to;
    int mark = e->f.dim_count;
    branch then, otherwise;
    branch_open(e, &then);
    then.v = mlir_code(e, n->u.branch.then, no_hint);
    branch_close(e, &then, outer);
    branch_open(e, &otherwise);
    otherwise.v = mlir_code(e, n->u.branch.otherwise, no_hint);
    branch_close(e, &otherwise, outer);
    e->where = n->where;
    return write_if(e, name, &then, &otherwise, mark, hint);
}

/* The right operand only where the left one does not decide. */
mlir_value mlir_and_or(emitter *e, const code *n) {
    mlir_value a = mlir_code(e, n->u.two.a, no_hint);
    const char *name = mlir_ssa(e, &a);
    text *outer = e->f.to;
    int mark = e->f.dim_count;
    branch right, decided, *then = &right, *otherwise = &decided;
    branch_open(e, &right);
    right.v = mlir_code(e, n->u.two.b, no_hint);
    branch_close(e, &right, outer);
    branch_open(e, &decided);
    decided.v = mlir_number_value(e, DT_Bool, mlir_number(e, DT_Bool, n->kind == CODE_OR ? 1.0 : 0.0));
    branch_close(e, &decided, outer);
    if (n->kind == CODE_OR) then = &decided, otherwise = &right;
    return write_if(e, name, then, otherwise, mark, no_hint);
}

/* ---- while ---- */

/* A loop while it is emitted: its carries as one tuple, in the types of the inits. */
typedef struct looping {
    const code *n;
    mlir_value carried;
    mlir_value **leaf;
    int count;
    const char **inits, **results;
} looping;

static bool loop_open(emitter *e, looping *l, const code *n) {
    int count = n->u.loop.count;
    *l = (looping){.n = n, .carried = {.kind = MLIR_TUPLE, .count = count}};
    l->carried.items = MLIR_ARRAY(e, mlir_value, count);
    if (l->carried.items == NULL) return false;
    for (int i = 0; i < count; i++) {
        mlir_value v = mlir_code(e, n->u.loop.init[i], no_hint);
        l->carried.items[i] = mlir_copy(e, &v);
    }
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

/* New names for all that is carried, and the carries' slots filled with it. */
static void rename_carries(emitter *e, looping *l) {
    for (int i = 0; i < l->carried.count; i++) {
        int count;
        mlir_value **leaf = mlir_leaves(e, &l->carried.items[i], &count);
        for (int k = 0; k < count; k++) leaf[k]->name = mlir_named(e, l->n->u.loop.names[i]);
        e->f.frame[l->n->u.loop.carry[i]] = mlir_copy(e, &l->carried.items[i]);
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
    mlir_value again = mlir_code(e, l->n->u.loop.condition, no_hint);
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
        mlir_refuse(e, "a function that a loop carries cannot be lowered to MLIR where an iteration changes it");
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
    mlir_value next = mlir_code(e, l->n->u.loop.body, no_hint);
    e->where = l->n->where;
    write_yield(e, l, &next);
    e->f.depth--;
    mlir_line(e, "}");
}

mlir_value mlir_while(emitter *e, const code *n, mlir_hint hint) {
    looping l;
    if (!loop_open(e, &l, n)) return (mlir_value){.kind = MLIR_NONE};
    write_head(e, &l, hint);
    write_condition(e, &l);
    write_body(e, &l);
    for (int i = 0; i < l.count; i++) l.leaf[i]->name = l.results[i];
    for (int i = n->u.loop.take; i < l.carried.count; i++) mlir_drop(e, &l.carried.items[i]);
    l.carried.count = n->u.loop.take;
    return n->u.loop.take == 1 ? l.carried.items[0] : l.carried;
}

/* ---- handlers ---- */

/* The one place where a handler would become a call: of a function that gives the primal and the derivatives,
 * made of the handled one. */
mlir_value mlir_handle(emitter *e, const code *n) {
    const char *what = n->kind == CODE_FORWARD   ? "a derivative in forward mode"
                       : n->kind == CODE_REVERSE ? "a derivative in reverse mode"
                                                 : "a matrix of derivatives";
    e->where = n->where;
    mlir_refuse(e, "%s cannot be lowered to MLIR", what);
    return (mlir_value){.kind = MLIR_NONE};
}
