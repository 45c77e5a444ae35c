/* From a line to its candidates (complete.h): commands, and what they take. */
#include "interp/tools/repl/complete.h"

#include <string.h>

#include "interp/tools/repl/command.h"
#include "runtime/context.h"

static bool offer_words(completion *t, const char *const *words, size_t count, const char *line, size_t cursor) {
    for (size_t i = 0; i < count; i++) {
        if (!candidates_offer(&t->found, line + t->from, cursor - t->from, words[i], strlen(words[i]))) return false;
    }
    return true;
}

static bool offer_commands(completion *t, const char *line, size_t cursor) {
    const char *words[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++) words[i] = command_table[i].word;
    return offer_words(t, words, COMMAND_COUNT, line, cursor);
}

static bool offer_codes(completion *t, const char *line, size_t cursor) {
    const char *words[ERROR_CODE_COUNT];
    for (int i = 0; i < ERROR_CODE_COUNT; i++) words[i] = error_code_name((error_code)i);
    return offer_words(t, words + 1, ERROR_CODE_COUNT - 1, line, cursor); /* the first is no error */
}

/* `values` as :set lists them; one in capitals stands for many. */
static bool offer_values(completion *t, const char *values, const char *line, size_t cursor) {
    for (size_t length; *values != '\0'; values += length + (values[length] != '\0')) {
        length = strcspn(values, "|");
        if (values[0] >= 'A' && values[0] <= 'Z') continue;
        if (!candidates_offer(&t->found, line + t->from, cursor - t->from, values, length)) return false;
    }
    return true;
}

/* The name of an option, or behind it its values. */
static bool complete_setting(completion *t, const char *line, size_t begin, size_t cursor) {
    const char *blank = memchr(line + begin, ' ', cursor - begin), *name, *values;
    size_t length = blank != NULL ? (size_t)(blank - line) - begin : 0;
    t->from = blank != NULL ? (size_t)(blank - line) + strspn(blank, " ") : begin;
    for (size_t i = 0; command_setting(i, &name, &values); i++) {
        bool named = blank != NULL && strlen(name) == length && memcmp(name, line + begin, length) == 0;
        if (blank == NULL && !offer_values(t, name, line, cursor)) return false;
        if (named) return offer_values(t, values, line, cursor) && offer_values(t, "default", line, cursor);
    }
    return true;
}

/* What a command takes, of which line[begin..cursor) is there. */
static bool complete_argument(completion *t, const complete_scope *scope, command_takes takes, const char *line,
                              size_t begin, size_t cursor) {
    static const char *const positions[] = {"on", "off"};
    const char *blank = memchr(line + begin, ' ', cursor - begin);
    t->from = begin;
    switch (takes) {
    case TAKES_EXPRESSION:
    case TAKES_FUNCTION:
    case TAKES_NAME: return complete_text(t, scope, line, begin, cursor);
    case TAKES_NAME_FILE:
        if (blank == NULL) return complete_text(t, scope, line, begin, cursor);
        t->from = (size_t)(blank - line) + strspn(blank, " ");
        return complete_path(t, line, cursor);
    case TAKES_FILE: return complete_path(t, line, cursor);
    case TAKES_SWITCH: return offer_words(t, positions, COUNT_OF(positions), line, cursor);
    case TAKES_CODE: return offer_codes(t, line, cursor);
    case TAKES_COMMAND: return offer_commands(t, line, cursor);
    case TAKES_SETTING: return complete_setting(t, line, begin, cursor);
    case TAKES_NOTHING: break;
    }
    return true;
}

/* line[colon] is the colon of a command. */
static bool complete_command(completion *t, const complete_scope *scope, const char *line, size_t colon,
                             size_t cursor) {
    size_t word = colon + 1, end = word;
    while (end < cursor && line[end] != ' ') end++;
    t->from = word;
    if (end == cursor) return offer_commands(t, line, cursor);
    size_t length = end - word;
    error unknown = {0};
    command_id id;
    while (end < cursor && line[end] == ' ') end++;
    t->from = cursor;
    if (!commands_find(line + word, length, &id, &unknown)) return true;
    return complete_argument(t, scope, command_table[id].takes, line, end, cursor);
}

bool complete_line(completion *out, context *c, const complete_scope *scope, const char *line, size_t cursor) {
    *out = (completion){.from = cursor};
    candidates_init(&out->found, c);
    size_t blanks = strspn(line, " \t");
    bool ok = scope->typed->lines == 0 && blanks < cursor && line[blanks] == ':'
                  ? complete_command(out, scope, line, blanks, cursor)
                  : complete_text(out, scope, line, 0, cursor);
    candidates_sort(&out->found);
    return ok;
}

void completion_close(completion *t) {
    candidates_close(&t->found);
}
