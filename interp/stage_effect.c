/* What a program does besides computing, as nodes: print, assert, load, save, drop. */
#include "interp/stage_internal.h"

#include "runtime/storage.h"

static node *effect(stager *s, node_kind kind, int n, const var *in, int m, int strings, span where) {
    node *made = graph_bad(s->g) ? NULL : node_new(s->g, s->r, kind, n, in, m);
    if (made == NULL) return NULL;
    made->where = where;
    made->string_count = strings;
    made->strings = STAGE_ARRAY(s, const char *, strings);
    return made->strings != NULL ? made : NULL;
}

static const char *string_text(stager *s, const expr *e) {
    const char *words = arena_text(s->g->a, e->u.string.bytes, e->u.string.length);
    if (words == NULL) s->g->failed = true;
    return words;
}

static staged stage_print(stager *s, staged *frame, const code *n) {
    var_list in = {0};
    for (int i = 0; i < n->u.print.count; i++) {
        if (n->u.print.strings[i] != NULL) continue;
        const code *printed = n->u.print.items[i];
        staged x = stage(s, frame, printed);
        if (x.kind != STAGED_VAR && x.kind != STAGED_SIZE) {
            graph_refuse(s->g, ERROR_K0703, printed->where, "print the parts of a tuple one by one",
                         "a `print` of something that is no number or tensor cannot be written out");
        }
        stage_leaves(s, &x, printed->where, &in);
    }
    node *made = effect(s, NODE_PRINT, in.count, in.item, 0, n->u.print.count, n->where);
    for (int i = 0; made != NULL && i < n->u.print.count; i++) {
        if (n->u.print.strings[i] != NULL) made->strings[i] = string_text(s, n->u.print.strings[i]);
    }
    return staged_unit();
}

static staged stage_assert(stager *s, staged *frame, const code *n) {
    var condition = stage_var(s, frame, n->u.assert_.condition);
    node *made = effect(s, NODE_ASSERT, 1, &condition, 0, 1, n->where);
    if (made != NULL) made->strings[0] = n->u.assert_.message;
    return staged_unit();
}

/* A file's sizes are known by what is read from it. */
static staged stage_load(stager *s, const code *n) {
    graph *g = s->g;
    node *made = effect(s, NODE_LOAD, 0, NULL, 1, 1, n->where);
    if (made == NULL) return staged_none();
    made->strings[0] = n->u.file.path;
    op_type t = {.dtype = n->dtype, .rank = n->rank};
    for (int i = 0; i < t.rank; i++) t.dims[i] = g->algebra->unknown(g->algebra->self);
    var out = graph_var_new(g, &t, NULL);
    node_out(g, s->r, made, 0, out);
    graph_note_dims(g, out);
    return staged_var(out);
}

static staged stage_save(stager *s, staged *frame, const code *n) {
    var v = stage_var(s, frame, n->u.file.value);
    node *made = effect(s, NODE_SAVE, 1, &v, 0, 2, n->where);
    if (made == NULL) return staged_unit();
    made->strings[0] = n->u.file.path;
    bool same = n->dtype == graph_at(s->g, v)->type.dtype;
    made->strings[1] = same ? NULL : storage_name((storage)n->dtype);
    return staged_unit();
}

/* A tensor ends by not being read. */
static staged stage_drop(stager *s, staged *frame, const code *n) {
    staged x = stage(s, frame, n->u.size.a);
    if (x.kind == STAGED_VAR && !graph_bad(s->g) && graph_at(s->g, x.v)->tape != NULL) {
        (void)effect(s, NODE_DROP, 1, &x.v, 0, 0, n->where);
    }
    return staged_unit();
}

staged stage_effect(stager *s, staged *frame, const code *n) {
    switch ((code_kind)n->kind) {
    case CODE_PRINT: return stage_print(s, frame, n);
    case CODE_ASSERT: return stage_assert(s, frame, n);
    case CODE_LOAD: return stage_load(s, n);
    case CODE_SAVE: return stage_save(s, frame, n);
    default: return stage_drop(s, frame, n);
    }
}
