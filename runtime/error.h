/* The error of a context: what went wrong, where, and the way out.
 *
 * The library never prints, exits or aborts. A fallible function returns false and has set the error at
 * the place where it arose; callers pass false on and may add notes (the call chain). Everything is of
 * fixed size, so that reporting "out of memory" allocates nothing. Faults in the source text of a program
 * are diagnostics (interp/diag.h) and never come this way. */
#ifndef KINA_ERROR_H
#define KINA_ERROR_H

#include "runtime/common.h"

typedef enum error_code {
    ERROR_NONE,
#define CODE(number, phase, title) ERROR_##number,
#include "runtime/codes.def"
#undef CODE
    ERROR_CODE_COUNT
} error_code;

/* The phases of codes.def; interp/tools maps them to exit codes. */
typedef enum error_phase {
    PHASE_none, PHASE_source, PHASE_run, PHASE_file, PHASE_refuse, PHASE_usage, PHASE_internal,
    PHASE_warning,
} error_phase;

enum { ERROR_TEXT = 400, ERROR_NOTES = 12 };

typedef struct error_note {
    span where;
    char text[160];
} error_note;

typedef struct error {
    error_code code;            /* ERROR_NONE: no error */
    span where;                 /* the source that was running; 0,0 where none */
    char message[ERROR_TEXT];   /* one sentence, no full stop */
    char help[ERROR_TEXT];      /* what to do instead; "" where nothing helps */
    error_note note[ERROR_NOTES];
    unsigned note_count;        /* may exceed ERROR_NOTES: the rest were counted, not kept */
} error;

/* "K0501" for ERROR_K0501; "" for ERROR_NONE. */
const char *error_code_name(error_code code);
const char *error_code_title(error_code code);
error_phase error_code_phase(error_code code);

/* Sets the error unless one is already set (the first is the cause). Always returns false, so that a
 * caller can write `return error_set(...)`. */
bool error_set(error *e, error_code code, span where, const char *format, ...) PRINTF_LIKE(4, 5);
/* clang's analyser sees one file at a time: told what is returned, it follows no path on which an error
 * was set and true returned. */
#ifdef __clang_analyzer__
#define error_set(...) ((void)error_set(__VA_ARGS__), false)
#endif
void error_help(error *e, const char *format, ...) PRINTF_LIKE(2, 3);
void error_add_note(error *e, span where, const char *format, ...) PRINTF_LIKE(3, 4);
void error_clear(error *e);

#endif
