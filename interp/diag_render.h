/* What the two renderers of diagnostics share. */
#ifndef KINA_DIAG_RENDER_H
#define KINA_DIAG_RENDER_H

#include "interp/diag.h"

/* True when the span names a place in the text. */
bool diag_has_place(const diagnostics *d, span at);

/* The diagnostic as one JSON object and a line end. */
void diag_render_json(const diagnostics *d, const diag *e, text *out);

#endif
