/* The plain reader: lines of standard input, read in blocks, without any editing. */
#include "interp/tools/repl/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/context.h"
#include "runtime/text.h"

typedef struct plain {
    reader base;
    context *c;
    bool echo;
    text line;
    size_t at, end;             /* what is left of the block */
    char block[8192];
} plain;

static void show(const char *s, size_t length) { fwrite(s, 1, length, stdout); }

/* False at the end, or with the result that ends the line. */
static bool fill(plain *p, reader_result *result) {
    for (;;) {
        ssize_t n = read(STDIN_FILENO, p->block, sizeof p->block);
        p->at = 0;
        p->end = n > 0 ? (size_t)n : 0;
        if (n > 0) return true;
        *result = READER_END;
        if (n == 0) return false;
        if (errno != EINTR) {
            /* A terminal that has gone is no failure: nobody is there. */
            if (p->base.terminal) return false;
            error_set(&p->c->err, ERROR_K0601, (span){0, 0}, "cannot read standard input: %s", strerror(errno));
            *result = READER_FAILED;
            return false;
        }
        if (p->c->interrupt == NULL || *p->c->interrupt == 0) continue;
        *result = READER_CANCEL;
        return false;
    }
}

/* The next piece of the line; true when its end was found. */
static bool take_piece(plain *p) {
    const char *from = p->block + p->at;
    const char *newline = memchr(from, '\n', p->end - p->at);
    size_t length = newline != NULL ? (size_t)(newline - from) : p->end - p->at;
    text_add_bytes(&p->line, from, length);
    p->at += length + (newline != NULL);
    return newline != NULL;
}

static reader_result read_line(reader *r, const char *prompt, const char **line, size_t *length) {
    plain *p = (plain *)r;
    reader_result result = READER_LINE;
    text_clear(&p->line);
    p->line.failed = false;
    if (r->terminal || p->echo) show(prompt, strlen(prompt));
    fflush(stdout);
    bool whole = false;
    while (!whole && (p->at < p->end || fill(p, &result))) whole = take_piece(p);
    if (result == READER_END && p->line.length > 0) result = READER_LINE;
    if (p->echo && !r->terminal) {
        show(text_data(&p->line), p->line.length);
        show("\n", 1);
    } else if (r->terminal && result != READER_LINE) {
        show("\n", 1);
    }
    if (p->line.failed) return READER_FAILED;
    if (p->line.length > 0 && text_data(&p->line)[p->line.length - 1] == '\r') p->line.data[--p->line.length] = '\0';
    *line = text_data(&p->line);
    *length = p->line.length;
    return result;
}

static void close_plain(reader *r) {
    plain *p = (plain *)r;
    text_close(&p->line);
    give_back(p->c, p, sizeof *p);
}

reader *reader_plain(context *c, bool echo) {
    plain *p = take(c, sizeof *p);
    if (p == NULL) return NULL;
    *p = (plain){.c = c, .echo = echo};
    p->base = (reader){.line = read_line, .close = close_plain, .terminal = isatty(STDIN_FILENO)};
    text_init(&p->line, c);
    return &p->base;
}
