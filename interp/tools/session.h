/* A program from its file to an engine that has checked it. */
#ifndef KINA_SESSION_H
#define KINA_SESSION_H

#include "interp/engine.h"

typedef struct session {
    context *c;
    const char *path; /* as messages show it */
    char *text;       /* the program, when it was read from a file */
    size_t length, room;
    char *folder; /* the program file's, with its NUL; NULL: the working directory */
    size_t folder_room;
    engine e;
} session;

/* Nothing is read yet. */
void session_init(session *s, context *c);
/* Reads the program of a file, NULL or "-" being standard input. Errors K0601; K0801 when that is a
 * terminal. */
bool session_read(session *s, const char *path) MUST_CHECK;
/* Takes what was read, or `expression` when that is not NULL, through the source phases. `with`
 * needs no load_folder: `load` starts at the program's folder. False when s->e.diags hold an error
 * (warnings are errors when they are denied) or the context's error is set. */
bool session_load(session *s, const char *expression, engine_options with,
                  bool deny_warnings) MUST_CHECK;
void session_close(session *s);

#endif
