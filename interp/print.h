/* What the files of the printer share. Each function adds pieces to a layout; see ast_print.h for what they mean
 * together.
 *
 *   ast_print.c   blocks, items, comments, functions, types, patterns
 *   print_expr.c  expressions
 */
#ifndef KINA_PRINT_H
#define KINA_PRINT_H

#include "interp/ast.h"
#include "interp/layout.h"

/* How tightly an expression binds; each place asks for a least one. */
enum {
    BIND_ANY,               /* a let ... in */
    BIND_OR,
    BIND_AND,
    BIND_COMPARE,
    BIND_ADD,
    BIND_MULTIPLY,
    BIND_PREFIX,
    BIND_OPERAND,           /* if, while, handle, fn: operands, but not before a postfix */
    BIND_POSTFIX,
};

/* Where an expression stands. An if, while, handle or fn that begins a statement ends it. */
typedef enum print_place {
    PRINT_INSIDE,
    PRINT_STATEMENT,        /* it is a statement */
    PRINT_FIRST,            /* it begins a statement that goes on after it */
} print_place;

void print_expr(layout *out, const expr *e, int bind, print_place place);
void print_arguments(layout *out, const argument *args, int count);

void print_type(layout *out, const type_expr *t);
void print_fn(layout *out, const fn_decl *f);
void print_decorators(layout *out, const decorator *d, bool own_line);
/* A block in braces. grouped: the places after `{` and before `}` belong to the group around it. */
void print_block(layout *out, const expr *block, bool grouped);
/* A chain of let ... in. */
void print_chain(layout *out, const expr *block);

/* A list in brackets: on one line, or an entry a line with a comma after the last. */
static inline void print_list_open(layout *out, const char *bracket) {
    layout_open(out);
    layout_put(out, bracket);
    layout_indent(out);
    layout_break(out, false, false);
}
static inline void print_list_next(layout *out) {
    layout_put(out, ",");
    layout_break(out, true, false);
}
static inline void print_list_shut(layout *out, const char *bracket, bool comma) {
    layout_dedent(out);
    layout_break(out, false, comma);
    layout_put(out, bracket);
    layout_shut(out);
}

#endif
