/* A growing text buffer, used by all printers. After a failed allocation it stays as it is, `failed` is
 * set, and further appends do nothing: printers need to ask once, at the end. */
#ifndef KINA_TEXT_H
#define KINA_TEXT_H

#include <stdarg.h>

#include "runtime/common.h"

typedef struct text {
    context *c;
    char *data;                 /* NUL-terminated once anything was appended; NULL before */
    size_t length, capacity;
    bool failed;
} text;

void text_init(text *t, context *c);
void text_close(text *t);
void text_clear(text *t);
void text_add(text *t, const char *s);
void text_add_bytes(text *t, const char *s, size_t length);
void text_add_char(text *t, char ch);
void text_add_repeat(text *t, char ch, size_t count);
void text_format(text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_format_list(text *t, const char *format, va_list arguments) PRINTF_LIKE(2, 0);
/* Words, which blanks divide, on lines of at most `width` characters. */
void text_add_filled(text *t, const char *words, size_t width);
/* The text so far, "" when empty. */
const char *text_data(const text *t);

#endif
