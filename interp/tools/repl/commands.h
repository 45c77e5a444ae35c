/* The table of commands.def: looking one up, and what is said about them. */
#ifndef KINA_REPL_COMMANDS_H
#define KINA_REPL_COMMANDS_H

#include "runtime/error.h"
#include "runtime/text.h"

typedef enum command_id {
#define COMMAND(id, word, abbreviation, takes, arguments, summary, example, help) COMMAND_##id,
#include "interp/tools/repl/commands.def"
    COMMAND_COUNT
} command_id;

typedef enum command_takes {
    TAKES_NOTHING, TAKES_EXPRESSION, TAKES_FUNCTION, TAKES_NAME, TAKES_FILE, TAKES_NAME_FILE, TAKES_SETTING,
    TAKES_SWITCH, TAKES_CODE, TAKES_COMMAND,
} command_takes;

typedef struct command {
    const char *word, *abbreviation, *arguments, *summary, *example, *help;
    command_takes takes;
} command;

extern const command command_table[COMMAND_COUNT];

/* The command that a word of so many bytes, without its colon, means: its own, its abbreviation, or what it alone
 * begins with. False with *e set (K0801): there is none, perhaps with one that is near, or there are several. */
bool commands_find(const char *word, size_t length, command_id *out, error *e) MUST_CHECK;

/* The error of a command that was given something else than it takes (K0801), and how it is written. Returns false. */
bool commands_misused(command_id id, error *e);

/* All commands, a line each; one with its example. */
void commands_list(text *out);
void commands_help(text *out, command_id id);

#endif
