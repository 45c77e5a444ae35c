/* libedit, opened when lines are first read from a terminal: nothing else needs it. */
#ifndef KINA_EDITLINE_H
#define KINA_EDITLINE_H

#include <histedit.h>

#include "runtime/common.h"

typedef struct editline {
    EditLine *(*init)(const char *program, FILE *in, FILE *out, FILE *err);
    void (*end)(EditLine *e);
    int (*set)(EditLine *e, int what, ...);
    int (*wset)(EditLine *e, int what, ...); /* copies no names, which el_set would leak */
    int (*get)(EditLine *e, int what, ...);
    int (*source)(EditLine *e, const char *path);
    const char *(*gets)(EditLine *e, int *length);
    int (*wgetc)(EditLine *e, wchar_t *key);
    void (*beep)(EditLine *e);
    void (*resize)(EditLine *e);
    const LineInfo *(*line)(EditLine *e);
    int (*insertstr)(EditLine *e, const char *text);
    int (*cursor)(EditLine *e, int characters);
    void (*deletestr)(EditLine *e, int characters);
} editline;

/* NULL when there is none. */
const editline *editline_open(void);

#endif
