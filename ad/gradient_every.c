/* Loops under @checkpoint(k=K), as the nested loops they are: an outer loop keeps the carried values, an inner
 * one makes up to K iterations; backward, each kept state is the start of K iterations that are made again,
 * now with what their backward part reads. The running adjoints pass as in the plain loop, so no bit changes. */
#include <string.h>

#include "ad/reversal.h"

typedef struct segmenting {
    reversal *v;
    graph *g;
    node *n;                    /* the loop; the inner one, once it is segmented */
    int carries;                /* of the loop as the program has it */
    tape_element *element;      /* a kept state */
    var states;                 /* the outer loop's tape of them */
    var *to;                    /* clones */
    int count;
    int reads, *carry, actives; /* as in gradient_control.c */
    var *read, *d, *next;
} segmenting;

static var state_tape(segmenting *s) { return graph_tape_var(s->g, s->element, "states"); }

static bool make_element(segmenting *s) {
    s->element = graph_take(s->g, sizeof *s->element);
    tape_leaf *leaf = graph_take(s->g, (size_t)s->carries * sizeof *leaf);
    if (leaf == NULL || s->element == NULL) return false;
    for (int i = 0; i < s->carries; i++) {
        const graph_var *p = graph_at(s->g, s->n->inside[1]->params[i]);
        leaf[i] = (tape_leaf){.type = p->type, .tape = p->tape};
    }
    *s->element = (tape_element){.count = s->carries, .leaf = leaf};
    return true;
}

static var *no_clones(segmenting *s) {
    s->count = s->g->count;
    var *to = graph_take(s->g, (size_t)s->count * sizeof *to);
    for (int i = 0; to != NULL && i < s->count; i++) to[i] = VAR_NONE;
    return to;
}

/* At most k iterations: a counter more, which the condition asks too. */
static void limit(segmenting *s, node *n, int64_t k) {
    graph *g = s->g;
    region *r = n->inside[1]->outer, *condition = n->inside[0], *body = n->inside[1];
    op_type number = {.dtype = DT_I64};
    var zero = graph_number(g, r, value_i64(0));
    if (zero == VAR_NONE) return;
    region_move_last(r, region_place(r, n));
    var asked = graph_var_new(g, &number, "step"), done = graph_var_new(g, &number, "step");
    var out = graph_var_new(g, &number, "step");
    done = region_param(g, body, done);
    var one = graph_number(g, body, value_i64(1));
    if (one == VAR_NONE || out == VAR_NONE) return;
    var next = graph_op(g, body, OP_add, NULL, 2, (var[]){done, one}, (span){0, 0});
    graph_add_carry(g, n, zero, asked, done, next, out);
    var most = graph_number(g, condition, value_i64(k));
    if (most == VAR_NONE) return;
    var fewer = graph_op(g, condition, OP_lt, NULL, 2, (var[]){asked, most}, (span){0, 0});
    if (fewer == VAR_NONE) return;
    var both = graph_op(g, condition, OP_and, NULL, 2, (var[]){condition->results[0], fewer}, (span){0, 0});
    if (both != VAR_NONE) region_results(g, condition, 1, &both);
}

/* ---- forward ---- */

static void push_state(segmenting *s, region *body, var tape) {
    node *made = node_new(s->g, body, NODE_PUSH, 0, NULL, 1);
    if (made == NULL) return;
    node_add_in(s->g, made, tape);
    for (int i = 0; i < s->carries; i++) node_add_in(s->g, made, body->params[i]);
    node_out(s->g, body, made, 0, state_tape(s));
}

/* The loop becomes the inner one of an outer loop that stands where it stood. */
static void segment_forward(segmenting *s, int64_t k) {
    graph *g = s->g;
    node *inner = s->n;
    region *r = inner->inside[1]->outer;
    node *empty = node_new(g, r, NODE_TAPE, 0, NULL, 1);
    if (empty == NULL) return;
    node_out(g, r, empty, 0, state_tape(s));
    region_move_last(r, region_place(r, inner));
    node *outer = node_new(g, r, NODE_WHILE, 0, NULL, 0);
    if (outer == NULL) return;
    int at = region_place(r, inner);
    r->nodes[at] = outer;
    r->count--; /* it was appended, too */
    outer->where = inner->where;
    outer->reads = inner->reads;
    outer->read_count = inner->read_count;
    var *to = no_clones(s);
    if (to == NULL) return;
    outer->inside[0] = graph_clone(g, inner->inside[0], r, outer, false, to, s->count);
    region *body = outer->inside[1] = region_new(g, r, outer);
    if (body == NULL) return;
    for (int i = 0; i < s->carries && !g->failed; i++) {
        (void)region_param(g, body, graph_var_like(g, inner->inside[1]->params[i]));
        node_add_in(g, outer, inner->in[i]);
        node_add_out(g, r, outer, inner->out[i]);
    }
    var tape = region_param(g, body, state_tape(s));
    if (g->failed) return;
    region_append(g, body, inner);
    inner->inside[0]->outer = inner->inside[1]->outer = body;
    for (int i = 0; i < s->carries; i++) {
        inner->in[i] = body->params[i];
        node_out(g, body, inner, i, graph_var_like(g, inner->out[i]));
    }
    limit(s, inner, k);
    push_state(s, body, tape);
    if (graph_bad(g)) return;
    region_results(g, body, s->carries, inner->out);
    region_add_result(g, body, body->nodes[body->count - 1]->out[0]);
    (void)region_param(g, outer->inside[0], state_tape(s));
    node_add_in(g, outer, empty->out[0]);
    node_add_out(g, r, outer, s->states = state_tape(s));
    s->n = outer;
}

/* ---- backward ---- */

/* Clones of active variables are active; nothing else that came since the marking is. */
static void mark_clones(segmenting *s) {
    reversal *v = s->v;
    int count = s->g->count;
    bool *active = graph_take(s->g, (size_t)count * sizeof *active);
    var *adjoint = graph_take(s->g, (size_t)count * sizeof *adjoint);
    if (active == NULL || adjoint == NULL) return;
    for (int i = 0; i < count; i++) {
        active[i] = i < v->count && v->active[i];
        adjoint[i] = i < v->count ? v->adjoint[i] : VAR_NONE;
    }
    for (int i = 0; i < s->count && i < v->count; i++) {
        if (s->to[i] != VAR_NONE) active[s->to[i]] = v->active[i];
    }
    v->active = active;
    v->adjoint = adjoint;
    v->count = count;
}

/* The kept state's iterations once more, and then back. */
static void sweep_segment(segmenting *s, const node *kept, const node *inner) {
    graph *g = s->g;
    reversal *v = s->v;
    region *back = v->w.r;
    s->to = no_clones(s);
    var zero = graph_number(g, back, value_i64(0));
    node *again = node_new(g, back, NODE_WHILE, s->carries, kept->out + 1, inner->m);
    if (again == NULL || s->to == NULL) return;
    node_add_in(g, again, zero);
    again->where = inner->where;
    again->reads = inner->reads;
    again->read_count = inner->read_count;
    again->inside[0] = graph_clone(g, inner->inside[0], back, again, false, s->to, s->count);
    again->inside[1] = graph_clone(g, inner->inside[1], back, again, false, s->to, s->count);
    if (g->failed) return;
    for (int i = 0; i < inner->m; i++) {
        node_out(g, back, again, i, graph_var_like(g, inner->out[i]));
        s->to[inner->out[i]] = again->out[i];
    }
    mark_clones(s);
    if (g->failed) return;
    for (int i = 0; i < s->actives; i++) {
        v->active[kept->out[1 + s->carry[i]]] = v->active[again->out[s->carry[i]]] = true;
        v->adjoint[again->out[s->carry[i]]] = s->d[i];
    }
    reversal_while(v, again);
}

static void backward_body(segmenting *s, node *made, const node *inner) {
    graph *g = s->g;
    reversal *v = s->v;
    region *outside = v->w.r, *back = made->inside[1] = region_new(g, outside, made);
    if (back == NULL) return;
    var tape = region_param(g, back, state_tape(s));
    for (int i = 0; i < s->actives; i++) s->d[i] = region_param(g, back, reversal_adjoint_var(v, s->n->out[s->carry[i]]));
    for (int i = 0; i < s->reads; i++) v->adjoint[s->read[i]] = region_param(g, back, reversal_adjoint_var(v, s->read[i]));
    node *kept = g->failed ? NULL : node_new(g, back, NODE_POP, 1, &tape, 1 + s->carries);
    if (kept == NULL) return;
    node_out(g, back, kept, 0, state_tape(s));
    for (int i = 0; i < s->carries; i++) node_out(g, back, kept, 1 + i, graph_var_like(g, inner->inside[1]->params[i]));
    v->w.r = back;
    sweep_segment(s, kept, inner);
    s->next[0] = kept->out[0];
    for (int i = 0; i < s->actives && !graph_bad(g); i++) {
        var start = kept->out[1 + s->carry[i]];
        reversal_zero_if_absent(v, start);
        s->next[1 + i] = reversal_take(v, start);
    }
    for (int i = 0; i < s->reads && !graph_bad(g); i++) s->next[1 + s->actives + i] = v->adjoint[s->read[i]];
    v->w.r = outside;
    if (!graph_bad(g)) region_results(g, back, 1 + s->actives + s->reads, s->next);
}

static void backward_condition(segmenting *s, node *made) {
    graph *g = s->g;
    region *condition = made->inside[0] = region_new(g, s->v->w.r, made);
    op_type flag = {.dtype = DT_Bool};
    if (condition == NULL) return;
    var tape = region_param(g, condition, state_tape(s));
    for (int i = 0; i < s->actives; i++) (void)region_param(g, condition, reversal_adjoint_var(s->v, s->n->out[s->carry[i]]));
    for (int i = 0; i < s->reads; i++) (void)region_param(g, condition, reversal_adjoint_var(s->v, s->read[i]));
    node *asked = g->failed ? NULL : node_new(g, condition, NODE_EMPTY, 1, &tape, 1);
    if (asked == NULL) return;
    node_out(g, condition, asked, 0, graph_var_new(g, &flag, NULL));
    var more = graph_op(g, condition, OP_not, NULL, 1, asked->out, (span){0, 0});
    if (more != VAR_NONE) region_results(g, condition, 1, &more);
}

static void backward_results(segmenting *s, node *made) {
    graph *g = s->g;
    reversal *v = s->v;
    node_out(g, v->w.r, made, 0, state_tape(s));
    for (int i = 0; i < s->reads && !g->failed; i++) {
        var d = reversal_adjoint_var(v, s->read[i]);
        node_out(g, v->w.r, made, 1 + s->actives + i, d);
        v->adjoint[s->read[i]] = d;
    }
    if (g->failed) return;
    (void)node_new(g, v->w.r, NODE_DROP, 1, made->out, 0);
    for (int i = s->actives - 1; i >= 0 && !g->failed; i--) {
        var init = s->n->in[s->carry[i]], d = reversal_adjoint_var(v, init);
        node_out(g, v->w.r, made, 1 + i, d);
        reversal_accumulate(v, init, d);
    }
}

static void segment_backward(segmenting *s, const node *inner) {
    graph *g = s->g;
    reversal *v = s->v;
    int all = 1 + s->actives + s->reads;
    var *in = graph_take(s->g, (size_t)all * sizeof *in);
    s->d = graph_take(s->g, (size_t)all * sizeof *s->d);
    s->next = graph_take(s->g, (size_t)all * sizeof *s->next);
    if (g->failed) return;
    in[0] = s->states;
    for (int i = 0; i < s->actives; i++) {
        var out = s->n->out[s->carry[i]];
        reversal_zero_if_absent(v, out);
        in[1 + i] = reversal_take(v, out);
    }
    for (int i = 0; i < s->reads; i++) {
        reversal_zero_if_absent(v, s->read[i]);
        in[1 + s->actives + i] = v->adjoint[s->read[i]];
    }
    node *made = graph_bad(g) ? NULL : node_new(g, v->w.r, NODE_WHILE, all, in, all);
    if (made == NULL) return;
    made->answers = s->n->where;
    backward_condition(s, made);
    backward_body(s, made, inner);
    if (!graph_bad(g)) backward_results(s, made);
}

void reversal_every(reversal *v, node *n) {
    segmenting s = {.v = v, .g = v->g, .n = n, .carries = n->m};
    int64_t k = n->policy.k;
    n->policy.k = 0;
    if (!make_element(&s)) return;
    s.carry = graph_take(s.g, (size_t)n->m * sizeof *s.carry);
    s.read = graph_take(s.g, (size_t)n->read_count * sizeof *s.read);
    if (v->g->failed) return;
    for (int i = 0; i < n->m; i++) {
        if (reversal_wants(v, n->out[i])) s.carry[s.actives++] = i;
    }
    for (int i = 0; i < n->read_count; i++) {
        if (reversal_wants(v, n->reads[i])) s.read[s.reads++] = n->reads[i];
    }
    segment_forward(&s, k);
    if (!graph_bad(v->g)) segment_backward(&s, n);
}
