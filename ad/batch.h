/* One op for many operands at once: some operands are batches, which have an axis of their own in front of those
 * that the op knows of, and the result is the batch of what the op makes of each entry. So one sweep can carry many
 * cotangents, and one run many tangents. */
#ifndef KINA_BATCH_H
#define KINA_BATCH_H

#include "runtime/door.h"

enum { BATCH_MOST = 128 };

/* Performs the call, whose attributes are those for single operands, at the handler. Bit k of `batched`: operand k is
 * a batch of `size` entries, 1 to BATCH_MOST; at least one is. K0511 where an axis more is one too many. */
bool batch_perform(context *c, handler *at, const op_call *call, int64_t size, unsigned batched, value *out) MUST_CHECK;
/* A batch of one value, a number or tensor, in all entries. */
bool batch_spread(context *c, handler *at, span where, int64_t size, const value *v, value *out) MUST_CHECK;
/* Entry i of a batch. */
bool batch_entry(context *c, handler *at, span where, const value *v, int64_t i, value *out) MUST_CHECK;
/* The batch of `size` values of one shape. */
bool batch_join(context *c, handler *at, span where, int64_t size, const value *entry, value *out) MUST_CHECK;

#endif
