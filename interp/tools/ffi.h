/* libffi, opened when a compiled function is first called: nothing else needs it. */
#ifndef KINA_FFI_H
#define KINA_FFI_H

#include <ffi.h>

#include "runtime/common.h"

typedef struct ffi_library {
    ffi_status (*prepare)(ffi_cif *cif, ffi_abi abi, unsigned count, ffi_type *result,
                          ffi_type **arguments);
    void (*call)(ffi_cif *cif, void (*function)(void), void *result, void **arguments);
    ffi_type *nothing, *pointer, *f32, *f64, *i32, *i64, *boolean;
} ffi_library;

/* False with c's error K0701 set when there is none. */
bool ffi_open(context *c, ffi_library *out) MUST_CHECK;

#endif
