/* The builder that performs: rules' ops go through the door at a given handler. */
#ifndef KINA_PERFORMER_H
#define KINA_PERFORMER_H

#include <string.h>

#include "ad/builder.h"
#include "runtime/door.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

enum { PERFORMER_FEW = 32 };    /* terms kept without asking for memory; more than most rules make */

typedef struct performed {
    value v;
    bool owned;                 /* released by performer_clear */
    bool typed;                 /* type is filled in */
    bool batched;               /* v is a batch of what type and ones are of */
    uint8_t ones;
    op_type type;
} performed;

typedef struct performer performer;
struct performer {
    builder b;                  /* first: rules see this */
    handler *at;                /* where ops are performed */
    int64_t batch;              /* the size of terms that are batches; 0: there are none */
    span where;
    int count, room;
    performed *term;            /* few, or taken */
    performed few[PERFORMER_FEW];
    /* Where contributions go, of batches each a batch; NULL for a forward rule. v is borrowed, and may be reused
     * when `spent`. Bit i of `batched`: rest[i] is a batch. */
    bool (*sink)(void *self, int k, const value *v, bool spent);
    bool (*sink_into)(void *self, int k, op_id op, const op_attrs *attrs, int n, const value *rest, unsigned batched);
    void *self;
};

void performer_init(performer *p, context *c);
/* A term for a borrowed value. */
term performer_add(performer *p, const value *v, uint8_t ones);
/* The same for a batch, where there are any. */
term performer_add_batch(performer *p, const value *v, uint8_t ones);
/* The value of a term as a batch, owned by the caller. */
bool performer_take_batch(performer *p, term t, value *out) MUST_CHECK;
/* Releases all terms and forgets a failure. */
void performer_clear(performer *p);
/* The value of a term (owned by the performer); t is not TERM_NONE. */
const value *performer_value(const performer *p, term t);

/* What a rule may know of an op's result and operands without their elements. */
static inline op_type value_type(const value *v) {
    op_type type = {.dtype = v->dtype};
    if (v->kind == VALUE_TENSOR) {
        type.rank = v->as.t->rank;
        memcpy(type.dims, v->as.t->dims, sizeof type.dims);
    }
    return type;
}

/* Performs identity or carry on v, a number or tensor, so that every handler on the stack sees a fresh value. */
bool performer_refresh(context *c, op_id op, span where, value *v) MUST_CHECK;

#endif
