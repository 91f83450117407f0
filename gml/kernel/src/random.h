/* Random bits that are a function of a key and a counter alone. */
#ifndef GML_RANDOM_H
#define GML_RANDOM_H

#include <stdint.h>

/* Finaliser of SplitMix64 (Steele, Lea & Flood 2014). */
static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint64_t random_bits(const uint64_t key[2], uint64_t counter)
{
    uint64_t z = random_mix(counter * UINT64_C(0x9E3779B97F4A7C15) + key[0]);
    return random_mix(z ^ key[1]);
}

/* Uniform on [0, 1). */
static inline double random_uniform(const uint64_t key[2], uint64_t counter)
{
    return (double)(random_bits(key, counter) >> 11) * 0x1p-53;
}

#endif
