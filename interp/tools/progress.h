/* The line that says how far a long run is: nothing in its first second, nothing at all where nobody watches. */
#ifndef KINA_PROGRESS_H
#define KINA_PROGRESS_H

#include "runtime/context.h"

typedef struct progress_line {
    bool terminal;              /* one line that is written over; else lines of their own */
    bool shown;                 /* there is a line on the terminal now */
    bool backward;              /* the part of the run that the counts below began with */
    int64_t start;              /* of that part */
    uint64_t iterations, ops;   /* before it */
    int64_t last;               /* the report before this one */
    uint64_t last_count;
} progress_line;

/* From here on c's run is reported on standard error. */
void progress_open(progress_line *p, context *c, bool terminal);
/* Takes the line away, for what is printed next. */
void progress_hide(progress_line *p);
void progress_close(progress_line *p, context *c);

#endif
