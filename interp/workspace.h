/* A session: what its inputs have defined so far, and how one more input is made a program of its own.
 *
 * Functions are kept as text, and so are lets that bind functions; all other lets as values. Each input is loaded into
 * a fresh engine, as the last piece of a program whose first pieces are the definitions and which finds the variables
 * there (ast.h, `global`). So nothing but text and values outlives an engine, and an input that fails changes
 * nothing. The names of dims that a let opens are its input's alone: a function that uses them is generic to the
 * inputs behind it. The library's part of a prompt: it reads no line and prints none. */
#ifndef KINA_WORKSPACE_H
#define KINA_WORKSPACE_H

#include "interp/engine.h"

typedef enum workspace_kind {
    WORKSPACE_FN,               /* `fn f ...` */
    WORKSPACE_LET,              /* a let that binds a function; its value is made anew for each input */
    WORKSPACE_VALUE,            /* any other let, and `it` */
} workspace_kind;

/* What one name means. It stays as it is: when the name gets another meaning there is another entry. */
typedef struct workspace_entry {
    workspace_kind kind;
    const char *name;
    const char *type;           /* as messages show it */
    const char *path, *folder;  /* of its input, as in source_text */
    uint32_t line;
    const char *text;           /* FN, LET: the item, behind as many blanks as put it in its column; NULL of others */
    value v;                    /* VALUE */
    const char *aside;          /* FN, LET: it does not check at present, and why; NULL: it does */
} workspace_entry;

/* A list of counted entries, in the order of their definition. */
typedef struct workspace_list {
    int count, room;
    struct workspace_held **items;
} workspace_list;

typedef struct workspace {
    context *c;
    engine_options with;
    workspace_list entries;
} workspace;

/* What an input has changed, for who typed it. Texts live as long as the engine. */
typedef enum workspace_change {
    CHANGE_DEFINED,             /* `name` has a meaning, its first */
    CHANGE_REDEFINED,           /* another one than before */
    CHANGE_CHECKED,             /* `name` uses `of`, which changed; it was checked again and is right */
    CHANGE_ASIDE,               /* `name` does not check any more, and is set aside; why: the first error */
    CHANGE_BACK,                /* `name` was set aside and checks again */
    CHANGE_DROPPED,             /* `name` was a variable */
} workspace_change;

typedef struct workspace_news {
    workspace_change change;
    const char *name, *of, *why;
    const workspace_entry *entry;   /* what the name means now; NULL: nothing */
} workspace_news;

typedef struct workspace_outcome {
    results results;            /* of the final expression, if there is one; names live as long as the engine */
    value last;                 /* its value whole, () without one */
    const char *type;           /* its type; NULL without one */
    int news_count;
    workspace_news *news;       /* in the engine's arena */
} workspace_outcome;

/* An empty session. `with` is for the engines of its inputs; its globals and session are the workspace's. */
void workspace_init(workspace *w, context *c, engine_options with);
/* Forgets everything. */
void workspace_clear(workspace *w);
void workspace_close(workspace *w);

/* Opens an engine and loads the session and, behind it, the input. False when the engine's diagnostics hold an error,
 * or when the context's error is set. The caller closes the engine in either case. Warnings are about the input alone.
 * An engine that is loaded so does for whatever else is to be done with it (engine_call, derive, certify). */
bool workspace_load(workspace *w, const source_text *input, engine *e) MUST_CHECK;

/* Runs what workspace_load has loaded, and keeps in the session what it defines. False with the context's error set,
 * or with an error among the engine's diagnostics: then the session is as it was. The outcome is released by the
 * caller before the engine is closed. */
bool workspace_enter(workspace *w, engine *e, workspace_outcome *out) MUST_CHECK;
void workspace_outcome_release(context *c, workspace_outcome *out);

/* What the session has, in the order of definition; those set aside are among them. Valid until it changes. */
int workspace_count(const workspace *w);
const workspace_entry *workspace_at(const workspace *w, int i);
/* The entry of this name, or NULL. */
const workspace_entry *workspace_find(const workspace *w, const char *name);

/* Binds a name to v (a number, a tensor or a tuple of them), which is taken over, also on failure. What was bound to
 * the name is forgotten; functions that use it are checked when the next input is loaded. */
bool workspace_bind(workspace *w, const char *name, value v, const char *path, uint32_t line) MUST_CHECK;

#endif
