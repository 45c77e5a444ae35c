/* Writing: a graph (ad/graph.h) as the syntax tree of an ordinary program, which ast_print turns into text.
 *
 * The program has one function, in front of which stand the functions that its calls need. It keeps the
 * user's names and control flow, folds what is used once into the place of its use, copies and drops what
 * ownership asks for, and says behind a line of a derivative which line of the source it answers. */
#ifndef KINA_WRITE_H
#define KINA_WRITE_H

#include "ad/graph.h"
#include "interp/ast.h"

/* The graph as the function `name` of a fresh program; out has an arena and names. from: the program that the graph
 * was staged from, whose source comments quote and whose functions calls need; NULL: neither. False with the
 * context's error set. */
bool write_program(graph *g, const char *name, const program *from, program *out) MUST_CHECK;

#endif
