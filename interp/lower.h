/* Lowering: the checked tree to code. */
#ifndef KINA_LOWER_H
#define KINA_LOWER_H

#include "interp/code.h"

/* Captures of every function, found before code is made: which outer values (never functions) it and the
 * functions that it names read. Functions are lifted: a direct call passes the captured values, so that
 * mutual recursion makes no cycle of closures. */
typedef struct capture_set {
    const fn_decl *fn;
    int count, capacity;
    symbol **symbols;
    int callee_count, callee_capacity;
    const fn_decl **callees;
    struct capture_set *next;
} capture_set;

/* All sets, or NULL with the context's error set. */
capture_set *captures_find(const program *p) MUST_CHECK;
const capture_set *captures_of(const capture_set *all, const fn_decl *fn);

/* Whether an item of the top level reads a symbol, itself or in what is written in it; not in what it calls. False
 * with the context's error set. */
bool captures_item_reads(const program *p, const item *it, const symbol *s, bool *reads) MUST_CHECK;

/* NULL with the context's error set when out of memory. */
code_program *lower_program(const program *p) MUST_CHECK;
void code_release(context *c, code_program *p);

#endif
