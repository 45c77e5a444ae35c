/* The line functions for any x86-64 processor: arithmetic only (lines.h). */
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#define TABLE      lines_base
#define TABLE_NAME "libm"
#include "kernels/lines_body.inc"
