/* An input of a session while it is typed, line by line: when it is whole. */
#ifndef KINA_INPUT_H
#define KINA_INPUT_H

#include "runtime/text.h"

typedef struct input {
    text text;                  /* the lines so far, each with its end */
    int lines;
    int open;                   /* brackets that the lines opened and did not close */
} input;

void input_init(input *in, context *c);
/* Begins anew. */
void input_clear(input *in);
void input_close(input *in);

/* Adds a line (without its end). True when the input is whole: every bracket is closed, and the text is an input as it
 * stands, or wrong, or ends with an empty line. A text that is right so far but asks for more is not whole. Also true,
 * with the context's error set, when out of memory. */
bool input_add(input *in, const char *line, size_t length);

#endif
