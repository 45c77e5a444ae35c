/* The backward part of straight-line text: what sweep.c does to records, done to nodes. */
#include "ad/gradient.h"

#include "ad/reversal.h"

/* ---- adjoints ---- */

var reversal_zeros(reversal *v, var of) {
    if (graph_at(v->g, of)->tape != NULL) return reversal_empty_tape(v, of);
    op_type type = *graph_type(v->g, of);
    return writer_filled(&v->w, &type, 0.0);
}

void reversal_zero_if_absent(reversal *v, var of) {
    if (!reversal_wants(v, of) || v->adjoint[of] != VAR_NONE) return;
    var zeros = reversal_zeros(v, of);
    if (zeros == VAR_NONE) return;
    v->adjoint[of] = zeros;
    graph_name_derivative(v->g, zeros, of, "d_");
}

void reversal_accumulate(reversal *v, var to, var t) {
    if (t == VAR_NONE || !reversal_wants(v, to)) return;
    if (graph_at(v->g, to)->tape != NULL) { /* each way goes to one place alone */
        reversal_drop_adjoint(v, to);
    } else if (v->adjoint[to] != VAR_NONE) {
        t = writer_op(&v->w, OP_add, NULL, 2, (var[]){v->adjoint[to], t});
    }
    if (t == VAR_NONE) return;
    v->adjoint[to] = t;
    graph_name_derivative(v->g, t, to, "d_");
}

var reversal_take(reversal *v, var of) {
    var d = v->adjoint[of];
    v->adjoint[of] = VAR_NONE;
    return d;
}

/* ---- contributions of a rule ---- */

static void sink(void *self, int k, var t) {
    reversal *v = self;
    reversal_accumulate(v, v->at->in[k], t);
}

/* By an op whose first operand is the accumulator. */
static void sink_into(void *self, int k, op_id op, const op_attrs *attrs, int n, const var *rest) {
    reversal *v = self;
    var to = v->at->in[k];
    if (!reversal_wants(v, to)) return;
    var sum;
    if (v->adjoint[to] == VAR_NONE && op == OP_matmul_add) {
        op_attrs product = {.strong_zero = attrs != NULL && attrs->strong_zero};
        sum = writer_op(&v->w, OP_matmul, &product, n, rest);
    } else {
        reversal_zero_if_absent(v, to);
        var in[3] = {v->adjoint[to]};
        for (int i = 0; i < n && i < 2; i++) in[i + 1] = rest[i];
        sum = in[0] == VAR_NONE ? VAR_NONE : writer_op(&v->w, op, attrs, n + 1, in);
    }
    if (sum == VAR_NONE) return;
    v->adjoint[to] = sum;
    graph_name_derivative(v->g, sum, to, "d_");
}

/* ---- one node ---- */

static void sweep_rule(reversal *v, const node *n, var d) {
    bool wants[ARITY_MANY];
    for (int k = 0; k < n->n; k++) wants[k] = reversal_wants(v, n->in[k]);
    node_site site;
    node_site_init(&site, v->g, n);
    site.rule.wants = wants;
    site.rule.d = d;
    rules_vjp(&v->w.b, (op_id)n->op, &site.rule);
}

static void sweep_op(reversal *v, const node *n) {
    if (!reversal_wants(v, n->out[0])) return;
    var d = reversal_take(v, n->out[0]);
    if (d == VAR_NONE) return;
    if (n->op == OP_identity) {
        reversal_accumulate(v, n->in[0], d);
    } else {
        sweep_rule(v, n, d);
    }
}

/* The cotangents that a rule of the function's own gives, for the floating arguments in order. */
static void sweep_call(reversal *v, const node *n) {
    const graph_call *call = n->call;
    if (n->m != 1 || !reversal_wants(v, n->out[0])) return;
    var d = reversal_take(v, n->out[0]);
    if (d == VAR_NONE) return;
    graph_call *rule = ARENA_NEW(v->g->a, graph_call);
    var *in = ARENA_ARRAY(v->g->a, var, n->n + 2);
    if (rule == NULL || in == NULL) {
        v->g->failed = true;
        return;
    }
    *rule = (graph_call){.name = call->vjp_name, .decl = call->vjp_decl, .body = call->vjp};
    int floating = 0;
    for (int k = 0; k < n->n; k++) {
        in[k] = n->in[k];
        floating += graph_floating(v->g, n->in[k]);
    }
    in[n->n] = n->out[0];
    in[n->n + 1] = d;
    node *made = node_new(v->g, v->w.r, NODE_CALL, n->n + 2, in, floating);
    if (made == NULL) return;
    made->call = rule;
    made->answers = v->w.answers;
    for (int k = 0, i = 0; k < n->n; k++) {
        if (!graph_floating(v->g, n->in[k])) continue;
        var t = graph_var_new(v->g, graph_type(v->g, n->in[k]), NULL);
        node_out(v->g, v->w.r, made, i++, t);
        reversal_accumulate(v, n->in[k], t);
    }
}

static void sweep_node(reversal *v, const region *r, node *n) {
    v->at = n;
    v->w.answers = n->where;
    switch ((node_kind)n->kind) {
    case NODE_OP: sweep_op(v, n); break;
    case NODE_IF: reversal_if(v, n); break;
    case NODE_WHILE: reversal_while(v, n); break;
    case NODE_CALL: sweep_call(v, n); break;
    case NODE_PUSH: reversal_push(v, n); break;
    case NODE_POP: reversal_pop(v, n); break;
    case NODE_TAPE: reversal_tape(v, n); break;
    case NODE_DROP: reversal_drop(v, r, n); break;
    default: break;
    }
}

void reversal_sweep(reversal *v, const region *r, int from, int to) {
    for (int i = to - 1; i >= from && !graph_bad(v->g); i--) sweep_node(v, r, r->nodes[i]);
}

/* ---- the whole ---- */

static bool reversal_open(reversal *v, graph *g, const handled_text *t) {
    *v = (reversal){.g = g, .count = g->count, .keeps_all = t->nested};
    writer_init(&v->w, g, t->r, (span){0, 0});
    v->w.b.strong_zero = t->strong_zero;
    v->w.sink = sink;
    v->w.sink_into = sink_into;
    v->w.self = v;
    v->active = ARENA_ARRAY(g->a, bool, v->count + 1);
    v->adjoint = ARENA_ARRAY(g->a, var, v->count + 1);
    if (v->active == NULL || v->adjoint == NULL) {
        g->failed = true;
        return false;
    }
    for (int i = 0; i < v->count; i++) v->adjoint[i] = VAR_NONE;
    for (int i = 0; i < t->count; i++) v->active[t->params[i]] = true;
    return true;
}

void gradient_reverse(graph *g, const handled_text *t, const var *seeds, var *gradients) {
    reversal v;
    for (int i = 0; i < t->count; i++) gradients[i] = VAR_NONE;
    if (graph_bad(g)) return;
    do {
        if (!reversal_open(&v, g, t)) return;
        reversal_mark(&v, t->r, t->from, t->r->count);
    } while (reversal_inline(&v, t->r, t->from));
    int to = t->r->count;
    v.w.answers = t->where;
    bool live = false; /* of a passive primal there is no backward part at all */
    for (int i = t->primal_count - 1; i >= 0; i--) {
        live |= reversal_wants(&v, t->primals[i]);
        op_type type = *graph_type(g, t->primals[i]);
        var seed = seeds[i] != VAR_NONE ? seeds[i] : writer_filled(&v.w, &type, 1.0);
        reversal_accumulate(&v, t->primals[i], seed);
    }
    if (live) reversal_sweep(&v, t->r, t->from, to);
    v.w.answers = (span){0, 0};
    for (int i = 0; i < t->count && !graph_bad(g); i++) {
        reversal_zero_if_absent(&v, t->params[i]);
        gradients[i] = v.adjoint[t->params[i]];
    }
    graph_put_on_tapes(g, t->r);
    graph_note_reads(g, t->r, t->from);
}
