/* States on disk: one unnamed temporary file a loop, which the system removes by itself when it is closed, also
 * after a crash. Tensors are written whole and read back whole. */
#ifndef KINA_SPILL_H
#define KINA_SPILL_H

#include "runtime/context.h"
#include "runtime/tensor.h"

typedef struct spill_hole {
    int64_t offset, bytes;
} spill_hole;

typedef struct spill {
    int file;                   /* -1: none */
    int64_t end;
    spill_hole *hole;           /* places given back, to be used again */
    int holes, hole_room;
} spill;

void spill_init(spill *s);
/* A file in this folder. False with K0602 set. */
bool spill_open(context *c, spill *s, const char *folder, span where) MUST_CHECK;
bool spill_is_open(const spill *s);
void spill_close(context *c, spill *s);

/* Writes t's elements (any layout). False with K0602 set (a full disk). */
bool spill_write(context *c, spill *s, tensor *t, span where, int64_t *offset) MUST_CHECK;
/* Reads them back into a fresh tensor of this type; NULL with the error set. */
tensor *spill_read(context *c, const spill *s, int64_t offset, dtype type, int rank, const int64_t *dims,
                   span where) MUST_CHECK;
void spill_free(context *c, spill *s, int64_t offset, int64_t bytes);

#endif
