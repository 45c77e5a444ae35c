/* The backward part of branches and loops: an `if` stays one, a loop becomes a loop that counts down. The
 * running adjoints of what they read are threaded through (rule 3 of ad.h). */
#include <string.h>

#include "ad/reversal.h"

/* True when one of the results has an adjoint, or is a tape: then the text has a backward part for it. */
static bool live(const reversal *v, const node *n) {
    for (int i = 0; i < n->m; i++) {
        if (!reversal_wants(v, n->out[i])) continue;
        if (graph_at(v->g, n->out[i])->tape != NULL || v->adjoint[n->out[i]] != VAR_NONE) return true;
    }
    return false;
}

var reversal_adjoint_var(reversal *v, var of) {
    const graph_var *primal = graph_at(v->g, of);
    var d;
    if (primal->tape != NULL) {
        d = graph_tape_var(v->g, reversal_element(v, of), NULL);
    } else {
        op_type type = primal->type;
        d = graph_var_new(v->g, &type, NULL);
    }
    if (d == VAR_NONE) return d;
    graph_at(v->g, d)->derivative_of = of;
    graph_at(v->g, d)->prefix = "d_";
    return d;
}

/* The active ones among what the text reads inside. */
static int active_reads(reversal *v, const node *n, var **out) {
    int count = 0;
    *out = graph_take(v->g, (size_t)n->read_count * sizeof **out);
    for (int i = 0; *out != NULL && i < n->read_count; i++) {
        if (reversal_wants(v, n->reads[i])) (*out)[count++] = n->reads[i];
    }
    return count;
}

/* ---- conditionals ---- */

typedef struct taking_if {
    node *n, *made;
    int reads;
    var *read, *before, *after[2], *d;  /* d: the results' adjoints */
} taking_if;

/* One branch, taken back into a region of its own. */
static void take_branch(reversal *v, taking_if *t, int k) {
    region *outside = v->w.r, *inside = t->n->inside[k], *back = region_new(v->g, outside, t->made);
    if (back == NULL) return;
    back->forward = inside;
    t->made->inside[k] = back;
    v->w.r = back;
    for (int i = 0; i < t->reads; i++) v->adjoint[t->read[i]] = t->before[i];
    for (int i = t->n->m - 1; i >= 0; i--) reversal_accumulate(v, inside->results[i], t->d[i]);
    reversal_sweep(v, inside, 0, inside->count);
    for (int i = 0; i < t->reads; i++) {
        t->after[k][i] = v->adjoint[t->read[i]];
        v->adjoint[t->read[i]] = t->before[i];
    }
    v->w.r = outside;
}

/* The adjoints that either branch changed are the results. */
static void join_adjoints(reversal *v, taking_if *t) {
    int m = 0;
    for (int i = 0; i < t->reads; i++) {
        if (t->after[0][i] == t->before[i] && t->after[1][i] == t->before[i]) continue;
        t->read[m] = t->read[i];
        t->after[0][m] = t->after[0][i];
        t->after[1][m++] = t->after[1][i];
    }
    for (int k = 0; k < 2; k++) region_results(v->g, t->made->inside[k], m, t->after[k]);
    t->made->m = m;
    for (int i = 0; i < m && !v->g->failed; i++) {
        var d = reversal_adjoint_var(v, t->read[i]);
        node_out(v->g, v->w.r, t->made, i, d);
        v->adjoint[t->read[i]] = d;
    }
}

void reversal_if(reversal *v, node *n) {
    if (!live(v, n)) {
        reversal_pass(v, n);
        return;
    }
    taking_if t = {.n = n};
    t.reads = active_reads(v, n, &t.read);
    size_t bytes = (size_t)(t.reads + n->m) * sizeof(var);
    t.before = graph_take(v->g, bytes);
    t.after[0] = graph_take(v->g, bytes);
    t.after[1] = graph_take(v->g, bytes);
    t.d = graph_take(v->g, bytes);
    if (v->g->failed) return;
    for (int i = 0; i < n->m; i++) t.d[i] = reversal_wants(v, n->out[i]) ? reversal_take(v, n->out[i]) : VAR_NONE;
    for (int i = 0; i < t.reads; i++) {
        reversal_zero_if_absent(v, t.read[i]);
        t.before[i] = v->adjoint[t.read[i]];
    }
    t.made = node_new(v->g, v->w.r, NODE_IF, 1, n->in, t.reads);
    if (t.made == NULL) return;
    t.made->answers = n->where;
    take_branch(v, &t, 0);
    take_branch(v, &t, 1);
    if (!graph_bad(v->g)) join_adjoints(v, &t);
}

/* ---- loops ---- */

static var number_op(graph *g, region *r, op_id op, var x, int64_t y) {
    var one = graph_number(g, r, value_i64(y));
    return one == VAR_NONE ? one : graph_op(g, r, op, NULL, 2, (var[]){x, one}, (span){0, 0});
}

static var named_i64(graph *g, const char *name) {
    op_type type = {.dtype = DT_I64};
    return graph_var_new(g, &type, name);
}

/* The forward loop counts its trips; what does not need them loses the counter again. */
static var count_trips(reversal *v, node *n) {
    graph *g = v->g;
    region *r = n->inside[1]->outer, *body = n->inside[1];
    var zero = graph_number(g, r, value_i64(0));
    if (zero == VAR_NONE) return zero;
    region_move_last(r, region_place(r, n));
    var inside = region_param(g, body, named_i64(g, "trips"));
    var next = inside == VAR_NONE ? inside : number_op(g, body, OP_add, inside, 1);
    var out = named_i64(g, "trips"), asked = named_i64(g, "trips");
    if (next == VAR_NONE || out == VAR_NONE || asked == VAR_NONE) return VAR_NONE;
    graph_add_carry(g, n, zero, asked, inside, next, out);
    return g->failed ? VAR_NONE : out;
}

typedef struct taking_while {
    node *n, *made;
    int carries;                /* active ones */
    int *carry;                 /* which of the loop's */
    int reads;
    var *read;
    var *in;                    /* of the backward loop: trips left, the carries' adjoints, the reads' */
    var *next;
} taking_while;

/* The i-th carry that is taken back, by the name behind the loop or else by that inside. */
static var carry_named(const reversal *v, const taking_while *t, int i) {
    var out = t->n->out[t->carry[i]];
    return graph_at(v->g, out)->name != NULL ? out : t->n->inside[1]->params[t->carry[i]];
}

static void backward_condition(reversal *v, taking_while *t) {
    graph *g = v->g;
    region *condition = region_new(g, v->w.r, t->made);
    t->made->inside[0] = condition;
    var left = region_param(g, condition, named_i64(g, "left"));
    for (int i = 1; i < t->made->n && !g->failed; i++) {
        var of = i <= t->carries ? carry_named(v, t, i - 1) : t->read[i - 1 - t->carries];
        (void)region_param(g, condition, reversal_adjoint_var(v, of));
    }
    var more = left == VAR_NONE ? left : number_op(g, condition, OP_gt, left, 0);
    if (more != VAR_NONE) region_results(g, condition, 1, &more);
}

/* The parameters of the backward body are the running adjoints. */
static void backward_params(reversal *v, taking_while *t, region *back, var *d) {
    graph *g = v->g;
    t->next[0] = region_param(g, back, named_i64(g, "left"));
    for (int i = 0; i < t->carries; i++) d[i] = region_param(g, back, reversal_adjoint_var(v, carry_named(v, t, i)));
    for (int i = 0; i < t->reads; i++) {
        v->adjoint[t->read[i]] = region_param(g, back, reversal_adjoint_var(v, t->read[i]));
    }
}

static void backward_body(reversal *v, taking_while *t) {
    graph *g = v->g;
    region *outside = v->w.r, *body = t->n->inside[1], *back = region_new(g, outside, t->made);
    var *d = graph_take(v->g, (size_t)t->carries * sizeof *d);
    if (back == NULL || d == NULL) return;
    back->forward = body;
    t->made->inside[1] = back;
    backward_params(v, t, back, d);
    if (g->failed) return;
    v->w.r = back;
    for (int i = t->carries - 1; i >= 0; i--) reversal_accumulate(v, body->results[t->carry[i]], d[i]);
    reversal_sweep(v, body, 0, body->count);
    v->w.answers = t->n->where;
    for (int i = 0; i < t->carries && !graph_bad(g); i++) {
        var param = body->params[t->carry[i]];
        reversal_zero_if_absent(v, param);
        t->next[1 + i] = reversal_take(v, param);
    }
    for (int i = 0; i < t->reads; i++) t->next[1 + t->carries + i] = v->adjoint[t->read[i]];
    v->w.r = outside;
    if (graph_bad(g)) return;
    t->next[0] = number_op(g, back, OP_sub, t->next[0], 1);
    region_results(g, back, t->made->n, t->next);
}

/* The adjoints as the backward loop leaves them: those of the carries go on to the inits. */
static void backward_results(reversal *v, taking_while *t) {
    graph *g = v->g;
    node_out(g, v->w.r, t->made, 0, named_i64(g, "left"));
    for (int i = 0; i < t->reads && !g->failed; i++) {
        var d = reversal_adjoint_var(v, t->read[i]);
        node_out(g, v->w.r, t->made, 1 + t->carries + i, d);
        v->adjoint[t->read[i]] = d;
    }
    for (int i = t->carries - 1; i >= 0 && !g->failed; i--) {
        var d = reversal_adjoint_var(v, t->n->out[t->carry[i]]);
        node_out(g, v->w.r, t->made, 1 + i, d);
        var init = t->n->in[t->carry[i]];
        graph_at(g, d)->derivative_of = init;
        reversal_accumulate(v, init, d);
    }
}

static bool open_while(reversal *v, taking_while *t, node *n) {
    *t = (taking_while){.n = n};
    t->carry = graph_take(v->g, (size_t)n->m * sizeof *t->carry);
    if (t->carry == NULL) return false;
    for (int i = 0; i < n->m; i++) {
        if (!reversal_wants(v, n->out[i])) continue;
        const tape_element *element = graph_at(v->g, n->out[i])->tape;
        bool idle = element != NULL && v->adjoint[n->out[i]] == VAR_NONE && !region_pops(v->g, n->inside[1], element);
        if (!idle) t->carry[t->carries++] = i;
    }
    t->reads = active_reads(v, n, &t->read);
    int all = 1 + t->carries + t->reads;
    t->in = graph_take(v->g, (size_t)all * sizeof *t->in);
    t->next = graph_take(v->g, (size_t)all * sizeof *t->next);
    return !v->g->failed;
}

void reversal_while(reversal *v, node *n) {
    taking_while t;
    if (!live(v, n)) {
        reversal_pass(v, n);
        return;
    }
    if (n->policy.k > 0 && !v->keeps_all) {
        reversal_every(v, n);
        return;
    }
    if (!open_while(v, &t, n)) return;
    t.in[0] = count_trips(v, n);
    for (int i = 0; i < t.carries; i++) {
        reversal_zero_if_absent(v, n->out[t.carry[i]]);
        t.in[1 + i] = reversal_take(v, n->out[t.carry[i]]);
    }
    for (int i = 0; i < t.reads; i++) {
        reversal_zero_if_absent(v, t.read[i]);
        t.in[1 + t.carries + i] = v->adjoint[t.read[i]];
    }
    int all = 1 + t.carries + t.reads;
    if (graph_bad(v->g)) return;
    t.made = node_new(v->g, v->w.r, NODE_WHILE, all, t.in, all);
    if (t.made == NULL) return;
    t.made->answers = n->where;
    backward_condition(v, &t);
    backward_body(v, &t);
    if (!graph_bad(v->g)) backward_results(v, &t);
}
