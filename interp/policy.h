/* Checkpoint policies as words: "all", "auto", "k=4", "slots=20", "memory=64MiB". */
#ifndef KINA_POLICY_H
#define KINA_POLICY_H

#include "ad/schedule.h"
#include "runtime/text.h"

/* False when the words are none of these; *out untouched then. */
bool policy_read(const char *words, policy *out) MUST_CHECK;
void policy_print(text *t, policy_kind kind, uint64_t amount);

#endif
