/* A function's derivatives against differences of its values, and its two modes against each other. */
#ifndef KINA_GRADCHECK_H
#define KINA_GRADCHECK_H

#include "interp/slope.h"

typedef enum gradcheck_verdict {
    GRADCHECK_AGREES,
    GRADCHECK_KINK,             /* not smooth here, so that no derivative is the right one */
    GRADCHECK_NOT_FINITE,       /* the value is not finite, or none beside it is: nothing to hold a derivative against */
    GRADCHECK_DIFFERS,
} gradcheck_verdict;

/* One parameter: the derivative along one direction, or along the axis of the element that fits worst. */
typedef struct gradcheck_row {
    int parameter;
    int64_t element;            /* -1: along a direction through all of them */
    double reverse, forward;    /* NaN where the mode is refused */
    double difference;          /* from values alone */
    double uncertainty;         /* the distance that is allowed */
    gradcheck_verdict verdict;
    kink kink;
} gradcheck_row;

typedef struct gradcheck {
    int count;                  /* of the floating parameters */
    gradcheck_row *row;
    bool has_reverse, has_forward;  /* false: a rule of one's own is missing for that mode */
    double pushed, pulled;      /* <u, J v> by forward mode, <J' u, v> by reverse mode */
    bool modes_agree;           /* true also where a mode is missing, or neither is finite */
    bool finite;                /* no row is NOT_FINITE */
    bool passed;
} gradcheck;

typedef struct gradcheck_wish {
    uint64_t seed;              /* of the directions */
    bool full;                  /* each element instead of one direction a parameter */
} gradcheck_wish;

/* True when it can be checked from outside: tensors and numbers alone as parameters, a floating one among them, and
 * one floating result. */
bool gradcheck_may(const fn_decl *fn);

/* args: numbers and tensors that fit the parameters; borrowed. False with the context's error set when the function
 * cannot be run or differentiated. *out is closed by the caller, also when false. */
bool gradcheck_run(engine *e, const fn_decl *fn, const value *args, const gradcheck_wish *w, gradcheck *out) MUST_CHECK;
void gradcheck_close(context *c, gradcheck *g);

#endif
