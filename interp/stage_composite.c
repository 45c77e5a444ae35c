/* Builtins made of several ops, written down: the builder that writes rules makes them. */
#include "ad/writer.h"
#include "interp/composite.h"
#include "interp/stage_internal.h"

static term stopped(composite *m, term t) {
    writer *w = (writer *)m->b;
    return b_alive(m->b, 1, &t) ? graph_stop(w->g, w->r, t, w->where) : TERM_NONE;
}

static bool write_einsum(builder *b, const code *n, const var *in, var *out) {
    const einsum_plan *plan = n->u.composite.use->einsum;
    indexed so_far = {0};
    for (int k = 0; k < plan->count; k++) so_far = composite_einsum_take(b, plan, k, so_far, in[k]);
    out[0] = so_far.t;
    return b_alive(b, 1, out);
}

static bool write_terms(builder *b, const code *n, const var *in, const int64_t *size, var *out) {
    if (n->u.composite.use->builtin == BUILTIN_einsum) return write_einsum(b, n, in, out);
    composite m = composite_of(b, n, stopped);
    m.count = n->u.composite.count;
    m.size = size;
    m.sizes = n->u.composite.use->sizes;
    for (int k = 0; k < m.count && k < (int)COUNT_OF(m.in); k++) m.in[k] = in[k];
    return composite_make(&m, out);
}

/* A fault that sizes known here show is the text's, whatever the run would have made of it. */
static void refuse_fault(stager *s, const code *n) {
    error *err = &s->g->c->err;
    bool fault = err->code == ERROR_K0502 || err->code == ERROR_K0511;
    if (graph_bad(s->g) || !fault) return;
    graph_refuse(s->g, ERROR_K0703, n->where, NULL, "its operands do not fit: %s", err->message);
    if (!s->g->failed) *err = (error){.code = ERROR_NONE};
}

staged stage_composite(stager *s, staged *frame, const code *n) {
    int count = n->u.composite.count, sizes = n->u.composite.use->sizes, results = composite_results(n);
    var *in = STAGE_ARRAY(s, var, count), *out = STAGE_ARRAY(s, var, results);
    int64_t *size = STAGE_ARRAY(s, int64_t, sizes);
    staged *items = STAGE_ARRAY(s, staged, results);
    if (in == NULL || out == NULL || size == NULL || items == NULL) return staged_none();
    for (int k = 0; k < count; k++) in[k] = stage_var(s, frame, n->u.composite.args[k]);
    for (int i = 0; i < sizes; i++) size[i] = stage_dim(s, frame, n->u.composite.size[i]);
    writer w;
    writer_init(&w, s->g, s->r, n->where);
    if (!write_terms(&w.b, n, in, size, out)) {
        refuse_fault(s, n);
        return staged_none();
    }
    for (int i = 0; i < results; i++) items[i] = staged_var(out[i]);
    return stage_tuple(s, results, items);
}
