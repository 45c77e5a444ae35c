/* From a line that begins with `:` to the command it names, and what commands share. */
#include <stdlib.h>
#include <string.h>

#include "interp/tools/repl/command.h"
#include "interp/tools/repl/evaluation.h"
#include "runtime/context.h"

void command_do(repl *r, const char *line) {
    static void (*const functions[COMMAND_COUNT])(repl *r, const char *rest) = {
#define COMMAND(id, word, abbreviation, takes, arguments, summary, example, help) [COMMAND_##id] = command_##id,
#include "interp/tools/repl/commands.def"
    };
    const char *word = line + 1;
    size_t length = strcspn(word, " \t\n");
    command_id id;
    if (!commands_find(word, length, &id, &r->c->err)) {
        repl_report(r, NULL);
        return;
    }
    const char *rest = word + length;
    rest += strspn(rest, " \t\n");
    if (command_table[id].takes == TAKES_NOTHING && rest[0] != '\0') {
        command_misused(r, id);
    } else {
        functions[id](r, rest);
    }
}

void command_misused(repl *r, command_id id) {
    (void)commands_misused(id, &r->c->err);
    repl_report(r, NULL);
}

bool command_files_allowed(repl *r, command_id id) {
    if (!options_given(r->o, OPTION_no_files)) return true;
    error_set(&r->c->err, ERROR_K0701, (span){0, 0}, ":%s would use a file, which --no-files refuses", command_table[id].word);
    repl_report(r, NULL);
    return false;
}

bool command_word(const char **rest, char word[COMMAND_WORD]) {
    size_t length = strcspn(*rest, " \t\n");
    if (length == 0 || length >= COMMAND_WORD) return false;
    memcpy(word, *rest, length);
    word[length] = '\0';
    *rest += length;
    *rest += strspn(*rest, " \t\n");
    return true;
}

bool command_path(const char *rest, text *path) {
    size_t length = strlen(rest);
    const char *home = getenv("HOME");
    bool quoted = length >= 2 && rest[0] == '"' && rest[length - 1] == '"';
    if (quoted) {
        rest++;
        length -= 2;
    }
    if (length >= 2 && rest[0] == '~' && rest[1] == '/' && home != NULL) {
        text_add(path, home);
        rest++;
        length--;
    }
    text_add_bytes(path, rest, length);
    return !path->failed;
}

void command_say(repl *r, const char *rest, command_words words) {
    text t;
    text_init(&t, r->c);
    if (words(r, rest, &t) && !t.failed) {
        repl_print(r, &t);
    } else {
        repl_report(r, NULL);
    }
    text_close(&t);
}

static void ask(repl *r, const char *words, const char *rest, command_answer answer, bool runs) {
    engine e;
    text t;
    evaluation run;
    text_init(&t, r->c);
    bool ok = repl_load(r, words, &e);
    if (ok) {
        if (runs) evaluation_begin(r, &run);
        ok = answer(r, &e, rest, &t) && !t.failed;
        if (runs) evaluation_end(r, &run, &e);
        if (ok) repl_print(r, &t);
        if (!ok) repl_report(r, &e);
    }
    text_close(&t);
    engine_close(&e);
}

void command_ask(repl *r, const char *words, const char *rest, command_answer answer) {
    ask(r, words, rest, answer, false);
}

void command_run(repl *r, const char *words, const char *rest, command_answer answer) {
    ask(r, words, rest, answer, true);
}

const expr *command_expression(const engine *e) {
    return e->program.main.body->u.block.tail;
}
