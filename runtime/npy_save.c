/* Writing NumPy's array files, whole or not at all. */
#include "runtime/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/npy_header.h"
#include "runtime/storage.h"
#include "runtime/text.h"

enum { BUFFER_BYTES = 8192 };

/* A file being written: bytes are collected, and the first failure is kept. */
typedef struct sink {
    context *c;
    const char *path;
    span where;
    int file;
    size_t used;
    uint8_t buffer[BUFFER_BYTES];
} sink;

static bool unwritable(context *c, const char *path, span where, const char *why) {
    return error_set(&c->err, ERROR_K0602, where, "cannot write '%.100s': %s", path, why);
}

static bool unwritable_by_system(context *c, const char *path, span where) {
    char why[128];
    return unwritable(c, path, where, strerror_r(errno, why, sizeof why));
}

static bool write_all(sink *out, const void *bytes, size_t count) {
    const char *p = bytes;
    while (count > 0) {
        ssize_t n = write(out->file, p, count < ((size_t)1 << 30) ? count : (size_t)1 << 30);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return unwritable_by_system(out->c, out->path, out->where);
        p += n;
        count -= (size_t)n;
    }
    return true;
}

static bool flush(sink *out) {
    size_t used = out->used;
    out->used = 0;
    return write_all(out, out->buffer, used);
}

static bool put(sink *out, const void *bytes, size_t count) {
    if (count > BUFFER_BYTES - out->used && !flush(out)) return false;
    if (count > BUFFER_BYTES) return write_all(out, bytes, count);
    memcpy(out->buffer + out->used, bytes, count);
    out->used += count;
    return true;
}

/* The header as NumPy writes it in format 1.0: padded to a multiple of 64 bytes, with spaces in
 * reserve so that the first size could grow to 21 digits in place. */
static bool put_header(sink *out, storage type, int rank, const int64_t *dims) {
    static const char *const descr[STORAGE_COUNT] = {
        [DT_F32] = HOST_BIG ? ">f4" : "<f4",
        [DT_F64] = HOST_BIG ? ">f8" : "<f8",
        [DT_I32] = HOST_BIG ? ">i4" : "<i4",
        [DT_I64] = HOST_BIG ? ">i8" : "<i8",
        [DT_Bool] = "|b1",
        [STORAGE_F16] = HOST_BIG ? ">f2" : "<f2",
        [STORAGE_BF16] = HOST_BIG ? ">V2" : "<V2",
    };
    char line[512];
    int n = snprintf(line, sizeof line, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     descr[type]);
    int reserve = 0;
    for (int i = 0; i < rank; i++) {
        int digits = snprintf(line + n, sizeof line - (size_t)n, "%lld", (long long)dims[i]);
        n += digits;
        if (i == 0) reserve = 21 - digits;
        n += snprintf(line + n, sizeof line - (size_t)n,
                      i + 1 < rank ? ", "
                      : rank == 1  ? ","
                                   : "");
    }
    n += snprintf(line + n, sizeof line - (size_t)n, "), }%*s", reserve, "");
    size_t head = 10, whole = (head + (size_t)n + 1 + 63) / 64 * 64, length = whole - head;
    const uint8_t magic[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)};
    if (!put(out, magic, sizeof magic) || !put(out, line, (size_t)n)) return false;
    for (size_t i = (size_t)n; i + 1 < length; i++) {
        if (!put(out, " ", 1)) return false;
    }
    return put(out, "\n", 1);
}

/* One element of dtype `from`, stored as `as`. */
static bool put_element(sink *out, const void *p, dtype from, storage as) {
    if ((storage)from == as) return put(out, p, dtype_size(from));
    uint64_t wide = 0;
    uint32_t single = 0;
    if (from == DT_F64) memcpy(&wide, p, sizeof wide);
    if (from == DT_F32) memcpy(&single, p, sizeof single);
    uint8_t stored[8];
    storage_put(stored, storage_size(as), storage_convert(wide | single, (storage)from, as));
    return put(out, stored, storage_size(as));
}

static bool put_elements(sink *out, const tensor *t, storage as) {
    dtype from = (dtype)t->dtype;
    size_t element = dtype_size(from);
    if (t->contiguous && (storage)from == as) return put(out, t->data, (size_t)t->size * element);
    element_walk w = element_walk_of(t);
    for (int64_t left = t->size; left > 0; left--) {
        const char *at = (const char *)t->data + w.offset * (int64_t)element;
        if (!put_element(out, at, from, as)) return false;
        element_walk_on(&w);
    }
    return true;
}

static bool put_value(sink *out, const value *v, storage as) {
    if (!put_header(out, as, value_rank(v), value_dims(v))) return false;
    bool ok = v->kind == VALUE_TENSOR ? put_elements(out, v->as.t, as)
                                      : put_element(out, &v->as, (dtype)v->dtype, as);
    return ok && flush(out);
}

/* Writes everything to an open file and closes it. Some systems report a full disk only when
 * closing. */
static bool write_and_close(context *c, const char *path, int file, const value *v, storage as,
                            span where) {
    sink *out = take(c, sizeof *out);
    bool ok = out != NULL;
    if (ok) {
        out->c = c;
        out->path = path;
        out->where = where;
        out->file = file;
        out->used = 0;
        ok = put_value(out, v, as);
    }
    give_back(c, out, sizeof *out);
    if (close(file) != 0 && ok) ok = unwritable_by_system(c, path, where);
    return ok;
}

/* Opens a new file of an unused name in the directory of path and writes that name to `name`. */
static int open_temporary(text *name, const char *path) {
    const char *slash = strrchr(path, '/');
    size_t directory = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        text_clear(name);
        text_add_bytes(name, path, directory);
        text_format(name, ".kina-%ld-%u.tmp", (long)getpid(), attempt);
        if (name->failed) return -1;
        int file = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

static bool replace(context *c, const char *path, const value *v, storage as, span where) {
    text name;
    text_init(&name, c);
    int file = open_temporary(&name, path);
    bool ok = false;
    if (file >= 0) {
        ok = write_and_close(c, path, file, v, as, where);
        if (ok && rename(name.data, path) != 0) ok = unwritable_by_system(c, path, where);
        if (!ok) unlink(name.data);
    } else if (!name.failed) {
        unwritable_by_system(c, path, where);
    }
    text_close(&name);
    return ok;
}

bool npy_save(context *c, const char *path, const value *v, int as, span where) {
    if (v->kind != VALUE_NUMBER && v->kind != VALUE_TENSOR) {
        return unwritable(c, path, where, "only numbers and tensors can be saved");
    }
    storage stored = as >= 0 ? (storage)as : (storage)v->dtype;
    struct stat about;
    bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) return unwritable(c, path, where, "it is a directory");
    if (exists && !S_ISREG(about.st_mode)) {
        /* A device or pipe is written to, and must not be replaced by a file. */
        int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (file < 0) return unwritable_by_system(c, path, where);
        return write_and_close(c, path, file, v, stored, where);
    }
    /* A link stays one: what it points to is replaced. */
    char real[PATH_MAX];
    const char *target = exists && realpath(path, real) != NULL ? real : path;
    return replace(c, target, v, stored, where);
}
