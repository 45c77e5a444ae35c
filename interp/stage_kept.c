/* Calls that stay calls: of functions that call themselves, whose text would have no end, and of those with
 * rules of their own, whose rules a gradient has to find. */
#include <string.h>

#include "interp/dims.h"
#include "interp/stage_internal.h"

/* ---- which functions call themselves ---- */

typedef struct recursion {
    const code_function *f;
    bool recurs;
    struct recursion *next;
} recursion;

typedef struct call_walk {
    const capture_set *all;
    const fn_decl *from;
    const capture_set **seen;
    int count, room;
} call_walk;

static bool reaches(call_walk *w, const capture_set *set) {
    if (set == NULL || w->count == w->room) return false;
    for (int i = 0; i < w->count; i++) {
        if (w->seen[i] == set) return false;
    }
    w->seen[w->count++] = set;
    for (int i = 0; i < set->callee_count; i++) {
        if (set->callees[i] == w->from || reaches(w, captures_of(w->all, set->callees[i]))) return true;
    }
    return false;
}

static bool recurs(stager *s, const code_function *f) {
    if (f->decl == NULL) return false;
    for (const recursion *r = s->recursions; r != NULL; r = r->next) {
        if (r->f == f) return r->recurs;
    }
    call_walk w = {.all = s->captures, .from = f->decl};
    for (const capture_set *set = s->captures; set != NULL; set = set->next) w.room++;
    w.seen = STAGE_ARRAY(s, const capture_set *, w.room);
    recursion *known = STAGE_ARRAY(s, recursion, 1);
    if (w.seen == NULL || known == NULL) return false;
    *known = (recursion){.f = f, .recurs = reaches(&w, captures_of(s->captures, f->decl)), .next = s->recursions};
    s->recursions = known;
    return known->recurs;
}

static bool ruled(const code_function *f) { return f->vjp.function != NULL || f->jvp.function != NULL; }

bool stage_keeps(stager *s, const code_function *f) { return ruled(f) || recurs(s, f); }

/* ---- what such a call can be ---- */

static const char *why_kept(const code_function *f) { return ruled(f) ? "has a rule of its own" : "calls itself"; }

/* The function is written out as it stands, where it sees its parameters alone. */
static bool stands_alone(stager *s, const code_function *f, const staged *args, span where) {
    if (f->captures > 0) {
        graph_refuse(s->g, ERROR_K0703, where, "pass it as a parameter",
                     "`%s` cannot be written out: it %s and uses `%s` from outside", f->name, why_kept(f),
                     f->captured[0]->name);
    }
    for (int i = 0; i < f->params; i++) {
        if (staged_holds_function(&args[i])) {
            graph_refuse(s->g, ERROR_K0703, where, "name the function in it instead of passing it",
                         "`%s` cannot be written out: it %s and takes a function", f->name, why_kept(f));
        } else if (ruled(f) && args[i].kind == STAGED_TUPLE) {
            graph_refuse(s->g, ERROR_K0703, where, "pass the parts as parameters of their own",
                         "`%s` cannot be written out: it has a rule of its own and takes a tuple", f->name);
        }
    }
    return !graph_bad(s->g);
}

static node *call_node(stager *s, const code_function *f, const var_list *in, int results, span where) {
    graph_call *call = STAGE_ARRAY(s, graph_call, 1);
    node *made = node_new(s->g, s->r, NODE_CALL, in->count, in->item, results);
    if (call == NULL || made == NULL) return NULL;
    *call = (graph_call){.name = f->name, .decl = f->decl};
    made->call = call;
    made->where = where;
    return made;
}

/* ---- functions that call themselves: types come from the declaration ---- */

typedef struct instance {
    int count;
    const int64_t *from;        /* the dims that the function quantifies */
    int64_t *to;                /* what they are in this call; 0: not known */
} instance;

static void unify(stager *s, instance *n, const type *t, const staged *x) {
    for (int i = 0; x->kind == STAGED_TUPLE && i < x->count; i++) unify(s, n, t->items[i], &x->items[i]);
    if (t->kind != TYPE_TENSOR || x->kind != STAGED_VAR) return;
    for (int i = 0; i < t->tensor.rank; i++) {
        for (int k = 0; k < n->count; k++) {
            if (n->from[k] == t->tensor.dims[i] && n->to[k] == 0) n->to[k] = graph_type(s->g, x->v)->dims[i];
        }
    }
}

enum { SYMBOLS_MOST = 64 };

static int64_t instance_dim(stager *s, const instance *n, int64_t dim) {
    int64_t symbols[SYMBOLS_MOST];
    const dim_algebra *a = s->g->algebra;
    int count = dims_symbols(s->p->dims, dim, symbols, SYMBOLS_MOST);
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (int k = 0; k < n->count; k++) known = known || (n->from[k] == symbols[i] && n->to[k] != 0);
        if (!known) return a->unknown(a->self);
    }
    return a->substitute(a->self, dim, n->count, n->from, n->to);
}

static int leaf_count(const type *t) {
    int count = t->kind == TYPE_TENSOR;
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++) count += leaf_count(t->items[i]);
    return count;
}

static staged result_of(stager *s, const instance *n, const type *t, node *made, int *at) {
    graph *g = s->g;
    if (t->kind == TYPE_TENSOR) {
        op_type leaf = t->tensor;
        for (int i = 0; i < leaf.rank; i++) leaf.dims[i] = instance_dim(s, n, leaf.dims[i]);
        var v = graph_var_new(g, &leaf, NULL);
        node_out(g, s->r, made, (*at)++, v);
        graph_note_dims(g, v);
        return staged_var(v);
    }
    if (t->kind != TYPE_TUPLE) return staged_unit();
    staged *items = STAGE_ARRAY(s, staged, t->count);
    if (items == NULL) return staged_none();
    for (int i = 0; i < t->count; i++) items[i] = result_of(s, n, t->items[i], made, at);
    return stage_tuple(s, t->count, items);
}

static bool holds_tensors_alone(const type *t) {
    for (int i = 0; t->kind == TYPE_TUPLE && i < t->count; i++) {
        if (!holds_tensors_alone(t->items[i])) return false;
    }
    return t->kind != TYPE_FN && t->kind != TYPE_TAPE;
}

static staged recursive_call(stager *s, const code_function *f, const staged *args, const var_list *in, span where) {
    const type *t = f->decl->type;
    if (!holds_tensors_alone(t->result)) {
        graph_refuse(s->g, ERROR_K0703, where, "write the recursion as a `while` loop",
                     "`%s` cannot be written out: it calls itself and gives a function or tape", f->name);
        return staged_none();
    }
    instance n = {.count = t->generic_count, .from = t->generic};
    n.to = STAGE_ARRAY(s, int64_t, t->generic_count);
    node *made = call_node(s, f, in, leaf_count(t->result), where);
    if (n.to == NULL || made == NULL) return staged_none();
    for (int i = 0; i < f->params; i++) unify(s, &n, t->items[i], &args[i]);
    int at = 0;
    return result_of(s, &n, t->result, made, &at);
}

/* ---- functions with rules ---- */

typedef struct kept_function {
    const code_function *f;
    struct kept_function *outer;
} kept_function;

static bool being_staged(const stager *s, const code_function *f) {
    for (const kept_function *k = s->kept; k != NULL; k = k->outer) {
        if (k->f == f) return true;
    }
    return false;
}

/* A region with params like the variables, in which f is staged on them. */
static region *staged_region(stager *s, node *holder, const code_function *f, const var_list *like) {
    region *outer = s->r, *inner = region_new(s->g, outer, holder);
    staged *args = STAGE_ARRAY(s, staged, like->count);
    if (inner == NULL || args == NULL || f->params != like->count) return NULL;
    for (int i = 0; i < like->count; i++) {
        args[i] = staged_var(region_param(s->g, inner, stage_fresh_like(s, like->item[i])));
    }
    s->r = inner;
    staged result = stage_in_place(s, f, args, NULL);
    var_list leaves = {0};
    stage_leaves(s, &result, f->body->where, &leaves);
    region_results(s->g, inner, leaves.count, leaves.item);
    s->r = outer;
    return inner;
}

static region *rule_region(stager *s, node *holder, const code_function *rule, const var_list *in, int extra,
                           const var *more) {
    var_list all = {0};
    for (int i = 0; i < in->count; i++) var_list_add(s, &all, in->item[i]);
    for (int i = 0; i < extra; i++) var_list_add(s, &all, more[i]);
    return staged_region(s, holder, rule, &all);
}

/* The result's type is that of the body's result, as far as it can be said outside. */
static var ruled_result(stager *s, node *made) {
    graph *g = s->g;
    if (graph_bad(g) || made->call->body->result_count != 1) return VAR_NONE;
    op_type t = *graph_type(g, made->call->body->results[0]);
    for (int i = 0; i < t.rank; i++) {
        if (!stage_dim_in_scope(s, t.dims[i])) t.dims[i] = g->algebra->unknown(g->algebra->self);
    }
    var out = graph_var_new(g, &t, NULL);
    node_out(g, s->r, made, 0, out);
    graph_note_dims(g, out);
    return out;
}

static void stage_rules(stager *s, node *made, const code_function *f, const var_list *in, var out) {
    graph_call *call = made->call;
    const code_function *vjp = f->vjp.function, *jvp = f->jvp.function;
    if (vjp != NULL) {
        call->vjp_name = vjp->name;
        call->vjp_decl = vjp->decl;
        call->vjp = rule_region(s, made, vjp, in, 2, (var[]){out, out});
    }
    if (jvp != NULL) {
        var_list floating = {0};
        for (int i = 0; i < in->count; i++) {
            if (graph_floating(s->g, in->item[i])) var_list_add(s, &floating, in->item[i]);
        }
        call->jvp_name = jvp->name;
        call->jvp_decl = jvp->decl;
        call->jvp = rule_region(s, made, jvp, in, floating.count, floating.item);
    }
}

static staged ruled_call(stager *s, const code_function *f, const var_list *in, span where) {
    kept_function self = {.f = f, .outer = s->kept};
    node *made = call_node(s, f, in, 1, where);
    if (made == NULL) return staged_none();
    s->kept = &self;
    made->call->body = staged_region(s, made, f, in);
    var out = ruled_result(s, made);
    if (out != VAR_NONE) stage_rules(s, made, f, in, out);
    s->kept = self.outer;
    return staged_var(out);
}

staged stage_kept(stager *s, const code_function *f, const staged *args, span where) {
    var_list in = {0};
    if (!stands_alone(s, f, args, where)) return staged_none();
    for (int i = 0; i < f->params; i++) stage_leaves(s, &args[i], where, &in);
    if (graph_bad(s->g)) return staged_none();
    if (!ruled(f) || being_staged(s, f)) return recursive_call(s, f, args, &in, where);
    return ruled_call(s, f, &in, where);
}
