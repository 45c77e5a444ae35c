/* From a line that begins with `:` to what it does. */
#include <string.h>

#include "interp/tools/repl/commands.h"
#include "interp/tools/repl/repl.h"
#include "runtime/context.h"

static void help(repl *r, const char *rest) {
    text t;
    command_id id;
    text_init(&t, r->c);
    if (rest[0] == '\0') {
        commands_list(&t);
    } else if (commands_find(rest, strlen(rest), &id, &r->c->err)) {
        commands_help(&t, id);
    }
    repl_print(r, &t);
    text_close(&t);
}

void command_do(repl *r, const char *line) {
    command_id id;
    const char *word = line + 1;
    size_t length = strcspn(word, " \t");
    const char *rest = word + length + strspn(word + length, " \t");
    if (commands_find(word, length, &id, &r->c->err)) {
        if (id == COMMAND_help) help(r, rest);
        r->leaving = id == COMMAND_quit;
    }
    repl_report(r, NULL);
}
