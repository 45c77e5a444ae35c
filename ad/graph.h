/* A function written down: ops on variables in their order, control flow kept as regions.
 *
 * A tape records one run; a graph holds what any run would do, in the same ops. Code is staged into a graph
 * (interp/stage*.c), the graph is differentiated (gradient.h) and written out as a program
 * (interp/write*.c). Calls of known functions are staged in place, so that a graph has no function values,
 * and tuples are taken apart: a variable is a number, a tensor or a tape.
 *
 * Dims are ids of the checker's symbolic dims (runtime/op.h): a size >= 0, or a negative id that only the
 * algebra looks into. So is everything else in an op's attributes that only the run may know: `dims` of
 * every op, and `lo` of slices and slice_add; all other attributes (step, lo of shift and of windows) are
 * plain integers. Every symbol has a witness, what its size is in the program that is written: a dim name of
 * the function's parameters, an integer variable, or the size of a tensor along an axis.
 *
 * Everything lives in the graph's arena. The first failure (out of memory) is sticky: later calls do
 * nothing and return NULL or VAR_NONE, and `failed` says so. */
#ifndef KINA_GRAPH_H
#define KINA_GRAPH_H

#include "runtime/arena.h"
#include "runtime/error.h"
#include "runtime/op.h"
#include "runtime/value.h"

typedef int32_t var;
enum { VAR_NONE = -1 };

typedef struct node node;
typedef struct region region;

typedef enum node_kind {
    NODE_OP,                    /* in -> one out, by op and attrs */
    NODE_NUMBER,                /* a literal number: constant */
    NODE_LITERAL,               /* a literal tensor: constant */
    NODE_SIZE,                  /* the dim attrs->dims[0] as a number of dtype attrs->dtype */
    NODE_STOP,                  /* stop_gradient(in[0]) */
    NODE_IF,                    /* in[0]: the condition; inside[0] then, inside[1] otherwise, without params */
    NODE_WHILE,                 /* in: the inits; inside[0] the condition (one Bool), inside[1] the body, each with
                                   the carries as params */
    NODE_CALL,                  /* a call that stays one: see graph_call */
    NODE_TAPE,                  /* tape() */
    NODE_PUSH,                  /* in[0] the tape, in[1...] the leaves of the pushed value; out: the tape */
    NODE_POP,                   /* in[0] the tape; out[0] the tape, out[1...] the leaves */
    NODE_EMPTY,                 /* is_empty(in[0]): a Bool */
    NODE_DROP,                  /* drop(in[0]) of a tape; no out */
    NODE_PRINT,                 /* strings[i], or where NULL the next of in */
    NODE_ASSERT,                /* in[0]; strings[0] the message */
    NODE_LOAD,                  /* strings[0] the path; one out */
    NODE_SAVE,                  /* strings[0] the path, [1] the type to store unless its own, or NULL; in[0] */
} node_kind;

/* A call that is not staged in place: of a function that calls itself, or that has a rule of its own. The
 * declarations are the evaluator's and only handed through. */
typedef struct graph_call {
    const char *name;
    const void *decl;           /* what to write out for it: the function's declaration */
    region *body;               /* staged with the arguments as params; NULL: it calls itself */
    /* Rules of its own; regions NULL where there are none. Params: the arguments, then the result and its
     * cotangent (vjp), or the tangents of the floating arguments (jvp). */
    const char *vjp_name, *jvp_name;
    const void *vjp_decl, *jvp_decl;
    region *vjp, *jvp;
} graph_call;

/* How the user asked for a loop to be checkpointed; it changes no bit. */
typedef struct graph_policy {
    int64_t k;                  /* k=K with a constant K; 0: none */
    const char *words;          /* any other policy as the source writes it, or NULL */
} graph_policy;

struct node {
    uint8_t kind;
    bool drops;                 /* while it is simplified: nothing reads it */
    uint16_t op;
    int n, m;
    var *in, *out;
    op_attrs *attrs;            /* OP, SIZE; never NULL there */
    const int64_t *hi;          /* OP_slice: the upper bounds as the program wrote them (dims), or NULL */
    region *inside[2];
    int read_count;
    var *reads;                 /* IF, WHILE: outer floating variables and tapes that the text reads inside,
                                   conditions apart; the adjoints' rule 3 (ad.h) speaks of them */
    value constant;             /* NUMBER, LITERAL; a tensor is retained by whoever staged it */
    int string_count;
    const char **strings;
    graph_call *call;
    graph_policy policy;        /* WHILE */
    span where;                 /* the source expression that it computes; {0, 0}: none */
    span answers;               /* of a derivative: the source expression whose rule it follows */
};

/* What each entry of a tape holds: its leaves, which are numbers, tensors or tapes. Tapes that may be one another
 * have one element, whose address tells tapes apart. */
typedef struct tape_element tape_element;
typedef struct tape_leaf {
    op_type type;
    tape_element *tape;         /* of a tape in the tape; else NULL */
} tape_leaf;
struct tape_element {
    int count;
    tape_leaf *leaf;
    tape_element *tangent;      /* gradient_forward: of such a tape's tangents; NULL while not asked for */
    tape_element *same;         /* while it is built: what it has been found to be one with; NULL: itself */
};

typedef struct graph_var {
    op_type type;               /* a number or tensor */
    tape_element *tape;         /* a tape of such; NULL: none */
    const char *name;           /* the user's; NULL where there was none */
    var derivative_of;          /* named after this variable: its adjoint or tangent; VAR_NONE */
    const char *prefix;         /* of such a name: "d_" */
    node *maker;                /* NULL: a parameter of its region */
    region *home;               /* where it is defined */
} graph_var;

struct region {
    region *outer;              /* NULL: the function's own */
    node *holder;               /* the if, loop or call that it is inside of; NULL */
    region *forward;            /* of the backward part of a branch or loop body: what it takes back; NULL */
    int param_count;
    var *params;
    int count, room;
    node **nodes;
    int result_count;
    var *results;
};

/* What a symbol of a dim is in the program. */
typedef struct witness {
    int64_t symbol;
    const char *name;           /* a dim name of the function's parameters; else NULL and: */
    var v;                      /* a 0-D integer, or the tensor whose axis has this size */
    int axis;                   /* of the tensor; -1: v itself */
} witness;

typedef struct graph {
    arena *a;
    context *c;
    const dim_algebra *algebra;
    bool failed;
    error_code refused;         /* ERROR_NONE, or why this cannot be written: */
    span refused_at;
    const char *refusal, *refusal_help;

    int count, room;
    graph_var *vars;
    int witness_count, witness_room;
    witness *witnesses;
    region *top;                /* the function: params, and results as the flat tuple it gives */
    bool keeps_unread;          /* ops are written though nothing reads them */
    var backward_from;          /* derivative ops (answers) whose results have such an index or a later one are
                                   the function's backward part; VAR_NONE: it has none */
} graph;

void graph_init(graph *g, arena *a, const dim_algebra *algebra);

/* ---- memory ---- */
/* Zeroed, from the graph's arena; NULL after a failure, which is kept. */
void *graph_take(graph *g, size_t bytes);
#define GRAPH_ARRAY(g, type, count) ((type *)graph_take((g), sizeof(type) * (size_t)(count)))
/* list with room for one more behind its count entries; NULL after a failure. */
void *graph_grow(graph *g, void *list, int count, int *room, size_t element);

/* ---- building ---- */
region *region_new(graph *g, region *outer, node *holder);
var graph_var_new(graph *g, const op_type *type, const char *name);
var graph_tape_var(graph *g, tape_element *element, const char *name);
/* While a graph is staged: tapes that go on as one, or are held in one place, have one element. Once it is staged,
 * graph_settle_tapes lets every variable and leaf refer to that one. */
void graph_unify_tapes(tape_element *a, tape_element *b);
void graph_settle_tapes(graph *g);
/* A variable of v's type and name, and named after what v is. */
var graph_var_like(graph *g, var v);
/* Names v after what it is the derivative of, "d_" or "t_", unless it has a name already. */
void graph_name_derivative(graph *g, var v, var of, const char *prefix);
var region_param(graph *g, region *r, var v);
/* Room for n operands and m results; in is copied; outs are VAR_NONE. */
node *node_new(graph *g, region *r, node_kind kind, int n, const var *in, int m);
/* Makes v the i-th result of n, at home in r. */
void node_out(graph *g, region *r, node *n, int i, var v);
/* An op; attrs (may be NULL) are copied. The result's type follows from the operands'; a fault is refused
 * with the span. */
var graph_op(graph *g, region *r, op_id op, const op_attrs *attrs, int n, const var *in, span where);
var graph_number(graph *g, region *r, value number);
var graph_size(graph *g, region *r, int64_t dim, dtype t);
/* v, through which no derivative passes. */
var graph_stop(graph *g, region *r, var v, span where);
void region_results(graph *g, region *r, int count, const var *results);
void region_add_result(graph *g, region *r, var v);
/* Where n stands in its region, and moving the region's last node to such a place. */
int region_place(const region *r, const node *n);
void region_move_last(region *r, int to);
void region_append(graph *g, region *r, node *n);
/* A variable more as operand, as result (at home in r), as one that is read inside. */
void node_add_in(graph *g, node *n, var v);
void node_add_out(graph *g, region *r, node *n, var v);
void node_add_read(graph *g, node *n, var v);
/* One carry more of a loop: its init, its variable in the condition and in the body, what the body yields,
 * and the loop's result. in_body may be a parameter of the body already. */
void graph_add_carry(graph *g, node *n, var init, var in_condition, var in_body, var next, var out);
/* What a symbol is; the first word on a symbol counts. */
void graph_witness(graph *g, int64_t symbol, const char *name, var v, int axis);
/* The size that an integer variable is: a symbol, of which it is the witness. */
int64_t graph_size_of(graph *g, var v);
/* Makes v the witness of the symbols that stand alone in its dims and have none yet. graph_op does it. */
void graph_note_dims(graph *g, var v);
/* The witness of a symbol, or NULL. */
const witness *graph_witness_of(const graph *g, int64_t symbol);
/* Says why the graph cannot be made; the first one counts. */
void graph_refuse(graph *g, error_code code, span at, const char *help, const char *format, ...)
    PRINTF_LIKE(5, 6);

static inline graph_var *graph_at(const graph *g, var v) { return &g->vars[v]; }
static inline const op_type *graph_type(const graph *g, var v) { return &g->vars[v].type; }
static inline bool graph_floating(const graph *g, var v) {
    return g->vars[v].tape == NULL && dtype_floating((dtype)g->vars[v].type.dtype);
}
static inline bool graph_bad(const graph *g) { return g->failed || g->refused != ERROR_NONE; }

/* A region once more, inside of outer and held by holder, with variables of its own. to[v] becomes the clone of
 * variable v; its count entries are VAR_NONE before, or what is already known of a variable. effects: prints,
 * asserts and saves too. */
region *graph_clone(graph *g, const region *r, region *outer, node *holder, bool effects, var *to, int count);

/* ---- looking ---- */
/* All nodes of a kind, those inside of others too, in order; NULL after a failure. */
node **graph_nodes_of(graph *g, node_kind kind, int *count);
/* Calls visit for every variable that the node itself reads (not inside its regions): operands and the
 * witnesses of its attributes. */
void node_each_use(graph *g, const node *n, void (*visit)(void *self, var v), void *self);
/* The witnesses alone, those that are no dim names. */
void node_each_witness(graph *g, const node *n, void (*visit)(void *self, const witness *w), void *self);
/* Replaces symbols in the node's attributes. */
void node_substitute(graph *g, node *n, int count, const int64_t *from, const int64_t *to);
/* Fills in what branches and loops read, from node `from` of r on, of those that do not say so yet. */
void graph_note_reads(graph *g, const region *r, int from);
/* The axes of a type that are a literal 1. */
uint8_t graph_ones(const op_type *type);

#endif
