/* Random well-typed programs as text, with a function `f` for tests/certify.c to differentiate. Expressions come from
 * templates.def, statements from draw_program.c; a seed gives the same program everywhere. */
#ifndef KINA_TESTS_CERTIFY_DRAW_H
#define KINA_TESTS_CERTIFY_DRAW_H

#include "interp/inputs.h"
#include "runtime/op.h"
#include "runtime/text.h"

/* A template of templates.def. */
typedef struct draw_template {
    int class, op;              /* -1: any, or none */
    const char *text, *shape;
} draw_template;
extern const draw_template draw_templates[];
extern const int draw_template_count;

/* What statements and declarations a program holds, beside what its templates do. */
typedef enum draw_form {
    FORM_LOOP,
    FORM_LOOP_IN_LOOP,
    FORM_LOOP_IN_BRANCH,
    FORM_BRANCH,
    FORM_BRANCH_IN_LOOP,
    FORM_DATA_TRIPS,            /* a loop whose trips depend on a floating carry */
    FORM_POLICY_K,
    FORM_POLICY_OTHER,
    FORM_CALL,
    FORM_CALL_IN_LOOP,
    FORM_CLOSURE,
    FORM_TAPE,
    FORM_EFFECT,                /* print and assert */
    FORM_OPEN_RESULT,           /* a result whose size is no parameter's */
    FORM_F32,
    FORM_F64,
    FORM_COUNT,
} draw_form;
extern const char *const draw_form_names[FORM_COUNT];

typedef struct draw_variable {
    char name[16];
    const char *shape;          /* "A,3", "" for a number; of constants, so compared by strcmp */
    bool used;
} draw_variable;

enum { DRAW_SCOPE = 96 };

typedef struct drawing {
    inputs_stream chance;
    text *out;
    const char *dtype;
    draw_variable scope[DRAW_SCOPE];
    int count;                  /* of the scope */
    int names;                  /* given so far */
    int indent, loops, branches;    /* around */
    bool helper;                /* it is not `f` that is written, and it calls none */
    int64_t *template_uses;     /* by template */
    int64_t op_uses[OP_COUNT];
    bool forms[FORM_COUNT];
} drawing;

/* The whole program; uses and forms are added to. */
void draw_program(drawing *d, uint64_t seed);

/* ---- expressions ---- */

int draw_below(drawing *d, int n);
bool draw_one_in(drawing *d, int n);
/* An expression of the shape; the deeper, the more templates in one another. */
void draw_expression(drawing *d, const char *shape, int depth);
/* A Bool of the shape, in parentheses. */
void draw_test(drawing *d, const char *shape);
/* A variable of the shape, or something small made of one. */
void draw_leaf(drawing *d, const char *shape);
/* The type as programs write it, and the list of dims. */
void draw_type(drawing *d, const char *shape);
void draw_dims(drawing *d, const char *shape);
/* A new variable, and the name that it has. */
draw_variable *draw_bind(drawing *d, const char *shape);

#endif
