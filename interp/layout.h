/* Text laid out in lines of a width. Printers give pieces of text and the places between them where a line may
 * end; which of those places become line ends follows from the pieces' lengths alone.
 *
 * The places in a group are taken all or not at all: not when all of the group, and what follows it up to the
 * next place outside, fits on the line. Time is linear in the number of pieces, times the width at most. */
#ifndef KINA_LAYOUT_H
#define KINA_LAYOUT_H

#include "runtime/text.h"

enum { LAYOUT_WIDTH = 100, LAYOUT_INDENT = 4 };

typedef struct layout {
    text words;                 /* of all pieces */
    struct piece *pieces;
    size_t count, room;
    bool failed;                /* out of memory: nothing more is taken */
} layout;

void layout_init(layout *l, context *c);
void layout_close(layout *l);

void layout_put(layout *l, const char *words);
void layout_put_bytes(layout *l, const char *words, size_t length);
void layout_put_unsigned(layout *l, uint64_t n);
/* A comment, which ends its line and whose length does not count. A line end has to follow. */
void layout_comment(layout *l, const char *words);

void layout_open(layout *l);
void layout_shut(layout *l);
/* Lines that begin from here on stand one level deeper, or less deep. */
void layout_indent(layout *l);
void layout_dedent(layout *l);

/* A place: a blank (or nothing) on the line, or a line end (with a comma before it). */
void layout_break(layout *l, bool blank, bool comma);
/* A blank, or a line end where what follows up to the next place does not fit. Where its group is on one line it is
 * a blank. */
void layout_fill(layout *l);
/* A line end in any case, which breaks the groups it is in; `empty`: with an empty line after it. */
void layout_line(layout *l, bool empty);

/* Appends the lines to `out`; its `failed` is set when this or anything before ran out of memory. */
void layout_write(const layout *l, text *out);

#endif
