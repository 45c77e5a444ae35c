/* The growing text buffer behind all printers. */
#include "runtime/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"

void text_init(text *t, context *c) {
    *t = (text){.c = c};
}

void text_close(text *t) {
    give_back(t->c, t->data, t->capacity);
    text_init(t, t->c);
}

void text_clear(text *t) {
    t->length = 0;
    t->failed = false;
    if (t->data != NULL) t->data[0] = '\0';
}

/* Room for `more` bytes and a NUL. */
static bool text_reserve(text *t, size_t more) {
    if (t->failed) return false;
    size_t need = t->length + more + 1;
    if (need <= t->capacity) return true;
    size_t capacity = t->capacity < 64 ? 64 : t->capacity;
    while (capacity < need && capacity <= SIZE_MAX / 4) capacity *= 2;
    if (capacity < need) capacity = need;
    char *grown = need <= more ? NULL : resize(t->c, t->data, t->capacity, capacity);
    if (grown == NULL) {
        t->failed = true;
        return false;
    }
    t->data = grown;
    t->capacity = capacity;
    return true;
}

void text_add_bytes(text *t, const char *s, size_t length) {
    if (length == 0 || !text_reserve(t, length)) return;
    memcpy(t->data + t->length, s, length);
    t->length += length;
    t->data[t->length] = '\0';
}

void text_add(text *t, const char *s) {
    text_add_bytes(t, s, strlen(s));
}

void text_add_char(text *t, char ch) {
    text_add_bytes(t, &ch, 1);
}

void text_add_repeat(text *t, char ch, size_t count) {
    if (count == 0 || !text_reserve(t, count)) return;
    memset(t->data + t->length, ch, count);
    t->length += count;
    t->data[t->length] = '\0';
}

void text_format_list(text *t, const char *format, va_list arguments) {
    if (!text_reserve(t, 0)) return;
    /* Most texts fit into what is there already; only a longer one is formatted twice. */
    size_t room = t->capacity - t->length;
    va_list again;
    va_copy(again, arguments);
    int wanted = vsnprintf(t->data + t->length, room, format, arguments);
    if (wanted < 0) wanted = 0;
    size_t length = (size_t)wanted;
    if (length >= room) {
        t->data[t->length] = '\0';
        if (text_reserve(t, length))
            vsnprintf(t->data + t->length, length + 1, format, again);
        else
            length = 0;
    }
    va_end(again);
    t->length += length;
    t->data[t->length] = '\0';
}

void text_format(text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text_format_list(t, format, arguments);
    va_end(arguments);
}

const char *text_data(const text *t) {
    return t->data != NULL ? t->data : "";
}

void text_add_filled(text *t, const char *words, size_t width) {
    size_t column = 0;
    while (*words != '\0') {
        size_t bytes = strcspn(words, " "), length = 0;
        for (size_t i = 0; i < bytes; i++) length += ((unsigned char)words[i] & 0xC0) != 0x80;
        bool fits = column > 0 && column + 1 + length <= width;
        if (column > 0) text_add_char(t, fits ? ' ' : '\n');
        text_add_bytes(t, words, bytes);
        column = (fits ? column + 1 : 0) + length;
        words += bytes + (words[bytes] == ' ');
    }
    text_add_char(t, '\n');
}
