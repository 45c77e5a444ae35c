/* Writing the ops that rules name. */
#include "ad/writer.h"

#include <string.h>

static term write_op(builder *b, op_id op, const op_attrs *attrs, int n, const term *in) {
    writer *w = (writer *)b;
    if (b->failed) return TERM_NONE;
    var out = graph_op(w->g, w->r, op, attrs, n, in, w->where);
    if (out == VAR_NONE) {
        b->failed = true;
        return TERM_NONE;
    }
    graph_at(w->g, out)->maker->answers = w->answers;
    return out;
}

static term written(writer *w, var v) {
    if (v == VAR_NONE) w->b.failed = true;
    return v;
}

static term write_number(builder *b, dtype t, double x) {
    writer *w = (writer *)b;
    return b->failed ? TERM_NONE : written(w, graph_number(w->g, w->r, value_number(t, x)));
}

static term write_count(builder *b, const op_type *of, uint8_t axes, dtype t) {
    writer *w = (writer *)b;
    const dim_algebra *a = w->g->algebra;
    if (b->failed) return TERM_NONE;
    int64_t n = 1;
    for (int i = 0; i < of->rank; i++) {
        if (((axes >> i) & 1) != 0) n = a->mul(a->self, n, of->dims[i]);
    }
    if (n >= 0) return write_number(b, t, (double)n);
    return written(w, graph_size(w->g, w->r, n, t));
}

static int64_t write_size(builder *b, op_id op, int64_t x, int64_t y) {
    const dim_algebra *a = ((writer *)b)->g->algebra;
    switch (op) {
    case OP_add: return a->add(a->self, x, y);
    case OP_sub: return a->sub(a->self, x, y);
    default: return a->mul(a->self, x, y);
    }
}

/* A literal. */
static bool term_known(builder *b, term t, int64_t *x) {
    const node *maker = t < 0 ? NULL : graph_at(((writer *)b)->g, t)->maker;
    if (maker == NULL || maker->kind != NODE_NUMBER) return false;
    *x = value_as_int(&maker->constant);
    return true;
}

static int64_t size_of_term(builder *b, term t) {
    return t < 0 ? 0 : graph_size_of(((writer *)b)->g, t);
}

static void contribute(builder *b, int k, term t) {
    writer *w = (writer *)b;
    if (!b->failed) w->sink(w->self, k, t);
}

static void contribute_into(builder *b, int k, op_id op, const op_attrs *attrs, int n, const term *rest) {
    writer *w = (writer *)b;
    if (!b->failed) w->sink_into(w->self, k, op, attrs, n, rest);
}

static const op_type *term_type(builder *b, term t) {
    static const op_type nothing;
    return t < 0 ? &nothing : graph_type(((writer *)b)->g, t);
}

static uint8_t term_ones(builder *b, term t) {
    return t < 0 ? 0 : graph_ones(graph_type(((writer *)b)->g, t));
}

void writer_init(writer *w, graph *g, region *r, span where) {
    *w = (writer){
        .b = {.c = g->c,
              .failed = graph_bad(g),
              .op = write_op,
              .number = write_number,
              .count = write_count,
              .size = write_size,
              .known = term_known,
              .size_of = size_of_term,
              .contribute = contribute,
              .contribute_into = contribute_into,
              .type = term_type,
              .ones = term_ones},
        .g = g,
        .r = r,
        .where = where,
    };
}

var writer_op(writer *w, op_id op, const op_attrs *attrs, int n, const var *in) {
    return write_op(&w->b, op, attrs, n, in);
}

var writer_filled(writer *w, const op_type *type, double x) {
    var number = write_number(&w->b, (dtype)type->dtype, x);
    if (type->rank == 0 || number == VAR_NONE) return number;
    op_attrs attrs = {.rank = type->rank, .dtype = type->dtype};
    memcpy(attrs.dims, type->dims, sizeof attrs.dims);
    return writer_op(w, OP_full, &attrs, 1, &number);
}

void node_site_init(node_site *s, const graph *g, const node *n) {
    s->out_type = *graph_type(g, n->out[0]);
    s->attrs = *n->attrs;
    for (int k = 0; k < n->n; k++) {
        s->in_type[k] = *graph_type(g, n->in[k]);
        s->sizes[k] = s->in_type[k].dims[n->attrs->axis];
    }
    s->rule = (rule_site){
        .attrs = &s->attrs,
        .n = n->n,
        .in_type = s->in_type,
        .out_type = &s->out_type,
        .out_ones = graph_ones(&s->out_type),
        .in = n->in,
        .out = n->out[0],
        .sizes = s->sizes,
    };
}
