/* Calling a function of a compiled library: the C interface that MLIR gives a func.func with
 * llvm.emit_c_interface, for any signature of tensors and numbers.
 *
 *   void _mlir_ciface_f(results *out, descriptor *tensor, float number, ...)
 *
 * A tensor travels as a descriptor {allocated, aligned, offset, sizes[rank], strides[rank]}, a
 * number by value or as a descriptor of rank 0. Of several results, and of a tensor, `out` points
 * to a C struct; a single number is returned by value.
 *
 * The call happens in a child process, so that a library may crash or hang there. It sees fresh
 * copies of the arguments and leaves what there is to know in memory that both processes share. */
#ifndef KINA_NATIVE_H
#define KINA_NATIVE_H

#include "interp/ast.h"
#include "interp/tools/ffi.h"
#include "runtime/value.h"

/* ---- signatures (native_abi.c) ---- */

typedef enum native_scalars {
    SCALARS_SPELLED, /* `F32` by value, `tensor<F32, []>` and what is inferred a descriptor */
    SCALARS_VALUE,
    SCALARS_MEMREF,
} native_scalars;

typedef struct native_slot {
    dtype t;
    int rank;
    bool by_value;
} native_slot;

typedef struct native_signature {
    int params, results;
    native_slot *param, *result; /* results: the tensor leaves of the result type */
} native_signature;

/* The signature of a checked function, in the arena. False with the error K0701 set when a
 * parameter or a result has no such form. */
bool native_signature_of(context *c, arena *a, const program *p, const fn_decl *fn,
                         native_scalars scalars, native_signature *out) MUST_CHECK;

/* Bytes of a slot and its alignment within the struct of results. */
size_t native_slot_size(const native_slot *s);
size_t native_slot_align(const native_slot *s);

/* ---- libraries (native_library.c) ---- */

/* Whether the file can be a library for this processor, judged by its head. Errors K0601, K0603. */
bool native_library_check(context *c, const char *path) MUST_CHECK;
/* Sets the error K0605: the library has no such function; with what it has instead. Always false.
 */
bool native_library_lacks(context *c, const char *path, const char *function);

/* ---- calls ---- */

/* What the child is doing; where it ended when it did not come through. */
typedef enum native_stage {
    STAGE_LOADING,
    STAGE_CALLING,
    STAGE_READING, /* the results, `at` being which */
    STAGE_FREEING,
    STAGE_DONE,
} native_stage;

#define NATIVE_CONSTANT 0xdeadbeefu /* `allocated` of a constant: nothing to free */

typedef struct native_argument {
    int64_t changed, first; /* elements that the call overwrote, and the position of the first */
    payload was, is;        /* that element before and after */
    bool outside;           /* bytes around the argument were overwritten */
} native_argument;

typedef struct native_result {
    bool written; /* the library filled in its place among the results */
    bool fits;    /* it has the sizes that were expected; then its elements are in `data` */
    int64_t dims[MAX_RANK], strides[MAX_RANK], offset;
    bool constant; /* not to be freed */
    int argument;  /* the argument whose buffer it lives in, or -1 */
    int shares;    /* an earlier result that has the same buffer, or -1 */
    size_t data;   /* where its elements lie, row-major, from the outcome's start */
} native_result;

/* In shared memory; the parent reads it when the child has ended. */
typedef struct native_outcome {
    size_t bytes; /* of the whole mapping */
    volatile native_stage stage;
    volatile int at;
    bool no_function;
    char trouble[ERROR_TEXT]; /* the system's words when the library could not be loaded */
    bool beyond;              /* the library wrote behind its last result */
    int signal, status;       /* how the child ended when it did not come through; 0: it did */
    bool late;                /* it was ended at the time limit */
    native_argument *argument;
    native_result *result;
} native_outcome;

typedef struct native_call {
    const ffi_library *ffi;
    const char *library, *function; /* the name that the library has for it */
    const native_signature *signature;
    const value *args;     /* contiguous */
    const value *expected; /* one for each result: of its type and sizes */
    int64_t time_limit;    /* nanoseconds; 0: none */
} native_call;

/* Calls. True when an outcome was reached, the library's crash included; the receiver closes it.
 * False with the context's error set: no memory, no process, interrupted (native_process.c). */
bool native_perform(context *c, const native_call *call, native_outcome **out) MUST_CHECK;
void native_close(native_outcome *o);

/* The child's part (native_call.c): performs the call and records the outcome. Never returns. */
_Noreturn void native_child(const native_call *call, native_outcome *o);

#endif
