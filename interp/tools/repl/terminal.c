/* Reading lines through libedit (terminal.h). Keys are read by keys.c, since libedit's own signal handlers are
 * not fit for a process with threads. */
#include "interp/tools/repl/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/tools/repl/terminal_state.h"
#include "interp/tools/report.h"
#include "runtime/context.h"

bool terminal_present(void) {
    return report_terminal(STDIN_FILENO) && report_terminal(STDOUT_FILENO);
}

terminal *terminal_of(EditLine *e) {
    void *self = NULL;
    editline_open()->get(e, EL_CLIENTDATA, &self);
    return self;
}

/* ---- keys ---- */

static void stop(terminal *t) {
    terminal_leave_line(t);
    t->lib->set(t->edit, EL_PREP_TERM, 0);
    keys_stop();
    t->lib->set(t->edit, EL_PREP_TERM, 1);
    terminal_take_size(t);
    terminal_draw(t);
}

/* libedit's way to a key: 1, or 0 at the end, or -1 with errno set. */
static int read_key(EditLine *e, wchar_t *out) {
    terminal *t = terminal_of(e);
    uint32_t character = t->again;
    t->again = 0;
    while (character == 0 && !t->cleared && !t->gone) {
        switch (keys_next(&t->keys, &character)) {
        case KEYS_CHARACTER: break;
        case KEYS_END: t->gone = true; break;
        case KEYS_INTERRUPTED: t->cleared = true; break;
        case KEYS_RESIZED: terminal_resized(t); break;
        case KEYS_STOPPED: stop(t); break;
        }
    }
    *out = (wchar_t)character;
    if (character != 0) return 1;
    errno = EINTR;
    return t->gone ? 0 : -1;
}

static char *give_prompt(EditLine *e) {
    /* libedit does not write to it. */
    return (char *)(uintptr_t)terminal_of(e)->prompt;
}

/* What libedit asks of a history: the first is the newest. */
static int give_entry(void *self, HistEvent *out, int what, ...) {
    terminal *t = self;
    ptrdiff_t count = (ptrdiff_t)t->past.count, wanted;
    switch (what) {
    case H_FIRST: wanted = count - 1; break;
    case H_NEXT: wanted = t->shown - 1; break;
    case H_PREV: wanted = t->shown + 1; break;
    case H_LAST: wanted = 0; break;
    case H_CURR: wanted = t->shown; break;
    default: return -1;
    }
    if (wanted < 0 || wanted >= count) return -1;
    t->shown = wanted;
    *out = (HistEvent){(int)(count - wanted), t->past.entries[wanted]};
    return 0;
}

/* ---- the reader ---- */

static reader_result read_line(reader *r, const char *prompt, const char **line, size_t *length) {
    terminal *t = (terminal *)r;
    int count = 0;
    t->prompt = prompt;
    t->cleared = t->gone = false;
    t->shown = (ptrdiff_t)t->past.count;
    terminal_take_size(t);
    keys_begin(&t->keys);
    /* Before the prompt shows: what is typed at the sight of it must not be echoed by the system too. */
    t->lib->set(t->edit, EL_PREP_TERM, 1);
    const char *s = t->lib->gets(t->edit, &count);
    keys_end(&t->keys);
    if (t->cleared || s == NULL || count <= 0) {
        if (t->cleared) fputs("^C", stdout);
        terminal_leave_line(t);
        return t->cleared ? READER_CANCEL : READER_END;
    }
    *line = s;
    *length = (size_t)count - (s[count - 1] == '\n');
    return READER_LINE;
}

static void remember(reader *r, const char *entry, size_t length) {
    /* A failure is in the context's error, for who reports it. */
    (void)!history_add(&((terminal *)r)->past, entry, length);
}

static void close_terminal(reader *r) {
    terminal *t = (terminal *)r;
    if (t->edit != NULL) t->lib->end(t->edit);
    if (t->utf8 != (locale_t)0) {
        uselocale(t->before);
        freelocale(t->utf8);
    }
    history_close(&t->past);
    text_close(&t->history_path);
    give_back(t->c, t, sizeof *t);
}

static void set_up(terminal *t) {
    const editline *lib = t->lib;
    EditLine *e = t->edit;
    lib->set(e, EL_CLIENTDATA, t);
    lib->set(e, EL_SIGNAL, 0);
    lib->set(e, EL_GETCFN, read_key);
    lib->set(e, EL_PROMPT, give_prompt);
    lib->set(e, EL_HIST, give_entry, t);
    lib->set(e, EL_EDITOR, "emacs");
    /* libedit wipes what it should not when it inserts in or deletes from a line of several rows; without these it
     * writes such rows anew. */
    static const wchar_t *const abilities[] = {L"im", L"ic", L"IC", L"dc", L"DC"};
    for (size_t i = 0; i < COUNT_OF(abilities); i++) lib->wset(e, EL_SETTC, abilities[i], L"", NULL);
    lib->wset(e, EL_ADDFN, L"kina-search", L"Search the history", terminal_search);
    lib->wset(e, EL_ADDFN, L"kina-complete", L"Complete a name", terminal_complete);
    lib->wset(e, EL_BIND, L"^R", L"kina-search", NULL);
    lib->wset(e, EL_BIND, L"^I", L"kina-complete", NULL);
    lib->wset(e, EL_BIND, L"^W", L"ed-delete-prev-word", NULL);
    lib->wset(e, EL_BIND, L"\\e[1;5C", L"em-next-word", NULL);
    lib->wset(e, EL_BIND, L"\\e[1;5D", L"ed-prev-word", NULL);
    lib->source(e, NULL);
}

reader *terminal_open(context *c, const complete_scope *scope) {
    const editline *lib = editline_open();
    if (lib == NULL) {
        error_set(&c->err, ERROR_K0701, (span){0, 0}, "libedit is missing, which edits lines");
        error_help(&c->err, "install the Debian package libedit2");
        return NULL;
    }
    terminal *t = take(c, sizeof *t);
    if (t == NULL) return NULL;
    *t = (terminal){.c = c, .lib = lib, .scope = scope, .prompt = ""};
    t->base = (reader){.line = read_line, .remember = remember, .close = close_terminal, .terminal = true};
    (void)!history_open(&t->past, c, NULL); /* without a file it cannot fail */
    text_init(&t->history_path, c);
    keys_init(&t->keys, STDIN_FILENO);
    t->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    t->before = t->utf8 != (locale_t)0 ? uselocale(t->utf8) : (locale_t)0;
    t->edit = lib->init("kina-interp", stdin, stdout, stderr);
    if (t->edit == NULL) {
        error_set(&c->err, ERROR_K0506, (span){0, 0}, "out of memory");
        close_terminal(&t->base);
        return NULL;
    }
    set_up(t);
    return &t->base;
}

bool terminal_use_history(reader *r) {
    terminal *t = (terminal *)r;
    const char *named = getenv("KINA_HISTORY"), *home = getenv("HOME");
    text_add(&t->history_path, named != NULL ? named : home != NULL ? home : "");
    if (named == NULL && home != NULL) text_add(&t->history_path, "/.kina_history");
    if (t->history_path.failed) return false;
    return t->history_path.length == 0 || history_open(&t->past, t->c, t->history_path.data);
}
