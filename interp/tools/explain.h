/* What the error codes mean, with examples: the verb `explain`, and what docs/errors.md is written from. */
#ifndef KINA_EXPLAIN_H
#define KINA_EXPLAIN_H

#include "runtime/error.h"
#include "runtime/text.h"

/* The code of a word such as "K0301" or "k0301". False with *e set (K0801), with the nearest code if one is near. */
bool explain_find(const char *word, error_code *out, error *e) MUST_CHECK;

/* The page of a code, at most 80 columns wide. */
void explain_page(text *t, error_code code);
/* Every code with its title. */
void explain_list(text *t);
/* One page, or with ERROR_NONE all of them, as JSON. */
void explain_json(text *t, error_code code);

#endif
