/* What may stand where the cursor is: from a line to the candidates that TAB offers. */
#ifndef KINA_COMPLETE_H
#define KINA_COMPLETE_H

#include "interp/input.h"
#include "interp/tools/repl/candidates.h"
#include "interp/workspace.h"

/* What the line that is being typed belongs to. */
typedef struct complete_scope {
    const workspace *session;
    const input *typed;         /* the input's earlier lines */
} complete_scope;

typedef struct completion {
    size_t from;                /* each candidate begins with what stands in the line from here to the cursor */
    candidates found;
} completion;

/* The candidates for the text in front of the cursor, line[0..cursor): names of the session and of this input,
 * builtins and words of the language; behind a colon commands and what they take; files where a path stands.
 * False with c's error set when out of memory; to be closed in both cases. */
bool complete_line(completion *out, context *c, const complete_scope *scope, const char *line,
                   size_t cursor) MUST_CHECK;
void completion_close(completion *t);

/* Parts of complete_line. */

/* line[begin..cursor) is program text, behind the input's earlier lines. */
bool complete_text(completion *t, const complete_scope *scope, const char *line, size_t begin,
                   size_t cursor) MUST_CHECK;
/* Offers the entries of a folder that begin as the last part of the path line[from..cursor) does; folders end
 * in '/'. t->from moves to that part. */
bool complete_path(completion *t, const char *line, size_t cursor) MUST_CHECK;

#endif
