/* Opening libffi (ffi.h). It stays open; the system counts how often it was opened. */
#include "interp/tools/ffi.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/context.h"

/* A function or object out of the library; ISO C has no cast for the first. */
static bool find(void *handle, const char *symbol, void *pointer) {
    void *address = dlsym(handle, symbol);
    memcpy(pointer, &address, sizeof address);
    return address != NULL;
}

bool ffi_open(context *c, ffi_library *out) {
    void *handle = dlopen("libffi.so.8", RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL && find(handle, "ffi_prep_cif", &out->prepare) &&
        find(handle, "ffi_call", &out->call) && find(handle, "ffi_type_void", &out->nothing) &&
        find(handle, "ffi_type_pointer", &out->pointer) &&
        find(handle, "ffi_type_float", &out->f32) && find(handle, "ffi_type_double", &out->f64) &&
        find(handle, "ffi_type_sint32", &out->i32) && find(handle, "ffi_type_sint64", &out->i64) &&
        find(handle, "ffi_type_uint8", &out->boolean))
        return true;
    error_set(&c->err, ERROR_K0701, (span){0, 0},
              "libffi is missing, which calls compiled functions");
    error_help(&c->err, "install the Debian package libffi8");
    return false;
}
