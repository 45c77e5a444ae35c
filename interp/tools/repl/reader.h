/* Where the lines of a session come from: a pipe, a file, a terminal without or with line editing. */
#ifndef KINA_READER_H
#define KINA_READER_H

#include <stddef.h>

#include "runtime/common.h"

typedef enum reader_result {
    READER_LINE,
    READER_END,                 /* of the file; Ctrl-D */
    READER_CANCEL,              /* Ctrl-C at a terminal: forget what was typed so far */
    READER_FAILED,              /* the context's error says why */
} reader_result;

/* One kind of reader. It begins with these; what else it has is its own. */
typedef struct reader reader;
struct reader {
    /* Reads one line, without its end, behind a prompt; *line is the reader's until the next call. */
    reader_result (*line)(reader *r, const char *prompt, const char **line, size_t *length);
    /* A whole input was read: for the history. NULL: there is none. */
    void (*remember)(reader *r, const char *text, size_t length);
    void (*close)(reader *r);
    bool terminal;              /* somebody sits there */
};

/* Lines of standard input as they come. Prompts only where somebody sees them: on a terminal, or when `echo` asks for
 * prompts and lines to be repeated on standard output. NULL with the context's error set when out of memory. */
reader *reader_plain(context *c, bool echo) MUST_CHECK;

#endif
