/* Nodes of a graph, one after the other; branches as if, loops as while. */
#include <string.h>

#include "interp/c_emit.h"

void c_declare(c_writer *w, var v, const char *otherwise) {
    const graph_var *x = graph_at(w->g, v);
    const char *name = c_name(w, v, otherwise);
    c_line(w, "%s %s;", x->tape != NULL ? "kina_tape" : c_declared(w, &x->type), name);
}

/* ---- numbers, literals, sizes ---- */

static const char *number_of(c_writer *w, const value *v) {
    const void *at = &v->as;
    const char *digits = c_literal(w, (dtype)v->dtype, at);
    return *digits == '-' ? c_string(w, "(%s)", digits) : digits;
}

static void size_node(c_writer *w, const node *n) {
    dtype t = (dtype)n->attrs->dtype;
    const char *size = c_dim(w, n->attrs->dims[0]), *name = c_name(w, n->out[0], "n");
    if (t == DT_I64)
        c_line(w, "const int64_t %s = %s;", name, size);
    else
        c_line(w, "const %s %s = (%s)%s;", compiled_c_type(t), name, compiled_c_type(t), c_factor(w, size));
}

/* ---- branches ---- */

static void branch(c_writer *w, const node *n, int which) {
    const region *r = n->inside[which];
    c_region(w, r);
    for (int k = 0; k < n->m; k++)
        if (n->out[k] != VAR_NONE) c_hand_over(w, w->of[n->out[k]].name, r->results[k], r, r->count);
}

static void if_node(c_writer *w, const node *n) {
    for (int k = 0; k < n->m; k++)
        if (n->out[k] != VAR_NONE) c_declare(w, n->out[k], "t");
    c_open(w, "if (%s)", c_name_of(w, n->in[0]));
    branch(w, n, 0);
    const region *otherwise = n->inside[1];
    if (otherwise->count > 0 || otherwise->result_count > 0) {
        w->depth--;
        c_open(w, "} else");
        branch(w, n, 1);
    }
    c_close(w);
}

/* ---- loops ---- */

/* The carries, from their inits on. */
static void carries(c_writer *w, const region *r, int i) {
    const node *n = r->nodes[i];
    for (int k = 0; k < n->n; k++) {
        var held = n->inside[1]->params[k];
        if (c_wish(w, held) == NULL && c_wish(w, n->in[k]) != NULL)
            w->of[held].name = c_named(w, c_wish(w, n->in[k]));
        if (w->of[held].name == NULL || c_wish(w, held) != NULL) c_name(w, held, "t");
        const graph_var *x = graph_at(w->g, held);
        const char *kind = x->tape != NULL ? "kina_tape" : c_declared(w, &x->type);
        c_begin(w, kind, w->of[held].name, n->in[k], r, i);
    }
}

/* Whether the body yields a carry in another one's place. */
static bool crosses(c_writer *w, const node *n) {
    const region *body = n->inside[1];
    for (int k = 0; k < n->n; k++)
        for (int other = 0; other < n->n; other++)
            if (other != k && c_root(w, body->results[k]) == body->params[other]) return true;
    return false;
}

static void hold_shape(c_writer *w, const node *n, int k) {
    c_value now = c_value_of(w, n->inside[1]->params[k]), next = c_value_of(w, n->inside[1]->results[k]);
    for (int axis = 0; axis < now.type.rank; axis++) c_same_size(w, &next, axis, &now, axis, "what the loop carries");
}

/* What the next iteration starts from. */
static void yield(c_writer *w, const node *n) {
    const region *body = n->inside[1];
    bool apart = crosses(w, n);
    const char **next = C_ARRAY(w, const char *, n->n);
    for (int pass = 0; pass < 2 && next != NULL && !w->failed; pass++) {
        for (int k = 0; k < n->n; k++) {
            var held = body->params[k], result = body->results[k];
            const graph_var *x = graph_at(w->g, held);
            bool shaped = x->tape == NULL && x->type.rank > 0;
            if (c_root(w, result) == held) continue;
            if (pass == 0 && shaped) hold_shape(w, n, k);
            if (pass == 0 && apart) {
                next[k] = c_named(w, c_string(w, "next_%s", w->of[held].name));
                c_line(w, "%s %s;", x->tape != NULL ? "kina_tape" : c_declared(w, &x->type), next[k]);
                c_hand_over(w, next[k], result, body, body->count);
            } else if (pass == 1) {
                if (shaped) c_release(w, w->of[held].name);
                if (apart)
                    c_line(w, "%s = %s;", w->of[held].name, next[k]);
                else
                    c_hand_over(w, w->of[held].name, result, body, body->count);
            }
        }
    }
}

/* The node's number as an expression of others, where it is one; NULL: it is not. */
static const char *expression_of(c_writer *w, const node *n) {
    const char *x[3] = {0};
    if (n->kind == NODE_NUMBER) return number_of(w, &n->constant);
    if (n->kind == NODE_EMPTY) return c_string(w, "(%s.count == 0)", c_name_of(w, n->in[0]));
    if (n->kind != NODE_OP || n->n > 3 || !c_scalar_written((op_id)n->op) || op_table[n->op].class == CLASS_WHERE)
        return NULL;
    if (n->op == OP_div || n->op == OP_rem || n->op == OP_mod) return NULL; /* they may have to check */
    for (int k = 0; k < n->n; k++) {
        if (graph_type(w->g, n->in[k])->rank > 0) return NULL;
        x[k] = c_name_of(w, n->in[k]);
    }
    if (n->op == OP_not && n->in[0] != VAR_NONE && graph_at(w->g, n->in[0])->maker->kind == NODE_EMPTY)
        return c_string(w, "(%s.count > 0)", c_name_of(w, graph_at(w->g, n->in[0])->maker->in[0]));
    return c_factor(w, c_scalar(w, (op_id)n->op, n->attrs, (dtype)graph_type(w->g, n->in[0])->dtype, x));
}

/* The condition as an expression, where it is made of numbers that are read once; NULL: it is not. */
static const char *plain_condition(c_writer *w, const region *r) {
    for (int i = 0; i < r->count && !w->failed; i++) {
        const node *n = r->nodes[i];
        if (n->kind == NODE_OP && (n->op == OP_identity || n->op == OP_carry)) continue;
        c_var *of = n->m == 1 ? &w->of[n->out[0]] : NULL;
        bool once = of != NULL && (of->reads == 1 || n->kind == NODE_NUMBER);
        const char *expression = once ? expression_of(w, n) : NULL;
        if (expression == NULL) return NULL;
        of->name = expression;
    }
    const char *whole = r->result_count == 1 ? c_of(w, r->results[0])->name : NULL;
    if (whole == NULL || whole[0] != '(') return whole;
    return c_string(w, "%.*s", (int)strlen(whole) - 2, whole + 1);
}

static void while_node(c_writer *w, const region *r, int i) {
    const node *n = r->nodes[i];
    carries(w, r, i);
    const char *condition = plain_condition(w, n->inside[0]);
    if (condition != NULL) {
        c_open(w, "while (%s)", condition);
    } else {
        c_open(w, "for (;;)");
        c_region(w, n->inside[0]);
        c_line(w, "if (!%s) break;", c_factor(w, c_name_of(w, n->inside[0]->results[0])));
    }
    c_region(w, n->inside[1]);
    yield(w, n);
    c_close(w);
    for (int k = 0; k < n->n; k++) {
        var held = n->inside[1]->params[k], out = k < n->m ? n->out[k] : VAR_NONE;
        const graph_var *x = graph_at(w->g, held);
        if (out != VAR_NONE) {
            w->of[out].name = w->of[held].name;
            w->of[out].moved = false;
        } else if (x->tape != NULL) {
            c_drop(w, x->tape, w->of[held].name);
        } else if (x->type.rank > 0) {
            c_release(w, w->of[held].name);
        }
    }
}

/* ---- all nodes ---- */

static void emit(c_writer *w, const region *r, int i) {
    const node *n = r->nodes[i];
    if (n->where.end > 0 || n->answers.end > 0) w->where = n->where.end > 0 ? n->where : n->answers;
    switch ((node_kind)n->kind) {
    case NODE_OP: c_op(w, r, i); break;
    case NODE_NUMBER: w->of[n->out[0]].name = number_of(w, &n->constant); break;
    case NODE_LITERAL:
        w->of[n->out[0]].borrowed = true;
        (void)c_tensor_literal(w, &n->constant, c_name(w, n->out[0], "table"));
        break;
    case NODE_SIZE: size_node(w, n); break;
    case NODE_STOP: break;
    case NODE_IF: if_node(w, n); break;
    case NODE_WHILE: while_node(w, r, i); break;
    case NODE_CALL: c_call(w, n); break;
    case NODE_TAPE:
    case NODE_PUSH:
    case NODE_POP:
    case NODE_EMPTY:
    case NODE_DROP: c_tape_node(w, r, i); break;
    case NODE_ASSERT:
        c_check(w, c_name_of(w, n->in[0]), "assertion failed%s%s", n->strings[0][0] != '\0' ? ": " : "",
                n->strings[0]);
        break;
    case NODE_PRINT: c_refuse(w, "`print` cannot be written as C"); break;
    case NODE_LOAD: c_refuse(w, "`load` cannot be written as C"); break;
    case NODE_SAVE: c_refuse(w, "`save` cannot be written as C"); break;
    }
}

enum { COMMENT_MOST = 70 };

/* Above loops over entries, the expression of the source that they compute, or whose derivative they are part of. */
static void comment(c_writer *w, const node *n) {
    const source *src = w->signature->from->src;
    span of = n->where.end > 0 ? n->where : n->answers;
    bool shaped = n->kind == NODE_OP && n->op != OP_identity && n->op != OP_carry && n->op != OP_reshape;
    bool any = n->m > 0 && n->out[0] != VAR_NONE && graph_type(w->g, n->out[0])->rank > 0;
    for (int k = 0; k < n->n; k++) any = any || graph_type(w->g, n->in[k])->rank > 0;
    if (!shaped || !any || of.end == 0 || (of.begin == w->said.begin && of.end == w->said.end)) return;
    w->said = of;
    const char *words = src->text + of.begin;
    size_t length = strcspn(words, "\r\n"), whole = of.end - of.begin;
    bool cut = length < whole || whole > COMMENT_MOST;
    if (length > whole) length = whole;
    if (length > COMMENT_MOST) length = COMMENT_MOST;
    for (size_t i = 0; i + 1 < length; i++)
        if ((words[i] == '*' && words[i + 1] == '/') || (words[i] == '/' && words[i + 1] == '*')) return;
    c_line(w, "/* %s%.*s%s */", n->where.end > 0 ? "" : "derivative of ", (int)length, words, cut ? " ..." : "");
}

void c_node(c_writer *w, const region *r, int i) {
    comment(w, r->nodes[i]);
    emit(w, r, i);
    if (!w->failed) c_release_behind(w, r, i);
}

void c_region(c_writer *w, const region *r) {
    for (int i = 0; i < r->count && !w->failed; i++) c_node(w, r, i);
}
