/* What the tests of writing share: a graph made by hand, its text, and the program that the text is. */
#ifndef KINA_WRITE_CHECK_H
#define KINA_WRITE_CHECK_H

#include "ad/graph.h"
#include "interp/engine.h"
#include "interp/types.h"

typedef struct write_fixture {
    context c;
    arena a;
    names names;
    dims *dims;
    dim_algebra algebra;
    graph g;
    source src;
    text out;
} write_fixture;

void write_open(write_fixture *f);
void write_close(write_fixture *f);

/* A dim name that is a size of the function's own. */
int64_t write_named_dim(write_fixture *f, const char *name);
var write_param(write_fixture *f, const char *name, dtype t, int rank, ...);
var write_unary_op(write_fixture *f, region *r, op_id op, var x);
var write_binary_op(write_fixture *f, region *r, op_id op, var x, var y);
var write_f32(write_fixture *f, region *r, double x);
/* v under a name of the user's. */
var write_named(write_fixture *f, var v, const char *name);

/* The graph as the function `f`, as text. */
const char *write_text(write_fixture *f);
/* The results of the function on values, which are borrowed. Fails the test with the text when it is no program, or
 * when printing does not agree with itself. */
void write_call_text(write_fixture *f, const value *args, int count, engine *e, results *out);

#endif
