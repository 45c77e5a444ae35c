/* Calls: of functions that call themselves, each of which is a function of the file; of functions with a rule of
 * their own, and of the rules, whose bodies stand in a block. */
#include <string.h>

#include "interp/c_emit.h"
#include "interp/stage.h"

/* ---- functions of the file ---- */

/* "static bool kina_fn_f(kina_memory *kina, float x, float *r0)" */
static const char *prototype_of(c_writer *w, const char *name) {
    const region *top = w->g->top;
    text t;
    text_init(&t, w->c);
    text_format(&t, "static bool %s(kina_memory *kina", name);
    for (int i = 0; i < top->param_count; i++) {
        const char *kind = c_declared(w, graph_type(w->g, top->params[i]));
        text_format(&t, ", %s %s", kind, w->of[top->params[i]].name);
    }
    for (int i = 0; i < top->result_count; i++)
        text_format(&t, ", %s *kina_r%d", c_declared(w, graph_type(w->g, top->results[i])), i);
    text_add_char(&t, ')');
    const char *s = c_string(w, "%s", text_data(&t));
    if (t.failed) w->failed = true;
    text_close(&t);
    return s;
}

static void add_function(c_writer *w, const char *name, text *out) {
    const region *top = w->g->top;
    const char *prototype = prototype_of(w, name);
    text_format(&w->prototypes, "%s;\n", prototype);
    if (w->failed) return;
    c_check(w, "kina->depth < 10000", "`%s` calls itself too often", name + strlen("kina_fn_"));
    c_line(w, "kina->depth++;");
    c_body(w);
    for (int i = 0; i < top->result_count && !w->failed; i++)
        c_hand_over(w, c_string(w, "(*kina_r%d)", i), top->results[i], top, top->count);
    c_line(w, "kina->depth--;");
    c_line(w, "return true;");
    text_format(out, "%s {\n", prototype);
    c_add_unused_params(w, out);
    text_add_bytes(out, text_data(&w->body), w->body.length);
    text_add(out, "end:\n    return false;\n}\n\n");
}

/* Writes the function behind those of the file so far, while another one is being written. */
static void write_function(c_writer *w, graph *g, const char *name) {
    c_writer outer = *w;
    text out;
    text_init(&out, w->c);
    c_open_function(w, g);
    if (!w->failed) add_function(w, name, &out);
    text_add_bytes(&w->functions, text_data(&out), out.length);
    if (out.failed || w->body.failed) w->failed = true;
    text_close(&out);
    text_close(&w->body);
    c_close_function(w, &outer);
}

/* The C name of the function, which comes into the file. */
static const char *function_of(c_writer *w, const fn_decl *decl) {
    const char *name = c_string(w, "kina_fn_%s", decl->name);
    stage_params staged;
    if (c_set_has(&w->called, name) || w->failed) return name;
    c_set_put(w, &w->called, name);
    graph *g = c_take(w, sizeof *g);
    if (g == NULL) return name;
    graph_init(g, w->a, w->g->algebra);
    if (!stage_function(g, w->signature->from, w->signature->code, decl, &staged)) {
        if (g->refused != ERROR_NONE) c_refuse(w, "%s", g->refusal);
        w->failed = true;
        return name;
    }
    write_function(w, g, name);
    return name;
}

static void call_function(c_writer *w, const node *n) {
    text arguments;
    const char *name = function_of(w, n->call->decl);
    text_init(&arguments, w->c);
    for (int k = 0; k < n->n; k++) {
        const char *x = c_name_of(w, n->in[k]);
        text_format(&arguments, ", %s", x);
    }
    for (int k = 0; k < n->m; k++) text_format(&arguments, ", &%s", w->of[n->out[k]].name);
    c_try(w, "%s(kina%s)", name, text_data(&arguments));
    if (arguments.failed) w->failed = true;
    text_close(&arguments);
}

/* ---- all calls ---- */

void c_call(c_writer *w, const node *n) {
    const region *body = n->call->body;
    for (int k = 0; k < n->m; k++)
        if (n->out[k] != VAR_NONE || body == NULL) c_declare(w, n->out[k], n->call->name);
    if (body == NULL) {
        call_function(w, n);
        return;
    }
    for (int k = 0; k < n->n; k++) w->of[body->params[k]].same = n->in[k];
    c_open(w, "/* %s */", n->call->name);
    c_region(w, body);
    for (int k = 0; k < n->m && k < body->result_count; k++)
        if (n->out[k] != VAR_NONE) c_hand_over(w, w->of[n->out[k]].name, body->results[k], body, body->count);
    c_close(w);
}
