/* How a comparison is told: lines for people and test runners, an object for programs. */
#include <math.h>
#include <string.h>

#include "interp/tools/oracle.h"
#include "runtime/print.h"
#include "runtime/tensor.h"

void oracle_index(int rank, const int64_t *sizes, int64_t position, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = position % sizes[i];
        position /= sizes[i];
    }
}

static void add_bits(text *t, dtype kind, const payload *p) {
    unsigned char bytes[sizeof *p];
    memcpy(bytes, p, sizeof bytes);
    text_add(t, "0x");
    for (size_t i = dtype_size(kind); i-- > 0;) text_format(t, "%02x", bytes[i]);
}

/* A Bool's byte may be something else than 0 and 1, which only its bits show. */
static void add_element(text *t, dtype kind, const payload *p) {
    char digits[NUMBER_ROOM];
    unsigned char byte;
    memcpy(&byte, p, 1);
    if (kind == DT_Bool && byte > 1) {
        text_add(t, "neither");
    } else {
        number_print(digits, kind, p);
        text_add(t, digits);
    }
    text_add(t, " (");
    add_bits(t, kind, p);
    text_add_char(t, ')');
}

static void add_abs(text *t, double x) {
    char digits[NUMBER_ROOM];
    number_print(digits, DT_F64, &x);
    text_add(t, digits);
}

/* ---- lines ---- */

static void add_result(text *t, const oracle_result *r) {
    const tally *sum = &r->t;
    dtype kind = (dtype)r->shape.dtype;
    text_format(t, "%s: %s", r->name, r->type);
    if (!r->compared) {
        text_add(t, ": not compared\n");
        return;
    }
    text_add(t, ": max ulp ");
    if (sum->max_ulp == UINT64_MAX) {
        text_add(t, "inf");
    } else {
        text_format(t, "%llu", (unsigned long long)sum->max_ulp);
    }
    text_add(t, ", max abs ");
    add_abs(t, sum->max_abs);
    text_format(t, ", mismatches %lld of %lld", (long long)sum->mismatches,
                (long long)sum->elements);
    if (sum->mismatches > 0) {
        text_add(t, ", first");
        if (r->shape.rank > 0) {
            int64_t index[MAX_RANK];
            oracle_dims place;
            oracle_index(r->shape.rank, r->shape.dims, sum->first, index);
            shape_print(place, sizeof place, r->shape.rank, index);
            text_format(t, " at %s", place);
        }
        text_add(t, ": expected ");
        add_element(t, kind, &sum->expected);
        text_add(t, ", found ");
        add_element(t, kind, &sum->found);
    }
    text_add_char(t, '\n');
}

void oracle_print_verdict(text *t, const oracle_report *r) {
    text_format(t, "%s %s", r->passed ? "PASS" : "FAIL", r->name);
    if (r->trials > 1 && r->passed) text_format(t, ": %lld trials", (long long)r->trials);
    if (r->trials > 1 && !r->passed)
        text_format(t, ": trial %lld, which --random 1 --seed %llu repeats", (long long)r->trials,
                    (unsigned long long)r->seed);
    text_add_char(t, '\n');
}

void oracle_print(text *t, const oracle_report *r) {
    for (int i = 0; i < r->count; i++) add_result(t, &r->results[i]);
    for (const oracle_line *l = r->lines; l != NULL; l = l->next)
        text_format(t, "%s: %s\n", l->fault ? "fault" : "note", l->text);
}

/* ---- JSON ---- */

static void add_name(text *t, const char *key, const char *s) {
    text_format(t, "\"%s\":", key);
    json_string(t, s, strlen(s));
}

static void add_ints(text *t, int count, const int64_t *n) {
    text_add_char(t, '[');
    for (int i = 0; i < count; i++) text_format(t, "%s%lld", i > 0 ? "," : "", (long long)n[i]);
    text_add_char(t, ']');
}

static void add_element_json(text *t, const char *key, dtype kind, const payload *p) {
    value v = {.kind = VALUE_NUMBER, .dtype = (uint8_t)kind};
    unsigned char byte;
    memcpy(&byte, p, 1);
    if (kind == DT_Bool)
        v.as.b = byte != 0;
    else
        v.as = *p;
    text_format(t, ",\"%s\":", key);
    value_json(t, &v);
    text_format(t, ",\"%s_bits\":\"", key);
    add_bits(t, kind, p);
    text_add_char(t, '"');
}

static void add_result_json(text *t, const oracle_result *r) {
    const tally *sum = &r->t;
    value abs = value_f64(sum->max_abs);
    text_add_char(t, '{');
    add_name(t, "name", r->name);
    text_format(t, ",\"dtype\":\"%s\",\"shape\":", dtype_name((dtype)r->shape.dtype));
    add_ints(t, r->shape.rank, r->shape.dims);
    text_format(t, ",\"compared\":%s", r->compared ? "true" : "false");
    if (r->compared) {
        text_add(t, ",\"max_ulp\":");
        if (sum->max_ulp == UINT64_MAX)
            text_add(t, "\"Infinity\"");
        else
            text_format(t, "%llu", (unsigned long long)sum->max_ulp);
        text_add(t, ",\"max_abs\":");
        value_json(t, &abs);
        text_format(t, ",\"elements\":%lld,\"mismatches\":%lld", (long long)sum->elements,
                    (long long)sum->mismatches);
    }
    if (r->compared && sum->mismatches > 0) {
        int64_t index[MAX_RANK];
        oracle_index(r->shape.rank, r->shape.dims, sum->first, index);
        text_add(t, ",\"first\":{\"index\":");
        add_ints(t, r->shape.rank, index);
        add_element_json(t, "expected", (dtype)r->shape.dtype, &sum->expected);
        add_element_json(t, "found", (dtype)r->shape.dtype, &sum->found);
        text_add_char(t, '}');
    }
    text_add_char(t, '}');
}

static void add_lines_json(text *t, const char *key, const oracle_report *r, bool faults) {
    bool any = false;
    text_format(t, ",\"%s\":[", key);
    for (const oracle_line *l = r->lines; l != NULL; l = l->next) {
        if (l->fault != faults) continue;
        if (any) text_add_char(t, ',');
        json_string(t, l->text, strlen(l->text));
        any = true;
    }
    text_add_char(t, ']');
}

void oracle_print_json(text *t, const oracle_report *r) {
    add_name(t, "name", r->name);
    text_format(t, ",\"passed\":%s,\"trials\":%lld,\"results\":[", r->passed ? "true" : "false",
                (long long)r->trials);
    for (int i = 0; i < r->count; i++) {
        if (i > 0) text_add_char(t, ',');
        add_result_json(t, &r->results[i]);
    }
    text_add_char(t, ']');
    add_lines_json(t, "faults", r, true);
    add_lines_json(t, "notes", r, false);
}
