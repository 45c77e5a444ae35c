/* The child's part of a call (native.h): load, call, read, free. It runs in a process of its own
 * that ends here, so its memory is the system's and nothing is given back. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interp/tools/native.h"
#include "runtime/tensor.h"

enum {
    GUARD = 64,    /* bytes around an argument, and its alignment */
    BEYOND = 256,  /* bytes behind the results */
    POISON = 0xA5, /* what the library has not written */
    EXIT_TROUBLE = 1,
};

typedef struct descriptor {
    char *allocated, *aligned;
    int64_t offset, sizes_and_strides[];
} descriptor;

/* An argument's copy, with guards before and behind. */
typedef struct buffer {
    char *data;
    size_t bytes;
    descriptor *d; /* NULL: passed by value */
} buffer;

typedef struct child {
    const native_call *call;
    native_outcome *o;
    buffer *args;
    char *out; /* the results, or the one number that is returned */
    size_t out_bytes;
    void (*function)(void);
} child;

static _Noreturn void give_up(child *k, const char *why) {
    strncpy(k->o->trouble, why, sizeof k->o->trouble - 1);
    _exit(EXIT_TROUBLE);
}

static void *room(child *k, size_t bytes, int fill) {
    char *p = NULL;
    size_t whole = (bytes + GUARD) / GUARD * GUARD;
    if (posix_memalign((void **)&p, GUARD, whole) != 0) give_up(k, "out of memory");
    memset(p, fill, whole);
    return p;
}

/* ---- before the call ---- */

/* A crash must not be caught by who runs us, nor leave a core; results go to standard output alone.
 */
static void settle(void) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGINT};
    struct rlimit none = {0, 0};
    for (size_t i = 0; i < COUNT_OF(deadly); i++) signal(deadly[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

static void load(child *k) {
    void *handle = dlopen(k->call->library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) give_up(k, dlerror());
    void *address = dlsym(handle, k->call->function);
    if (address == NULL) {
        k->o->no_function = true;
        _exit(EXIT_TROUBLE);
    }
    memcpy(&k->function, &address, sizeof address);
}

static const void *elements_of(const value *v) {
    return v->kind == VALUE_TENSOR ? v->as.t->data : (const void *)&v->as;
}

static void copy_argument(child *k, int i) {
    const native_slot *s = &k->call->signature->param[i];
    const value *v = &k->call->args[i];
    buffer *b = &k->args[i];
    b->bytes = (size_t)value_size(v) * dtype_size(s->t);
    b->data = (char *)room(k, b->bytes + 2 * GUARD, POISON) + GUARD;
    memcpy(b->data, elements_of(v), b->bytes);
    if (s->by_value) return;
    b->d = room(k, native_slot_size(s), 0);
    b->d->allocated = b->d->aligned = b->data;
    if (s->rank == 0) return;
    memcpy(b->d->sizes_and_strides, value_dims(v), sizeof(int64_t) * (size_t)s->rank);
    shape_strides(s->rank, value_dims(v), b->d->sizes_and_strides + s->rank);
}

static bool returns_number(const native_signature *s) {
    return s->results == 1 && s->result[0].by_value;
}

/* Where result i lies in `out`; of one more than there are, where the struct ends. */
static size_t result_place(const native_signature *s, int i) {
    size_t at = 0;
    for (int k = 0; k <= i && k < s->results; k++) {
        size_t align = native_slot_align(&s->result[k]);
        at = (at + align - 1) / align * align;
        if (k < i) at += native_slot_size(&s->result[k]);
    }
    return at;
}

static void prepare(child *k) {
    const native_signature *s = k->call->signature;
    k->args = room(k, sizeof *k->args * (size_t)s->params, 0);
    for (int i = 0; i < s->params; i++) copy_argument(k, i);
    k->out_bytes = result_place(s, s->results);
    k->out = room(k, k->out_bytes + BEYOND, returns_number(s) ? 0 : POISON);
}

/* ---- the call ---- */

static ffi_type *type_of(const ffi_library *ffi, const native_slot *s) {
    if (!s->by_value) return ffi->pointer;
    switch (s->t) {
    case DT_F32: return ffi->f32;
    case DT_F64: return ffi->f64;
    case DT_I32: return ffi->i32;
    case DT_I64: return ffi->i64;
    case DT_Bool:
    case DTYPE_COUNT: break;
    }
    return ffi->boolean;
}

static void call_function(child *k) {
    const native_signature *s = k->call->signature;
    const ffi_library *ffi = k->call->ffi;
    size_t most = (size_t)s->params + 1;
    ffi_type **types = room(k, sizeof *types * most, 0);
    void **values = room(k, sizeof *values * most, 0);
    bool number = returns_number(s);
    unsigned n = 0;
    ffi_cif cif;
    if (s->results > 0 && !number) {
        types[n] = ffi->pointer;
        values[n++] = &k->out;
    }
    for (int i = 0; i < s->params; i++) {
        types[n] = type_of(ffi, &s->param[i]);
        values[n++] = s->param[i].by_value ? (void *)k->args[i].data : (void *)&k->args[i].d;
    }
    ffi_type *gives = number ? type_of(ffi, &s->result[0]) : ffi->nothing;
    if (ffi->prepare(&cif, FFI_DEFAULT_ABI, n, gives, types) != FFI_OK)
        give_up(k, "libffi does not know this signature");
    k->o->stage = STAGE_CALLING;
    /* Integers that are narrower than a register come back as wide as one. */
    ffi->call(&cif, k->function, number ? k->out : NULL, values);
    if (number && s->result[0].t == DT_Bool) k->out[0] &= 1;
}

/* ---- after it ---- */

static bool untouched(const char *p, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)p[i] != POISON) return false;
    return true;
}

static void check_argument(child *k, int i) {
    const native_slot *s = &k->call->signature->param[i];
    const char *was = elements_of(&k->call->args[i]);
    const buffer *b = &k->args[i];
    native_argument *seen = &k->o->argument[i];
    size_t element = dtype_size(s->t);
    seen->outside = !untouched(b->data - GUARD, GUARD) || !untouched(b->data + b->bytes, GUARD);
    for (size_t at = 0; at < b->bytes; at += element) {
        if (memcmp(was + at, b->data + at, element) == 0) continue;
        if (seen->changed++ > 0) continue;
        seen->first = (int64_t)(at / element);
        memcpy(&seen->was, was + at, element);
        memcpy(&seen->is, b->data + at, element);
    }
}

static void copy_elements(const descriptor *d, const native_slot *s, char *to) {
    const int64_t *sizes = d->sizes_and_strides, *strides = sizes + s->rank;
    int64_t index[MAX_RANK] = {0}, at = d->offset;
    size_t element = dtype_size(s->t);
    for (int i = 0; i < s->rank; i++)
        if (sizes[i] == 0) return;
    for (;;) {
        memcpy(to, d->aligned + at * (int64_t)element, element);
        to += element;
        int i = s->rank - 1;
        for (; i >= 0; i--) {
            at += strides[i];
            if (++index[i] < sizes[i]) break;
            at -= strides[i] * sizes[i];
            index[i] = 0;
        }
        if (i < 0) return;
    }
}

static int argument_at(const child *k, const char *p) {
    for (int i = 0; i < k->call->signature->params; i++) {
        const buffer *b = &k->args[i];
        if (b->d != NULL && p >= b->data && p < b->data + b->bytes + (b->bytes == 0)) return i;
    }
    return -1;
}

static const descriptor *descriptor_of(const child *k, int i) {
    return (const descriptor *)(const void *)(k->out + result_place(k->call->signature, i));
}

static void read_tensor(child *k, int i) {
    const native_slot *s = &k->call->signature->result[i];
    const descriptor *d = descriptor_of(k, i);
    native_result *seen = &k->o->result[i];
    size_t bytes = sizeof(int64_t) * (size_t)s->rank;
    memcpy(seen->dims, d->sizes_and_strides, bytes);
    memcpy(seen->strides, d->sizes_and_strides + s->rank, bytes);
    seen->offset = d->offset;
    seen->constant = (uintptr_t)d->allocated == NATIVE_CONSTANT;
    seen->argument = argument_at(k, d->allocated);
    for (int j = 0; j < i && seen->shares < 0 && !seen->constant; j++) {
        if (k->call->signature->result[j].by_value || !k->o->result[j].written) continue;
        if (descriptor_of(k, j)->allocated == d->allocated) seen->shares = j;
    }
    seen->fits = s->rank == 0 || memcmp(seen->dims, value_dims(&k->call->expected[i]), bytes) == 0;
    if (seen->fits) copy_elements(d, s, (char *)k->o + seen->data);
}

static void read_results(child *k) {
    const native_signature *s = k->call->signature;
    k->o->stage = STAGE_READING;
    k->o->beyond = !returns_number(s) && !untouched(k->out + k->out_bytes, BEYOND);
    for (int i = 0; i < s->results; i++) {
        const native_slot *slot = &s->result[i];
        native_result *seen = &k->o->result[i];
        const char *place = k->out + result_place(s, i);
        k->o->at = i;
        seen->written = returns_number(s) || !untouched(place, native_slot_size(slot));
        if (!seen->written) continue;
        if (!slot->by_value) {
            read_tensor(k, i);
            continue;
        }
        seen->fits = true;
        memcpy((char *)k->o + seen->data, place, dtype_size(slot->t));
    }
}

/* Each distinct buffer once, never an argument's or a constant's. */
static void free_results(child *k) {
    k->o->stage = STAGE_FREEING;
    for (int i = 0; i < k->call->signature->results; i++) {
        const native_result *seen = &k->o->result[i];
        k->o->at = i;
        if (k->call->signature->result[i].by_value || !seen->written) continue;
        if (seen->constant || seen->argument >= 0 || seen->shares >= 0) continue;
        free(descriptor_of(k, i)->allocated);
    }
}

_Noreturn void native_child(const native_call *call, native_outcome *o) {
    child k = {.call = call, .o = o};
    settle();
    load(&k);
    prepare(&k);
    call_function(&k);
    for (int i = 0; i < call->signature->params; i++) check_argument(&k, i);
    read_results(&k);
    free_results(&k);
    o->stage = STAGE_DONE;
    _exit(0);
}
