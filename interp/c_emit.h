/* What the files of the C emitter share. Internal to c_*.c.
 *
 *   c_file.c          the file: its head, the function, what frees its results
 *   c_function.c      a function around a graph: parameters, checks, nodes
 *   c_text.c          lines, names, strings
 *   c_form.c          forms: C with places for an element type and operands
 *   c_helper.c        the functions that a file brings along, as far as it calls them
 *   c_memory.c        those of them that allocate and free
 *   c_value.c         variables: types, sizes, entries, literals
 *   c_live.c          where a tensor is read last, and who frees it
 *   c_graph.c         nodes: ops, sizes, branches, loops
 *   c_call.c          calls, and the functions that call themselves
 *   c_tape.c          tapes
 *   c_op.c            the table of emissions by class of op
 *   c_scalar.c        elementwise ops on one element
 *   c_elementwise.c   the same on tensors
 *   c_reduce.c        reductions, softmax and its kin
 *   c_scan.c          running sums and the like
 *   c_shape.c         ops that move entries
 *   c_slice.c         slices
 *   c_gather.c        gather and scatter
 *   c_matmul.c        matrix products
 *   c_order.c         sorting
 *   c_window.c        convolutions and pooling
 *   c_making.c        tensors from nothing
 *   c_random.c        random numbers
 *
 * A number is a C variable or literal; a tensor of element type F32 and rank 2 is a struct kina_f32_2, its entries
 * contiguous in row-major order. Tensors are never written to once they are made, and counted: a tensor is released
 * behind its last reader. Those of parameters and literals belong to others; what outlives its scope is copied then.
 *
 * The first failure is sticky, as in ad/builder.h: `failed` says so, and whoever emits goes on with empty names. */
#ifndef KINA_C_EMIT_H
#define KINA_C_EMIT_H

#include "interp/c_file.h"
#include "interp/compiled.h"
#include "interp/dims.h"
#include "runtime/context.h"

/* A variable of the graph, in C. */
typedef struct c_var {
    const char *name;           /* an expression that may be repeated: "x", "2.0f"; NULL: not yet there */
    bool borrowed;              /* the entries belong to a parameter or a literal */
    bool moved;                 /* the entries belong to another variable now */
    bool shared;                /* another variable may have them too */
    bool carried;               /* of a loop, in its condition and body: the loop frees it */
    var same;                   /* it is this other variable; VAR_NONE */
    const region *home;
    int last;                   /* the node of its home that reads it last; the home's count: a result; -1: none */
    int reads;                  /* how often it does */
    size_t from;                /* where in the text it may be read: behind what makes it */
} c_var;

/* Strings in use. */
typedef struct c_set {
    const char **slot;
    uint32_t count, capacity;
} c_set;

/* The emitter of one file. */
typedef struct c_writer {
    graph *g;
    context *c;
    arena *a;
    const dims *dims;
    const c_signature *signature;
    /* Parts of the file, in this order; body: of the function that is being written. */
    text types, records, helpers, literals, prototypes, functions, body;
    c_set structs, called, names;   /* which types and helpers are in the file; names in use */
    c_var *of;                  /* by variable */
    int depth;                  /* of indentation */
    int literal_count, entry_count;
    const tape_element **entries;   /* whose structs are in the file */
    int entry_room;
    bool fails;                 /* something in the function may go to its end */
    span where;                 /* of what is being emitted */
    span said;                  /* of what the last comment says */
    bool failed;
} c_writer;

/* What an op reads or gives: a number where the rank is 0. */
typedef struct c_value {
    const char *name;
    op_type type;
} c_value;

/* ---- c_function.c ---- */
/* Brings the type of a parameter or result into the file; a tape is none that a host has. */
void c_crosses(c_writer *w, var v, const char *as);
/* Begins the function around a graph: names its parameters. Whoever calls restores w with c_close_function. */
void c_open_function(c_writer *w, graph *g);
void c_close_function(c_writer *w, const c_writer *outer);
/* Its nodes, behind what checks its arguments. */
void c_body(c_writer *w);
/* "(void)x;" for parameters that nothing reads. */
void c_add_unused_params(c_writer *w, text *t);

/* ---- c_text.c ---- */
void *c_take(c_writer *w, size_t bytes);
#define C_ARRAY(w, type, count) ((type *)c_take((w), sizeof(type) * (size_t)(count)))
/* A string in the arena; "" after a failure. */
const char *c_string(c_writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
/* One line of the function, indented. */
void c_line(c_writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
/* A line that opens a block, to which " {" is added, and its end. */
void c_open(c_writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
void c_close(c_writer *w);
/* A name like `base` that nothing else has. */
const char *c_named(c_writer *w, const char *base);
bool c_set_has(const c_set *s, const char *key);
void c_set_put(c_writer *w, c_set *s, const char *key);
/* Whether the function's text from a place on has the name. */
bool c_mentions(const c_writer *w, size_t from, const char *name);
/* Refuses (K0701) at w->where. */
void c_refuse(c_writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
/* The function ends with this message unless the condition holds. */
void c_check(c_writer *w, const char *condition, const char *format, ...) PRINTF_LIKE(3, 4);
/* The function ends unless the call, which says why, gives true. */
void c_try(c_writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
/* In parentheses unless it is a name, a number or a call. */
const char *c_factor(c_writer *w, const char *expression);

/* ---- c_form.c ---- */
/* A form filled in: $T is the C type of t, $U the unsigned one of its width, $S its suffix ("f32"), $f the suffix of
 * libm's functions, $0 $1 $2 operands; @name is the helper of that name for t, #name one without an element type.
 * Helpers that it names come into the file. */
const char *c_form(c_writer *w, const char *form, dtype t, const char *const *x);
const char *c_suffix(dtype t);          /* "f32" */

/* ---- c_helper.c ---- */
/* Brings a helper into the file, before whoever calls it. */
void c_helper(c_writer *w, const char *name, dtype t, bool typed);
/* ---- c_memory.c ---- */
/* The form of such a helper, or NULL. */
const char *c_memory_form(const char *name);
/* Declares v and allocates its entries. */
void c_new(c_writer *w, const c_value *v, const char *const *sizes);
/* Makes target, which is declared, a copy. */
void c_copy(c_writer *w, const op_type *t, const char *target, const char *from);
void c_release(c_writer *w, const char *name);
void c_retain(c_writer *w, const char *name);
/* Gives v entries of its own, where another variable has them too. */
void c_own(c_writer *w, const c_value *v);

/* ---- c_order.c ---- */
extern const char c_order_form[];
/* ---- c_random.c ---- */
const char *c_random_form(const char *name);

/* ---- c_value.c ---- */
/* "kina_f32_2", whose struct comes into the file. */
const char *c_struct(c_writer *w, const op_type *t);
/* What a variable of this type is declared as. */
const char *c_declared(c_writer *w, const op_type *t);
var c_root(const c_writer *w, var v);
c_var *c_of(const c_writer *w, var v);
c_value c_value_of(const c_writer *w, var v);
/* Its name; "" while there is none, as after a failure. */
static inline const char *c_name_of(const c_writer *w, var v) { return c_value_of(w, v).name; }
/* What the user calls it, or NULL. */
const char *c_wish(c_writer *w, var v);
/* Gives v a C name. */
const char *c_name(c_writer *w, var v, const char *otherwise);
/* The size of an axis: "x.dims[1]", or a number. */
const char *c_size(c_writer *w, const c_value *v, int axis);
/* How many entries: "x.dims[0] * x.dims[1]". */
const char *c_count(c_writer *w, const c_value *v);
/* A dim from what the program has of it; whether all of that is there yet. */
const char *c_dim(c_writer *w, int64_t dim);
bool c_dim_is_known(const c_writer *w, int64_t dim);
/* The entry at these places, NULL where an axis of size 1 is none; of a number, itself. */
const char *c_entry(c_writer *w, const c_value *v, const char *const *at);
const char *c_literal(c_writer *w, dtype t, const void *at);
const char *c_number(c_writer *w, dtype t, double x);
c_value c_tensor_literal(c_writer *w, const value *v, const char *name);
/* Checks that two sizes are equal, unless that is known. */
void c_same_size(c_writer *w, const c_value *a, int axis, const c_value *b, int other, const char *what);
dim_verdict c_compare(const c_writer *w, int64_t a, int64_t b);

/* ---- c_live.c ---- */
/* Fills in home, same and last of all variables. */
void c_find_last(c_writer *w);
/* Whether its entries are v's own, to be released. */
bool c_owned(const c_writer *w, var v);
/* Releases what node i of r, made or read it last. */
void c_release_behind(c_writer *w, const region *r, int i);
/* Makes `target`, declared already, another owner of v's entries: moved where node i of r reads v last (i = its
 * count: r gives it), else counted once more, or copied. */
void c_hand_over(c_writer *w, const char *target, var v, const region *r, int i);
/* "kind name = v's name;": the same with the declaration. */
void c_begin(c_writer *w, const char *kind, const char *name, var v, const region *r, int i);
/* Whether v's entries are its own at the end of r, which gives it: it goes on under its own name then. */
bool c_goes_on(c_writer *w, var v, const region *r);
bool c_shared(const c_writer *w, var v);
/* The same where `to` was declared with the entries of `from`. */
void c_share(c_writer *w, var to, var from, const region *r, int i);

/* ---- c_graph.c ---- */
void c_region(c_writer *w, const region *r);
void c_node(c_writer *w, const region *r, int i);

/* "float y;": what is set inside of a block. */
void c_declare(c_writer *w, var v, const char *otherwise);

/* ---- c_call.c ---- */
void c_call(c_writer *w, const node *n);

/* ---- c_tape.c ---- */
void c_tape_node(c_writer *w, const region *r, int i);
/* Ends a tape, with all that it holds. */
void c_drop(c_writer *w, const tape_element *element, const char *name);

/* ---- c_op.c ---- */
typedef struct c_site {
    op_id op;
    const op_attrs *attrs;
    int n;
    const c_value *in;
    c_value out;
    const region *r;            /* node i of it */
    int i;
    const node *of;
} c_site;
void c_op(c_writer *w, const region *r, int i);
bool c_written(op_id op);
/* c_live.c: declares the result with the entries of the first operand, to be written to. */
void c_take_over(c_writer *w, const c_site *s);

/* ---- c_scalar.c ---- */
/* The op on expressions of dtype t (of the operands; of where, of the choices). */
const char *c_scalar(c_writer *w, op_id op, const op_attrs *attrs, dtype t, const char *const *x);
const char *c_two(c_writer *w, op_id op, dtype t, const char *a, const char *b);
bool c_scalar_written(op_id op);

/* ---- c_elementwise.c ---- */
/* Loops from 0 up inside each other. */
typedef struct c_nest {
    int depth;
    const char *at[2 * MAX_RANK];
} c_nest;
const char *c_loop(c_writer *w, c_nest *l, const char *count);
/* A loop for each axis of v. */
void c_loops(c_writer *w, c_nest *l, const c_value *v);
void c_loops_end(c_writer *w, const c_nest *l);
/* Where v's axes are the last ones of out's, of which those of size 1 that stretch are none. */
void c_stretch(const c_site *s, const c_value *v, uint8_t ones, const char *const *at, const char **places);

/* ---- families ---- */
typedef void c_family(c_writer *w, const c_site *s);
c_family c_elementwise, c_reduce, c_logsumexp, c_arg_reduce, c_softmax, c_cumulate, c_scan_linear, c_shift, c_reshape,
    c_rearrange, c_concat, c_slice, c_slice_add, c_triangle, c_gather, c_scatter, c_one_hot, c_matmul, c_full,
    c_count_up, c_eye, c_order, c_conv, c_conv_input_grad, c_conv_weight_grad, c_pool, c_avg_pool_grad,
    c_random;

#endif
