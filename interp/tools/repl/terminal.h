/* The reader of a terminal: lines are edited through libedit, with cursor keys, history and its search, and
 * completion. */
#ifndef KINA_TERMINAL_H
#define KINA_TERMINAL_H

#include "interp/tools/repl/complete.h"
#include "interp/tools/repl/reader.h"

/* Standard input and output are a terminal on which a cursor can be moved. */
bool terminal_present(void);

/* Standard input and output as a terminal; the scope is borrowed. NULL with c's error set: K0701 without libedit,
 * or out of memory. */
reader *terminal_open(context *c, const complete_scope *scope) MUST_CHECK;

/* Takes up what earlier sessions entered and keeps what this one does. False with c's error set when the file of
 * the history cannot be used; there is a history all the same, of this session. */
bool terminal_use_history(reader *r) MUST_CHECK;

#endif
