/* Reading literals in two passes of one walk: the first finds the shape and every fault, the second
 * writes the elements. Numbers are rounded once, from their digits to the dtype. */
#include "interp/tools/literal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

typedef struct reader {
    context *c;
    const char *who;
    const char *p;
    dtype t;
    int rank;               /* depth of the elements; -1 until the first one */
    int depth;              /* of the deepest list */
    int64_t dims[MAX_RANK]; /* -1 until the first list of that depth has ended */
    char *out;              /* where the next element goes; NULL in the first pass */
} reader;

static const span nowhere = {0, 0};

static void skip_blanks(reader *r) {
    while (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r') r->p++;
}

static bool is_word(const char *s, size_t n, const char *word) {
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

static bool bad_number(reader *r, const char *s, size_t n, const char *why) {
    return error_set(&r->c->err, ERROR_K0802, nowhere, "%s: '%.*s%s' %s %s", r->who,
                     n > 60 ? 60 : (int)n, s, n > 60 ? "…" : "", why, dtype_name(r->t));
}

static bool read_bool(reader *r, const char *s, size_t n, payload *out) {
    out->b = is_word(s, n, "true");
    return out->b || is_word(s, n, "false") || bad_number(r, s, n, "is not a value of type");
}

static bool read_integer(reader *r, const char *s, size_t n, payload *out) {
    size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');
    if (n == sign || strspn(s + sign, "0123456789") < n - sign)
        return bad_number(r, s, n, "is not a value of type");
    errno = 0;
    long long x = strtoll(s, NULL, 10);
    if (errno == ERANGE || (r->t == DT_I32 && (x < INT32_MIN || x > INT32_MAX))) {
        return bad_number(r, s, n, "is out of range for");
    }
    if (r->t == DT_I32) {
        out->i32 = (int32_t)x;
    } else {
        out->i64 = x;
    }
    return true;
}

/* inf and nan with an optional sign; false for everything else. */
static bool read_special(const char *s, size_t n, double *out) {
    size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');
    if (is_word(s + sign, n - sign, "inf")) {
        *out = (double)INFINITY;
    } else if (is_word(s + sign, n - sign, "nan")) {
        *out = (double)NAN;
    } else {
        return false;
    }
    if (s[0] == '-') *out = -*out;
    return true;
}

static bool read_float(reader *r, const char *s, size_t n, payload *out) {
    double wide = 0;
    float single = 0;
    bool special = read_special(s, n, &wide);
    if (special) {
        single = (float)wide;
    } else {
        /* strtod knows more forms, such as 0x1p3, than are meant here. */
        char *end = NULL;
        bool plain = n > 0 && strspn(s, "0123456789+-.eE") >= n;
        if (plain) {
            wide = strtod(s, &end);
            single = strtof(s, &end);
        }
        if (!plain || end != s + n) return bad_number(r, s, n, "is not a value of type");
    }
    bool finite = r->t == DT_F32 ? isfinite(single) : isfinite(wide);
    if (!special && !finite) return bad_number(r, s, n, "is too large for");
    if (r->t == DT_F32) {
        out->f32 = single;
    } else {
        out->f64 = wide;
    }
    return true;
}

static bool expected(reader *r, const char *what) {
    if (*r->p == '\0') {
        return error_set(&r->c->err, ERROR_K0802, nowhere, "%s: expected %s at the end", r->who,
                         what);
    }
    return error_set(&r->c->err, ERROR_K0802, nowhere, "%s: expected %s before '%.20s'", r->who,
                     what, r->p);
}

static bool ragged(reader *r) {
    return error_set(&r->c->err, ERROR_K0802, nowhere,
                     "%s: the lists of one depth differ in their lengths or in what they hold",
                     r->who);
}

static bool read_element(reader *r, int depth) {
    size_t n = strcspn(r->p, ",[] \t\r\n");
    if (n == 0) return expected(r, "a value");
    payload x = {.bits = 0};
    bool ok = r->t == DT_Bool        ? read_bool(r, r->p, n, &x)
              : dtype_floating(r->t) ? read_float(r, r->p, n, &x)
                                     : read_integer(r, r->p, n, &x);
    if (!ok) return false;
    if (r->rank < 0) r->rank = depth;
    if (r->rank != depth) return ragged(r);
    if (r->out != NULL) {
        memcpy(r->out, &x, dtype_size(r->t));
        r->out += dtype_size(r->t);
    }
    r->p += n;
    return true;
}

/* value := element | "[" (value ("," value)* ","?)? "]" */
static bool read_value(reader *r, int depth) {
    skip_blanks(r);
    if (*r->p != '[') return read_element(r, depth);
    if (depth == MAX_RANK) {
        return error_set(&r->c->err, ERROR_K0802, nowhere, "%s: a tensor has at most %d dims",
                         r->who, MAX_RANK);
    }
    if (r->rank >= 0 && depth >= r->rank) return ragged(r);
    if (depth + 1 > r->depth) r->depth = depth + 1;
    r->p++;
    int64_t count = 0;
    for (skip_blanks(r); *r->p != ']'; count++) {
        if (!read_value(r, depth + 1)) return false;
        skip_blanks(r);
        if (*r->p == ',') {
            r->p++;
            skip_blanks(r);
        } else if (*r->p != ']') {
            return expected(r, "',' or ']'");
        }
    }
    r->p++;
    if (r->dims[depth] < 0) r->dims[depth] = count;
    return r->dims[depth] == count || ragged(r);
}

static bool read_whole(reader *r) {
    if (!read_value(r, 0)) return false;
    skip_blanks(r);
    return *r->p == '\0' || error_set(&r->c->err, ERROR_K0802, nowhere,
                                      "%s: '%.40s' follows a complete value", r->who, r->p);
}

/* Gives lists without an element the axes that the text cannot show. */
static void complete_empty(reader *r, int want_rank, const int64_t *want_dims) {
    r->rank = r->depth;
    while (r->rank < want_rank) {
        r->dims[r->rank] = want_dims[r->rank] > 0 ? want_dims[r->rank] : 0;
        r->rank++;
    }
}

bool literal_read(context *c, const char *who, const char *s, dtype t, int want_rank,
                  const int64_t *want_dims, value *out) {
    reader r = {.c = c, .who = who, .p = s, .t = t, .rank = -1};
    for (int i = 0; i < MAX_RANK; i++) r.dims[i] = -1;
    *out = value_number(t, 0);
    /* A number is written in place; a list's elements wait for their tensor. */
    skip_blanks(&r);
    bool list = *r.p == '[';
    if (!list) r.out = (char *)&out->as;
    if (!read_whole(&r)) return false;
    if (!list) return true;
    if (r.rank < 0) complete_empty(&r, want_rank, want_dims);
    tensor *made = tensor_new(c, t, r.rank, r.dims);
    if (made == NULL) return false;
    *out = value_tensor(made);
    r.p = s;
    r.out = made->data;
    if (read_whole(&r)) return true;
    value_release(c, *out);
    return false;
}
