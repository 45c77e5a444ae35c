/* What the files of writing share.
 *
 *   write.c         the function around a graph
 *   write_called.c  the functions that it calls
 *   write_region.c  a region as a block: lines, branches, loops, what ownership asks for
 *   write_expr.c    a node as an expression, and what is folded into it
 *   write_op.c      an op on expressions, from its signature
 *   write_slice.c   slices as subscripts or calls
 *   write_comment.c comments
 *   write_dim.c     dims, types and literals
 *   write_names.c   names for variables, once the tree is there
 *   write_tree.c    nodes of the tree
 *
 * Variables stand in the tree as symbols without names, which write_names gives last: only then is known
 * which of them are still read where. The first failure is sticky: after it every function returns something
 * that may be passed on, and `failed` says so. */
#ifndef KINA_WRITING_H
#define KINA_WRITING_H

#include "interp/check.h"
#include "interp/write.h"

/* A variable of the graph, in the tree. */
typedef struct written {
    symbol symbol;              /* first: names of the tree point here */
    const char *wish;           /* the user's name, or NULL */
    struct written *of;         /* named after this one, or NULL */
    const char *prefix;
    bool bound;                 /* the tree binds it */
    var same;                   /* another name for this variable; VAR_NONE */
    /* How the graph reads it. */
    int reads;
    const region *read_in;      /* of the last read */
    const node *read_by;        /* NULL: a region gives it as a result */
    int last_read;              /* the place of the last node that reads it */
    bool pinned;                /* read by the size of an axis: stands by itself */
    /* Folding. */
    expr *value;                /* not placed yet: to stand where it is read; NULL */
    const node *made_by;
} written;

/* A block's items while they grow. */
typedef struct lines {
    int count, room;
    item *list;
    span answered;              /* what the last line answers */
    const char *heading;        /* above the next line; NULL */
} lines;

typedef struct writing {
    graph *g;
    const dims *dims;
    const source *src;
    arena *a;
    names *names;
    written *vars;
    bool loops;                 /* there are some, so that tensors have owners */
    bool failed;
    int place;                  /* of the node that is being written, as write_count_reads counts */
    int dim_names;              /* of unknown dims, so far */
    expr nothing;               /* after a failure */
} writing;

/* ---- write_tree.c ---- */
void *write_take(writing *w, size_t bytes);     /* zeroed; NULL after a failure */
#define WRITE_ARRAY(w, type, count) ((type *)write_take((w), sizeof(type) * (size_t)(count)))
const char *write_word(writing *w, const char *format, ...) PRINTF_LIKE(2, 3);   /* interned */
expr *write_expr_new(writing *w, expr_kind kind);
expr *write_name(writing *w, const char *name);
expr *write_var(writing *w, var v);             /* a read of the bound variable */
expr *write_integer(writing *w, int64_t x);
expr *write_flag(writing *w, bool x);
expr *write_string(writing *w, const char *bytes);
expr *write_unary(writing *w, op_id op, expr *a);
expr *write_binary(writing *w, op_id op, expr *a, expr *b);
expr *write_list(writing *w, expr_kind kind, int count, expr *const *items);    /* LIST, TUPLE */
expr *write_integers(writing *w, int count, const int64_t *list);
/* A call to which arguments are added, at most 8 of them; name NULL: by position. */
expr *write_call(writing *w, const char *callee);
void write_argument(writing *w, expr *call, const char *name, expr *given);
expr *write_call_of(writing *w, const char *callee, int count, expr *const *args);
pattern *write_pattern(writing *w, pattern_kind kind);
item *write_line(writing *w, lines *l, item_kind kind);
/* What it would take on one line, up to some limit. */
int write_width(const expr *e);
/* Whether literals alone make it, so that it adopts the element type that its context asks for. */
bool write_flexible(const expr *e);

/* ---- write_comment.c ---- */
/* NULL: an empty line. */
void write_comment(writing *w, comments *to, const char *words);
/* Says which line of the source the line answers: once where several in a row do, above those that are long. */
void write_answer(writing *w, lines *l, item *it, const node *n, bool above);
/* The heading that waits, above the first line or behind an empty one. */
void write_heading(writing *w, lines *l, comments *to, bool first);

/* ---- write_dim.c ---- */
/* A dim as an expression of I64s (or of what its context asks for, if it is made of dim names alone). */
expr *write_dim(writing *w, int64_t dim);
/* False when a symbol in it has no dim name, so that a type cannot state it. */
bool write_dim_named(const writing *w, int64_t dim);
/* The dim as a number of an element type. */
expr *write_size(writing *w, int64_t dim, dtype t);
expr *write_dims(writing *w, int count, const int64_t *list);
type_expr *write_type(writing *w, const op_type *t);
type_expr *write_var_type(writing *w, var v);
/* The same as an annotation that opens the dims that only the run knows. */
type_expr *write_opened_type(writing *w, var v);
type_expr *write_tuple_type(writing *w, int count, type_expr *const *items);
/* A number, of its own accord F32, I32 or Bool; a literal tensor, which says its type where it must. */
expr *write_number(writing *w, const value *v);
expr *write_literal(writing *w, const value *v);
/* e as something of dtype t whatever its context asks for. */
expr *write_firm(writing *w, dtype t, expr *e);
/* The same where nothing asks. */
expr *write_alone(writing *w, dtype t, expr *e);

/* ---- write_op.c ---- */
typedef struct op_use {
    op_id op;
    const op_attrs *attrs;
    const int64_t *hi;          /* slice: the upper bounds as the source writes them, or NULL */
    int n;
    const op_type *in;
    expr **args;
} op_use;
expr *write_op(writing *w, const op_use *u);
/* The dims that it mentions into out; returns how many. Expressions of operands are not looked at. */
enum { WRITE_DIMS = 3 * MAX_RANK };
int write_op_dims(const writing *w, const op_use *u, int64_t *out);

/* ---- write_slice.c ---- */
expr *write_slice(writing *w, const op_use *u);
expr *write_slice_add(writing *w, const op_use *u);
int write_slice_dims(const writing *w, const op_use *u, int64_t *out);

/* ---- write_expr.c ---- */
/* Counts how the variables of the graph are read. */
void write_count_reads(writing *w);
/* The variable that stands for v in the text. */
var write_same(const writing *w, var v);
static inline written *write_of(const writing *w, var v) { return &w->vars[write_same(w, v)]; }
/* The node's value, of those that have one, from the values that its operands have or wait to be. */
expr *write_value(writing *w, const node *n);
/* v where it is read once and for all: its waiting value, or its name. */
expr *write_read(writing *w, var v);
/* The same, as something of its element type whatever is asked for. */
expr *write_read_alone(writing *w, var v);
/* Whether the node's one result, if it is read at all, waits for the place where it is read; makes it wait. */
bool write_waits(const writing *w, const node *n, const region *in);
void write_wait(writing *w, const node *n);

/* ---- write_region.c ---- */
enum { WRITE_WIDTH = 88 };
/* A block of a region and its results. */
expr *write_block(writing *w, const region *r);
/* The same of a function's body, with headings. */
expr *write_body(writing *w, const region *r);
/* Binds v where the pattern stands, unless nothing reads it. */
pattern *write_bind(writing *w, var v);

/* ---- write_names.c ---- */
/* fixed: names that no variable may have. */
void write_names(writing *w, fn_decl *f, int fixed_count, const char **fixed);

#endif
