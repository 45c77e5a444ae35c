/* Reading NumPy's array files: exact conversion of elements on the way in. */
#include "runtime/npy.h"

#include <string.h>

#include "runtime/npy_header.h"
#include "runtime/storage.h"

enum { BUFFER_BYTES = 8192 };

/* The element type that holds the file's exactly; DTYPE_COUNT when there is none. */
static dtype exact_dtype(const npy_header *h) {
    switch (h->kind) {
    case 'b': return DT_Bool;
    case 'f': return h->bytes == 8 ? DT_F64 : DT_F32;
    case 'V': return DT_F32;
    case 'i': return h->bytes == 8 ? DT_I64 : DT_I32;
    default: return h->bytes == 8 ? DTYPE_COUNT : h->bytes == 4 ? DT_I64 : DT_I32;
    }
}

/* Whether every value of type `from` is one of type `to` too, within one kind. */
static bool converts_exactly(dtype from, dtype to) {
    return from == to || (from == DT_F32 && to == DT_F64) || (from == DT_I32 && to == DT_I64);
}

static bool choose_dtype(npz_source *s, const npy_header *h, int want, dtype *out) {
    dtype exact = exact_dtype(h);
    if (exact == DTYPE_COUNT) {
        return npy_unsupported(s, "unsigned 64-bit integers, which no integer type of Kina holds");
    }
    *out = want >= 0 ? (dtype)want : exact;
    if (converts_exactly(exact, *out)) return true;
    error_set(&s->c->err, ERROR_K0604, s->where,
              "'%.100s' holds elements of NumPy's type '%c%zu', which are not read as %s", s->path,
              h->kind, h->bytes, dtype_name(*out));
    error_help(&s->c->err, "load it as %s", dtype_name(exact));
    return false;
}

/* Bytes of one element in the host's value order, widened to 64 bits without sign. */
static uint64_t gather_bits(const npy_header *h, const uint8_t *p) {
    bool big = h->swapped != (bool)HOST_BIG;
    uint64_t bits = 0;
    for (size_t i = 0; i < h->bytes; i++) {
        bits = bits << 8 | p[big ? i : h->bytes - 1 - i];
    }
    return bits;
}

static int64_t to_integer(const npy_header *h, uint64_t bits) {
    if (h->kind != 'i') return (int64_t)bits;
    switch (h->bytes) {
    case 1: return (int8_t)bits;
    case 2: return (int16_t)bits;
    case 4: return (int32_t)bits;
    default: return (int64_t)bits;
    }
}

/* The floating type of the file's elements. NumPy knows no BF16: extensions of it write two bytes of no
 * type that it has. */
static storage floating_storage(const npy_header *h) {
    if (h->kind == 'V') return STORAGE_BF16;
    return h->bytes == 2 ? STORAGE_F16 : (storage)exact_dtype(h);
}

/* One element into memory of dtype t, which is known to hold it exactly. */
static void convert(const npy_header *h, const uint8_t *p, dtype t, void *out) {
    uint64_t bits = gather_bits(h, p);
    if (t == DT_Bool) {
        *(bool *)out = bits != 0;
    } else if (t == DT_I32) {
        *(int32_t *)out = (int32_t)to_integer(h, bits);
    } else if (t == DT_I64) {
        *(int64_t *)out = to_integer(h, bits);
    } else {
        storage_put(out, dtype_size(t), storage_convert(bits, floating_storage(h), (storage)t));
    }
}

/* A Fortran-ordered file is the row-major order of the axes turned round. */
static element_walk file_order(const npy_header *h, const tensor *t) {
    element_walk w = {.rank = t->rank};
    for (int i = 0; i < t->rank; i++) {
        int from = h->fortran ? t->rank - 1 - i : i;
        w.dims[i] = t->dims[from];
        w.strides[i] = t->strides[from];
    }
    return w;
}

static bool read_elements(npz_source *s, const npy_header *h, tensor *t) {
    dtype type = (dtype)t->dtype;
    size_t element = dtype_size(type);
    bool same = exact_dtype(h) == type && element == h->bytes && type != DT_Bool;
    if (same && !h->swapped && (!h->fortran || t->rank < 2)) {
        return npz_read(s, t->data, (uint64_t)t->size * element);
    }
    uint8_t buffer[BUFFER_BYTES];
    element_walk w = file_order(h, t);
    int64_t left = t->size, per_buffer = (int64_t)(BUFFER_BYTES / h->bytes);
    while (left > 0) {
        int64_t count = left < per_buffer ? left : per_buffer;
        if (!npz_read(s, buffer, (uint64_t)count * h->bytes)) return false;
        for (int64_t i = 0; i < count; i++) {
            convert(h, buffer + (size_t)i * h->bytes, type,
                    (char *)t->data + w.offset * (int64_t)element);
            element_walk_on(&w);
        }
        left -= count;
    }
    return true;
}

static bool read_number(npz_source *s, const npy_header *h, dtype type, value *out) {
    uint8_t bytes[8];
    if (!npz_read(s, bytes, h->bytes)) return false;
    *out = value_number(type, 0);
    convert(h, bytes, type, &out->as);
    return true;
}

/* The array behind a header that was read. */
static bool read_array(npz_source *s, const npy_header *h, int want, value *out) {
    dtype type = DTYPE_COUNT;
    int64_t size;
    if (!choose_dtype(s, h, want, &type)) return false;
    if (!shape_size(h->rank, h->dims, 8, &size)) {
        return npz_malformed(s, "its shape is too large to address");
    }
    if ((uint64_t)size * h->bytes > s->left) {
        return npz_malformed(s, "its header promises %llu bytes of elements, and %llu follow",
                             (unsigned long long)size * h->bytes, (unsigned long long)s->left);
    }
    if (h->rank == 0) return read_number(s, h, type, out) && npz_finish(s);
    tensor *t = tensor_new(s->c, type, h->rank, h->dims);
    if (t == NULL) return false;
    if (!read_elements(s, h, t) || !npz_finish(s)) {
        tensor_release(s->c, t);
        return false;
    }
    *out = value_tensor(t);
    return true;
}

bool npy_load(context *c, const char *path, int want, span where, value *out) {
    npz_source s;
    npy_header h = {0};
    *out = value_none();
    if (!npz_open(&s, c, path, where)) return false;
    bool ok = npy_read_header(&s, &h) && read_array(&s, &h, want, out);
    npz_close(&s);
    return ok;
}
