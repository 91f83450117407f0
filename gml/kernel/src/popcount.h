/* Counting with bit masks: one bit per row, one mask per level. */
#ifndef GML_POPCOUNT_H
#define GML_POPCOUNT_H

#include <stddef.h>
#include <stdint.h>

/* Masks are padded to a multiple of this many 64-bit words. */
#define MASK_ALIGN_WORDS 8

/* Number of set bits of a & b. `words` is a multiple of 8. */
int64_t popcount_and(const uint64_t *a, const uint64_t *b, size_t words);

/* out = a & b; returns 0 when out is empty. */
int mask_and(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t words);

/* masks[level * words + w] gets bit i % 64 of word i / 64 where codes[i] == level; totals[level] the
   number of such rows. Returns whether some rows have no level. */
int build_masks8(const uint8_t *codes, size_t n, size_t n_levels, uint64_t *masks, size_t words,
                 int64_t *totals);

#endif
