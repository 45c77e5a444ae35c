/* What the files of the MLIR emitter share. Internal to mlir*.c.
 *
 *   mlir.c               the module and its functions
 *   mlir_instance.c      their signatures and specialisations
 *   mlir_text.c          lines, names, types, constants
 *   mlir_value.c         values
 *   mlir_dims.c          sizes
 *   mlir_code.c          expressions and blocks
 *   mlir_index.c         subscripts
 *   mlir_stage.c         derivatives, and builtins made of several ops, by way of a graph
 *   mlir_graph.c         graphs
 *   mlir_call.c          calls, and functions as values
 *   mlir_control.c       if, while
 *   mlir_tape.c          tapes
 *   mlir_check.c         what a run has to check: sizes, indices
 *   mlir_op.c            the table of lowerings by class of op
 *   mlir_scalar.c        elementwise ops on one element
 *   mlir_elementwise.c   the same on tensors; linalg.generic
 *   mlir_reduce.c        reductions, softmax and its kin
 *   mlir_scan.c          running sums and the like
 *   mlir_shape.c         ops that move entries
 *   mlir_gather.c        gather and scatter
 *   mlir_matmul.c        matrix products
 *   mlir_order.c         sorting
 *   mlir_window.c        convolutions and pooling
 *   mlir_making.c        tensors from nothing
 *   mlir_loop.c          nests of scf.for
 *
 * The first failure is sticky, as in ad/builder.h: the context's error says what, and whoever emits goes on
 * with empty names until the end, where it is asked for once. */
#ifndef KINA_MLIR_EMIT_H
#define KINA_MLIR_EMIT_H

#include "interp/compiled.h"
#include "interp/dims.h"
#include "interp/lower.h"
#include "interp/mlir.h"
#include "runtime/context.h"

/* ---- values ---- */

typedef enum mlir_kind {
    MLIR_NONE,                  /* an empty slot; also what a failure gives */
    MLIR_UNIT,
    MLIR_NUMBER,                /* an SSA value of a scalar type */
    MLIR_TENSOR,                /* an SSA value of a ranked tensor type */
    MLIR_TUPLE,                 /* items; never a value of MLIR */
    MLIR_TAPE,                  /* an SSA value of type i64; items[0] is the type of an entry */
    MLIR_FUNCTION,              /* a known function; items are what it captured */
} mlir_kind;

/* Dims of a value: a size when >= 0, else the id of an SSA value of type index. NO_DIM: not a dim. */
enum { MLIR_NO_DIM = INT32_MIN };

typedef struct mlir_value mlir_value;
struct mlir_value {
    mlir_kind kind;
    const char *name;           /* NUMBER, TENSOR: "%x". NUMBER: NULL for a size not yet asked for as a number */
    op_type type;
    int64_t dim;                /* NUMBER: the dim it is known to equal, or NO_DIM */
    int count;
    mlir_value *items;
    const code_function *function;
};

/* What the pattern that a value is bound to calls it, for readable names; NULL: nothing. */
typedef struct mlir_hint {
    const binding *to;          /* a pattern, or */
    const char *name;           /* one name */
} mlir_hint;

/* ---- the emitter ---- */

/* Strings to strings: names in use, constants already written. */
typedef struct mlir_map {
    struct mlir_entry { const char *key, *value; } *slot;
    uint32_t count, capacity;
} mlir_map;

/* A function being written. */
typedef struct mlir_function {
    text constants, body;       /* constants stand first, so that they are visible everywhere */
    text *to;                   /* where the next line goes: body, or a region kept back */
    int depth;                  /* of indentation */
    mlir_map names, known;
    uint32_t numbered;
    int dim_count, dim_capacity;
    const char **dim_names;
    mlir_value *frame;          /* the slots of the code being walked */
    int slots;
    bool top_level;             /* the frame is the program's: */
    int reached;                /* which of its steps is being emitted; those before are when they are read */
    int inlined;                /* functions being walked in place */
} mlir_function;

/* A function of the module: code, with the functions among its parameters and captures fixed. */
typedef struct mlir_instance {
    const code_function *code;
    mlir_value *fixed;          /* params, then captures: types, and known functions */
    mlir_value result;          /* its type */
    const char *result_types;   /* "f32", "(f32, tensor<?xf32>)" */
    const char *symbol;
    bool exported;              /* by the types as written; its captures are made inside */
    struct mlir_instance *next;
} mlir_instance;

typedef struct emitter {
    engine *e;
    context *c;
    arena *a;
    const code_program *code;
    const step **steps;         /* of the top level, through its chain of blocks */
    int step_count;
    const code *tail;           /* the final expression, or NULL */
    const struct capture_set *captures; /* NULL until something is staged */
    mlir_options options;
    mlir_exports *exports;
    text declarations;
    mlir_map declared, symbols;
    mlir_instance *instances, **last;
    int instance_count;
    mlir_function f;
    span where;                 /* of what is being emitted */
    bool failed;
} emitter;

/* ---- mlir_value.c ---- */
void *mlir_take(emitter *e, size_t bytes);
#define MLIR_ARRAY(e, type, count) ((type *)mlir_take((e), sizeof(type) * (size_t)(count)))
/* A string in the arena; "" after a failure. */
const char *mlir_string(emitter *e, const char *format, ...) PRINTF_LIKE(2, 3);
/* Refuses (K0701) at e->where: "`%s` cannot be lowered: ..." as format says. */
void mlir_refuse(emitter *e, const char *format, ...) PRINTF_LIKE(2, 3);

/* One line of the function being written, indented. */
void mlir_line(emitter *e, const char *format, ...) PRINTF_LIKE(2, 3);
/* The line "NAME = ...": an SSA value without a name of its own. */
const char *mlir_let(emitter *e, const char *format, ...) PRINTF_LIKE(2, 3);
/* A name for a value that no line gives: numbered, or like `base` and not in use yet. */
const char *mlir_fresh(emitter *e);
const char *mlir_named(emitter *e, const char *base);
/* A name for leaf k of what is being bound, as the hint has it. */
const char *mlir_result_name(emitter *e, const mlir_hint *hint, int k);

const char *mlir_scalar_type(dtype t);
/* "tensor<2x?xf32>", of an op_type or of one with another dtype. */
const char *mlir_tensor_type(emitter *e, const op_type *t);
/* As a value of MLIR has it: a scalar or a tensor type. */
const char *mlir_type_of(emitter *e, const mlir_value *v);

const char *mlir_index(emitter *e, int64_t n);              /* a constant of type index */
const char *mlir_number(emitter *e, dtype t, double x);     /* a constant of a scalar type */
mlir_value mlir_constant(emitter *e, const value *v);

/* Dims. */
int64_t mlir_dim_new(emitter *e, const char *name);         /* an id for an SSA value of type index */
const char *mlir_dim(emitter *e, int64_t dim);              /* the SSA value */
int64_t mlir_dim_add(emitter *e, int64_t a, int64_t b);
int64_t mlir_dim_sub(emitter *e, int64_t a, int64_t b);
int64_t mlir_dim_mul(emitter *e, int64_t a, int64_t b);
dim_algebra mlir_algebra(emitter *e);
/* A number as a dim: not negative, checked where only the run knows. */
int64_t mlir_dim_of(emitter *e, const mlir_value *v);
/* The dim as a number of dtype t. */
mlir_value mlir_dim_number(emitter *e, int64_t dim, dtype t);
/* A number of an integer type as an SSA value of type index. */
const char *mlir_as_index(emitter *e, const mlir_value *v);

mlir_value mlir_number_value(emitter *e, dtype t, const char *name);
mlir_value mlir_tensor_value(const op_type *t, const char *name);
/* The SSA value of a number. */
const char *mlir_ssa(emitter *e, const mlir_value *v);
/* A tensor of another static shape that is the same at run time. */
mlir_value mlir_cast(emitter *e, const mlir_value *v, const op_type *to);
/* A number as a tensor of rank 0, and back. */
mlir_value mlir_boxed(emitter *e, const mlir_value *v);
mlir_value mlir_unboxed(emitter *e, const mlir_value *v);
/* The numbers and tensors in v, left to right, those that functions captured among them. */
int mlir_leaf_count(const mlir_value *v);
mlir_value **mlir_leaves(emitter *e, mlir_value *v, int *count);
mlir_value mlir_copy(emitter *e, const mlir_value *v);      /* with items of its own */
bool mlir_same_functions(const mlir_value *a, const mlir_value *b);

const char *mlir_map_find(const mlir_map *m, const char *key);
void mlir_map_put(emitter *e, mlir_map *m, const char *key, const char *to);

/* ---- mlir.c ---- */
/* A function of the C library, declared once. */
void mlir_declare(emitter *e, const char *name, const char *signature);

/* ---- mlir_instance.c ---- */
/* The instance for these arguments and captures, made when there is none yet. */
mlir_instance *mlir_instance_of(emitter *e, const code_function *f, const mlir_value *values);
enum { INSTANCES_MOST = 10000 };
mlir_instance *mlir_instance_export(emitter *e, const code_function *f, const char *name);
/* How many of `fixed` are passed: an exported one makes its captures itself. */
int mlir_instance_inputs(const mlir_instance *n);
bool mlir_param_by_value(const mlir_instance *n, int param, int leaf);
bool mlir_result_by_value(const mlir_instance *n, int leaf);
/* The type of a leaf at a boundary. */
const char *mlir_port_type(emitter *e, const mlir_value *leaf, bool by_value);
/* A value of this type, without names; a function among it is the actual one. */
mlir_value mlir_template(emitter *e, const type *t, const mlir_value *actual);

/* ---- mlir_code.c ---- */
mlir_value mlir_code(emitter *e, const code *n, mlir_hint hint);
mlir_value mlir_slot(emitter *e, int slot);
void mlir_step(emitter *e, const step *s);
/* All slots that the steps so far may fill. */
void mlir_fill_frame(emitter *e);
/* An integer that is a size, as a dim. */
int64_t mlir_size(emitter *e, const code *n);
void mlir_bind(emitter *e, const binding *to, const mlir_value *v);
mlir_hint mlir_hint_item(mlir_hint hint, int i);

/* ---- mlir_index.c ---- */
mlir_value mlir_subscripts(emitter *e, const code *n, mlir_hint hint);
/* That a slice with these lo, dims and step stays within the axis. */
void mlir_assert_slice(emitter *e, int axis, int64_t size, const op_attrs *attrs);

/* ---- mlir_stage.c ---- */
/* What is made of ops only when it is staged: derivatives, and builtins made of several ops. */
mlir_value mlir_staged(emitter *e, const code *n);

/* ---- mlir_graph.c ---- */
struct graph;
/* Emits a graph's own region, of whose variables `of` has the parameters; gives the results as a tuple. */
bool mlir_graph(emitter *e, struct graph *g, mlir_value *of) MUST_CHECK;

/* ---- mlir_call.c ---- */
mlir_value mlir_call(emitter *e, const code *n, mlir_hint hint);
mlir_value mlir_apply(emitter *e, const mlir_value *function, const mlir_value *args, mlir_hint hint);
mlir_value mlir_closure(emitter *e, const code_function *f, const slots *captures);
/* Walks a function's body in place. */
mlir_value mlir_inline(emitter *e, const code_function *f, const mlir_value *args, const mlir_value *captured,
                       mlir_hint hint);

/* ---- mlir_tape.c ---- */
mlir_value mlir_tape_empty(emitter *e, const type *entry);
mlir_value mlir_push(emitter *e, const code *n);
mlir_value mlir_pop(emitter *e, const code *n);
mlir_value mlir_is_empty(emitter *e, const code *n);
void mlir_drop(emitter *e, const mlir_value *v);
/* The same of leaves: what is pushed first is popped last. leaf: on entry the types of what is popped. */
const char *mlir_push_leaves(emitter *e, const char *tape, mlir_value *const *leaf, int count);
const char *mlir_pop_leaves(emitter *e, const char *tape, mlir_value **leaf, int count);
mlir_value mlir_tape_value(const char *name, mlir_value *entry);
const char *mlir_tape_empty_at(emitter *e, const char *tape);

/* ---- mlir_control.c ---- */
/* Part of a branch or loop: emits it and gives its value; carried: of a loop, its values in this iteration. */
typedef mlir_value mlir_text(emitter *e, void *self, const mlir_value *carried);
mlir_value mlir_branches(emitter *e, const mlir_value *condition, mlir_text *then, mlir_text *otherwise, void *self,
                         mlir_hint hint);
typedef struct mlir_loop {
    int count;
    const char *const *names;   /* of the carries; NULL where one has none */
    mlir_text *condition, *body;    /* a Bool; what is carried on, a tuple where there is more than one */
    void *self;
} mlir_loop;
/* All that the loop carries, as a tuple whatever its number. */
mlir_value mlir_loop_of(emitter *e, const mlir_loop *of, const mlir_value *inits, mlir_hint hint);
mlir_value mlir_if(emitter *e, const code *n, mlir_hint hint);
mlir_value mlir_and_or(emitter *e, const code *n);
mlir_value mlir_while(emitter *e, const code *n, mlir_hint hint);

/* ---- mlir_check.c ---- */
void mlir_assert(emitter *e, const char *condition, const char *format, ...) PRINTF_LIKE(3, 4);
/* That two dims are equal, unless that is known. */
void mlir_assert_equal(emitter *e, int64_t a, int64_t b, const char *what);
/* Index within [0, size): both SSA values of type index. */
void mlir_assert_within(emitter *e, const char *index, const char *size);
/* Gives the dims that a type names their values, then holds the others to it. */
void mlir_bind_dims(emitter *e, const shape_check *check, const mlir_value *v);
void mlir_hold_dims(emitter *e, const shape_check *check, mlir_value *v, const char *what);

/* ---- mlir_op.c ---- */
bool mlir_lowered(op_id op);
/* One op, on operands as the evaluator would have them. */
mlir_value mlir_op(emitter *e, op_id op, const op_attrs *attrs, int n, const mlir_value *in, mlir_hint hint);

/* A call of an op, typed, as lowerings take it. */
typedef struct mlir_site {
    op_id op;
    const op_attrs *attrs;      /* never NULL */
    int n;
    const mlir_value *in;
    op_type out;
    const char *result;         /* the name that the result is to have */
} mlir_site;

/* ---- mlir_scalar.c ---- */
/* The op on numbers of dtype t (of the operands; of where, of the choices): the SSA value of the result. */
const char *mlir_scalar(emitter *e, op_id op, const op_attrs *attrs, dtype t, const char *const *x);
/* The one operation that does it, "arith.addf"; NULL when it takes several. */
const char *mlir_scalar_mnemonic(op_id op, dtype t);
bool mlir_scalar_lowered(op_id op);
bool mlir_scalar_is_libm(const char *name);  /* "expf": a function that bodies may call */

/* ---- mlir_elementwise.c ---- */
enum {
    MLIR_FIRST = -1,            /* in a map: always the first entry of the axis */
    MLIR_INS = 4, MLIR_OUTS = 2,
    MLIR_SPACE = 2 * MAX_RANK,  /* dims of an iteration space */
};

/* A linalg.generic being written: operands, then its body, then the end. */
typedef struct mlir_generic {
    int dims;                   /* of the iteration space */
    unsigned reduced;           /* which of them are reduced */
    int ins, outs;
    mlir_value in[MLIR_INS], out[MLIR_OUTS];    /* tensors; out: what the results start from */
    int map[MLIR_INS + MLIR_OUTS][MAX_RANK];    /* the dim that each axis follows; outs from MLIR_INS on */
    const char *result[MLIR_OUTS];
    const char *arg[MLIR_INS + MLIR_OUTS];      /* of the body: elements of ins, then of outs */
} mlir_generic;
void mlir_generic_open(emitter *e, mlir_generic *g);
void mlir_generic_close(emitter *e, mlir_generic *g, const char *const *yield);
mlir_value mlir_generic_result(const mlir_generic *g, int i);
/* A tensor whose axes follow the dims of the iteration space in order; the caller may change the map. */
void mlir_generic_in(mlir_generic *g, const mlir_value *v);
/* A tensor whose axes are the last ones of the space, which is that of out; literal ones stretch. */
void mlir_generic_broadcast(mlir_generic *g, const mlir_value *v, uint8_t ones, const op_type *out);
/* A result, whose axes follow the dims that are not reduced. */
void mlir_generic_out(mlir_generic *g, const mlir_value *v, const char *result);
mlir_value mlir_empty(emitter *e, const op_type *t);
mlir_value mlir_filled(emitter *e, const op_type *t, const char *number, const char *result);
/* In a body: the i-th coordinate, of type index. */
const char *mlir_coordinate(emitter *e, int i);
mlir_value mlir_elementwise(emitter *e, const mlir_site *s);

/* ---- mlir_loop.c ---- */
enum { MLIR_CARRIED = 3 };
/* One scf.for from 0 up, and what it carries from iteration to iteration. */
typedef struct mlir_for {
    int carried;
    const char *index;
    const char *now[MLIR_CARRIED];      /* in the body */
    const char *result[MLIR_CARRIED];   /* behind the loop */
    const char *type[MLIR_CARRIED];
} mlir_for;
void mlir_for_open(emitter *e, mlir_for *l, const char *count, int carried, const char *const *init,
                   const char *const *type);
void mlir_for_close(emitter *e, mlir_for *l, const char *const *next);

/* Loops inside each other that all carry one tensor. */
typedef struct mlir_nest {
    int depth;
    mlir_for loop[MAX_RANK];
    const char *index[MAX_RANK];        /* the loops' */
    const char *now;                    /* the tensor, in the innermost body */
} mlir_nest;
void mlir_nest_open(emitter *e, mlir_nest *l, int depth, const int64_t *dims, const mlir_value *carried);
/* Ends all loops; the tensor that they give. */
const char *mlir_nest_close(emitter *e, mlir_nest *l, const char *next);
/* An element of a tensor, at SSA values of type index. */
const char *mlir_extract(emitter *e, const char *tensor, const op_type *t, const char *const *at);
/* The tensor with one element replaced. */
const char *mlir_insert(emitter *e, const char *element, const char *tensor, const op_type *t,
                        const char *const *at);

/* ---- families ---- */
mlir_value mlir_reduce(emitter *e, const mlir_site *s);
mlir_value mlir_logsumexp(emitter *e, const mlir_site *s);
mlir_value mlir_arg_reduce(emitter *e, const mlir_site *s);
/* Of argmax (argmin): whether entry y replaces the best so far, being beyond it or the first NaN. */
const char *mlir_better(emitter *e, op_id op, dtype t, const char *y, const char *best);
mlir_value mlir_softmax(emitter *e, const mlir_site *s);
mlir_value mlir_cumulate(emitter *e, const mlir_site *s);
mlir_value mlir_scan_linear(emitter *e, const mlir_site *s);
mlir_value mlir_shift(emitter *e, const mlir_site *s);
mlir_value mlir_reshape(emitter *e, const mlir_site *s);
/* v with its axes following the dims of out that the map says; what the map does not name is stretched. */
mlir_value mlir_mapped(emitter *e, const mlir_value *v, const int *map, const op_type *out, const char *result);
mlir_value mlir_rearrange(emitter *e, const mlir_site *s);  /* permute, broadcast, expand_dims, squeeze */
mlir_value mlir_concat(emitter *e, const mlir_site *s);
mlir_value mlir_slice(emitter *e, const mlir_site *s);
mlir_value mlir_slice_add(emitter *e, const mlir_site *s);
mlir_value mlir_triangle(emitter *e, const mlir_site *s);
mlir_value mlir_gather(emitter *e, const mlir_site *s);
mlir_value mlir_scatter(emitter *e, const mlir_site *s);
mlir_value mlir_one_hot(emitter *e, const mlir_site *s);
mlir_value mlir_matmul(emitter *e, const mlir_site *s);
mlir_value mlir_full(emitter *e, const mlir_site *s);
mlir_value mlir_count_up(emitter *e, const mlir_site *s);   /* arange */
mlir_value mlir_order(emitter *e, const mlir_site *s);
mlir_value mlir_conv(emitter *e, const mlir_site *s);
mlir_value mlir_conv_input_grad(emitter *e, const mlir_site *s);
mlir_value mlir_conv_weight_grad(emitter *e, const mlir_site *s);
mlir_value mlir_pool(emitter *e, const mlir_site *s);
mlir_value mlir_avg_pool_grad(emitter *e, const mlir_site *s);
mlir_value mlir_eye(emitter *e, const mlir_site *s);

#endif
