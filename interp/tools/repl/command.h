/* The commands of commands.def as functions, and what they share. */
#ifndef KINA_REPL_COMMAND_H
#define KINA_REPL_COMMAND_H

#include "interp/tools/repl/commands.h"
#include "interp/tools/repl/repl.h"

/* rest: what stands behind the command's word, without blanks around it. Each reports its own mistakes. */
#define COMMAND(id, word, abbreviation, takes, arguments, summary, example, help) \
    void command_##id(repl *r, const char *rest);
#include "interp/tools/repl/commands.def"

/* Appends what a command has to say of a loaded engine. False with the context's error set, or diagnostics. */
typedef bool (*command_answer)(repl *r, engine *e, const char *rest, text *t);

/* Loads `words` behind the session and prints the answer, whole or not at all; else what is wrong is reported. */
void command_ask(repl *r, const char *words, const char *rest, command_answer answer);
/* The same for an answer that evaluates what was typed: with a line of progress, the look for NaN, and counts. */
void command_run(repl *r, const char *words, const char *rest, command_answer answer);
/* And for a run under reverseMode: rest is one call, or a handle. */
void command_run_handle(repl *r, command_id id, const char *rest, command_answer answer);

/* The same for what needs no engine. */
typedef bool (*command_words)(repl *r, const char *rest, text *t);
void command_say(repl *r, const char *rest, command_words words);

/* Reports that a command is given what it does not take. */
void command_misused(repl *r, command_id id);
/* False, and reported (K0701), where --no-files holds. */
bool command_files_allowed(repl *r, command_id id) MUST_CHECK;

/* Cuts the first word off *rest into `word`; false when there is none, or it does not fit. */
enum { COMMAND_WORD = 256 };
bool command_word(const char **rest, char word[COMMAND_WORD]) MUST_CHECK;

/* Appends the path that the words are, perhaps in quotes, with the home folder for a leading "~/". False without memory. */
bool command_path(const char *rest, text *path) MUST_CHECK;

/* The i-th option that :set changes, and its values, such as "on|off"; false past the last. */
bool command_setting(size_t i, const char **name, const char **values);

/* The function of the session that a command names. NULL with the error set (K0801, K0802): what the name is instead. */
fn_decl *command_function(repl *r, engine *e, command_id id, const char *name) MUST_CHECK;
/* The same for the function that the final expression calls. */
fn_decl *command_called(repl *r, engine *e, command_id id) MUST_CHECK;
/* A name and nothing else, by the language's own reader. False without memory too, which the context's error says. */
bool command_is_name(context *c, const char *word) MUST_CHECK;

/* The final expression of a loaded engine; NULL: none. */
const expr *command_expression(const engine *e);

#endif
