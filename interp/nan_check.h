/* Finding where a NaN or an infinity begins: the first op, forward or backward, that makes one out of finite
 * operands ends the run with K0516, which names the op, its place and its operands. */
#ifndef KINA_NAN_CHECK_H
#define KINA_NAN_CHECK_H

#include "runtime/watch.h"

/* From here to nan_check_close every op of c is looked at. Between runs only, as watch_open says. */
void nan_check_open(watch *w, context *c);
void nan_check_close(watch *w, context *c);

#endif
