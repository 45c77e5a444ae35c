/* The line functions for processors with AVX-512F (lines.h). The Makefile compiles this file with
 * -mavx512f -mavx2 -mfma, for the reason that lines_avx2.c states. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx512f,avx2,fma")
#endif
#include <immintrin.h>

#define TABLE      lines_avx512
#define TABLE_NAME "SLEEF avx512f"
#ifdef __AVX512F__
#define VECTOR                1
#define VF                    __m512
#define VD                    __m512d
#define LF                    16
#define LD                    8
#define SLEEF_F(op, accuracy) Sleef_finz_##op##f16_##accuracy##avx512f
#define SLEEF_D(op, accuracy) Sleef_finz_##op##d8_##accuracy##avx512f
#define SQRT_F                _mm512_sqrt_ps
#define SQRT_D                _mm512_sqrt_pd
#endif
#include "kernels/lines_body.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
