/* What the options say about every run: how it computes, what it may take, and what it keeps. */
#ifndef KINA_SETTINGS_H
#define KINA_SETTINGS_H

#include "interp/engine.h"
#include "interp/tools/options.h"

/* Numerics, threads and memory of c. */
void settings_apply(const options *o, context *c);
/* The time limit begins to count. */
void settings_start(const options *o, context *c);
/* Checkpoints, files and long tensors. False with c's error set (K0801) where --checkpoint has no policy. */
bool settings_engine(const options *o, context *c, engine_options *with) MUST_CHECK;

#endif
