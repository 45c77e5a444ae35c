/* kina-interp fmt: program files in their canonical layout. */
#ifndef KINA_FORMAT_H
#define KINA_FORMAT_H

#include "interp/tools/output.h"
#include "interp/tools/report.h"

/* Formats the files that the options name, each by itself, and reports what is wrong with one before it goes to
 * the next; what standard input holds is printed. With --check it prints the names of those that differ and writes
 * nothing. Returns the exit code. */
exit_code format_files(const options *o, output *out, diag_style style);

#endif
