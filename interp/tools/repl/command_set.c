/* Options that hold from now on: :set, :nanbreak. */
#include <string.h>

#include "interp/tools/nearest.h"
#include "interp/tools/repl/command.h"
#include "interp/tools/settings.h"
#include "runtime/context.h"

/* Those of the command line that may change between two inputs. */
static const option_id settable[] = {
    OPTION_numerics, OPTION_threads,   OPTION_checkpoint, OPTION_max_memory, OPTION_time_limit,
    OPTION_full,     OPTION_nan_check, OPTION_progress,   OPTION_diagnostics, OPTION_color,
};

static const span nowhere = {0, 0};

/* "numerics" */
static const char *name_of(option_id id) { return options_flag(id) + strlen("--"); }

static bool is_flag(option_id id) { return options_value(id)[0] == '\0'; }

static const char *value_of(const repl *r, option_id id) {
    bool given = options_given(r->o, id);
    if (is_flag(id)) return given ? "on" : "off";
    return given ? r->o->value[id].text : "default";
}

static const char *values_of(option_id id) { return is_flag(id) ? "on|off" : options_value(id); }

bool command_setting(size_t i, const char **name, const char **values) {
    if (i >= COUNT_OF(settable)) return false;
    *name = name_of(settable[i]);
    *values = values_of(settable[i]);
    return true;
}

static void add_setting(const repl *r, option_id id, text *t) {
    text_format(t, "%-14s%-14s%s\n", name_of(id), value_of(r, id), values_of(id));
}

static bool find(repl *r, const char *word, option_id *out) {
    nearest n = nearest_to(word);
    for (size_t i = 0; i < COUNT_OF(settable); i++) {
        if (strcmp(word, name_of(settable[i])) == 0) {
            *out = settable[i];
            return true;
        }
        nearest_try(&n, name_of(settable[i]));
    }
    error_set(&r->c->err, ERROR_K0801, nowhere, "nothing to be set is called '%.40s'%s%s%s", word,
              n.found != NULL ? ", did you mean '" : "", n.found != NULL ? n.found : "", n.found != NULL ? "'?" : "");
    error_help(&r->c->err, ":set lists what there is");
    return false;
}

static bool switch_flag(repl *r, option_id id, const char *word) {
    bool on = strcmp(word, "on") == 0;
    if (!on && strcmp(word, "off") != 0 && strcmp(word, "default") != 0)
        return error_set(&r->c->err, ERROR_K0801, nowhere, "%s is on or off, not '%.40s'", name_of(id), word);
    r->set.value[id] = (option_value){.text = on ? "" : NULL};
    return true;
}

static bool give_value(repl *r, option_id id, const char *word) {
    if (strcmp(word, "default") == 0) {
        r->set.value[id] = (option_value){.text = NULL};
        return true;
    }
    const char *kept = arena_text(&r->kept, word, strlen(word));
    return kept != NULL && options_set(&r->set, id, kept, &r->c->err);
}

/* Below this much above what is in use no input could be evaluated, not even one that drops something. */
enum { LEAST_ROOM = 512 << 10 };

static bool leaves_room(const repl *r) {
    size_t limit = (size_t)r->o->value[OPTION_max_memory].number, live = r->c->mem.live;
    if (!options_given(r->o, OPTION_max_memory) || limit >= live + LEAST_ROOM) return true;
    error_set(&r->c->err, ERROR_K0801, nowhere, "a limit of %s leaves no room: %zu KiB are in use",
              r->o->value[OPTION_max_memory].text, (live >> 10) + 1);
    error_help(&r->c->err, "%zuMiB leaves some", ((live + LEAST_ROOM) >> 20) + 1);
    return false;
}

/* All or nothing. */
static bool change(repl *r, option_id id, const char *word) {
    const option_value before = r->set.value[id];
    bool ok = is_flag(id) ? switch_flag(r, id, word) : give_value(r, id, word);
    ok = ok && (id != OPTION_max_memory || leaves_room(r)) && settings_engine(r->o, r->c, &r->w.with);
    if (!ok) r->set.value[id] = before;
    settings_apply(r->o, r->c);
    r->out->full = options_given(r->o, OPTION_full);
    r->style = report_style(r->o);
    return ok;
}

static bool answer_set(repl *r, const char *rest, text *t) {
    char name[COMMAND_WORD], word[COMMAND_WORD];
    option_id id;
    if (!command_word(&rest, name)) {
        for (size_t i = 0; i < COUNT_OF(settable); i++) add_setting(r, settable[i], t);
        return true;
    }
    if (!find(r, name, &id)) return false;
    bool changes = command_word(&rest, word);
    if (rest[0] != '\0') return commands_misused(COMMAND_set, &r->c->err);
    if (changes && !change(r, id, word)) return false;
    add_setting(r, id, t);
    if (!changes) text_format(t, "%s\n", options_about(id));
    return true;
}

void command_set(repl *r, const char *rest) { command_say(r, rest, answer_set); }

static bool answer_nanbreak(repl *r, const char *rest, text *t) {
    if (strcmp(rest, "on") != 0 && strcmp(rest, "off") != 0) return commands_misused(COMMAND_nanbreak, &r->c->err);
    if (!change(r, OPTION_nan_check, rest)) return false;
    add_setting(r, OPTION_nan_check, t);
    return true;
}

void command_nanbreak(repl *r, const char *rest) { command_say(r, rest, answer_nanbreak); }
