/* Reading and printing checkpoint policies. */
#include "interp/policy.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *suffix;
    unsigned shift;
} units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};

/* A whole number of at least 1, with one of the units when they are allowed. */
static bool read_count(const char *words, bool with_unit, uint64_t *out) {
    uint64_t n = 0;
    const char *at = words;
    for (; isdigit((unsigned char)*at); at++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n)) return false;
    }
    if (at == words || n == 0) return false;
    for (size_t i = 0; i < (with_unit ? COUNT_OF(units) : 1); i++) {
        if (strcmp(at, units[i].suffix) != 0) continue;
        *out = n << units[i].shift;
        return *out >> units[i].shift == n;
    }
    return false;
}

static const char *after(const char *words, const char *key) {
    size_t length = strlen(key);
    return strncmp(words, key, length) == 0 ? words + length : NULL;
}

bool policy_read(const char *words, policy *out) {
    policy p = {.kind = POLICY_ALL};
    const char *amount;
    bool ok = true;
    if (strcmp(words, "auto") == 0 || strcmp(words, "k=auto") == 0) {
        p.kind = POLICY_AUTO;
    } else if ((amount = after(words, "k=")) != NULL) {
        p.kind = POLICY_EVERY;
        ok = read_count(amount, false, &p.every);
    } else if ((amount = after(words, "slots=")) != NULL) {
        p.kind = POLICY_SLOTS;
        ok = read_count(amount, false, &p.slots);
    } else if ((amount = after(words, "memory=")) != NULL) {
        p.kind = POLICY_BYTES;
        ok = read_count(amount, true, &p.bytes);
    } else {
        ok = strcmp(words, "all") == 0;
    }
    if (ok) *out = p;
    return ok;
}

void policy_print(text *t, policy_kind kind, uint64_t amount) {
    switch (kind) {
    case POLICY_ALL: text_add(t, "all"); break;
    case POLICY_AUTO: text_add(t, "auto"); break;
    case POLICY_EVERY: text_format(t, "k=%llu", (unsigned long long)amount); break;
    case POLICY_SLOTS: text_format(t, "slots=%llu", (unsigned long long)amount); break;
    case POLICY_BYTES: text_format(t, "memory=%llu", (unsigned long long)amount); break;
    }
}
