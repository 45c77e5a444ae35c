/* What the kernel suites share: operands in awkward layouts, performing, and comparing bit by bit.
 */
#ifndef KINA_TESTS_KERNEL_CHECK_H
#define KINA_TESTS_KERNEL_CHECK_H

#include "runtime/door.h"

typedef enum layout { LAYOUT_DENSE, LAYOUT_TURNED, LAYOUT_STEPPED, LAYOUTS } layout;

typedef struct kernel_fixture {
    context c;
    uint64_t random;
} kernel_fixture;

void kernel_open(kernel_fixture *f);
/* Fails the test when anything is still allocated. */
void kernel_close(kernel_fixture *f);

uint64_t kernel_random(kernel_fixture *f);
/* Within [-4, 4) for floats, [-9, 9] for integers. */
void kernel_random_element(kernel_fixture *f, dtype t, void *to);

/* A tensor of random elements; a number for rank 0. TURNED: its axes lie in reverse in memory.
 * STEPPED: every other element of something larger, backwards along the last axis. */
value kernel_operand(kernel_fixture *f, dtype t, int rank, const int64_t *dims, layout how);
value kernel_floats(kernel_fixture *f, int rank, const int64_t *dims, const float *x);
value kernel_ints(kernel_fixture *f, int64_t n, const int64_t *x);

/* Performs through the door; the test fails when the op does. The operands stay the caller's. */
value kernel_do(kernel_fixture *f, op_id op, const op_attrs *attrs, int n, const value *in);
/* Performs what must fail, and gives the code. */
error_code kernel_fails(kernel_fixture *f, op_id op, const op_attrs *attrs, int n, const value *in);

/* The element at a row-major position, at an index. */
const void *kernel_at(const value *v, int64_t position);
const void *kernel_at_index(const value *v, const int64_t *index);
double kernel_double(const value *v, int64_t position);
/* The same bits, or both NaN. */
bool kernel_same_element(dtype t, const void *a, const void *b);
bool kernel_same(const value *a, const value *b);
void kernel_release(kernel_fixture *f, int n, value *in);

/* The next index in row-major order; false after the last. */
bool kernel_next(int rank, const int64_t *dims, int64_t *index);

#endif
