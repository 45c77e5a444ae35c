/* The error of a context: its code table, and the functions that set it without ever allocating. */
#include "runtime/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct code_info {
    const char *name, *title;
    error_phase phase;
} code_info;

static const code_info code_table[ERROR_CODE_COUNT] = {
    [ERROR_NONE] = {"", "", PHASE_none},
#define CODE(number, phase, title) [ERROR_##number] = {#number, title, PHASE_##phase},
#include "runtime/codes.def"
#undef CODE
};

static const code_info *find_code(error_code code) {
    return &code_table[(unsigned)code < ERROR_CODE_COUNT ? code : ERROR_NONE];
}

const char *error_code_name(error_code code) {
    return find_code(code)->name;
}

const char *error_code_title(error_code code) {
    return find_code(code)->title;
}

error_phase error_code_phase(error_code code) {
    return find_code(code)->phase;
}

/* Takes an incomplete UTF-8 sequence off the end of a text that was cut short. */
static void trim_partial_character(char *s, size_t length) {
    size_t begin = length;
    while (begin > 0 && length - begin < 3 && ((unsigned char)s[begin - 1] & 0xC0) == 0x80) begin--;
    if (begin == 0) return;
    unsigned char lead = (unsigned char)s[begin - 1];
    size_t follow = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    if (length - begin < follow) s[begin - 1] = '\0';
}

/* Formats into out[0..room); a text that does not fit ends at a whole character. */
static void format_cut(char *out, size_t room, const char *format, va_list arguments) {
    int wanted = vsnprintf(out, room, format, arguments);
    if (wanted < 0) {
        out[0] = '\0';
    } else if ((size_t)wanted >= room) {
        trim_partial_character(out, strlen(out));
    }
}

/* Its name is in parentheses because clang's analyser has a macro of that name, see error.h. */
bool(error_set)(error *e, error_code code, span where, const char *format, ...) {
    if (e->code != ERROR_NONE) return false;
    e->code = code;
    e->where = where;
    e->help[0] = '\0';
    e->note_count = 0;
    va_list arguments;
    va_start(arguments, format);
    format_cut(e->message, sizeof e->message, format, arguments);
    va_end(arguments);
    return false;
}

void error_help(error *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    format_cut(e->help, sizeof e->help, format, arguments);
    va_end(arguments);
}

void error_add_note(error *e, span where, const char *format, ...) {
    if (e->note_count < ERROR_NOTES) {
        error_note *note = &e->note[e->note_count];
        note->where = where;
        va_list arguments;
        va_start(arguments, format);
        format_cut(note->text, sizeof note->text, format, arguments);
        va_end(arguments);
    }
    if (e->note_count < UINT32_MAX) e->note_count++;
}

void error_clear(error *e) {
    e->code = ERROR_NONE;
    e->where = (span){0, 0};
    e->message[0] = '\0';
    e->help[0] = '\0';
    e->note_count = 0;
}
