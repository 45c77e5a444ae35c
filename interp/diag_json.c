/* Diagnostics for programs: one JSON object a line. Offsets are bytes, lines and columns count
 * from 1. */
#include "interp/diag_render.h"

#include <string.h>

#include "runtime/print.h"

static void add_field(text *out, const char *name, const char *content) {
    text_format(out, ",\"%s\":", name);
    json_string(out, content, strlen(content));
}

/* The members that say where a span is; nothing for one without a place. */
static void add_place(const diagnostics *d, span at, text *out) {
    if (!diag_has_place(d, at)) return;
    uint32_t line, column, end_line, end_column;
    source_position(d->src, at.begin, &line, &column);
    source_position(d->src, at.end, &end_line, &end_column);
    text_format(out, ",\"begin\":%u,\"end\":%u,\"line\":%u,\"column\":%u", at.begin, at.end, line,
                column);
    text_format(out, ",\"end_line\":%u,\"end_column\":%u", end_line, end_column);
}

/* The member that names the file, where it is not the diagnostic's own. */
static void add_other_file(const diagnostics *d, const diag *e, span at, text *out) {
    if (!diag_has_place(d, at)) return;
    const source_piece *own = source_piece_at(d->src, e->at.begin), *p = source_piece_at(d->src, at.begin);
    if (strcmp(own->path, p->path) != 0) add_field(out, "file", p->path);
}

static void add_list(const diagnostics *d, const diag *e, const char *name, const diag_label *list, text *out) {
    text_format(out, ",\"%s\":[", name);
    for (const diag_label *label = list; label != NULL; label = label->next) {
        text_add(out, label == list ? "{\"text\":" : ",{\"text\":");
        json_string(out, label->text, strlen(label->text));
        add_other_file(d, e, label->at, out);
        add_place(d, label->at, out);
        text_add(out, "}");
    }
    text_add(out, "]");
}

void diag_render_json(const diagnostics *d, const diag *e, text *out) {
    text_format(out, "{\"severity\":\"%s\"", e->warning ? "warning" : "error");
    add_field(out, "code", error_code_name(e->code));
    add_field(out, "message", e->message);
    if (d->src != NULL) add_field(out, "file", source_piece_at(d->src, e->at.begin)->path);
    add_place(d, e->at, out);
    if (e->label[0] != '\0') add_field(out, "label", e->label);
    add_list(d, e, "labels", e->labels, out);
    add_list(d, e, "notes", e->notes, out);
    if (e->help != NULL) add_field(out, "help", e->help);
    text_add(out, "}\n");
}
