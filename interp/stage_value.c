/* Symbolic values: taking them apart into variables and putting them together again, and their names. */
#include <stdio.h>
#include <string.h>

#include "interp/stage_internal.h"

/* ---- memory ---- */

void *stage_take(stager *s, size_t bytes) {
    void *block = s->g->failed ? NULL : arena_take(s->g->a, bytes > 0 ? bytes : 1);
    if (block == NULL) s->g->failed = true;
    return block;
}

void var_list_add(stager *s, var_list *list, var v) {
    if (v == VAR_NONE) return;
    if (list->count == list->room) {
        int wider = list->room > 0 ? 2 * list->room : 8;
        var *grown = STAGE_ARRAY(s, var, wider);
        if (grown == NULL) return;
        if (list->count > 0) memcpy(grown, list->item, (size_t)list->count * sizeof *grown);
        list->item = grown;
        list->room = wider;
    }
    list->item[list->count++] = v;
}

/* ---- leaves ---- */

var stage_operand(stager *s, const staged *x, span where) {
    if (x->kind == STAGED_VAR) return x->v;
    if (x->kind != STAGED_SIZE || graph_bad(s->g)) return VAR_NONE;
    var v = graph_size(s->g, s->r, x->dim, DT_I64);
    if (v != VAR_NONE) graph_at(s->g, v)->maker->where = where;
    return v;
}

staged stage_tuple(stager *s, int count, const staged *items) {
    if (count == 1) return items[0];
    if (count == 0) return staged_unit();
    staged out = {.kind = STAGED_TUPLE, .v = VAR_NONE, .count = count, .items = STAGE_ARRAY(s, staged, count)};
    if (out.items == NULL) return staged_none();
    memcpy(out.items, items, (size_t)count * sizeof *items);
    return out;
}

void stage_leaves(stager *s, const staged *x, span where, var_list *out) {
    if (x->kind == STAGED_VAR || x->kind == STAGED_SIZE) var_list_add(s, out, stage_operand(s, x, where));
    if (x->kind != STAGED_TUPLE) return;
    for (int i = 0; i < x->count; i++) stage_leaves(s, &x->items[i], where, out);
}

staged stage_like(stager *s, const staged *x, const var *leaves, int *at) {
    if (x->kind == STAGED_VAR || x->kind == STAGED_SIZE) return staged_var(leaves[(*at)++]);
    if (x->kind != STAGED_TUPLE) return *x;
    staged out = stage_tuple(s, x->count, x->items);
    for (int i = 0; out.kind == STAGED_TUPLE && i < out.count; i++) {
        out.items[i] = stage_like(s, &x->items[i], leaves, at);
    }
    return out;
}

/* ---- function values ---- */

bool staged_holds_function(const staged *x) {
    for (int i = 0; x->kind == STAGED_TUPLE && i < x->count; i++) {
        if (staged_holds_function(&x->items[i])) return true;
    }
    return x->kind == STAGED_FUNCTION;
}

static bool same_value(const staged *x, const staged *y) {
    if (x->kind != y->kind || x->count != y->count || x->function != y->function) return false;
    if (x->v != y->v || x->dim != y->dim) return false;
    for (int i = 0; i < x->count; i++) {
        if (!same_value(&x->items[i], &y->items[i])) return false;
    }
    return true;
}

bool staged_same_functions(const staged *x, const staged *y) {
    if (x->kind == STAGED_FUNCTION) return same_value(x, y);
    for (int i = 0; x->kind == STAGED_TUPLE && y->kind == STAGED_TUPLE && i < x->count; i++) {
        if (!staged_same_functions(&x->items[i], &y->items[i])) return false;
    }
    return true;
}

/* ---- names ---- */

void stage_name(stager *s, const staged *x, const char *name) {
    if (name == NULL || graph_bad(s->g)) return;
    if (x->kind == STAGED_VAR && graph_at(s->g, x->v)->name == NULL) graph_at(s->g, x->v)->name = name;
    for (int i = 0; x->kind == STAGED_TUPLE && i < x->count; i++) {
        const char *part = arena_format(s->g->a, "%s_%d", name, i);
        if (part == NULL) s->g->failed = true;
        stage_name(s, &x->items[i], part);
    }
}

/* ---- what a branch or loop reads ---- */

static bool list_has(const var_list *list, var v) {
    for (int i = 0; i < list->count; i++) {
        if (list->item[i] == v) return true;
    }
    return false;
}

static void add_read(stager *s, var_list *list, const staged *x) {
    bool read = x->kind == STAGED_VAR && (graph_floating(s->g, x->v) || graph_at(s->g, x->v)->tape != NULL);
    if (read && !list_has(list, x->v)) var_list_add(s, list, x->v);
    for (int i = 0; i < x->count; i++) add_read(s, list, &x->items[i]);
}

var_list stage_reads(stager *s, const staged *frame, const slots *reads) {
    var_list list = {.item = STAGE_ARRAY(s, var, 0)};
    for (int i = 0; i < reads->count; i++) add_read(s, &list, &frame[reads->slot[i]]);
    return list;
}

/* ---- variables and regions ---- */

var stage_fresh_like(stager *s, var v) {
    if (v == VAR_NONE || s->g->failed) return VAR_NONE;
    graph_var of = *graph_at(s->g, v);
    return of.tape != NULL ? graph_tape_var(s->g, of.tape, NULL) : graph_var_new(s->g, &of.type, NULL);
}

static bool in_scope(const stager *s, var v) {
    const region *home = graph_at(s->g, v)->home;
    for (const region *r = s->r; r != NULL; r = r->outer) {
        if (r == home) return true;
    }
    return false;
}

enum { SYMBOLS_MOST = 64 };

bool stage_dim_in_scope(stager *s, int64_t dim) {
    int64_t symbols[SYMBOLS_MOST];
    const dim_algebra *a = s->g->algebra;
    int count = dim < 0 ? a->symbols(a->self, dim, symbols, SYMBOLS_MOST) : 0;
    for (int i = 0; i < count; i++) {
        const witness *w = graph_witness_of(s->g, symbols[i]);
        if (w == NULL || (w->name == NULL && !in_scope(s, w->v))) return false;
    }
    return true;
}
