/* What keyword.h promises. */
#include "interp/tools/repl/keyword.h"

#include <string.h>

static const struct {
    const char *word, *chapter, *form;
} keywords[] = {
    {"fn", "Functions", "fn f(x: F64) -> F64 { x * x }: a function; without a name a value"},
    {"let", "Programs", "let x = 1.0: a name for a value"},
    {"if", "Conditionals", "if (c) { a } else { b }: one of two values"},
    {"else", "Conditionals", "if (c) { a } else { b }: one of two values"},
    {"while", "Loops", "while (i < n) [x, i = 0] { (f(x), i + 1) }: a loop that carries values"},
    {"handle", "Handlers", "handle f(x) with reverseMode: a call under a handler"},
    {"with", "Handlers", "handle f(x) with reverseMode: a call under a handler"},
    {"reverseMode", "Handlers", "handle f(x) with reverseMode: the value and the gradients by what it is given"},
    {"forwardMode", "Handlers", "a handler that gives the value and its derivative along a direction"},
    {"tensor", "Types and dims", "tensor<F32, [N, 3]>: the type of an array"},
    {"tape", "Tapes", "tape<T>: the record of a run, to be swept once"},
};

const char *keyword_at(int i) { return (size_t)i < COUNT_OF(keywords) ? keywords[i].word : NULL; }

bool keyword_print(const char *word, text *t) {
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        if (strcmp(keywords[i].word, word) != 0) continue;
        text_format(t, "%s\n\nMore: docs/language.md, %s.\n", keywords[i].form, keywords[i].chapter);
        return true;
    }
    return false;
}
