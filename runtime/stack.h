/* Stacks of values: what the language calls a tape, a VALUE_TAPE. They do not change: a push makes a cell that
 * refers to the stack below it, so that a stack may be shared, and its pieces are counted. */
#ifndef KINA_STACK_H
#define KINA_STACK_H

#include "runtime/value.h"

typedef struct cell {
    int32_t refs;
    bool indexed;               /* what it or a cell below holds has an index */
    int64_t count;              /* of cells, this one included */
    struct cell *below;
    value held;
} cell;

static inline value stack_empty(void) { return (value){.kind = VALUE_TAPE}; }
static inline int64_t stack_count(const value *v) { return v->as.cell != NULL ? v->as.cell->count : 0; }
static inline bool stack_indexed(const value *v) { return v->as.cell != NULL && v->as.cell->indexed; }

/* Takes over the stack and x, also on failure. indexed: something in x has an index; handlers: those for which x is
 * active, as the result is then too. */
bool stack_push(context *c, value stack, value x, bool indexed, uint8_t handlers, value *out) MUST_CHECK;
/* Takes over the stack, which is not empty. The rest is active as the stack was. */
void stack_pop(context *c, value stack, value *rest, value *x);
void stack_release(context *c, value stack);

#endif
