/* Stacks of values: what the language calls a tape, a VALUE_TAPE. They do not change: a push makes a cell that
 * refers to the stack below it, so that a stack may be shared, and its pieces are counted. */
#ifndef KINA_STACK_H
#define KINA_STACK_H

#include "runtime/value.h"

/* What is known of a stack without walking it: of a cell's value and of all below it. */
typedef struct stack_marks {
    bool indexed;               /* something has an index */
    uint8_t handlers;           /* as whoever pushed says: what is active for which reverse handler */
} stack_marks;

typedef struct cell {
    int32_t refs;
    stack_marks marks;
    int64_t count;              /* of cells, this one included */
    struct cell *below;
    value held;
} cell;

static inline value stack_empty(void) { return (value){.kind = VALUE_TAPE}; }
static inline int64_t stack_count(const value *v) { return v->as.cell != NULL ? v->as.cell->count : 0; }
static inline stack_marks stack_marked(const value *v) {
    return v->as.cell != NULL ? v->as.cell->marks : (stack_marks){0};
}

/* Takes over the stack and x, also on failure. */
bool stack_push(context *c, value stack, value x, stack_marks marks, value *out) MUST_CHECK;
/* Takes over the stack, which is not empty. */
void stack_pop(context *c, value stack, value *rest, value *x);
void stack_release(context *c, value stack);

#endif
