/* What a program calls by name without defining it: the ops of runtime/ops.def that have a surface name and the rows
 * of builtins.def. Both together are numbered: an op_id, or OP_COUNT + a builtin_id. */
#ifndef KINA_BUILTIN_H
#define KINA_BUILTIN_H

#include "runtime/op.h"

typedef enum builtin_id {
#define BUILTIN(id, surface, kind, literals, signature, doc) BUILTIN_##id,
#include "interp/builtins.def"
#undef BUILTIN
    BUILTIN_COUNT
} builtin_id;

typedef enum builtin_kind {
    BUILTIN_KIND_PLAIN, BUILTIN_KIND_COMPOSITE, BUILTIN_KIND_CAST, BUILTIN_KIND_DERIVATIVE, BUILTIN_KIND_TAPE,
    BUILTIN_KIND_EFFECT,
} builtin_kind;

/* What literals as operands make of a result: NONE when it does not have their element type, DIM for what a dim's
 * name is. */
typedef enum literal_class { LITERAL_NONE, LITERAL_INT, LITERAL_DIM, LITERAL_FLOAT } literal_class;

builtin_kind builtin_kind_of(builtin_id builtin);
dtype builtin_dtype(builtin_id cast);       /* the one that its name says */

/* Of both tables. */
const char *builtin_name(int builtin);      /* "" for an op that no program can name */
const char *builtin_signature(int builtin);
const char *builtin_doc(int builtin);
literal_class builtin_literals(int builtin);
/* The builtin of this name, whatever a program makes of the name; or -1. */
int builtin_named(const char *name);

typedef enum param_role {
    ROLE_OPERAND, ROLE_INDICES, ROLE_KEY, ROLE_PARTS, ROLE_AXIS, ROLE_AXES, ROLE_FLAG, ROLE_SIZES, ROLE_SIZE,
    ROLE_DTYPE, ROLE_LOWER, ROLE_REVERSED, ROLE_STRONG, ROLE_WINDOW, ROLE_STRING, ROLE_REST, ROLE_INTEGER,
    ROLE_OWN,                   /* the builtin looks at it itself */
} param_role;
enum { BUILTIN_PARAMS = 8 };
typedef struct builtin_param {
    const char *name;           /* length bytes of the signature */
    uint32_t length;
    param_role role;
    bool optional;
} builtin_param;

bool builtin_param_is(const builtin_param *p, const char *name);
/* The parameters of a builtin; returns how many. */
int builtin_params(int builtin, builtin_param *out);
/* The role of a call's i-th argument, whose name may be NULL. ROLE_OPERAND: the result has its element
 * type, if it has that of any. */
param_role builtin_place(int builtin, const char *name, int i);

#endif
