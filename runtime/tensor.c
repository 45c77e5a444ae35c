/* Tensor headers: making, viewing and releasing them, and the arithmetic of shapes. */
#include "runtime/tensor.h"

#include <stdio.h>
#include <string.h>

#include "runtime/context.h"

/* The elements of an owner start at this offset of its block. */
#define HEAD ((sizeof(tensor) + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN)

bool shape_size(int rank, const int64_t *dims, size_t element, int64_t *out) {
    /* An empty axis needs no bytes, but the strides of the others have to be representable. */
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        if (dims[i] == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(product, dims[i], &product)) {
            return false;
        }
    }
    *out = empty ? 0 : product;
    return empty || product <= INT64_MAX / 4 / (int64_t)element;
}

void shape_strides(int rank, const int64_t *dims, int64_t *strides) {
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i];
    }
}

bool shape_same(int rank_a, const int64_t *a, int rank_b, const int64_t *b) {
    if (rank_a != rank_b) return false;
    for (int i = 0; i < rank_a; i++) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

void shape_print(char *out, size_t room, int rank, const int64_t *dims) {
    if (room == 0) return;
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i <= rank && used < room; i++) {
        int n;
        if (i < rank) {
            n = snprintf(out + used, room - used, i == 0 ? "[%lld" : ", %lld", (long long)dims[i]);
        } else {
            n = snprintf(out + used, room - used, rank == 0 ? "[]" : "]");
        }
        if (n > 0) used += (size_t)n;
    }
}

static void set_size_error(context *c, int rank, const int64_t *dims) {
    char shape[192];
    shape_print(shape, sizeof shape, rank, dims);
    error_set(&c->err, ERROR_K0511, (span){0, 0}, "a tensor of shape %s is too large to address",
              shape);
}

/* Fills in what owners and views share. */
static void set_shape(tensor *t, dtype type, int rank, const int64_t *dims, int64_t size) {
    memset(t, 0, sizeof *t);
    t->refs = 1;
    t->dtype = (uint8_t)type;
    t->rank = (uint8_t)rank;
    t->size = size;
    memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
}

size_t tensor_block(dtype t, int rank, const int64_t *dims) {
    size_t bytes = dtype_size(t);
    for (int i = 0; i < rank; i++) bytes *= (size_t)dims[i];
    return HEAD + bytes;
}

tensor *tensor_new(context *c, dtype t, int rank, const int64_t *dims) {
    int64_t size;
    if (!shape_size(rank, dims, dtype_size(t), &size)) {
        set_size_error(c, rank, dims);
        return NULL;
    }
    size_t block = HEAD + (size_t)size * dtype_size(t);
    tensor *made = take(c, block);
    if (made == NULL) return NULL;
    set_shape(made, t, rank, dims, size);
    made->contiguous = true;
    made->block = block;
    made->data = (char *)made + HEAD;
    shape_strides(rank, dims, made->strides);
    return made;
}

static bool is_contiguous(const tensor *t) {
    if (t->size <= 1) return true;
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] == 1) continue; /* never stepped along */
        if (t->strides[i] != stride) return false;
        stride *= t->dims[i];
    }
    return true;
}

tensor *tensor_view(context *c, tensor *base, int64_t offset, int rank, const int64_t *dims,
                    const int64_t *strides) {
    int64_t size;
    size_t element = dtype_size((dtype)base->dtype);
    if (!shape_size(rank, dims, element, &size)) {
        set_size_error(c, rank, dims);
        return NULL;
    }
    tensor *made = take(c, sizeof *made);
    if (made == NULL) return NULL;
    set_shape(made, (dtype)base->dtype, rank, dims, size);
    memcpy(made->strides, strides, (size_t)rank * sizeof *strides);
    made->block = sizeof *made;
    made->contiguous = is_contiguous(made);
    /* An empty view has no first element that an offset could point at. */
    made->data = size == 0 ? base->data : (char *)base->data + offset * (int64_t)element;
    made->base = tensor_retain(base->base != NULL ? base->base : base);
    return made;
}

tensor *tensor_retain(tensor *t) {
    t->refs++;
    return t;
}

void tensor_release(context *c, tensor *t) {
    while (t != NULL && --t->refs == 0) {
        tensor *base = t->base;
        give_back(c, t, t->block);
        t = base;
    }
}

/* ---- elements one by one ---- */

element_walk element_walk_of(const tensor *t) {
    element_walk w = {.rank = t->rank};
    memcpy(w.dims, t->dims, sizeof w.dims);
    memcpy(w.strides, t->strides, sizeof w.strides);
    return w;
}

void element_walk_on(element_walk *w) {
    for (int i = w->rank - 1; i >= 0; i--) {
        w->offset += w->strides[i];
        if (++w->index[i] < w->dims[i]) return;
        w->offset -= w->strides[i] * w->dims[i];
        w->index[i] = 0;
    }
}
