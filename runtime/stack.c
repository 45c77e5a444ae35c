/* Stacks of values, cell by cell: however high, nothing here recurses. */
#include "runtime/stack.h"

#include "runtime/memory.h"

bool stack_push(context *c, value stack, value x, bool indexed, uint8_t handlers, value *out) {
    cell *top = take(c, sizeof *top);
    if (top == NULL) {
        value_release(c, x);
        value_release(c, stack);
        return false;
    }
    *top = (cell){
        .refs = 1,
        .indexed = indexed || stack_indexed(&stack),
        .count = stack_count(&stack) + 1,
        .below = stack.as.cell,
        .held = x,
    };
    *out = stack;
    out->handlers |= handlers;
    out->as.cell = top;
    return true;
}

void stack_pop(context *c, value stack, value *rest, value *x) {
    cell *top = stack.as.cell;
    *rest = stack;
    rest->as.cell = top->below;
    *x = top->held;
    if (--top->refs == 0) {
        give_back(c, top, sizeof *top);
        return;
    }
    *x = value_retain(*x);
    *rest = value_retain(*rest);
}

void stack_release(context *c, value stack) {
    for (cell *top = stack.as.cell, *below; top != NULL && --top->refs == 0; top = below) {
        below = top->below;
        value_release(c, top->held);
        give_back(c, top, sizeof *top);
    }
}
