/* Characters of UTF-8 text: decoding, and how many columns of a terminal each one takes. */
#ifndef KINA_UTF8_H
#define KINA_UTF8_H

#include "runtime/common.h"

enum { UTF8_BAD = 0x110000 };   /* what utf8_decode returns for bytes that are no character */

/* The character at s, of which `left` >= 1 bytes may be read, and its length in bytes. Overlong forms,
 * surrogates and cut sequences are UTF8_BAD with length 1. */
uint32_t utf8_decode(const char *s, size_t left, unsigned *length);

/* Writes the character's bytes, at most 4, and returns how many. */
unsigned utf8_encode(uint32_t character, char out[4]);

/* Columns on a terminal: 0 for combining marks, 2 for wide characters, else 1. */
unsigned utf8_width(uint32_t character);

/* True for characters that a message must not print as they are: controls, and those that turn the
 * direction of the text around. */
bool utf8_unprintable(uint32_t character);

/* Nothing but characters, among them no controls besides tabs and line ends. */
bool utf8_is_text(const char *s, size_t length);

#endif
