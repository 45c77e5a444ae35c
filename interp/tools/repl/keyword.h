/* What the words of the language are, a line each, and where docs/language.md says more. */
#ifndef KINA_REPL_KEYWORD_H
#define KINA_REPL_KEYWORD_H

#include "runtime/text.h"

/* The i-th word, NULL past the last. */
const char *keyword_at(int i);
/* Appends what a word is; false when it is none of these. */
bool keyword_print(const char *word, text *t) MUST_CHECK;

#endif
