/* What commands.h promises. */
#include "interp/tools/repl/commands.h"

#include <stdio.h>
#include <string.h>

#include "interp/tools/nearest.h"

const command command_table[COMMAND_COUNT] = {
#define COMMAND(id, word, abbreviation, takes, arguments, summary, example, help) \
    [COMMAND_##id] = {word, abbreviation, arguments, summary, example, help, TAKES_##takes},
#include "interp/tools/repl/commands.def"
};

static const span nowhere = {0, 0};

/* ---- finding ---- */

static bool is(const char *name, const char *word, size_t length) {
    return strlen(name) == length && memcmp(name, word, length) == 0;
}

static bool begins(const char *name, const char *word, size_t length) {
    return strncmp(name, word, length) == 0;
}

static bool several(const char *word, size_t length, error *e) {
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (!begins(command_table[i].word, word, length) || used >= sizeof list) continue;
        int more = snprintf(list + used, sizeof list - used, "%s:%s", used > 0 ? ", " : "", command_table[i].word);
        used += more > 0 ? (size_t)more : 0;
    }
    return error_set(e, ERROR_K0801, nowhere, ":%.*s may be %s", (int)length, word, list);
}

static bool unknown(const char *word, size_t length, error *e) {
    char given[40];
    snprintf(given, sizeof given, "%.*s", (int)length, word);
    nearest n = nearest_to(given);
    for (int i = 0; i < COMMAND_COUNT; i++) nearest_try(&n, command_table[i].word);
    if (n.found != NULL) return error_set(e, ERROR_K0801, nowhere, "unknown command :%s, did you mean :%s?", given, n.found);
    error_set(e, ERROR_K0801, nowhere, "unknown command :%s", given);
    error_help(e, ":help lists the commands");
    return false;
}

bool commands_find(const char *word, size_t length, command_id *out, error *e) {
    int found = 0;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const command *c = &command_table[i];
        if (is(c->word, word, length) || is(c->abbreviation, word, length)) {
            *out = (command_id)i;
            return true;
        }
        if (length == 0 || !begins(c->word, word, length)) continue;
        *out = (command_id)i;
        found++;
    }
    return found == 1 || (found > 1 ? several(word, length, e) : unknown(word, length, e));
}

bool commands_misused(command_id id, error *e) {
    const command *c = &command_table[id];
    if (c->takes == TAKES_NOTHING) {
        error_set(e, ERROR_K0801, nowhere, ":%s takes nothing", c->word);
    } else {
        error_set(e, ERROR_K0801, nowhere, ":%s is written :%s %s", c->word, c->word, c->arguments);
    }
    error_help(e, ":help %s shows an example", c->word);
    return false;
}

/* ---- help ---- */

enum { CALL_WIDTH = 24, ABBREVIATION_WIDTH = 6 };

void commands_list(text *out) {
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const command *c = &command_table[i];
        char call[64], abbreviation[16];
        snprintf(call, sizeof call, ":%s %s", c->word, c->arguments);
        snprintf(abbreviation, sizeof abbreviation, ":%s", c->abbreviation);
        text_format(out, "%-*s%-*s%s\n", CALL_WIDTH, call, ABBREVIATION_WIDTH, abbreviation, c->summary);
    }
    text_add(out, "\nAnything else is Kina. `it` is the last value; a line goes on while a bracket is\n"
                  "open or an operator ends it. :help NAME says more about a command.\n");
}

void commands_help(text *out, command_id id) {
    const command *c = &command_table[id];
    text_format(out, ":%s%s%s, or :%s\n\n%s\n\n", c->word, c->arguments[0] != '\0' ? " " : "", c->arguments, c->abbreviation,
                c->help);
    for (const char *p = c->example; *p != '\0';) {
        size_t length = strcspn(p, "\n");
        text_add(out, "    ");
        text_add_bytes(out, p, length);
        text_add_char(out, '\n');
        p += length + (p[length] == '\n');
    }
}
