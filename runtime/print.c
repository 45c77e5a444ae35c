/* Values as text: shortest digits, aligned nested brackets, and JSON. */
#include "runtime/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/stack.h"

/* Decimal digits d0 d1 … and the exponent of d0: d0.d1d2… x 10^exponent. */
typedef struct decimal {
    char digit[24];
    int count, exponent;
} decimal;

/* `precision` digits of x > 0, correctly rounded. The decimal point is the host locale's, so it is
 * skipped and not looked for. */
static void decimal_set(decimal *d, double x, int precision) {
    char buffer[48];
    snprintf(buffer, sizeof buffer, "%.*e", precision - 1, x);
    d->count = 0;
    const char *p = buffer;
    for (; *p != 'e' && *p != '\0'; p++) {
        if (*p >= '0' && *p <= '9') d->digit[d->count++] = *p;
    }
    d->exponent = *p == 'e' ? (int)strtol(p + 1, NULL, 10) : 0;
}

/* True when the digits read back as x. They are written as an integer with an exponent, which no
 * locale reads differently. */
static bool decimal_reads_back(const decimal *d, double x, bool narrow) {
    char buffer[48];
    snprintf(buffer, sizeof buffer, "%.*se%d", d->count, d->digit, d->exponent - (d->count - 1));
    return narrow ? strtof(buffer, NULL) == (float)x : strtod(buffer, NULL) == x;
}

/* The next decimal of the same number of digits. */
static void decimal_step_up(decimal *d) {
    int i = d->count - 1;
    while (i >= 0 && d->digit[i] == '9') d->digit[i--] = '0';
    if (i >= 0) {
        d->digit[i]++;
    } else {
        d->digit[0] = '1'; /* 99… became 100…; the zero that drops off the end is dropped anyway */
        d->exponent++;
    }
}

static void decimal_strip_zeros(decimal *d) {
    while (d->count > 1 && d->digit[d->count - 1] == '0') d->count--;
}

/* The fewest digits that read back as x, finite and > 0. Where the spacing of normal numbers is
 * regular, `sure` digits hold every decimal of up to that many, so the search may begin there. */
static void decimal_shortest(decimal *d, double x, bool narrow) {
    const int sure = narrow ? 6 : 15, most = narrow ? 9 : 17;
    bool subnormal = narrow ? x < 0x1p-126 : x < 0x1p-1022;
    int unused;
    bool power_of_two = frexp(x, &unused) == 0.5;
    for (int precision = subnormal ? 1 : sure; precision < most; precision++) {
        decimal_set(d, x, precision);
        bool found = decimal_reads_back(d, x, narrow);
        if (!found && power_of_two) {
            /* The interval that rounds to a power of two is wider above than below: the nearest
             * decimal may miss it where the next one hits. */
            decimal_step_up(d);
            found = decimal_reads_back(d, x, narrow);
        }
        if (found) {
            decimal_strip_zeros(d);
            return;
        }
    }
    decimal_set(d, x, most);
    decimal_strip_zeros(d);
}

/* Lays the digits out: plain for exponents in -5 < e < 16, else d.ddde-XX. */
static size_t decimal_print(char *out, const decimal *d) {
    char *p = out;
    if (d->exponent >= 16 || d->exponent <= -5) {
        *p++ = d->digit[0];
        if (d->count > 1) {
            *p++ = '.';
            memcpy(p, d->digit + 1, (size_t)d->count - 1);
            p += d->count - 1;
        }
        p += snprintf(p, 8, "e%+03d", d->exponent);
        return (size_t)(p - out);
    }
    int whole = d->exponent + 1; /* digits before the point */
    if (whole <= 0) {
        *p++ = '0';
    } else {
        for (int i = 0; i < whole; i++) *p++ = i < d->count ? d->digit[i] : '0';
    }
    *p++ = '.';
    for (int i = whole; i < 0; i++) *p++ = '0';
    int from = whole > 0 ? whole : 0;
    if (from >= d->count) *p++ = '0';
    for (int i = from; i < d->count; i++) *p++ = d->digit[i];
    *p = '\0';
    return (size_t)(p - out);
}

static size_t float_print(char out[NUMBER_ROOM], double x, bool narrow) {
    if (isnan(x)) return (size_t)snprintf(out, NUMBER_ROOM, "nan");
    char *p = out;
    if (signbit(x)) *p++ = '-';
    double size = fabs(x);
    if (isinf(x)) {
        memcpy(p, "inf", 4);
        p += 3;
    } else if (size < (narrow ? 1e6 : 1e15) && size == floor(size)) {
        p += snprintf(p, NUMBER_ROOM - 1, "%" PRId64 ".0", (int64_t)size);
    } else {
        decimal d;
        decimal_shortest(&d, size, narrow);
        p += decimal_print(p, &d);
    }
    return (size_t)(p - out);
}

size_t number_print(char out[NUMBER_ROOM], dtype t, const void *p) {
    int n = 0;
    switch (t) {
    case DT_F32: return float_print(out, (double)*(const float *)p, true);
    case DT_F64: return float_print(out, *(const double *)p, false);
    case DT_I32: n = snprintf(out, NUMBER_ROOM, "%" PRId32, *(const int32_t *)p); break;
    case DT_I64: n = snprintf(out, NUMBER_ROOM, "%" PRId64, *(const int64_t *)p); break;
    case DT_Bool: n = snprintf(out, NUMBER_ROOM, *(const bool *)p ? "true" : "false"); break;
    case DTYPE_COUNT: out[0] = '\0'; break;
    }
    return (size_t)n;
}

void value_print_type(text *t, const value *v) {
    char shape[192];
    switch ((value_kind)v->kind) {
    case VALUE_NONE: text_add(t, "nothing"); break;
    case VALUE_UNIT: text_add(t, "()"); break;
    case VALUE_NUMBER: text_add(t, dtype_name((dtype)v->dtype)); break;
    case VALUE_TENSOR:
        shape_print(shape, sizeof shape, v->as.t->rank, v->as.t->dims);
        text_format(t, "tensor<%s, %s>", dtype_name((dtype)v->as.t->dtype), shape);
        break;
    case VALUE_TUPLE:
        text_add_char(t, '(');
        for (int32_t i = 0; i < v->as.tuple->count; i++) {
            if (i > 0) text_add(t, ", ");
            value_print_type(t, &v->as.tuple->item[i]);
        }
        text_add_char(t, ')');
        break;
    case VALUE_FUNCTION: text_add(t, "function"); break;
    case VALUE_TAPE: text_add(t, "tape"); break;
    }
}

/* How a tensor is laid out: padding, and which stretch in the middle of an axis is left out. */
typedef struct layout {
    const tensor *t;
    size_t element;
    int64_t edge[MAX_RANK]; /* entries shown at either end of an axis; 0: all */
    size_t width;  /* elements are padded to this; 0: not at all */
    size_t indent; /* the column of the outermost bracket */
} layout;

enum { SHOWN_MOST = 1000 };

static bool skips_after(const layout *l, int axis, int64_t i) {
    int64_t edge = l->edge[axis];
    return edge > 0 && l->t->dims[axis] > 2 * edge && i == edge - 1;
}

/* The largest number of brackets or elements at any depth when axes show at most `per_axis`
 * entries; an empty axis must not hide a million empty brackets before it. */
static int64_t shown_count(const tensor *t, int64_t per_axis) {
    int64_t product = 1, most = 1;
    for (int i = 0; i < t->rank; i++) {
        int64_t n = t->dims[i] < per_axis ? t->dims[i] : per_axis;
        if (__builtin_mul_overflow(product, n, &product)) return INT64_MAX;
        if (product > most) most = product;
    }
    return most;
}

/* Every axis abridged to the same number of entries where there are more than about a thousand. */
static void choose_edges(layout *l) {
    if (shown_count(l->t, INT64_MAX) <= SHOWN_MOST) return;
    int64_t edge = 3;
    while (edge > 1 && shown_count(l->t, 2 * edge) > SHOWN_MOST) edge--;
    for (int i = 0; i < l->t->rank; i++) l->edge[i] = edge;
}

static size_t widest(const layout *l, int axis, const char *p) {
    char number[NUMBER_ROOM];
    if (axis == l->t->rank) return number_print(number, (dtype)l->t->dtype, p);
    size_t most = 0;
    for (int64_t i = 0; i < l->t->dims[axis]; i++) {
        int64_t step = l->t->strides[axis] * (int64_t)l->element;
        size_t n = widest(l, axis + 1, p + i * step);
        if (n > most) most = n;
        if (skips_after(l, axis, i)) i = l->t->dims[axis] - l->edge[axis] - 1;
    }
    return most;
}

/* What stands between two entries of an axis. */
static void print_break(text *t, const layout *l, int axis) {
    text_add_char(t, ',');
    if (axis == l->t->rank - 1) {
        text_add_char(t, ' ');
    } else {
        /* One blank line between matrices, one more for each axis further out. */
        text_add_repeat(t, '\n', (size_t)(l->t->rank - 1 - axis));
        text_add_repeat(t, ' ', l->indent + (size_t)axis + 1);
    }
}

static void print_elements(text *t, const layout *l, int axis, const char *p) {
    if (axis == l->t->rank) {
        char number[NUMBER_ROOM];
        size_t n = number_print(number, (dtype)l->t->dtype, p);
        if (n < l->width) text_add_repeat(t, ' ', l->width - n);
        text_add_bytes(t, number, n);
        return;
    }
    text_add_char(t, '[');
    for (int64_t i = 0; i < l->t->dims[axis] && !t->failed; i++) {
        if (i > 0) print_break(t, l, axis);
        int64_t step = l->t->strides[axis] * (int64_t)l->element;
        print_elements(t, l, axis + 1, p + i * step);
        if (skips_after(l, axis, i)) {
            print_break(t, l, axis);
            text_add(t, "…");
            i = l->t->dims[axis] - l->edge[axis] - 1;
        }
    }
    text_add_char(t, ']');
}

/* Characters since the last line end, so that rows line up wherever a value is printed. */
static size_t column(const text *t) {
    size_t count = 0;
    for (size_t i = t->length; i > 0 && t->data[i - 1] != '\n'; i--) {
        if (((unsigned char)t->data[i - 1] & 0xC0) != 0x80) count++;
    }
    return count;
}

/* The outer axes abridged to a screen's lines, then the last one to what fits beside its fellows. */
static void fit_edges(layout *l, size_t columns) {
    enum { LINES = 24, LEAST = 3 };   /* an element and what parts it from the next take so much at least */
    const tensor *t = l->t;
    int last = t->rank - 1;
    tensor rows = *t;
    rows.rank = (uint8_t)last;
    int64_t edge = LINES / 2;
    while (edge > 1 && shown_count(&rows, 2 * edge) > LINES) edge--;
    for (int i = 0; i < last; i++) l->edge[i] = edge;
    size_t taken = l->indent + 2 * (size_t)t->rank, room = columns > taken ? columns - taken : 0;
    l->edge[last] = (int64_t)(room / LEAST) + 1;
    size_t each = t->size > 0 ? widest(l, 0, t->data) + 2 : LEAST;
    if ((uint64_t)t->dims[last] <= room / each) {
        l->edge[last] = 0;
    } else {
        l->edge[last] = room > LEAST ? (int64_t)((room - LEAST) / each / 2) : 0;
        if (l->edge[last] == 0) l->edge[last] = 1;
    }
}

enum { ALL = 0, ABRIDGED = 1 }; /* for print_value; any other number: the columns to fit in */

static void print_tensor(text *t, const tensor *x, size_t columns) {
    layout l = {.t = x, .element = dtype_size((dtype)x->dtype)};
    l.indent = column(t);
    if (columns == ABRIDGED) choose_edges(&l);
    if (columns > ABRIDGED) fit_edges(&l, columns);
    if (x->rank > 1 && x->size > 0) l.width = widest(&l, 0, x->data);
    print_elements(t, &l, 0, x->data);
}

static void print_value(text *t, const value *v, size_t columns) {
    char number[NUMBER_ROOM];
    switch ((value_kind)v->kind) {
    case VALUE_NONE: text_add(t, "nothing"); break;
    case VALUE_UNIT: text_add(t, "()"); break;
    case VALUE_NUMBER:
        text_add_bytes(t, number, number_print(number, (dtype)v->dtype, &v->as));
        break;
    case VALUE_TENSOR: print_tensor(t, v->as.t, columns); break;
    case VALUE_TUPLE:
        text_add_char(t, '(');
        for (int32_t i = 0; i < v->as.tuple->count; i++) {
            if (i > 0) text_add(t, ", ");
            print_value(t, &v->as.tuple->item[i], columns);
        }
        text_add_char(t, ')');
        break;
    case VALUE_FUNCTION: text_add(t, "function"); break;
    case VALUE_TAPE: {
        int64_t count = stack_count(v);
        text_format(t, "tape of %" PRId64 " %s", count, count == 1 ? "entry" : "entries");
        break;
    }
    }
}

void value_print(text *t, const value *v, bool full) {
    print_value(t, v, full ? ALL : ABRIDGED);
}

void value_print_fitted(text *t, const value *v, size_t columns) {
    print_value(t, v, columns > ABRIDGED ? columns : ABRIDGED + 1);
}

static void json_number(text *t, dtype type, const void *p) {
    char number[NUMBER_ROOM];
    size_t n = number_print(number, type, p);
    if (n > 0 && dtype_floating(type) && (number[n - 1] == 'n' || number[n - 1] == 'f')) {
        text_add(t, number[n - 1] == 'n' ? "\"NaN\""
                    : number[0] == '-'   ? "\"-Infinity\""
                                         : "\"Infinity\"");
    } else {
        text_add_bytes(t, number, n);
    }
}

static void json_elements(text *t, const tensor *x, int axis, const char *p) {
    if (axis == x->rank) {
        json_number(t, (dtype)x->dtype, p);
        return;
    }
    /* Of a tensor without elements an axis may be as long as a size can be. */
    int64_t step = x->size > 0 ? x->strides[axis] * (int64_t)dtype_size((dtype)x->dtype) : 0;
    text_add_char(t, '[');
    for (int64_t i = 0; i < x->dims[axis] && !t->failed; i++) {
        if (i > 0) text_add_char(t, ',');
        json_elements(t, x, axis + 1, p + i * step);
    }
    text_add_char(t, ']');
}

void value_json(text *t, const value *v) {
    switch ((value_kind)v->kind) {
    case VALUE_NUMBER: json_number(t, (dtype)v->dtype, &v->as); break;
    case VALUE_TENSOR: json_elements(t, v->as.t, 0, v->as.t->data); break;
    case VALUE_TUPLE:
        text_add_char(t, '[');
        for (int32_t i = 0; i < v->as.tuple->count; i++) {
            if (i > 0) text_add_char(t, ',');
            value_json(t, &v->as.tuple->item[i]);
        }
        text_add_char(t, ']');
        break;
    case VALUE_NONE:
    case VALUE_UNIT:
    case VALUE_FUNCTION:
    case VALUE_TAPE: text_add(t, "null"); break;
    }
}

/* The length of the UTF-8 character at s, of at most `room` bytes; 0 when it is not well formed. */
static size_t character_length(const unsigned char *s, size_t room) {
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xF5 ? 0 : s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC2 ? 2 : 0;
    if (n == 0 || n > room) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
    }
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0)) return 0;
    if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90)) return 0;
    return n;
}

void json_string(text *t, const char *s, size_t length) {
    text_add_char(t, '"');
    for (size_t i = 0; i < length;) {
        unsigned char ch = (unsigned char)s[i];
        size_t n = character_length((const unsigned char *)s + i, length - i);
        if (ch == '"' || ch == '\\') {
            text_add_char(t, '\\');
            text_add_char(t, (char)ch);
        } else if (ch == '\n') {
            text_add(t, "\\n");
        } else if (ch == '\t') {
            text_add(t, "\\t");
        } else if (ch < 0x20) {
            text_format(t, "\\u%04x", ch);
        } else if (n == 0) {
            text_add(t, "\\ufffd");
        } else {
            text_add_bytes(t, s + i, n);
        }
        i += n == 0 ? 1 : n;
    }
    text_add_char(t, '"');
}
