/* The builder that writes: rules' ops are appended to a region of a graph. A term is a variable. */
#ifndef KINA_WRITER_H
#define KINA_WRITER_H

#include "ad/builder.h"
#include "ad/graph.h"

typedef struct writer {
    builder b;                  /* first: rules see this */
    graph *g;
    region *r;                  /* where ops go */
    span where;                 /* the source expression that they compute */
    span answers;               /* or, of a derivative, whose rule they follow */
    /* Where contributions go; NULL for a forward rule. */
    void (*sink)(void *self, int k, var v);
    void (*sink_into)(void *self, int k, op_id op, const op_attrs *attrs, int n, const var *rest);
    void *self;
} writer;

/* An op node as its rule sees it, but for what is wanted or given: cotangent and wants, or tangents. */
typedef struct node_site {
    rule_site rule;
    op_attrs attrs;
    op_type in_type[ARITY_MANY], out_type;
    int64_t sizes[ARITY_MANY];
} node_site;
void node_site_init(node_site *s, const graph *g, const node *n);

void writer_init(writer *w, graph *g, region *r, span where);
/* An op outside of any rule. */
var writer_op(writer *w, op_id op, const op_attrs *attrs, int n, const var *in);
/* A number or tensor of one value, of a type. */
var writer_filled(writer *w, const op_type *type, double x);

#endif
