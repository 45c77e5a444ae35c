/* What the files of the checker share. The entry points are in ast.h.
 *
 *   check.c          the program, blocks, lets and patterns
 *   check_names.c    scopes, look-up, did-you-mean, what runs before what, warnings about names
 *   check_types.c    types and dims as written
 *   check_report.c   messages about types, dims and operands
 *   check_fn.c       functions: signatures, bodies, custom rules
 *   check_expr.c     expressions and operators
 *   check_literal.c  literals, lists, and how they adopt their type
 *   check_index.c    subscripts
 *   check_call.c     calls of functions: arguments, unification of dims
 *   check_builtin.c  calls of builtins, check_making.c those that take sizes or make things
 *   check_composite.c    builtins that a run makes of several ops
 *   check_einsum.c   the equation of einsum
 *   check_tape.c     tapes: tape, push, pop, is_empty
 *   check_derivative.c   grad, vjp, jvp, hvp, jacobian, hessian
 *   check_axis.c     axes, by number or by dim
 *   check_window.c   strides, paddings and windows of convolutions and pooling
 *   check_control.c  if and while
 *   check_checkpoint.c   @checkpoint and its options
 *   check_handle.c   handle, check_wrt.c its choice of parameters
 *
 * An expression is checked once, top down, with what its context asks of it; its type comes back and is
 * kept in the node. After an error the type is TYPE_ERROR, which fits everything, so that one mistake is
 * reported once. The one exception to "once" is a loop body whose carries start from bare literals: it is
 * checked again when the body turns out to yield another type. */
#ifndef KINA_CHECK_H
#define KINA_CHECK_H

#include "interp/ast.h"
#include "interp/dims.h"
#include "runtime/context.h"
#include "runtime/storage.h"

enum { NO_DTYPE = -1, NO_FN = -1 };

/* ---- names ---- */

typedef struct binding binding;
typedef struct scope scope;

/* A spelling, with what it means at present. */
typedef struct name_entry {
    const char *name;
    binding *top;               /* the innermost meaning */
    int builtin;                /* an op_id, or OP_COUNT + a builtin_id; -1: no builtin has this name */
    int veils;                  /* blocks that bind it, looked into before their names have meanings */
} name_entry;

struct binding {
    symbol *symbol;
    scope *in;
    name_entry *entry;
    binding *outer;             /* the meaning that this one shadows */
    binding *next;              /* in its scope */
};

/* A symbol with what only the checker needs to know of it. */
typedef struct meaning {
    symbol symbol;              /* first: a symbol of the checker is a meaning */
    item *item;                 /* SYMBOL_FN: its declaration, for a check on demand */
    int fn_index;               /* SYMBOL_FN: which of its block's functions */
    struct signature *signature;    /* SYMBOL_FN: once resolved (check_fn.c) */
    bool flexible;              /* its value is made of literals: adopts a type like one (see check_control.c) */
    bool pending;               /* a let below the function being checked on demand: has no type yet */
    bool bare;                  /* SYMBOL_DIM: stands alone somewhere in its parameter list */
    bool placeless;             /* SYMBOL_DIM: no tensor parameter gives it a value (yet) */
    struct meaning *bundle;     /* the next name of its tuple pattern, in a ring; NULL */
} meaning;

/* That a function may be called where it is mentioned. */
typedef struct mention {
    struct mention *next;
    int from;                   /* the block's function that mentions it; NO_FN: an item of the block */
    int to;
    uint32_t at_item;
    span at;
} mention;

/* A function of a block. */
typedef struct block_fn {
    symbol *symbol;
    symbol *latest;             /* the lowest let of the block that it may read; NULL */
    mention *callers;           /* those with `from` not NO_FN, by target */
    int next;                   /* in the order of search; NO_FN at the end */
    bool settled;
} block_fn;

struct scope {
    scope *parent;
    fn_decl *owner;
    binding *bindings;
    bool hidden;                /* while a function further out is checked on demand */
    bool warns;                 /* unused names are worth a warning */
    /* of a block: */
    expr *block;
    uint32_t now;               /* the item being checked */
    int inside;                 /* the function being checked, NO_FN outside of any */
    int fn_count;
    block_fn *fns;
    mention *mentions;          /* those with `from` NO_FN */
    span asked_at;              /* of a scope of pending lets: what asked for the function */
    const char *asked_for;
};

typedef struct handled {        /* for the warning about gradients of unused parameters */
    struct handled *next;
    const expr *handle;
    const fn_decl *fn;
} handled;

/* ---- the checker ---- */

typedef struct checker {
    program *p;
    diagnostics *d;
    arena *a;
    context *c;
    dims *dims;
    dim_algebra algebra;

    name_entry **names;         /* hash table by pointer */
    uint32_t name_count, name_capacity;
    scope *scope;
    fn_decl *fn;                /* whose body is being checked */

    handled *handles;
    int attempts;               /* loop bodies being checked again, one inside another */
    int trials_left;            /* how many more such bodies in bodies there may be, of the whole program */
    int classified_calls;       /* calls in calls that check_classify is looking through */
    int veils;                  /* blocks with items that it is looking into */
    bool flexing;               /* on trial: names of literal values adopt types as literals do */
    bool failed;                /* out of memory or out of stack: the context's error says so */
} checker;

/* What a context asks of an expression. */
typedef struct expect {
    const type *type;           /* NULL: nothing */
    int dtype;                  /* what a literal adopts, when type does not say; or NO_DTYPE */
    int take;                   /* how many of a loop's values; 0: all */
} expect;

static const expect expect_nothing = {NULL, NO_DTYPE, 0};
static const expect expect_one = {NULL, NO_DTYPE, 1};

static inline meaning *meaning_of(symbol *s) {
    return (meaning *)s;
}

/* ---- check.c ---- */
const type *check_block(checker *c, expr *e, expect x);

/* A place to return to, when what was checked on trial is not kept. */
typedef struct check_mark {
    diag **last;
    unsigned errors, warnings;
    handled *handles;
} check_mark;
check_mark check_mark_set(const checker *c);
void check_mark_return(checker *c, const check_mark *m);

/* ---- check_names.c ---- */
bool check_names_init(checker *c) MUST_CHECK;
void check_scope_open(checker *c, scope *s);
void check_scope_close(checker *c);
symbol *check_symbol(checker *c, symbol_kind kind, const char *name, span at, const type *t);
void check_bind(checker *c, symbol *s);
/* The innermost visible meaning, or NULL. Notes nothing. */
binding *check_lookup(checker *c, const char *name);
/* The builtin of this name as in name_entry, or -1. */
int check_builtin_find(checker *c, const char *name);
/* Takes all meaning from the names that a block binds, or gives it back; false when out of memory. */
bool check_veil(checker *c, const expr *block, bool on) MUST_CHECK;
bool check_veiled(const checker *c, const char *name);
/* As check_lookup, for an expression that reads the name: marks it read and notes what a function captures. */
binding *check_read(checker *c, const char *name, span at);
void check_undefined(checker *c, const char *name, span at, const char *what);
/* A block's functions against its lets, once all its items are checked. */
void check_block_order(checker *c, scope *s);
/* To a function item declared in scope `home`, for its signature or its body, with what is visible there. */
typedef struct scope_switch {
    scope *back;
    scope pending;
    fn_decl *fn;
    int inside;
} scope_switch;
void check_switch_to(checker *c, scope_switch *s, scope *home, meaning *fn, bool body, span asked_at);
void check_switch_back(checker *c, scope_switch *s, scope *home);

/* ---- check_types.c ---- */
extern const type check_error_type, check_unit_type, check_string_type;
const type *check_scalar(dtype t);
const type *check_tensor_type(checker *c, const op_type *t);
const type *check_tuple_type(checker *c, int count, const type **items);

typedef enum type_place {
    PLACE_PARAMETER,            /* new dim names are quantified; they were declared beforehand */
    PLACE_RESULT,               /* new dim names open dims: new at each call */
    PLACE_LET,                  /* new dim names open unknown dims */
    PLACE_PLAIN,                /* dim names are those in scope */
} type_place;

/* The dims that a type opens, in the order of their names. */
typedef struct dim_list {
    int count, room;
    symbol **symbols;
} dim_list;
const type *check_type(checker *c, type_expr *t, type_place place, dim_list *opened);
/* Declares, in the current scope, the dims that a parameter list quantifies. */
void check_declare_dims(checker *c, fn_decl *f, dim_list *quantified);
void check_bind_dims(checker *c, const dim_list *opened);
/* An entry of a list of sizes, a 0-D integer, checked, as a dim: a new unknown one unless it is built of
 * integers and dim names. */
int64_t check_size(checker *c, expr *e);

/* ---- check_report.c ---- */
const char *check_show(checker *c, const type *t);
const char *check_show_dim(checker *c, int64_t dim);
void check_note_dims(checker *c, diag *e, const int64_t *list, int count);
void check_note_types(checker *c, diag *e, const type *a, const type *b);

/* Why a value must have a type, for messages. */
typedef struct reason {
    span at;                    /* 0,0: no place to show */
    const char *text;           /* "the argument for `x` of `f`", "the result of `f`" */
    error_code code;
    span note_at;
    const char *note;           /* NULL: none */
} reason;
/* Whether e, already checked, fits `wanted`; reports at the part that does not. */
bool check_fits(checker *c, expr *e, const type *wanted, const reason *why);
/* A value that only a run can hold against a written type: the dims of that type must have values then. */
void check_measurable(checker *c, const expr *e, const type *is, const type *wanted);
void check_fault(checker *c, const char *name, span mark, expr *const *operands, const op_type *in, int n,
                 const op_fault *fault);
/* How many values of a loop a value of this type stands for. */
int check_take(const type *t);

/* ---- check_fn.c ---- */
const type *check_function(checker *c, fn_decl *f);
/* Of a function item: known from its signature, or by checking its body now. */
const type *check_fn_type(checker *c, binding *b, span at);
void check_fn_item(checker *c, item *it);

/* ---- check_expr.c ---- */
const type *check_expr(checker *c, expr *e, expect x);
/* An operand: one value of a tensor type. False when it is not one (reported) or in error. */
bool check_operand(checker *c, expr *e, const char *of, op_type *out);
const type *check_apply(checker *c, op_id op, const char *name, span mark, op_attrs *attrs,
                        expr *const *operands, int n);

/* ---- check_literal.c ---- */
literal_class check_classify(checker *c, expr *e);
bool check_keeps_dtype(op_id op);
/* The dtype that literals of a class take when `asked` (or NO_DTYPE) is asked for. */
int check_adopted(literal_class class, int asked);
int check_asked(const expect *x);
void check_adopting(checker *c, expr *const *operands, int n, int asked);
const type *check_integer(checker *c, expr *e, int asked);
const type *check_floating(checker *c, expr *e, int asked);
const type *check_list(checker *c, expr *e, expect x);
/* An integer literal; reports what lacks one when `what` is given. */
bool check_static_integer(checker *c, expr *e, int64_t *out, const char *what);
bool check_static_flag(checker *c, expr *e, bool *out, const char *what);

/* ---- check_index.c ---- */
const type *check_index(checker *c, expr *e, int asked);

/* ---- check_call.c ---- */
const type *check_call(checker *c, expr *e, expect x);
/* Types of the parameters as this call has them; valid after check_call of a function. */
typedef struct instance {
    const type *fn;             /* generic */
    int64_t *to;                /* by generic; 0 while nothing asked for it: then an unknown dim */
    bool *bound;
    int *by;                    /* the argument that bound it */
} instance;
bool check_instance_open(checker *c, instance *n, const type *fn) MUST_CHECK;
/* Binds quantified dims of `formal` that stand alone to those of `actual`. */
void check_unify(checker *c, instance *n, const type *formal, const type *actual, int by);
const type *check_instance_of(checker *c, const instance *n, const type *t);
const type *check_opened_anew(checker *c, const type *t);
/* How `actual` fits `wanted`, generic functions taken at one assignment. */
dim_verdict check_conversion(checker *c, const type *actual, const type *wanted);
/* The declaration behind a callee, or NULL for a value. */
fn_decl *check_callee(const expr *callee);

/* ---- check_builtin.c ---- */
const type *check_builtin_call(checker *c, expr *e, int builtin, expect x);
/* A builtin's name where a function of type `wanted` is asked for. */
const type *check_builtin_value(checker *c, expr *e, int builtin, const type *wanted);
/* Which argument of a builtin's call is for the parameter of this name; -1: none. */
int check_builtin_argument(const builtin_use *use, const char *name);

/* A builtin's call while it is checked. */
typedef struct builtin_call {
    expr *e;
    int builtin;
    const char *name;
    builtin_use *use;
    int count;
    builtin_param params[BUILTIN_PARAMS];
    int operand_count;
    expr *operands[3];
    int asked;                  /* the element type that the context asks for */
    expect x;
} builtin_call;

/* ---- check_index.c ---- */
/* slice and slice_add, whose operands are checked. */
const type *check_slice(checker *c, builtin_call *b);

void check_help_signature(checker *c, diag *d, const builtin_call *b);

/* ---- check_axis.c ---- */
/* An argument for the parameter axis or axes, with the operands checked; e may be NULL for axis. */
bool check_axis(checker *c, builtin_call *b, const builtin_param *p, expr *e);
bool check_axes(checker *c, builtin_call *b, expr *e);

/* ---- check_making.c ---- */
bool check_sizes(checker *c, builtin_call *b, expr *list);
bool check_size_alone(checker *c, builtin_call *b, expr *e);
/* Whether e is a storage type's name, of which the program makes nothing else. */
bool check_storage_word(checker *c, const expr *e, storage *out);
const type *check_special(checker *c, builtin_call *b);

/* ---- check_window.c ---- */
/* stride, padding, dilation, groups or window of a convolution or pooling; e may be NULL. */
bool check_window(checker *c, builtin_call *b, const builtin_param *p, expr *e);

/* ---- check_composite.c ---- */
/* The builtins that the evaluator makes of several ops. */
const type *check_composite(checker *c, builtin_call *b);

/* ---- check_tape.c ---- */
/* tape, push, pop, is_empty, and drop, which takes tapes too; NULL when the call is none of those. Its arguments
 * are placed. */
const type *check_tape_call(checker *c, builtin_call *b);
/* Whether a tape may hold such values: tensors, numbers and tuples of them. Reports. */
bool check_tape_element(checker *c, const type *t, span at);

/* ---- check_derivative.c ---- */
/* grad(f) and its like: the type of the function that they give. */
const type *check_derivative(checker *c, const builtin_call *b);

/* ---- check_einsum.c ---- */
const type *check_einsum(checker *c, builtin_call *b);

/* ---- check_control.c ---- */
const type *check_if(checker *c, expr *e, expect x);
const type *check_while(checker *c, expr *e, expect x);

/* ---- check_checkpoint.c ---- */
/* Hands the decorator to the loop that `value` is, and checks its options. */
void check_checkpoint(checker *c, decorator *d, expr *value);

/* ---- check_wrt.c ---- */
/* What is differentiated: a function with its declaration (NULL: a value), or a builtin's call. */
typedef struct wrt_target {
    const char *name;
    const fn_decl *decl;
    const builtin_use *use;
    int count;                  /* parameters; NULL among the types: not given */
    const type *const *types;
} wrt_target;
/* Marks the parameters that `written`, one name or a tuple of them, chooses. False when reported. */
bool check_wrt(checker *c, expr *written, const wrt_target *of, bool *chosen) MUST_CHECK;

/* ---- check_handle.c ---- */
const type *check_handle(checker *c, expr *e);
/* Whether a value of this type holds a float, in a tuple or on a tape too. */
bool check_contains_float(const type *t);
/* Whether @vjp ('v') or @jvp ('j') stands before f, resolved or not. */
bool check_has_rule(const fn_decl *f, char initial);
void check_handled_warnings(checker *c);

#endif
