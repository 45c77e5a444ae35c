/* How failures reach the user: exit codes, and errors rendered on standard error. */
#ifndef KINA_REPORT_H
#define KINA_REPORT_H

#include "interp/diag.h"
#include "interp/tools/options.h"

/* The exit codes, and no others. */
typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1, /* the program, while running */
    EXIT_USAGE = 2,
    EXIT_SOURCE = 3, /* parse, type, ownership */
    EXIT_REFUSED = 4,
    EXIT_DIFFERS = 5, /* a comparison */
    EXIT_FILE = 6, /* one cannot be read or written */
    EXIT_INTERNAL = 70,
    EXIT_INTERRUPTED = 130,
} exit_code;

/* The file is a terminal that knows how to move its cursor and erase a line. */
bool report_terminal(int file);

/* Color and form as the options and the terminal have it. */
diag_style report_style(const options *o);

/* Shows c's error as if it were one of the source's and returns its exit code. src NULL: no source
 * yet. A memory limit does not hold here; where the system has no memory left the message comes
 * alone. */
exit_code report_error(context *c, const source *src, diag_style style);

/* Shows all of d, if anything. False with c's error set when out of memory. */
bool report_diagnostics(context *c, const diagnostics *d, diag_style style) MUST_CHECK;

#endif
