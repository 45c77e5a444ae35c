/* Did-you-mean for words of the command line: the candidate next to what was written. */
#ifndef KINA_NEAREST_H
#define KINA_NEAREST_H

typedef struct nearest {
    const char *word;
    const char *found; /* the best candidate tried so far; NULL: none is near */
    unsigned limit;    /* a farther candidate is no slip of the keyboard */
} nearest;

nearest nearest_to(const char *word);
void nearest_try(nearest *n, const char *candidate);

#endif
