/* Diagnostics about the source text: gathered while a phase goes on, shown together when it ends.
 *
 *   error[K0301]: dims of `@` differ: 3 and 4
 *     --> prog.kina:2:14
 *      |
 *    2 | let y = a @ b;
 *      |         ^   - tensor<F32, [4, 2]>
 *      |         tensor<F32, [2, 3]>
 *      = note: ...
 *      = help: ...
 */
#ifndef KINA_DIAG_H
#define KINA_DIAG_H

#include "interp/source.h"
#include "runtime/error.h"
#include "runtime/text.h"

typedef struct diag_label {
    span at;
    const char *text;           /* "" for a bare underline */
    struct diag_label *next;
} diag_label;

typedef struct diag {
    error_code code;
    bool warning;
    span at;                    /* the primary span */
    const char *message;        /* one sentence, no full stop */
    const char *label;          /* under the primary span; may be "" */
    diag_label *labels;         /* further spans */
    diag_label *notes;          /* `at` 0,0 for a note without a place */
    const char *help;           /* NULL: none */
    struct diag *next;
} diag;

typedef struct diagnostics {
    arena *a;
    const source *src;
    diag *first, **last;
    unsigned errors, warnings;  /* found, kept or not */
    diag sink;                  /* stands for those that are not kept */
} diagnostics;

enum { DIAG_MOST = 100 };       /* errors kept; further ones are counted only */

void diagnostics_init(diagnostics *d, arena *a, const source *src);

/* Each returns a diag that further calls may add to; never NULL (a shared sink when out of memory or past
 * DIAG_MOST: the run then ends with the context's error). Texts are copied. */
diag *diag_error(diagnostics *d, error_code code, span at, const char *format, ...) PRINTF_LIKE(4, 5);
diag *diag_warning(diagnostics *d, error_code code, span at, const char *format, ...) PRINTF_LIKE(4, 5);
void diag_label_primary(diagnostics *d, diag *e, const char *format, ...) PRINTF_LIKE(3, 4);
void diag_add_label(diagnostics *d, diag *e, span at, const char *format, ...) PRINTF_LIKE(4, 5);
void diag_add_note(diagnostics *d, diag *e, span at, const char *format, ...) PRINTF_LIKE(4, 5);
void diag_add_help(diagnostics *d, diag *e, const char *format, ...) PRINTF_LIKE(3, 4);

/* A run-time error in the same form. */
void diag_from_error(diagnostics *d, const error *e);

typedef struct diag_style {
    bool color;
    bool json;                  /* one object a line */
} diag_style;

/* Appends all diagnostics in source order, errors before warnings of the same place. */
void diagnostics_render(const diagnostics *d, diag_style style, text *out);

#endif
