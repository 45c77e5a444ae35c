/* Pictures through gnuplot, a program of its own that need not be installed. */
#ifndef KINA_GNUPLOT_H
#define KINA_GNUPLOT_H

#include <stdio.h>

#include "runtime/error.h"

typedef struct gnuplot {
    FILE *script;               /* where its commands are written */
    const char *file;
    char partial[4096];         /* beside FILE, which appears whole or not at all */
} gnuplot;

/* ".svg" of "a.b/c.svg"; "" where there is none. */
const char *gnuplot_extension(const char *file);

/* True when FILE's name ends in .svg or .png (else K0801) and gnuplot is there (else K0701). `who` begins the message. */
bool gnuplot_possible(const char *who, const char *file, error *e) MUST_CHECK;

/* Starts a picture of so many dots; FILE has to stay. False with K0602. */
bool gnuplot_open(gnuplot *g, const char *file, int width, int height, error *e) MUST_CHECK;
/* Ends it: FILE is there, or it is as it was and the error is K0602. */
bool gnuplot_close(gnuplot *g, error *e) MUST_CHECK;

#endif
