/* The line functions for processors with AVX2 and FMA (lines.h). FMA is used inside SLEEF only.
 *
 * The Makefile compiles this file with -mavx2 -mfma. gcc needs no flag, because of the pragma.
 * clang passes vectors to functions in registers under the flag only, so without it SLEEF is left
 * out (lines_sleef). */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,fma")
#endif
#include <immintrin.h>

#define TABLE      lines_avx2
#define TABLE_NAME "SLEEF avx2"
#ifdef __AVX2__
#define VECTOR                1
#define VF                    __m256
#define VD                    __m256d
#define LF                    8
#define LD                    4
#define SLEEF_F(op, accuracy) Sleef_finz_##op##f8_##accuracy##avx2
#define SLEEF_D(op, accuracy) Sleef_finz_##op##d4_##accuracy##avx2
#define SQRT_F                _mm256_sqrt_ps
#define SQRT_D                _mm256_sqrt_pd
#endif
#include "kernels/lines_body.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
