/* Random permutations that are a function of a key and the number of a replicate. */
#ifndef GML_PERMUTING_H
#define GML_PERMUTING_H

#include <stddef.h>
#include <stdint.h>

#include "random.h"

/* Fisher & Yates' shuffle of 0 .. n-1, from the end: place i swaps with one of 0 .. i. */
static inline void permute(uint32_t *order, size_t n, const uint64_t key[2], int64_t replicate)
{
    const uint64_t start = (uint64_t)replicate * n;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n; i-- > 1;) {
        const size_t j = (size_t)(random_uniform(key, start + i) * (double)(i + 1));
        const uint32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

#endif
