/* The syntax tree as text in one canonical layout: parsed again, the text gives an equal tree. */
#ifndef KINA_AST_PRINT_H
#define KINA_AST_PRINT_H

#include "interp/ast.h"

void ast_print(const program *p, text *out);
/* One expression, as it may stand anywhere in an expression; one type. */
void ast_print_expr(const expr *e, text *out);
void ast_print_type(const type_expr *t, text *out);

#endif
