/* Comments of a written program: which line of the source a line answers, and headings. */
#include <string.h>

#include "interp/writing.h"

void write_comment(writing *w, comments *to, const char *words) {
    const char **list = WRITE_ARRAY(w, const char *, to->count + 1);
    if (list == NULL) return;
    for (int i = 0; i < to->count; i++) list[i] = to->lines[i];
    list[to->count++] = words;
    to->lines = list;
}

enum { QUOTE_MOST = 60 };       /* bytes of the source that a comment quotes */

/* Where the words of a branch or loop end that say which one it is: before its first block. */
static uint32_t end_of_head(const source *src, span at) {
    bool control = at.end <= src->length && (strncmp(src->text + at.begin, "if", 2) == 0 ||
                                             strncmp(src->text + at.begin, "while", 5) == 0);
    uint32_t end = at.begin;
    while (control && end < at.end && src->text[end] != '{') end++;
    return control ? end : at.end;
}

/* The source's words in one line, shortened. */
static void quote(const source *src, span at, char *out) {
    uint32_t end = end_of_head(src, at);
    int length = 0;
    for (uint32_t i = at.begin; i < end && i < src->length; i++) {
        unsigned char ch = (unsigned char)src->text[i];
        bool blank = ch <= ' ';
        bool starts = (ch & 0xC0) != 0x80;
        if (length >= (starts ? QUOTE_MOST : QUOTE_MOST + 4)) {
            memcpy(out + length, " …", sizeof " …");
            return;
        }
        if (blank && (length == 0 || out[length - 1] == ' ')) continue;
        out[length++] = blank ? ' ' : (char)ch;
    }
    if (length > 0 && out[length - 1] == ' ') length--;
    out[length] = '\0';
}

static const char *answer(writing *w, span at) {
    char words[QUOTE_MOST + 16];
    uint32_t line, column;
    quote(w->src, at, words);
    source_position(w->src, at.begin, &line, &column);
    const char *made = arena_format(w->a, "// line %u: %s", line, words);
    if (made == NULL) w->failed = true;
    return made;
}

static bool same_span(span a, span b) {
    return a.begin == b.begin && a.end == b.end;
}

void write_answer(writing *w, lines *l, item *it, const node *n, bool above) {
    if (w->src == NULL || same_span(l->answered, n->answers)) return;
    l->answered = n->answers;
    if (n->answers.end == n->answers.begin) return;
    if (above)
        write_comment(w, &it->before, answer(w, n->answers));
    else
        it->after = answer(w, n->answers);
}

void write_heading(writing *w, lines *l, comments *to, bool first) {
    if (l->heading == NULL) return;
    if (!first) write_comment(w, to, NULL);
    write_comment(w, to, l->heading);
    l->heading = NULL;
}
