/* Where lines end: a group's places, all or none. */
#include "interp/layout.h"

#include <string.h>

#include "runtime/memory.h"

typedef enum piece_kind {
    PIECE_WORDS,
    PIECE_COMMENT,
    PIECE_OPEN, PIECE_SHUT,
    PIECE_INDENT, PIECE_DEDENT,
    PIECE_BREAK, PIECE_FILL,
    PIECE_LINE,
} piece_kind;

typedef struct piece {
    piece_kind kind;
    bool blank;                 /* BREAK: when it is not taken; LINE: an empty line */
    bool comma;                 /* BREAK: when it is taken */
    size_t begin, length;       /* WORDS, COMMENT: in `words` */
} piece;

void layout_init(layout *l, context *c) {
    *l = (layout){.failed = false};
    text_init(&l->words, c);
}

void layout_close(layout *l) {
    give_back(l->words.c, l->pieces, l->room * sizeof *l->pieces);
    text_close(&l->words);
}

/* ---- pieces ---- */

static void add(layout *l, piece one) {
    if (l->failed) return;
    if (l->count == l->room) {
        size_t room = l->room < 64 ? 64 : 2 * l->room;
        piece *more = resize(l->words.c, l->pieces, l->room * sizeof *more, room * sizeof *more);
        if (more == NULL) {
            l->failed = true;
            return;
        }
        l->pieces = more;
        l->room = room;
    }
    l->pieces[l->count++] = one;
}

static void add_words(layout *l, piece_kind kind, const char *words, size_t length) {
    size_t begin = l->words.length;
    text_add_bytes(&l->words, words, length);
    if (l->words.failed) l->failed = true;
    add(l, (piece){.kind = kind, .begin = begin, .length = length});
}

void layout_put_bytes(layout *l, const char *words, size_t length) {
    add_words(l, PIECE_WORDS, words, length);
}

void layout_put(layout *l, const char *words) {
    add_words(l, PIECE_WORDS, words, strlen(words));
}

void layout_put_unsigned(layout *l, uint64_t n) {
    char digits[24];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    layout_put_bytes(l, digits + i, sizeof digits - i);
}

void layout_comment(layout *l, const char *words) {
    add_words(l, PIECE_COMMENT, words, strlen(words));
}

void layout_open(layout *l) {
    add(l, (piece){.kind = PIECE_OPEN});
}

void layout_shut(layout *l) {
    add(l, (piece){.kind = PIECE_SHUT});
}

void layout_indent(layout *l) {
    add(l, (piece){.kind = PIECE_INDENT});
}

void layout_dedent(layout *l) {
    add(l, (piece){.kind = PIECE_DEDENT});
}

void layout_break(layout *l, bool blank, bool comma) {
    add(l, (piece){.kind = PIECE_BREAK, .blank = blank, .comma = comma});
}

void layout_fill(layout *l) {
    add(l, (piece){.kind = PIECE_FILL, .blank = true});
}

void layout_line(layout *l, bool empty) {
    add(l, (piece){.kind = PIECE_LINE, .blank = empty});
}

/* ---- lines ---- */

/* Characters, which is what a reader counts. */
static size_t width_of(const char *words, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++) width += ((unsigned char)words[i] & 0xC0) != 0x80;
    return width;
}

/* Whether the pieces from `at` on, in one line from `column`, fit up to the first place that is
 * outside the group which opens at `at`, or up to the first place at all when none does. */
static bool fits(const layout *l, size_t at, size_t column) {
    size_t depth = 0;
    bool shut = false;
    for (size_t i = at; i < l->count && column <= LAYOUT_WIDTH; i++) {
        const piece *one = &l->pieces[i];
        bool outside = shut || depth == 0;
        switch (one->kind) {
        case PIECE_WORDS: column += width_of(l->words.data + one->begin, one->length); break;
        case PIECE_OPEN: depth++; break;
        case PIECE_SHUT:
            depth -= depth > 0;
            shut = shut || depth == 0;
            break;
        case PIECE_COMMENT:
        case PIECE_LINE: return outside;
        case PIECE_BREAK:
        case PIECE_FILL:
            if (outside) return column + one->comma <= LAYOUT_WIDTH;
            column += one->blank;
            break;
        default: break;
        }
    }
    return column <= LAYOUT_WIDTH;
}

typedef struct writer {
    text *out;
    size_t column, indent;
    bool begun;                 /* something stands on the line */
} writer;

static void write_words(writer *w, const char *words, size_t length) {
    if (length == 0) return;
    if (!w->begun) {
        text_add_repeat(w->out, ' ', w->indent);
        w->column = w->indent;
        w->begun = true;
    }
    text_add_bytes(w->out, words, length);
    w->column += width_of(words, length);
}

static void write_line(writer *w, bool empty) {
    text_add(w->out, empty ? "\n\n" : "\n");
    w->column = w->indent;
    w->begun = false;
}

/* A place that may be taken: outside of what was found to fit. */
static void write_place(writer *w, const layout *l, size_t i, bool flat) {
    const piece *one = &l->pieces[i];
    bool stays = flat || (one->kind == PIECE_FILL && fits(l, i + 1, w->column + 1));
    if (stays) {
        if (one->blank) write_words(w, " ", 1);
        return;
    }
    if (one->comma) write_words(w, ",", 1);
    write_line(w, false);
}

void layout_write(const layout *l, text *out) {
    writer w = {.out = out};
    size_t flat = 0; /* groups open inside and with the outermost that fits its line */
    if (l->failed) out->failed = true;
    for (size_t i = 0; i < l->count && !out->failed; i++) {
        const piece *one = &l->pieces[i];
        switch (one->kind) {
        case PIECE_COMMENT:
            if (w.begun) write_words(&w, " ", 1);
            write_words(&w, l->words.data + one->begin, one->length);
            break;
        case PIECE_WORDS: write_words(&w, l->words.data + one->begin, one->length); break;
        case PIECE_OPEN:
            if (flat > 0 || fits(l, i, w.column)) flat++;
            break;
        case PIECE_SHUT: flat -= flat > 0; break;
        case PIECE_INDENT: w.indent += LAYOUT_INDENT; break;
        case PIECE_DEDENT: w.indent -= LAYOUT_INDENT; break;
        case PIECE_BREAK:
        case PIECE_FILL: write_place(&w, l, i, flat > 0); break;
        case PIECE_LINE: write_line(&w, one->blank); break;
        }
    }
}
