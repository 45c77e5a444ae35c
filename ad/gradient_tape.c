/* The backward part of tapes: the adjoint of a tape is a tape of the adjoints of what it holds, on which a
 * pop pushes and off which a push pops.
 *
 * Whether a leaf's adjoint is there is a property of the text too: an entry whose leaf receives nothing has
 * zeros pushed for it as long as another pop may give it something; when the first push is taken back, all
 * pops have been, and leaves that none of them gave anything are left out. What was pushed and not popped, or popped
 * where nothing came back, lies below all that was: a push finds the adjoint tape empty then, which counts as zeros. */
#include <string.h>

#include "ad/reversal.h"

typedef struct adjoint_push {
    struct adjoint_push *next;
    node *made;
    bool *absent;               /* by leaf: zeros stand for nothing */
} adjoint_push;

typedef struct adjoint_tape {
    struct adjoint_tape *next;
    const tape_element *of;
    tape_element *element;
    int *which;                 /* of the element's leaves: the leaf of `of` */
    adjoint_push *pushes;
    bool settled;               /* leaves that receive nothing are out */
    bool lacks;                 /* there may be pushes without an entry of it */
} adjoint_tape;

/* Of a tape that was not seen yet: an adjoint leaf for each floating leaf and for each tape. */
static adjoint_tape *adjoint_of(reversal *v, const tape_element *of) {
    for (adjoint_tape *t = v->tapes; t != NULL; t = t->next) {
        if (t->of == of) return t;
    }
    adjoint_tape *t = graph_take(v->g, sizeof *t);
    tape_element *element = graph_take(v->g, sizeof *element);
    tape_leaf *leaf = graph_take(v->g, (size_t)of->count * sizeof *leaf);
    int *which = graph_take(v->g, (size_t)of->count * sizeof *which);
    if (v->g->failed) return NULL;
    *element = (tape_element){.leaf = leaf};
    *t = (adjoint_tape){.next = v->tapes, .of = of, .element = element, .which = which};
    v->tapes = t;
    for (int i = 0; i < of->count; i++) {
        if (of->leaf[i].tape != NULL) {
            adjoint_tape *inner = adjoint_of(v, of->leaf[i].tape);
            if (inner == NULL) return NULL;
            which[element->count] = i;
            leaf[element->count++] = (tape_leaf){.tape = inner->element};
        } else if (dtype_floating((dtype)of->leaf[i].type.dtype)) {
            which[element->count] = i;
            leaf[element->count++] = of->leaf[i];
        }
    }
    return t;
}

tape_element *reversal_element(reversal *v, var of) {
    adjoint_tape *t = adjoint_of(v, graph_at(v->g, of)->tape);
    return t == NULL ? NULL : t->element;
}

var reversal_empty_tape(reversal *v, var of) {
    tape_element *element = reversal_element(v, of);
    node *made = element == NULL ? NULL : node_new(v->g, v->w.r, NODE_TAPE, 0, NULL, 1);
    if (made == NULL) return VAR_NONE;
    made->answers = v->w.answers;
    node_out(v->g, v->w.r, made, 0, graph_tape_var(v->g, element, NULL));
    return made->out[0];
}

/* Names d after `of`. */
static var named(reversal *v, var d, var of) {
    graph_name_derivative(v->g, d, of, "d_");
    return d;
}

/* A tape that is used up here has no adjoint from behind but an empty one, which a branch may have been given. */
void reversal_drop_adjoint(reversal *v, var tape) {
    var d = reversal_take(v, tape);
    if (d != VAR_NONE) (void)node_new(v->g, v->w.r, NODE_DROP, 1, &d, 0);
}

/* ---- entries without adjoints ---- */

static void lack(reversal *v, var tape) {
    if (!reversal_wants(v, tape) || graph_at(v->g, tape)->tape == NULL) return;
    adjoint_tape *t = adjoint_of(v, graph_at(v->g, tape)->tape);
    if (t != NULL) t->lacks = true;
}

void reversal_drop(reversal *v, const region *r, node *n) {
    if (!region_leaves_empty(v->g, r, n->in[0])) lack(v, n->in[0]);
}

void reversal_pass(reversal *v, const node *n) {
    for (int i = 0; i < n->n; i++) lack(v, n->in[i]);
    for (int i = 0; i < n->read_count; i++) lack(v, n->reads[i]);
}

/* ---- a pop is taken back by a push ---- */

static bool any_leaf(const reversal *v, const node *n) {
    for (int i = 1; i < n->m; i++) {
        if (reversal_wants(v, n->out[i]) && v->adjoint[n->out[i]] != VAR_NONE) return true;
    }
    return false;
}

void reversal_pop(reversal *v, node *n) {
    var tape = n->in[0], rest = n->out[0];
    if (!reversal_wants(v, tape)) return;
    if (v->adjoint[rest] == VAR_NONE && !any_leaf(v, n)) {
        lack(v, tape);
        return;
    }
    adjoint_tape *t = adjoint_of(v, graph_at(v->g, tape)->tape);
    adjoint_push *push = graph_take(v->g, sizeof *push);
    if (t == NULL || push == NULL) return;
    int count = t->element->count;
    var *in = graph_take(v->g, (size_t)(count + 1) * sizeof *in);
    bool *absent = graph_take(v->g, (size_t)(count + 1) * sizeof *absent);
    if (in == NULL || absent == NULL) return;
    reversal_zero_if_absent(v, rest);
    in[0] = reversal_take(v, rest);
    for (int i = 0; i < count && !graph_bad(v->g); i++) {
        var leaf = n->out[1 + t->which[i]];
        absent[i] = v->adjoint[leaf] == VAR_NONE;
        if (absent[i]) v->adjoint[leaf] = reversal_zeros(v, leaf);
        in[1 + i] = reversal_take(v, leaf);
    }
    node *made = graph_bad(v->g) ? NULL : node_new(v->g, v->w.r, NODE_PUSH, count + 1, in, 1);
    if (made == NULL) return;
    made->answers = n->where;
    node_out(v->g, v->w.r, made, 0, named(v, graph_tape_var(v->g, t->element, NULL), tape));
    reversal_drop_adjoint(v, tape);
    v->adjoint[tape] = made->out[0];
    *push = (adjoint_push){.next = t->pushes, .made = made, .absent = absent};
    t->pushes = push;
}

/* ---- a push is taken back by a pop ---- */

static bool always_absent(const adjoint_tape *t, int leaf) {
    for (const adjoint_push *p = t->pushes; p != NULL; p = p->next) {
        if (!p->absent[leaf]) return false;
    }
    return true;
}

static void settle(adjoint_tape *t) {
    if (t->settled) return;
    t->settled = true;
    int kept = 0;
    for (int i = 0; i < t->element->count; i++) {
        if (always_absent(t, i)) continue;
        t->element->leaf[kept] = t->element->leaf[i];
        t->which[kept] = t->which[i];
        for (adjoint_push *p = t->pushes; p != NULL; p = p->next) {
            p->made->in[1 + kept] = p->made->in[1 + i];
            p->absent[kept] = p->absent[i];
        }
        kept++;
    }
    t->element->count = kept;
    for (adjoint_push *p = t->pushes; p != NULL; p = p->next) p->made->n = 1 + kept;
}

/* The entry on top of d, in region r: the rest, and an adjoint of each of the leaves that n pushes. */
static node *pop_adjoints(reversal *v, const adjoint_tape *t, const node *n, region *r, var d) {
    int count = t->element->count;
    node *made = node_new(v->g, r, NODE_POP, 1, &d, 1 + count);
    if (made == NULL) return NULL;
    made->answers = n->where;
    node_out(v->g, r, made, 0, named(v, graph_tape_var(v->g, t->element, NULL), n->in[0]));
    for (int i = 0; i < count && !v->g->failed; i++) {
        tape_element *inner = t->element->leaf[i].tape;
        var pushed = n->in[1 + t->which[i]];
        op_type own = *graph_type(v->g, pushed); /* its sizes are known here; the tape's need not be */
        var popped = inner != NULL ? graph_tape_var(v->g, inner, NULL) : graph_var_new(v->g, &own, NULL);
        node_out(v->g, r, made, 1 + i, named(v, popped, pushed));
    }
    return made;
}

/* The same where d may be empty. */
static node *pop_or_zeros(reversal *v, const adjoint_tape *t, const node *n, var d) {
    graph *g = v->g;
    region *outside = v->w.r;
    const op_type flag = {.dtype = DT_Bool};
    node *asked = node_new(g, outside, NODE_EMPTY, 1, &d, 1);
    if (asked == NULL) return NULL;
    node_out(g, outside, asked, 0, graph_var_new(g, &flag, NULL));
    node *made = node_new(g, outside, NODE_IF, 1, asked->out, 1 + t->element->count);
    region *none = region_new(g, outside, made), *some = region_new(g, outside, made);
    if (g->failed) return NULL;
    made->answers = n->where;
    made->inside[0] = none;
    made->inside[1] = some;
    const node *popped = pop_adjoints(v, t, n, some, d);
    v->w.r = none;
    region_add_result(g, none, d);
    for (int i = 0; i < t->element->count && !graph_bad(g); i++) {
        region_add_result(g, none, reversal_zeros(v, n->in[1 + t->which[i]]));
    }
    v->w.r = outside;
    if (graph_bad(g)) return NULL;
    region_results(g, some, popped->m, popped->out);
    for (int i = 0; i < popped->m && !g->failed; i++) {
        node_out(g, outside, made, i, graph_var_like(g, popped->out[i]));
    }
    return made;
}

void reversal_push(reversal *v, node *n) {
    var d = reversal_wants(v, n->out[0]) ? reversal_take(v, n->out[0]) : VAR_NONE;
    if (d == VAR_NONE) return;
    adjoint_tape *t = adjoint_of(v, graph_at(v->g, n->in[0])->tape);
    if (t == NULL) return;
    settle(t);
    const node *made = t->lacks ? pop_or_zeros(v, t, n, d) : pop_adjoints(v, t, n, v->w.r, d);
    if (graph_bad(v->g)) return;
    reversal_drop_adjoint(v, n->in[0]);
    v->adjoint[n->in[0]] = made->out[0];
    for (int i = t->element->count - 1; i >= 0; i--) reversal_accumulate(v, n->in[1 + t->which[i]], made->out[1 + i]);
}

/* What is left of the adjoint of an empty tape is empty. */
void reversal_tape(reversal *v, node *n) {
    var d = reversal_wants(v, n->out[0]) ? reversal_take(v, n->out[0]) : VAR_NONE;
    if (d != VAR_NONE) (void)node_new(v->g, v->w.r, NODE_DROP, 1, &d, 0);
}

bool region_pops(const graph *g, const region *r, const tape_element *element) {
    for (int i = 0; i < r->count; i++) {
        const node *n = r->nodes[i];
        if (n->kind == NODE_POP && graph_at(g, n->in[0])->tape == element) return true;
        for (int k = 0; k < 2; k++) {
            if (n->inside[k] != NULL && region_pops(g, n->inside[k], element)) return true;
        }
    }
    return false;
}
