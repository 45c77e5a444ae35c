/* Syntax trees at random: any that the parser can give, comments and empty lines included. */
#ifndef KINA_TESTS_MAKE_TREE_H
#define KINA_TESTS_MAKE_TREE_H

#include "interp/ast.h"

/* The body of a program, from a seed that is not 0, in the arena. */
expr *make_tree(arena *a, uint64_t seed);

#endif
