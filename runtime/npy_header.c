/* Reading the header of an array file: a literal of a Python dict behind a few bytes of its own. */
#include "runtime/npy_header.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_MOST = 65535 }; /* bytes; only records of many fields ever have more */

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

bool npy_unsupported(npz_source *s, const char *what) {
    error_set(&s->c->err, ERROR_K0604, s->where, "'%.100s' holds %s", s->path, what);
    error_help(&s->c->err, "save it as float32, float64, int32, int64 or bool");
    return false;
}

/* "<f8" and the like. */
static bool scan_descr(scanner *in, npy_header *h) {
    skip_blanks(in);
    if (in->p < in->end && *in->p == '[') return npy_unsupported(in->s, "records");
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
    return npy_unsupported(in->s, words);
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

bool npy_read_header(npz_source *s, npy_header *h) {
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
