/* NumPy's array files: the header, exact conversion of elements on the way in, and atomic writing.
 */
#include "runtime/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/npz.h"
#include "runtime/storage.h"
#include "runtime/text.h"

enum {
    HEADER_MOST = 65535, /* bytes; only records of many fields ever have more */
    BUFFER_BYTES = 8192,
    HOST_BIG = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
};

/* What the header says. */
typedef struct npy_header {
    char kind;    /* 'f', 'i', 'u', 'b', or 'V' for BF16 */
    size_t bytes; /* of an element in the file */
    bool swapped; /* not in the host's byte order */
    bool fortran;
    int rank;
    int64_t dims[MAX_RANK];
} npy_header;

/* The header's text, a literal of a Python dict, while it is read. */
typedef struct scanner {
    npz_source *s;
    const char *p, *end;
} scanner;

static void skip_blanks(scanner *in) {
    while (in->p < in->end && strchr(" \t\r\n\f", *in->p) != NULL && *in->p != '\0') in->p++;
}

static bool accept(scanner *in, char ch) {
    skip_blanks(in);
    if (in->p >= in->end || *in->p != ch) return false;
    in->p++;
    return true;
}

static bool accept_word(scanner *in, const char *word) {
    skip_blanks(in);
    size_t n = strlen(word);
    if ((size_t)(in->end - in->p) < n || memcmp(in->p, word, n) != 0) return false;
    in->p += n;
    return true;
}

static bool bad_header(scanner *in) {
    return npz_malformed(in->s, "its header cannot be understood");
}

/* A quoted string without escapes; NumPy writes no other. */
static bool scan_string(scanner *in, const char **found, size_t *length) {
    char quote = accept(in, '\'') ? '\'' : accept(in, '"') ? '"' : '\0';
    if (quote == '\0') return bad_header(in);
    *found = in->p;
    while (in->p < in->end && *in->p != quote && *in->p != '\\') in->p++;
    if (in->p >= in->end || *in->p != quote) return bad_header(in);
    *length = (size_t)(in->p - *found);
    in->p++;
    return true;
}

static bool unsupported(npz_source *s, const char *what) {
    error_set(&s->c->err, ERROR_K0604, s->where, "'%.100s' holds %s", s->path, what);
    error_help(&s->c->err, "save it as float32, float64, int32, int64 or bool");
    return false;
}

/* "<f8" and the like. */
static bool scan_descr(scanner *in, npy_header *h) {
    skip_blanks(in);
    if (in->p < in->end && *in->p == '[') return unsupported(in->s, "records");
    const char *descr;
    size_t length;
    if (!scan_string(in, &descr, &length)) return false;
    char order = '=';
    if (length > 0 && memchr("<>|=", descr[0], 4) != NULL) {
        order = *descr++;
        length--;
    }
    static const char known[][3] = {"b1", "i1", "i2", "i4", "i8", "u1",
                                    "u2", "u4", "u8", "f2", "f4", "f8", "V2"};
    if (length == 1 && descr[0] == '?') {
        descr = "b1";
        length = 2;
    }
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (length != 2 || memcmp(descr, known[i], 2) != 0) continue;
        h->kind = descr[0];
        h->bytes = (size_t)(descr[1] - '0');
        h->swapped = h->bytes > 1 && (order == '<' ? HOST_BIG : order == '>' ? !HOST_BIG : false);
        return true;
    }
    char shown[24], words[96];
    size_t n = 0;
    for (; n < length && n < sizeof shown - 1; n++) {
        shown[n] = descr[n] < 0x20 || descr[n] > 0x7E ? '?' : descr[n];
    }
    shown[n] = '\0';
    snprintf(words, sizeof words, "elements of NumPy's type '%s', which Kina does not have", shown);
    return unsupported(in->s, words);
}

static bool scan_dim(scanner *in, int64_t *out) {
    skip_blanks(in);
    if (in->p < in->end && *in->p == '-') return npz_malformed(in->s, "a size is negative");
    if (in->p >= in->end || *in->p < '0' || *in->p > '9') return bad_header(in);
    int64_t n = 0;
    for (; in->p < in->end && *in->p >= '0' && *in->p <= '9'; in->p++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *in->p - '0', &n)) {
            return npz_malformed(in->s, "a size is beyond 64 bits");
        }
    }
    if (in->p < in->end && *in->p == 'L') in->p++; /* as Python 2 wrote long integers */
    *out = n;
    return true;
}

static bool scan_shape(scanner *in, npy_header *h) {
    if (!accept(in, '(')) return bad_header(in);
    int rank = 0;
    bool comma = false;
    while (!accept(in, ')')) {
        int64_t dim = 0;
        if (rank > 0 && !comma) return bad_header(in);
        if (!scan_dim(in, &dim)) return false;
        if (rank < MAX_RANK) h->dims[rank] = dim;
        rank++;
        comma = accept(in, ',');
    }
    /* "(3)" is a number in Python, and not a shape. */
    if (rank == 1 && !comma) return bad_header(in);
    if (rank > MAX_RANK) {
        return npz_malformed(in->s, "it has %d axes, and Kina's tensors have at most %d", rank,
                             MAX_RANK);
    }
    h->rank = rank;
    return true;
}

/* Exactly the keys 'descr', 'fortran_order' and 'shape', each once. */
static bool scan_header(scanner *in, npy_header *h) {
    unsigned seen = 0;
    bool comma = true;
    if (!accept(in, '{')) return bad_header(in);
    while (!accept(in, '}')) {
        const char *key;
        size_t length;
        unsigned bit = 0;
        if (!comma || !scan_string(in, &key, &length) || !accept(in, ':')) return bad_header(in);
        if (length == 5 && memcmp(key, "descr", 5) == 0) {
            bit = 1;
            if (!scan_descr(in, h)) return false;
        } else if (length == 13 && memcmp(key, "fortran_order", 13) == 0) {
            bit = 2;
            h->fortran = accept_word(in, "True");
            if (!h->fortran && !accept_word(in, "False")) return bad_header(in);
        } else if (length == 5 && memcmp(key, "shape", 5) == 0) {
            bit = 4;
            if (!scan_shape(in, h)) return false;
        }
        if (bit == 0 || (seen & bit) != 0) return bad_header(in);
        seen |= bit;
        comma = accept(in, ',');
    }
    skip_blanks(in);
    return (seen == 7 && in->p == in->end) || bad_header(in);
}

static bool read_header(npz_source *s, npy_header *h) {
    uint8_t head[12] = {0};
    if (s->left < 10) return npz_malformed(s, "it is too short for an array file");
    if (!npz_read(s, head, 10)) return false;
    if (memcmp(head, "\x93NUMPY", 6) != 0) {
        return npz_malformed(s, "it does not begin as an array file does");
    }
    if (head[6] < 1 || head[6] > 3 || head[7] != 0) {
        return npz_malformed(s, "its format version %d.%d is not known", head[6], head[7]);
    }
    uint32_t length = (uint32_t)head[8] | (uint32_t)head[9] << 8;
    if (head[6] > 1) {
        if (!npz_read(s, head + 10, 2)) return false;
        length |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
    }
    if (length > s->left) return npz_malformed(s, "it ends within its header");
    if (length > HEADER_MOST) {
        return npz_malformed(s, "its header of %u bytes is too long", length);
    }
    char *literal = take(s->c, length);
    if (literal == NULL) return false;
    scanner in = {s, literal, literal + length};
    bool ok = npz_read(s, literal, length) && scan_header(&in, h);
    give_back(s->c, literal, length);
    return ok;
}

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
        return unsupported(s, "unsigned 64-bit integers, which no integer type of Kina holds");
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

/* The low bytes of `bits` as a number of the host, of 2, 4 or 8 bytes. */
static void put_bits(void *out, size_t bytes, uint64_t bits) {
    uint16_t two = (uint16_t)bits;
    uint32_t four = (uint32_t)bits;
    memcpy(out, bytes == 2 ? (void *)&two : bytes == 4 ? (void *)&four : (void *)&bits, bytes);
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
        put_bits(out, dtype_size(t), storage_convert(bits, floating_storage(h), (storage)t));
    }
}

/* The strides, in elements of the result, of the file's order of elements; walked by `advance`. */
typedef struct walk {
    int rank;
    int64_t dims[MAX_RANK], strides[MAX_RANK], index[MAX_RANK];
    int64_t offset;
} walk;

/* Steps to the next element, the last axis of the walk running fastest. */
static void advance(walk *w) {
    for (int i = w->rank - 1; i >= 0; i--) {
        w->offset += w->strides[i];
        if (++w->index[i] < w->dims[i]) return;
        w->offset -= w->strides[i] * w->dims[i];
        w->index[i] = 0;
    }
}

/* A Fortran-ordered file is the row-major order of the axes turned round. */
static walk file_order(const npy_header *h, const tensor *t) {
    walk w = {.rank = t->rank};
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
    walk w = file_order(h, t);
    int64_t left = t->size, per_buffer = (int64_t)(BUFFER_BYTES / h->bytes);
    while (left > 0) {
        int64_t count = left < per_buffer ? left : per_buffer;
        if (!npz_read(s, buffer, (uint64_t)count * h->bytes)) return false;
        for (int64_t i = 0; i < count; i++) {
            convert(h, buffer + (size_t)i * h->bytes, type,
                    (char *)t->data + w.offset * (int64_t)element);
            advance(&w);
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
    bool ok = read_header(&s, &h) && read_array(&s, &h, want, out);
    npz_close(&s);
    return ok;
}

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
    put_bits(stored, storage_size(as), storage_convert(wide | single, (storage)from, as));
    return put(out, stored, storage_size(as));
}

static bool put_elements(sink *out, const tensor *t, storage as) {
    dtype from = (dtype)t->dtype;
    size_t element = dtype_size(from);
    if (t->contiguous && (storage)from == as) return put(out, t->data, (size_t)t->size * element);
    walk w = {.rank = t->rank};
    memcpy(w.dims, t->dims, sizeof w.dims);
    memcpy(w.strides, t->strides, sizeof w.strides);
    for (int64_t left = t->size; left > 0; left--) {
        const char *at = (const char *)t->data + w.offset * (int64_t)element;
        if (!put_element(out, at, from, as)) return false;
        advance(&w);
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
