/* Diagnostics for people: the message, the lines it is about with carets and labels under them,
 * notes and help. Carets are placed by display columns, so that tabs and wide characters do not
 * shift them. */
#include "interp/diag_render.h"

#include <string.h>

#include "interp/utf8.h"

enum {
    TAB = 4,           /* columns between tab stops */
    WIDEST_LINE = 160, /* columns of a source line that are shown whole */
    WINDOW = 120,      /* columns shown of a wider one */
    BEFORE_MARK = 40,  /* of them, before its first mark */
    MOST_PIECES = 32,  /* marks drawn in one snippet */
};

/* A span's part on one line. */
typedef struct piece {
    uint32_t line;       /* from 0 */
    uint32_t at;         /* offset of its first byte */
    uint32_t begin, end; /* display columns from 0; end > begin */
    const char *text;    /* "" for none */
    bool primary;
} piece;

typedef struct renderer {
    const diagnostics *d;
    const source *src;
    text *out;
    bool color;
    bool warning; /* the diagnostic being shown is one */
    int gutter;   /* digits of its largest line number */
    piece pieces[MOST_PIECES];
    int count;
} renderer;

typedef enum ink {
    INK_PLAIN,
    INK_ERROR,
    INK_WARNING,
    INK_BOLD,
    INK_GUTTER,
    INK_NOTE,
    INK_HELP
} ink;

static void set_ink(renderer *r, ink i) {
    static const char *const codes[] = {
        [INK_PLAIN] = "\033[0m",   [INK_ERROR] = "\033[1;31m",  [INK_WARNING] = "\033[1;33m",
        [INK_BOLD] = "\033[1m",    [INK_GUTTER] = "\033[1;34m", [INK_NOTE] = "\033[1;36m",
        [INK_HELP] = "\033[1;32m",
    };
    if (r->color) text_add(r->out, codes[i]);
}

static ink severity_ink(const renderer *r) {
    return r->warning ? INK_WARNING : INK_ERROR;
}

/* One character as it is safe to show: controls as their pictures, broken bytes as a replacement.
 */
static void add_character(text *out, uint32_t character) {
    if (character < 0x20) character += 0x2400;
    if (character == 0x7F) character = 0x2421;
    if (utf8_unprintable(character)) character = 0xFFFD;
    char bytes[4];
    text_add_bytes(out, bytes, utf8_encode(character, bytes));
}

static void add_clean(text *out, const char *s) {
    for (size_t left = strlen(s); left > 0;) {
        unsigned length;
        add_character(out, utf8_decode(s, left, &length));
        s += length;
        left -= length;
    }
}

bool diag_has_place(const diagnostics *d, span at) {
    return d->src != NULL && (at.begin != 0 || at.end != 0);
}

/* ---- lines and columns ---- */

/* The offset behind the line's last byte, without its line end. */
static uint32_t line_end(const source *s, uint32_t line) {
    uint32_t end = line + 1 < s->line_count ? s->line_start[line + 1] : s->length;
    while (end > s->line_start[line] && (s->text[end - 1] == '\n' || s->text[end - 1] == '\r'))
        end--;
    return end;
}

static uint32_t character_width(uint32_t character, uint32_t column) {
    if (character == '\t') return TAB - column % TAB;
    return utf8_unprintable(character) ? 1 : utf8_width(character);
}

/* The display column where the byte at `offset` of the line starts. */
static uint32_t display_column(const source *s, uint32_t line, uint32_t offset) {
    uint32_t column = 0;
    uint32_t end = line_end(s, line);
    if (offset > end) offset = end;
    for (uint32_t i = s->line_start[line]; i < offset;) {
        unsigned length;
        column += character_width(utf8_decode(s->text + i, end - i, &length), column);
        i += length;
    }
    return column;
}

/* ---- collecting the pieces of a snippet ---- */

static void add_piece(renderer *r, uint32_t line, uint32_t begin, uint32_t end, const char *label,
                      bool primary) {
    if (r->count >= MOST_PIECES) return;
    piece p = {.line = line, .at = begin, .text = label, .primary = primary};
    p.begin = display_column(r->src, line, begin);
    p.end = display_column(r->src, line, end);
    if (p.end <= p.begin) p.end = p.begin + 1;
    int i = r->count++;
    for (; i > 0; i--) {
        const piece *before = &r->pieces[i - 1];
        if (before->line < line || (before->line == line && before->begin <= p.begin)) break;
        r->pieces[i] = *before;
    }
    r->pieces[i] = p;
}

/* A span of several lines is marked on its first and its last line; its label stands on the last.
 */
static void add_mark(renderer *r, span at, const char *label, bool primary) {
    if (at.begin > r->src->length) at.begin = r->src->length;
    if (at.end > r->src->length) at.end = r->src->length;
    if (at.end < at.begin) at.end = at.begin;
    uint32_t first = source_line(r->src, at.begin);
    uint32_t last = at.end > at.begin ? source_line(r->src, at.end - 1) : first;
    if (first == last) {
        add_piece(r, first, at.begin, at.end, label, primary);
        return;
    }
    add_piece(r, first, at.begin, line_end(r->src, first), "", primary);
    uint32_t begin = r->src->line_start[last];
    while (begin < at.end && (r->src->text[begin] == ' ' || r->src->text[begin] == '\t')) begin++;
    add_piece(r, last, begin, at.end, label, primary);
}

/* ---- drawing ---- */

static void add_gutter(renderer *r, const char *number) {
    set_ink(r, INK_GUTTER);
    text_format(r->out, " %*s |", r->gutter, number);
    set_ink(r, INK_PLAIN);
}

/* The columns [left, right) of a line, with an ellipsis where something is left out. */
static void add_source_line(renderer *r, uint32_t line, uint32_t left, uint32_t right) {
    char number[16];
    uint32_t shown = source_line_number(r->src, line);
    size_t i = sizeof number;
    number[--i] = '\0';
    for (; shown > 0; shown /= 10) number[--i] = (char)('0' + shown % 10);
    add_gutter(r, number + i);
    uint32_t end = line_end(r->src, line), column = 0;
    bool started = false, cut = false;
    for (uint32_t at = r->src->line_start[line]; at < end && !cut;) {
        unsigned length;
        uint32_t character = utf8_decode(r->src->text + at, end - at, &length);
        uint32_t width = character_width(character, column);
        if (!started) text_add_char(r->out, ' ');
        if (!started && left > 0) text_add(r->out, "…");
        started = true;
        cut = column + width > right;
        if (cut) {
            text_add(r->out, "…");
        } else if (column >= left && character == '\t') {
            text_add_repeat(r->out, ' ', width);
        } else if (column >= left) {
            add_character(r->out, character);
        }
        column += width;
        at += length;
    }
    text_add_char(r->out, '\n');
}

/* The marks of one line as characters: '-' under further spans, '^' under primary ones. */
typedef struct row {
    char mark[WIDEST_LINE + 2];
    uint32_t length;
} row;

static void draw_marks(row *marks, const piece *pieces, int count) {
    memset(marks->mark, ' ', sizeof marks->mark);
    marks->length = 0;
    for (int primary = 0; primary <= 1; primary++) {
        for (int i = 0; i < count; i++) {
            if (pieces[i].primary != (primary == 1)) continue;
            memset(marks->mark + pieces[i].begin, primary ? '^' : '-',
                   pieces[i].end - pieces[i].begin);
            if (pieces[i].end > marks->length) marks->length = pieces[i].end;
        }
    }
}

static void add_marks(renderer *r, const row *marks) {
    char current = ' ';
    for (uint32_t i = 0; i < marks->length; i++) {
        char mark = marks->mark[i];
        if (mark != current)
            set_ink(r, mark == '^' ? severity_ink(r) : mark == '-' ? INK_GUTTER : INK_PLAIN);
        current = mark;
        text_add_char(r->out, mark);
    }
    set_ink(r, INK_PLAIN);
}

static void add_label_text(renderer *r, const piece *p) {
    set_ink(r, p->primary ? severity_ink(r) : INK_GUTTER);
    add_clean(r->out, p->text);
    set_ink(r, INK_PLAIN);
}

/* The rows below a line: its marks, the last label beside them, the others each on a row of its own
 * with bars leading to those still to come. */
static void add_annotations(renderer *r, const piece *pieces, int count) {
    row marks;
    draw_marks(&marks, pieces, count);
    add_gutter(r, "");
    text_add_char(r->out, ' ');
    add_marks(r, &marks);
    int labels = count;
    const piece *last = &pieces[count - 1];
    if (last->text[0] != '\0' && last->end == marks.length) {
        text_add_char(r->out, ' ');
        add_label_text(r, last);
        labels--;
    }
    text_add_char(r->out, '\n');
    for (int i = labels - 1; i >= 0; i--) {
        if (pieces[i].text[0] == '\0') continue;
        add_gutter(r, "");
        text_add_char(r->out, ' ');
        uint32_t column = 0;
        for (int k = 0; k < i; k++) {
            if (pieces[k].text[0] == '\0' || pieces[k].begin < column) continue;
            if (pieces[k].begin >= pieces[i].begin) break;
            text_add_repeat(r->out, ' ', pieces[k].begin - column);
            set_ink(r, pieces[k].primary ? severity_ink(r) : INK_GUTTER);
            text_add_char(r->out, '|');
            set_ink(r, INK_PLAIN);
            column = pieces[k].begin + 1;
        }
        text_add_repeat(r->out, ' ', pieces[i].begin - column);
        add_label_text(r, &pieces[i]);
        text_add_char(r->out, '\n');
    }
}

/* One line with its annotations; of a very wide line, the window around its first mark. */
static void add_line(renderer *r, piece *pieces, int count) {
    uint32_t line = pieces[0].line;
    uint32_t width = display_column(r->src, line, line_end(r->src, line));
    uint32_t left = 0, right = width;
    if (width > WIDEST_LINE) {
        left = pieces[0].begin > BEFORE_MARK ? pieces[0].begin - BEFORE_MARK : 0;
        right = left + WINDOW;
        uint32_t shift = left > 0 ? 1 : 0; /* the ellipsis takes a column */
        for (int i = 0; i < count; i++) {
            piece *p = &pieces[i];
            if (p->begin >= right) p->begin = right - 1;
            if (p->end > right) p->end = right;
            p->begin = p->begin - left + shift;
            p->end = p->end - left + shift;
        }
    }
    add_source_line(r, line, left, right);
    add_annotations(r, pieces, count);
}

/* "  --> path:line:column" */
static void add_arrow(renderer *r, const char *arrow, uint32_t offset) {
    uint32_t line, column;
    source_position(r->src, offset, &line, &column);
    set_ink(r, INK_GUTTER);
    text_format(r->out, " %*s%s ", r->gutter, "", arrow);
    set_ink(r, INK_PLAIN);
    add_clean(r->out, source_piece_at(r->src, offset)->path);
    text_format(r->out, ":%u:%u\n", line, column);
    add_gutter(r, "");
    text_add_char(r->out, '\n');
}

/* The lines of the collected pieces in [first, end), in their order. */
static void add_lines(renderer *r, int first, int end) {
    uint32_t last = 0;
    for (int i = first, next; i < end; i = next) {
        uint32_t here = r->pieces[i].line;
        for (next = i; next < end && r->pieces[next].line == here;) next++;
        if (i > first && here == last + 2) add_source_line(r, last + 1, 0, WIDEST_LINE);
        if (i > first && here > last + 2) text_add(r->out, "...\n");
        add_line(r, r->pieces + i, next - i);
        last = here;
    }
}

static const source_piece *origin(const renderer *r, int i) {
    return source_piece_at(r->src, r->pieces[i].at);
}

/* The collected pieces: first those where `at` is, then those of each other part of the source under an arrow of
 * their own. */
static void add_snippet(renderer *r, span at) {
    const source_piece *own = source_piece_at(r->src, at.begin);
    for (int other = 0; other <= 1; other++) {
        for (int i = 0, end; i < r->count; i = end) {
            const source_piece *from = origin(r, i);
            for (end = i; end < r->count && origin(r, end) == from;) end++;
            if ((from != own) != (other == 1)) continue;
            if (other == 0) add_arrow(r, "-->", at.begin);
            if (other == 1) add_arrow(r, ":::", r->pieces[i].at);
            add_lines(r, i, end);
        }
    }
}

static void add_remark(renderer *r, const char *kind, ink color, const char *what) {
    set_ink(r, INK_GUTTER);
    text_format(r->out, " %*s = ", r->gutter, "");
    set_ink(r, color);
    text_add(r->out, kind);
    set_ink(r, INK_PLAIN);
    text_add(r->out, ": ");
    add_clean(r->out, what);
    text_add_char(r->out, '\n');
}

/* A note with a place has a snippet of its own. */
static void add_placed_note(renderer *r, const diag_label *note) {
    set_ink(r, INK_NOTE);
    text_add(r->out, "note");
    set_ink(r, INK_PLAIN);
    text_add(r->out, ": ");
    add_clean(r->out, note->text);
    text_add_char(r->out, '\n');
    r->count = 0;
    add_mark(r, note->at, "", false);
    add_snippet(r, note->at);
}

static int count_digits(uint32_t n) {
    int digits = 1;
    for (; n >= 10; n /= 10) digits++;
    return digits;
}

/* Digits of the largest line number that the diagnostic will show. */
static int gutter_width(const renderer *r, const diag *e) {
    uint32_t most = 0;
    const diag_label *const lists[2] = {e->labels, e->notes};
    if (diag_has_place(r->d, e->at)) most = source_line_number(r->src, source_line(r->src, e->at.end));
    for (int i = 0; i < 2; i++) {
        for (const diag_label *label = lists[i]; label != NULL; label = label->next) {
            if (!diag_has_place(r->d, label->at)) continue;
            uint32_t line = source_line_number(r->src, source_line(r->src, label->at.end));
            if (line > most) most = line;
        }
    }
    return count_digits(most);
}

static void render_one(renderer *r, const diag *e) {
    r->warning = e->warning;
    r->gutter = gutter_width(r, e);
    set_ink(r, severity_ink(r));
    text_format(r->out, "%s[%s]", e->warning ? "warning" : "error", error_code_name(e->code));
    set_ink(r, INK_PLAIN);
    set_ink(r, INK_BOLD);
    text_add(r->out, ": ");
    add_clean(r->out, e->message);
    set_ink(r, INK_PLAIN);
    text_add_char(r->out, '\n');
    if (diag_has_place(r->d, e->at)) {
        r->count = 0;
        add_mark(r, e->at, e->label, true);
        for (const diag_label *label = e->labels; label != NULL; label = label->next) {
            if (diag_has_place(r->d, label->at)) add_mark(r, label->at, label->text, false);
        }
        add_snippet(r, e->at);
    }
    for (const diag_label *note = e->notes; note != NULL; note = note->next) {
        if (!diag_has_place(r->d, note->at)) add_remark(r, "note", INK_NOTE, note->text);
    }
    if (e->help != NULL) add_remark(r, "help", INK_HELP, e->help);
    for (const diag_label *note = e->notes; note != NULL; note = note->next) {
        if (diag_has_place(r->d, note->at)) add_placed_note(r, note);
    }
}

/* ---- all of them ---- */

static bool comes_before(const diag *a, const diag *b) {
    if (a->at.begin != b->at.begin) return a->at.begin < b->at.begin;
    return !a->warning && b->warning;
}

static int sort_diags(const diagnostics *d, const diag *order[2 * DIAG_MOST]) {
    int count = 0;
    for (const diag *e = d->first; e != NULL && count < 2 * DIAG_MOST; e = e->next) {
        int i = count++;
        for (; i > 0 && comes_before(e, order[i - 1]); i--) order[i] = order[i - 1];
        order[i] = e;
    }
    return count;
}

void diagnostics_render(const diagnostics *d, diag_style style, text *out) {
    const diag *order[2 * DIAG_MOST];
    int count = sort_diags(d, order);
    renderer r = {.d = d, .src = d->src, .out = out, .color = style.color};
    for (int i = 0; i < count; i++) {
        if (style.json) {
            diag_render_json(d, order[i], out);
        } else {
            if (i > 0) text_add_char(out, '\n');
            render_one(&r, order[i]);
        }
    }
    if (d->errors > DIAG_MOST && !style.json) {
        text_format(out, "\nand %u more errors, which are not shown\n", d->errors - DIAG_MOST);
    }
}
