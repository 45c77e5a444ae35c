/* Code: the checked tree with everything resolved that a run need not look up: names are frame slots,
 * builtins are op ids with their attributes, literals are values. Made by lowering (lower.h), walked by the
 * evaluator (eval.h). Nodes live in the engine's arena; constants are released by code_release. */
#ifndef KINA_CODE_H
#define KINA_CODE_H

#include "interp/ast.h"
#include "runtime/value.h"

typedef enum code_kind {
    CODE_CONSTANT,
    CODE_SLOT,
    CODE_OP,
    CODE_AND, CODE_OR,          /* 0-D: the right operand only when needed */
    CODE_BLOCK,
    CODE_IF,
    CODE_WHILE,
    CODE_CALL,
    CODE_CLOSURE,
    CODE_TUPLE,
    CODE_PROJECT,
    CODE_REVERSE, CODE_FORWARD,
    CODE_JACOBIAN,              /* all derivatives of all entries of a function's value */
    CODE_INDEX,                 /* x[i, lo:hi:step], slice, slice_add */
    CODE_CHECK,
    CODE_DIM,                   /* a dim name as a number */
    CODE_EXTENT,                /* + - * of sizes, where an overflow is an error */
    CODE_SIZE,                  /* dim(x, axis) */
    CODE_SHAPE,                 /* shape(x) */
    CODE_STOP,                  /* stop_gradient(x) */
    CODE_COMPOSITE,             /* a builtin made of several ops */
    CODE_TAPE, CODE_PUSH, CODE_POP, CODE_IS_EMPTY,
    CODE_DROP,
    CODE_PRINT, CODE_ASSERT, CODE_LOAD, CODE_SAVE,
} code_kind;

typedef struct code code;
typedef struct code_function code_function;

/* Where the parts of a value go: one slot, or the items of a tuple. slot -1 with count 0: dropped. */
typedef struct binding {
    int slot;
    int count;
    const char *name;           /* as the program writes it; NULL for `_` and for a tuple */
    struct binding *items;
} binding;

typedef struct slots {
    int count;
    int *slot;
} slots;

typedef struct step {
    code *value;
    binding *to;                /* NULL: the value is dropped */
    slots kills;                /* slots whose values end with this step */
    bool again;                 /* a definition of an earlier input of the session: what it prints and saves, it did then */
} step;

/* A function to call: known, with its captured values in the caller's frame, or a value. */
typedef struct callee {
    code_function *known;       /* NULL: `value` gives a closure */
    slots captures;             /* known: the caller's slots, in the callee's capture order */
    code *value;
} callee;

/* @checkpoint of a loop, and what is needed to know its trip count ahead: `i < limit` with i counting up by
 * a constant. */
typedef struct loop_policy {
    uint8_t kind;               /* policy_kind of ad/schedule.h */
    code *amount;               /* k or slots; NULL: the policy needs none */
    code *bytes;                /* memory given as an expression; NULL: byte_count */
    int64_t byte_count;
    const char *disk;           /* folder for the states; NULL: memory */
    span where, decorator;      /* of what the amount is; of all of @checkpoint(...) */
} loop_policy;

typedef struct trip_count {
    int carry;                  /* which carry counts; -1: not known ahead */
    int64_t step;
    bool inclusive;             /* <= instead of < */
    code *limit;
} trip_count;

/* One axis of an index expression. A missing bound is NULL; of a stretch, not its end but its count is
 * given, or is what `added` has. */
typedef struct index_axis {
    bool range, stretch;
    code *lo, *hi, *step, *count;
} index_axis;

/* What the text says of a value's dims: per axis a slot that takes the size, or what it must equal. */
typedef struct shape_check {
    int rank;                   /* of this tensor; 0 with count > 0 for a tuple */
    int bind[MAX_RANK];         /* slot or -1 */
    code *equals[MAX_RANK];     /* evaluated after all binds; NULL: nothing to hold against */
    int count;
    struct shape_check *items;
} shape_check;

struct code {
    uint8_t kind;
    bool last;                  /* SLOT: the value is moved out */
    uint8_t dtype;              /* DIM, LOAD; SAVE: the storage type */
    uint8_t rank;               /* LOAD */
    span where;
    union {
        value constant;
        int slot;               /* SLOT, DIM */
        struct {
            uint16_t op;
            uint8_t n, sizes;   /* sizes: run-time entries of attrs.dims */
            op_attrs *attrs;    /* NULL when the op has none */
            code **args;
            code **size;
        } op;
        const type *entry;      /* TAPE: what it is to hold */
        struct { code *a, *b; } two;    /* AND, OR; PUSH; POP, IS_EMPTY: a alone */
        struct { code *a, *b; uint16_t op; } extent;
        struct {
            int count;
            step *steps;
            code *tail;         /* NULL: () */
            slots tail_kills;
        } block;
        struct {
            code *condition, *then, *otherwise;
            slots reads;        /* outer slots that a branch reads and that may be active */
        } branch;
        struct {
            code *condition;
            int count, take;
            int *carry;         /* slots */
            code **init;
            code *body;
            slots reads;        /* outer slots that the body reads and that may be active */
            slots captures;     /* all outer slots that condition and body read */
            const char **names;
            const code_function *function;  /* around it: its frame's size */
            bool plain_carries; /* numbers and tensors only: a policy can act */
            bool *same_shape;   /* carries whose shape only the run can hold to its type; NULL: none */
            loop_policy *policy;    /* NULL: the command line's */
            trip_count trips;
        } loop;
        struct {
            callee callee;
            int count;
            code **args;
        } call;
        struct {
            code_function *function;
            slots captures;
        } closure;
        struct { int count; code **items; } tuple;
        struct { code *base; uint32_t field; } project;
        struct {
            callee callee;
            int count;
            code **args;
            bool *floating;     /* which parameters are differentiated */
            int primals;        /* parts of the function's value: more than 1 only of a gradient's */
            bool drops_primal;  /* the derivatives alone are the result */
            bool by_columns;    /* JACOBIAN: in forward mode, whatever the run says of sizes */
            uint8_t *ones;      /* JACOBIAN: literal-one axes of each part, by primal, then parameter */
            bool strong_zero;   /* REVERSE */
            code *seed;         /* REVERSE; NULL: ones */
            code **tangents;    /* FORWARD: one for each floating parameter */
            bool outermost_main;    /* the main expression's own handle: an outside seed applies */
        } handle;
        struct {
            code *base;
            code *added;        /* slice_add: what is added to the entries; else NULL */
            int count;
            index_axis *axes;
            op_attrs *attrs;    /* what is fixed: ones */
        } index;
        struct {
            const builtin_use *use; /* which builtin, and what the text fixes */
            int count;
            code **args;
            uint8_t *ones;      /* literal-one axes of each argument */
            uint8_t result_ones;
            code **size;        /* use->sizes of them */
        } composite;
        struct {
            code *value;
            shape_check *check;
            const char *what;   /* "parameter `x`" ... for the message */
        } check;
        struct { code *a; int axis; } size;     /* SIZE, SHAPE, STOP, DROP */
        struct { int count; code **items; const expr **strings; } print;    /* a string, or a value */
        struct { code *condition; const char *message; } assert_;
        struct {
            const char *path;
            const char *folder; /* LOAD: that of the piece of the source it stands in; NULL: the engine's */
            code *value;
        } file;                 /* LOAD, SAVE */
    } u;
};

struct code_function {
    const char *name;           /* "f", or "fn" for an anonymous one */
    const fn_decl *decl;
    int params, captures, slots;    /* slots: params first, then captures, then the rest */
    shape_check *checks;        /* one a parameter */
    code *body;
    struct custom_rule {        /* @vjp and @jvp; function NULL where there is none */
        code_function *function;
        slots captures;         /* the rule's captures as places among this function's own */
    } vjp, jvp;
    const symbol **captured;    /* captures */
};

typedef struct code_program {
    code_function main;         /* params 0; body is the top-level block */
    int constant_count;
    code **constants;           /* nodes whose value has to be released */
    code_function **functions;
    int function_count;
} code_program;

/* The function of a declaration, or NULL. */
code_function *code_find(const code_program *p, const fn_decl *decl);

/* A closure: a function and its captured values. The payload of VALUE_FUNCTION. */
typedef struct closure {
    counted head;
    const code_function *function;
    int count;
    value captured[];
} closure;

#endif
