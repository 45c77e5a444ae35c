/* The prompt: a session that reads inputs and commands, and shows what they give. */
#ifndef KINA_REPL_H
#define KINA_REPL_H

#include "interp/input.h"
#include "interp/workspace.h"
#include "interp/tools/output.h"
#include "interp/tools/report.h"
#include "interp/tools/repl/complete.h"
#include "interp/tools/repl/reader.h"

#define REPL_PROMPT "kina> "
#define REPL_MORE   "    | "

typedef struct repl {
    const options *o;           /* `set` below */
    context *c;
    workspace w;
    reader *in;
    output *out;
    diag_style style;           /* of diagnostics, and whether results have color */
    complete_scope scope;       /* of completion */
    input typed;                /* the input being read, or answered */
    const char *path;           /* what messages call the place of the lines that are read */
    uint32_t line;              /* lines read so far: where the next input begins */
    bool failed;                /* an error was reported; for who looks at it */
    options set;                /* as the command line has them, and :set since */
    arena kept;                 /* what :set was given */
    text counts;                /* what the last evaluation cost */
    text loaded;                /* the paths of :load, each with its NUL */
    bool leaving;               /* :quit */
} repl;

/* Reads and answers until the end of the input. `with` is for the engines of the session; p: the program that was named,
 * or NULL, which is its first input.
 * Mistakes are reported and the session goes on; the exit code says how it ended: 0, 130 when an interrupt on a pipe
 * ended it, 6 when its input cannot be read or its output not be written. */
exit_code repl_run(const options *o, context *c, output *out, engine_options with, const source_text *p);

/* Reads an input: LINE when r->typed is one. */
reader_result repl_read(repl *r) MUST_CHECK;
/* Does what r->typed says, or shows why not. */
void repl_answer(repl *r);

/* ---- for commands ---- */

/* Before anything is evaluated for an input: a new time limit, counts from zero. */
void repl_begin(repl *r);
/* Evaluates an input and shows what it gives, mistakes too. False when it failed: then the session is as it was. */
bool repl_enter(repl *r, const source_text *given);
/* What was typed, as an input of the session: the place that its messages show is the line being read. */
source_text repl_typed(const repl *r, const char *words, size_t length);
/* Loads typed text behind the session (workspace_load) for whatever a command does with it; reports mistakes. The
 * caller closes e in either case. */
bool repl_load(repl *r, const char *words, engine *e);
/* Shows what is wrong: the diagnostics of e, if it is not NULL, then the context's error, which is cleared. Nothing
 * where nothing is wrong. */
void repl_report(repl *r, const engine *e);
/* Prints text on standard output; it is cleared. */
void repl_print(repl *r, text *t);

/* ---- show.c ---- */
enum { SHOW_COLUMNS = 80 };
/* "w: F32", the name in bold where there is color. */
void show_name(const repl *r, text *t, const char *name, const char *shown);
/* The elements: all of them where the session asks for that, else what fits a screen. */
void show_elements(const repl *r, text *t, const value *v);
/* Appends what an input has given: a line for each definition, results, and what came of the rest of the session. */
void show_outcome(const repl *r, const workspace_outcome *o, text *t);

/* ---- dispatch.c ---- */
/* Does what a line that begins with `:` says. */
void command_do(repl *r, const char *line);

#endif
