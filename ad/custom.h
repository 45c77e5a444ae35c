/* What the handlers share of custom calls. Internal to ad/. */
#ifndef KINA_CUSTOM_H
#define KINA_CUSTOM_H

#include "ad/ad.h"

/* The call as handler h's inner neighbour sees it. */
bool custom_at(context *c, handler *h, const custom_call *call, value *out) MUST_CHECK;
/* K0702: the handler has no rule to go by. */
bool custom_refuse(context *c, const custom_call *call, const char *mode, const char *decorator);
bool custom_floating(const value *v);
/* K0502 when what a rule returned has not the shape of what it belongs to. */
bool custom_same_shape(context *c, const value *given, const value *of, const char *what, span where) MUST_CHECK;

#endif
