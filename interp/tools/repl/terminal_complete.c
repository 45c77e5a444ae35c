/* TAB: completes what all candidates share, and shows them when that adds nothing. Behind a blank, where a line
 * of a program is rather indented, it indents. */
#include <stdio.h>
#include <string.h>

#include "interp/tools/repl/terminal_state.h"
#include "interp/utf8.h"
#include "runtime/context.h"
#include "runtime/text.h"

enum { SHOWN_MOST = 200, INDENT = 2 };

static unsigned columns_of(const char *s) {
    unsigned columns = 0, step;
    size_t length = strlen(s);
    for (size_t i = 0; i < length; i += step) columns += utf8_width(utf8_decode(s + i, length - i, &step));
    return columns;
}

/* In columns, the first one downwards first. */
static void show(terminal *t, const candidates *found) {
    size_t count = found->count < SHOWN_MOST ? found->count : SHOWN_MOST;
    unsigned widest = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned columns = columns_of(found->words[i]);
        if (columns > widest) widest = columns;
    }
    size_t across = (t->size.ws_col + 1u) / (widest + 2);
    if (across == 0) across = 1;
    size_t down = (count + across - 1) / across;
    for (size_t row = 0; row < down; row++) {
        for (size_t i = row; i < count; i += down) {
            bool last = i + down >= count;
            printf("%s%*s", found->words[i], last ? 0 : (int)(widest + 2 - columns_of(found->words[i])), "");
        }
        fputs("\r\n", stdout);
    }
    if (count < found->count) printf("and %zu more\r\n", found->count - count);
}

static unsigned char apply(terminal *t, const completion *found, size_t typed) {
    if (found->found.count == 0) return CC_ERROR;
    size_t shared = candidates_shared(&found->found);
    if (shared == typed) {
        if (found->found.count == 1) return CC_NORM;
        terminal_leave_line(t);
        show(t, &found->found);
        terminal_draw(t);
        return CC_NORM;
    }
    text more;
    text_init(&more, t->c);
    text_add_bytes(&more, found->found.words[0] + typed, shared - typed);
    bool ok = !more.failed && t->lib->insertstr(t->edit, more.data) == 0;
    text_close(&more);
    return ok ? CC_REFRESH : CC_ERROR;
}

static unsigned char indent(terminal *t) {
    char blanks[INDENT + 1];
    memset(blanks, ' ', INDENT);
    blanks[INDENT] = '\0';
    return t->lib->insertstr(t->edit, blanks) == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char terminal_complete(EditLine *e, int key) {
    (void)key;
    terminal *t = terminal_of(e);
    const LineInfo *line = t->lib->line(e);
    size_t cursor = (size_t)(line->cursor - line->buffer);
    completion found;
    bool ok = complete_line(&found, t->c, t->scope, line->buffer, cursor);
    unsigned char done = CC_ERROR;
    bool behind_blank = cursor == 0 || line->buffer[cursor - 1] == ' ';
    if (ok && found.found.count == 0 && behind_blank) {
        done = indent(t);
    } else if (ok) {
        done = apply(t, &found, cursor - found.from);
    }
    completion_close(&found);
    /* Without memory there is no completion; the session goes on. */
    error_clear(&t->c->err);
    return done;
}
