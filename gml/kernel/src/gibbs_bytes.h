/* The random bits of Gibbs sampling, and draws of many chains at once by the highest bytes of thresholds. */
#ifndef GML_GIBBS_BYTES_H
#define GML_GIBBS_BYTES_H

#include "gibbs.h"
#include "random.h"

/* Thresholds that are compared by bytes: of so many levels, and so many bits of a configuration. */
#define GIBBS_BYTE_LEVELS 8
#define GIBBS_BYTE_BITS 8
/* Bytes that one instruction looks up. */
#define GIBBS_PAGE 16

#define INLINE static inline __attribute__((always_inline))

/* Three rounds of multiplication and shift (constants of Wellons's hash prospector, triple32), with a
   second key after the first of them. */
#define HASH32_STEP UINT32_C(0x9E3779B9)

/* Defines the rounds for a number, or for lanes of them. */
#define HASH32_ROUNDS(name, number)                 \
    INLINE number name(number x, uint32_t key1)     \
    {                                               \
        x = (x ^ (x >> 17)) * UINT32_C(0xED5AD4BB); \
        x = (x ^ (x >> 11)) + key1;                 \
        x *= UINT32_C(0xAC4C1B51);                  \
        x = (x ^ (x >> 15)) * UINT32_C(0x31848BAB); \
        return x ^ (x >> 14);                       \
    }

HASH32_ROUNDS(hash32_rounds, uint32_t)

INLINE uint32_t hash32(uint32_t counter, uint32_t key0, uint32_t key1)
{
    return hash32_rounds(counter * HASH32_STEP + key0, key1);
}

/* The keys of a variable and a sweep: of the highest bytes of draws, and of the other bits. */
typedef struct {
    uint32_t high[2], low[2];
} gibbs_keys;

INLINE gibbs_keys keys_of(const uint64_t key[2], uint64_t sweep)
{
    uint64_t high = random_bits(key, sweep), low = random_mix(high);
    return (gibbs_keys){{(uint32_t)high, (uint32_t)(high >> 32)}, {(uint32_t)low, (uint32_t)(low >> 32)}};
}

/* Four chains share the word that their highest bytes are from. */
INLINE uint64_t bits_of(const gibbs_keys *keys, uint32_t chain)
{
    uint32_t word = hash32(chain / 4, keys->high[0], keys->high[1]);
    uint64_t high = word >> (8 * (chain % 4)) & 255;
    return high << 32 | hash32(chain, keys->low[0], keys->low[1]);
}

/* Pages of the configurations of a step. */
INLINE size_t gibbs_pages(const gibbs_step *step)
{
    return (((size_t)1 << step->n_bits) + GIBBS_PAGE - 1) / GIBBS_PAGE;
}

/* Draws n chains, a multiple of GIBBS_GROUP, from `first` on: variables x n_chains codes. */
typedef void (*gibbs_byte_drawer)(const gibbs_step *step, const gibbs_keys *keys, uint8_t *states,
                                  size_t n_chains, size_t first, size_t n);

/* The best one for this machine; NULL if it has no instructions for this. */
gibbs_byte_drawer gibbs_best_drawer(void);

#endif
