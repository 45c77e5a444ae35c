/* ^R: the history is searched while its words are typed. ^R again goes on to older entries, Enter takes the
 * entry and enters it, ^G gives the line back as it was, and any other key takes the entry and does there
 * what it always does. */
#include <string.h>

#include "interp/tools/repl/terminal_state.h"
#include "interp/utf8.h"
#include "runtime/context.h"
#include "runtime/text.h"

enum { KEY_BACKSPACE = 0x08, KEY_ABORT = 0x07, KEY_OLDER = 0x12, KEY_DELETE = 0x7F };

typedef struct search {
    terminal *t;
    text words, prompt, line;   /* `line`: as it was */
    ptrdiff_t found;            /* the history's entry; -1: no entry has been found yet */
    bool failed;                /* nothing has the words that were typed last */
} search;

static void show(search *s) {
    terminal_wipe(s->t);
    text_clear(&s->prompt);
    text_format(&s->prompt, "(%ssearch) %s: ", s->failed ? "failed " : "", text_data(&s->words));
    s->t->prompt = text_data(&s->prompt);
    if (s->found >= 0) terminal_put_line(s->t, s->t->past.entries[s->found]);
    terminal_draw(s->t);
}

/* On from entry `from`, which is not looked at. */
static void look(search *s, ptrdiff_t from) {
    ptrdiff_t found = history_search(&s->t->past, text_data(&s->words), from);
    s->failed = found < 0;
    if (found >= 0) s->found = found;
}

static void remove_character(text *words) {
    while (words->length > 0) {
        char last = words->data[--words->length];
        words->data[words->length] = '\0';
        if (((unsigned char)last & 0xC0) != 0x80) break;
    }
}

/* False: the key ends the search. */
static bool take_key(search *s, uint32_t key) {
    ptrdiff_t newest = (ptrdiff_t)s->t->past.count;
    if (key == KEY_OLDER) {
        look(s, s->found >= 0 ? s->found : newest);
    } else if (key == KEY_BACKSPACE || key == KEY_DELETE) {
        remove_character(&s->words);
        look(s, newest);
    } else if (key >= 0x20) {
        char bytes[4];
        text_add_bytes(&s->words, bytes, utf8_encode(key, bytes));
        look(s, s->found >= 0 ? s->found + 1 : newest);
    } else {
        return false;
    }
    return true;
}

/* Draws the line once more behind its own prompt. */
static void finish(search *s, const char *prompt, bool abort) {
    terminal_wipe(s->t);
    s->t->prompt = prompt;
    if (abort) terminal_put_line(s->t, text_data(&s->line));
    terminal_draw(s->t);
}

unsigned char terminal_search(EditLine *e, int key) {
    (void)key;
    terminal *t = terminal_of(e);
    const char *prompt = t->prompt;
    const LineInfo *line = t->lib->line(e);
    search s = {.t = t, .found = -1};
    text_init(&s.words, t->c);
    text_init(&s.prompt, t->c);
    text_init(&s.line, t->c);
    text_add_bytes(&s.line, line->buffer, (size_t)(line->lastchar - line->buffer));
    wchar_t typed = 0;
    bool more;
    do {
        show(&s);
        more = t->lib->wgetc(e, &typed) == 1;
    } while (more && take_key(&s, (uint32_t)typed));
    if (more && typed != KEY_ABORT) t->again = (uint32_t)typed;
    finish(&s, prompt, typed == KEY_ABORT);
    text_close(&s.words);
    text_close(&s.prompt);
    text_close(&s.line);
    return CC_NORM;
}
