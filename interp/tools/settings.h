/* What the options say about every run: how it computes, what it may take, and what it keeps. */
#ifndef KINA_SETTINGS_H
#define KINA_SETTINGS_H

#include "interp/engine.h"
#include "interp/tools/options.h"

/* Numerics and threads of c. */
void settings_apply(const options *o, context *c);
/* An evaluation begins: the time limit counts from now, and the memory limit holds. */
void settings_start(const options *o, context *c);
/* It is over: what goes on until the next one has no limits. */
void settings_rest(context *c);
/* Checkpoints, files and long tensors. False with c's error set (K0801) where --checkpoint has no policy. */
bool settings_engine(const options *o, context *c, engine_options *with) MUST_CHECK;

#endif
