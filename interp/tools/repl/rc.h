/* The inputs that begin each session at a terminal: ~/.kinarc, or the file that $KINARC names. */
#ifndef KINA_RC_H
#define KINA_RC_H

#include "interp/tools/repl/repl.h"

/* Enters them, up to the first that fails. What is wrong is reported; the session begins in any case. */
void rc_enter(repl *r);

#endif
