/* Reading the file, and entering its lines (rc.h). */
#include "interp/tools/repl/rc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interp/utf8.h"
#include "runtime/context.h"

enum { RC_BYTES = 1 << 20 }; /* nobody types more */

static const span nowhere = {0, 0};

/* A reader of text that is there. */
typedef struct lines {
    reader base;
    const char *text;           /* a NUL behind it */
    size_t length, at;
} lines;

static reader_result next_line(reader *r, const char *prompt, const char **line, size_t *length) {
    (void)prompt;
    lines *l = (lines *)r;
    if (l->at >= l->length) return READER_END;
    *line = l->text + l->at;
    const char *end = memchr(*line, '\n', l->length - l->at);
    *length = end != NULL ? (size_t)(end - *line) : l->length - l->at;
    l->at += *length + 1;
    return READER_LINE;
}

/* Appends what `file` holds; false with errno set. */
static bool read_file(int file, text *out) {
    char block[4096];
    for (;;) {
        ssize_t n = read(file, block, sizeof block);
        if (n == 0) return true;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        text_add_bytes(out, block, (size_t)n);
        if (out->length > RC_BYTES) {
            errno = EFBIG;
            return false;
        }
    }
}

/* False with the context's error set. Without O_NONBLOCK a pipe of that name would be waited for. */
static bool read_text(context *c, const char *path, bool asked_for, text *out) {
    struct stat s;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool read = file >= 0 && fstat(file, &s) == 0;
    if (read && !S_ISREG(s.st_mode)) errno = S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
    read = read && S_ISREG(s.st_mode) && read_file(file, out);
    int why = errno;
    if (file >= 0) close(file);
    if (!read && why == ENOENT && !asked_for) return true;
    if (!read) return error_set(&c->err, ERROR_K0601, nowhere, "cannot read '%s': %s", path, strerror(why));
    if (!utf8_is_text(text_data(out), out->length)) {
        return error_set(&c->err, ERROR_K0603, nowhere, "'%s' is not text", path);
    }
    return !out->failed;
}

static void enter_lines(repl *r, const char *path, const text *all) {
    lines l = {.base = {.line = next_line}, .text = text_data(all), .length = all->length};
    reader *before = r->in;
    const char *place = r->path;
    r->in = &l.base;
    r->path = path;
    r->failed = false;
    while (!r->failed && !r->leaving && repl_read(r) == READER_LINE) repl_answer(r);
    if (r->failed && l.at < l.length) fprintf(stderr, "note: the rest of '%s' is not read\n", path);
    r->in = before;
    r->path = place;
    r->line = 0;
}

void rc_enter(repl *r) {
    const char *named = getenv("KINARC"), *home = getenv("HOME");
    text path, all;
    text_init(&path, r->c);
    text_init(&all, r->c);
    text_add(&path, named != NULL ? named : home != NULL ? home : "");
    if (named == NULL && home != NULL) text_add(&path, "/.kinarc");
    bool ok = path.length == 0 || read_text(r->c, path.data, named != NULL, &all);
    if (!ok) repl_report(r, NULL);
    if (ok && all.length > 0) enter_lines(r, path.data, &all);
    text_close(&path);
    text_close(&all);
}
