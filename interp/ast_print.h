/* The syntax tree as text in one canonical layout: parsed again, the text gives an equal tree, comments included.
 *
 * The layout follows from the tree alone. A line has at most 100 columns where it can be broken: lists, arguments
 * and parameters have an entry a line when they do not fit, runs of infix operators an operand, method chains a
 * call; lists of numbers fill their lines. A block of nothing but a value stands on one line where it fits, an if
 * with all its branches or with none. Comments, and one empty line where the tree has one, stand between items;
 * a comment's length counts for nothing. */
#ifndef KINA_AST_PRINT_H
#define KINA_AST_PRINT_H

#include "interp/ast.h"

void ast_print(const program *p, text *out);
/* One expression, as it may stand anywhere in an expression; one type. */
void ast_print_expr(const expr *e, text *out);
void ast_print_type(const type_expr *t, text *out);

#endif
