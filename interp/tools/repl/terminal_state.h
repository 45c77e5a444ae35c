/* What the parts of the terminal share: terminal.c, and the functions that it binds to keys. */
#ifndef KINA_TERMINAL_STATE_H
#define KINA_TERMINAL_STATE_H

#include <locale.h>
#include <sys/ioctl.h>

#include "interp/tools/repl/editline.h"
#include "interp/tools/repl/history.h"
#include "interp/tools/repl/keys.h"
#include "interp/tools/repl/terminal.h"
#include "runtime/text.h"

typedef struct terminal {
    reader base;
    context *c;
    const editline *lib;
    EditLine *edit;
    input_history past;
    text history_path;
    const complete_scope *scope;
    keys keys;
    locale_t utf8, before;      /* the calling thread's locale, here and elsewhere */
    const char *prompt;
    struct winsize size;        /* of the screen, as the line was drawn for */
    uint32_t again;             /* a key that is to be given out once more; 0: none */
    bool cleared, gone;
    ptrdiff_t shown;            /* the history's entry that libedit was given last; its count: none */
} terminal;

/* The terminal that libedit calls back about. */
terminal *terminal_of(EditLine *e);

/* ---- terminal_screen.c ---- */

/* Asks how large the screen is. */
void terminal_take_size(terminal *t);
/* It has changed: draws the line anew. */
void terminal_resized(terminal *t);
/* Puts words in the place of the line, the cursor behind it. */
void terminal_put_line(terminal *t, const char *words);
/* Wipes prompt and line off the screen; before either is changed. */
void terminal_wipe(terminal *t);
/* Draws both, from the cursor's place on. */
void terminal_draw(terminal *t);
/* Goes to the beginning of the line below what is typed. */
void terminal_leave_line(terminal *t);

/* ---- search.c and terminal_complete.c ---- */

/* Bound to ^R and TAB; libedit's convention. */
unsigned char terminal_search(EditLine *e, int key);
unsigned char terminal_complete(EditLine *e, int key);

#endif
