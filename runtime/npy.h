/* Reading and writing .npy and .npz files (NumPy's formats 1.0 to 3.0).
 *
 * Read: F32, F64, I32, I64, Bool, and exactly convertible others (i1 u1 i2 u2 u4 -> I32/I64, f2 -> F32/F64, V2,
 * which is how BF16 is written, -> F32/F64), either byte order, Fortran order too; zip members stored or deflated.
 * A header that lies about its size is an error K0603, never a crash. A file of rank 0 gives a number. */
#ifndef KINA_NPY_H
#define KINA_NPY_H

#include "runtime/value.h"

/* The file's array, converted exactly to dtype `want` when that is >= 0 (K0604 when it is not exact by type,
 * for example f8 to F32); with want < 0 the dtype that holds it exactly. For .npz, path is "file.npz" or
 * "file.npz:member"; without a member the archive must hold exactly one. Errors K0601 K0603 K0604. */
bool npy_load(context *c, const char *path, int want, span where, value *out) MUST_CHECK;

/* Stores v as storage type `as` (storage.h), which v's dtype fits, or as it is with as < 0. Writes a temporary
 * beside path and renames it, so that path is whole or untouched. Errors K0602. */
bool npy_save(context *c, const char *path, const value *v, int as, span where) MUST_CHECK;

#endif
