/* Results and printed text on standard output, as text or as JSON. */
#include "interp/tools/output.h"

#include <errno.h>
#include <string.h>

#include "runtime/print.h"

/* ---- writing ---- */

static void note_failure(output *o) {
    if (o->failure != 0) return;
    o->failure = errno != 0 ? errno : EIO;
    *o->stop = 1;
}

static void write_out(output *o, const char *s, size_t length) {
    if (length > 0 && o->failure == 0 && fwrite(s, 1, length, stdout) != length) note_failure(o);
}

void output_print(void *self, const char *s, size_t length) {
    output *o = self;
    if (o->progress != NULL) progress_hide(o->progress);
    if (o->json) {
        fwrite(s, 1, length, stderr);
    } else {
        write_out(o, s, length);
    }
}

void output_text(output *o, const text *t) {
    write_out(o, text_data(t), t->length);
    if (o->failure == 0 && fflush(stdout) != 0) note_failure(o);
}

bool output_finish(output *o) {
    if (o->failure == 0 && fflush(stdout) != 0) note_failure(o);
    if (o->failure == 0 || o->failure == EPIPE) return true;
    if (o->failure == EINTR) return error_set(&o->c->err, ERROR_K0509, (span){0, 0}, "interrupted");
    return error_set(&o->c->err, ERROR_K0602, (span){0, 0}, "cannot write standard output: %s",
                     strerror(o->failure));
}

/* ---- results ---- */

static void add_result_json(text *t, const result *r) {
    text_add(t, "{\"name\":");
    json_string(t, r->name, strlen(r->name));
    text_format(t, ",\"dtype\":\"%s\",\"shape\":[", dtype_name((dtype)r->v.dtype));
    for (int i = 0; i < value_rank(&r->v); i++) {
        text_format(t, "%s%lld", i > 0 ? "," : "", (long long)value_dims(&r->v)[i]);
    }
    text_add(t, "],\"data\":");
    value_json(t, &r->v);
    text_add_char(t, '}');
}

static void add_results_json(text *t, const results *r, const run_counts *counts) {
    text_add(t, "{\"schema\":1,\"results\":[");
    for (int i = 0; i < r->count; i++) {
        if (i > 0) text_add_char(t, ',');
        add_result_json(t, &r->items[i]);
    }
    text_add_char(t, ']');
    if (counts != NULL) counts_json(t, counts);
    text_add(t, "}\n");
}

static void add_results_text(text *t, const results *r, bool full) {
    for (int i = 0; i < r->count; i++) {
        text_format(t, "%s: ", r->items[i].name);
        value_print_type(t, &r->items[i].v);
        text_add_char(t, '\n');
        value_print(t, &r->items[i].v, full);
        text_add_char(t, '\n');
    }
}

bool output_results(output *o, const results *r, const run_counts *counts) {
    /* The results are there already: a limit for the run does not keep them from being shown. */
    size_t limit = o->c->mem.limit;
    o->c->mem.limit = 0;
    text t;
    text_init(&t, o->c);
    if (o->json) {
        add_results_json(&t, r, counts);
    } else {
        add_results_text(&t, r, o->full);
    }
    bool ok = !t.failed;
    if (ok) write_out(o, text_data(&t), t.length);
    text_clear(&t);
    if (ok && counts != NULL && !o->json) {
        counts_print(&t, counts);
        ok = !t.failed;
        if (ok && fflush(stdout) != 0) note_failure(o);
        if (ok) fwrite(text_data(&t), 1, t.length, stderr);
    }
    text_close(&t);
    o->c->mem.limit = limit;
    return ok;
}
