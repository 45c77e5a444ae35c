/* What this program is and what it computes with. */
#ifndef KINA_VERSION_H
#define KINA_VERSION_H

#include <stdio.h>

#include "runtime/context.h"

/* The commit, and by what and how many threads numbers are computed: bits are promised for these.
 */
void version_print(context *c, FILE *to);

#endif
