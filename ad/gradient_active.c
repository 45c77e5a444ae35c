/* Which variables of a text depend on the differentiated parameters, as the engine decides it when it
 * records: ops by their operands, an `if` and a loop by all that they read or take in. */
#include "ad/reversal.h"

static bool any_active(const reversal *v, int n, const var *in) {
    for (int i = 0; i < n; i++) {
        if (reversal_wants(v, in[i])) return true;
    }
    return false;
}

static void mark_outs(reversal *v, int m, const var *out) {
    for (int i = 0; i < m; i++) {
        if (out[i] >= 0 && (graph_floating(v->g, out[i]) || graph_at(v->g, out[i])->tape != NULL))
            v->active[out[i]] = true;
    }
}

static void mark_op(reversal *v, const node *n) {
    if (op_table[n->op].rule != OP_RULE_NONE && any_active(v, n->n, n->in)) mark_outs(v, n->m, n->out);
}

static void mark_if(reversal *v, const node *n) {
    bool reads = any_active(v, n->read_count, n->reads);
    for (int k = 0; k < 2; k++) reversal_mark(v, n->inside[k], 0, n->inside[k]->count);
    if (reads) mark_outs(v, n->m, n->out);
}

/* A tape that an iteration makes active is so from the start of the next. */
static void mark_while(reversal *v, const node *n) {
    region *body = n->inside[1];
    bool active = any_active(v, n->read_count, n->reads) || any_active(v, n->n, n->in);
    if (active) mark_outs(v, body->param_count, body->params);
    reversal_mark(v, body, 0, body->count);
    if (active) mark_outs(v, n->m, n->out);
}

static void mark_call(reversal *v, const node *n) {
    const graph_call *call = n->call;
    if (!any_active(v, n->n, n->in)) return;
    if (call->vjp != NULL || call->body != NULL) {
        mark_outs(v, n->m, n->out);
    } else {
        graph_refuse(v->g, ERROR_K0703, n->where, "write the recursion as a `while` loop",
                     "`%s` calls itself: a gradient through recursion cannot be written as a program", call->name);
    }
}

void reversal_mark(reversal *v, const region *r, int from, int to) {
    for (int i = from; i < to && !graph_bad(v->g); i++) {
        const node *n = r->nodes[i];
        switch ((node_kind)n->kind) {
        case NODE_OP: mark_op(v, n); break;
        case NODE_IF: mark_if(v, n); break;
        case NODE_WHILE: mark_while(v, n); break;
        case NODE_CALL: mark_call(v, n); break;
        case NODE_PUSH:
        case NODE_POP:
            if (any_active(v, n->n, n->in)) mark_outs(v, n->m, n->out);
            break;
        default: break;
        }
    }
}
