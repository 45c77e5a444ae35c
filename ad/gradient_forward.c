/* Tangents of a text: each op's right behind it, as the forward handler performs them.
 *
 * Whether a value has a tangent is a property of the text. An op's result has one when its rule gives one;
 * the floating results of a branch, and the floating carries of a loop, have one when anything that is read
 * inside, or comes in, has; where none is given it is zeros. A tape always has one. */
#include <string.h>

#include "ad/gradient.h"
#include "ad/writer.h"

typedef struct pushing {
    graph *g;
    writer w;
    int count;                  /* variables of the text */
    var *tangent;               /* by variable; VAR_NONE where absent */
} pushing;

static var tangent_of(const pushing *p, var v) { return v >= 0 && v < p->count ? p->tangent[v] : VAR_NONE; }

static var named_tangent(pushing *p, var t, var of) {
    graph_name_derivative(p->g, t, of, "t_");
    return t;
}

static void set_tangent(pushing *p, var of, var t) {
    if (t != VAR_NONE) p->tangent[of] = named_tangent(p, t, of);
}

static bool any_tangent(const pushing *p, int n, const var *in) {
    for (int i = 0; i < n; i++) {
        if (tangent_of(p, in[i]) != VAR_NONE) return true;
    }
    return false;
}

static bool carries_tangent(const pushing *p, var v) {
    return graph_at(p->g, v)->tape != NULL || graph_floating(p->g, v);
}

/* ---- tapes ---- */

/* Of a tape, a tape of the tangents of its floating leaves. */
static tape_element *tangent_element(pushing *p, tape_element *of) {
    if (of->tangent != NULL) return of->tangent;
    tape_element *e = graph_take(p->g, sizeof *e);
    tape_leaf *leaf = graph_take(p->g, (size_t)of->count * sizeof *leaf);
    if (e == NULL || leaf == NULL) return NULL;
    *e = (tape_element){.leaf = leaf};
    for (int i = 0; i < of->count; i++) {
        if (of->leaf[i].tape != NULL) {
            leaf[e->count++] = (tape_leaf){.tape = tangent_element(p, of->leaf[i].tape)};
        } else if (dtype_floating((dtype)of->leaf[i].type.dtype)) {
            leaf[e->count++] = of->leaf[i];
        }
    }
    return of->tangent = e;
}

static var tangent_var(pushing *p, var of) {
    const graph_var *v = graph_at(p->g, of);
    op_type type = v->type;
    var t = v->tape != NULL ? graph_tape_var(p->g, tangent_element(p, v->tape), NULL)
                            : graph_var_new(p->g, &type, NULL);
    return named_tangent(p, t, of);
}

static var empty_tape(pushing *p, var of) {
    node *made = node_new(p->g, p->w.r, NODE_TAPE, 0, NULL, 1);
    if (made == NULL) return VAR_NONE;
    node_out(p->g, p->w.r, made, 0, tangent_var(p, of));
    return made->out[0];
}

static var tangent_or_zeros(pushing *p, var of) {
    var t = tangent_of(p, of);
    if (t != VAR_NONE) return t;
    if (graph_at(p->g, of)->tape != NULL) return empty_tape(p, of);
    op_type type = *graph_type(p->g, of);
    return named_tangent(p, writer_filled(&p->w, &type, 0.0), of);
}

static void push_push(pushing *p, const node *n) {
    if (tangent_of(p, n->in[0]) == VAR_NONE) return;
    var in[1] = {tangent_of(p, n->in[0])};
    var leaf[ARITY_MANY];
    int count = 0;
    for (int i = 1; i < n->n && count < ARITY_MANY; i++) {
        if (carries_tangent(p, n->in[i])) leaf[count++] = tangent_or_zeros(p, n->in[i]);
    }
    node *made = node_new(p->g, p->w.r, NODE_PUSH, 1, in, 1);
    if (made == NULL) return;
    for (int i = 0; i < count; i++) node_add_in(p->g, made, leaf[i]);
    node_out(p->g, p->w.r, made, 0, tangent_var(p, n->out[0]));
    p->tangent[n->out[0]] = made->out[0];
}

static void push_pop(pushing *p, const node *n) {
    var tape = tangent_of(p, n->in[0]);
    node *made = tape == VAR_NONE ? NULL : node_new(p->g, p->w.r, NODE_POP, 1, &tape, 0);
    if (made == NULL) return;
    for (int i = 0; i < n->m && !p->g->failed; i++) {
        if (!carries_tangent(p, n->out[i])) continue;
        var t = tangent_var(p, n->out[i]);
        node_add_out(p->g, p->w.r, made, t);
        p->tangent[n->out[i]] = t;
    }
}

/* ---- ops and calls ---- */

static void push_op(pushing *p, node *n) {
    if (op_table[n->op].rule == OP_RULE_NONE || !any_tangent(p, n->n, n->in)) return;
    if (!graph_floating(p->g, n->out[0])) return;
    var tangent[ARITY_MANY];
    for (int k = 0; k < n->n; k++) tangent[k] = tangent_of(p, n->in[k]);
    node_site site;
    node_site_init(&site, p->g, n);
    site.rule.tangent = tangent;
    set_tangent(p, n->out[0], n->op == OP_identity ? tangent[0] : rules_jvp(&p->w.b, (op_id)n->op, &site.rule));
}

static void push_call(pushing *p, node *n) {
    const graph_call *call = n->call;
    if (!any_tangent(p, n->n, n->in)) return;
    if (call->jvp == NULL) {
        bool own = call->vjp != NULL;
        graph_refuse(p->g, own ? ERROR_K0702 : ERROR_K0703, n->where,
                     own ? "give it a @jvp rule" : "write the recursion as a `while` loop",
                     own ? "`%s` has a rule of its own, but none for forwardMode"
                         : "`%s` calls itself: a tangent through recursion cannot be written as a program",
                     call->name);
        return;
    }
    graph_call *rule = graph_take(p->g, sizeof *rule);
    var *in = graph_take(p->g, 2 * (size_t)n->n * sizeof *in);
    if (rule == NULL || in == NULL) return;
    *rule = (graph_call){.name = call->jvp_name, .decl = call->jvp_decl, .body = call->jvp};
    int count = n->n;
    for (int k = 0; k < n->n; k++) in[k] = n->in[k];
    for (int k = 0; k < n->n; k++) {
        if (graph_floating(p->g, n->in[k])) in[count++] = tangent_or_zeros(p, n->in[k]);
    }
    node *made = node_new(p->g, p->w.r, NODE_CALL, count, in, 1);
    if (made == NULL) return;
    made->call = rule;
    made->answers = n->where;
    node_out(p->g, p->w.r, made, 0, tangent_var(p, n->out[0]));
    p->tangent[n->out[0]] = made->out[0];
}

/* ---- branches and loops ---- */

static void push_region(pushing *p, region *r, int from);

/* Whether a result of a branch has a tangent. */
static bool joins_tangent(const pushing *p, var out, bool lively) {
    return graph_at(p->g, out)->tape != NULL || (lively && graph_floating(p->g, out));
}

static void push_if(pushing *p, node *n) {
    region *outside = p->w.r;
    bool lively = any_tangent(p, n->read_count, n->reads);
    int results = n->m;
    for (int k = 0; k < 2; k++) {
        region *r = n->inside[k];
        push_region(p, r, 0);
        p->w.r = r;
        for (int i = 0; i < results && !graph_bad(p->g); i++) {
            if (joins_tangent(p, n->out[i], lively)) region_add_result(p->g, r, tangent_or_zeros(p, r->results[i]));
        }
        p->w.r = outside;
    }
    for (int i = 0; i < results && !p->g->failed; i++) {
        if (!joins_tangent(p, n->out[i], lively)) continue;
        var t = tangent_var(p, n->out[i]);
        node_add_out(p->g, outside, n, t);
        p->tangent[n->out[i]] = t;
    }
}

/* The inits' tangents, which must stand before the loop: the loop is the last node so far. */
static void push_inits(pushing *p, node *n, var *init) {
    region *r = p->w.r;
    r->count--;
    for (int i = 0; i < n->n; i++) {
        init[i] = carries_tangent(p, n->in[i]) ? tangent_or_zeros(p, n->in[i]) : VAR_NONE;
    }
    region_append(p->g, r, n);
}

static void push_while(pushing *p, node *n) {
    bool lively = any_tangent(p, n->read_count, n->reads) || any_tangent(p, n->n, n->in);
    region *outside = p->w.r, *body = n->inside[1];
    int carries = n->n;
    var *init = graph_take(p->g, (size_t)carries * sizeof *init);
    var *inside = graph_take(p->g, (size_t)carries * sizeof *inside);
    if (init == NULL || inside == NULL) return;
    if (!lively) {
        push_region(p, body, 0);
        return;
    }
    push_inits(p, n, init);
    for (int i = 0; i < carries && !p->g->failed; i++) {
        if (init[i] == VAR_NONE) continue;
        inside[i] = region_param(p->g, body, tangent_var(p, body->params[i]));
        p->tangent[body->params[i]] = inside[i];
    }
    push_region(p, body, 0);
    p->w.r = body;
    for (int i = 0; i < carries && !graph_bad(p->g); i++) {
        if (init[i] == VAR_NONE) continue;
        var next = tangent_or_zeros(p, body->results[i]), out = tangent_var(p, n->out[i]);
        graph_add_carry(p->g, n, init[i], tangent_var(p, n->inside[0]->params[i]), inside[i], next, out);
        p->tangent[n->out[i]] = out;
    }
    p->w.r = outside;
}

static void push_node(pushing *p, node *n) {
    p->w.answers = n->where;
    switch ((node_kind)n->kind) {
    case NODE_OP: push_op(p, n); break;
    case NODE_IF: push_if(p, n); break;
    case NODE_WHILE: push_while(p, n); break;
    case NODE_CALL: push_call(p, n); break;
    case NODE_TAPE: p->tangent[n->out[0]] = empty_tape(p, n->out[0]); break;
    case NODE_PUSH: push_push(p, n); break;
    case NODE_POP: push_pop(p, n); break;
    case NODE_DROP: {
        var t = tangent_of(p, n->in[0]);
        if (t != VAR_NONE) (void)node_new(p->g, p->w.r, NODE_DROP, 1, &t, 0);
        break;
    }
    default: break;
    }
}

/* Takes the nodes from `from` on out of the region and puts them back one by one, each with its tangents. */
static void push_region(pushing *p, region *r, int from) {
    region *outside = p->w.r;
    int count = r->count - from;
    node **nodes = graph_take(p->g, (size_t)count * sizeof(node *));
    if (nodes == NULL) return;
    if (count > 0) memcpy(nodes, r->nodes + from, (size_t)count * sizeof(node *));
    r->count = from;
    p->w.r = r;
    for (int i = 0; i < count && !graph_bad(p->g); i++) {
        region_append(p->g, r, nodes[i]);
        push_node(p, nodes[i]);
    }
    p->w.r = outside;
}

void gradient_forward(graph *g, const handled_text *t, const var *tangents, var *out) {
    pushing p = {.g = g, .count = g->count};
    for (int i = 0; i < t->primal_count; i++) out[i] = VAR_NONE;
    writer_init(&p.w, g, t->r, (span){0, 0});
    p.tangent = graph_take(p.g, (size_t)(g->count + 1) * sizeof *p.tangent);
    if (p.tangent == NULL) return;
    for (int i = 0; i < g->count; i++) p.tangent[i] = VAR_NONE;
    for (int i = 0; i < t->count; i++) p.tangent[t->params[i]] = tangents[i];
    push_region(&p, t->r, t->from);
    p.w.answers = t->where;
    for (int i = 0; i < t->primal_count && !graph_bad(g); i++) out[i] = tangent_or_zeros(&p, t->primals[i]);
    graph_note_reads(g, t->r, t->from);
}
