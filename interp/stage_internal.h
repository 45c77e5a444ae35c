/* Symbolic values, and the parts of staging. Internal to stage*.c, and to
 * mlir_stage.c, which stages an expression where it stands. */
#ifndef KINA_STAGE_INTERNAL_H
#define KINA_STAGE_INTERNAL_H

#include "interp/lower.h"
#include "interp/stage.h"

typedef enum staged_kind {
    STAGED_NONE,                /* an empty slot, and what comes of a failure */
    STAGED_UNIT,
    STAGED_VAR,                 /* a number, tensor or tape */
    STAGED_SIZE,                /* an I64 number that is a dim; a variable only where it is an operand */
    STAGED_TUPLE,
    STAGED_FUNCTION,
} staged_kind;

/* What the evaluator would have a value for. Everything is in the graph's arena. */
typedef struct staged {
    uint8_t kind;
    var v;                      /* VAR */
    int count;                  /* TUPLE: items; FUNCTION: captured values */
    struct staged *items;
    int64_t dim;                /* SIZE */
    const code_function *function;
} staged;

/* A top-level value that the function captures, as a parameter. */
typedef struct captured_value {
    const symbol *symbol;
    staged x;
    struct captured_value *next;
} captured_value;

typedef struct stager {
    graph *g;
    const program *p;
    const code_program *code;
    const capture_set *captures;
    const char *name;           /* of the function */
    region *r;                  /* where nodes go now */
    captured_value *captured;   /* stage_function.c */
    struct kept_function *kept; /* stage_kept.c: functions with rules whose rules are being staged */
    struct recursion *recursions;   /* stage_kept.c: what is known of which functions call themselves */
} stager;

/* A list of variables. */
typedef struct var_list {
    int count, room;
    var *item;
} var_list;

static inline staged staged_none(void) { return (staged){.kind = STAGED_NONE, .v = VAR_NONE}; }
static inline staged staged_unit(void) { return (staged){.kind = STAGED_UNIT, .v = VAR_NONE}; }
static inline staged staged_var(var v) {
    return (staged){.kind = v == VAR_NONE ? STAGED_NONE : STAGED_VAR, .v = v};
}
static inline staged staged_size(int64_t dim) {
    return (staged){.kind = STAGED_SIZE, .v = VAR_NONE, .dim = dim};
}

/* ---- stage_value.c ---- */
/* Zeroed, from the graph's arena; NULL after a failure. */
void *stage_take(stager *s, size_t bytes);
#define STAGE_ARRAY(s, type, count) ((type *)stage_take((s), sizeof(type) * (size_t)(count)))
void var_list_add(stager *s, var_list *list, var v);
/* The variable of a number, tensor or tape; a size is written down as an I64. */
var stage_operand(stager *s, const staged *x, span where);
staged stage_tuple(stager *s, int count, const staged *items);
/* Adds the variables that a value is made of, those that function values capture left out; sizes are written
 * down for it. */
void stage_leaves(stager *s, const staged *x, span where, var_list *out);
/* A value like x whose leaves are those of a list from *at on. */
staged stage_like(stager *s, const staged *x, const var *leaves, int *at);
bool staged_holds_function(const staged *x);
/* The same function values in the same places, capturing the same. */
bool staged_same_functions(const staged *x, const staged *y);
/* Names a value's variables that have no name yet: `p`, of a tuple `p_0`, `p_1`, ... */
void stage_name(stager *s, const staged *x, const char *name);
/* The different floating variables and tapes in the slots, those that function values capture too; never a NULL
 * list. */
var_list stage_reads(stager *s, const staged *frame, const slots *reads);
/* A new variable like v. */
var stage_fresh_like(stager *s, var v);
/* Whether what a dim is made of can be read where nodes go now. */
bool stage_dim_in_scope(stager *s, int64_t dim);

/* ---- stage.c ---- */
staged stage(stager *s, staged *frame, const code *n);
/* Evaluates to `count` values, out of a tuple where count > 1; false after a failure. */
bool stage_many(stager *s, staged *frame, const code *n, int count, staged *out) MUST_CHECK;
/* A floating or other operand. */
var stage_var(stager *s, staged *frame, const code *n);
/* An integer expression as a dim: what is known of it, else a symbol whose witness is its variable. */
int64_t stage_dim(stager *s, staged *frame, const code *n);
/* Binds the dim names of a check to the sizes of x. */
void stage_bind_dims(stager *s, staged *frame, const shape_check *check, const staged *x);
/* x held against the sizes that a check, whose names are bound, states. */
staged stage_hold_dims(stager *s, staged *frame, const shape_check *check, const staged *x, span where);

/* ---- parts, each in its own file ---- */
staged stage_block(stager *s, staged *frame, const code *n);
staged stage_if(stager *s, staged *frame, const code *n);
staged stage_while(stager *s, staged *frame, const code *n);
staged stage_logic(stager *s, staged *frame, const code *n);
staged stage_index(stager *s, staged *frame, const code *n);
staged stage_call_node(stager *s, staged *frame, const code *n);
staged stage_closure(stager *s, staged *frame, const code *n);
staged stage_handle(stager *s, staged *frame, const code *n);
staged stage_effect(stager *s, staged *frame, const code *n);
staged stage_composite(stager *s, staged *frame, const code *n);
staged stage_new_tape(stager *s, const code *n);
staged stage_push(stager *s, staged *frame, const code *n);
staged stage_pop(stager *s, staged *frame, const code *n);
staged stage_is_empty(stager *s, staged *frame, const code *n);
/* A tape of entries of a type, not yet at home; VAR_NONE after a failure. */
var stage_tape_var(stager *s, const type *entry);
/* The function to call, with what it captures. */
staged stage_callee(stager *s, staged *frame, const callee *c);
staged *stage_args(stager *s, staged *frame, code *const *args, int count);
/* A call's parameter: fresh variables for what is floating (ad.h, rule 2). */
staged stage_parameter(stager *s, const staged *x, span where);
/* Calls f. fresh: the floating arguments are parameters already. */
staged stage_call(stager *s, const code_function *f, const staged *args, const staged *captured, bool fresh,
                  span where);
/* The body of f in the place of the call, its arguments being parameters. */
staged stage_in_place(stager *s, const code_function *f, const staged *args, const staged *captured);
/* Calls that stay calls: of functions that call themselves, and of those with rules of their own. */
bool stage_keeps(stager *s, const code_function *f);
staged stage_kept(stager *s, const code_function *f, const staged *args, span where);

#endif
