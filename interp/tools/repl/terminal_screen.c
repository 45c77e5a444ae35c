/* What is on the screen of a line that is being typed, where libedit does not look after it. */
#include <stdio.h>
#include <string.h>

#include "interp/tools/repl/terminal_state.h"
#include "interp/utf8.h"

void terminal_take_size(terminal *t) {
    if (ioctl(t->keys.file, TIOCGWINSZ, &t->size) != 0) t->size = (struct winsize){0};
    if (t->size.ws_col < 2) t->size.ws_col = 80;
    if (t->size.ws_row < 1) t->size.ws_row = 24;
    t->lib->resize(t->edit);
}

typedef struct place {
    unsigned row, column;
} place;

/* Where the cursor is when s[0..length) has been drawn from p on. */
static place behind(place p, const char *s, size_t length, unsigned columns) {
    unsigned step;
    for (size_t i = 0; i < length; i += step) {
        uint32_t character = utf8_decode(s + i, length - i, &step);
        unsigned width = character == '\t'                      ? 8 - p.column % 8
                         : character < 0x20 || character == 0x7F ? 2
                                                                 : utf8_width(character);
        if (character == '\n' || p.column + width > columns) p = (place){p.row + 1, 0};
        if (character != '\n') p.column += width;
        if (p.column >= columns) p = (place){p.row + 1, 0};
    }
    return p;
}

/* Rows below the prompt's first that the cursor and the end of the line are on. */
static void rows_of(terminal *t, unsigned *cursor, unsigned *end) {
    const LineInfo *line = t->lib->line(t->edit);
    struct winsize size = t->size;
    place p = behind((place){0, 0}, t->prompt, strlen(t->prompt), size.ws_col);
    p = behind(p, line->buffer, (size_t)(line->cursor - line->buffer), size.ws_col);
    *cursor = p.row;
    p = behind(p, line->cursor, (size_t)(line->lastchar - line->cursor), size.ws_col);
    *end = p.row;
    /* libedit scrolls what is higher than the screen. */
    unsigned hidden = *end >= size.ws_row ? *end - size.ws_row + 1 : 0;
    *cursor -= hidden < *cursor ? hidden : *cursor;
    *end -= hidden;
}

/* From a row of the line on. */
static void wipe_from(unsigned row) {
    fputc('\r', stdout);
    if (row > 0) fprintf(stdout, "\033[%uA", row);
    fputs("\033[J", stdout);
}

void terminal_wipe(terminal *t) {
    unsigned cursor, end;
    rows_of(t, &cursor, &end);
    wipe_from(cursor);
}

void terminal_draw(terminal *t) {
    t->lib->set(t->edit, EL_REFRESH);
}

void terminal_leave_line(terminal *t) {
    unsigned cursor, end;
    rows_of(t, &cursor, &end);
    for (; cursor <= end; cursor++) fputs("\r\n", stdout);
    fflush(stdout);
}

void terminal_put_line(terminal *t, const char *words) {
    const LineInfo *line = t->lib->line(t->edit);
    int characters = 0;
    for (const char *s = line->buffer; s < line->lastchar; s++) characters += ((unsigned char)*s & 0xC0) != 0x80;
    t->lib->cursor(t->edit, characters);
    t->lib->deletestr(t->edit, characters);
    t->lib->insertstr(t->edit, words);
}

/* A terminal of another width breaks the rows anew, or does not: of what stands above nothing is wiped. */
void terminal_resized(terminal *t) {
    unsigned before, after, end;
    rows_of(t, &before, &end);
    terminal_take_size(t);
    rows_of(t, &after, &end);
    wipe_from(after < before ? after : before);
    terminal_draw(t);
}
