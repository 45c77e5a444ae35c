/* The syntax tree, and what the checker adds to it.
 *
 * The parser (parse_*.c) fills in everything above each "checker:" mark; the checker (check_*.c) the rest;
 * the ownership pass (own.c) reads it; lowering (lower_*.c) turns it into code. Nodes live in an arena.
 * Names are interned: equal names are equal pointers.
 *
 * `let p = e in body` and `let p = e;` are one thing: a chain of lets is one EXPR_BLOCK with many items, so
 * that 10^5 lets are no nesting. */
#ifndef KINA_AST_H
#define KINA_AST_H

#include "interp/builtin.h"
#include "interp/diag.h"
#include "interp/types.h"

typedef struct expr expr;
typedef struct type_expr type_expr;
typedef struct fn_decl fn_decl;
typedef struct pattern pattern;

/* ---- symbols: what a name means ---- */
typedef enum symbol_kind {
    SYMBOL_LET,             /* bound by a let pattern */
    SYMBOL_PARAM,
    SYMBOL_CARRY,
    SYMBOL_FN,              /* an `fn` item; `fn` is its declaration */
    SYMBOL_DIM,             /* a dim name; `dim` is its id */
} symbol_kind;

typedef struct symbol {
    symbol_kind kind;
    const char *name;
    span at;                /* where it was introduced */
    const type *type;
    fn_decl *owner;         /* the function whose frame holds it; the program's for top level */
    fn_decl *fn;            /* SYMBOL_FN; also a let bound directly to an anonymous fn, else NULL */
    int64_t dim;            /* SYMBOL_DIM */
    uint32_t order;         /* position in its block, for "could run before" */
    bool read;              /* some expression reads it */
    bool dropped;           /* ownership: of a global, the program itself ends it with drop(x) */
    int slot;               /* lowering: its place in the owner's frame */
    struct local *local;    /* lowering: its life (lower_scope.h) */
} symbol;

/* ---- types as written ---- */
typedef enum type_expr_kind {
    TYPE_EXPR_TENSOR,       /* tensor<DT, [dims]>: dt, dims */
    TYPE_EXPR_SCALAR,       /* F32: dt */
    TYPE_EXPR_TUPLE, TYPE_EXPR_UNIT,
    TYPE_EXPR_FN,           /* items = parameters, result */
    TYPE_EXPR_TAPE,         /* items[0] */
} type_expr_kind;

struct type_expr {
    type_expr_kind kind;
    span at;
    dtype dt;
    bool host;              /* TENSOR: its device is written */
    int count;
    expr **dims;            /* TENSOR: INT, NAME, BINARY + - *, UNKNOWN_DIM */
    type_expr **items;
    type_expr *result;
    const type *type;       /* checker: */
};

/* ---- patterns ---- */
typedef enum pattern_kind { PATTERN_NAME, PATTERN_IGNORE, PATTERN_TUPLE } pattern_kind;
struct pattern {
    pattern_kind kind;
    span at;
    const char *name;
    int count;
    pattern **items;
    symbol *symbol;         /* checker: NAME */
};

/* ---- decorators ---- */
typedef struct decorator_option {
    const char *name;       /* NULL for a positional one: @vjp(bwd) */
    span at;
    expr *value;            /* NULL when `is_auto` or `is_bytes` */
    bool is_auto, is_bytes;
    int64_t bytes;          /* 64MiB */
    unsigned unit;          /* of `bytes`, as written: 10 KiB, 20 MiB, 30 GiB */
} decorator_option;
typedef struct decorator {
    const char *name;       /* "checkpoint", "vjp", "jvp" */
    span at;
    int count;
    decorator_option *options;
    struct decorator *next;
} decorator;

/* ---- functions ---- */
typedef struct param {
    const char *name;
    span at;
    type_expr *type;
    symbol *symbol;         /* checker: */
} param;

struct fn_decl {
    const char *name;       /* NULL: anonymous */
    const char *known_as;   /* the name, or that of the let which binds an anonymous one; else NULL */
    span at;                /* of the name, or of `fn` */
    int count;
    param *params;
    type_expr *result;      /* NULL: inferred */
    expr *body;             /* EXPR_BLOCK */
    decorator *decorators;
    /* checker: */
    const type *type;
    symbol *symbol;         /* of the item; NULL for an anonymous one */
    fn_decl *outer;         /* the enclosing function; NULL for the program */
    symbol *vjp;            /* the rule named by @vjp, else NULL */
    symbol *jvp;
};

/* ---- comments ---- */

/* Lines that hold nothing else, in their order: each as written, from its `//` on; NULL for an empty line, of
 * which there is one at most in a place, and none where a block or the program begins or ends. */
typedef struct comments {
    int count;
    const char **lines;
} comments;

/* ---- items of a block ---- */
typedef enum item_kind { ITEM_LET, ITEM_FN, ITEM_EXPR } item_kind;
typedef struct item {
    item_kind kind;
    span at;
    pattern *pattern;       /* LET */
    type_expr *type;        /* LET: annotation or NULL */
    expr *value;            /* LET, EXPR */
    bool semicolon;         /* EXPR: one ends it; an if, while, handle or fn may do without */
    fn_decl *fn;            /* FN */
    decorator *decorators;  /* LET: those before it (a @checkpoint is handed to the while by the checker) */
    comments before;        /* above it, and those from inside it that no block in it holds */
    const char *after;      /* the comment behind it on its last line, or NULL */
} item;

/* ---- expressions ---- */
typedef enum expr_kind {
    EXPR_INT, EXPR_FLOAT, EXPR_BOOL, EXPR_STRING,
    EXPR_NAME,
    EXPR_UNKNOWN_DIM,       /* `?` in a type */
    EXPR_LIST,              /* [a, b]: items */
    EXPR_TUPLE,             /* (a, b): items; () has none */
    EXPR_UNARY, EXPR_BINARY,    /* op is OP_neg or OP_not; OP_add ... OP_or, OP_matmul */
    EXPR_CALL,              /* f(a, x=b), also x.f(a) with x as the first argument */
    EXPR_INDEX,             /* x[i, lo:hi:step] */
    EXPR_PROJECT,           /* t.0 */
    EXPR_IF, EXPR_WHILE, EXPR_HANDLE,
    EXPR_FN,
    EXPR_BLOCK,
    EXPR_TENSOR,            /* tensor<...>, tensor<...>(x), tensor<...>([...]) */
} expr_kind;

typedef struct argument {
    const char *name;       /* NULL: positional */
    span name_at;
    expr *value;
} argument;

typedef struct subscript {
    bool range;
    span at;
    expr *lo, *hi, *step;   /* an index: lo alone; a range: each may be NULL */
} subscript;

typedef struct carry {
    const char *name;
    span at;
    type_expr *type;        /* NULL: the init's */
    expr *init;
    symbol *symbol;         /* checker: */
} carry;

/* checker: a call of a builtin, settled. */
typedef struct builtin_use {
    bool is_op;
    op_id op;               /* is_op */
    builtin_id builtin;     /* else */
    int count;
    expr **args;            /* in the signature's order; NULL for an omitted one; concat, stack: the parts
                               first, then nothing (axis is in attrs); print: all of them */
    op_attrs attrs;         /* axis, axes, keepdims, perm, dtype, rank as far as the text fixes them */
    int sizes;              /* dims list of reshape, broadcast, full, zeros, ...: how many */
    const struct einsum_plan *einsum;   /* its equation; NULL of others */
    const bool *wrt;        /* grad and its like: which of the function's parameters are differentiated */
    expr **size;            /*   its entries, 0-D integers to be evaluated into attrs.dims (checker: their
                                 types are I32 or I64); NULL when there is none */
} builtin_use;

struct expr {
    expr_kind kind;
    span at;                /* the whole expression */
    span mark;              /* where a caret belongs: the operator, the name, the keyword */
    const type *type;       /* checker: */
    uint8_t literal;        /* checker: 1 + its literal_class, once found (check_literal.c) */
    union {
        struct { uint64_t magnitude; bool negative; } integer;  /* a folded minus sets negative */
        struct {
            double value;               /* the digits rounded once to F64; finite unless `inf` or `nan` */
            float narrow;               /* the digits rounded once to F32; infinite when too large */
            const char *digits;         /* as written */
        } floating;
        bool boolean;
        struct { const char *bytes; uint32_t length; } string;  /* escapes resolved */
        struct {
            const char *name;
            symbol *symbol;             /* checker: NULL for a builtin or an undefined name */
            bool binds;                 /* checker: a dim name that is introduced here */
            bool is_builtin, is_op;     /* checker: a builtin used as a function value */
            op_id op; builtin_id builtin;
        } name;
        struct { int count; expr **items; } list;               /* LIST, TUPLE */
        struct { op_id op; expr *a; } unary;
        struct { op_id op; expr *a, *b; } binary;
        struct {
            expr *callee;               /* for x.f(a): the NAME f */
            int count;
            argument *args;
            bool method;                /* written x.f(a) */
            /* checker: exactly one of the two forms */
            builtin_use *builtin;       /* NULL: a function */
            expr **ordered;             /* function: arguments in parameter order */
        } call;
        struct { expr *base; int count; subscript *subscripts; } index;
        struct { expr *base; uint32_t field; } project;
        struct {
            expr *condition, *then, *otherwise;     /* BLOCKs, or an EXPR_IF for `else if` */
            bool mask;                  /* checker: the elementwise form, where(condition, then, otherwise) */
        } if_;
        struct {
            expr *condition;
            int count;
            carry *carries;
            expr *body;                 /* BLOCK */
            decorator *decorators;      /* those directly before it */
            decorator *checkpoint;      /* checker: the @checkpoint that rules it, or NULL */
            int take;                   /* checker: how many of the carried values the context takes, >= 1;
                                           1: the value itself, more: a tuple */
        } while_;
        struct {
            expr *call;                 /* EXPR_CALL whose callee is of function type */
            bool forward;
            int count;
            argument *options;          /* reverseMode(seed = s), forwardMode(t0, t1) */
            /* checker: */
            expr **wrt;                 /* the differentiated ones of the call's arguments, in the order
                                           of the parameters */
            int wrt_count;
            bool strong_zero;           /* reverse: 0 times anything is 0 in every rule */
            expr *seed;                 /* NULL: ones */
            expr **tangents;            /* forward: one for each floating parameter */
            int tangent_count;
        } handle;
        fn_decl *fn;
        struct {
            int count;
            item *items;
            expr *tail;                 /* NULL: the block's value is () */
            bool braces;                /* written { }, not a chain of `let ... in` */
            comments before_tail;
            const char *after_tail;     /* as an item's `after`; a chain has none, nor any at its end */
            comments at_end;            /* after everything else */
        } block;
        struct {
            type_expr *form;
            expr *fill;                 /* NULL: ones; a LIST, or a 0-D expression */
        } tensor;
    } u;
};

/* ---- a whole program ---- */

/* What is there before a program begins, visible in all of it: a variable of a session. */
typedef struct global {
    const char *name;
    const struct value *v;  /* a number, a tensor, (), or a tuple of them; its type is theirs */
} global;

typedef struct program {
    arena *a;
    names *names;
    const source *src;
    dims *dims;
    int global_count;
    const global *globals;
    symbol **global_symbols;    /* checker: one a global */
    bool session;           /* an input of a session: what its lets bind outlives the run, and the last of them
                               needs no `;` at the end of the text */
    fn_decl main;           /* its body holds the top-level items; tail NULL: defines functions only */
} program;

enum { NESTING_MOST = 1000 };   /* brackets, prefix operators and the like inside each other */

/* Recursive descent, one function per grammar rule. False when a diagnostic was reported or the context's
 * error is set. Recovers at item boundaries, so that independent errors are all reported. */
bool parse_program(program *p, diagnostics *d) MUST_CHECK;

/* Names, types, dims, builtins and literals; see check.h. False as parse_program. */
bool check_program(program *p, diagnostics *d) MUST_CHECK;

/* Linear and owned tensors (language reference, "Ownership"). Needs a checked program. */
bool own_program(program *p, diagnostics *d) MUST_CHECK;

/* The block in which a block of the top level goes on: a chain of `let ... in` behind its items; NULL for none. */
const expr *program_goes_on(const expr *block);

/* The function that an item declares, or binds to a name, which it is known as; NULL for another item. */
fn_decl *item_function(const item *it);

/* The declaration of a top-level function known as this, the last of several, or NULL (for --fn). */
fn_decl *program_find(const program *p, const char *name);

#endif
