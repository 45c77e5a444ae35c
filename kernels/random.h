/* The generator behind the random ops, apart for its known-answer tests. */
#ifndef KINA_KERNELS_RANDOM_H
#define KINA_KERNELS_RANDOM_H

#include <stdint.h>

/* Threefry-2x32, 20 rounds: x in place (Salmon, Moraes, Dror, Shaw 2011). */
void random_threefry(const uint32_t key[2], uint32_t x[2]);

/* Word i of the n that a key gives. */
uint32_t random_word(const uint32_t key[2], uint64_t n, uint64_t i);

#endif
