/* The pictures of kina-bench checkpoint, drawn by gnuplot. */
#ifndef KINA_BENCH_PLOT_H
#define KINA_BENCH_PLOT_H

#include "bench/rows.h"

/* 0 when FILE's name ends in .svg or .png and gnuplot is there; else an exit code, with the error
 * shown. */
int plot_possible(const char *file);

/* Four panels in one picture, or, `each`, one picture a panel with its name put into FILE's. */
int plot_block(const char *file, bool each, const block *b);

#endif
