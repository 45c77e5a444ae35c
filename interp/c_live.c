/* Where variables are read last, and who owns the entries of tensors. */
#include "interp/c_emit.h"

/* A node that is being looked at, and those that it is inside of. */
typedef struct place {
    c_writer *w;
    const region *r;
    int at;
    const struct place *outer;
} place;

/* Read at a place: the node of the variable's home that it is, or is inside of. */
static void note_use(void *self, var v) {
    const place *p = self;
    c_var *of = c_of(p->w, v);
    while (p != NULL && p->r != of->home) p = p->outer;
    if (p == NULL || p->at < of->last) return;
    of->reads = p->at > of->last ? 1 : of->reads + 1;
    of->last = p->at;
}

static void define(c_writer *w, const region *r, var v) {
    if (v == VAR_NONE) return;
    w->of[v].home = r;
    w->of[v].last = -1;
}

/* The same value under another name. */
static void note_same(c_writer *w, const node *n) {
    bool op = n->kind == NODE_OP && (n->op == OP_identity || n->op == OP_carry);
    bool tape = n->kind == NODE_PUSH || n->kind == NODE_POP;
    if (op || tape || n->kind == NODE_STOP) w->of[n->out[0]].same = n->in[0];
}

static void walk(c_writer *w, const region *r, const place *outer);

static void walk_inside(c_writer *w, const node *n, const place *here) {
    if (n->kind == NODE_WHILE) {
        for (int k = 0; k < n->n; k++) {
            w->of[n->inside[0]->params[k]].same = n->inside[1]->params[k];
            w->of[n->inside[1]->params[k]].carried = true;
        }
    }
    for (int k = 0; k < 2; k++)
        if (n->inside[k] != NULL) walk(w, n->inside[k], here);
    if (n->call != NULL && n->call->body != NULL) {
        for (int k = 0; k < n->n; k++) w->of[n->call->body->params[k]].same = n->in[k];
        walk(w, n->call->body, here);
    }
}

static void walk(c_writer *w, const region *r, const place *outer) {
    place here = {w, r, 0, outer};
    for (int k = 0; k < r->param_count; k++) define(w, r, r->params[k]);
    for (here.at = 0; here.at < r->count; here.at++) {
        const node *n = r->nodes[here.at];
        for (int k = 0; k < n->m; k++) define(w, r, n->out[k]);
        note_same(w, n);
        node_each_use(w->g, n, note_use, &here);
        walk_inside(w, n, &here);
    }
    for (int k = 0; k < r->result_count; k++) note_use(&here, r->results[k]);
}

void c_find_last(c_writer *w) {
    w->of = C_ARRAY(w, c_var, w->g->count);
    for (var v = 0; w->of != NULL && v < w->g->count; v++) w->of[v] = (c_var){.same = VAR_NONE, .last = -1};
    if (w->of != NULL) walk(w, w->g->top, NULL);
}

/* ---- owners ---- */

bool c_owned(const c_writer *w, var v) {
    const graph_var *x = graph_at(w->g, v);
    const c_var *of = &w->of[v];
    return x->tape == NULL && x->type.rank > 0 && of->same == VAR_NONE && !of->borrowed && of->name != NULL;
}

/* What the graph reads and the text does not, such as a size that another variable has too, is seen to be there. */
static void look_at(c_writer *w, const c_var *of, var root) {
    const node *maker = graph_at(w->g, root)->maker;
    bool named = maker != NULL && maker->kind != NODE_NUMBER && of->name != NULL;
    if (named && !c_mentions(w, of->from, of->name)) c_line(w, "(void)%s;", of->name);
}

/* At the end of a variable's life. */
static void end_if_over(void *self, var v) {
    place *p = self;
    c_var *of = c_of(p->w, v);
    var root = c_root(p->w, v);
    if (of->home != p->r || of->carried || of->moved || of->last > p->at || p->w->failed) return;
    of->moved = true;
    if (c_owned(p->w, root))
        c_release(p->w, of->name);
    else
        look_at(p->w, of, root);
}

static void end_inside(place *p, const region *r) {
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        node_each_use(p->w->g, n, end_if_over, p);
        for (int k = 0; k < 2; k++)
            if (n->inside[k] != NULL) end_inside(p, n->inside[k]);
        if (n->call != NULL && n->call->body != NULL) end_inside(p, n->call->body);
    }
    for (int k = 0; k < r->result_count; k++) end_if_over(p, r->results[k]);
}

void c_release_behind(c_writer *w, const region *r, int i) {
    const node *n = r->nodes[i];
    place here = {w, r, i, NULL};
    for (int k = 0; k < n->m; k++)
        if (n->out[k] != VAR_NONE) w->of[n->out[k]].from = w->body.length;
    node_each_use(w->g, n, end_if_over, &here);
    for (int k = 0; k < 2; k++)
        if (n->inside[k] != NULL) end_inside(&here, n->inside[k]);
    if (n->call != NULL && n->call->body != NULL) end_inside(&here, n->call->body);
    for (int k = 0; k < n->m; k++)
        if (n->out[k] != VAR_NONE) end_if_over(&here, n->out[k]);
}

/* Whether the entries may go to another variable at node i of r (its count: as a result), which alone reads them
 * then, and once. */
static bool may_move(const c_var *of, const region *r, int i) {
    bool last = of->home == r && of->last == i && (of->reads == 1 || i == r->count);
    return last && !of->carried && !of->moved;
}

static void retain(c_writer *w, c_var *of, const char *name) {
    of->shared = true;
    c_retain(w, name);
}

void c_begin(c_writer *w, const char *kind, const char *name, var v, const region *r, int i) {
    const graph_var *x = graph_at(w->g, v);
    c_var *of = c_of(w, v);
    if (x->tape == NULL && x->type.rank > 0 && !c_owned(w, c_root(w, v))) {
        c_line(w, "%s %s;", kind, name);
        c_hand_over(w, name, v, r, i);
        return;
    }
    c_line(w, "%s %s = %s;", kind, name, of->name != NULL ? of->name : "");
    if (x->tape != NULL || x->type.rank == 0) return;
    if (may_move(of, r, i))
        of->moved = true;
    else
        retain(w, of, name);
}

void c_hand_over(c_writer *w, const char *target, var v, const region *r, int i) {
    c_var *of = c_of(w, v);
    var root = c_root(w, v);
    const graph_var *x = graph_at(w->g, v);
    if (of->name == NULL || w->failed) return;
    if (x->tape == NULL && x->type.rank > 0 && !c_owned(w, root)) {
        c_copy(w, &x->type, target, of->name);
        return;
    }
    c_line(w, "%s = %s;", target, of->name);
    if (x->tape != NULL || x->type.rank == 0) return;
    if (may_move(of, r, i))
        of->moved = true;
    else
        retain(w, of, target);
}

void c_share(c_writer *w, var to, var from, const region *r, int i) {
    c_var *of = c_of(w, from);
    w->of[to].borrowed = !c_owned(w, c_root(w, from));
    if (w->of[to].borrowed) return;
    w->of[to].shared = c_shared(w, c_root(w, from));
    if (may_move(of, r, i)) {
        of->moved = true;
        return;
    }
    w->of[to].shared = true;
    retain(w, of, w->of[to].name);
}

bool c_shared(const c_writer *w, var v) {
    return w->of[v].shared || graph_at(w->g, v)->maker == NULL || graph_at(w->g, v)->maker->kind != NODE_OP;
}

bool c_goes_on(c_writer *w, var v, const region *r) {
    c_var *of = c_of(w, v);
    if (!c_owned(w, c_root(w, v)) || !may_move(of, r, r->count)) return false;
    return of->moved = true;
}

void c_take_over(c_writer *w, const c_site *s) {
    const char *name = s->out.name, *kind = c_struct(w, &s->out.type);
    c_line(w, "%s %s;", kind, name);
    c_hand_over(w, name, s->of->in[0], s->r, s->i);
    c_own(w, &s->out);
}
