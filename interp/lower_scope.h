/* What lowering knows while it walks a function: frame slots, where values are read for the last time, and
 * what each branch or loop reads from outside. Internal to lower*.c. */
#ifndef KINA_LOWER_SCOPE_H
#define KINA_LOWER_SCOPE_H

#include "interp/lower.h"

/* The depth of the block of a function's parameters is 1, of the program's globals; that of its body follows. */
enum { TOP_LEVEL = 2 };

/* A block being lowered. Its locals' lives end with one of its steps. */
typedef struct block_scope {
    struct block_scope *outer;
    int depth;                  /* blocks around it in this function */
    int step;                   /* being lowered; the tail is step `count`; -1: a loop's condition */
    int nest;                   /* branches, loops and closures around it */
    struct local *locals;
} block_scope;

/* A named value of the function: where it is read last. */
typedef struct local {
    const symbol *symbol;
    block_scope *home;
    binding *bound_by;          /* NULL for parameters and carries */
    bool pinned;                /* lives as long as the frame */
    int last_step;              /* -1: never read */
    code *last_read;            /* a plain read that is certain to be the last; else NULL */
    struct local *next;
} local;

/* A branch or loop: the outer slots that it reads. */
typedef struct region {
    struct region *outer;
    int depth;                  /* locals of blocks of this depth and more are inside */
    int count, capacity;        /* those that may be active */
    int *slot;
    int all_count, all_capacity;
    int *all;
} region;

typedef struct lowering {
    const program *p;
    arena *a;
    capture_set *captures;
    code_program *out;
    int constant_capacity, function_capacity;
    bool failed;
} lowering;

typedef struct fn_scope {
    lowering *l;
    const fn_decl *decl;
    code_function *f;
    const capture_set *captures;
    block_scope *block;
    region *region;
    int nest;
} fn_scope;

/* ---- lower_scope.c ---- */
code *code_new(fn_scope *s, code_kind kind, span where);    /* NULL when out of memory: `failed` is set */
void *lower_take(lowering *l, size_t bytes);
#define LOWER_ARRAY(l, type, count) ((type *)lower_take((l), sizeof(type) * (size_t)(count)))
code *code_constant(fn_scope *s, value v, span where);      /* takes over v */
int slot_new(fn_scope *s);
/* The slot of a value in this function's frame, own or captured. */
int slot_of(const fn_scope *s, const symbol *sym);
/* Gives a symbol a slot and a life in the current block; to may be NULL. */
void local_define(fn_scope *s, symbol *sym, binding *to);
/* Notes a read; plain: `reader` is a SLOT node that may become a move. Returns the slot. */
int local_read(fn_scope *s, const symbol *sym, code *reader);
void block_enter(fn_scope *s, block_scope *b, int step);
/* Ends the lives of the block's locals at their last steps. */
void block_leave(fn_scope *s, step *steps, int count, slots *tail_kills);
void region_enter(fn_scope *s, region *r);
slots region_leave(fn_scope *s);
slots slots_of_captures(fn_scope *s, const capture_set *set);

/* ---- lower.c ---- */
code *lower_expr(fn_scope *s, const expr *e);
code_function *lower_function(lowering *l, const fn_decl *decl);
callee lower_callee(fn_scope *s, const expr *e);
shape_check *lower_check(fn_scope *s, const type_expr *t);
/* An entry of a list of sizes, or a dim of a type: integer arithmetic that must not wrap. */
code *lower_extent(fn_scope *s, const expr *e);
/* v, held against the dims that t writes where the checker could not be certain; t may be NULL. what:
 * for the message. */
code *lower_checked(fn_scope *s, code *v, const type *given, const type_expr *t, const char *what,
                    span where);

/* ---- lower_control.c ---- */
code *lower_block(fn_scope *s, const expr *e);
code *lower_if(fn_scope *s, const expr *e);
code *lower_while(fn_scope *s, const expr *e);
code *lower_handle(fn_scope *s, const expr *e);

/* ---- lower_policy.c ---- */
/* @checkpoint and the trip count of a loop, in the scope outside of it. */
void lower_policy(fn_scope *s, const expr *e, code *n);

/* ---- lower_op.c ---- */
/* An op node; args are lowered operands, types their static types (for literal-one axes). */
code *op_node(fn_scope *s, op_id op, const op_attrs *attrs, int n, code **args, const type *const *types,
              const type *result, span where);
/* A concat of any number of parts along an axis; args and types are overwritten. */
code *concat_node(fn_scope *s, int axis, int n, code **args, const type **types, const type *result, span where);
code *lower_builtin(fn_scope *s, const expr *e);
/* The same with operands already lowered, in the order of builtin_operands. */
code *lower_builtin_with(fn_scope *s, const expr *e, code **args, code **sizes);
/* The operand expressions of a builtin call: what may carry gradients. Returns how many. */
int builtin_operands(const builtin_use *use, expr **out);
/* A builtin as a function value. */
code *lower_builtin_value(fn_scope *s, const expr *e);
code *lower_index(fn_scope *s, const expr *e);

/* ---- lower_composite.c ---- */
/* A builtin that the evaluator makes of several ops; args in the order of builtin_operands. */
code *lower_composite(fn_scope *s, const expr *e, code **args, code **sizes);

/* ---- lower_derivative.c ---- */
/* grad(f) and its like; function: f, lowered. */
code *lower_derivative(fn_scope *s, const expr *e, code *function);

/* ---- lower_literal.c ---- */
code *lower_number(fn_scope *s, const expr *e);
code *lower_list(fn_scope *s, const expr *e);
code *lower_tensor(fn_scope *s, const expr *e);

#endif
