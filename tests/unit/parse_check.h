/* What the suites about program text share: a parsed text with all it needs, and its tree in a form that
 * shows its whole structure. */
#ifndef KINA_TESTS_PARSE_CHECK_H
#define KINA_TESTS_PARSE_CHECK_H

#include "interp/ast.h"
#include "runtime/context.h"

typedef struct parsed {
    context c;
    arena a;
    source src;
    names names;
    diagnostics d;
    program prog;
    bool ok;                /* no diagnostic, no error of the context */
    text out;               /* for printers */
} parsed;

/* fail_at as in runtime/memory.h; 0 for none. */
void parsed_open(parsed *t, const char *words, size_t length, uint64_t fail_at);
/* Gives everything back; the test fails when something is still allocated. */
void parsed_close(parsed *t);

/* Each into t->out, which is cleared first. */
const char *parsed_tree(parsed *t);
const char *parsed_expr_tree(parsed *t, const expr *e);
const char *parsed_print(parsed *t);
const char *parsed_diagnostics(parsed *t, bool json);

#endif
