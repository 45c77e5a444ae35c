/* What the files of the workspace share: lists of entries, which are changed as copies and then put in place whole. */
#ifndef KINA_WORKSPACE_STATE_H
#define KINA_WORKSPACE_STATE_H

#include "interp/workspace.h"

/* An entry and how many lists hold it. Its texts are blocks of their own. */
typedef struct workspace_held {
    workspace_entry entry;
    int refs;
} workspace_held;

/* ---- workspace_list.c ---- */
/* A new entry in the list, with copies of the texts and a share of the value of `like`, at the end. */
bool workspace_list_add(context *c, workspace_list *list, const workspace_entry *like) MUST_CHECK;
/* The same entry in another list. */
bool workspace_list_share(context *c, workspace_list *list, workspace_held *held) MUST_CHECK;
bool workspace_list_copy(context *c, const workspace_list *from, workspace_list *to) MUST_CHECK;
void workspace_list_remove(context *c, workspace_list *list, int i);
/* The place of a name, or -1. */
int workspace_list_find(const workspace_list *list, const char *name);
void workspace_list_clear(context *c, workspace_list *list);

/* ---- workspace.c ---- */
/* True of an entry that is kept as text. */
bool workspace_text(const workspace_entry *e);
/* Loads the list's definitions, but for those marked in `out`, and the input, if there is one, into an engine that was
 * opened, or loaded before; the variables are there as its globals. */
bool workspace_assemble(const workspace_list *list, const bool *out, const source_text *input, engine *e) MUST_CHECK;
/* The offset where the input starts in an engine that was loaded with one. */
uint32_t workspace_input_begin(const engine *e);

/* ---- workspace_check.c ---- */
/* Marks in `out` the definitions that an engine, assembled without those marked already, has found errors in; why: the
 * first of each, in the arena. *found: how many those are. False when out of memory. */
bool workspace_exclude(const workspace_list *list, engine *e, arena *a, bool *out, const char **why, int *found)
    MUST_CHECK;
/* Checks all definitions of the list, those set aside too, and sets aside what is not right. Those that are right
 * behind others only come behind them. Opens e, which the caller closes, and leaves it loaded with those that are
 * right. False with the context's error set. */
bool workspace_check(workspace *w, workspace_list *list, engine *e, arena *a) MUST_CHECK;
/* Calls `seen` with each definition that uses `of` itself, in an engine that workspace_check has left. */
typedef bool (*workspace_user)(void *self, const char *name);
bool workspace_users(const engine *e, const char *of, workspace_user seen, void *self) MUST_CHECK;

/* ---- workspace_before.c ---- */
/* Warns, in a loaded engine, where the input calls functions that see a variable as it was before a let of the input.
 * False with the context's error set. */
bool workspace_warn_of_old(engine *e) MUST_CHECK;

/* ---- workspace_it.c ---- */
/* Whether what a loaded input defines as text does without `it`; reports among the engine's diagnostics. */
bool workspace_free_of_it(engine *e) MUST_CHECK;

/* ---- workspace_enter.c ---- */
/* Whether a session can keep all that a loaded input defines; reports among the engine's diagnostics. */
bool workspace_keepable(engine *e) MUST_CHECK;

#endif
